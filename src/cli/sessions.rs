//! `architect-ci sessions`: runs that have left their files.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command};

use super::print;
use super::run::{complain, flags, input_args, launch};
use crate::base::env::Variables;
use crate::event::Exit;
use crate::git::Repository;
use crate::inputs::{InputError, Inputs, Job, Lookup, RunRequest, variables};
use crate::sanitize::untrusted::{log_lines, visible};
use crate::sessions::{Found, SessionError, State, find, pick, usual};

pub(super) const NAME: &str = "sessions";

const LIST: &str = "list";
const SHOW: &str = "show";
const RESUME: &str = "resume";
const CLEAN: &str = "clean";

/// Inputs that may be other ones when a session goes on.
const SHARED: [&str; 9] =
    ["model", "base-url", "api-key-env", "max-steps", "budget-usd", "timeout", "json", "verbose", "quiet"];

pub(super) fn command() -> Command {
    let folders = Arg::new("in")
        .long("in")
        .value_name("FOLDER")
        .num_args(1..)
        .help("Folder to search [default: RUNNER_TEMP/architect-ci and the folder for temporary files]");
    let session = Arg::new("session")
        .required(true)
        .value_name("SESSION")
        .help("Id of the session, the beginning of its id, or its folder");
    Command::new(NAME)
        .about("List, show, resume and remove saved runs")
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(Command::new(LIST).about("List sessions, newest first").arg(folders.clone()))
        .subcommand(
            Command::new(SHOW)
                .about("Print the report of a session, or its progress so far")
                .arg(session.clone())
                .arg(folders.clone()),
        )
        .subcommand(
            Command::new(RESUME)
                .about(
                    "Resume a session that was interrupted, failed or reached a limit, with its \
                        conversation",
                )
                .arg(session)
                .arg(folders.clone())
                .args(input_args(|input| SHARED.contains(&input.name))),
        )
        .subcommand(
            Command::new(CLEAN).about("Remove sessions that are not in use").arg(folders).arg(
                Arg::new("older-than")
                    .long("older-than")
                    .value_name("DAYS")
                    .default_value("7")
                    .value_parser(clap::value_parser!(u64).range(0..=3650))
                    .help("Only sessions that have not been written to for this long"),
            ),
        )
}

pub(super) fn execute(matches: &ArgMatches) -> Exit {
    let Some((name, matches)) = matches.subcommand() else { return Exit::Configuration };
    let lookup = Lookup::new(flags(matches), variables());
    let folders = folders(&lookup, matches);
    let done = match name {
        LIST => Ok(list(&find(&folders))),
        CLEAN => {
            let days = matches.get_one::<u64>("older-than").copied().unwrap_or(7);
            Ok(clean(&find(&folders), days, lookup.variables()))
        }
        _ => {
            let wanted = matches.get_one::<String>("session").cloned().unwrap_or_default();
            match pick(&wanted, &folders) {
                Ok(found) if name == SHOW => show(&found),
                Ok(found) => return resume(matches, &found),
                Err(error) => Err(error),
            }
        }
    };
    match done {
        Ok(text) => {
            print(&log_lines(&text));
            Exit::Success
        }
        Err(error) => complain(&lookup, &error.into()),
    }
}

fn folders(lookup: &Lookup, matches: &ArgMatches) -> Vec<PathBuf> {
    let given: Vec<PathBuf> =
        matches.get_many::<String>("in").into_iter().flatten().map(PathBuf::from).collect();
    if given.is_empty() { usual(lookup.variables().get("RUNNER_TEMP").map(String::as_str)) } else { given }
}

fn list(found: &[Found]) -> String {
    if found.is_empty() {
        return "No sessions found; name a folder with --in.\n".to_owned();
    }
    let mut text = String::new();
    for Found { folder, file, state } in found {
        let task = visible(file.task.lines().next().unwrap_or_default());
        let cut = task.char_indices().nth(60).map_or(task.as_str(), |(at, _)| &task[..at]);
        let started = file.started_at.get(..16).unwrap_or(&file.started_at);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}  {started}  {:<10}  {:<8}  {cut}\n          {}",
            file.id.get(..8).unwrap_or(&file.id),
            state.to_string(),
            file.mode.to_string(),
            visible(&folder.display().to_string())
        );
    }
    text
}

fn show(found: &Found) -> Result<String, SessionError> {
    let report = found.file.report.with_file_name("report.md");
    if let (State::Ended(_), Ok(text)) = (found.state, std::fs::read_to_string(&report)) {
        return Ok(text);
    }
    let mut text = format!(
        "{} · {} · {}\n\n{}\n\n",
        found.file.id,
        found.file.mode,
        found.state,
        visible(&found.file.task)
    );
    for line in found.file.lines()? {
        if let crate::event::Event::Call(call) = line.event {
            let target = call.effects.target().unwrap_or_default();
            let _ = writeln!(text, "{:>3}  {} {}", call.step, visible(&call.tool), visible(target));
        }
    }
    Ok(text)
}

fn clean(found: &[Found], days: u64, variables: &Variables) -> String {
    let (mut count, mut bytes, mut text) = (0, 0, String::new());
    let old =
        |found: &&Found| found.state != State::Running && found.age() >= Duration::from_hours(24 * days);
    for session in found.iter().filter(old) {
        match session.remove(variables) {
            Ok(size) => {
                count += 1;
                bytes += size;
            }
            Err(error) => {
                let _ = writeln!(text, "could not remove {}: {error}", session.folder.display());
            }
        }
    }
    format!("{text}{count} removed, {} kB\n", bytes.div_ceil(1000))
}

/// The same request again, with what was given now above what was given then.
fn resume(matches: &ArgMatches, found: &Found) -> Exit {
    launch(matches, async |lookup| {
        let resumed = found.resume(lookup.variables())?;
        let out = found.folder.canonicalize().unwrap_or_else(|_| found.folder.clone());
        let file = &resumed.file;
        // What was named by a relative path is found from where it was named.
        let _ = std::env::set_current_dir(&file.started_in);
        let mut all = lookup.clone();
        for (name, value) in &file.inputs {
            if lookup.text(name).is_none() {
                all = all.with(name, value);
            }
        }
        all = all.with("out", &out.display().to_string());
        let repository = Repository::find(&file.workspace, None).map_err(InputError::Repository)?;
        let head = repository.and_then(|repository| repository.head());
        if let (Some(then), Some(now)) = (&file.commit, head)
            && *then != now
        {
            return Err(InputError::Session(SessionError::Moved { now, then: then.clone() }));
        }
        let mut request = RunRequest::resolve(&Inputs::read(&all)?)?;
        request.resumed = Some(resumed);
        Ok(Job::RunAgent(Box::new(request)))
    })
}
