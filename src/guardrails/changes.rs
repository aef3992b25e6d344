//! Rules about what files become: how many may change, by how many lines, and what no new line may hold.

use workspace::{FileChange, Workspace};

use super::tally::Amount;
use super::{Guardrails, Refusal, code_rules};

impl Guardrails {
    /// Returns `true` if any rule is about the content or the amount of changes, not only about paths.
    pub fn checks_changes(&self) -> bool {
        !self.code_rules.is_empty() || self.limits_changes()
    }

    /// Returns `true` if any rule is about the amount of changes.
    fn limits_changes(&self) -> bool {
        self.max_files.is_some() || self.max_lines.is_some()
    }

    /// Checks the changes of a call before they are made in the workspace of the run. Returns warnings for the model, or the reason
    /// for the refusal.
    pub fn check_changes(
        &self,
        workspace: &dyn Workspace,
        own: &[FileChange],
    ) -> Result<Vec<String>, Refusal> {
        if self.limits_changes() && !own.is_empty() {
            self.check_amount(self.tally.with(workspace, own, &self.time_limit)?)?;
        }
        code_rules::check(&self.code_rules, own, &self.time_limit)
    }

    /// Checks changes that are all there are. Returns warnings, or the reason for the refusal.
    pub fn check_all_changes(&self, all: &[FileChange]) -> Result<Vec<String>, Refusal> {
        if self.limits_changes() {
            self.check_amount(Amount::of(all))?;
        }
        code_rules::check(&self.code_rules, all, &self.time_limit)
    }

    fn check_amount(&self, Amount { files, lines }: Amount) -> Result<(), Refusal> {
        if let Some(limit) = self.max_files.filter(|max| files > *max) {
            return Err(Refusal::TooManyFiles { files, limit });
        }
        match self.max_lines.filter(|max| lines > *max) {
            Some(limit) => Err(Refusal::TooManyLines { lines, limit }),
            None => Ok(()),
        }
    }
}
