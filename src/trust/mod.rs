//! Decides which state of the repository may steer a run, and reads the configuration and whatever else steers it from there,
//! where the pull request's author cannot reach it.

mod base_files;
mod location;
mod read_error;

use std::error::Error;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;

use workspace::{DiskWorkspace, FileError, LastLink, ResolvedPath, WorkspacePath};

use crate::config::{Config, ConfigError, parse};
use crate::git::{GitError, RemoteRepository, Repository};

pub(crate) use base_files::BaseFilesError;
pub(crate) use location::normalize;
use location::{Location, locate};
use read_error::ReadError;

/// Where a configuration is looked for, in this order, below the workspace.
const PLACES: [&str; 2] = [".github/architect.yml", ".architect.yml"];

/// Names that people give a configuration, and by which it is not found; with the right one.
const MISNAMED: [(&str, &str); 2] = [(".github/architect.yaml", PLACES[0]), (".architect.yaml", PLACES[1])];

/// Longest file that steers a run, in bytes.
const MAX_FILE: u64 = 16_000_000;

/// Which state of the repository may configure the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The checkout as it is: nobody without write access has had a hand in it.
    Checkout,
    /// This commit alone: the checkout holds a pull request's changes, or another commit than the event's.
    Base(String),
}

/// A file that steers the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedFile {
    /// What it says.
    pub text: String,
    /// Relative to the workspace where it is inside.
    pub path: String,
    /// The commit it was read from, if not from disk.
    pub commit: Option<String>,
}

impl TrustedFile {
    /// Its name for messages.
    pub fn shown(&self) -> String {
        match &self.commit {
            Some(commit) => format!("{} (at {})", self.path, &commit[..commit.len().min(12)]),
            None => self.path.clone(),
        }
    }
}

/// A configuration and where it was found.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The configuration; defaults where there is none.
    pub config: Config,
    /// The file, relative to the workspace where it is inside.
    pub file: Option<String>,
    /// The commit it was read from, if not from disk.
    pub commit: Option<String>,
}

/// Gives a file of the repository at a commit that the clone does not hold; `None` where it has none.
pub(crate) type Remote<'a> = &'a dyn Fn(&str, &str) -> Result<Option<String>, Box<dyn Error + Send + Sync>>;

/// Reads what steers a run, from the state of the repository that is trusted.
pub(crate) struct Trusted<'a> {
    /// The checkout, or the folder of it that is worked on.
    pub workspace: &'a Path,
    /// The repository, where there is one.
    pub repository: Option<&'a Repository>,
    /// Which state counts.
    pub trust: Trust,
    /// Where a commit is fetched from that the clone lacks.
    pub places: Vec<RemoteRepository<'a>>,
    /// Where a commit is looked for that is neither in the clone nor can be fetched by Git.
    pub remote: Option<Remote<'a>>,
}

impl Trusted<'_> {
    /// Finds and reads the configuration.
    pub(crate) fn config(&self, explicit: Option<&Path>) -> Result<Origin, ConfigError> {
        self.config_file(explicit)?.map_or_else(|| Ok(Origin::default()), origin)
    }

    /// Finds the configuration and returns it unparsed; `None` where there is none.
    pub(crate) fn config_file(&self, explicit: Option<&Path>) -> Result<Option<TrustedFile>, ConfigError> {
        if let Some(path) = explicit {
            let missing = || ConfigError::Missing(path.display().to_string());
            return self.read(path)?.ok_or_else(missing).map(Some);
        }
        let [first, second] = PLACES.map(|place| self.read_one(&self.workspace.join(place)));
        match (first?, second?) {
            // One of them would have no effect, and nobody would notice.
            (Some(_), Some(_)) => Err(ConfigError::Two(PLACES[0], PLACES[1])),
            (Some(found), None) | (None, Some(found)) => Ok(Some(found)),
            (None, None) => {
                for (wrong, right) in MISNAMED {
                    if self.read_one(&self.workspace.join(wrong))?.is_some() {
                        return Err(ConfigError::Misnamed(wrong, right));
                    }
                }
                Ok(None)
            }
        }
    }

    /// Reads a file: one of the repository from the trusted state, another from disk. A relative path is meant
    /// from the workspace or else from where the program was started. `None` where it is not there.
    pub(crate) fn read(&self, path: &Path) -> Result<Option<TrustedFile>, ConfigError> {
        if let Some(found) = self.read_one(&self.workspace.join(path))? {
            return Ok(Some(found));
        }
        match std::env::current_dir() {
            Ok(folder) if path.is_relative() => self.read_one(&folder.join(path)),
            _ => Ok(None),
        }
    }

    /// Returns whether there is a commit that the checkout can be compared with.
    pub(crate) fn has_commit(&self) -> bool {
        self.trust != Trust::Checkout || self.repository.is_some_and(|repository| repository.head().is_some())
    }

    /// Reads a file of the repository as a commit has it: the one that is trusted, else the one that is checked out.
    /// `None` where it is not there, or where there is no commit.
    pub(crate) fn read_committed(&self, full: &Path) -> Result<Option<TrustedFile>, ConfigError> {
        let head = || self.repository.and_then(Repository::head).map(Trust::Base);
        let trust = match &self.trust {
            Trust::Base(_) => Some(self.trust.clone()),
            Trust::Checkout => head(),
        };
        let Some(trust) = trust else { return Ok(None) };
        Trusted { trust, places: self.places.clone(), ..*self }.read_one(full)
    }

    /// Returns `true` for a path into the checkout, where the checkout is not what is trusted.
    pub(crate) fn is_withheld(&self, path: &Path) -> bool {
        let full = std::env::current_dir().map_or_else(|_| path.to_owned(), |folder| folder.join(path));
        let root = self.repository.map_or(self.workspace, Repository::root);
        self.trust != Trust::Checkout && !matches!(locate(root, &full), Location::Outside(_))
    }

    fn read_one(&self, full: &Path) -> Result<Option<TrustedFile>, ConfigError> {
        let root = self.repository.map_or(self.workspace, Repository::root);
        match (locate(root, full), &self.trust) {
            (Location::Inside(path), Trust::Base(commit)) => {
                let text = self.at_commit(commit, &path).map_err(|error| {
                    let commit = commit.clone();
                    ConfigError::BaseUnavailable { commit, error: error.into() }
                })?;
                let (path, commit) = (self.shown(&path), Some(commit.clone()));
                Ok(text.map(|text| TrustedFile { text, path, commit }))
            }
            (Location::Inside(path), Trust::Checkout) => {
                let shown = self.shown(&path);
                let text = from_checkout(root, self.repository, &path);
                file(text, shown)
            }
            (Location::Linked(path), Trust::Base(_)) => Err(ConfigError::Unreadable {
                path: path.display().to_string(),
                error: ReadError::ThroughLink.into(),
            }),
            (Location::Outside(path) | Location::Linked(path), _) => {
                file(from_machine(&path), path.display().to_string())
            }
        }
    }

    /// Returns a path of the repository as people see it from the workspace.
    fn shown(&self, path: &str) -> String {
        let prefix = self.repository.map(Repository::prefix).unwrap_or_default();
        path.strip_prefix(&prefix).unwrap_or(path).to_owned()
    }

    /// Reads from the clone, else by fetching the commit, else from wherever else it is to be had.
    fn at_commit(&self, commit: &str, path: &str) -> Result<Option<String>, ReadError> {
        let read = |repository: &Repository| {
            let bytes = repository.read_at(commit, path)?;
            Ok::<_, GitError>(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let mut problem = ReadError::NotCloned;
        if let Some(repository) = self.repository {
            match read(repository) {
                Err(GitError::Missing(_) | GitError::Corrupt { .. }) => {}
                answer => return Ok(answer?),
            }
            for place in &self.places {
                match repository.fetch(*place, commit).and_then(|()| read(repository)) {
                    Ok(answer) => return Ok(answer),
                    Err(error) => problem = error.into(),
                }
            }
        }
        match self.remote {
            Some(remote) => remote(commit, path).map_err(ReadError::Remote),
            None => Err(problem),
        }
    }
}

/// Reads a file of the checkout. Links are followed within it alone, and only to files of the commit that is checked
/// out: a run could have made a link to what nobody is to see. What is not a file is not opened.
fn from_checkout(
    root: &Path,
    repository: Option<&Repository>,
    path: &str,
) -> Result<Option<String>, ReadError> {
    let disk = DiskWorkspace::open(root)?;
    let path = WorkspacePath::parse(path)?;
    let Some(found) = existing(&disk, &path)? else { return Ok(None) };
    let target: &WorkspacePath = &found;
    if *target != path {
        let is_committed = |repository: &Repository| {
            let entry = repository.head().map(|commit| repository.entry_at(&commit, target.as_str()));
            entry.is_some_and(|entry| entry.is_ok_and(|entry| entry.is_some()))
        };
        if target.names().any(|name| name.eq_ignore_ascii_case(".git"))
            || !repository.is_none_or(is_committed)
        {
            return Err(ReadError::UncommittedTarget(target.clone()));
        }
    }
    let file = disk.open_file(&found)?;
    bounded(file).map(Some)
}

/// Returns where a path leads; `None` where nothing is.
fn existing(disk: &DiskWorkspace, path: &WorkspacePath) -> Result<Option<ResolvedPath>, ReadError> {
    let found = disk.resolve(path, LastLink::Follow).and_then(|found| Ok(disk.stat(&found)?.map(|_| found)));
    match found {
        Ok(found) => Ok(found),
        Err(FileError::Missing(_) | FileError::NotDirectory(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Reads a file of the machine; it may be a pipe, as `--config <(…)` makes one.
fn from_machine(path: &Path) -> Result<Option<String>, ReadError> {
    match fs::File::open(path) {
        Ok(file) => bounded(file).map(Some),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn bounded(file: impl io::Read) -> Result<String, ReadError> {
    let mut bytes = Vec::new();
    file.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(ReadError::TooLarge);
    }
    String::from_utf8(bytes).map_err(|_| ReadError::NotUtf8)
}

fn file(text: Result<Option<String>, ReadError>, path: String) -> Result<Option<TrustedFile>, ConfigError> {
    match text {
        Ok(text) => Ok(text.map(|text| TrustedFile { text, path, commit: None })),
        Err(error) => Err(ConfigError::Unreadable { path, error: error.into() }),
    }
}

fn origin(file: TrustedFile) -> Result<Origin, ConfigError> {
    Ok(Origin { config: parse(&file.text, &file.shown())?, file: Some(file.path), commit: file.commit })
}
