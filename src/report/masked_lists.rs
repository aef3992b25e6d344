//! Masking of what a report or a plan has thousands of, one at a time: as JSON, all of them would take many times their memory.

use sanitize::Masker;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::masked::{Format, MaskError, item_holds_secret, masked_item};
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
        report.files = all(self.files, &["files"], masker)?;
        report.calls = all(self.calls, &["calls"], masker)?;
        if let Some(plan) = &mut report.plan {
            plan.actions = all(self.actions, &["plan", "actions"], masker)?;
        }
        Ok(())
    }
}

fn all<T: Serialize + DeserializeOwned>(
    items: Vec<T>,
    list: &[&str],
    masker: &Masker,
) -> Result<Vec<T>, MaskError> {
    items.into_iter().map(|item| masked_item(&item, Format::Report, list, masker)).collect()
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
