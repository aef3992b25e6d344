//! Commands and other child processes: what a command line would do, what children see and may do, and how
//! they are started, bounded, and ended.

mod base_files;
mod command_shell;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(target_os = "linux")]
mod ending;
mod excerpt;
mod failure_lines;
mod failure_signs;
#[cfg(target_os = "linux")]
mod held_roots;
mod job;
mod kept_output;
mod line_forms;
mod line_values;
mod live_output;
mod network;
mod output;
mod pipe_failure;
mod pipe_status;
mod running;
pub mod sandbox;
mod spawn;
mod standby_supervisor;
mod stdio_child;
mod structured_lines;
#[cfg(target_os = "linux")]
pub mod supervisor;
mod test_runs;

pub use base_files::BaseFiles;
pub use command_shell::Shell;
pub use excerpt::{Excerpt, Space, excerpt};
pub(crate) use failure_lines::{failure_lines, is_failure};
pub use job::{Ended, Finished, Job};
pub use kept_output::KeptOutputs;
pub use live_output::LiveOutput;
pub use network::{Enforcement, SandboxSupport};
pub use output::{Capture, Retention};
pub(crate) use output::{last_lines, plain};
pub(crate) use pipe_failure::pipe_failure;
pub use pipe_status::{PipeCodes, PipeStatus, shows_whole_output};
pub(crate) use shell::Patterns;
pub use shell::{Assessment, Class, Containment, Policy, Verdict};
pub use standby_supervisor::StandbySupervisor;
pub use stdio_child::{StdioChild, StdioCommand};
pub(crate) use test_runs::runs_tests;
