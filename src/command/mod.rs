//! Child processes: what they see, how they are started, bounded and ended.

pub mod analysis;
mod blocklist;
mod classify;
mod converse;
pub mod environment;
mod output;
mod policy;
pub mod sandbox;
mod spawn;
#[cfg(target_os = "linux")]
pub mod supervisor;
mod table;

pub use classify::{Class, Verdict};
pub use converse::{Talk, Talking};
pub use output::Capture;
pub(crate) use output::last_lines;
pub use policy::{Judgement, Policy};
pub(crate) use policy::{Patterns, is_test};
pub use spawn::{Ended, Finished, Job, Shell, Spare};
