//! Plans: what a dry run would do, as actions, as an exact patch, and as a file with a digest.

mod apply;
mod carry_over;
mod digest;
mod expected;
mod file;
mod journal;
mod journal_error;
mod journal_folder;
mod links;
mod made;
mod merge;
mod patch_text;
mod planned_file;
mod tracker;
mod whole_patch;

pub use apply::{Applied, ApplyError, Checked, Stale};
pub use carry_over::CarryOverError;
pub use expected::{Expected, MadeError, SecondJob};
pub use file::{CarriedOver, MAX_PLAN, Plan, Planned, PlannedCommand, SCHEMA_VERSION};
pub use journal::{Journal, MayWrite, Step, recover};
pub use journal_error::JournalError;
pub use journal_folder::JournalFolder;
pub(crate) use links::{link_outside, may_lead_outside, outside};
pub use made::{Made, MadeGate};
pub(crate) use merge::merged;
pub use patch_text::PatchText;
pub use planned_file::{Contents, Damaged, PlanFile};
pub use tracker::{DryRunTracker, summarize_call};
pub(crate) use whole_patch::WholePatch;
