//! Commands and other child processes: what a command line would do, what children see and may do, and how
//! they are started, bounded, and ended.

mod converse;
mod output;
pub mod sandbox;
mod spawn;
#[cfg(target_os = "linux")]
pub mod supervisor;

pub use converse::{Talk, Talking};
pub use output::Capture;
pub(crate) use output::last_lines;
pub use shell::{Class, Judgement, Policy, Verdict, Walls};
pub(crate) use shell::{Patterns, is_test};
pub use spawn::{Ended, Finished, Job, Shell, Spare};
