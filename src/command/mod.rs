//! Child processes: what they see, how they are started, bounded and ended.

pub mod environment;
mod output;
mod spawn;

pub use output::Capture;
pub use spawn::{Ended, Finished, Job, Shell};
