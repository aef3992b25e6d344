//! Supervisors that wait for a command.

#[cfg(target_os = "linux")]
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

#[cfg(target_os = "linux")]
use super::sandbox::Namespaces;
#[cfg(target_os = "linux")]
use super::supervisor::ChildSandbox;

/// Maximum number of supervisors that wait: one for those who look, and one for those who work.
const MAX_WAITING: usize = 2;

/// Supervisors that are started before there is anything to run, so that a command need not wait for one.
#[derive(Clone, Debug, Default)]
pub struct StandbySupervisor(Arc<Mutex<Vec<Waiting>>>);

/// A supervisor, and how its child is shut in: by what means, and from which holder of a root it starts.
#[cfg(target_os = "linux")]
type Waiting = ((Option<Namespaces>, Option<u32>), Supervisor);

/// Nothing waits: other systems have no supervisors.
#[cfg(not(target_os = "linux"))]
type Waiting = ();

/// A supervisor, and its standard input: closing it ends the command.
#[cfg(target_os = "linux")]
#[derive(Debug)]
pub(super) struct Supervisor {
    pub(super) child: tokio::process::Child,
    pub(super) lifeline: std::os::unix::net::UnixStream,
}

#[cfg(target_os = "linux")]
impl Supervisor {
    pub(super) fn spawn(mut command: tokio::process::Command) -> io::Result<Self> {
        let (lifeline, stdin) = std::os::unix::net::UnixStream::pair()?;
        lifeline.set_nonblocking(true)?;
        let child = command.stdin(std::os::fd::OwnedFd::from(stdin)).spawn()?;
        Ok(Self { child, lifeline })
    }
}

#[cfg(target_os = "linux")]
impl StandbySupervisor {
    pub(super) fn take(&self, child_sandbox: ChildSandbox) -> Option<Supervisor> {
        let mut waiting = self.0.lock();
        let at =
            waiting.iter().position(|(kind, _)| *kind == (child_sandbox.namespaces, child_sandbox.holder))?;
        let (_, mut supervisor) = waiting.remove(at);
        matches!(supervisor.child.try_wait(), Ok(None)).then_some(supervisor)
    }

    pub(super) fn put(&self, child_sandbox: ChildSandbox, supervisor: Supervisor) {
        let mut waiting = self.0.lock();
        if waiting.len() == MAX_WAITING {
            waiting.remove(0);
        }
        waiting.push(((child_sandbox.namespaces, child_sandbox.holder), supervisor));
    }
}
