//! Commands and other child processes: what a command line would do, what children see and may do, and how
//! they are started, bounded, and ended.

pub mod analysis;
mod behind_walls;
mod blocklist;
mod builtins;
mod classify;
mod converse;
pub mod environment;
mod options;
mod output;
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
pub use output::Capture;
pub(crate) use output::last_lines;
pub use policy::{Judgement, Policy};
pub(crate) use policy::{Patterns, is_test};
pub use spawn::{Ended, Finished, Job, Shell, Spare};
