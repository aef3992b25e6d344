//! Command execution: runs one command line to its end, with bounded output and a deadline, and leaves no
//! process behind.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::output::{Capture, Retention};
use super::sandbox::{Namespaces, Rights, Sandbox, View};
use crate::base::verbose_log::detail;

/// Time limit for finding out whether a child can have a file system of its own.
const PROBE: Duration = Duration::from_secs(10);

/// Time to wait for output from a pipe that a process out of reach still holds open.
const DRAIN: Duration = Duration::from_millis(500);

/// The shell that runs command lines, and what its children get.
#[derive(Clone, Debug, Default)]
pub struct Shell {
    /// The path of this program, which starts children.
    pub launcher: PathBuf,
    /// The program of the shell.
    pub program: String,
    /// The arguments before the command line, such as `-c`.
    pub flags: Vec<String>,
    /// All environment variables of a child.
    pub environment: BTreeMap<String, String>,
    /// The names of variables that are withheld from children.
    pub withheld: BTreeSet<String>,
    /// The sandbox of the children; `None` if there is none.
    pub sandbox: Option<Sandbox>,
    /// A supervisor that is waiting for an order.
    pub spare: Spare,
}

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

/// A command line to run.
pub struct Job<'a> {
    /// The command line, for the shell.
    pub command: &'a str,
    /// The working directory.
    pub cwd: &'a Path,
    /// The root of the workspace, which contains `cwd`.
    pub root: &'a Path,
    /// What the command sees at `root`.
    pub view: View<'a>,
    /// What the command is allowed to do.
    pub rights: Rights,
    /// Environment variables on top of the shell's.
    pub variables: Vec<(Cow<'a, str>, String)>,
    /// The bytes for standard input; nothing can be read if `None`.
    pub stdin: Option<Vec<u8>>,
    /// Whether standard error goes to the same stream as standard output, in the order in which they are
    /// written.
    pub merge: bool,
    /// Where standard output is collected; others can look at it meanwhile.
    pub output: LiveOutput,
    /// The time after which the command is ended.
    pub timeout: Duration,
    /// A token that ends the command early.
    pub cancel: CancellationToken,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// An exit with this code.
    Exited(i32),
    /// Death by the signal with this number.
    Signaled(i32),
    /// A kill after the time limit.
    TimedOut,
    /// A kill because the run was interrupted.
    Cancelled,
    /// A failure to start, with the reason.
    NotStarted(String),
}

impl Ended {
    /// Returns the exit code, or -1 if there is none.
    pub fn code(&self) -> i32 {
        match self {
            Self::Exited(code) => *code,
            _ => -1,
        }
    }
}

/// A finished command.
#[derive(Debug)]
pub struct Finished {
    /// How the command ended.
    pub ended: Ended,
    /// The standard output; of both streams if they were merged.
    pub stdout: Capture,
    /// The standard error.
    pub stderr: Capture,
    /// The time from start to end.
    pub duration: Duration,
}

impl Finished {
    /// Returns the result of a command that never ran.
    pub(crate) fn not_started(error: String, duration: Duration) -> Self {
        let (stdout, stderr) = (Capture::default(), Capture::default());
        Self { ended: Ended::NotStarted(error), stdout, stderr, duration }
    }

    /// Returns both outputs, standard output first, each without whitespace at its ends.
    pub fn output(&self) -> String {
        let (stdout, stderr) = (self.stdout.text(), self.stderr.text());
        [stdout.trim(), stderr.trim()]
            .into_iter()
            .filter(|text| !text.is_empty())
            .collect::<Vec<_>>()
            .join("\n")
    }
}

impl Shell {
    /// Runs a command line. Never fails: a failure to start is [`Ended::NotStarted`].
    pub async fn run(&self, job: Job<'_>) -> Finished {
        let namespaces = self.namespaces(job.root).await;
        self.run_in(job, namespaces).await
    }

    /// Runs a command line in a file system of its own, or on the machine's if `namespaces` is `None`.
    async fn run_in(&self, job: Job<'_>, namespaces: Option<Namespaces>) -> Finished {
        let started = Instant::now();
        let sandbox = self.sandbox.as_ref().filter(|_| job.rights == Rights::Work);
        let before = sandbox.and_then(Sandbox::before);
        let mut running = match Running::start(self, &job, namespaces) {
            Ok(running) => running,
            Err(error) => {
                let error = format!("{}: {error}", self.program);
                return Finished::not_started(error, started.elapsed());
            }
        };
        let (stdout, stderr) = running.outputs();
        let (stdout, stderr) = (collect(stdout, job.output.clone()), collect(stderr, LiveOutput::default()));
        let ended = tokio::select! {
            status = running.wait() => status.map_or_else(|error| Ended::NotStarted(error.to_string()), ended),
            () = tokio::time::sleep(job.timeout) => {
                running.end().await;
                Ended::TimedOut
            }
            () = job.cancel.cancelled() => {
                running.end().await;
                Ended::Cancelled
            }
        };
        running.clear();
        let (stdout, stderr) = tokio::join!(stdout.finish(), stderr.finish());
        if let (Some(sandbox), Some(before)) = (sandbox, &before) {
            sandbox.after(before);
        }
        Finished { ended, stdout, stderr, duration: started.elapsed() }
    }

    /// Returns the same shell for one hook or gate, whose children share no folder with others.
    #[must_use]
    pub fn of(&self, owner: &str) -> Self {
        Self { sandbox: self.sandbox.as_ref().map(|sandbox| sandbox.of(owner)), ..self.clone() }
    }

    /// Returns whether the kernel restricts children.
    pub fn is_walled(&self) -> bool {
        self.sandbox.as_ref().is_some_and(Sandbox::is_restricted)
    }

    /// Returns how a child can have a file system of its own here, or `None` if it cannot. This is tried out
    /// once.
    pub async fn namespaces(&self, root: &Path) -> Option<Namespaces> {
        let sandbox = self.sandbox.as_ref()?;
        sandbox.namespaces(self.probe(sandbox, root)).await
    }

    async fn probe(&self, sandbox: &Sandbox, root: &Path) -> Option<Namespaces> {
        for namespaces in Namespaces::candidates() {
            let Ok(tried) = sandbox.probe_overlay(root) else { return None };
            let job = Job {
                command: "true",
                cwd: root,
                root,
                view: View::Overlay(&tried),
                rights: Rights::Work,
                variables: Vec::new(),
                stdin: None,
                merge: true,
                output: LiveOutput::default(),
                timeout: PROBE,
                cancel: CancellationToken::new(),
            };
            // A shell that is missing is no reason to do without a sandbox. A try that fails half-way leaves mount
            // points behind, which must not stand in anybody's home folder.
            let probe = Self {
                program: "true".to_owned(),
                flags: Vec::new(),
                sandbox: Some(sandbox.trusted()),
                spare: Spare::default(),
                ..self.clone()
            };
            let finished = probe.run_in(job, Some(*namespaces)).await;
            if finished.ended == Ended::Exited(0) {
                return Some(*namespaces);
            }
            detail!("commands do not get their own file system ({namespaces:?}): {}", finished.output());
        }
        None
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
struct Running {
    supervisor: tokio::process::Child,
    /// The supervisor's standard input; closing it ends the command.
    lifeline: Option<tokio::process::ChildStdin>,
    order: Vec<u8>,
}

#[cfg(target_os = "linux")]
impl Running {
    fn start(shell: &Shell, job: &Job<'_>, namespaces: Option<Namespaces>) -> io::Result<Self> {
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

    fn outputs(&mut self) -> (Option<impl AsyncRead + use<>>, Option<impl AsyncRead + use<>>) {
        (self.supervisor.stdout.take(), self.supervisor.stderr.take())
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(lifeline) = &mut self.lifeline {
            // A supervisor that is already gone says so by its status.
            let _ = lifeline.write_all(&self.order).await;
        }
        self.supervisor.wait().await
    }

    /// Ends the command and everything that it started.
    async fn end(&mut self) {
        drop(self.lifeline.take());
        // Twice the grace period; a process that cannot be killed (it hangs in the kernel) is left to the
        // supervisor.
        let _ = tokio::time::timeout(2 * super::supervisor::GRACE, self.supervisor.wait()).await;
    }

    /// Kills the session of a supervisor that is still running.
    fn clear(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        let left = self.supervisor.id().and_then(|id| Pid::from_raw(id.cast_signed()));
        if let Some(session) = left {
            let _ = kill_process_group(session, Signal::KILL);
        }
    }
}

/// A running command, as the leader of a process group (or in a job object).
#[cfg(not(target_os = "linux"))]
struct Running {
    child: Box<dyn process_wrap::tokio::ChildWrapper>,
    input: Vec<u8>,
}

#[cfg(not(target_os = "linux"))]
impl Running {
    fn start(shell: &Shell, job: &Job<'_>, _: Option<Namespaces>) -> io::Result<Self> {
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

    fn outputs(&mut self) -> (Option<impl AsyncRead + use<>>, Option<impl AsyncRead + use<>>) {
        (self.child.stdout().take(), self.child.stderr().take())
    }

    async fn wait(&mut self) -> io::Result<ExitStatus> {
        if let Some(mut stdin) = self.child.stdin().take() {
            // The child may end, or close its input, before it has read everything.
            let _ = stdin.write_all(&self.input).await;
        }
        self.child.wait().await
    }

    async fn end(&mut self) {
        const GRACE: Duration = Duration::from_secs(2);
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
    fn clear(&mut self) {
        let _ = self.child.start_kill();
    }
}

#[cfg(unix)]
fn ended(status: ExitStatus) -> Ended {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exited(code),
        (None, Some(signal)) => Ended::Signaled(signal),
        (None, None) => Ended::Exited(-1),
    }
}

#[cfg(not(unix))]
fn ended(status: ExitStatus) -> Ended {
    Ended::Exited(status.code().unwrap_or(-1))
}

/// Output of a command that may still be running.
#[derive(Clone, Debug, Default)]
pub struct LiveOutput(Arc<Mutex<Capture>>);

impl LiveOutput {
    /// Creates an empty output, of which so much is kept.
    pub fn new(retention: Retention) -> Self {
        Self(Arc::new(Mutex::new(Capture::new(retention))))
    }

    /// Returns what has been written so far.
    pub fn text(&self) -> String {
        self.lock().text()
    }

    fn lock(&self) -> MutexGuard<'_, Capture> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A pipe that is being read in the background.
pub(super) struct Collecting {
    output: LiveOutput,
    task: tokio::task::JoinHandle<()>,
}

pub(super) fn collect(
    pipe: Option<impl AsyncRead + Unpin + Send + 'static>,
    output: LiveOutput,
) -> Collecting {
    let sink = output.clone();
    let task = tokio::spawn(async move {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = pipe.read(&mut buffer).await {
            if count == 0 {
                break;
            }
            sink.lock().push(&buffer[..count]);
        }
    });
    Collecting { output, task }
}

impl Collecting {
    pub(super) async fn finish(self) -> Capture {
        let Self { output, mut task } = self;
        if tokio::time::timeout(DRAIN, &mut task).await.is_err() {
            task.abort();
        }
        std::mem::take(&mut *output.lock())
    }
}
