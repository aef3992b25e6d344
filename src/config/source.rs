//! Where the configuration comes from, and whether the pull request's author can reach it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::error::ConfigError;
use super::sections::Config;
use crate::git::Git;

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

/// Finds and reads the configuration.
pub fn find(workspace: &Path, explicit: Option<&Path>, trust: &Trust) -> Result<Origin, ConfigError> {
    if let Some(path) = explicit {
        let found = read_trusted(workspace, path, trust)?
            .ok_or_else(|| ConfigError::Missing(path.display().to_string()))?;
        return origin(found);
    }
    for place in PLACES {
        if let Some(found) = read_inside(workspace, place, trust)? {
            return origin(found);
        }
    }
    Ok(Origin::default())
}

/// Reads a file that steers the run: one outside the workspace from disk, one inside from the state of
/// the repository that is trusted. `None` where it is not there.
pub fn read_trusted(
    workspace: &Path,
    path: &Path,
    trust: &Trust,
) -> Result<Option<TrustedFile>, ConfigError> {
    match locate(workspace, path) {
        Place::Inside(path) => read_inside(workspace, &path, trust),
        Place::Outside(path) => match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(TrustedFile { text, path: path.display().to_string(), commit: None })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(unreadable(&path, &error)),
        },
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
    serde_yaml::from_str(text).map_err(|error| ConfigError::from_yaml(&error, file))
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

fn read_inside(workspace: &Path, path: &str, trust: &Trust) -> Result<Option<TrustedFile>, ConfigError> {
    let commit = match trust {
        Trust::Checkout => {
            return match fs::read_to_string(workspace.join(path)) {
                Ok(text) => Ok(Some(TrustedFile { text, path: path.to_owned(), commit: None })),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(unreadable(Path::new(path), &error)),
            };
        }
        Trust::Base(commit) => commit,
    };
    let unavailable = |error: String| ConfigError::BaseUnavailable { commit: commit.clone(), error };
    let git = Git::new(workspace);
    if !git.has_commit(commit) {
        git.fetch(commit).map_err(|error| unavailable(error.to_string()))?;
    }
    let bytes = git.show(commit, path).map_err(|error| unavailable(error.to_string()))?;
    Ok(bytes.map(|bytes| TrustedFile {
        text: String::from_utf8_lossy(&bytes).into_owned(),
        path: path.to_owned(),
        commit: Some(commit.clone()),
    }))
}

fn origin(file: TrustedFile) -> Result<Origin, ConfigError> {
    Ok(Origin { config: parse(&file.text, &file.shown())?, file: Some(file.path), commit: file.commit })
}

fn unreadable(path: &Path, error: &io::Error) -> ConfigError {
    ConfigError::Unreadable { path: path.display().to_string(), error: error.to_string() }
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
