//! Plans: what a dry run would do, as actions, as an exact patch, and as a file with a digest.

mod file;
mod tracker;

pub use file::{Contents, Plan, PlanFile, Planned, PlannedCommand, SCHEMA_VERSION};
pub use tracker::{DryRunTracker, PlannedAction, summarize_call};
