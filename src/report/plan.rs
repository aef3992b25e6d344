//! The plan of a dry run, as its report shows it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workspace::Difference;

use crate::event::PlannedAction;

/// The plan of a dry run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanReport {
    /// The digest of the plan.
    pub digest: String,
    /// Why the plan is incomplete, and therefore not applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incomplete: Option<String>,
    /// Why an apply on GitHub would refuse the plan, which is therefore not offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The actions, in order.
    pub actions: Vec<PlannedAction>,
    /// The number of files that were compared to see whether the checkout changed.
    pub verified_files: usize,
    /// Files of the checkout that did change.
    pub differences: Vec<Difference>,
}

impl PlanReport {
    /// Returns whether nothing stands in the way of the plan.
    pub(super) fn is_whole(&self) -> bool {
        self.incomplete.is_none() && self.refused.is_none() && self.differences.is_empty()
    }
}
