//! Plans: what a dry run would do, as actions, as an exact patch, and as a file with a digest.

mod apply;
mod file;
mod journal;
mod tracker;

pub use apply::{Applied, ApplyError, Checked, Stale};
pub use file::{Contents, Damaged, Plan, PlanFile, Planned, PlannedCommand, SCHEMA_VERSION};
pub use journal::{JournalError, MayWrite, Step, recover, write_all};
pub use tracker::{DryRunTracker, summarize_call};
