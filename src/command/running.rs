//! A command that is running: on Linux by way of its supervisor, elsewhere as the leader of a process group or in a job
//! object.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncWriteExt};

use super::sandbox::Namespaces;
use super::spawn::{Ended, Job, Shell};

/// A supervisor that is started before there is anything to run, so that a command need not wait for it.
#[derive(Clone, Debug, Default)]
pub struct Spare(Arc<Mutex<Option<Waiting>>>);

/// A supervisor, and how its child gets a file system of its own.
type Waiting = (Option<Namespaces>, tokio::process::Child);

impl Spare {
    fn take(&self, namespaces: Option<Namespaces>) -> Option<tokio::process::Child> {
        let (kind, mut child) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let is_there = kind == namespaces && matches!(child.try_wait(), Ok(None));
        is_there.then_some(child)
    }

    fn put(&self, namespaces: Option<Namespaces>, child: tokio::process::Child) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((namespaces, child));
    }
}

#[cfg(target_os = "linux")]
impl Shell {
    /// Returns the command that starts a supervisor, which gets its order through standard input.
    pub(super) fn supervisor(&self, namespaces: Option<Namespaces>) -> tokio::process::Command {
        let mut command = if namespaces == Some(Namespaces::Sudo) {
            let mut command = tokio::process::Command::new("sudo");
            command.args(["-n", "--"]).arg(&self.launcher);
            command
        } else {
            tokio::process::Command::new(&self.launcher)
        };
        let path = self.environment.get("PATH");
        command.arg(super::supervisor::SUPERVISE);
        if self.sandbox.is_some() {
            let shut_in = super::supervisor::ShutIn { namespaces };
            command.arg(serde_json::to_string(&shut_in).unwrap_or_default());
        }
        command
            .current_dir("/")
            // The child's variables come with the order; none of them may decide what is loaded before.
            .env_clear()
            .envs(path.map(|path| ("PATH", path)))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

/// A running command, by way of its supervisor.
#[cfg(target_os = "linux")]
pub(super) struct Running {
    supervisor: tokio::process::Child,
    /// The supervisor's standard input; closing it ends the command.
    lifeline: Option<tokio::process::ChildStdin>,
    order: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Running {
    pub(super) fn start(shell: &Shell, job: &Job<'_>, namespaces: Option<Namespaces>) -> io::Result<Self> {
        use super::supervisor::{Input, Order};
        let mut environment = shell.environment.clone();
        environment
            .extend(job.variables.iter().map(|(name, value)| (name.clone().into_owned(), value.clone())));
        let mut walls = None;
        if let Some(sandbox) = &shell.sandbox {
            walls = Some(sandbox.walls(job.root, job.view, job.rights, namespaces)?);
            sandbox.adapt(&mut environment, namespaces.is_some(), job.root)?;
        }
        let order = Order {
            program: shell.program.clone(),
            arguments: shell.flags.iter().cloned().chain([job.command.to_owned()]).collect(),
            environment,
            walls,
            cwd: job.cwd.to_owned(),
            input: job.stdin.as_ref().map_or(Input::Nothing, |input| Input::Bytes(input.len())),
            merge: job.merge,
        };
        let mut order = serde_json::to_vec(&order)?;
        order.push(b'\n');
        order.extend(job.stdin.iter().flatten());
        let waiting = shell.spare.take(namespaces).filter(|_| shell.sandbox.is_some());
        let mut supervisor = match waiting {
            Some(waiting) => waiting,
            None => shell.supervisor(namespaces).spawn()?,
        };
        let lifeline = supervisor.stdin.take();
        if shell.sandbox.is_some()
            && let Ok(next) = shell.supervisor(namespaces).spawn()
        {
            shell.spare.put(namespaces, next);
        }
        Ok(Self { supervisor, lifeline, order })
    }

    pub(super) fn outputs(&mut self) -> (Option<impl AsyncRead + use<>>, Option<impl AsyncRead + use<>>) {
        (self.supervisor.stdout.take(), self.supervisor.stderr.take())
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(lifeline) = &mut self.lifeline {
            // A supervisor that is already gone says so by its status.
            let _ = lifeline.write_all(&self.order).await;
        }
        self.supervisor.wait().await
    }

    /// Ends the command and everything that it started.
    pub(super) async fn end(&mut self) {
        drop(self.lifeline.take());
        // Twice the grace period; a process that cannot be killed (it hangs in the kernel) is left to the
        // supervisor.
        let _ = tokio::time::timeout(2 * super::supervisor::GRACE, self.supervisor.wait()).await;
    }

    /// Kills the session of a supervisor that is still running.
    pub(super) fn clear(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let left = self.supervisor.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(session) = left {
            let _ = kill_process_group(session, Signal::KILL);
        }
    }
}

/// A running command, as the leader of a process group (or in a job object).
#[cfg(not(target_os = "linux"))]
pub(super) struct Running {
    child: Box<dyn process_wrap::tokio::ChildWrapper>,
    input: Vec<u8>,
}

#[cfg(not(target_os = "linux"))]
impl Running {
    pub(super) fn start(shell: &Shell, job: &Job<'_>, _: Option<Namespaces>) -> io::Result<Self> {
        let mut command = process_wrap::tokio::CommandWrap::with_new(&shell.program, |command| {
            command
                .args(&shell.flags)
                .arg(job.command)
                .current_dir(job.cwd)
                .env_clear()
                .envs(&shell.environment)
                .envs(job.variables.iter().map(|(name, value)| (&**name, value)))
                .stdin(if job.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        Ok(Self { child: command.spawn()?, input: job.stdin.clone().unwrap_or_default() })
    }

    pub(super) fn outputs(&mut self) -> (Option<impl AsyncRead + use<>>, Option<impl AsyncRead + use<>>) {
        (self.child.stdout().take(), self.child.stderr().take())
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(mut stdin) = self.child.stdin().take() {
            // The child may end, or close its input, before it has read everything.
            let _ = stdin.write_all(&self.input).await;
        }
        self.child.wait().await
    }

    pub(super) async fn end(&mut self) {
        const GRACE: std::time::Duration = std::time::Duration::from_secs(2);
        #[cfg(unix)]
        {
            let _ = self.child.signal(rustix::process::Signal::TERM.as_raw());
            if tokio::time::timeout(GRACE, self.child.wait()).await.is_ok() {
                return;
            }
        }
        let _ = self.child.start_kill();
        let _ = tokio::time::timeout(GRACE, self.child.wait()).await;
    }

    /// Kills what is left of the group: it ends with the command.
    pub(super) fn clear(&mut self) {
        let _ = self.child.start_kill();
    }
}

#[cfg(unix)]
pub(super) fn ended(status: ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, Some(signal)) => Ended::Signaled(signal),
        (None, None) => Ended::Exited(-1),
    }
}

#[cfg(not(unix))]
pub(super) fn ended(status: ExitStatus) -> Ended {
    Ended::Exited(status.code().unwrap_or(-1))
}
