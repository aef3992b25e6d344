//! `architect-ci tests prove`: runs the tests that a change adds or changes on the old code and on the new, without a model.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sanitize::Masker;
use sanitize::untrusted::{log_lines, visible};
use serde_json::Value;
use workspace::{ChangeSet, FileChange};

use super::print;
use super::run::runtime;
use super::style::{below, log_error, print_painted};
use crate::base::error::chain;
use crate::base::fs::write_atomic;
use crate::config::{self, Config};
use crate::event::{Exit, ProofRecord};
use crate::git::Repository;
use crate::proof::{ProofError, Prover, States, TestCommand, changes_since, prove};
use crate::report::masked::masked_fields;
use crate::report::{proof_junit, proof_text};
use crate::request::{InputError, variables};
use crate::run::{Signal, Throwaway, on_signals};

/// Run the tests that a change adds or changes on the old code, where they have to fail, and on the new
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci tests prove --base origin/main -- pytest {tests}", "Tells pytest which tests to run"),
        ("architect-ci tests prove --base HEAD~1 -- cargo test -- {tests}", "Gives their names to the tests of a crate"),
        ("architect-ci tests prove --base HEAD -- 'npm ci && node --test {files}'", "Runs a shell command line on their files"),
    ],
    "`{tests}` stands for the tests in the form that the runner accepts, `{files}` for their files; with `{test}`, the command runs once for each. A command without any of these runs unchanged. The result of each test is read from the output; if the output names none, the exit code counts for all of them.\n\n\
     Exit codes: 0 each test proves the change, or there is none, 1 at least one does not, 3 the commit, the checkout or the \
     command cannot be used, 130 and 143 interrupted. The command runs on both, and once more for tests that prove the change, on throw-away copies in a sandbox; the checkout is not changed.",
))]
pub(super) struct Prove {
    #[command(flatten)]
    pub(super) subject: Subject,
    /// Write the result as JUnit XML as well
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    junit: Option<PathBuf>,
}

/// The change, and how its tests are run.
#[derive(Debug, clap::Args)]
pub(super) struct Subject {
    /// Commit to compare with: a branch, a tag or an id
    #[arg(long, value_name = "COMMIT")]
    base: String,
    /// Folder of the checkout
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    workspace: PathBuf,
    /// Configuration whose `commands` and `guardrails.sensitive_files` apply
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    config: Option<PathBuf>,
    /// Seconds after which a run of the command is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 900, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    command_timeout: u64,
    /// Print the result as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Command that runs the tests
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// Why nothing could be run.
#[derive(Debug, thiserror::Error)]
pub(super) enum SubjectError {
    #[error(transparent)]
    Command(#[from] crate::proof::CommandError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Config(#[from] config::ConfigError),
    #[error("could not read {path}: {error}")]
    File { path: PathBuf, error: io::Error },
    #[error("{0} is not in a Git repository; the tests are compared with one of its commits")]
    NoRepository(PathBuf),
    #[error(transparent)]
    Git(#[from] crate::git::GitError),
    #[error(transparent)]
    Proof(#[from] ProofError),
}

/// What a command of this kind works with.
pub(super) struct ProofSetup {
    throwaway: Throwaway,
    pub(super) changes: ChangeSet,
    pub(super) states: States,
    command: TestCommand,
    timeout: Duration,
}

impl Subject {
    /// Reads the change.
    pub(super) fn bench(&self) -> Result<ProofSetup, SubjectError> {
        let command = TestCommand::of_words(&self.command)?;
        let config = match &self.config {
            Some(path) => read_config(path)?,
            None => Config::default(),
        };
        let repository = Repository::find(&self.workspace, None)?
            .ok_or_else(|| SubjectError::NoRepository(self.workspace.clone()))?;
        let commit = repository.resolve(&self.base)?;
        let throwaway = Throwaway::new(&self.workspace, Some(&repository), &config, &variables(), &[])?;
        let changes = changes_since(&repository, &commit, throwaway.disk(), throwaway.sensitive())?;
        let states = States::new(&changes, true);
        Ok(ProofSetup {
            throwaway,
            changes,
            states,
            command,
            timeout: Duration::from_secs(self.command_timeout),
        })
    }
}

impl ProofSetup {
    /// Runs something with what runs tests, until a signal comes.
    pub(super) fn run<T>(
        &self,
        work: impl AsyncFnOnce(&Prover<'_>) -> Result<T, ProofError>,
    ) -> Result<(Result<T, ProofError>, Signal), SubjectError> {
        let isolate = |changes: &[FileChange]| Ok(self.throwaway.state(changes)?);
        runtime()?.block_on(async {
            let signal = on_signals().map_err(InputError::Signals)?;
            let prover = Prover {
                isolate: &isolate,
                command: &self.command,
                timeout: self.timeout,
                cancel: signal.token(),
            };
            Ok((work(&prover).await, signal))
        })
    }
}

fn read_config(path: &Path) -> Result<Config, SubjectError> {
    let failed = |error| SubjectError::File { path: path.to_owned(), error };
    let text = std::fs::read_to_string(path).map_err(failed)?;
    Ok(config::parse(&text, &path.display().to_string())?)
}

/// Returns the exit of what could not be done.
pub(super) fn failed(error: &SubjectError, signal: Option<&Signal>) -> Exit {
    log_error(&visible(&chain(error)));
    match (error, signal) {
        (SubjectError::Proof(ProofError::Interrupted), Some(signal)) if signal.is_terminate() => {
            Exit::Terminated
        }
        (SubjectError::Proof(ProofError::Interrupted), _) => Exit::Interrupted,
        _ => Exit::Configuration,
    }
}

/// Prints a result as JSON.
pub(super) fn print_json(value: &impl serde::Serialize, masker: &Masker) {
    if let Ok(Value::Object(fields)) = serde_json::to_value(value) {
        print(&format!("{:#}\n", masked_fields(fields, masker)));
    }
}

fn write_junit(record: &ProofRecord, path: &Path, masker: &Masker) -> io::Result<()> {
    let xml = proof_junit(record).map_err(io::Error::other)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().ok_or(io::ErrorKind::InvalidFilename)?;
    write_atomic(&folder.canonicalize()?.join(name), masker.mask(&xml).as_bytes())
}

impl Prove {
    pub(super) fn execute(&self) -> Exit {
        let bench = match self.subject.bench() {
            Ok(bench) => bench,
            Err(error) => return failed(&error, None),
        };
        match bench.run(async |prover| prove(&bench.states, prover).await) {
            Ok((Ok(record), _)) => self.print_result(&record),
            Ok((Err(error), signal)) => failed(&error.into(), Some(&signal)),
            Err(error) => failed(&error, None),
        }
    }

    fn print_result(&self, record: &ProofRecord) -> Exit {
        let masker = Masker::from_environment(&variables(), &[], &[]);
        if self.subject.json {
            print_json(record, &masker);
        } else {
            print_painted(&log_lines(&masker.mask(&proof_text(record))));
        }
        if let Some(path) = &self.junit
            && let Err(error) = write_junit(record, path, &masker)
        {
            log_error(&visible(&format!("could not write {}: {error}", path.display())));
            return Exit::Configuration;
        }
        // Whether a change needs a test is for others to decide.
        if record.is_complete() || record.untested { Exit::Success } else { Exit::Failed }
    }
}
