//! Records of calls: the event, its diff, the description of a planned action, and the target of a guardrail.

use std::time::Instant;

use workspace::{FileChange, FileDiff, FileState, LineCounts, WorkspacePath};

use super::{CallOutcome, Caller};
use crate::event::{CallRecord, Effects, ToolCall, millis};
use crate::tool::ToolResult;

/// Builds the record of a completed call.
pub(super) fn record(
    caller: Caller<'_>,
    call: &ToolCall,
    done: &mut CallOutcome,
    started: Instant,
) -> CallRecord {
    let Diffs { shown: diff, lines, .. } = done.diffs.take().unwrap_or_else(|| Diffs::of(&done.result));
    CallRecord {
        agent: caller.agent.to_owned(),
        step: caller.step,
        id: call.id.clone(),
        tool: call.name.clone(),
        outcome: done.outcome,
        success: done.result.success,
        cut_off: false,
        exit_code: done.result.exit_code,
        ran_no_test: done.result.ran_no_test,
        result: done.result.text(),
        effects: done.effects.clone(),
        lines,
        diff,
        duration_ms: millis(started.elapsed()),
    }
}

/// Maximum size of the diff in a record, in bytes; the patch has all of it.
const MAX_DIFF: usize = 20_000;

/// Size of a file before and after a change, in bytes, above which a record does not show the change.
const MAX_SHOWN: usize = 1024 * 1024;

/// What a call changed, for people.
pub(super) struct Diffs {
    /// All of it.
    pub(super) whole: String,
    /// The same with the names of files, if there are several, cut to [`MAX_DIFF`].
    pub(super) shown: String,
    pub(super) lines: LineCounts,
}

impl Diffs {
    pub(super) fn of(result: &ToolResult) -> Self {
        let mut diffs = Self { whole: String::new(), shown: String::new(), lines: LineCounts::default() };
        for change in &result.changes {
            let (diff, counts) = difference(change);
            diffs.lines += counts;
            if diffs.shown.len() < MAX_DIFF {
                diffs.show(change, &diff, counts, result.changes.len() > 1);
            }
            diffs.whole += &diff;
        }
        diffs
    }

    fn show(&mut self, change: &FileChange, diff: &str, counts: LineCounts, names_it: bool) {
        if names_it {
            self.shown += &format!("{} ({counts})\n", change.path);
        }
        let space = MAX_DIFF.saturating_sub(self.shown.len());
        let end = diff.floor_char_boundary(space);
        self.shown += &diff[..end];
        if end < diff.len() {
            self.shown += "\n… the rest is in the patch\n";
        }
    }
}

/// Returns the difference that a change makes, and its lines. That of a large file is not looked for.
fn difference(change: &FileChange) -> (String, LineCounts) {
    let size = |state: &Option<FileState>| state.as_ref().map_or(0, |state| state.content.len());
    let (before, after) = (size(&change.before), size(&change.after));
    if before + after > MAX_SHOWN {
        return (format!("too large to be shown, {before} → {after} bytes\n"), LineCounts::default());
    }
    let found = FileDiff::of(change);
    (found.text(), if found.is_binary() { LineCounts::default() } else { found.line_counts() })
}

/// Describes a call by its effects, as in `write_file → src/main.py (+12 −3)` or `run_command → pytest -q
/// (dev)`.
pub(super) fn describe(tool: &str, effects: &Effects, lines: LineCounts) -> String {
    if let Some(command) = &effects.command {
        let folder = if command.cwd.is_root() { String::new() } else { format!(" in {}", command.cwd) };
        let changes = if lines == LineCounts::default() { String::new() } else { format!(", {lines}") };
        return format!("{tool} → {}{folder} ({}{changes})", command.line, command.class);
    }
    if let Some(remote) = &effects.remote {
        return format!("{tool} → {}", remote.target);
    }
    let paths: Vec<&str> = effects.writes.iter().map(WorkspacePath::as_str).collect();
    format!("{tool} → {} ({lines})", paths.join(", "))
}

/// What a guardrail objected to.
#[derive(Default)]
pub(super) struct Target {
    pub(super) command: Option<String>,
    /// The file, if exactly one is concerned.
    pub(super) path: Option<String>,
}

impl Target {
    pub(super) fn of(effects: &Effects) -> Self {
        // For a command, the paths it would write are not what was objected to.
        let path = match (effects.writes.as_slice(), &effects.command) {
            ([path], None) => Some(path.to_string()),
            _ => None,
        };
        Self { command: effects.command.as_ref().map(|command| command.line.clone()), path }
    }
}
