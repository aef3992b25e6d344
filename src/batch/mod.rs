//! Many tasks: written down or generated, each in a worktree of its own, some at a time, and one report of all.
//!
//! What is to be done is settled before anything starts ([`Manifest`]) and what is done is written down as it
//! happens (`journal`), so that a batch that was interrupted goes on where it was, here or on other machines.

mod attempt;
mod budget;
mod circuit_breaker;
mod context;
mod estimate;
mod expand;
mod file;
mod held;
mod journal;
mod journal_branch;
mod journal_sealer;
mod lesson;
mod lost_files;
mod manifest;
mod merge;
mod neighbours;
mod one_of_many;
mod outside_folders;
mod pilot;
mod planned;
mod problem;
mod progress_display;
mod read_report;
mod recipe_tests;
mod request;
mod restored;
mod scheduler;
mod sealed;
mod sealed_error;
mod settled;
mod shard;
mod shared_folders;
mod start_error;
mod stop;
mod task_key;
mod task_list;
mod task_paths;
mod verify_reports;
mod worktree;
mod write_planned;

pub use expand::{ExpansionSources, expand};
pub use file::{BatchFile, Entry, InvalidPercent, Percent, Pilot, Retry, RetryOn, RetryWith, Source};
pub use journal::JournalError;
pub use manifest::{Manifest, ManifestError, Task};
pub use merge::{MergeError, Merged, merge};
pub use problem::Problem;
pub use progress_display::ProgressMode;
pub use read_report::InvalidReport;
pub(crate) use recipe_tests::check_tests;
pub use request::{BatchRequest, BatchStart, Tasks};
pub use scheduler::{BatchOptions, run_batch};
pub use sealed_error::SealedJournalError;
pub use shard::{InvalidShard, MAX_SHARDS, Shard, matrix, shards};
pub use start_error::{NotShareable, StartError};
pub use task_list::load_manifest;
pub use task_paths::TaskPaths;
pub use verify_reports::{InvalidDigests, ReportDigests, UnverifiedReport};
