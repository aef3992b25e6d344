//! Tool `apply_patch`.

use std::collections::HashSet;

use patch::{Applied, ApplyError, Effect, Hunk, HunkPosition, Named, Patch, Section, Side, apply, sections};
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileChange, FileError, FileState, Kind, LastLink, Mode, ResolvedPath, WorkspacePath};

use super::invisible_codes::restored;
use super::outcome::{check_lines, check_size, describe, table, undone};
use super::patch_steps::{Step, Steps};
use super::path_forms::{parsed, parsed_in};
use super::text_file::{encoded, text_of, without_mark};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult, cut_off, placeholder};
use crate::base::encoding::Decoded;
use crate::base::text::counted;
use crate::event::Effects;

/// Tool that applies a patch to one file or several.
pub(super) struct ApplyPatch;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Unified diff or `*** Begin Patch` text, for one file or several
    patch: String,
    /// File, if the patch does not name it
    #[serde(default)]
    path: Option<String>,
    /// Folder that its paths begin at, where a shell would have applied it
    #[serde(default)]
    #[schemars(skip)]
    applied_in: Option<String>,
}

/// Part of the patch, and the files that it is about.
struct Part {
    section: Section,
    /// The file. A link is what it leads to where text is changed, and otherwise the link itself.
    path: ResolvedPath,
    /// The link, if the path is one.
    link: Option<ResolvedPath>,
    moved_to: Option<ResolvedPath>,
    /// What was understood otherwise than it is written, for the model.
    note: Option<String>,
}

impl FileTool for ApplyPatch {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "apply_patch",
            description: "Apply a patch to one file or several: it may change, create, delete and move them. All of it is applied, or nothing.",
            sensitive: true,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        let paths = args.parts(cx)?.into_iter().flat_map(|part| [Some(part.path), part.moved_to]);
        let mut met = HashSet::new();
        let writes = paths.flatten().map(|path| WorkspacePath::clone(&path));
        let writes = writes.filter(|path| met.insert(path.clone())).collect();
        Ok(Effects { writes, ..Effects::default() })
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let mut steps = Steps::default();
        let parts = args.parts(cx)?;
        let refused = |error: ToolError| {
            let error = super::explained(error, cx);
            if parts.len() == 1 && matches!(error, ToolError::File(_)) {
                return error;
            }
            let undone = if parts.len() == 1 { "" } else { "\nnothing was changed" };
            ToolError::Refused(cut_off::explained(&args.patch, format!("{error}{undone}")))
        };
        for part in &parts {
            cx.check_end()?;
            part.plan(&mut steps, cx).map_err(refused)?;
        }
        let mut changes: Vec<FileChange> = Vec::with_capacity(steps.all.len());
        let notes = steps.notes;
        let (links, files): (Vec<Step>, Vec<Step>) = steps.all.into_iter().partition(|step| step.is_link);
        for step in files {
            let change = FileChange::new((*step.path).clone(), step.before.clone(), step.after.clone());
            let Some(change) = change else { continue };
            cx.check_end().map_err(|error| undone(&error, &changes, cx))?;
            if let Err(error) = step.carry_out(cx) {
                return Err(undone(&error, &changes, cx));
            }
            changes.push(change);
        }
        // A link cannot be put back, so links go last.
        for link in &links {
            cx.workspace.remove(&link.path).map_err(|error| undone(&error, &changes, cx))?;
        }
        let mut output = match (changes.as_slice(), parts.as_slice()) {
            ([], _) if !links.is_empty() => String::new(),
            ([], _) => "the files already have the patched content; nothing changed".to_owned(),
            ([change], _) => describe(change),
            (_, [Part { path, moved_to: Some(to), .. }]) => {
                format!("Moved {path} to {to}\n{}", table(&changes))
            }
            _ => format!("{} changed\n{}", counted(changes.len(), "file", "s"), table(&changes)),
        };
        let deleted = links.iter().map(|link| format!("Deleted the link {}", link.path));
        let last = parts.last();
        let cut_off = last.and_then(|part| cut_off::remark(&args.patch, &part.section, part.path.as_str()));
        let named = parts.iter().filter_map(|part| part.note.clone());
        for line in named.chain(deleted).chain(miscounted(&parts)).chain(notes).chain(cut_off) {
            if !output.is_empty() && !output.ends_with('\n') {
                output.push('\n');
            }
            output += &line;
        }
        Ok(ToolResult { changes, ..ToolResult::done(output) })
    }
}

impl Args {
    fn parts(&self, cx: &Context) -> Result<Vec<Part>, ToolError> {
        let refused = |error: &dyn std::fmt::Display| ToolError::Refused(error.to_string());
        let folder = self.folder(cx)?;
        let located = |path: &str| parsed_in(folder.as_deref(), path, &*cx.workspace);
        let kind = |path: &WorkspacePath, last: LastLink| {
            let path = cx.workspace.resolve(path, last).ok()?;
            Some(cx.workspace.stat(&path).ok()??.kind)
        };
        let is_there = |path: &WorkspacePath| {
            kind(path, LastLink::Follow) == Some(Kind::File) || kind(path, LastLink::Keep) == Some(Kind::Link)
        };
        let is_folder = |path: &WorkspacePath| kind(path, LastLink::Follow) == Some(Kind::Directory);
        let sections = sections(&self.patch)
            .map_err(|error| refused(&cut_off::explained(&self.patch, error.to_string())))?;
        let made: HashSet<String> =
            sections.iter().filter_map(|section| section.makes().map(str::to_owned)).collect();
        let is_file = |path: &str| located(path).is_ok_and(|path| is_there(&path));
        let exists = |path: &str| match path.strip_suffix('/') {
            Some(folder) => {
                located(folder).is_ok_and(|path| is_folder(&path))
                    || made.iter().any(|made| made.starts_with(path))
            }
            None => made.contains(path) || is_file(path),
        };
        let in_folder = |path: &WorkspacePath| path.parent().is_none_or(|folder| is_folder(&folder));
        let is_one = sections.len() == 1;
        let part = |section: Section| {
            cx.check_end()?;
            let (file, to, note) = if let (Some(path), true) = (&self.path, is_one) {
                let (below, at_root) = (located(path)?, parsed(path, &*cx.workspace)?);
                // It may begin at the root already, with the name of the folder.
                let is_in_folder =
                    || folder.as_ref().is_none_or(|folder| at_root.relative_to(folder).is_some());
                let is_from_root = below != at_root
                    && !is_there(&below)
                    && is_in_folder()
                    && (is_there(&at_root) || makes_file(&section.patch) && !in_folder(&below));
                let note = is_from_root.then(|| {
                    format!("[{at_root} was taken from the root of the checkout; there is no {below}]")
                });
                let file = if is_from_root { at_root } else { below };
                // The patch names it from the folder.
                let relative = folder.as_ref().and_then(|folder| file.relative_to(folder));
                let relative = relative.and_then(|path| WorkspacePath::parse(path).ok());
                let relative = relative.as_ref().unwrap_or(&file);
                section.check(relative, &is_file).map_err(|error| refused(&error))?;
                (file, section.moved_to().map(str::to_owned), note)
            } else {
                let named = section.paths(&exists).map_err(|error| refused(&error))?;
                let Named { file, moved_to, written } = named.ok_or_else(|| {
                    ToolError::Refused(
                        "the patch does not name its file; give it as `path`, or as a line `+++ PATH`"
                            .to_owned(),
                    )
                })?;
                let note = written.map(|written| {
                    format!("[{written} was taken for {file}, with the prefix of a diff before it]")
                });
                (located(&file)?, moved_to, note)
            };
            let own = cx.workspace.resolve(&file, LastLink::Keep)?;
            let link = Some(own.clone()).filter(|path| is_link(path, cx));
            let changes_text = to.is_none() && section.patch.effect == Effect::Change;
            let path = if changes_text { cx.workspace.resolve(&file, LastLink::Follow)? } else { own };
            let moved_to = match to {
                Some(to) => Some(cx.workspace.resolve(&located(&to)?, LastLink::Keep)?),
                None => None,
            };
            Ok(Part { section, path, link, moved_to, note })
        };
        sections.into_iter().map(part).collect()
    }

    /// Returns the folder that the paths of the patch begin at, without links: what is above it is what a program in it would find there.
    /// Refuses one to which a shell could not have changed.
    fn folder(&self, cx: &Context) -> Result<Option<ResolvedPath>, ToolError> {
        let Some(folder) = &self.applied_in else { return Ok(None) };
        let path = cx.workspace.resolve(&parsed(folder, &*cx.workspace)?, LastLink::Follow)?;
        if cx.workspace.stat(&path)?.is_some_and(|stat| stat.kind == Kind::Directory) {
            return Ok(Some(path));
        }
        Err(ToolError::Refused(format!(
            "there is no folder {folder}, and nothing was done; apply the patch by a call of its own, with paths from the root of the \
             checkout: apply_patch(patch=…)"
        )))
    }
}

/// Applies a patch to the text of a file. The mark before the text may be part of the patch's lines.
fn patched(text: &Decoded<'_>, patch: &Patch) -> Result<Applied, ApplyError> {
    apply(&text.text, patch).or_else(|error| {
        if !text.encoding.has_mark() {
            return Err(error);
        }
        let behind_mark =
            |hunk: &Hunk| hunk.with_lines(&|line| without_mark(line, text.encoding).unwrap_or(line));
        let hunks = patch.hunks.iter().map(behind_mark).collect();
        apply(&text.text, &Patch { hunks, ..patch.clone() }).map_err(|_| error)
    })
}

fn is_link(path: &ResolvedPath, cx: &Context) -> bool {
    cx.workspace.stat(path).is_ok_and(|stat| stat.is_some_and(|stat| stat.kind == Kind::Link))
}

/// Returns whether nothing but a number says where a hunk belongs. Before the first line, there is one place only.
fn is_at_number_alone(hunk: &Hunk) -> bool {
    let is_numbered = matches!(hunk.place, HunkPosition::Numbered { old_start: 1.., .. });
    is_numbered && hunk.side(Side::Old).is_empty()
}

/// Returns whether a patch says that a file has no line before it, as some models write one that creates it.
fn is_whole(patch: &Patch) -> bool {
    let is_first = |hunk: &Hunk| {
        matches!(hunk.place, HunkPosition::Numbered { old_start: 0, counts: (0, _), .. })
            && hunk.side(Side::Old).is_empty()
    };
    patch.effect == Effect::Change && matches!(patch.hunks.as_slice(), [only] if is_first(only))
}

/// Returns whether a patch makes a file that is not there.
fn makes_file(patch: &Patch) -> bool {
    patch.effect == Effect::Create || is_whole(patch)
}

/// Returns a remark on hunks that have more lines than their headers say: all of these lines count.
fn miscounted(parts: &[Part]) -> Vec<String> {
    let hunks = parts.iter().flat_map(|part| part.section.patch.hunks.iter().map(move |hunk| (part, hunk)));
    let more = hunks.filter(|(_, hunk)| hunk.exceeds_counts());
    more.map(|(part, _)| {
        format!("[{}: a hunk has more lines than its header says; all were applied]", part.path)
    })
    .collect()
}

impl Part {
    /// Adds what the part makes of its files. A file may have been changed by an earlier part.
    fn plan(&self, steps: &mut Steps, cx: &Context) -> Result<(), ToolError> {
        let refused = |reason: String| Err(ToolError::Refused(reason));
        let (path, patch) = (&self.path, &self.section.patch);
        if patch.effect.deletes() && !cx.allow_delete {
            return refused(super::delete_file::DISABLED.to_owned());
        }
        if let Some(link) = &self.link
            && steps.get(link).is_some()
        {
            return refused(format!("an earlier part of the patch deletes the link {link}; make two calls"));
        }
        match (&self.link, patch.effect) {
            (Some(link), _) if self.moved_to.is_some() => {
                return refused(format!("{link} is a link; move its target"));
            }
            (Some(link), Effect::Create) => {
                return refused(format!("the patch creates {link}, but it already exists"));
            }
            (Some(link), Effect::Delete) => {
                return refused(format!(
                    "the patch deletes a file, but {link} is a link; delete it with delete_file"
                ));
            }
            (Some(link), Effect::Discard | Effect::DeleteLink) => {
                if patch.effect == Effect::DeleteLink && !self.leads_where_it_says(cx) {
                    return refused(format!("the link {link} does not have the target that the patch names"));
                }
                steps.add(Step { path: link.clone(), before: None, after: None, is_link: true });
                return Ok(());
            }
            (None, Effect::DeleteLink) => {
                return refused(format!("the patch deletes a link, but {path} is not one"));
            }
            (Some(_), Effect::Change) | (None, _) => {}
        }
        let before = match steps.current(path, cx) {
            Ok(_) if patch.effect == Effect::Create => {
                return refused(format!(
                    "the patch creates {path}, but it already exists: change it with its lines as context, or replace it by \
                     write_file(path={:?}, content=…)",
                    path.as_str()
                ));
            }
            Ok(state) => Some(state),
            Err(FileError::Missing(_)) if makes_file(patch) => None,
            Err(error) => return Err(error.into()),
        };
        let text = match &before {
            Some(state) if patch.effect == Effect::Delete || !patch.hunks.is_empty() => text_of(path, state)?,
            _ => Decoded::default(),
        };
        let Applied { content: patched, shift } =
            patched(&text, patch).map_err(|error| ToolError::Refused(format!("{path}: {error}")))?;
        if let Some(difference) = shift.and_then(|shift| shift.describe("the patch")) {
            steps.notes.push(format!(
                "[{path}: {difference} of indentation, and the lines of the patch were indented accordingly]"
            ));
        }
        if cx.explains_edits {
            placeholder::check_hunks(path.as_str(), patch, &text.text, &patched)?;
        }
        // Whoever writes a recipe knows the files.
        if let Some(state) = before.as_ref().filter(|_| cx.explains_edits)
            && patch.hunks.iter().any(is_at_number_alone)
        {
            cx.seen.check_lines(path, state)?;
        }
        let mode = before.as_ref().map_or(Mode::Regular, |state| state.mode);
        let content = match &before {
            Some(state) if patch.hunks.is_empty() => state.content.clone(),
            _ if cx.explains_edits => {
                let patched = without_mark(&patched, text.encoding).unwrap_or(&patched);
                encoded(path, restored(path, &text.text, patched)?.into_owned(), text.encoding)?.into()
            }
            _ => encoded(path, patched, text.encoding)?.into(),
        };
        let after = FileState { content, mode };
        check_size(path, after.content.len())?;
        let change = FileChange::new(WorkspacePath::clone(path), before.clone(), Some(after.clone()));
        if let Some(change) = change.filter(|_| !patch.effect.deletes()) {
            check_lines(&change, cx)?;
        }
        match &self.moved_to {
            _ if patch.effect.deletes() => steps.set(path, before, None),
            Some(to) => {
                let is_free = matches!(steps.current(to, cx), Err(FileError::Missing(_)));
                if to == path || !is_free {
                    return refused(format!("the patch moves {path} to {to}, which already exists"));
                }
                steps.set(path, before, None);
                steps.set(to, None, Some(after));
            }
            None => steps.set(path, before, Some(after)),
        }
        Ok(())
    }

    /// Returns `true` if the link leads where the hunk that deletes it says: its target is its only line.
    fn leads_where_it_says(&self, cx: &Context) -> bool {
        let [hunk] = self.section.patch.hunks.as_slice() else { return false };
        let (old, new) = (hunk.side(Side::Old), hunk.side(Side::New));
        let (Some(link), [target], []) = (&self.link, old.as_slice(), new.as_slice()) else { return false };
        let target = match link.parent() {
            Some(folder) if !target.starts_with('/') => format!("{folder}/{target}"),
            _ => (*target).to_owned(),
        };
        let said = cx.workspace.parse(&target).ok();
        let said = said.and_then(|path| cx.workspace.resolve(&path, LastLink::Follow).ok());
        said.is_some() && said == cx.workspace.resolve(link, LastLink::Follow).ok()
    }
}
