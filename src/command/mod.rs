//! Child processes: what they see, how they are started, bounded and ended.

pub mod environment;
mod output;
pub mod sandbox;
mod spawn;

pub use output::Capture;
pub(crate) use output::last_lines;
pub use spawn::{Ended, Finished, Job, Shell};
