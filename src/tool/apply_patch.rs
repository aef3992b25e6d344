//! Tool `apply_patch`.

use patch::{Section, apply, sections};
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileChange, FileError, FileState, Kind, LastLink, Mode, ResolvedPath, WorkspacePath};

use super::outcome::{check_size, describe, table, undone};
use super::read_file::text;
use super::{Context, Effects, FileTool, ToolError, ToolInfo, ToolResult};
use crate::base::text::counted;

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
}

/// Part of the patch, and the files that it is about.
struct Part {
    section: Section,
    path: ResolvedPath,
    moved_to: Option<ResolvedPath>,
}

/// One file as it will be.
struct Step {
    path: ResolvedPath,
    before: Option<FileState>,
    after: Option<FileState>,
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
        let mut writes: Vec<WorkspacePath> = Vec::new();
        for path in paths.flatten() {
            if !writes.contains(&path) {
                writes.push(WorkspacePath::clone(&path));
            }
        }
        Ok(Effects { writes, ..Effects::default() })
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let mut steps: Vec<Step> = Vec::new();
        let parts = args.parts(cx)?;
        for part in &parts {
            part.plan(&mut steps, cx).map_err(|error| match parts.len() {
                1 => error,
                _ => ToolError::Refused(format!("{}: {error}\nnothing was changed", part.path)),
            })?;
        }
        let mut changes: Vec<FileChange> = Vec::with_capacity(steps.len());
        for step in steps {
            let change = FileChange::new((*step.path).clone(), step.before.clone(), step.after.clone());
            let Some(change) = change else { continue };
            if let Err(error) = step.carry_out(cx) {
                return Err(undone(&error, &changes, cx));
            }
            changes.push(change);
        }
        let output = match (changes.as_slice(), parts.as_slice()) {
            ([], _) => "the files are already as the patch makes them; nothing changed".to_owned(),
            ([change], _) => describe(change),
            (_, [Part { path, moved_to: Some(to), .. }]) => {
                format!("Moved {path} to {to}\n{}", table(&changes))
            }
            _ => format!("{} changed\n{}", counted(changes.len(), "file", "s"), table(&changes)),
        };
        Ok(ToolResult { changes, ..ToolResult::done(output) })
    }
}

impl Args {
    fn parts(&self, cx: &Context) -> Result<Vec<Part>, ToolError> {
        let refused = |error: &dyn std::fmt::Display| ToolError::Refused(error.to_string());
        let resolved = |path: &str| -> Result<ResolvedPath, ToolError> {
            Ok(cx.workspace.resolve(&cx.workspace.parse(path)?, LastLink::Follow)?)
        };
        let exists = |path: &str| {
            let kind = resolved(path).ok().and_then(|path| cx.workspace.stat(&path).ok()?);
            kind.is_some_and(|stat| stat.kind == Kind::File)
        };
        let sections = sections(&self.patch).map_err(|error| refused(&error))?;
        let is_one = sections.len() == 1;
        let part = |section: Section| {
            let named = section.paths(&exists);
            if let (Some(path), true) = (&self.path, is_one) {
                section.check(&cx.workspace.parse(path)?).map_err(|error| refused(&error))?;
                let moved_to = named.and_then(|(_, to)| to).map(|to| resolved(&to)).transpose()?;
                return Ok(Part { section, path: resolved(path)?, moved_to });
            }
            let (path, to) = named.ok_or_else(|| {
                ToolError::Refused(
                    "the patch does not name its file; give it as `path`, or as a line `+++ PATH`".to_owned(),
                )
            })?;
            Ok(Part { section, path: resolved(&path)?, moved_to: to.map(|to| resolved(&to)).transpose()? })
        };
        sections.into_iter().map(part).collect()
    }
}

impl Part {
    /// Adds what the part makes of its files. A file may have been changed by an earlier part.
    fn plan(&self, steps: &mut Vec<Step>, cx: &Context) -> Result<(), ToolError> {
        let refused = |reason: String| Err(ToolError::Refused(reason));
        let (path, patch) = (&self.path, &self.section.patch);
        let before = match current(path, steps, cx) {
            Ok(_) if patch.creates => {
                return refused(format!("the patch creates {path}, but it already exists"));
            }
            Ok(state) => Some(state),
            Err(FileError::Missing(_)) if patch.creates => None,
            Err(error) => return Err(error.into()),
        };
        // A mark without lines deletes a file whatever is in it.
        let deletes_all = patch.deletes && patch.hunks.is_empty();
        if patch.deletes && !cx.allow_delete {
            return refused(super::delete_file::DISABLED.to_owned());
        }
        let content = match &before {
            Some(state) if !deletes_all && !patch.hunks.is_empty() => text(path, state)?,
            _ => "",
        };
        let patched = apply(content, patch).map_err(|error| ToolError::Refused(error.to_string()))?;
        let mode = before.as_ref().map_or(Mode::Regular, |state| state.mode);
        let content = match &before {
            Some(state) if patch.hunks.is_empty() => state.content.clone(),
            _ => patched.into_bytes().into(),
        };
        let after = FileState { content, mode };
        check_size(path, after.content.len())?;
        match &self.moved_to {
            _ if patch.deletes => set(steps, path, before, None),
            Some(to) => {
                if to == path || current(to, steps, cx).is_ok() {
                    return refused(format!("the patch moves {path} to {to}, which already exists"));
                }
                set(steps, path, before, None);
                set(steps, to, None, Some(after));
            }
            None => set(steps, path, before, Some(after)),
        }
        Ok(())
    }
}

/// Returns a file as the earlier parts leave it.
fn current(path: &ResolvedPath, steps: &[Step], cx: &Context) -> Result<FileState, FileError> {
    match steps.iter().find(|step| step.path == *path) {
        Some(step) => step.after.clone().ok_or_else(|| FileError::Missing((**path).clone())),
        None => cx.workspace.read(path),
    }
}

/// Notes what becomes of a file. What it was stays what it was before the first part.
fn set(steps: &mut Vec<Step>, path: &ResolvedPath, before: Option<FileState>, after: Option<FileState>) {
    match steps.iter_mut().find(|step| step.path == *path) {
        Some(step) => step.after = after,
        None => steps.push(Step { path: path.clone(), before, after }),
    }
}

impl Step {
    fn carry_out(&self, cx: &Context) -> Result<(), FileError> {
        let Some(after) = &self.after else { return cx.workspace.remove(&self.path) };
        if self.before.is_none() && after.mode != Mode::Regular {
            cx.workspace.place(&self.path, after)?;
        } else {
            cx.workspace.write(&self.path, &after.content)?;
        }
        cx.seen.note(&self.path, after);
        Ok(())
    }
}
