//! Version managers such as mise, asdf or rustup: a program that `PATH` leads to may be one of them in truth, and then runs what
//! settings say in the folder that it starts in, or above.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use workspace::ProgramFiles;

use super::program_comparison::{Comparison, below, is_script_name};
use super::program_starts::content_of;
use super::program_words::{ProgramWords, words_of_text};
use super::programs::Programs;
use super::refusal::ProgramRefusal;

/// Names of version managers; their programs may have more behind a dash, such as `volta-shim`.
const MANAGERS: [&str; 25] = [
    "aqua", "asdf", "direnv", "elan", "fnm", "goenv", "hermit", "jenv", "luaenv", "mise", "nodenv", "nodist",
    "nvm", "phpenv", "plenv", "proto", "pyenv", "rbenv", "rtx", "rustup", "swiftenv", "tenv", "tfenv",
    "vfox", "volta",
];

/// Folders of programs that a version manager has made.
const SHIMS: [&str; 3] = ["shims", ".volta", ".proto"];

/// Settings that version managers obey, by whatever name of theirs.
const SETTINGS: &[&str] = &[
    ".aqua.yaml",
    ".config/mise",
    ".config/mise.local.toml",
    ".config/mise.toml",
    ".envrc",
    ".go-version",
    ".java-version",
    ".lua-version",
    ".mise",
    ".mise.local.toml",
    ".mise.toml",
    ".miserc.toml",
    ".node-version",
    ".nvmrc",
    ".opentofu-version",
    ".perl-version",
    ".php-version",
    ".prototools",
    ".python-version",
    ".python-versions",
    ".rtx.toml",
    ".ruby-version",
    ".sdkmanrc",
    ".swift-version",
    ".terraform-version",
    ".tool-versions",
    ".vfox.toml",
    "aqua.yaml",
    "lean-toolchain",
    "mise",
    "mise.local.toml",
    "mise.toml",
    "rust-toolchain",
    "rust-toolchain.toml",
];

/// Most bytes of a script that are looked at for a manager, which it calls in its first lines.
const FIRST_LINES: u64 = 1024;

/// Most links that are followed one after another.
const MAX_LINKS: usize = 20;

impl Programs<'_> {
    /// Checks the settings of version managers, and the scripts that these name, where one of the programs may be such a manager.
    pub(super) fn check_versions(
        &self,
        words: &ProgramWords,
        folders: &BTreeSet<PathBuf>,
        comparison: &Comparison<'_>,
    ) -> Result<(), ProgramRefusal> {
        if !self.is_managed(words, folders) {
            return Ok(());
        }
        for folder in self.with_folders_above(words, folders) {
            let base = folder.strip_prefix(comparison.root).ok().and_then(below).unwrap_or_default();
            let committed =
                comparison.repository.map(|repository| repository.entries_at(comparison.commit, &base));
            let committed =
                committed.and_then(Result::ok).unwrap_or_default().into_iter().map(|(name, _)| name);
            let present = fs::read_dir(&folder).into_iter().flatten().flatten();
            let present = present.filter_map(|entry| entry.file_name().into_string().ok());
            let names: BTreeSet<String> =
                committed.chain(present).filter(|name| is_of_environment(name)).collect();
            let names = names.iter().map(String::as_str).chain(SETTINGS.iter().copied());
            for path in self.paths(&BTreeSet::from([folder.clone()]), names) {
                comparison.check(&path)?;
                let full = comparison.root.join(&path);
                if full.is_dir() {
                    comparison.check_program(&path)?;
                    continue;
                }
                let text = String::from_utf8_lossy(&content_of(&full)).into_owned();
                let named = words_of_text(&text);
                // asdf runs what is in a folder that is named so.
                let is_every = text.contains("path:");
                let is_loaded = |named: &String| is_every || is_script_name(named) || is_environment(named);
                for path in self.paths(&BTreeSet::from([folder.clone()]), named.iter().map(String::as_str)) {
                    if is_loaded(&path) && fs::symlink_metadata(comparison.root.join(&path)).is_ok() {
                        comparison.check_loaded(&path)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds the settings of version managers where one of the programs may be such a manager.
    pub(super) fn add_versions(
        &self,
        words: &ProgramWords,
        folders: &BTreeSet<PathBuf>,
        started: &mut ProgramFiles,
    ) {
        if !self.is_managed(words, folders) {
            return;
        }
        for folder in self.with_folders_above(words, folders) {
            let full = SETTINGS.iter().map(|name| folder.join(name));
            full.filter_map(|full| self.path_of(&full)).for_each(|path| started.add_tree(&path));
        }
    }

    /// Returns whether a program that is named, or that one of the scripts names, may be a version manager.
    fn is_managed(&self, words: &ProgramWords, folders: &BTreeSet<PathBuf>) -> bool {
        let path = self.variables.get("PATH").map(String::as_str).unwrap_or_default();
        let path: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
        let leads_to_manager = |name: &String| {
            let found = path.iter().map(|folder| folder.join(name)).find(|full| full.is_file());
            found.is_some_and(|full| is_manager(&full))
        };
        if words.plain.iter().any(|name| is_manager_name(name) || leads_to_manager(name)) {
            return true;
        }
        let has_manager =
            |folder: &PathBuf| is_of_shims(folder) || MANAGERS.iter().any(|name| folder.join(name).is_file());
        if !path.iter().any(has_manager) {
            return false;
        }
        let entries = path.iter().flat_map(|folder| fs::read_dir(folder).into_iter().flatten().flatten());
        let known: BTreeSet<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        let scripts = self.existing_programs(words, folders).into_iter().filter(|full| full.is_file());
        let tasks =
            folders.iter().flat_map(|folder| words.task_files.iter().map(move |name| folder.join(name)));
        scripts.chain(tasks).any(|script| {
            let named = words_of_text(&String::from_utf8_lossy(&content_of(&script)));
            named.intersection(&known).any(leads_to_manager)
        })
    }
}

/// Returns whether a name is that of settings of mise for an environment.
fn is_of_environment(name: &str) -> bool {
    let of_mise = name.strip_prefix('.').unwrap_or(name).starts_with("mise.");
    of_mise && Path::new(name).extension().is_some_and(|ending| ending == "toml")
}

/// Returns whether a path is that of a file with variables.
fn is_environment(path: &str) -> bool {
    path.rsplit('/').next().unwrap_or(path).starts_with(".env")
}

fn is_manager_name(name: &str) -> bool {
    let mut rest = MANAGERS.iter().filter_map(|manager| name.strip_prefix(manager));
    rest.any(|rest| rest.is_empty() || rest.starts_with(['-', '.']))
}

fn is_of_shims(folder: &Path) -> bool {
    folder.components().any(|name| SHIMS.iter().any(|shims| name.as_os_str() == *shims))
}

/// Returns whether a program is a version manager, or starts one: by the names of what it links to, by being the same file as
/// one, or by the first lines of a script.
fn is_manager(program: &Path) -> bool {
    let mut full = program.to_owned();
    for _ in 0..MAX_LINKS {
        let folder = full.parent().unwrap_or(Path::new("/"));
        let has_name = full.file_name().and_then(|name| name.to_str()).is_some_and(is_manager_name);
        if has_name || is_of_shims(folder) {
            return true;
        }
        match fs::read_link(&full) {
            Ok(target) => full = crate::trust::normalize(&folder.join(target)),
            Err(_) => break,
        }
    }
    is_same_as_manager(&full) || calls_manager(&full)
}

/// Returns whether a manager next to a program is the same file, as rustup makes its proxies.
#[cfg(unix)]
fn is_same_as_manager(program: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |full: &Path| fs::metadata(full).ok().map(|found| (found.dev(), found.ino()));
    let own = identity(program);
    own.is_some() && MANAGERS.iter().any(|name| identity(&program.with_file_name(name)) == own)
}

#[cfg(not(unix))]
fn is_same_as_manager(program: &Path) -> bool {
    MANAGERS.iter().any(|name| program.with_file_name(name).with_extension("exe").is_file())
}

fn calls_manager(program: &Path) -> bool {
    let mut start = Vec::new();
    let read = fs::File::open(program).and_then(|file| file.take(FIRST_LINES).read_to_end(&mut start));
    if read.is_err() || !start.starts_with(b"#!") {
        return false;
    }
    let text = String::from_utf8_lossy(&start);
    text.split(|c: char| !c.is_alphanumeric() && !"_-".contains(c)).any(is_manager_name)
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn managers_are_known_by_links_files_and_scripts() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        for folder in ["shims", "bin", "tools"] {
            fs::create_dir(at(folder)).expect("a folder");
        }
        for (name, text) in [
            ("tools/mise-linux-x64", "\x7fELF"),
            ("bin/rustup", "\x7fELF rustup"),
            ("bin/ruby", "#!/usr/bin/env bash\nexec \"/home/me/.rbenv/libexec/rbenv\" exec \"$@\"\n"),
            ("bin/plain", "#!/bin/sh\necho promise\n"),
            ("bin/real", "\x7fELF"),
            ("shims/python3", "\x7fELF"),
        ] {
            fs::write(at(name), text).expect("a file");
        }
        symlink("../tools/mise-linux-x64", at("bin/python3")).expect("a link");
        symlink("python3", at("bin/python")).expect("a link");
        symlink("real", at("bin/node")).expect("a link");
        fs::hard_link(at("bin/rustup"), at("bin/cargo")).expect("a link");
        for name in ["bin/python3", "bin/python", "bin/cargo", "bin/ruby", "shims/python3"] {
            assert!(is_manager(&at(name)), "{name}");
        }
        for name in ["bin/plain", "bin/real", "bin/node", "bin/none"] {
            assert!(!is_manager(&at(name)), "{name}");
        }
    }

    #[test]
    fn settings_for_environments_are_known() {
        assert!(["mise.ci.toml", ".mise.ci.local.toml"].into_iter().all(is_of_environment));
        assert!(!["mise.lock", "promise.toml", "mise.md"].into_iter().any(is_of_environment));
    }
}
