//! Command execution: runs one command line to its end, with bounded output and a deadline, and leaves no
//! process behind.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::live_output::{LiveOutput, collect};
use super::network::SandboxSupport;
use super::output::Capture;
use super::pipe_status::PipeStatus;
use super::running::{Running, StandbySupervisor, ended};
use super::sandbox::{Namespaces, Rights, Sandbox, View};
use crate::base::time_limit::TimeLimit;
use crate::base::verbose_log::detail;
use crate::egress::{Egress, Reach};
use crate::event::NetworkRecord;

/// Time limit for finding out whether a child can have a file system of its own.
const PROBE: Duration = Duration::from_secs(10);

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
    pub standby: StandbySupervisor,
    /// What the children can reach.
    pub reach: Reach,
    /// What the children of single hooks, gates, servers and models can reach, by their owner.
    pub networks: Arc<BTreeMap<String, Reach>>,
    /// The hook, gate, server or model whose children these are; `None` for those of the agent.
    pub owner: Option<String>,
    /// Whether other commands of the agent can reach the servers that the children start.
    pub serves: bool,
    /// The time of the run, after which children that do not end by themselves have little time.
    pub time_limit: TimeLimit,
}

/// A command line to run.
pub struct Job<'a> {
    /// The command line, for the shell.
    pub command: &'a str,
    /// The question that is put to the shell around it.
    pub pipe: Option<&'a PipeStatus>,
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

impl Job<'_> {
    /// Returns what the shell is given.
    pub(super) fn line(&self) -> Cow<'_, str> {
        self.pipe.map_or(Cow::Borrowed(self.command), |pipe| pipe.wrap(self.command).into())
    }
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
    /// A kill that did not end all of its processes: what they still change is not known.
    StillRunning,
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
    /// The hosts that it asked for in vain, because no list allows them.
    pub refused: Vec<NetworkRecord>,
}

impl Finished {
    /// Returns the result of a command that never ran.
    pub(crate) fn not_started(error: String, duration: Duration) -> Self {
        let (stdout, stderr) = (Capture::default(), Capture::default());
        Self { ended: Ended::NotStarted(error), stdout, stderr, duration, refused: Vec::new() }
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
        let support = self.sandbox_support(job.root).await;
        self.run_in(job, support).await
    }

    /// Runs a command line that is shut in by these means.
    async fn run_in(&self, job: Job<'_>, support: SandboxSupport) -> Finished {
        let started = Instant::now();
        let sandbox = self.sandbox.as_ref().filter(|_| job.rights == Rights::Work);
        let mut running = match Box::pin(Running::start(self, &job, support)).await {
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
            () = tokio::time::sleep(job.timeout) => running.end_as(Ended::TimedOut).await,
            () = job.cancel.cancelled() => running.end_as(Ended::Cancelled).await,
        };
        running.clear();
        let (stdout, stderr) = tokio::join!(stdout.finish(), stderr.finish());
        if let Some(sandbox) = sandbox {
            sandbox.after();
        }
        let refused = running.end_network();
        Finished { ended, stdout, stderr, duration: started.elapsed(), refused }
    }

    /// Returns the same shell for one hook, gate, server or model: with its own network, and for children that share no
    /// folder with others. What a command leaves in its home folder or in `/tmp` must not decide what a program does that has
    /// a key, or a network that the command has not.
    #[must_use]
    pub fn of(&self, owner: &str) -> Self {
        Self {
            sandbox: self.sandbox.as_ref().map(|sandbox| sandbox.of(owner)),
            reach: self.networks.get(owner).unwrap_or(&self.reach).clone(),
            owner: Some(owner.to_owned()),
            ..self.clone()
        }
    }

    /// Returns whether the kernel restricts children.
    pub fn is_sandboxed(&self) -> bool {
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
            let support = SandboxSupport { namespaces: Some(*namespaces), own_network: false };
            let tried = self.try_out(sandbox, root, View::Overlay(&tried), support, Reach::Nothing).await;
            if tried.ended == Ended::Exited(0) {
                return Some(*namespaces);
            }
            detail!("commands do not get their own file system ({namespaces:?}): {}", tried.output());
        }
        None
    }

    /// Finds out whether a child can have a network of its own.
    pub(super) async fn probe_network(&self, sandbox: &Sandbox, root: &Path, namespaces: Namespaces) -> bool {
        let support = SandboxSupport { namespaces: Some(namespaces), own_network: true };
        let reach = Reach::Through(Arc::new(Egress::nowhere()));
        let tried = self.try_out(sandbox, root, View::Plain { writable: false }, support, reach).await;
        let is_possible = tried.ended == Ended::Exited(0);
        if !is_possible {
            detail!("commands do not get their own network: {}", tried.output());
        }
        is_possible
    }

    /// Runs a command that does nothing.
    async fn try_out(
        &self,
        sandbox: &Sandbox,
        root: &Path,
        view: View<'_>,
        support: SandboxSupport,
        reach: Reach,
    ) -> Finished {
        let job = Job {
            command: "true",
            pipe: None,
            cwd: root,
            root,
            view,
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
            standby: StandbySupervisor::default(),
            reach,
            ..self.clone()
        };
        probe.run_in(job, support).await
    }
}
