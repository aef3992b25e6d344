//! A command line to run, and how it ended.

use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::live_output::LiveOutput;
use super::output::Capture;
use super::pipe_status::PipeStatus;
use super::sandbox::{Rights, View};
use crate::event::NetworkRecord;

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

impl Job<'_> {
    /// Returns what the shell is given.
    pub(super) fn line(&self) -> Cow<'_, str> {
        self.pipe.map_or(Cow::Borrowed(self.command), |pipe| pipe.wrap(self.command).into())
    }
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
