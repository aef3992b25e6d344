//! Tool `replace_text`.

use parking_lot::Mutex;
use schemars::JsonSchema;
use serde::Deserialize;
use workspace::{FileChange, FileState, MAX_FILE, ResolvedPath, WorkspacePath};

use super::outcome::{check_lines, headline, undone, warnings, write};
use super::placeholder;
use super::replacement::Replacement;
use super::scope::Scope;
use super::text_file::{encoded, readable, text_of};
use super::{Context, FileTool, ToolError, ToolInfo, ToolResult};
use crate::base::encoding::Decoded;
use crate::base::pattern::ReplaceError;
use crate::base::text::{counted, grouped, shortened};
use crate::event::Effects;

/// Number of files whose first diff is shown.
const MAX_DIFFS: usize = 3;
/// Maximum size of all files that a call may change, in bytes: they are in memory together.
const MAX_TOTAL: usize = 256 << 20;
/// Number of files listed.
const MAX_FILES: usize = 100;

/// Tool that replaces text in many files.
pub(super) struct ReplaceText;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Args {
    /// Text to replace, or a regular expression
    pub(super) pattern: String,
    /// What to put in its place; $1 is a group of a regular expression
    pub(super) replacement: String,
    #[serde(default)]
    pub(super) regex: bool,
    /// Folder or file
    #[serde(default = "super::scope::here")]
    path: String,
    /// Globs of the files (*.py,!vendor/**)
    #[serde(default = "super::scope::any")]
    file_pattern: String,
    #[serde(default = "super::scope::yes")]
    pub(super) case_sensitive: bool,
    /// Refuse if there are more or fewer places
    #[serde(default)]
    expect_count: Option<usize>,
    /// What was found out about the call before it was allowed.
    #[serde(skip)]
    planned: Mutex<Option<Plan>>,
}

/// What a call would do.
struct Plan {
    files: Vec<Planned>,
    /// Files with matches that cannot be changed, because they are in an encoding that cannot be told.
    unreadable: Vec<ResolvedPath>,
}

impl Plan {
    /// Returns whether the files are as they were when it was made.
    fn is_current(&self, cx: &Context) -> bool {
        self.files.iter().all(|file| cx.workspace.read(&file.path).is_ok_and(|now| now == file.before))
    }
}

/// File as it will be.
struct Planned {
    path: ResolvedPath,
    before: FileState,
    after: Vec<u8>,
    times: usize,
}

impl FileTool for ReplaceText {
    type Args = Args;

    fn info(&self) -> ToolInfo {
        ToolInfo {
            name: "replace_text",
            description: "Replace text everywhere in many files, as for a rename: all places, or none. Returns the files with their counts.",
            sensitive: true,
            successor: None,
        }
    }

    fn effects(&self, args: &Args, cx: &Context) -> Result<Effects, ToolError> {
        let plan = args.plan(cx)?;
        let writes = plan.files.iter().map(|file| WorkspacePath::clone(&file.path)).collect();
        *args.planned.lock() = Some(plan);
        Ok(Effects { writes, ..Effects::default() })
    }

    fn run(&self, args: &Args, cx: &Context) -> Result<ToolResult, ToolError> {
        let known = args.planned.lock().take().filter(|plan| plan.is_current(cx));
        let Plan { files: planned, unreadable } = known.map_or_else(|| args.plan(cx), Ok)?;
        let mut changes = Vec::with_capacity(planned.len());
        let total: usize = planned.iter().map(|file| file.times).sum();
        let mut text =
            format!("Replaced {} in {}\n", counted(total, "place", "s"), counted(planned.len(), "file", "s"));
        for file in &planned {
            cx.check_end().map_err(|error| undone(&error, &changes, cx))?;
            if changes.len() < MAX_FILES {
                text += &format!("{:>6}  {}\n", grouped(file.times), file.path);
            }
            match write(&file.path, Some(file.before.clone()), file.after.clone(), cx) {
                Ok(change) => changes.extend(change),
                Err(error) => {
                    return Err(undone(&error, &changes, cx));
                }
            }
        }
        if planned.len() > MAX_FILES {
            text += &format!("… and {}\n", counted(planned.len() - MAX_FILES, "more file", "s"));
        }
        if !unreadable.is_empty() {
            text += &format!("Not replaced in {}\n", others(&unreadable));
        }
        text += &first_diffs(&changes);
        text.extend(changes.iter().flat_map(warnings).take(10).map(|warning| warning + "\n"));
        Ok(ToolResult { changes, ..ToolResult::done(text) })
    }
}

/// Names files that have matches, in an encoding that cannot be told.
fn others(files: &[ResolvedPath]) -> String {
    let names: Vec<&str> = files.iter().take(20).map(|path| path.as_str()).collect();
    let more = files.len() - names.len();
    let more = if more > 0 { format!(" and {} more", grouped(more)) } else { String::new() };
    let count = counted(files.len(), "file", "s");
    format!(
        "{count} with matches in an unknown encoding, which only a command can change: {}{more}",
        names.join(", ")
    )
}

/// Returns the changed lines of the first files, so that a wrong pattern is seen.
fn first_diffs(changes: &[FileChange]) -> String {
    const MAX_LINES: usize = 4;
    let mut text = String::new();
    for change in changes.iter().take(MAX_DIFFS) {
        let change = readable(change);
        text += &format!("{}\n", headline(&change));
        let diff = change.diff();
        for line in diff.lines().filter(|line| line.starts_with(['+', '-'])).take(MAX_LINES) {
            text += &format!("{}\n", shortened(line, 200));
        }
    }
    text
}

/// What a search has found in the files.
#[derive(Default)]
struct Found {
    planned: Vec<Planned>,
    unreadable: Vec<ResolvedPath>,
    /// Number of places at which the replacement gives the same text.
    unchanged: usize,
}

/// Makes the new text of a file, of at most so many bytes, and counts the places.
type Apply<'a> = &'a dyn Fn(&str, usize) -> Result<(Option<String>, usize), ReplaceError>;

impl Args {
    /// Makes the new texts of files.
    fn find(&self, files: &[ResolvedPath], cx: &Context, apply: Apply<'_>) -> Result<Found, ToolError> {
        let refused = |reason: String| ToolError::Refused(reason);
        let limit = usize::try_from(MAX_FILE).unwrap_or(usize::MAX);
        let (mut found, mut made) = (Found::default(), 0);
        for path in files {
            cx.check_end()?;
            let before = cx.workspace.read(path)?;
            // Files that are not text are no place for a replacement, but whoever renames has to know of those with matches.
            let Ok(Decoded { text: content, encoding }) = text_of(path, &before) else {
                let lossy = String::from_utf8_lossy(&before.content);
                let has_match = || apply(&lossy, limit).is_ok_and(|(_, times)| times > 0);
                if !before.content.contains(&0) && has_match() {
                    found.unreadable.push(path.clone());
                }
                continue;
            };
            let (after, times) = apply(&content, limit)
                .map_err(|error| refused(format!("{path}: {error}; nothing was changed")))?;
            let Some(after) = after else {
                found.unchanged += times;
                continue;
            };
            if let Some(line) = placeholder::found(path.as_str(), &self.replacement, &content, &after) {
                return Err(refused(placeholder::refusal("replacement", line, path.as_str())));
            }
            made += after.len();
            if made > MAX_TOTAL {
                return Err(refused(format!(
                    "the files would have more than {} MiB; nothing was changed",
                    MAX_TOTAL >> 20
                )));
            }
            let after = encoded(path, after, encoding)?;
            let state = FileState { content: after.as_slice().into(), mode: before.mode };
            if let Some(change) =
                FileChange::new(WorkspacePath::clone(path), Some(before.clone()), Some(state))
            {
                check_lines(&change, cx)?;
            }
            found.planned.push(Planned { path: path.clone(), before, after, times });
        }
        Ok(found)
    }

    /// Returns the files that the call would change, or why it would change none.
    fn plan(&self, cx: &Context) -> Result<Plan, ToolError> {
        let refused = |reason: String| ToolError::Refused(reason);
        let replacement = Replacement::new(self)?;
        let scope = Scope::new(cx, &self.path, Some(&self.file_pattern), None)?;
        let files = candidates(&replacement, &scope)?;
        let mut found = self.find(&files, cx, &|content, limit| replacement.apply(content, limit))?;
        // Whoever changes nothing else, in any file, means the line ends.
        if found.planned.is_empty() && replacement.may_mean_line_ends() {
            found =
                self.find(&files, cx, &|content, limit| replacement.apply_to_line_ends(content, limit))?;
        }
        let Found { planned, unreadable, unchanged } = found;
        let total: usize = planned.iter().map(|file| file.times).sum();
        if planned.is_empty() {
            let regex = if self.regex || regex::escape(&self.pattern) == self.pattern {
                ""
            } else {
                "; if it is a regular expression, set regex"
            };
            let same = if unchanged > 0 {
                "the replacement gives the same text".to_owned()
            } else {
                format!("no match{regex}")
            };
            let elsewhere =
                if unreadable.is_empty() { String::new() } else { format!(" but {}", others(&unreadable)) };
            return Err(refused(format!("{same}{elsewhere}; nothing was changed")));
        }
        match self.expect_count {
            Some(expected) if expected != total => {
                let files = planned.iter().take(20).map(|file| format!("{} ({})", file.path, file.times));
                Err(refused(format!(
                    "found {} in {}, not {}; nothing was changed: {}",
                    counted(total, "place", "s"),
                    counted(planned.len(), "file", "s"),
                    grouped(expected),
                    files.collect::<Vec<_>>().join(", ")
                )))
            }
            _ => Ok(Plan { files: planned, unreadable }),
        }
    }
}

/// Returns the files that may contain a match. A pattern within a line is searched for first, which is faster than to read every file.
fn candidates(replacement: &Replacement, scope: &Scope<'_>) -> Result<Vec<ResolvedPath>, ToolError> {
    if let Some(query) = &replacement.query {
        return query.matching_files(scope);
    }
    Ok(scope.readable_files()?.0)
}
