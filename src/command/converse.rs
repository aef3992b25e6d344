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
use super::output::Capture;
use super::sandbox::{Namespaces, Rights, View};
use super::spawn::Shell;

/// Time to wait for an end: the supervisor's grace period plus a margin.
const END: Duration = Duration::from_secs(4);

/// A program to exchange messages with.
#[derive(Debug)]
pub struct Talk<'a> {
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
pub struct Talking {
    child: Child,
    stderr: Collecting,
}

impl Shell {
    /// Starts a program. Returns it with its standard input and output, for whoever exchanges messages with
    /// it.
    pub async fn converse(&self, talk: Talk<'_>) -> io::Result<(Talking, ChildStdin, ChildStdout)> {
        let namespaces = self.namespaces(talk.cwd).await;
        let (mut command, order) = self.talker(&talk, namespaces)?;
        let mut child = command.spawn()?;
        let missing = || io::Error::other("the child has no standard streams");
        let mut stdin = child.stdin.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let stderr = collect(child.stderr.take(), LiveOutput::default());
        stdin.write_all(&order).await?;
        Ok((Talking { child, stderr }, stdin, stdout))
    }

    /// Returns the command that starts the supervisor, and the order for it.
    #[cfg(target_os = "linux")]
    fn talker(&self, talk: &Talk<'_>, namespaces: Option<Namespaces>) -> io::Result<(Command, Vec<u8>)> {
        use super::supervisor::{Input, Order};
        let mut environment = self.environment.clone();
        environment.extend(talk.variables.clone());
        let mut walls = None;
        if let Some(sandbox) = &self.sandbox {
            let view = View::Plain { writable: talk.writes };
            let words = std::iter::once(talk.program.to_owned()).chain(talk.arguments.iter().cloned());
            let opened = sandbox.opening(&words.collect::<Vec<_>>());
            walls = Some(sandbox.walls_opening(talk.cwd, view, Rights::Work, namespaces, &opened)?);
            sandbox.adapt(&mut environment, namespaces.is_some(), talk.cwd)?;
        }
        let order = Order {
            program: talk.program.to_owned(),
            arguments: talk.arguments.to_vec(),
            environment,
            cwd: talk.cwd.to_owned(),
            walls,
            input: Input::Relayed,
            merge: false,
        };
        let mut order = serde_json::to_vec(&order)?;
        order.push(b'\n');
        Ok((self.supervisor(namespaces), order))
    }

    /// Returns the command that starts the program itself, which needs no order.
    #[cfg(not(target_os = "linux"))]
    fn talker(&self, talk: &Talk<'_>, _: Option<Namespaces>) -> io::Result<(Command, Vec<u8>)> {
        let mut command = Command::new(talk.program);
        command
            .args(talk.arguments)
            .env_clear()
            .envs(&self.environment)
            .envs(talk.variables)
            .current_dir(talk.cwd)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Ok((command, Vec::new()))
    }
}

impl Talking {
    /// Waits for the program to end, which it does when its input is closed. Returns its standard error.
    pub async fn end(mut self) -> Capture {
        if tokio::time::timeout(END, self.child.wait()).await.is_err() {
            // The supervisor could not end what it started.
            self.kill();
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
