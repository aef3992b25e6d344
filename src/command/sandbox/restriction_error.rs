//! Reasons why a process could not restrict itself.

#[cfg(target_os = "linux")]
use rustix::io::Errno;

/// The restriction that is not available, and why.
#[derive(Debug, thiserror::Error)]
pub enum RestrictionError {
    /// Landlock is missing, and there is no file system of its own that would do instead.
    #[error("this kernel has no Landlock")]
    NoLandlock,
    /// Capabilities.
    #[cfg(target_os = "linux")]
    #[error("could not drop capabilities: {0}")]
    Capabilities(#[source] Errno),
    /// The promise that no program gets more privileges.
    #[cfg(target_os = "linux")]
    #[error("the kernel refused no_new_privs: {0}")]
    NewPrivileges(#[source] Errno),
    /// Landlock's rules.
    #[cfg(target_os = "linux")]
    #[error(transparent)]
    Landlock(#[from] landlock::RulesetError),
    /// The filter of system calls, before it is installed.
    #[cfg(target_os = "linux")]
    #[error("could not build the system-call filter: {0}")]
    Filter(#[from] seccompiler::BackendError),
    /// The filter of system calls.
    #[cfg(target_os = "linux")]
    #[error("could not install the system-call filter: {0}")]
    Install(#[from] seccompiler::Error),
}
