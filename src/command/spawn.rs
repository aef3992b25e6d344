//! Runs one command to its end: own process group, bounded output, a deadline, no way to linger.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use process_wrap::tokio::{ChildWrapper, CommandWrap};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::output::Capture;
use super::sandbox::Sandbox;

/// How long a process may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(2);
/// How long output is awaited that a process outside of the group still holds open.
const DRAIN: Duration = Duration::from_millis(500);

/// The shell that runs command lines, and what it sees.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The program, called with `-c`.
    pub program: String,
    /// All variables of the child.
    pub environment: BTreeMap<String, String>,
    /// The walls around it, with the job's folder as a place to write to.
    pub sandbox: Option<Sandbox>,
}

/// One command line to run.
pub struct Job<'a> {
    /// The command line.
    pub command: &'a str,
    /// Where it runs.
    pub cwd: &'a Path,
    /// Variables on top of the shell's.
    pub variables: Vec<(&'static str, String)>,
    /// What it reads on standard input.
    pub stdin: Vec<u8>,
    /// How long it may take.
    pub timeout: Duration,
    /// Ends it early.
    pub cancel: CancellationToken,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
    /// Killed, because it took too long.
    TimedOut,
    /// Killed, because the run was interrupted.
    Cancelled,
    /// Never started; the reason.
    NotStarted(String),
}

impl Ended {
    /// The exit code, or -1 where there is none.
    pub fn code(&self) -> i32 {
        match self {
            Self::Exited(code) => *code,
            _ => -1,
        }
    }
}

/// A command that is over.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub ended: Ended,
    /// What it printed on standard output.
    pub stdout: Capture,
    /// What it printed on standard error.
    pub stderr: Capture,
    /// How long it took.
    pub duration: Duration,
}

impl Finished {
    /// Both outputs, standard output first, without blanks at the ends.
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
    /// Runs a command line; never fails, the result tells.
    pub async fn run(&self, job: Job<'_>) -> Finished {
        let started = Instant::now();
        let mut child = match self.spawn(&job) {
            Ok(child) => child,
            Err(error) => {
                let ended = Ended::NotStarted(format!("{}: {error}", self.program));
                return Finished {
                    ended,
                    stdout: Capture::default(),
                    stderr: Capture::default(),
                    duration: started.elapsed(),
                };
            }
        };
        let stdin = child.stdin().take();
        let feed = tokio::spawn(async move {
            if let Some(mut stdin) = stdin {
                // The child may end, or close its input, before it has read all.
                let _ = stdin.write_all(&job.stdin).await;
            }
        });
        let stdout = collect(child.stdout().take());
        let stderr = collect(child.stderr().take());
        let ended = tokio::select! {
            status = child.wait() => status.map_or_else(|error| Ended::NotStarted(error.to_string()), ended),
            () = tokio::time::sleep(job.timeout) => {
                terminate(child.as_mut()).await;
                Ended::TimedOut
            }
            () = job.cancel.cancelled() => {
                terminate(child.as_mut()).await;
                Ended::Cancelled
            }
        };
        feed.abort();
        // Whatever stayed behind in the group ends with the command.
        let _ = child.start_kill();
        let (stdout, stderr) = tokio::join!(stdout.finish(), stderr.finish());
        Finished { ended, stdout, stderr, duration: started.elapsed() }
    }

    fn spawn(&self, job: &Job<'_>) -> std::io::Result<Box<dyn ChildWrapper>> {
        let launch = self.sandbox.as_ref().map(|sandbox| sandbox.launch(job.cwd));
        let program = launch.as_ref().map_or(Path::new(&self.program), |(launcher, _)| launcher);
        let mut command = CommandWrap::with_new(program, |command| {
            if let Some((_, arguments)) = &launch {
                command.args(arguments).arg(&self.program);
            }
            command
                .arg("-c")
                .arg(job.command)
                .current_dir(job.cwd)
                .env_clear()
                .envs(&self.environment)
                .envs(job.variables.iter().map(|(name, value)| (*name, value)))
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::piped());
        });
        #[cfg(unix)]
        command.wrap(process_wrap::tokio::ProcessGroup::leader());
        #[cfg(windows)]
        command.wrap(process_wrap::tokio::JobObject);
        command.spawn()
    }
}

/// Asks the group to end, then makes it.
async fn terminate(child: &mut dyn ChildWrapper) {
    #[cfg(unix)]
    {
        let _ = child.signal(rustix::process::Signal::TERM.as_raw());
        if tokio::time::timeout(GRACE, child.wait()).await.is_ok() {
            return;
        }
    }
    let _ = child.start_kill();
    let _ = tokio::time::timeout(GRACE, child.wait()).await;
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

/// A pipe that is being read.
struct Collecting {
    capture: Arc<Mutex<Capture>>,
    task: tokio::task::JoinHandle<()>,
}

fn collect(pipe: Option<impl AsyncRead + Unpin + Send + 'static>) -> Collecting {
    let capture = Arc::new(Mutex::new(Capture::default()));
    let sink = Arc::clone(&capture);
    let task = tokio::spawn(async move {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count) = pipe.read(&mut buffer).await {
            if count == 0 {
                break;
            }
            sink.lock().unwrap_or_else(PoisonError::into_inner).push(&buffer[..count]);
        }
    });
    Collecting { capture, task }
}

impl Collecting {
    async fn finish(self) -> Capture {
        let Self { capture, mut task } = self;
        if tokio::time::timeout(DRAIN, &mut task).await.is_err() {
            task.abort();
        }
        std::mem::take(&mut *capture.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell() -> Shell {
        let path = std::env::var("PATH").unwrap_or_default();
        Shell {
            program: "bash".into(),
            environment: BTreeMap::from([("PATH".to_owned(), path)]),
            sandbox: None,
        }
    }

    fn job(command: &str) -> Job<'_> {
        Job {
            command,
            cwd: Path::new("/"),
            variables: vec![("GREETING", "hello".to_owned())],
            stdin: b"input".to_vec(),
            timeout: Duration::from_secs(20),
            cancel: CancellationToken::new(),
        }
    }

    #[tokio::test]
    async fn output_status_and_environment() {
        let finished = shell().run(job("cat; echo; echo $GREETING $HOME; echo oops >&2; exit 3")).await;
        assert_eq!(finished.ended, Ended::Exited(3));
        assert_eq!(finished.stdout.text(), "input\nhello\n");
        assert_eq!(finished.output(), "input\nhello\noops");
        let finished = shell().run(job("kill -9 $$")).await;
        assert_eq!(finished.ended, Ended::Signaled(9));
        let missing = Shell { program: "/no/such/shell".into(), ..shell() };
        assert!(matches!(missing.run(job("true")).await.ended, Ended::NotStarted(_)));
    }

    #[tokio::test]
    async fn a_command_that_takes_too_long_is_killed_with_its_children() {
        let mut slow = job("trap '' TERM; sleep 60 & echo $!; wait; sleep 60");
        slow.timeout = Duration::from_millis(200);
        let finished = shell().run(slow).await;
        assert_eq!(finished.ended, Ended::TimedOut);
        assert!(finished.duration < Duration::from_secs(10), "{:?}", finished.duration);
        let pid = finished.stdout.text().trim().to_owned();
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "the child lives on: {stat}");
    }

    #[tokio::test]
    async fn cancelling_ends_it_and_background_children_do_not_hold_it_up() {
        let cancelled = job("sleep 60");
        cancelled.cancel.cancel();
        assert_eq!(shell().run(cancelled).await.ended, Ended::Cancelled);
        let finished = shell().run(job("sleep 60 & echo done")).await;
        assert_eq!((finished.ended, finished.stdout.text().as_str()), (Ended::Exited(0), "done\n"));
        assert!(finished.duration < Duration::from_secs(5), "{:?}", finished.duration);
    }

    #[tokio::test]
    async fn a_flood_of_output_is_bounded() {
        let finished = shell().run(job("head -c 200000000 /dev/zero | tr '\\0' 'x'")).await;
        assert_eq!(finished.ended, Ended::Exited(0));
        assert!(finished.stdout.text().len() < 70_000);
    }
}
