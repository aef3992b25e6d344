//! Commands and other child processes: what a command line would do, what children see and may do, and how
//! they are started, bounded, and ended.

pub mod analysis;
mod behind_walls;
mod blocklist;
mod builtins;
mod classify;
mod converse;
pub mod environment;
mod excerpt;
mod failure_lines;
mod kept_output;
mod options;
mod output;
mod pipe_status;
mod place;
mod policy;
mod reach;
mod reach_table;
mod refusal;
mod runners;
pub mod sandbox;
mod spawn;
mod strict;
#[cfg(target_os = "linux")]
pub mod supervisor;
mod table;
mod wrappers;

pub use classify::{Class, Verdict, Walls};
pub use converse::{Talk, Talking};
pub use excerpt::{Excerpt, Space, excerpt};
pub use kept_output::KeptOutputs;
pub use output::{Capture, Retention};
pub(crate) use output::{last_lines, plain};
pub use pipe_status::PipeStatus;
pub use policy::{Judgement, Policy};
pub(crate) use policy::{Patterns, is_test};
pub use spawn::{Ended, Finished, Job, LiveOutput, Shell, Spare};
