//! A command that is running: on Linux by way of its supervisor, elsewhere as the leader of a process group or in a job
//! object.

use std::io;
#[cfg(target_os = "linux")]
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
#[cfg(target_os = "linux")]
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWriteExt};

use super::command_shell::Shell;
use super::job::{Ended, Job};
#[cfg(target_os = "linux")]
use super::network::RunningProxy;
use super::network::SandboxSupport;
use super::sandbox::Namespaces;
#[cfg(target_os = "linux")]
use super::sandbox::{HOLD, HeldRoot, NewRoot, Rights, SHARED_MEMORY, Sandbox, SharedMemoryUse, View};
#[cfg(target_os = "linux")]
use super::standby_supervisor::{StandbySupervisor, Supervisor};
#[cfg(target_os = "linux")]
use super::supervisor::ChildSandbox;
#[cfg(target_os = "linux")]
use crate::base::program::find_program;
use crate::base::time_limit::{Grace, TimeLimit};
use crate::event::NetworkRecord;

/// How long a command is left alone before the supervisor of the next one starts beside it: most of those that look end within
/// that time, and would be slowed down.
#[cfg(target_os = "linux")]
const SHORT: Duration = Duration::from_millis(20);

#[cfg(target_os = "linux")]
impl Shell {
    /// Returns the command that starts a supervisor, which gets its request through standard input.
    pub(super) fn supervisor(&self, child_sandbox: ChildSandbox) -> tokio::process::Command {
        let mut command = self.of_this_program(super::supervisor::SUPERVISE, child_sandbox.namespaces);
        if self.sandbox.is_some() {
            command.arg(serde_json::to_string(&child_sandbox).unwrap_or_default());
        }
        command
    }

    /// Returns the holder of the common parts of a root, if there is one.
    async fn held_root(&self, sandbox: &Sandbox, root: &NewRoot) -> Option<HeldRoot> {
        let command = || self.of_this_program(HOLD, Some(root.namespaces));
        sandbox.held_roots().find(root, sandbox.is_trusted(), command).await
    }

    /// Returns the command that starts a hidden sub-command of this program, with the rights that namespaces take.
    fn of_this_program(&self, name: &str, namespaces: Option<Namespaces>) -> tokio::process::Command {
        let mut command = if namespaces == Some(Namespaces::Sudo) {
            // Without one that may be started, the attempt fails, and there is no file system of a child's own.
            let sudo = find_program("sudo", &[]).unwrap_or_else(|| PathBuf::from("/nonexistent/sudo"));
            let mut command = tokio::process::Command::new(sudo);
            command.args(["-n", "--"]).arg(&self.launcher);
            command
        } else {
            tokio::process::Command::new(&self.launcher)
        };
        let path = self.environment.get("PATH");
        command
            .arg(name)
            // It goes to `/` by itself: given a folder for a child, a statically linked program copies itself to start one.
            // The child's variables come with the request; none of them may decide what is loaded before.
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
    lifeline: Option<tokio::net::UnixStream>,
    /// Whether the supervisor has said that everything has ended but itself.
    has_reported: bool,
    request: Vec<u8>,
    network: Option<RunningProxy>,
    /// The use of the machine's shared memory, if it has that.
    shared_memory: Option<SharedMemoryUse>,
    time_limit: TimeLimit,
    /// The next supervisor, to be started when this one is no longer in need of the machine.
    next: Option<(StandbySupervisor, ChildSandbox, tokio::process::Command)>,
}

#[cfg(target_os = "linux")]
impl Running {
    pub(super) async fn start(shell: &Shell, job: &Job<'_>, support: SandboxSupport) -> io::Result<Self> {
        use super::supervisor::{Input, SupervisorRequest};
        let mut environment = shell.environment.clone();
        environment
            .extend(job.variables.iter().map(|(name, value)| (name.clone().into_owned(), value.clone())));
        let (mut restrictions, mut holder, namespaces) = (None, None, support.namespaces);
        let mut shared_memory = None;
        if let Some(sandbox) = &shell.sandbox {
            let made = restrictions.insert(sandbox.restrictions(job.root, job.view, job.rights, namespaces)?);
            if let (Some(root), View::Overlay(_) | View::Reader(_), true) =
                (&mut made.root, job.view, made.restricted)
            {
                root.held = shell.held_root(sandbox, root).await;
                holder = root.held.as_ref().map(|held| held.holder);
            }
            if namespaces.is_none() && job.rights == Rights::Work {
                shared_memory = sandbox.shared_memory(shell.owner.as_deref());
                made.system_v = shared_memory.as_ref().is_some_and(|taken| taken.system_v);
                made.writable.extend(shared_memory.as_ref().map(|_| PathBuf::from(SHARED_MEMORY)));
            }
            sandbox.adapt(&mut environment, namespaces.is_some(), job.root)?;
        }
        let network = shell.open_network(restrictions.as_mut(), &mut environment, support, job.command)?;
        let request = SupervisorRequest {
            program: shell.program.clone(),
            arguments: shell.flags.iter().cloned().chain([job.line().into_owned()]).collect(),
            environment,
            restrictions,
            cwd: job.cwd.to_owned(),
            input: job.stdin.as_ref().map_or(Input::Nothing, |input| Input::Bytes(input.len())),
            merge: job.merge,
            grace_over_in: shell.time_limit.until(Grace::Children),
        };
        let mut request = serde_json::to_vec(&request)?;
        request.push(b'\n');
        request.extend(job.stdin.iter().flatten());
        let child_sandbox = ChildSandbox { namespaces, holder };
        let is_sandboxed = shell.sandbox.is_some();
        let supervisor = match shell.standby.take(child_sandbox).filter(|_| is_sandboxed) {
            Some(waiting) => waiting,
            None => Supervisor::spawn(shell.supervisor(child_sandbox))?,
        };
        let Supervisor { child: supervisor, lifeline } = supervisor;
        let lifeline = Some(tokio::net::UnixStream::from_std(lifeline)?);
        let next =
            is_sandboxed.then(|| (shell.standby.clone(), child_sandbox, shell.supervisor(child_sandbox)));
        let time_limit = shell.time_limit.clone();
        Ok(Self {
            supervisor,
            lifeline,
            has_reported: false,
            request,
            network,
            shared_memory,
            time_limit,
            next,
        })
    }

    pub(super) fn outputs(&mut self) -> (Option<impl AsyncRead + use<>>, Option<impl AsyncRead + use<>>) {
        (self.supervisor.stdout.take(), self.supervisor.stderr.take())
    }

    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(lifeline) = &mut self.lifeline {
            // A supervisor that is already gone says so by its status.
            let _ = lifeline.write_all(&self.request).await;
        }
        if let Ok(status) = tokio::time::timeout(SHORT, self.ended()).await {
            return status;
        }
        self.prepare_next();
        self.ended().await
    }

    /// Waits for the supervisor to end, or to report that everything else has.
    async fn ended(&mut self) -> io::Result<ExitStatus> {
        if let Some(lifeline) = &mut self.lifeline
            && let Some(status) = super::ending::reported(lifeline).await
        {
            self.has_reported = true;
            return Ok(status);
        }
        self.supervisor.wait().await
    }

    /// Starts the next supervisor, beside whatever else is to be done.
    fn prepare_next(&mut self) {
        let Some((standby, child_sandbox, supervisor)) = self.next.take() else { return };
        tokio::task::spawn_blocking(move || {
            // Without one, the next command starts its own, and reports the error.
            if let Ok(next) = Supervisor::spawn(supervisor) {
                standby.put(child_sandbox, next);
            }
        });
    }

    /// Ends the command and everything that it started. Returns `ended`, or what became of it if that takes too long.
    pub(super) async fn end_as(&mut self, ended: Ended) -> Ended {
        drop(self.lifeline.take());
        // A process that cannot be killed (it hangs in the kernel) is left to the supervisor, which ends only after all others.
        let supervisor = tokio::time::timeout(time_to_end(&self.time_limit), self.supervisor.wait()).await;
        if matches!(supervisor, Ok(Ok(_))) {
            return ended;
        }
        if let Some(shared_memory) = self.shared_memory.take() {
            shared_memory.keep();
        }
        Ended::StillRunning
    }

    /// Ends the proxy of the command. Returns what it refused.
    pub(super) fn end_network(&mut self) -> Vec<NetworkRecord> {
        self.network.take().map(RunningProxy::end).unwrap_or_default()
    }

    /// Kills the session of a supervisor that is still running, and makes ready for the next command.
    pub(super) fn clear(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let left = self.supervisor.id().filter(|_| !self.has_reported);
        if let Some(session) = left.and_then(|id| Pid::from_raw(id.cast_signed())) {
            let _ = kill_process_group(session, Signal::KILL);
        }
        self.prepare_next();
    }
}

/// Returns how long a supervisor may take to end everything, and itself.
#[cfg(target_os = "linux")]
pub(super) fn time_to_end(limit: &TimeLimit) -> Duration {
    /// Time that processes which are killed at once take to be gone.
    const LEAST: Duration = Duration::from_millis(300);
    limit.left(Grace::Changes, 2 * super::supervisor::GRACE).max(LEAST)
}

/// A running command, as the leader of a process group (or in a job object).
#[cfg(not(target_os = "linux"))]
pub(super) struct Running {
    child: Box<dyn process_wrap::tokio::ChildWrapper>,
    input: Vec<u8>,
    time_limit: TimeLimit,
}

#[cfg(not(target_os = "linux"))]
impl Running {
    #[expect(clippy::unused_async, reason = "the same as elsewhere")]
    pub(super) async fn start(shell: &Shell, job: &Job<'_>, _: SandboxSupport) -> io::Result<Self> {
        let mut command = process_wrap::tokio::CommandWrap::with_new(&shell.program, |command| {
            command
                .args(&shell.flags)
                .arg(&*job.line())
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
        Ok(Self {
            child: command.spawn()?,
            input: job.stdin.clone().unwrap_or_default(),
            time_limit: shell.time_limit.clone(),
        })
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

    pub(super) async fn end_as(&mut self, ended: Ended) -> Ended {
        const GRACE: std::time::Duration = Grace::Children.duration();
        #[cfg(unix)]
        {
            let _ = self.child.signal(rustix::process::Signal::TERM.as_raw());
            let grace = self.time_limit.left(Grace::Children, GRACE);
            if tokio::time::timeout(grace, self.child.wait()).await.is_ok() {
                return ended;
            }
        }
        let _ = self.child.start_kill();
        let killed = tokio::time::timeout(GRACE, self.child.wait()).await;
        if killed.is_ok() { ended } else { Ended::StillRunning }
    }

    /// Returns nothing: there is no sandbox that could limit a network.
    #[expect(clippy::unused_self, reason = "the same as elsewhere")]
    pub(super) fn end_network(&mut self) -> Vec<NetworkRecord> {
        Vec::new()
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
