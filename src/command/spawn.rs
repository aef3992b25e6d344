//! Command execution: runs one command line to its end, with bounded output and a deadline, and leaves no
//! process behind.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::command_shell::Shell;
use super::job::{Ended, Finished, Job};
use super::live_output::{LiveOutput, collect};
use super::network::SandboxSupport;
use super::running::{Running, ended};
use super::sandbox::{Namespaces, Rights, Sandbox, View};
use super::standby_supervisor::StandbySupervisor;
use crate::base::verbose_log::detail;
use crate::egress::{Egress, Reach};

/// Time limit for finding out whether a child can have a file system of its own.
const PROBE: Duration = Duration::from_secs(10);

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
