//! `architect-ci run`: the main job.

use std::collections::BTreeMap;
use std::io::Write;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use tracing::Level;

use super::print;
use crate::command::sandbox::hide_process;
use crate::exit::Exit;
use crate::inputs::{INPUTS, Input, InputError, Lookup, RunRequest, variables};
use crate::plan::Plan;
use crate::report::secrets::Masker;
use crate::report::untrusted::log_lines;
use crate::report::{LogFormat, init_log};
use crate::run::{ApplyOptions, Finished, apply, on_signals, run};

pub(super) const NAME: &str = "run";

/// The inputs that fit, as flags.
pub(super) fn input_args(fits: impl Fn(&Input) -> bool) -> impl Iterator<Item = Arg> {
    INPUTS.iter().filter(move |input| fits(input)).map(|input| {
        let arg = Arg::new(input.name).long(input.name).help(input.help);
        let arg = match input.short {
            Some(short) => arg.short(short),
            None => arg,
        };
        match input.value {
            Some(value) => arg.value_name(value),
            None => arg.action(ArgAction::SetTrue),
        }
    })
}

pub(super) fn command() -> Command {
    Command::new(NAME)
        .about("Let an agent work on a task, planning (dry-run) or doing (yolo) it, and report")
        .args(input_args(|_| true))
        .after_help(
            "Every flag is also an Action input (INPUT_…) and a variable (ARCHITECT_…), in falling priority.\n\
             Exit codes: 0 success, 1 failed, 2 partial, 3 wrong configuration or input, 4 missing key or\n\
             permission, 5 timeout, 130/143 interrupted.",
        )
}

/// What is to be done with a request.
pub(super) enum Job {
    /// An agent works on the task.
    Work,
    /// A plan is applied.
    Apply { plan: Box<Plan>, digest: Option<String>, run_commands: bool },
}

pub(super) fn execute(matches: &ArgMatches) -> Exit {
    launch(matches, |lookup| Ok((RunRequest::resolve(lookup)?, Job::Work)))
}

/// Does what `ask` makes of the flags and variables.
pub(super) fn launch(
    matches: &ArgMatches,
    ask: impl FnOnce(&Lookup) -> Result<(RunRequest, Job), InputError>,
) -> Exit {
    hide_process();
    let lookup = Lookup::new(flags(matches), variables());
    match execute_with(&lookup, ask) {
        Ok(exit) => exit,
        Err(error) => complain(&lookup, &error),
    }
}

/// Flags that were given, by name. Not every sub-command knows all of them.
pub(super) fn flags(matches: &ArgMatches) -> BTreeMap<String, String> {
    let given = INPUTS.iter().filter_map(|input| {
        let value = match input.value {
            Some(_) => matches.try_get_one::<String>(input.name).ok()?.cloned(),
            None => matches
                .try_get_one::<bool>(input.name)
                .ok()?
                .filter(|given| **given)
                .map(|_| "true".to_owned()),
        };
        Some((input.name.to_owned(), value?))
    });
    given.collect()
}

fn execute_with(
    lookup: &Lookup,
    ask: impl FnOnce(&Lookup) -> Result<(RunRequest, Job), InputError>,
) -> Result<Exit, InputError> {
    let format = match lookup.text("log-format").as_deref() {
        None | Some("human") => LogFormat::Human,
        Some("json") => LogFormat::Json,
        Some(other) => {
            let (name, given) = ("log-format".to_owned(), other.to_owned());
            return Err(InputError::Value { name, given, expected: "human or json".to_owned() });
        }
    };
    let (verbose, quiet, json) = (lookup.flag("verbose")?, lookup.flag("quiet")?, lookup.flag("json")?);
    let (request, job) = ask(lookup)?;
    let secret: Vec<&str> = request.secret_variables.iter().map(String::as_str).collect();
    let masker = Arc::new(Masker::from_environment(lookup.variables(), &secret, &request.secrets));
    let level = match (verbose, quiet) {
        (_, true) => Level::WARN,
        (true, false) => Level::DEBUG,
        (false, false) => Level::INFO,
    };
    init_log(format, level, Arc::clone(&masker));
    let in_actions = in_actions(lookup);
    if in_actions {
        announce_secrets(&masker);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| InputError::Rules(format!("no threads can be started: {error}")))?;
    let finished = runtime.block_on(async {
        let signal = on_signals().map_err(|error| InputError::Rules(format!("signals: {error}")))?;
        match &job {
            Job::Work => run(&request, masker, signal).await,
            Job::Apply { plan, digest, run_commands } => {
                let options = ApplyOptions { digest: digest.as_deref(), run_commands: *run_commands };
                apply(&request, plan, options, masker, signal).await
            }
        }
    })?;
    // A blocking task may still sit in a slow read; nothing waits for it.
    runtime.shutdown_background();
    show(&finished, json, in_actions, !quiet && format == LogFormat::Human);
    Ok(finished.exit)
}

fn in_actions(lookup: &Lookup) -> bool {
    lookup.variables().get("GITHUB_ACTIONS").is_some_and(|value| value == "true")
}

/// Tells the Actions runner what to mask. Only where it is the runner that listens: in a file the
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
        let escaped = secret.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
        let _ = writeln!(stderr, "::add-mask::{escaped}");
    }
}

fn show(finished: &Finished, json: bool, in_actions: bool, on_screen: bool) {
    if on_screen {
        let _ = std::io::stderr().lock().write_all(log_lines(&finished.screen).as_bytes());
    }
    let text = if json { finished.report.json() } else { format!("{}\n", finished.message.trim_end()) };
    if in_actions {
        // What an agent says must not be taken for commands, whatever it found to say.
        let token = uuid::Uuid::new_v4().simple();
        print(&format!("::stop-commands::{token}\n{text}::{token}::\n"));
    } else {
        print(&text);
    }
}

/// Says what is wrong before anything ran.
fn complain(lookup: &Lookup, error: &InputError) -> Exit {
    let masker = Masker::from_environment(lookup.variables(), &[], &[]);
    let text = masker.mask(&error.to_string()).into_owned();
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "{}", log_lines(&format!("error: {text}")));
    if in_actions(lookup) {
        let escaped = text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
        let _ = writeln!(stderr, "::error title=architect-ci::{escaped}");
    }
    error.exit()
}
