//! Where the configuration comes from, and whether the pull request's author can reach it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::ConfigError;
use super::sections::Config;
use crate::git::Git;
use crate::yaml;

/// Where a configuration is looked for, in this order, below the workspace.
const PLACES: [&str; 2] = [".github/architect.yml", ".architect.yml"];

/// Which state of the repository may configure the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The checkout as it is: nobody without write access has had a hand in it.
    Checkout,
    /// The base commit alone: the checkout holds a pull request's changes.
    Base(String),
}

/// A file that steers the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrustedFile {
    /// What it says.
    pub text: String,
    /// Relative to the workspace where it lies inside.
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
    /// The file, relative to the workspace where it lies inside.
    pub file: Option<String>,
    /// The commit it was read from, if not from disk.
    pub commit: Option<String>,
}

/// Gives a file of the repository at a commit that the clone does not hold; `None` where it has none.
pub type Remote<'a> = &'a dyn Fn(&str, &str) -> Result<Option<String>, String>;

/// Reads what steers a run, from the state of the repository that is trusted.
pub struct Trusted<'a> {
    /// The checkout.
    pub workspace: &'a Path,
    /// Which state counts.
    pub trust: Trust,
    /// Where a commit is looked for that is neither in the clone nor can be fetched by Git.
    pub remote: Option<Remote<'a>>,
}

impl Trusted<'_> {
    /// Finds and reads the configuration.
    pub fn config(&self, explicit: Option<&Path>) -> Result<Origin, ConfigError> {
        if let Some(path) = explicit {
            let missing = || ConfigError::Missing(path.display().to_string());
            return origin(self.read(path)?.ok_or_else(missing)?);
        }
        for place in PLACES {
            if let Some(found) = self.read_inside(place)? {
                return origin(found);
            }
        }
        Ok(Origin::default())
    }

    /// Reads a file: one outside the workspace from disk, one inside from the trusted state. `None`
    /// where it is not there.
    pub fn read(&self, path: &Path) -> Result<Option<TrustedFile>, ConfigError> {
        match locate(self.workspace, path) {
            Place::Inside(path) => self.read_inside(&path),
            Place::Outside(path) => from_disk(&path, path.display().to_string()),
        }
    }

    fn read_inside(&self, path: &str) -> Result<Option<TrustedFile>, ConfigError> {
        let Trust::Base(commit) = &self.trust else {
            return from_disk(&self.workspace.join(path), path.to_owned());
        };
        let text = self.at_commit(commit, path).map_err(|error| {
            let commit = commit.clone();
            ConfigError::BaseUnavailable { commit, error }
        })?;
        Ok(text.map(|text| TrustedFile { text, path: path.to_owned(), commit: Some(commit.clone()) }))
    }

    /// From the clone, else by fetching the commit, else from wherever else it is to be had.
    fn at_commit(&self, commit: &str, path: &str) -> Result<Option<String>, String> {
        let git = Git::new(self.workspace);
        let fetched = if git.has_commit(commit) { Ok(()) } else { git.fetch(commit) };
        match (fetched, self.remote) {
            (Ok(()), _) => {
                let bytes = git.show(commit, path).map_err(|error| error.to_string())?;
                Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            }
            (Err(_), Some(remote)) => remote(commit, &format!("{}{path}", git.prefix())),
            (Err(error), None) => Err(error.to_string()),
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

/// Reads a configuration from its text.
pub fn parse(text: &str, file: &str) -> Result<Config, ConfigError> {
    parse_as(text, file)
}

/// Reads YAML of any form; a text of comments alone is the default.
pub fn parse_as<T: DeserializeOwned + Default>(text: &str, file: &str) -> Result<T, ConfigError> {
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(T::default());
    }
    yaml::from_str(text).map_err(|error| ConfigError::from_yaml(&error, file))
}

enum Place {
    /// Relative to the workspace.
    Inside(String),
    Outside(PathBuf),
}

fn locate(workspace: &Path, path: &Path) -> Place {
    let full = if path.is_absolute() {
        path.to_owned()
    } else if workspace.join(path).exists() {
        workspace.join(path)
    } else {
        std::env::current_dir().unwrap_or_default().join(path)
    };
    // Links count: a link inside that leads outside is still the pull request's to set.
    let folder = full.parent().and_then(|parent| parent.canonicalize().ok());
    let inside = folder.zip(full.file_name()).and_then(|(folder, name)| {
        let relative = folder.join(name).strip_prefix(workspace).ok()?.to_str()?.replace('\\', "/");
        Some(relative)
    });
    match inside {
        Some(relative) => Place::Inside(relative),
        None => match full.strip_prefix(workspace) {
            // Its folder is not there (yet); the base commit may have it.
            Ok(relative) => Place::Inside(relative.to_string_lossy().into_owned()),
            Err(_) => Place::Outside(full),
        },
    }
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
