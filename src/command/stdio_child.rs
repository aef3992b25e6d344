//! Conversing programs: starts a program that exchanges messages while it runs, such as an MCP server. It has
//! the same environment and sandbox as a command, and it ends, with everything that it started, when its
//! standard input does.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
#[cfg(not(target_os = "linux"))]
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::live_output::{Collecting, LiveOutput, collect};
use super::network::{RunningProxy, SandboxSupport};
use super::output::Capture;
use super::sandbox::{Rights, View};
use super::spawn::Shell;

/// Time to wait for an end: the supervisor's grace period plus a margin.
const END: Duration = Duration::from_secs(4);

/// A program to exchange messages with.
#[derive(Debug)]
pub struct StdioCommand<'a> {
    /// The program, by path or by name.
    pub program: &'a str,
    /// The arguments of the program.
    pub arguments: &'a [String],
    /// Environment variables on top of the shell's.
    pub variables: &'a BTreeMap<String, String>,
    /// The working directory.
    pub cwd: &'a Path,
    /// Whether the program may write to its working directory.
    pub writes: bool,
}

/// A running program.
pub struct StdioChild {
    child: Child,
    stderr: Collecting,
    network: Option<RunningProxy>,
}

impl Shell {
    /// Starts a program. Returns it with its standard input and output, for whoever exchanges messages with
    /// it.
    pub async fn spawn_stdio(
        &self,
        stdio: StdioCommand<'_>,
    ) -> io::Result<(StdioChild, ChildStdin, ChildStdout)> {
        let support = self.sandbox_support(stdio.cwd).await;
        let (mut command, request, network) = self.stdio_supervisor(&stdio, support)?;
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the child has no standard streams");
        let mut stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = collect(child.stderr.take(), LiveOutput::default());
        stdin.write_all(&request).await?;
        Ok((StdioChild { child, stderr, network }, stdin, stdout))
    }

    /// Returns the command that starts the supervisor, and the request for it.
    #[cfg(target_os = "linux")]
    fn stdio_supervisor(
        &self,
        stdio: &StdioCommand<'_>,
        support: SandboxSupport,
    ) -> io::Result<(Command, Vec<u8>, Option<RunningProxy>)> {
        use super::supervisor::{ChildSandbox, Input, SupervisorRequest};
        let namespaces = support.namespaces;
        let mut environment = self.environment.clone();
        environment.extend(stdio.variables.clone());
        let mut restrictions = None;
        if let Some(sandbox) = &self.sandbox {
            let view = View::Plain { writable: stdio.writes };
            let words = std::iter::once(stdio.program.to_owned()).chain(stdio.arguments.iter().cloned());
            let opened = sandbox.opening(&words.collect::<Vec<_>>());
            restrictions =
                Some(sandbox.restrictions_opening(stdio.cwd, view, Rights::Work, namespaces, &opened)?);
            sandbox.adapt(&mut environment, namespaces.is_some(), stdio.cwd)?;
        }
        let network = self.open_network(restrictions.as_mut(), &mut environment, support, stdio.program)?;
        let request = SupervisorRequest {
            program: stdio.program.to_owned(),
            arguments: stdio.arguments.to_vec(),
            environment,
            cwd: stdio.cwd.to_owned(),
            restrictions,
            input: Input::Relayed,
            merge: false,
        };
        let mut request = serde_json::to_vec(&request)?;
        request.push(b'\n');
        Ok((self.supervisor(ChildSandbox { namespaces, holder: None }), request, network))
    }

    /// Returns the command that starts the program itself, which needs no request.
    #[cfg(not(target_os = "linux"))]
    fn stdio_supervisor(
        &self,
        stdio: &StdioCommand<'_>,
        _: SandboxSupport,
    ) -> io::Result<(Command, Vec<u8>, Option<RunningProxy>)> {
        let mut command = Command::new(stdio.program);
        command
            .args(stdio.arguments)
            .env_clear()
            .envs(&self.environment)
            .envs(stdio.variables)
            .current_dir(stdio.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok((command, Vec::new(), None))
    }
}

impl StdioChild {
    /// Waits for the program to end, which it does when its input is closed. Returns its standard error.
    pub async fn end(mut self) -> Capture {
        if tokio::time::timeout(END, self.child.wait()).await.is_err() {
            // The supervisor could not end what it started.
            self.kill();
        }
        if let Some(network) = self.network.take() {
            network.end();
        }
        self.stderr.finish().await
    }

    /// Kills the supervisor's session.
    #[cfg(target_os = "linux")]
    fn kill(&mut self) {
        use rustix::process::{Pid, Signal, kill_process_group};
        if let Some(session) = self.child.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            let _ = kill_process_group(session, Signal::KILL);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn kill(&mut self) {
        let _ = self.child.start_kill();
    }
}
