//! Enforcement of guardrails on what really changes: before a file tool runs, by trying it; after a command
//! or a server has run, by looking at the result.

use workspace::FileChange;

use super::record::Target;
use super::{Caller, Engine};
use crate::event::Effects;
use crate::guardrails::Refusal;
use crate::tool::ToolResult;

impl Engine {
    /// Asks the guardrails about the changes that a call is going to make. Returns warnings, or the reason for the
    /// refusal.
    pub(super) fn check_changes(&self, own: &[FileChange]) -> Result<Vec<String>, Refusal> {
        self.guardrails.check_changes(self.context.workspace.as_ref(), own)
    }

    /// Reports the changes that were refused after a command or another program made them, and that were not kept.
    pub(super) fn enforce(&self, caller: Caller<'_>, tool: &str, effects: &Effects, result: &mut ToolResult) {
        let whose = if effects.remote.is_some() { "server" } else { "command" };
        let refused: Vec<String> = std::mem::take(&mut result.refused)
            .into_iter()
            .map(|reason| format!("{reason}; none of the changes of the {whose} were kept"))
            .collect();
        for reason in &refused {
            self.emit_block(caller, tool, Target::of(effects), reason);
        }
        let by_rule = (!refused.is_empty()).then(|| format!("Guardrail: {}", refused.join("; ")));
        let lost = result.lost.take();
        let lost = lost.map(|reason| format!("{reason}; none of the changes of the {whose} were kept"));
        let told: Vec<String> = by_rule.into_iter().chain(lost).collect();
        if !told.is_empty() {
            let earlier = result.error.take().map_or(String::new(), |error| format!("{error}\n"));
            result.error = Some(format!("{earlier}{}", told.join("\n")));
            // Changes that are not kept are not planned either.
            (result.success, result.exit_code) = (false, None);
        }
    }
}
