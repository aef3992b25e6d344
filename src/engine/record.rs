//! What a call was, for those who are told of it: the record, its diff, the planned action's words, and what a
//! rule stood against.

use std::time::Instant;

use super::{CallOutcome, Caller};
use crate::event::{CallRecord, ToolCall, millis};
use crate::tool::{Effects, ToolResult};
use crate::workspace::{LineCounts, WorkspacePath};

/// A call that is over.
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
        exit_code: done.result.exit_code,
        result: done.result.text(),
        effects: done.effects.clone(),
        lines,
        diff,
        duration_ms: millis(started.elapsed()),
    }
}

/// Most of a call's diff that a record keeps; the whole is in the patch.
const MAX_DIFF: usize = 20_000;

/// What a call changed, for people, and how many lines that was.
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

/// What a call does, from its effects: `write_file → src/main.py (+12 −3)`, `run_command → pytest -q (dev)`.
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

/// What a rule stands against.
#[derive(Default)]
pub(super) struct Target {
    pub(super) command: Option<String>,
    /// The file, where it is about one alone.
    pub(super) path: Option<String>,
}

impl Target {
    pub(super) fn of(effects: &Effects) -> Self {
        // What a command would write is not what is wrong with it.
        let path = match (effects.writes.as_slice(), &effects.command) {
            ([path], None) => Some(path.to_string()),
            _ => None,
        };
        Self { command: effects.command.as_ref().map(|command| command.line.clone()), path }
    }
}
