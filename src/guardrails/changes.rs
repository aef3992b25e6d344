//! Rules about what files become: how many may change, by how many lines, and what no new line may hold.

use workspace::{ChangeSet, FileChange, LineCounts};

use super::{Guardrails, Refusal};
use crate::config::Severity;

impl Guardrails {
    /// Returns `true` if any rule is about the content or the amount of changes, not only about paths.
    pub fn checks_changes(&self) -> bool {
        !self.code_rules.is_empty() || self.limits_changes()
    }

    /// Returns `true` if any rule is about the amount of changes.
    pub fn limits_changes(&self) -> bool {
        self.max_files.is_some() || self.max_lines.is_some()
    }

    /// Checks the changes of a call: `own` are those of the call, `all` those of the run including them.
    /// Returns warnings for the model, or the reason for the refusal.
    pub fn check_changes(&self, all: &ChangeSet, own: &[FileChange]) -> Result<Vec<String>, Refusal> {
        if let Some(max) = self.max_files.filter(|max| all.len() > *max) {
            return Err(Refusal::TooManyFiles { files: all.len(), limit: max });
        }
        if let Some(max) = self.max_lines {
            let mut lines = LineCounts::default();
            all.iter().for_each(|change| lines += change.line_counts());
            let changed = lines.added + lines.removed;
            if changed > max {
                return Err(Refusal::TooManyLines { lines: changed, limit: max });
            }
        }
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
