//! Many tasks: written down or generated, each in a worktree of its own, some at a time, and one report of all.
//!
//! What is to be done is settled before anything starts ([`Manifest`]) and what is done is written down as it
//! happens (`journal`), so that a batch that was interrupted goes on where it was, here or on other machines.

mod attempt;
mod budget;
mod circuit_breaker;
mod estimate;
mod expand;
mod file;
mod held;
mod journal;
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
mod recipe_tests;
mod request;
mod restored;
mod scheduler;
mod sealed;
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

pub use expand::{ExpansionSources, expand};
pub use file::{BatchFile, Entry, InvalidPercent, Percent, Pilot, Retry, RetryOn, RetryWith, Source};
pub use journal::JournalError;
pub use manifest::{Manifest, ManifestError, Task};
pub use merge::{InvalidReport, MergeError, Merged, merge};
pub use problem::Problem;
pub use progress_display::ProgressMode;
pub(crate) use recipe_tests::check_tests;
pub use request::{BatchRequest, BatchStart, Tasks};
pub use scheduler::{BatchOptions, run_batch};
pub use sealed::SealedJournalError;
pub use shard::{InvalidShard, MAX_SHARDS, Shard, matrix, shards};
pub use shared_folders::NotShareable;
pub use start_error::StartError;
pub use task_list::load_manifest;
pub use task_paths::TaskPaths;
pub use verify_reports::{InvalidDigests, ReportDigests, UnverifiedReport};
