//! Between the runner and each command stands this very program (`architect-ci __supervise`): it owns
//! everything that the command starts, whatever session that moves to, and ends all of it.
//!
//! Its standard input is the lifeline: first the order and what the command reads, then nothing. When
//! it ends (the runner says so, or the runner is dead) the command does. Signals cannot do that: the
//! runner may be killed without a chance to send one.

use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper,
    setrlimit, setsid, wait,
};
use serde::{Deserialize, Serialize};

use super::sandbox::{SANDBOX, Walls};
use crate::workspace::Mount;

/// The sub-command.
pub const SUPERVISE: &str = "__supervise";

/// How long a process may take to end after SIGTERM.
pub(super) const GRACE: Duration = Duration::from_secs(2);
/// How often what refuses to end is killed again: it may be starting others meanwhile.
const AGAIN: Duration = Duration::from_millis(20);
/// What shells answer when a program cannot be run.
const CANNOT_RUN: u8 = 126;

/// What to run; one line of JSON at the start of standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// Where it runs: there may be no such folder before the overlay is mounted.
    pub(super) cwd: PathBuf,
    /// What is mounted first, for its eyes alone.
    pub(super) mount: Option<Mount>,
    /// What shuts it in.
    pub(super) walls: Option<Walls>,
    /// What follows this line.
    pub(super) input: Input,
    /// Whether both outputs go into one, in the order in which they were written.
    pub(super) merge: bool,
}

/// What the command reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Input {
    /// No input at all.
    Nothing,
    /// As many bytes, which follow the order.
    Bytes(usize),
    /// All that follows, as it comes.
    Relayed,
}

/// Runs what standard input asks for and ends as it ended.
pub fn supervise() -> u8 {
    let mut lifeline = BufReader::new(io::stdin());
    let started = read_order(&mut lifeline).and_then(|(order, input)| start(&order, input));
    let (main, relay) = match started {
        Ok(started) => started,
        Err(error) => {
            eprintln!("{error}");
            return CANNOT_RUN;
        }
    };
    let (end, told) = channel();
    std::thread::spawn(move || end_all(&told));
    let cut = end.clone();
    std::thread::spawn(move || {
        if let Some(mut relay) = relay {
            // A command that does not read would keep the end from being seen.
            let hung = cut.clone();
            std::thread::spawn(move || hung_up().is_ok_and(|()| hung.send(()).is_ok()));
            // The command may close its input before the runner does.
            let _ = io::copy(&mut lifeline, &mut relay);
        }
        // Nothing else follows the order, so this waits for the end of the lifeline.
        let _ = io::copy(&mut lifeline, &mut io::sink());
        let _ = cut.send(());
    });
    let mut status = None;
    // Until there is no child left: orphans come here as well.
    loop {
        let options = if status.is_some() { WaitOptions::NOHANG } else { WaitOptions::empty() };
        match retry_on_intr(|| wait(options)) {
            Ok(Some((pid, ended))) if pid == main => status = Some(ended),
            Ok(Some(_)) => {}
            // Whatever stayed behind ends with the command.
            Ok(None) => {
                let _ = end.send(());
                let _ = retry_on_intr(|| wait(WaitOptions::empty()));
            }
            Err(_) => break,
        }
    }
    status.map_or(CANNOT_RUN, end_as)
}

fn read_order(lifeline: &mut impl BufRead) -> io::Result<(Order, Option<Vec<u8>>)> {
    let mut line = String::new();
    lifeline.read_line(&mut line)?;
    let order: Order = serde_json::from_slice(line.as_bytes())
        .map_err(|_| io::Error::other(format!("{SUPERVISE} is not for people; see `architect-ci --help`")))?;
    let input = match order.input {
        Input::Bytes(length) => {
            let mut input = vec![0; length];
            lifeline.read_exact(&mut input)?;
            Some(input)
        }
        Input::Nothing | Input::Relayed => None,
    };
    Ok((order, input))
}

/// Starts the command; where its input is relayed, gives the way to it.
fn start(order: &Order, input: Option<Vec<u8>>) -> io::Result<(Pid, Option<ChildStdin>)> {
    // Out of reach of the terminal's signals; the runner decides what they mean.
    let _ = setsid();
    if let Some(mount) = &order.mount {
        super::overlay::enter(mount)
            .map_err(|error| io::Error::other(format!("no overlay can be mounted here: {error}")))?;
    }
    std::env::set_current_dir(&order.cwd)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", order.cwd.display())))?;
    set_child_subreaper(Some(getpid()))?;
    // A core file would lie in the checkout, and hold what a process knew.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let mut command = match &order.walls {
        None => Command::new(&order.program),
        Some(walls) => {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg(SANDBOX).arg(serde_json::to_string(walls)?).arg(&order.program);
            command
        }
    };
    let reads = order.input != Input::Nothing;
    command.args(&order.arguments).stdin(if reads { Stdio::piped() } else { Stdio::null() });
    if order.merge {
        command.stderr(rustix::io::dup(io::stdout())?);
    }
    let mut child = command
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", order.program)))?;
    let mut stdin = child.stdin.take();
    if let Some(input) = input
        && let Some(mut stdin) = stdin.take()
    {
        // The child may end, or close its input, before it has read all.
        std::thread::spawn(move || stdin.write_all(&input));
    }
    let pid = Pid::from_raw(child.id().cast_signed());
    Ok((pid.ok_or_else(|| io::Error::other("the child has no process id"))?, stdin))
}

/// Waits until nobody can write to standard input any more, whatever is still to be read.
fn hung_up() -> io::Result<()> {
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::empty())];
    retry_on_intr(|| poll(&mut waiting, None))?;
    Ok(())
}

/// Asks every descendant to end once told so, then makes them.
fn end_all(told: &Receiver<()>) {
    // The other side lives as long as this process.
    let _ = told.recv();
    signal_all(&[Signal::TERM, Signal::CONT]);
    std::thread::sleep(GRACE);
    loop {
        signal_all(&[Signal::KILL]);
        std::thread::sleep(AGAIN);
    }
}

fn signal_all(signals: &[Signal]) {
    for pid in descendants() {
        for signal in signals {
            // It may be gone by now.
            let _ = kill_process(pid, *signal);
        }
    }
}

/// Every process below this one.
fn descendants() -> Vec<Pid> {
    let parents: Vec<(i32, i32)> = std::fs::read_dir("/proc")
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((pid, parent(pid)?))
        })
        .collect();
    let mut found = vec![getpid().as_raw_pid()];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        next += 1;
    }
    found.drain(..1);
    found.into_iter().filter_map(Pid::from_raw).collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(PathBuf::from(format!("/proc/{pid}/stat"))).ok()?;
    // The name before it may hold anything, parentheses too.
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Ends this process by the same signal, or gives the same code.
fn end_as(status: WaitStatus) -> u8 {
    let signal = status.terminating_signal().and_then(Signal::from_named_raw);
    if let Some(signal) = signal {
        let _ = kill_process(getpid(), signal);
        // Signals that this process ignores (SIGPIPE) get here.
        return 128_u8.saturating_add(u8::try_from(signal.as_raw()).unwrap_or(0));
    }
    status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(CANNOT_RUN)
}
