//! Publishing of finished runs: files first, then the runner's own channels, then the network. A failure on the way becomes a
//! notice in the report, and the files are written once more.
//!
//! Nothing else in the project contacts GitHub after a run has ended.

mod batch;
mod batch_matches;
mod github;
mod output_files;
mod progress_comment;
mod publisher;
mod repost;
mod run;
mod run_outputs;
mod run_texts;
mod secret_watch;
mod step_outputs;

pub use batch::{BatchDestination, PublishedBatch, publish_batch};
pub(crate) use github::needs_contents;
pub(crate) use output_files::{OutputFiles, TRANSCRIPT};
pub(crate) use progress_comment::ProgressComment;
pub use repost::Repost;
pub use run::RunResult;
pub(crate) use run::{RunArtifacts, publish_run};
pub(crate) use run_outputs::outputs_without_run;
pub(crate) use step_outputs::StepOutputs;
