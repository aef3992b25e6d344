//! Supervisor of a command: a process of this very program (`architect-ci __supervise`) between the runner
//! and each command. It owns everything that the command starts, whatever session that moves to, and ends all
//! of it.
//!
//! Its standard input is the lifeline: first come the request and the command's input, then nothing. When it is
//! closed (because the runner says so, or is dead), the command ends. Signals could not do that, because the
//! runner may be killed without a chance to send one.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, WaitStatus, getpid, kill_process, set_child_subreaper,
    setrlimit, setsid, wait,
};
use serde::{Deserialize, Serialize};
use tempfile::NamedTempFile;

use super::descendants::descendants;
use super::ending;
pub use super::ending::Ending;
use super::sandbox::{self, Namespaces, Restrictions, SANDBOX, User};
use crate::base::time_limit::Grace;

/// The name of the hidden sub-command.
pub const SUPERVISE: &str = "__supervise";

/// Time between SIGTERM and SIGKILL.
pub(super) const GRACE: Duration = Grace::Children.duration();
/// Interval at which what refuses to end is killed again; it may be starting others meanwhile.
const AGAIN: Duration = Duration::from_millis(20);
/// The exit code of shells for a program that cannot be run.
const CANNOT_RUN: u8 = 126;

/// What to run; a line of JSON at the start of standard input.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct SupervisorRequest {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    /// All environment variables of the program.
    pub(super) environment: BTreeMap<String, String>,
    /// The working directory, which may not exist before the new file system is made.
    pub(super) cwd: PathBuf,
    /// The restrictions; `None` if there is no sandbox.
    pub(super) restrictions: Option<Restrictions>,
    /// What follows this line on standard input.
    pub(super) input: Input,
    /// Whether both outputs go to one stream, in the order in which they are written.
    pub(super) merge: bool,
    /// Time until the grace of everything that the run has started is over; `None` if the run has no time limit.
    pub(super) grace_over_in: Option<Duration>,
}

/// The input of the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Input {
    /// No input at all.
    Nothing,
    /// This number of bytes, which follow the request.
    Bytes(usize),
    /// Everything that follows, as it arrives.
    Relayed,
}

/// Instructions for a sandboxed child, at the start of its standard input: four bytes with the length of the
/// rest, most significant first, and the rest as JSON.
#[derive(Debug, Serialize, Deserialize)]
pub struct Launch {
    /// The program to become, or to start.
    pub program: String,
    /// The arguments of the program.
    pub arguments: Vec<String>,
    /// All environment variables of the program.
    pub environment: BTreeMap<String, String>,
    /// The working directory.
    pub cwd: PathBuf,
    /// The restrictions that the child puts on itself.
    pub restrictions: Restrictions,
    /// Whether standard error goes to standard output.
    pub merge: bool,
    /// Whether the rest of standard input is for the program.
    pub reads: bool,
    /// A pipe for how the program ended, if the child has to stay its parent: the first process in a PID namespace cannot
    /// end by a signal.
    pub ending: Option<PathBuf>,
}

/// A child that was started, and may still be waiting for what to run.
struct Started {
    child: Child,
    /// A channel to the thread that started the child. The thread lives as long as this process, because the
    /// child ends with it.
    starter: Sender<User>,
}

/// A running command.
struct Running {
    main: Pid,
    /// The pipe to its input.
    stdin: Option<ChildStdin>,
    /// The pipe for how it ended.
    ending: Option<NamedTempFile>,
}

/// Runs what standard input asks for, and ends as that ends. Returns the exit code. `child_sandbox` says how the
/// child is sandboxed, if it is: such a child can be started before there is anything to run.
pub fn supervise(child_sandbox: Option<ChildSandbox>) -> u8 {
    match prepare(child_sandbox).and_then(run) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{error}");
            CANNOT_RUN
        }
    }
}

/// How a child is sandboxed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSandbox {
    /// How it gets a file system of its own; `None` if it does not.
    pub namespaces: Option<Namespaces>,
    /// The process that holds what the child is going to see; `None` if everything is mounted for it.
    pub holder: Option<u32>,
}

fn prepare(child_sandbox: Option<ChildSandbox>) -> io::Result<Option<Started>> {
    // Out of reach of the terminal's signals; the runner decides what they mean.
    let _ = setsid();
    std::env::set_current_dir("/")?;
    set_child_subreaper(Some(getpid()))?;
    // A core file would be in the checkout, and contain what a process knew.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let Some(ChildSandbox { namespaces, holder }) = child_sandbox else { return Ok(None) };
    if let Some(namespaces) = namespaces {
        // A holder that is gone is not needed: then everything is mounted again.
        let has_joined = holder.is_some_and(|holder| sandbox::join_users(namespaces, holder).is_ok());
        if !has_joined {
            sandbox::leave_users(namespaces)?;
        }
    }
    let (sender, receiver) = channel();
    let (starter, become_other) = channel::<User>();
    std::thread::Builder::new().spawn(move || {
        let leave = || if namespaces.is_some() { sandbox::leave_processes() } else { Ok(()) };
        let program = std::env::current_exe();
        let spawn = |program| Command::new(program).arg(SANDBOX).env_clear().stdin(Stdio::piped()).spawn();
        if sender.send(leave().and(program).and_then(spawn)).is_ok() {
            while let Ok(user) = become_other.recv() {
                // The thread that requests this does the same, and reports an error.
                let _ = sandbox::become_user(&user);
            }
        }
    })?;
    Ok(Some(Started { child: receiver.recv().map_err(io::Error::other)??, starter }))
}

fn run(started: Option<Started>) -> io::Result<u8> {
    let mut lifeline = BufReader::new(io::stdin());
    let Some((request, input)) = read_request(&mut lifeline)? else {
        // The input ended without a request: a standby supervisor that was not needed.
        return Ok(0);
    };
    let Running { main, mut stdin, ending } = match (&started, &request.restrictions) {
        (Some(_), Some(_)) | (None, None) => begin(&request, started)?,
        _ => return Err(io::Error::other("the request does not fit the child")),
    };
    let start = |work: Box<dyn FnOnce() + Send>| {
        let started = std::thread::Builder::new().spawn(work);
        // What could not be ended later must not go on.
        started.map(drop).inspect_err(|_| end_now(main))
    };
    let relay = match (stdin.take(), input) {
        (Some(mut stdin), Some(input)) => {
            // The child may end, or close its input, before it has read everything.
            start(Box::new(move || {
                let _ = stdin.write_all(&input);
            }))?;
            None
        }
        (stdin, _) => stdin,
    };
    let (end, ended) = channel();
    let grace_ends = request.grace_over_in.map(|left| Instant::now() + left);
    start(Box::new(move || end_all(&ended, main, grace_ends)))?;
    let cut = end.clone();
    let is_over = Arc::new(AtomicBool::new(false));
    let was_over = Arc::clone(&is_over);
    start(Box::new(move || {
        if let Some(mut relay) = relay {
            // A command that does not read would keep the end of input from being seen.
            let hung = cut.clone();
            let watch = move || hung_up().is_ok_and(|()| hung.send(()).is_ok());
            if std::thread::Builder::new().spawn(watch).is_err() {
                let _ = cut.send(());
            }
            // The command may close its input before the runner does.
            let _ = io::copy(&mut lifeline, &mut relay);
        }
        // Nothing else follows the request, so this waits for the end of the lifeline.
        let _ = io::copy(&mut lifeline, &mut io::sink());
        // There is nothing to end any more, and looking for it takes time that the next command could use.
        if !was_over.load(Ordering::SeqCst) {
            let _ = cut.send(());
        }
    }))?;
    // The end of a file system takes the kernel a while, which nobody has to wait for who has changed nothing.
    let only_looks = request.restrictions.as_ref().is_some_and(|restrictions| !restrictions.metadata);
    let reported = ending.as_ref().filter(|_| only_looks).and_then(|pipe| ending::first(pipe, main));
    if let Some(last) = reported.filter(|ending| ending.is_last) {
        is_over.store(true, Ordering::SeqCst);
        ending::report(last);
    }
    let mut status = None;
    // Until there is no child left; orphans are reparented to this process.
    loop {
        let options = if status.is_some() { WaitOptions::NOHANG } else { WaitOptions::empty() };
        match retry_on_intr(|| wait(options)) {
            Ok(Some((pid, ended))) if pid == main => status = Some(ended),
            Ok(Some(_)) => {}
            // Whatever was left behind ends with the command.
            Ok(None) => {
                let _ = end.send(());
                let _ = retry_on_intr(|| wait(WaitOptions::empty()));
            }
            Err(_) => break,
        }
    }
    let by_signal =
        reported.or_else(|| ending::read(ending.as_ref()?)).and_then(super::ending::Ending::signal);
    Ok(status.map_or(CANNOT_RUN, |status| end_as(status, by_signal)))
}

/// Reads what to run, and its input; `None` if standard input ends before there is a whole line.
fn read_request(lifeline: &mut impl BufRead) -> io::Result<Option<(SupervisorRequest, Option<Vec<u8>>)>> {
    let mut line = String::new();
    // A request that is cut off comes from somebody who wants nothing any more.
    if lifeline.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Ok(None);
    }
    let request: SupervisorRequest = serde_json::from_slice(line.as_bytes())
        .map_err(|_| io::Error::other(format!("{SUPERVISE} is internal; see `architect-ci --help`")))?;
    let input = match request.input {
        Input::Bytes(length) => {
            let mut input = vec![0; length];
            lifeline.read_exact(&mut input)?;
            Some(input)
        }
        Input::Nothing | Input::Relayed => None,
    };
    Ok(Some((request, input)))
}

/// Starts the command, or tells the waiting child what to run.
fn begin(request: &SupervisorRequest, started: Option<Started>) -> io::Result<Running> {
    let Some(Started { mut child, starter }) = started else {
        return running(alone(request)?, request, None);
    };
    let restrictions = request.restrictions.clone().unwrap_or_else(Restrictions::nothing);
    let root = restrictions.root.as_ref();
    let ending = root.map(|root| ending::pipe(root.at.parent().unwrap_or(&root.at))).transpose()?;
    let launch = serde_json::to_vec(&Launch {
        program: request.program.clone(),
        arguments: request.arguments.clone(),
        environment: request.environment.clone(),
        cwd: request.cwd.clone(),
        merge: request.merge,
        reads: request.input != Input::Nothing,
        ending: ending.as_ref().map(|pipe| pipe.path().to_owned()),
        restrictions,
    })?;
    if let Some(user) =
        request.restrictions.as_ref().and_then(|restrictions| restrictions.root.as_ref()?.user.as_ref())
    {
        // The child does the same. Nothing runs with rights other than the runner's.
        starter.send(user.clone()).map_err(io::Error::other)?;
        sandbox::become_user(user)?;
    }
    if let Some(stdin) = &mut child.stdin {
        let length = u32::try_from(launch.len()).map_err(io::Error::other)?;
        stdin.write_all(&length.to_be_bytes())?;
        stdin.write_all(&launch)?;
    }
    // For as long as the process lives, because the child ends with the thread that started it.
    std::mem::forget(starter);
    running(child, request, ending)
}

fn running(
    mut child: Child,
    request: &SupervisorRequest,
    ending: Option<NamedTempFile>,
) -> io::Result<Running> {
    let stdin = child.stdin.take().filter(|_| request.input != Input::Nothing);
    let pid = Pid::from_raw(child.id().cast_signed());
    Ok(Running { main: pid.ok_or_else(|| io::Error::other("the child has no process id"))?, stdin, ending })
}

/// Starts the program itself, without a sandbox.
fn alone(request: &SupervisorRequest) -> io::Result<Child> {
    let named =
        |name: String| move |error: io::Error| io::Error::new(error.kind(), format!("{name}: {error}"));
    std::env::set_current_dir(&request.cwd).map_err(named(request.cwd.display().to_string()))?;
    let mut command = Command::new(&request.program);
    let reads = request.input != Input::Nothing;
    command.args(&request.arguments).env_clear().envs(&request.environment).stdin(if reads {
        Stdio::piped()
    } else {
        Stdio::null()
    });
    if request.merge {
        command.stderr(rustix::io::dup(io::stdout())?);
    }
    command.spawn().map_err(named(request.program.clone()))
}

/// Waits until nobody can write to standard input any more, whatever is still to be read.
fn hung_up() -> io::Result<()> {
    let stdin = io::stdin();
    let mut waiting = [PollFd::new(&stdin, PollFlags::empty())];
    retry_on_intr(|| poll(&mut waiting, None))?;
    Ok(())
}

/// Waits for a message, asks every descendant to end, and kills what is left after a grace, which ends at `grace_ends` at the latest.
/// Never returns: this process ends when no child is left, and whoever waits for that in vain knows that some are.
fn end_all(ended: &Receiver<()>, main: Pid, grace_ends: Option<Instant>) {
    // The other side lives as long as this process.
    let _ = ended.recv();
    let mut is_reported = false;
    let mut signal_all = |signals: &[Signal]| {
        let found = descendants(Path::new("/proc"), getpid()).unwrap_or_else(|error| {
            if !std::mem::replace(&mut is_reported, true) {
                let _ = writeln!(io::stderr(), "could not list the processes of the command: {error}");
            }
            vec![main]
        });
        for pid in found {
            for signal in signals {
                // The process may be gone by now.
                let _ = kill_process(pid, *signal);
            }
        }
    };
    signal_all(&[Signal::TERM, Signal::CONT]);
    let left = grace_ends.map(|end| end.saturating_duration_since(Instant::now()));
    std::thread::sleep(left.map_or(GRACE, |left| left.min(GRACE)));
    loop {
        signal_all(&[Signal::KILL]);
        std::thread::sleep(AGAIN);
    }
}

/// Kills every descendant, and waits until none is left.
fn end_now(main: Pid) {
    loop {
        for pid in descendants(Path::new("/proc"), getpid()).unwrap_or_else(|_| vec![main]) {
            let _ = kill_process(pid, Signal::KILL);
        }
        if !matches!(retry_on_intr(|| wait(WaitOptions::empty())), Ok(Some(_))) {
            return;
        }
    }
}

/// Ends this process by the same signal, or returns the same code.
fn end_as(status: WaitStatus, by_signal: Option<Signal>) -> u8 {
    let signal = by_signal.or_else(|| status.terminating_signal().and_then(Signal::from_named_raw));
    if let Some(signal) = signal {
        let _ = kill_process(getpid(), signal);
        // Signals that this process ignores (SIGPIPE) get here.
        return 128_u8.saturating_add(u8::try_from(signal.as_raw()).unwrap_or(0));
    }
    status.exit_status().and_then(|code| u8::try_from(code).ok()).unwrap_or(CANNOT_RUN)
}
