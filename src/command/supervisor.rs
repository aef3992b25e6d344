//! Between the runner and each command stands this very program (`architect-ci __supervise`): it owns
//! everything that the command starts, whatever session that moves to, and ends all of it.
//!
//! Its standard input is the lifeline: first the order and what the command reads, then nothing. When
//! it ends (the runner says so, or the runner is dead) the command does. Signals cannot do that: the
//! runner may be killed without a chance to send one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
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
use tempfile::NamedTempFile;

use super::sandbox::{self, Exchange, SANDBOX, Walls};

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
    /// All its variables.
    pub(super) environment: BTreeMap<String, String>,
    /// Where it runs: there may be no such folder before its file system is made.
    pub(super) cwd: PathBuf,
    /// What takes the checkout's place meanwhile.
    pub(super) exchange: Option<Exchange>,
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

/// What a child is told that shuts itself in; so many bytes at the start of its standard input.
#[derive(Debug, Serialize, Deserialize)]
pub struct Launch {
    /// What to become, or to start.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// All its variables.
    pub environment: BTreeMap<String, String>,
    /// Where it runs.
    pub cwd: PathBuf,
    /// What shuts it in.
    pub walls: Walls,
    /// Whether the rest of standard input is for the program.
    pub reads: bool,
    /// Takes the number of the signal that ended the program, where the child has to stay its parent: the first
    /// process of a world of its own cannot end by a signal.
    pub signal: Option<PathBuf>,
}

/// A child that was started.
struct Started {
    main: Pid,
    /// The way to its input.
    stdin: Option<ChildStdin>,
    /// What it reads, where that is not relayed.
    input: Option<Vec<u8>>,
    /// Where the number of a signal stands that ended it.
    signal: Option<NamedTempFile>,
}

/// The checkout and what stands in its place, exchanged back at the end.
struct Exchanged(Exchange);

impl Drop for Exchanged {
    fn drop(&mut self) {
        if let Err(error) = self.0.perform() {
            let Exchange { checkout, copy } = &self.0;
            eprintln!(
                "{} could not be put back into its place ({error}); it lies in {}",
                checkout.display(),
                copy.display()
            );
        }
    }
}

/// Runs what standard input asks for and ends as it ended.
pub fn supervise() -> u8 {
    let mut lifeline = BufReader::new(io::stdin());
    let read = read_order(&mut lifeline).and_then(|(order, input)| {
        let exchanged = order.exchange.clone().map(|exchange| exchange.perform().map(|()| Exchanged(exchange)));
        Ok((exchanged.transpose()?, begin(order, input)?))
    });
    let (exchanged, Started { main, stdin, input, signal }) = match read {
        Ok(started) => started,
        Err(error) => {
            eprintln!("{error}");
            return CANNOT_RUN;
        }
    };
    let relay = match (stdin, input) {
        (Some(mut stdin), Some(input)) => {
            // The child may end, or close its input, before it has read all.
            std::thread::spawn(move || stdin.write_all(&input));
            None
        }
        (stdin, _) => stdin,
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
    drop(exchanged);
    let by_signal = signal.as_ref().and_then(ended_by);
    status.map_or(CANNOT_RUN, |status| end_as(status, by_signal))
}

/// The signal that ended a program whose parent wrote it down.
fn ended_by(file: &NamedTempFile) -> Option<Signal> {
    let mut number = String::new();
    file.as_file().read_to_string(&mut number).ok()?;
    Signal::from_named_raw(number.parse().ok()?)
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

/// Starts the command from a thread of its own, which lives as long as this process: the command ends with it.
fn begin(order: Order, input: Option<Vec<u8>>) -> io::Result<Started> {
    let root = order.walls.as_ref().and_then(|walls| walls.root.as_ref());
    if let Some(root) = root {
        sandbox::leave_users(root.namespaces)?;
    }
    let user = root.and_then(|root| root.user.clone());
    let (tell, told) = channel();
    std::thread::Builder::new().spawn(move || {
        let started = start(&order, input);
        if tell.send(started).is_ok() {
            loop {
                std::thread::park();
            }
        }
    })?;
    let started = told.recv().map_err(io::Error::other)??;
    if let Some(user) = &user {
        // The child does the same; nothing runs with other rights than the runner's.
        sandbox::become_user(user)?;
    }
    Ok(started)
}

/// Starts the command.
fn start(order: &Order, input: Option<Vec<u8>>) -> io::Result<Started> {
    // Out of reach of the terminal's signals; the runner decides what they mean.
    let _ = setsid();
    set_child_subreaper(Some(getpid()))?;
    // A core file would lie in the checkout, and hold what a process knew.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let (mut command, launch, signal) = match &order.walls {
        None => (alone(order)?, None, None),
        Some(walls) => shut_in(order, walls)?,
    };
    if order.merge {
        command.stderr(rustix::io::dup(io::stdout())?);
    }
    let mut child = command
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", order.program)))?;
    if let Some(user) = order.walls.as_ref().and_then(|walls| walls.root.as_ref()?.user.as_ref()) {
        sandbox::become_user(user)?;
    }
    let mut stdin = child.stdin.take();
    if let (Some(launch), Some(stdin)) = (launch, &mut stdin) {
        stdin.write_all(&launch)?;
    }
    if order.input == Input::Nothing {
        stdin = None;
    }
    let pid = Pid::from_raw(child.id().cast_signed());
    let main = pid.ok_or_else(|| io::Error::other("the child has no process id"))?;
    Ok(Started { main, stdin, input, signal })
}

/// The program itself, which nothing shuts in.
fn alone(order: &Order) -> io::Result<Command> {
    std::env::set_current_dir(&order.cwd)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", order.cwd.display())))?;
    let mut command = Command::new(&order.program);
    let reads = order.input != Input::Nothing;
    command
        .args(&order.arguments)
        .env_clear()
        .envs(&order.environment)
        .stdin(if reads { Stdio::piped() } else { Stdio::null() });
    Ok(command)
}

/// This program, to shut itself in, and what it is told.
fn shut_in(order: &Order, walls: &Walls) -> io::Result<(Command, Option<Vec<u8>>, Option<NamedTempFile>)> {
    let mut signal = None;
    if let Some(root) = &walls.root {
        sandbox::leave_processes()?;
        signal = Some(tempfile::NamedTempFile::new_in(root.at.parent().unwrap_or(&root.at))?);
    }
    let launch = serde_json::to_vec(&Launch {
        program: order.program.clone(),
        arguments: order.arguments.clone(),
        environment: order.environment.clone(),
        cwd: order.cwd.clone(),
        walls: walls.clone(),
        reads: order.input != Input::Nothing,
        signal: signal.as_ref().map(|file| file.path().to_owned()),
    })?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(SANDBOX).arg(launch.len().to_string()).env_clear().stdin(Stdio::piped());
    Ok((command, Some(launch), signal))
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
fn end_as(status: WaitStatus, by_signal: Option<Signal>) -> u8 {
    let signal = by_signal.or_else(|| status.terminating_signal().and_then(Signal::from_named_raw));
    if let Some(signal) = signal {
        let _ = kill_process(getpid(), signal);
        // Signals that this process ignores (SIGPIPE) get here.
        return 128_u8.saturating_add(u8::try_from(signal.as_raw()).unwrap_or(0));
    }
    status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(CANNOT_RUN)
}
