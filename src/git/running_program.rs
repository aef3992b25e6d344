//! One run of a program in a sandbox, which ends with the time that it has: with all that it has started, and without waiting for
//! pipes that somebody else keeps open.

use std::io::{self, Read as _, Write as _};
use std::process::{Child, Command, Output};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::command::sandbox::{Restrictions, kernel_support, restrict};

/// How often it is looked at whether a run of the program has to end.
const PAUSE: Duration = Duration::from_millis(20);

/// Maximum size of what a run of the program prints, in bytes: a line for each object of the largest histories.
pub(super) const MAX_OUTPUT: u64 = 1 << 30;

/// Maximum size of what it prints on standard error, in bytes.
const MAX_MESSAGE: u64 = 1 << 20;

/// How long its pipes are still read once it has ended: what it has printed is in them by then, whoever keeps them open.
const AFTER_END: Duration = Duration::from_millis(500);

/// How many bytes are read at a time.
const CHUNK: usize = 64 * 1024;

/// How a run of the program ended.
pub(super) enum ProgramEnd {
    /// By itself.
    Whole(Output),
    /// It took too long.
    Late,
    /// It printed too much.
    Long,
}

/// Runs a command in a sandbox where the kernel offers one. A thread's restrictions apply to all that it
/// starts, so a dedicated thread restricts itself, which saves starting this program once more in between.
pub(super) fn run_restricted(
    mut command: Command,
    input: &[u8],
    restrictions: &Restrictions,
    most: Duration,
    is_over: impl Fn() -> bool,
) -> io::Result<ProgramEnd> {
    let has_sandbox = kernel_support().files;
    // Filters that it starts end with it.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let child = thread::scope(|scope| {
        let start = move || {
            if has_sandbox {
                restrict(restrictions).map_err(io::Error::other)?;
            }
            command.spawn()
        };
        let child = thread::Builder::new().spawn_scoped(scope, start)?;
        child.join().map_err(|_| io::Error::other("the thread that starts git ended"))?
    })?;
    RunningProgram::new(child, input)?.wait(most, is_over)
}

/// A run of the program, and what it has printed so far. Nobody has to wait for those who read: a filter that outlives the program
/// keeps its pipes open.
struct RunningProgram {
    child: Child,
    output: Printed,
    errors: Printed,
}

impl RunningProgram {
    /// Writes and reads all pipes at the same time, because all of them may fill up.
    fn new(mut child: Child, input: &[u8]) -> io::Result<Self> {
        let started = Self::pipes(&mut child, input);
        match started {
            Ok((output, errors)) => Ok(Self { child, output, errors }),
            Err(error) => {
                kill(&mut child);
                child.wait()?;
                Err(error)
            }
        }
    }

    fn pipes(child: &mut Child, input: &[u8]) -> io::Result<(Printed, Printed)> {
        if let Some(mut stdin) = child.stdin.take().filter(|_| !input.is_empty()) {
            let input = input.to_vec();
            thread::Builder::new().spawn(move || {
                // Git closes its input early when it fails; its exit status says so.
                let _ = stdin.write_all(&input);
            })?;
        }
        let output = Printed::read(child.stdout.take(), MAX_OUTPUT)?;
        Ok((output, Printed::read(child.stderr.take(), MAX_MESSAGE)?))
    }

    fn wait(mut self, most: Duration, is_over: impl Fn() -> bool) -> io::Result<ProgramEnd> {
        let since = Instant::now();
        let mut ended: Option<Instant> = None;
        let is_late = loop {
            if self.output.is_whole(PAUSE) && (self.output.is_long() || self.errors.is_whole(PAUSE)) {
                break false;
            }
            if ended.is_none() && has_ended(&mut self.child)? {
                ended = Some(Instant::now());
            }
            if ended.is_some_and(|ended| ended.elapsed() >= AFTER_END) {
                // Nobody else prints what is worth waiting for.
                break false;
            }
            if since.elapsed() >= most || is_over() {
                break true;
            }
        };
        let is_whole = self.output.is_whole(Duration::ZERO) && self.errors.is_whole(Duration::ZERO);
        if is_late || self.output.is_long() || !is_whole {
            kill(&mut self.child);
        }
        let status = self.child.wait()?;
        if is_late {
            return Ok(ProgramEnd::Late);
        }
        let stdout = self.output.take()?;
        if stdout.len() as u64 > MAX_OUTPUT {
            return Ok(ProgramEnd::Long);
        }
        Ok(ProgramEnd::Whole(Output { status, stdout, stderr: self.errors.take()? }))
    }
}

/// Returns whether a child has ended. It is not reaped yet, so that nobody else can get the id of its group.
#[cfg(unix)]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

#[cfg(not(unix))]
fn has_ended(child: &mut Child) -> io::Result<bool> {
    Ok(child.try_wait()?.is_some())
}

/// Ends a child, and where there are groups of processes, all that it has started.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    {
        use rustix::process::{Pid, Signal, kill_process_group};
        let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
    }
    // It may have ended by itself meanwhile.
    let _ = child.kill();
}

/// What one pipe has brought so far, up to one byte more than `most`; what follows is read by nobody, and ends whoever writes it.
struct Printed {
    bytes: Arc<Mutex<Vec<u8>>>,
    most: u64,
    end: mpsc::Receiver<io::Result<()>>,
    ended: Option<io::Result<()>>,
}

impl Printed {
    fn read(pipe: Option<impl io::Read + Send + 'static>, most: u64) -> io::Result<Self> {
        let (sender, end) = mpsc::channel();
        let bytes: Arc<Mutex<Vec<u8>>> = Arc::default();
        let Some(pipe) = pipe else {
            return Ok(Self { bytes, most, end, ended: Some(Ok(())) });
        };
        let to = Arc::clone(&bytes);
        thread::Builder::new().spawn(move || {
            let mut pipe = pipe.take(most + 1);
            let mut chunk = vec![0; CHUNK];
            let end = loop {
                match pipe.read(&mut chunk) {
                    Ok(0) => break Ok(()),
                    Ok(read) => to.lock().extend_from_slice(&chunk[..read]),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    Err(error) => break Err(error),
                }
            };
            drop(pipe);
            // Nobody listens any longer where it was late.
            let _ = sender.send(end);
        })?;
        Ok(Self { bytes, most, end, ended: None })
    }

    /// Waits a moment, and returns whether nothing more will come.
    fn is_whole(&mut self, moment: Duration) -> bool {
        if self.ended.is_none() {
            self.ended = match self.end.recv_timeout(moment) {
                Err(mpsc::RecvTimeoutError::Timeout) => None,
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    Some(Err(io::Error::other("the thread that reads from git ended")))
                }
                Ok(end) => Some(end),
            };
        }
        self.ended.is_some()
    }

    fn is_long(&self) -> bool {
        self.bytes.lock().len() as u64 > self.most
    }

    /// Returns what has come.
    fn take(self) -> io::Result<Vec<u8>> {
        self.ended.unwrap_or(Ok(()))?;
        Ok(std::mem::take(&mut *self.bytes.lock()))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::cell::Cell;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn programs_end_with_what_they_belong_to() {
        let end = |seconds: &str, most, is_over: &dyn Fn() -> bool| {
            let mut command = Command::new("sleep");
            command.arg(seconds).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let restrictions = Restrictions { readable: None, ..Restrictions::nothing() };
            run_restricted(command, &[], &restrictions, most, is_over).expect("it runs")
        };
        let since = Instant::now();
        let looks = Cell::new(0);
        let is_over = || looks.replace(looks.get() + 1) == 2;
        assert!(matches!(end("600", Duration::MAX, &is_over), ProgramEnd::Late));
        assert!(matches!(end("600", PAUSE, &|| false), ProgramEnd::Late));
        assert!(matches!(end("0", Duration::MAX, &|| false), ProgramEnd::Whole(_)));
        assert!(since.elapsed() < Duration::from_mins(5));
    }

    #[test]
    fn filters_that_outlive_the_program_keep_nobody_waiting() {
        let run = |line: &str, most| {
            let mut command = Command::new("sh");
            command.args(["-c", line]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
            let restrictions = Restrictions { readable: None, ..Restrictions::nothing() };
            run_restricted(command, &vec![b'x'; 1 << 20], &restrictions, most, || false).expect("it runs")
        };
        let since = Instant::now();
        for line in ["trap '' TERM; sleep 601; true", "setsid sleep 61; true", "setsid sleep 62 & sleep 604"]
        {
            assert!(matches!(run(line, PAUSE), ProgramEnd::Late), "{line}");
        }
        for line in ["printf whole; sleep 605 &", "printf whole; setsid sleep 63 & printf '' >&2"] {
            let ProgramEnd::Whole(output) = run(line, Duration::from_mins(5)) else { panic!("{line}") };
            assert!(output.status.success() && output.stdout == b"whole", "{line}");
        }
        assert!(since.elapsed() < Duration::from_secs(50));
    }
}
