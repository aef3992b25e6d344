//! Records of calls: the event, its diff, the description of a planned action, and the target of a guardrail.

use std::time::Instant;

use workspace::{LineCounts, WorkspacePath};

use super::{CallOutcome, Caller};
use crate::event::{CallRecord, Effects, ToolCall, millis};
use crate::tool::ToolResult;

/// Builds the record of a completed call.
pub(super) fn record(
    caller: Caller<'_>,
    call: &ToolCall,
    done: &CallOutcome,
    started: Instant,
) -> CallRecord {
    let (diff, lines) = diff_of(&done.result);
    CallRecord {
        agent: caller.agent.to_owned(),
        step: caller.step,
        id: call.id.clone(),
        tool: call.name.clone(),
        outcome: done.outcome,
        success: done.result.success,
        cut_off: false,
        exit_code: done.result.exit_code,
        result: done.result.text(),
        effects: done.effects.clone(),
        lines,
        diff,
        duration_ms: millis(started.elapsed()),
    }
}

/// Maximum size of the diff in a record, in bytes; the patch has all of it.
const MAX_DIFF: usize = 20_000;

/// Returns the diff of a call for people, cut to [`MAX_DIFF`], and the number of lines changed.
pub(super) fn diff_of(result: &ToolResult) -> (String, LineCounts) {
    let (mut text, mut lines) = (String::new(), LineCounts::default());
    for change in &result.changes {
        let diff = change.diff();
        let counts = if change.is_binary() { LineCounts::default() } else { LineCounts::of(&diff) };
        lines += counts;
        if text.len() >= MAX_DIFF {
            continue;
        }
        if result.changes.len() > 1 {
            text += &format!("{} ({counts})\n", change.path);
        }
        let space = MAX_DIFF.saturating_sub(text.len());
        let end = diff.floor_char_boundary(space);
        text += &diff[..end];
        if end < diff.len() {
            text += "\n… the rest is in the patch\n";
        }
    }
    (text, lines)
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
