//! Sources of the configuration, and whether the author of a pull request can change them.

use std::fs;
use std::io;
use std::path::Path;

use serde::de::DeserializeOwned;

use super::error::ConfigError;
use super::location::{Location, locate};
use super::sections::Config;
use crate::git::{GitError, Place, Repository};
use crate::yaml;

/// Paths at which a configuration is looked for, in this order, below the workspace.
const PLACES: [&str; 2] = [".github/architect.yml", ".architect.yml"];

/// State of the repository that may configure the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The checkout as it is: nobody without write access has changed it.
    Checkout,
    /// Only this base commit: the checkout has the changes of a pull request.
    Base(String),
}

/// File that configures the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedFile {
    /// Content of the file.
    pub text: String,
    /// Path, relative to the workspace if it is inside.
    pub path: String,
    /// Commit that it was read from; `None` if it was read from disk.
    pub commit: Option<String>,
}

impl TrustedFile {
    /// Returns the name of the file for messages.
    pub fn shown(&self) -> String {
        match &self.commit {
            Some(commit) => format!("{} (at {})", self.path, &commit[..commit.len().min(12)]),
            None => self.path.clone(),
        }
    }
}

/// Configuration, and where it was found.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The configuration; the default if there is no file.
    pub config: Config,
    /// Path of the file, relative to the workspace if it is inside.
    pub file: Option<String>,
    /// Commit that it was read from; `None` if it was read from disk.
    pub commit: Option<String>,
}

/// Function that returns a file at a commit which the clone does not have, given commit and path; `None` if
/// the commit does not have the file.
pub type Remote<'a> = &'a dyn Fn(&str, &str) -> Result<Option<String>, String>;

/// Reader of the files that configure a run, from the trusted state of the repository.
pub struct Trusted<'a> {
    /// The checkout, or the folder of it that is worked on.
    pub workspace: &'a Path,
    /// The repository, if there is one.
    pub repository: Option<&'a Repository>,
    /// State of the repository that is trusted.
    pub trust: Trust,
    /// Where commits that the clone lacks can be fetched from.
    pub places: Vec<Place<'a>>,
    /// Last resort for a commit that is neither in the clone nor can be fetched by Git.
    pub remote: Option<Remote<'a>>,
}

impl Trusted<'_> {
    /// Finds and reads the configuration: at `explicit`, which has to exist, or at the first of the usual
    /// paths that does.
    pub fn config(&self, explicit: Option<&Path>) -> Result<Origin, ConfigError> {
        if let Some(path) = explicit {
            let missing = || ConfigError::Missing(path.display().to_string());
            return origin(self.read(path)?.ok_or_else(missing)?);
        }
        for place in PLACES {
            if let Some(found) = self.read_one(&self.workspace.join(place))? {
                return origin(found);
            }
        }
        Ok(Origin::default())
    }

    /// Reads a file, from the trusted state if it belongs to the repository, else from disk. A relative path
    /// is looked for in the workspace, then in the current folder. Returns `None` if the file does not exist.
    pub fn read(&self, path: &Path) -> Result<Option<TrustedFile>, ConfigError> {
        if let Some(found) = self.read_one(&self.workspace.join(path))? {
            return Ok(Some(found));
        }
        match std::env::current_dir() {
            Ok(folder) if path.is_relative() => self.read_one(&folder.join(path)),
            _ => Ok(None),
        }
    }

    fn read_one(&self, full: &Path) -> Result<Option<TrustedFile>, ConfigError> {
        let root = self.repository.map_or(self.workspace, Repository::root);
        match (locate(root, full), &self.trust) {
            (Location::Inside(path), Trust::Base(commit)) => {
                let text = self.at_commit(commit, &path).map_err(|error| {
                    let commit = commit.clone();
                    ConfigError::BaseUnavailable { commit, error }
                })?;
                let (path, commit) = (self.shown(&path), Some(commit.clone()));
                Ok(text.map(|text| TrustedFile { text, path, commit }))
            }
            (Location::Inside(path), Trust::Checkout) => from_disk(&root.join(&path), self.shown(&path)),
            (Location::Linked(path), Trust::Base(_)) => Err(ConfigError::Unreadable {
                path: path.display().to_string(),
                error: "it leads into the repository by a link; name it by its place in the repository"
                    .to_owned(),
            }),
            (Location::Outside(path) | Location::Linked(path), _) => {
                from_disk(&path, path.display().to_string())
            }
        }
    }

    /// Returns a path of the repository relative to the workspace, if it is inside.
    fn shown(&self, path: &str) -> String {
        let prefix = self.repository.map(Repository::prefix).unwrap_or_default();
        path.strip_prefix(&prefix).unwrap_or(path).to_owned()
    }

    /// Reads a file at a commit: from the clone, else after fetching the commit, else through
    /// [`remote`](Self::remote).
    fn at_commit(&self, commit: &str, path: &str) -> Result<Option<String>, String> {
        let read = |repository: &Repository| {
            let bytes = repository.read_at(commit, path)?;
            Ok::<_, GitError>(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
        };
        let mut problem = "there is no clone of the repository".to_owned();
        if let Some(repository) = self.repository {
            match read(repository) {
                Err(GitError::Missing(_) | GitError::Corrupt { .. }) => {}
                answer => return answer.map_err(|error| error.to_string()),
            }
            for place in &self.places {
                match repository.fetch(*place, commit).and_then(|()| read(repository)) {
                    Ok(answer) => return Ok(answer),
                    Err(error) => problem = error.to_string(),
                }
            }
        }
        match self.remote {
            Some(remote) => remote(commit, path),
            None => Err(problem),
        }
    }
}

fn from_disk(file: &Path, path: String) -> Result<Option<TrustedFile>, ConfigError> {
    match fs::read_to_string(file) {
        Ok(text) => Ok(Some(TrustedFile { text, path, commit: None })),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(ConfigError::Unreadable { path, error: error.to_string() }),
    }
}

/// Parses a configuration. `file` is its name in errors.
pub fn parse(text: &str, file: &str) -> Result<Config, ConfigError> {
    parse_as(text, file)
}

/// Parses YAML of any form; text with nothing but comments gives the default.
pub fn parse_as<T: DeserializeOwned + Default>(text: &str, file: &str) -> Result<T, ConfigError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(T::default());
    }
    yaml::from_str(text).map_err(|error| ConfigError::from_yaml(&error, file))
}

fn origin(file: TrustedFile) -> Result<Origin, ConfigError> {
    Ok(Origin { config: parse(&file.text, &file.shown())?, file: Some(file.path), commit: file.commit })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        parse(text, "architect.yml").expect_err("the text is no configuration").to_string()
    }

    #[test]
    fn errors_show_place_excerpt_and_the_way_out() {
        insta::assert_snapshot!("unknown_key", error("llm:\n  modle: openai::gpt-5\n"));
        insta::assert_snapshot!("wrong_type", error("llm:\n  timeout: soon\n"));
        insta::assert_snapshot!(
            "out_of_range",
            error("hooks:\n  pre_tool_use:\n  - name: x\n    command: y\n    timeout: 900\n")
        );
        insta::assert_snapshot!("duplicate_key", error("llm:\n  stream: true\n  stream: false\n"));
        insta::assert_snapshot!("broken_yaml", error("llm: [unclosed\n"));
        insta::assert_snapshot!("unknown_variant", error("github:\n  comment: allways\n"));
    }

    #[test]
    fn an_empty_file_is_the_default_configuration() {
        assert!(parse("# nothing yet\n\n", "x").is_ok_and(|config| config.llm.stream));
    }
}
