//! Rules on what really changes: before a file tool runs, by trying it; after a command ran, by looking.

use super::record::Target;
use super::{Caller, Engine, append};
use crate::tool::{Effects, ToolResult};
use crate::workspace::{FileChange, FileError};

impl Engine {
    /// Asks the guardrails about changes that a call would make, or has made.
    pub(super) fn review(&self, own: &[FileChange], are_to_come: bool) -> Result<Vec<String>, String> {
        if own.is_empty() || !self.guardrails.look_at_changes() {
            return Ok(Vec::new());
        }
        let all = self.context.workspace.changes().map_err(|error| error.to_string())?;
        let all = if are_to_come { all.and(own) } else { all };
        self.guardrails.review(&all, own)
    }

    /// Tells of what was refused. What a server has changed is known only now; what must not be is put back.
    pub(super) fn police(&self, caller: Caller<'_>, tool: &str, effects: &Effects, result: &mut ToolResult) {
        let mut refused: Vec<String> = std::mem::take(&mut result.refused)
            .into_iter()
            .map(|reason| format!("{reason}; none of the changes of the command were kept"))
            .collect();
        if effects.remote.is_some() && !result.changes.is_empty() {
            self.put_back(result, &mut refused);
        }
        for reason in &refused {
            self.blocked(caller, tool, Target::of(effects), reason);
        }
        if !refused.is_empty() {
            let earlier = result.error.take().map_or(String::new(), |error| format!("{error}\n"));
            result.error = Some(format!("{earlier}Guardrail: {}", refused.join("; ")));
            // What is not kept is not planned either.
            (result.success, result.exit_code) = (false, None);
        }
    }

    fn put_back(&self, result: &mut ToolResult, refused: &mut Vec<String>) {
        let workspace = &self.context.workspace;
        result.changes.retain(|change| match self.guardrails.check_write(&change.path) {
            Ok(()) => true,
            Err(reason) => {
                refused.push(put_back(&reason, workspace.revert(change)));
                false
            }
        });
        match self.review(&result.changes, false) {
            Ok(warnings) => append(result, &warnings),
            Err(reason) => {
                let undone = result.changes.iter().try_for_each(|change| workspace.revert(change));
                result.changes.clear();
                refused.push(put_back(&reason, undone));
            }
        }
    }
}

fn put_back(reason: &str, undone: Result<(), FileError>) -> String {
    match undone {
        Ok(()) => format!("{reason}; its changes were reverted"),
        Err(error) => format!("{reason}; could not revert its changes: {error}"),
    }
}
