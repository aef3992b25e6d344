//! Rules about what files become: how many may change, by how many lines, and what no new line may hold.

use workspace::{FileChange, Workspace};

use super::tally::Amount;
use super::{Guardrails, Refusal};
use crate::config::Severity;

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
            self.check_amount(self.tally.with(workspace, own)?)?;
        }
        self.check_code(own)
    }

    /// Checks changes that are all there are. Returns warnings, or the reason for the refusal.
    pub fn check_all_changes(&self, all: &[FileChange]) -> Result<Vec<String>, Refusal> {
        if self.limits_changes() {
            self.check_amount(Amount::of(all))?;
        }
        self.check_code(all)
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

    fn check_code(&self, own: &[FileChange]) -> Result<Vec<String>, Refusal> {
        let mut warnings = Vec::new();
        for change in own {
            let readings = change.readings();
            for rule in &self.code_rules {
                let (path, message) = (&change.path, &rule.message);
                // If the pattern is given up, whether the rule is broken is not known, so it counts as broken.
                if readings.iter().all(|text| rule.pattern.is_match(text) == Ok(false)) {
                    continue;
                }
                match rule.severity {
                    Severity::Block => {
                        return Err(Refusal::Code {
                            path: path.clone(),
                            message: message.clone(),
                            pattern: rule.pattern.as_str().to_owned(),
                        });
                    }
                    Severity::Warn => {
                        warnings.push(format!(
                            "[Guardrail warning: {path}: {message} (code_rules: {})]",
                            rule.pattern.as_str()
                        ));
                    }
                }
            }
        }
        Ok(warnings)
    }
}
