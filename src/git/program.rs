//! The `git` program, started in one way only: on a repository that is named rather than discovered, with an
//! environment of its own, and in a sandbox.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::GitError;
use super::running_program::{MAX_OUTPUT, ProgramEnd, run_restricted};
use crate::base::program::find_program;
use crate::command::sandbox::{Restrictions, Sockets};

/// Settings given on the command line, which no configuration can override. Submodules are off because their
/// repositories may be anybody's.
const PINNED: [&str; 9] = [
    "safe.bareRepository=explicit",
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "core.attributesFile=/dev/null",
    "core.excludesFile=/dev/null",
    "diff.ignoreSubmodules=all",
    "submodule.recurse=false",
    "maintenance.auto=false",
];

/// Variables without which the program does not run. Temporary files have a folder of their own, so `TMPDIR`
/// is not among them.
const PASSED: [&str; 3] = ["PATH", "SYSTEMROOT", "PATHEXT"];

/// Variables that configure proxies and certificates.
const NETWORK: [&str; 12] = [
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
];

/// Stands for the program where there is none that may be started; nothing lies there.
const NOT_FOUND: &str = "/nonexistent/git";

/// Maximum time for a run of the program on what is here, for one that talks to a server, and for one that belongs to a task
/// without a time limit.
pub(super) const MAX_TIME: Duration = Duration::from_mins(2);
const MAX_TIME_REMOTE: Duration = Duration::from_mins(10);
const MAX_TIME_OF_TASK: Duration = Duration::from_mins(30);

/// The end of the task that a run of the program belongs to.
#[derive(Clone, Debug)]
pub struct CallLimit {
    /// Cancelled when everything has to end.
    pub cancel: CancellationToken,
    /// When the task's own time is up, if it is limited.
    pub deadline: Option<Instant>,
}

impl CallLimit {
    fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// One run of the program.
pub(super) struct Call<'a> {
    /// The repository, passed as `GIT_DIR`.
    pub(super) git_dir: &'a Path,
    /// The root of the checkout, passed as `GIT_WORK_TREE`.
    pub(super) root: &'a Path,
    /// The working directory of the program.
    pub(super) folder: &'a Path,
    /// Additional environment variables.
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The bytes for its standard input.
    pub(super) input: &'a [u8],
    /// Folders that it may write to.
    pub(super) writable: Vec<PathBuf>,
    /// Whether it may connect to other machines.
    pub(super) network: bool,
    /// The end of the task that it belongs to, which then takes the place of its own maximum time.
    pub(super) limit: Option<&'a CallLimit>,
}

impl Call<'_> {
    /// Runs the program and returns its standard output; an unsuccessful exit is [`GitError::Failed`].
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        args: impl IntoIterator<Item = S>,
    ) -> Result<Vec<u8>, GitError> {
        let args: Vec<OsString> = args.into_iter().map(|arg| arg.as_ref().to_owned()).collect();
        let name = || args.first().map_or(String::new(), |arg| arg.to_string_lossy().into_owned());
        let most = match self.limit {
            _ if self.network => MAX_TIME_REMOTE,
            Some(limit) if limit.deadline.is_some() => Duration::MAX,
            Some(_) => MAX_TIME_OF_TASK,
            None => MAX_TIME,
        };
        let is_over = || self.limit.is_some_and(CallLimit::is_over);
        if is_over() {
            return Err(GitError::Ended(name()));
        }
        match run_restricted(self.command(&args), self.input, &self.restrictions(), most, is_over)? {
            ProgramEnd::Whole(output) if output.status.success() => Ok(output.stdout),
            ProgramEnd::Whole(output) => {
                let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
                Err(GitError::Failed { command: name(), message })
            }
            ProgramEnd::Late if is_over() => Err(GitError::Ended(name())),
            ProgramEnd::Late => {
                Err(GitError::TooLarge(format!("git {} took more than {} s", name(), most.as_secs())))
            }
            ProgramEnd::Long => {
                Err(GitError::TooLarge(format!("git {} printed more than {MAX_OUTPUT} bytes", name())))
            }
        }
    }

    fn command(&self, args: &[OsString]) -> Command {
        // Where there is none, starting it makes the error that says so.
        let program = find_program("git", &[self.root]).unwrap_or_else(|| PathBuf::from(NOT_FOUND));
        let mut command = Command::new(program);
        command.env_clear();
        let passed = PASSED.iter().chain(NETWORK.iter().filter(|_| self.network));
        command.envs(passed.filter_map(|name| Some((name, std::env::var_os(name)?))));
        // The machine's administrator may have configured a proxy or certificates, so the system's
        // configuration is read for network calls only.
        if !self.network {
            command.env("GIT_CONFIG_NOSYSTEM", "1");
        }
        let temporary = self.writable.first().map_or(self.git_dir, PathBuf::as_path);
        command
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_ATTR_NOSYSTEM", "1")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ALLOW_PROTOCOL", "https:http:file")
            .env("LC_ALL", "C")
            .env("HOME", temporary)
            .env("TMPDIR", temporary)
            .env("GIT_DIR", self.git_dir)
            .env("GIT_WORK_TREE", self.root)
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .args(PINNED.iter().flat_map(|setting| ["-c", setting]))
            .args(args)
            .current_dir(self.folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn restrictions(&self) -> Restrictions {
        let devices = ["/dev/null", "/dev/tty"].map(PathBuf::from);
        Restrictions {
            readable: None,
            writable: self.writable.iter().cloned().chain(devices).collect(),
            metadata: true,
            sockets: if self.network { Sockets::Internet } else { Sockets::None },
            ..Restrictions::nothing()
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn limits_end_with_the_token_or_the_time() {
        let limit = |deadline| CallLimit { cancel: CancellationToken::new(), deadline };
        assert!(!limit(None).is_over() && limit(Some(Instant::now())).is_over());
        let limit = limit(Instant::now().checked_add(Duration::from_hours(1)));
        assert!(!limit.is_over());
        limit.cancel.cancel();
        assert!(limit.is_over());
    }
}
