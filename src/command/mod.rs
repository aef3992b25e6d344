//! Child processes: what they see, how they are started, bounded and ended.

pub mod analysis;
mod blocklist;
mod classify;
pub mod environment;
mod output;
pub mod sandbox;
mod spawn;
mod table;

pub use blocklist::blocked;
pub use classify::{Class, Verdict, classify};
pub use output::Capture;
pub(crate) use output::last_lines;
pub use spawn::{Ended, Finished, Job, Shell};
