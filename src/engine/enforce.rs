//! Enforcement of guardrails on what really changes: before a file tool runs, by trying it; after a command
//! or a server has run, by looking at the result.

use super::record::Target;
use super::{Caller, Engine, append};
use crate::event::Effects;
use crate::guardrails::Refusal;
use crate::tool::ToolResult;
use crate::workspace::{FileChange, FileError};

impl Engine {
    /// Asks the guardrails about the changes of a call. `are_to_come` says that they are not made yet.
    /// Returns warnings, or the reason for the refusal.
    pub(super) fn check_changes(
        &self,
        own: &[FileChange],
        are_to_come: bool,
    ) -> Result<Vec<String>, Refusal> {
        if own.is_empty() || !self.guardrails.checks_changes() {
            return Ok(Vec::new());
        }
        let all = self.context.workspace.changes()?;
        let all = if are_to_come { all.and(own) } else { all };
        self.guardrails.check_changes(&all, own)
    }

    /// Reports the changes that were refused. A server's changes are only known after the call: those that
    /// are not allowed are reverted here.
    pub(super) fn enforce(&self, caller: Caller<'_>, tool: &str, effects: &Effects, result: &mut ToolResult) {
        let mut refused: Vec<String> = std::mem::take(&mut result.refused)
            .into_iter()
            .map(|reason| format!("{reason}; none of the changes of the command were kept"))
            .collect();
        if effects.remote.is_some() && !result.changes.is_empty() {
            self.revert_refused(result, &mut refused);
        }
        if let Some(before) = result.before.take().filter(|_| !refused.is_empty()) {
            let kept = result.changes.iter().map(|change| change.path.clone()).collect();
            let failed = self.context.workspace.restore_metadata(&before, &kept);
            refused.extend(failed.iter().map(|path| format!("could not restore {}", path.display())));
        }
        for reason in &refused {
            self.emit_block(caller, tool, Target::of(effects), reason);
        }
        if !refused.is_empty() {
            let earlier = result.error.take().map_or(String::new(), |error| format!("{error}\n"));
            result.error = Some(format!("{earlier}Guardrail: {}", refused.join("; ")));
            // Changes that are not kept are not planned either.
            (result.success, result.exit_code) = (false, None);
        }
    }

    fn revert_refused(&self, result: &mut ToolResult, refused: &mut Vec<String>) {
        let workspace = &self.context.workspace;
        result.changes.retain(|change| match self.guardrails.check_write(&change.path) {
            Ok(()) => true,
            Err(reason) => {
                refused.push(revert_note(&reason, workspace.revert(change)));
                false
            }
        });
        match self.check_changes(&result.changes, false) {
            Ok(warnings) => append(result, &warnings),
            Err(reason) => {
                let undone = result.changes.iter().try_for_each(|change| workspace.revert(change));
                result.changes.clear();
                refused.push(revert_note(&reason, undone));
            }
        }
    }
}

fn revert_note(reason: &Refusal, undone: Result<(), FileError>) -> String {
    match undone {
        Ok(()) => format!("{reason}; its changes were reverted"),
        Err(error) => format!("{reason}; could not revert its changes: {error}"),
    }
}
