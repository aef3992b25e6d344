//! Commands and other child processes: what a command line would do, what children see and may do, and how
//! they are started, bounded, and ended.

mod converse;
mod excerpt;
mod failure_lines;
mod kept_output;
mod live_output;
mod network;
mod output;
mod pipe_status;
mod running;
pub mod sandbox;
mod spawn;
#[cfg(target_os = "linux")]
pub mod supervisor;

pub use converse::{Talk, Talking};
pub use excerpt::{Excerpt, Space, excerpt};
pub(crate) use failure_lines::failure_lines;
pub use kept_output::KeptOutputs;
pub use live_output::LiveOutput;
pub use network::{Enforcement, Means};
pub use output::{Capture, Retention};
pub(crate) use output::{last_lines, plain};
pub use pipe_status::PipeStatus;
pub use running::Spare;
pub use shell::{Assessment, Class, Policy, Verdict, Walls};
pub(crate) use shell::{Patterns, is_test};
pub use spawn::{Ended, Finished, Job, Shell};
