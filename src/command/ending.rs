//! Ending of a command, told by the first process of its world before that process ends itself: with it ends the file system
//! that was made for the command, which takes longer than most commands that only read.

use std::fs::{self, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitStatus;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use rustix::io::retry_on_intr;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use tempfile::NamedTempFile;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// Whether nothing is left that it started.
    pub is_last: bool,
    /// The number of the signal that ended it, or 0.
    pub signal: u8,
    /// The exit code that a shell would give for it.
    pub code: u8,
}

impl Ending {
    /// Returns the form in which it is written to a pipe.
    pub fn to_bytes(self) -> [u8; 3] {
        [u8::from(self.is_last), self.signal, self.code]
    }

    fn from_bytes([is_last, signal, code]: [u8; 3]) -> Self {
        Self { is_last: is_last == 1, signal, code }
    }

    /// Returns the signal that ended the program.
    pub(super) fn signal(self) -> Option<Signal> {
        let ends =
            |signal: &Signal| !matches!(*signal, Signal::STOP | Signal::TSTP | Signal::TTIN | Signal::TTOU);
        Signal::from_named_raw(self.signal.into()).filter(ends)
    }
}

/// Creates a pipe with a name in a folder.
pub(super) fn pipe(folder: &Path) -> io::Result<NamedTempFile> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    tempfile::Builder::new().make_in(folder, |path| {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        OpenOptions::new().read(true).custom_flags(flags).open(path).inspect_err(|_| {
            let _ = fs::remove_file(path);
        })
    })
}

/// Waits until a pipe says how a program ended, or until the process that is to say so has ended. Returns `None` at once where
/// that cannot be waited for.
pub(super) fn first(pipe: &NamedTempFile, main: Pid) -> Option<Ending> {
    let process = pidfd_open(main, PidfdFlags::empty()).ok()?;
    let mut waiting = [PollFd::new(pipe.as_file(), PollFlags::IN), PollFd::new(&process, PollFlags::IN)];
    retry_on_intr(|| poll(&mut waiting, None)).ok()?;
    read(pipe)
}

/// Returns what a pipe says, without waiting for it.
pub(super) fn read(pipe: &NamedTempFile) -> Option<Ending> {
    let mut bytes = [0; 3];
    pipe.as_file().read_exact(&mut bytes).ok()?;
    Some(Ending::from_bytes(bytes))
}

/// Reports to the runner through standard input, which is a socket unless a process is in between, and ends the outputs.
pub(super) fn report(ending: Ending) {
    let Ok(nothing) = fs::File::open("/dev/null") else { return };
    let written = rustix::io::write(rustix::stdio::stdin(), &ending.to_bytes());
    if written.is_ok_and(|count| count == ending.to_bytes().len()) {
        let _ = rustix::stdio::dup2_stdout(&nothing);
        let _ = rustix::stdio::dup2_stderr(&nothing);
    }
}

/// Reads what a supervisor reports before it ends itself; `None` if it does not.
pub(super) async fn reported(lifeline: &mut tokio::net::UnixStream) -> Option<ExitStatus> {
    use std::os::unix::process::ExitStatusExt;
    use tokio::io::AsyncReadExt;
    let mut bytes = [0; 3];
    lifeline.read_exact(&mut bytes).await.ok()?;
    let Ending { signal, code, .. } = Ending::from_bytes(bytes);
    // In the kernel's form: a signal, or a code above it.
    Some(ExitStatus::from_raw(if signal == 0 { i32::from(code) << 8 } else { i32::from(signal) }))
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::process::Command;

    use super::*;

    #[test]
    fn pipe_says_how_a_program_ended_or_that_nobody_will() {
        let dir = tempfile::tempdir().expect("a folder");
        let pipe = pipe(dir.path()).expect("a pipe");
        assert_eq!(read(&pipe), None);
        let mut child = Command::new("true").spawn().expect("a process");
        let main = Pid::from_raw(child.id().cast_signed()).expect("a process id");
        assert_eq!(first(&pipe, main), None, "it ends without a word");
        let ending = Ending { is_last: true, signal: 15, code: 143 };
        let mut writer = OpenOptions::new().write(true).open(pipe.path()).expect("the pipe");
        writer.write_all(&ending.to_bytes()).expect("written");
        assert_eq!(first(&pipe, main), Some(ending));
        assert_eq!(ending.signal(), Some(Signal::TERM));
        child.wait().expect("it ended");
    }
}
