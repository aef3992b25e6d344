//! Conversing programs: starts a program that exchanges messages while it runs, such as an MCP server. It has
//! the same environment and sandbox as a command, and it ends, with everything that it started, when its
//! standard input does.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
#[cfg(not(target_os = "linux"))]
use std::process::Stdio;
#[cfg(not(target_os = "linux"))]
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use super::base_files::BaseFiles;
use super::command_shell::Shell;
use super::live_output::{Collecting, LiveOutput, collect};
use super::network::{RunningProxy, SandboxSupport};
use super::output::Capture;
#[cfg(target_os = "linux")]
use super::running::time_to_end;
use super::sandbox::{Rights, View};
use crate::base::time_limit::{Grace, TimeLimit};

/// Time to wait for an end, where there is no supervisor.
#[cfg(not(target_os = "linux"))]
fn time_to_end(_: &TimeLimit) -> Duration {
    2 * Grace::Children.duration()
}

/// A program to exchange messages with.
#[derive(Debug)]
pub struct StdioCommand<'a> {
    /// The program, by path or by name.
    pub program: &'a str,
    /// The arguments of the program.
    pub arguments: &'a [String],
    /// Environment variables on top of the shell's.
    pub variables: &'a BTreeMap<String, String>,
    /// The checkout, in which it starts.
    pub cwd: &'a Path,
    /// Whether the program may write to the checkout.
    pub writes: bool,
    /// Where it starts instead, because the checkout is somebody else's.
    pub base: Option<&'a BaseFiles>,
    /// Whether it is told where the checkout is, and sees it even if it starts elsewhere.
    pub sees_checkout: bool,
}

/// The variable that says where the checkout is.
const CHECKOUT: &str = "ARCHITECT_WORKSPACE";

impl StdioCommand<'_> {
    /// Returns the folder in which the program starts.
    fn start(&self) -> PathBuf {
        self.base.map_or_else(|| self.cwd.to_owned(), BaseFiles::start)
    }

    /// Returns a word in which paths of the checkout are those of where the program starts.
    fn word(&self, word: &str) -> String {
        self.base.map_or_else(|| word.to_owned(), |base| base.moved(word))
    }

    /// Returns the variables of the program: the shell's, and its own.
    fn environment(&self, of_shell: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let mut environment = of_shell.clone();
        environment.extend(self.variables.clone());
        if let Some(base) = self.base {
            base.move_variables(&mut environment);
        }
        if self.sees_checkout {
            environment.insert(CHECKOUT.to_owned(), self.cwd.display().to_string());
        }
        environment
    }
}

/// A running program.
pub struct StdioChild {
    child: Child,
    stderr: Collecting,
    network: Option<RunningProxy>,
    time_limit: TimeLimit,
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
        let time_limit = self.time_limit.clone();
        Ok((StdioChild { child, stderr, network, time_limit }, stdin, stdout))
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
        let (mut environment, start) = (stdio.environment(&self.environment), stdio.start());
        let mut restrictions = None;
        if let Some(sandbox) = &self.sandbox {
            let files = stdio.base.map(BaseFiles::folder);
            let view = match (stdio.base, &files) {
                (Some(base), Some(files)) => View::Base {
                    files,
                    head: base.head(),
                    checkout: stdio.sees_checkout.then_some(stdio.writes),
                },
                _ => View::Plain { writable: stdio.writes },
            };
            let words = std::iter::once(stdio.program.to_owned()).chain(stdio.arguments.iter().cloned());
            let opened = sandbox.opening(&words.collect::<Vec<_>>());
            restrictions =
                Some(sandbox.restrictions_opening(&start, view, Rights::Work, namespaces, &opened)?);
            sandbox.adapt(&mut environment, namespaces.is_some(), &start)?;
        }
        let network = self.open_network(restrictions.as_mut(), &mut environment, support, stdio.program)?;
        let request = SupervisorRequest {
            program: stdio.word(stdio.program),
            arguments: stdio.arguments.iter().map(|word| stdio.word(word)).collect(),
            environment,
            cwd: start,
            restrictions,
            input: Input::Relayed,
            merge: false,
            grace_over_in: self.time_limit.until(Grace::Children),
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
        let mut command = Command::new(stdio.word(stdio.program));
        command
            .args(stdio.arguments.iter().map(|word| stdio.word(word)))
            .env_clear()
            .envs(stdio.environment(&self.environment))
            .current_dir(stdio.start())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok((command, Vec::new(), None))
    }
}

impl StdioChild {
    /// Waits for the program to end, which it does when its input is closed. Returns its standard error.
    pub async fn end(mut self) -> Capture {
        if tokio::time::timeout(time_to_end(&self.time_limit), self.child.wait()).await.is_err() {
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
