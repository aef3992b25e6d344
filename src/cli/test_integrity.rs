//! `architect-ci tests check`: finds tests and checks that a change weakens, without a model.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use sanitize::Masker;
use sanitize::untrusted::{log_lines, visible, visible_line};
use serde::Serialize;
use serde_json::Value;
use test_integrity::{Change, Finding, MAX_BYTES, Severity, check_among, concerns, is_of_tests};

use super::print;
use super::style::{below, log_error, print_painted};
use super::taken_back::noted;
use crate::base::error::chain;
use crate::base::text::counted;
use crate::event::Exit;
use crate::git::{GitError, Repository};
use crate::report::masked::masked_fields;
use crate::request::variables;

/// Check whether tests keep their meaning
#[derive(Debug, clap::Subcommand)]
pub(super) enum Tests {
    Check(Check),
    Prove(super::test_proof::Prove),
    Mutate(super::test_mutation::Mutate),
}

/// Compare the checkout with a commit, and report tests and checks that are weaker than before
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci tests check --base origin/main", "Checks a branch, including uncommitted changes"),
        ("architect-ci tests check --base HEAD~1 --json", "Prints the findings as JSON"),
    ],
    "Exit codes: 0 no finding of severity `error`, 1 at least one, 3 the commit or the checkout cannot be read. No program of \
     the checkout is run, and no model is asked.",
))]
pub(super) struct Check {
    /// Commit to compare with: a branch, a tag or an id
    #[arg(long, value_name = "COMMIT")]
    base: String,
    /// Folder of the checkout
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    workspace: PathBuf,
    /// Print the findings as JSON
    #[arg(long)]
    json: bool,
}

/// Why there is nothing to judge.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("the workspace {0}: {1}")]
    Workspace(PathBuf, #[source] io::Error),
    #[error("{0} is not in a Git repository; the tests are compared with one of its commits")]
    NoRepository(PathBuf),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("could not read {0}: {1}")]
    File(String, #[source] io::Error),
    #[error("`{0}` has changed, and cannot be judged, because its name is not UTF-8; rename it")]
    Name(String),
}

/// What was found.
#[derive(Serialize)]
struct Checked {
    findings: Vec<Finding>,
}

/// Texts of one file that differ.
struct Changed {
    path: String,
    before: Option<String>,
    after: Option<String>,
}

impl Tests {
    pub(super) fn execute(&self) -> Exit {
        let asked = match self {
            Self::Check(asked) => asked,
            Self::Prove(asked) => return asked.execute(),
            Self::Mutate(asked) => return asked.execute(),
        };
        match asked.findings() {
            Ok(findings) => asked.print(&Checked { findings }),
            Err(error) => {
                log_error(&visible(&chain(&error)));
                Exit::Configuration
            }
        }
    }
}

impl Check {
    fn findings(&self) -> Result<Vec<Finding>, ReadError> {
        let repository = Repository::find(&self.workspace, None)?
            .ok_or_else(|| ReadError::NoRepository(self.workspace.clone()))?;
        let commit = repository.resolve(&self.base)?;
        let changed = changes(&repository, &self.workspace, &commit)?;
        let changes: Vec<Change<'_>> = changed
            .iter()
            .map(|file| Change {
                path: &file.path,
                before: file.before.as_deref(),
                after: file.after.as_deref(),
            })
            .collect();
        let found = check_among(&changes, || unchanged(&repository, &self.workspace, &changed));
        Ok(noted(found, &repository, &commit, &changes))
    }

    fn print(&self, checked: &Checked) -> Exit {
        let masker = Masker::from_environment(&variables(), &[], &[]);
        if self.json {
            if let Ok(Value::Object(fields)) = serde_json::to_value(checked) {
                print(&format!("{:#}\n", masked_fields(fields, &masker)));
            }
        } else {
            print_painted(&log_lines(&masker.mask(&checked.text())));
        }
        let has_error = checked.findings.iter().any(|finding| finding.severity == Severity::Error);
        if has_error { Exit::Failed } else { Exit::Success }
    }
}

impl Checked {
    fn text(&self) -> String {
        let Self { findings } = self;
        if findings.is_empty() {
            return "✓ no test or check is weaker than before\n".to_owned();
        }
        let lines = findings.iter().map(|finding| {
            let sign = match finding.severity {
                Severity::Error => '✗',
                Severity::Warning => '!',
                Severity::Note => '·',
            };
            format!(
                "{sign} {}:{} {}\n",
                visible_line(&finding.path),
                finding.line,
                visible_line(&finding.message)
            )
        });
        let of = |severity: Severity| findings.iter().filter(|finding| finding.severity == severity).count();
        let count = |severity, noun| counted(of(severity), noun, "s");
        let mut summary =
            format!("{}, {}", count(Severity::Error, "error"), count(Severity::Warning, "warning"));
        if of(Severity::Note) > 0 {
            summary += &format!(", {}", count(Severity::Note, "note"));
        }
        summary.push('\n');
        lines.chain([summary]).collect()
    }
}

/// Returns the files of the checkout that differ from a commit, as far as tests can be concerned. Paths are relative to
/// the workspace.
fn changes(repository: &Repository, workspace: &Path, commit: &str) -> Result<Vec<Changed>, ReadError> {
    let folder = Dir::open_ambient_dir(workspace, ambient_authority())
        .map_err(|error| ReadError::Workspace(workspace.to_owned(), error))?;
    if let Some(name) = repository.changed_without_utf8_name(commit)?.into_iter().find(|name| concerns(name))
    {
        return Err(ReadError::Name(name));
    }
    let old: BTreeSet<String> = repository.files_of(commit)?.into_iter().map(|(path, _)| path).collect();
    let new = repository.tracked()?.into_iter().chain(repository.not_in_index()?);
    let paths: BTreeSet<String> = old.iter().cloned().chain(new).filter(|path| concerns(path)).collect();
    let prefix = repository.prefix();
    let mut changed = Vec::new();
    for path in paths {
        let after = read(&folder, &path).map_err(|error| ReadError::File(path.clone(), error))?;
        let full = format!("{prefix}{path}");
        let entry = if old.contains(&path) { repository.entry_at(commit, &full)? } else { None };
        if let (Some(entry), Some(after)) = (&entry, &after)
            && repository.is_content(entry, after)
        {
            continue;
        }
        let before = if entry.is_some() { repository.read_at(commit, &full)? } else { None };
        if before.is_none() && after.is_none() {
            continue;
        }
        let text = |bytes: Option<Vec<u8>>| bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        changed.push(Changed { path, before: text(before), after: text(after) });
    }
    Ok(changed)
}

/// Returns the files of tests that did not change. What cannot be read says nothing.
fn unchanged(repository: &Repository, workspace: &Path, changed: &[Changed]) -> Vec<(String, String)> {
    let Ok(folder) = Dir::open_ambient_dir(workspace, ambient_authority()) else { return Vec::new() };
    let changed: BTreeSet<&str> = changed.iter().map(|file| file.path.as_str()).collect();
    let paths = repository.tracked().unwrap_or_default().into_iter();
    let is_wanted = |path: &String| concerns(path) && is_of_tests(path) && !changed.contains(path.as_str());
    let text = |path: String| {
        let content = read(&folder, &path).ok().flatten().filter(|content| content.len() <= MAX_BYTES)?;
        Some((path, String::from_utf8_lossy(&content).into_owned()))
    };
    paths.filter(is_wanted).filter_map(text).collect()
}

/// Reads a file of the checkout; `Ok(None)` if there is none. A link is no test, and what is too long to be judged is
/// passed over.
fn read(folder: &Dir, path: &str) -> io::Result<Option<Vec<u8>>> {
    use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
    use std::io::Read;
    let mut options = cap_std::fs::OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No);
    match folder.symlink_metadata(path) {
        Ok(metadata) if metadata.is_file() => {}
        Ok(_) => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(error),
    }
    let mut content = Vec::new();
    folder.open_with(path, &options)?.take(MAX_BYTES as u64 + 1).read_to_end(&mut content)?;
    Ok(Some(content))
}
