//! `architect-ci run`: the main job.

use std::io::{IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use sanitize::Masker;
use sanitize::untrusted::{command_data, log_lines, markdown, visible};

use super::flags::{InputFlags, InputSet};
use super::print;
use super::style::{below, log_error, log_painted};
use crate::command::sandbox::hide_process;
use crate::event::Exit;
use crate::publish::{RunResult, StepOutputs, outputs_without_run};
use crate::report::{LogFormat, Verbosity, init_log};
use crate::request::{INPUTS, InputError, Inputs, Job, JobRequest, Lookup, Skip};
use crate::run::{apply, not_started, on_signals, run};

/// Let an agent work on a task, either planning the changes (dry-run) or making them (yolo), and report
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci run --task 'Fix the flaky test' --model openai::gpt-5.2", "Plans the changes, and makes none"),
        ("architect-ci run --task-file task.md --mode yolo --budget-usd 2", "Edits the checkout, for at most two dollars"),
        ("architect-ci run --task 'Make it compile' --mode yolo --until 'cargo check'", "Works in rounds until the command succeeds"),
        ("architect-ci run --task 'Review this' --agent review --json", "Reviews, and prints the report as JSON"),
    ],
    "Every flag is also an Action input (INPUT_…) and a variable (ARCHITECT_…), in order of precedence. \
     Exit codes: 0 success, 1 failed, 2 partial, 3 invalid configuration or input, 4 missing key or \
     permission, 5 timeout, 6 a plan that a comment asked to apply does not fit, 130/143 interrupted.",
))]
pub(super) struct Run {
    #[command(flatten)]
    inputs: InputFlags<RunInputs>,
}

/// All inputs of a run.
#[derive(Clone, Debug)]
enum RunInputs {}

impl InputSet for RunInputs {
    fn holds(name: &str) -> bool {
        INPUTS.iter().any(|input| input.name == name)
    }
}

impl Run {
    pub(super) fn execute(self) -> Exit {
        run_job(&self.inputs.lookup(), async |lookup| Job::resolve(&Inputs::read(lookup)?).await)
    }
}

/// Does the job that `resolve` makes of the flags and variables.
pub(super) fn run_job(
    lookup: &Lookup,
    resolve: impl AsyncFnOnce(&Lookup) -> Result<Job, InputError>,
) -> Exit {
    hide_process();
    execute_with(lookup, resolve).unwrap_or_else(|error| print_error(lookup, &error))
}

/// Number of threads that a run needs at the same time: two workers, and some that wait for disk and children.
const THREADS: usize = 12;

/// Tries whether enough threads can be started: libraries that find out later panic, or wait without end.
fn check_threads() -> std::io::Result<()> {
    let (keep, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let mut threads = Vec::with_capacity(THREADS);
    let mut failed = Ok(());
    for _ in 0..THREADS {
        let wait = Arc::clone(&wait);
        let work = move || drop(wait.lock().map(|wait| wait.recv()));
        // With stacks as those of all others.
        match std::thread::Builder::new().spawn(work) {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                failed = Err(error);
                break;
            }
        }
    }
    drop(keep);
    for thread in threads {
        // It only waited.
        let _ = thread.join();
    }
    failed
}

/// How long the threads that were started may take to run, on a machine that is busy with others.
const ARRIVAL: Duration = Duration::from_secs(10);

/// How long a thread waits for the next blocking work: longer than any run.
const KEPT_FOR: Duration = Duration::from_hours(30 * 24);

/// Starts the threads that everything runs on.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, InputError> {
    check_threads().map_err(InputError::Threads)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_keep_alive(KEPT_FOR)
        .enable_all()
        .build()
        .map_err(InputError::Threads)?;
    // Blocking work for which no thread can be started later waits until another one is free. With none but the workers, that
    // would be never.
    let (keep, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let (arrive, arrived) = std::sync::mpsc::channel();
    for _ in 2..THREADS {
        let (wait, arrive) = (Arc::clone(&wait), arrive.clone());
        runtime.spawn_blocking(move || {
            // Nobody counts any more where too few came.
            let _ = arrive.send(());
            drop(wait.lock().map(|wait| wait.recv()));
        });
    }
    let until = std::time::Instant::now() + ARRIVAL;
    let is_here =
        |_| arrived.recv_timeout(until.saturating_duration_since(std::time::Instant::now())).is_ok();
    let are_here = (2..THREADS).all(is_here);
    drop(keep);
    if are_here {
        return Ok(runtime);
    }
    // Whatever waits for a thread is dropped.
    runtime.shutdown_background();
    Err(InputError::Threads(std::io::ErrorKind::WouldBlock.into()))
}

/// How the process speaks.
pub(super) struct Output {
    format: LogFormat,
    verbosity: Verbosity,
    pub(super) json: bool,
    pub(super) in_actions: bool,
}

impl Output {
    pub(super) fn read(lookup: &Lookup) -> Result<Self, InputError> {
        let format = match lookup.text("log-format").as_deref() {
            None | Some("human") => LogFormat::Human,
            Some("json") => LogFormat::Json,
            Some(other) => {
                let (name, given) = ("log-format".to_owned(), other.to_owned());
                return Err(InputError::Value { name, given, expected: "human or json".to_owned() });
            }
        };
        let verbose = lookup.text("verbose");
        let verbosity = match verbose.as_deref().map(str::trim) {
            None | Some("false") => Verbosity::Normal,
            Some("true") => Verbosity::Verbose,
            Some("2") => Verbosity::Libraries,
            Some(other) => {
                let (name, given) = ("verbose".to_owned(), other.to_owned());
                return Err(InputError::Value { name, given, expected: "true, false or 2".to_owned() });
            }
        };
        let verbosity = if lookup.flag("quiet")? { Verbosity::Quiet } else { verbosity };
        Ok(Self { format, verbosity, json: lookup.flag("json")?, in_actions: lookup.in_actions() })
    }

    /// Sets the log up, and asks the runner to mask the secrets.
    pub(super) fn begin(&self, masker: &Arc<Masker>) {
        init_log(self.format, self.verbosity, Arc::clone(masker));
        if self.in_actions {
            announce_secrets(masker);
        }
    }

    /// Returns whether people want to see what happens.
    pub(super) fn is_on_screen(&self) -> bool {
        self.verbosity != Verbosity::Quiet && self.format == LogFormat::Human
    }

    /// Says what standard output is for.
    pub(super) fn print_result(&self, text: &str) {
        if self.in_actions {
            // What an agent says must not be taken for commands, whatever it found to say.
            let token = uuid::Uuid::new_v4().simple();
            print(&format!("::stop-commands::{token}\n{text}::{token}::\n"));
        } else {
            print(text);
        }
    }
}

fn execute_with(
    lookup: &Lookup,
    resolve: impl AsyncFnOnce(&Lookup) -> Result<Job, InputError>,
) -> Result<Exit, InputError> {
    let output = Output::read(lookup)?;
    let runtime = runtime()?;
    let done = runtime.block_on(async {
        let job = resolve(lookup).await?;
        // On the heap: the state of a run is large.
        Box::pin(perform(&output, job)).await
    })?;
    // A blocking task may still sit in a slow read; nothing waits for it.
    runtime.shutdown_background();
    let finished = match done {
        JobResult::Finished(finished) => finished,
        JobResult::Skipped(skip) => return Ok(print_skipped(lookup, &skip)),
    };
    if output.is_on_screen() {
        log_painted(&finished.screen);
    }
    if output.is_on_screen() && std::io::stdout().is_terminal() && !finished.message.trim().is_empty() {
        log_painted("\n── the agent's answer\n");
    }
    output.print_result(&if output.json {
        finished.report.json().map_err(|error| InputError::Write { path: "the output".into(), error })?
    } else {
        format!("{}\n", finished.message.trim_end())
    });
    Ok(finished.exit)
}

/// What a job has come to.
enum JobResult {
    Finished(Box<RunResult>),
    Skipped(Skip),
}

async fn perform(output: &Output, job: Job) -> Result<JobResult, InputError> {
    let begin = |request: &JobRequest| {
        let secret: Vec<&str> = request.secret_variables.iter().map(String::as_str).collect();
        let masker = Arc::new(Masker::from_environment(&request.variables, &secret, &request.secrets));
        output.begin(&masker);
        let signal = on_signals().map_err(InputError::Signals)?;
        Ok::<_, InputError>((masker, signal))
    };
    let (ended, request) = match job {
        Job::RunAgent(request) => {
            let (masker, signal) = begin(&request.job)?;
            let ended = Box::pin(run(&request, masker, signal)).await;
            (ended, request.job)
        }
        Job::ApplyPlan(request) => {
            let (masker, signal) = begin(&request.job)?;
            (Box::pin(apply(&request, masker, signal)).await, request.job)
        }
        Job::Skip(skip) => return Ok(JobResult::Skipped(skip)),
    };
    if ended.is_err() {
        not_started(&request).await;
    }
    ended.map(|finished| JobResult::Finished(Box::new(finished)))
}

/// Says that there is nothing to do; that is no failure, and later steps can see it.
pub(super) fn print_skipped(lookup: &Lookup, skip: &Skip) -> Exit {
    let masker = Masker::from_environment(lookup.variables(), &[], &[]);
    let message = masker.mask(&visible(&skip.message)).into_owned();
    let status = if skip.exit == Exit::Success { "skipped" } else { "failed" };
    write_step(lookup, Some(&markdown(&message)), &outputs_without_run(status, skip.exit));
    if lookup.in_actions() {
        let kind = if skip.exit == Exit::Success { "notice" } else { "error" };
        let _ =
            writeln!(std::io::stderr(), "::{kind} title=architect-ci::{}", command_data(message.trim_end()));
    }
    print(&log_lines(&format!("{}\n", message.trim_end())));
    skip.exit
}

/// Writes the outputs of a step that is not a run.
pub(super) fn step_output(lookup: &Lookup, fields: &[(&str, String)]) {
    write_step(lookup, None, fields);
}

fn write_step(lookup: &Lookup, summary: Option<&str>, fields: &[(&str, String)]) {
    for failed in StepOutputs::open(lookup.variables()).write(summary, fields) {
        let _ = writeln!(std::io::stderr(), "warning: {failed}");
    }
}

/// Asks the Actions runner to mask the secrets. Only where it is the runner that listens: in a file the
/// commands would be the very leak that they prevent.
fn announce_secrets(masker: &Masker) {
    #[cfg(unix)]
    {
        use rustix::fs::FileType;
        let listens = rustix::fs::fstat(std::io::stderr()).is_ok_and(|stat| {
            matches!(FileType::from_raw_mode(stat.st_mode), FileType::Fifo | FileType::Socket)
        });
        if !listens {
            return;
        }
    }
    let mut stderr = std::io::stderr().lock();
    for secret in masker.secrets() {
        let _ = writeln!(stderr, "::add-mask::{}", command_data(secret));
    }
}

/// Says what is wrong before anything ran: on stderr, and where the runner reads it.
pub(super) fn print_error(lookup: &Lookup, error: &InputError) -> Exit {
    let masker = Masker::from_environment(lookup.variables(), &[], &[]);
    let text = masker.mask(&error.explained()).into_owned();
    log_error(&log_lines(&text));
    if lookup.in_actions() {
        let _ = writeln!(std::io::stderr(), "::error title=architect-ci::{}", command_data(&text));
    }
    let summary = format!("### ❌ Not started\n\n{}\n", markdown(&text));
    write_step(lookup, Some(&summary), &outputs_without_run("failed", error.exit()));
    error.exit()
}
