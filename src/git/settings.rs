//! Repository configuration, read as data: nothing in it is ever followed or run.

use std::io;
use std::path::{Path, PathBuf};

use super::GitError;
use super::settings_text::{Setting, parse};
use crate::base::fs::read_at_most;

/// Maximum size of a configuration file, in bytes.
const MAX_SIZE: u64 = 4 * 1024 * 1024;

/// Maximum depth of files that include others, as in Git.
const MAX_DEPTH: usize = 10;

/// Maximum number of files that are read, however often they include each other.
const MAX_FILES: usize = 100;

/// Settings in the order in which Git reads them: those of an included file stand where it is included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    all: Vec<(Standing, Setting)>,
    /// Files that are included, under whatever condition, whether they exist or not.
    included: Vec<PathBuf>,
}

/// When a setting has an effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Always; it stands in the repository's own `config`.
    Own,
    /// Always; it stands in a file that is read together with that one.
    Joined,
    /// Perhaps: it is included under a condition, which is not judged here.
    Conditional,
}

/// Files that are being read: how many there were, and those that lead to the current one.
#[derive(Default)]
struct Reading {
    count: usize,
    chain: Vec<PathBuf>,
}

impl Settings {
    /// Reads the configuration of a repository, that of its worktree, and the files that these include. `common` is the
    /// folder of the former, `git_dir` that of the latter. A file need not exist; one that cannot be read could name what
    /// has to be protected, so it is an error.
    pub(super) fn read(common: &Path, git_dir: &Path) -> Result<Self, GitError> {
        let mut settings = Self::default();
        let mut reading = Reading::default();
        settings.add(&common.join("config"), Standing::Own, &mut reading)?;
        if settings.own("extensions", "worktreeconfig").is_some_and(is_true) {
            settings.add(&git_dir.join("config.worktree"), Standing::Joined, &mut reading)?;
        }
        Ok(settings)
    }

    fn add(&mut self, file: &Path, standing: Standing, reading: &mut Reading) -> Result<(), GitError> {
        // Git refuses files that include each other, if it reads them at all.
        if reading.chain.len() > MAX_DEPTH || reading.chain.iter().any(|above| above == file) {
            return Ok(());
        }
        let broken = |problem: String| GitError::Settings { file: file.to_owned(), problem };
        reading.count += 1;
        if reading.count > MAX_FILES {
            return Err(broken(format!("it is one of more than {MAX_FILES} included files")));
        }
        let Some(bytes) = contents(file).map_err(|error| broken(error.to_string()))? else { return Ok(()) };
        let found = parse(&bytes)
            .map_err(|error| broken(format!("line {} is not a valid Git setting", error.line_number())))?;
        reading.chain.push(file.to_owned());
        for setting in found {
            let below = match setting.key.as_str() {
                "path" if setting.section == "include" && standing == Standing::Own => Some(Standing::Joined),
                "path" if setting.section == "include" => Some(standing),
                "path" if setting.is_in("includeif") => Some(Standing::Conditional),
                _ => None,
            };
            let path = below.and_then(|_| expanded(&setting.value)).map(|path| beside(file, &path));
            self.all.push((standing, setting));
            if let Some((below, path)) = below.zip(path) {
                if !self.included.contains(&path) {
                    self.included.push(path.clone());
                }
                self.add(&path, below, reading)?;
            }
        }
        reading.chain.pop();
        Ok(())
    }

    /// Returns the files that the settings include, under whatever condition, whether they exist or not.
    pub(super) fn included(&self) -> &[PathBuf] {
        &self.included
    }

    /// Returns all settings, whether they have an effect or not.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &Setting> {
        self.all.iter().map(|(_, setting)| setting)
    }

    /// Returns all values of a key, in whatever section.
    pub fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |setting| setting.key == key).map(|setting| setting.value.as_str())
    }

    /// Returns the effective value of a key, which is the last one that has an effect whatever the conditions.
    pub(super) fn last(&self, section: &str, key: &str) -> Option<&str> {
        self.last_of(section, key, |standing| standing != Standing::Conditional)
    }

    /// Returns the value of a key that Git reads from the repository's own `config` alone.
    pub(super) fn own(&self, section: &str, key: &str) -> Option<&str> {
        self.last_of(section, key, |standing| standing == Standing::Own)
    }

    fn last_of(&self, section: &str, key: &str, counts: impl Fn(Standing) -> bool) -> Option<&str> {
        let is_it = |(standing, setting): &&(Standing, Setting)| {
            setting.section == section && setting.key == key && counts(*standing)
        };
        self.all.iter().rev().find(is_it).map(|(_, setting)| setting.value.as_str())
    }

    /// Returns the URL of the remote `origin`.
    pub fn origin(&self) -> Option<&str> {
        self.last("remote.origin", "url")
    }
}

/// Returns the path that a value stands for: `~/` and `~user/` are home folders. Returns `None` if there is no such folder.
pub(super) fn expanded(value: &str) -> Option<PathBuf> {
    let home = std::env::home_dir();
    let context = gix_config::path::interpolate::Context { home_dir: home.as_deref(), ..Default::default() };
    gix_config::Path::from(value).interpolate(context).ok()
}

/// Returns a path that a file names.
fn beside(file: &Path, path: &Path) -> PathBuf {
    file.parent().unwrap_or(file).join(path)
}

/// Returns whether Git takes a value for `true`.
fn is_true(value: &str) -> bool {
    !["", "false", "no", "off", "0"].contains(&value.to_ascii_lowercase().as_str())
}

/// Reads a regular file of at most [`MAX_SIZE`]; reading a device or a pipe might never end. Returns `None` if there is none.
fn contents(path: &Path) -> io::Result<Option<Vec<u8>>> {
    let is_missing =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match std::fs::metadata(path) {
        Ok(metadata) if !metadata.is_file() => Err(io::Error::other("it is not a file")),
        Ok(_) => read_at_most(std::fs::File::open(path)?, MAX_SIZE).map(Some),
        Err(error) if is_missing(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Reads the settings of a repository at `git` that has these files beside it.
    fn settings(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Result<Settings, GitError>) {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("git")).expect("a folder");
        for (name, text) in files {
            fs::write(dir.path().join(name), text).expect("a file");
        }
        let settings = Settings::read(&dir.path().join("git"), &dir.path().join("git"));
        (dir, settings)
    }

    #[test]
    fn included_files_are_known_however_deep() {
        let (dir, settings) = settings(&[
            ("git/config", b"[include]\n\tpath = ../a\n[extensions]\n\tworktreeConfig\n"),
            ("git/config.worktree", b"[includeIf \"onbranch:main\"]\n\tpath = missing\n"),
            ("a", b"[include]\n\tpath = b\n"),
            ("b", b"[include]\n\tpath = a\n[core]\n\thooksPath = h\n"),
        ]);
        let settings = settings.expect("settings");
        assert_eq!(settings.last("core", "hookspath"), Some("h"));
        let names = ["git/../a", "git/../b", "git/../a", "git/missing"].map(|name| dir.path().join(name));
        let known: Vec<_> = settings.included().iter().collect();
        assert!(names.iter().all(|name| known.contains(&name)), "{known:?}");
    }

    #[test]
    fn included_settings_have_effect_where_git_gives_them_one() {
        let (_dir, settings) = settings(&[
            (
                "git/config",
                b"[core]\n\teol = lf\n\tsymlinks = true\n[include]\n\tpath = ../shared\n[core]\n\tautocrlf = false\n\
                  [includeIf \"gitdir:/elsewhere\"]\n\tpath = ../other\n",
            ),
            (
                "shared",
                b"[core]\n\tautocrlf = true\n\teol = crlf\n[extensions]\n\trefStorage = x\n\tworktreeConfig\n",
            ),
            ("other", b"[core]\n\tsymlinks = false\n[include]\n\tpath = below\n"),
            ("below", b"[core]\n\teol = native\n\thooksPath = .husky\n"),
            ("git/config.worktree", b"[core]\n\tautocrlf = input\n"),
        ]);
        let settings = settings.expect("settings");
        for (key, value) in [("autocrlf", "false"), ("eol", "crlf"), ("symlinks", "true")] {
            assert_eq!(settings.last("core", key), Some(value), "{key}");
        }
        assert_eq!(settings.own("extensions", "refstorage"), None);
        // What has an effect under a condition is hidden and protected all the same.
        assert_eq!(settings.values("hookspath").collect::<Vec<_>>(), [".husky"]);
        assert_eq!(settings.values("autocrlf").collect::<Vec<_>>(), ["true", "false"]);
    }

    #[test]
    fn settings_beside_what_is_no_text_count() {
        let header = b"[user]\n\tname = J\xf6rg\n[http]\n\textraheader = AUTHORIZATION: basic eA==\n";
        let (_dir, settings) = settings(&[("git/config", header)]);
        let settings = settings.expect("settings");
        assert_eq!(settings.values("extraheader").collect::<Vec<_>>(), ["AUTHORIZATION: basic eA=="]);
    }

    #[test]
    fn files_that_cannot_be_read_are_named() {
        let large = vec![b'\n'; 5_000_000];
        let many = "[include]\n\tpath = ../a\n".repeat(MAX_FILES);
        for (files, expected) in [
            (
                &[("git/config", &b"[core]\n\tbare = false\n<<<<<<<\n"[..])][..],
                "git/config: line 3 is not a valid Git setting",
            ),
            (&[("git/config", &large)], "git/config: it has more than"),
            (&[("git/config", b"[include]\n\tpath = ../a\n"), ("a", b"[x")], "git/../a: line 1 is"),
            (&[("git/config", b"[includeIf \"x\"]\n\tpath = .\n")], "it is not a file"),
            (&[("git/config", many.as_bytes()), ("a", b"")], "more than 100"),
        ] {
            let (_dir, settings) = settings(files);
            let error = settings.expect_err(expected).to_string();
            assert!(error.contains(expected) && error.contains("repair"), "{error}");
        }
        let (_dir, none) = settings(&[]);
        assert_eq!(none.expect("settings"), Settings::default());
    }

    #[test]
    fn home_folders_are_expanded() {
        let home = std::env::home_dir().expect("a home folder");
        assert_eq!(expanded("~/hooks"), Some(home.join("hooks")));
        assert_eq!(expanded(".husky"), Some(PathBuf::from(".husky")));
        assert_eq!(expanded("~no-such-user/hooks"), None);
    }
}
