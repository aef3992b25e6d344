//! `architect-ci sessions`: lists, resumes and removes saved runs.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sanitize::untrusted::{log_lines, visible};

use super::flags::{InputFlags, InputSet};
use super::print;
use super::run::{print_error, run_job};
use super::style::below;
use crate::base::env::Variables;
use crate::base::text::first_chars;
use crate::event::Exit;
use crate::request::{
    InputError, Inputs, Job, Lookup, MAY_CHANGE, resumed_request, sealed_session_of_run, variables,
};
use crate::sessions::{OpenedSession, SavedSession, SessionError, State, find, pick, sealed_file, usual};

/// List, show, resume and remove saved runs
#[derive(Debug, clap::Subcommand)]
#[command(after_help = below(
    &[
        ("architect-ci sessions list", "Lists the sessions of this machine, newest first"),
        ("architect-ci sessions resume 1f0c", "Resumes the session whose id begins with 1f0c"),
        ("architect-ci sessions resume ./artifact", "Resumes a session that another machine has sealed with your key"),
        ("architect-ci sessions clean --older-than 30", "Removes sessions that have not been written to for 30 days"),
    ],
    "",
))]
pub(super) enum Sessions {
    /// List sessions, newest first
    List(Folders),
    /// Print the report of a session, or its progress so far
    Show {
        #[command(flatten)]
        session: Session,
    },
    /// Resume a session that was interrupted, failed or reached a limit, with its conversation
    Resume {
        #[command(flatten)]
        session: Session,
        #[command(flatten)]
        inputs: InputFlags<ResumeInputs>,
    },
    /// Remove sessions that are not in use
    Clean {
        #[command(flatten)]
        folders: Folders,
        /// Only sessions that have not been written to for this long
        #[arg(long, value_name = "DAYS", default_value_t = 7, value_parser = clap::value_parser!(u64).range(0..=3650))]
        older_than: u64,
    },
}

/// Where sessions are looked for.
#[derive(Debug, clap::Args)]
pub(super) struct Folders {
    /// Folder to search [default: RUNNER_TEMP/architect-ci and the folder for temporary files]
    #[arg(long = "in", value_name = "FOLDER", num_args = 1.., value_hint = clap::ValueHint::DirPath)]
    folders: Vec<PathBuf>,
}

/// Which session is meant.
#[derive(Debug, clap::Args)]
pub(super) struct Session {
    /// Id of the session, the beginning of its id, its folder, a `session.sealed`, or `run:ID` for that of a workflow run
    session: String,
    #[command(flatten)]
    folders: Folders,
}

/// Inputs that may be other ones when a session continues, and where a sealed one does.
#[derive(Clone, Debug)]
pub(super) enum ResumeInputs {}

impl InputSet for ResumeInputs {
    fn holds(name: &str) -> bool {
        MAY_CHANGE.contains(&name) || matches!(name, "workspace" | "out")
    }
}

impl Sessions {
    pub(super) fn execute(self) -> Exit {
        let lookup = Lookup::new(BTreeMap::new(), variables());
        let found = |folders: Folders| find(&folders.or_usual(&lookup));
        let picked = |Session { session, folders }| pick(&session, &folders.or_usual(&lookup));
        let done = match self {
            Self::List(folders) => Ok(list(&found(folders))),
            Self::Clean { folders, older_than } => Ok(clean(&found(folders), older_than, lookup.variables())),
            Self::Show { session } => picked(session).and_then(|found| show(&found)),
            Self::Resume { session, inputs } => return resume(inputs, session),
        };
        match done {
            Ok(text) => {
                print(&log_lines(&text));
                Exit::Success
            }
            Err(error) => print_error(&lookup, &error.into()),
        }
    }
}

impl Folders {
    fn or_usual(self, lookup: &Lookup) -> Vec<PathBuf> {
        if self.folders.is_empty() {
            return usual(lookup.variables().get("RUNNER_TEMP").map(String::as_str));
        }
        self.folders
    }
}

fn list(found: &[SavedSession]) -> String {
    if found.is_empty() {
        return "No sessions found; choose a folder with --in.\n".to_owned();
    }
    let mut text = String::new();
    for SavedSession { folder, file, state } in found {
        let task = visible(file.task.lines().next().unwrap_or_default());
        let task = first_chars(&task, 60);
        let started = file.started_at.get(..16).unwrap_or(&file.started_at);
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{}  {started}  {:<10}  {:<8}  {task}\n          {}",
            file.id.get(..8).unwrap_or(&file.id),
            state.to_string(),
            file.mode.to_string(),
            visible(&folder.display().to_string())
        );
    }
    text
}

fn show(found: &SavedSession) -> Result<String, SessionError> {
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

fn clean(found: &[SavedSession], days: u64, variables: &Variables) -> String {
    let (mut count, mut bytes, mut text) = (0, 0, String::new());
    let old = |found: &&SavedSession| {
        found.state != State::Running && found.age() >= Duration::from_hours(24 * days)
    };
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

/// Makes the same request again, with what is given now above what was given then.
fn resume(inputs: InputFlags<ResumeInputs>, session: Session) -> Exit {
    run_job(&inputs.lookup(), async |lookup| {
        let Session { session, folders } = session;
        let found = if let Some(opened) = opened(&session, lookup).await? {
            settle(opened, lookup)?
        } else {
            let found = pick(&session, &folders.or_usual(lookup))?;
            if lookup.text("workspace").or_else(|| lookup.text("out")).is_some() {
                return Err(SessionError::AtHome(found.file.id).into());
            }
            found
        };
        let request = resumed_request(&found, lookup)?;
        Ok(Job::RunAgent(Box::new(request)))
    })
}

/// Opens the sealed session that is named: of a file, or of a workflow run. `None` if it is a session of this machine.
async fn opened(name: &str, lookup: &Lookup) -> Result<Option<OpenedSession>, InputError> {
    let variables = lookup.variables();
    if let Some(run) = name.strip_prefix("run:") {
        let run = run.parse().map_err(|_| SessionError::Unknown(name.to_owned()))?;
        return sealed_session_of_run(&Inputs::read(lookup)?, run).await.map(Some);
    }
    let path = Path::new(name);
    let Some(file) = sealed_file(path) else { return Ok(None) };
    // A session of this machine needs no key.
    let is_here = path.is_dir() && pick(name, &[]).is_ok_and(|found| found.is_of_this_machine(variables));
    if is_here { Ok(None) } else { Ok(Some(OpenedSession::read(&file, variables)?)) }
}

/// Makes a sealed session one of this machine.
fn settle(opened: OpenedSession, lookup: &Lookup) -> Result<SavedSession, InputError> {
    let folder = lookup.path("workspace").unwrap_or_else(|| PathBuf::from("."));
    let workspace =
        folder.canonicalize().map_err(|error| InputError::Workspace { path: folder.clone(), error })?;
    if let Some(out) = lookup.path("out") {
        return Ok(opened.settle(&workspace, &out, lookup.variables())?);
    }
    // Nobody can have put anything there: the id of a session is no secret, and not the name.
    let error = |error| InputError::Out { path: std::env::temp_dir(), error };
    let fresh = tempfile::Builder::new().prefix("architect-ci-").tempdir().map_err(error)?;
    let found = opened.settle(&workspace, fresh.path(), lookup.variables())?;
    let _ = fresh.keep();
    Ok(found)
}
