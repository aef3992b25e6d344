//! Masking of what a report or a plan has thousands of, one at a time: as JSON, all of them would take many times their memory.

use sanitize::Masker;

use super::masked::{Format, MaskError, item_holds_secret, masked_items};
use super::{CallSummary, FileSummary, RunReport};
use crate::event::PlannedAction;
use crate::plan::{Contents, Plan, PlanFile};

/// Lists that were taken out of a report.
#[derive(Default)]
pub struct Lists {
    files: Vec<FileSummary>,
    calls: Vec<CallSummary>,
    /// The actions of the plan, which the report does not have before it is published.
    pub actions: Vec<PlannedAction>,
}

impl Lists {
    /// Takes the lists out of a report.
    pub fn take(report: &mut RunReport) -> Self {
        Self {
            files: std::mem::take(&mut report.files),
            calls: std::mem::take(&mut report.calls),
            actions: report.plan.as_mut().map(|plan| std::mem::take(&mut plan.actions)).unwrap_or_default(),
        }
    }

    /// Masks the lists and puts them into the report.
    pub fn masked(self, report: &mut RunReport, masker: &Masker) -> Result<(), MaskError> {
        let masked = Self {
            files: masked_items(self.files, Format::Report, &["files"], masker)?,
            calls: masked_items(self.calls, Format::Report, &["calls"], masker)?,
            actions: masked_items(self.actions, Format::Report, &["plan", "actions"], masker)?,
        };
        masked.put_back(report);
        Ok(())
    }

    /// Puts the lists into the report that they were taken out of, as they are.
    pub fn put_back(self, report: &mut RunReport) {
        report.files = self.files;
        report.calls = self.calls;
        if let Some(plan) = &mut report.plan {
            plan.actions = self.actions;
        }
    }
}

/// Returns whether a plan holds a known secret outside of the format's own words and of the contents of its files.
pub fn plan_holds_secret(plan: &mut Plan, masker: &Masker) -> Result<bool, MaskError> {
    let (files, actions) = (std::mem::take(&mut plan.files), std::mem::take(&mut plan.actions));
    let holds = || {
        for file in &files {
            let file = PlanFile { contents: Contents::Base64(String::new()), ..file.clone() };
            if item_holds_secret(&file, Format::Plan, &["files"], masker)? {
                return Ok(true);
            }
        }
        for action in &actions {
            if item_holds_secret(action, Format::Plan, &["actions"], masker)? {
                return Ok(true);
            }
        }
        item_holds_secret(plan, Format::Plan, &[], masker)
    };
    let holds = if masker.secrets().is_empty() { Ok(false) } else { holds() };
    (plan.files, plan.actions) = (files, actions);
    holds
}

#[cfg(test)]
mod tests {
    use workspace::{LineCounts, Operation, WorkspacePath};

    use super::*;

    #[test]
    fn items_with_a_secret_are_masked_and_others_stay() {
        let file = |diff: &str| FileSummary {
            path: WorkspacePath::parse("modify").expect("a path"),
            op: Operation::Modify,
            lines: LineCounts::default(),
            diff: diff.to_owned(),
        };
        let files = vec![file("+plain\n"), file("+hunter22\n"), file("+modify\n")];
        let masked = |secret| {
            masked_items(files.clone(), Format::Report, &["files"], &Masker::new([secret])).expect("JSON")
        };
        assert_eq!(masked("hunter22"), [file("+plain\n"), file("+***\n"), file("+modify\n")]);
        // A word of the format stays, and a path is text.
        let named = WorkspacePath::parse("***").expect("a path");
        let named = |diff: &str| FileSummary { path: named.clone(), ..file(diff) };
        assert_eq!(masked("modify"), [named("+plain\n"), named("+hunter22\n"), named("+***\n")]);
    }
}
