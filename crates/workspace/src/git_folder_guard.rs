//! Guard of the Git folder: restores the files in it that would run or redirect something later, namely
//! configuration and hooks. A command that changes them would leave something behind for whoever uses Git
//! next.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::snapshot::{FileStamp, stamp};

/// Guarded files in a Git folder, besides its hooks.
const FILES: [&str; 4] = ["config", "config.worktree", "info/attributes", "commondir"];

/// How the names of the folders begin in which journals of applies lie.
pub const APPLY_FOLDER: &str = "architect-ci-apply";

/// The journal in such a folder. If somebody could write one, the next run would change files by it.
pub const APPLY_JOURNAL: &str = "journal.json";

/// Levels below `modules` at which submodules are looked for.
const MODULE_DEPTH: usize = 4;

/// The guarded files as they were.
#[derive(Debug)]
pub struct GitFolder {
    folders: Vec<PathBuf>,
    files: BTreeMap<PathBuf, File>,
    /// Everything that was restored so far.
    restored: Mutex<Vec<Restored>>,
}

/// A file that differed from its recorded state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The path of the file.
    pub path: PathBuf,
    /// The command after which the difference was found.
    pub after: String,
    /// Whether the file could be restored.
    pub back: bool,
}

#[derive(Debug)]
pub(crate) struct File {
    pub(super) content: Content,
    stamp: FileStamp,
}

#[derive(Debug)]
pub(crate) enum Content {
    Bytes(Vec<u8>, fs::Permissions),
    Link(PathBuf),
}

impl GitFolder {
    /// Records the guarded files of the repository around `root`; `None` outside of a repository.
    pub fn remember(root: &Path) -> Option<Self> {
        let git = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
        let mut folders = vec![folder_of(&git)?.canonicalize().ok()?];
        // A worktree shares configuration and hooks with its repository.
        if let Ok(common) = fs::read_to_string(folders[0].join("commondir")) {
            folders.extend(folders[0].join(common.trim()).canonicalize());
        }
        for folder in folders.clone() {
            modules(&folder.join("modules"), MODULE_DEPTH, &mut folders);
        }
        let mut files = BTreeMap::new();
        // The file through which a worktree or submodule finds its folder.
        let pointer = git.is_file().then(|| git.clone());
        for path in list(&folders).into_iter().chain(pointer) {
            if let Ok(file) = read(&path) {
                files.insert(path, file);
            }
        }
        Some(Self { folders, files, restored: Mutex::default() })
    }

    /// Restores the files that differ, removes those that are new, and returns all of them.
    pub fn restore(&self, after: &str) -> Vec<Restored> {
        let mut restored = Vec::new();
        let mut note = |path: &Path, back: bool| {
            restored.push(Restored { path: path.to_owned(), after: after.to_owned(), back });
        };
        for folder in &self.folders {
            // Nothing is written to a folder whose path now leads elsewhere.
            if folder.canonicalize().ok().as_ref() != Some(folder) {
                note(folder, false);
            }
        }
        let is_ours = |path: &Path| {
            let folder = self.folders.iter().find(|folder| path.starts_with(folder));
            folder.is_none_or(|folder| folder.canonicalize().ok().as_ref() == Some(folder))
        };
        for path in list(&self.folders).iter().filter(|path| is_ours(path) && !self.files.contains_key(*path))
        {
            note(path, remove(path).is_ok());
        }
        for (path, file) in self.files.iter().filter(|(path, _)| is_ours(path)) {
            let untouched = fs::symlink_metadata(path).is_ok_and(|metadata| stamp(&metadata) == file.stamp);
            if !untouched && !read(path).is_ok_and(|now| same(&now.content, &file.content)) {
                note(path, write(path, &file.content).is_ok());
            }
        }
        let mut all = self.restored.lock().unwrap_or_else(PoisonError::into_inner);
        all.extend(restored.iter().cloned());
        restored
    }

    /// Returns everything that was restored so far.
    pub fn restored(&self) -> Vec<Restored> {
        self.restored.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Returns the folder itself, or the one that the `.git` file of a worktree names.
fn folder_of(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let text = fs::read_to_string(git).ok()?;
    Some(git.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}

/// Collects the Git folders of submodules.
fn modules(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.join("HEAD").exists() {
            found.push(path.clone());
            modules(&path.join("modules"), depth, found);
        } else if depth > 0 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            modules(&path, depth - 1, found);
        }
    }
}

/// Lists the guarded files that exist.
fn list(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in folders {
        files.extend(FILES.map(|name| folder.join(name)));
        let is_journals =
            |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(APPLY_FOLDER);
        let journals = fs::read_dir(folder).into_iter().flatten().flatten().filter(is_journals);
        files.extend(journals.map(|entry| entry.path().join(APPLY_JOURNAL)));
        let hooks = folder.join("hooks");
        if fs::symlink_metadata(&hooks).is_ok_and(|metadata| !metadata.is_dir()) {
            // A link, whose target is elsewhere.
            files.push(hooks);
            continue;
        }
        files.extend(fs::read_dir(hooks).into_iter().flatten().flatten().map(|entry| entry.path()));
    }
    files.retain(|path| fs::symlink_metadata(path).is_ok());
    files
}

pub(crate) fn read(path: &Path) -> io::Result<File> {
    let metadata = fs::symlink_metadata(path)?;
    let content = if metadata.is_symlink() {
        Content::Link(fs::read_link(path)?)
    } else if metadata.is_file() {
        Content::Bytes(fs::read(path)?, metadata.permissions())
    } else {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    };
    Ok(File { content, stamp: stamp(&metadata) })
}

pub(crate) fn same(now: &Content, before: &Content) -> bool {
    match (now, before) {
        (Content::Bytes(now, mode), Content::Bytes(before, was)) => now == before && mode == was,
        (Content::Link(now), Content::Link(before)) => now == before,
        _ => false,
    }
}

pub(crate) fn remove(path: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(path)?;
    if metadata.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Removes what is at a path, if anything does.
fn clear(path: &Path) -> io::Result<()> {
    match remove(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Writes a file or a link, not through a link that may be there now, and not into a file with another name (a hard link).
/// What is there goes only when its replacement is complete.
pub(crate) fn write(path: &Path, content: &Content) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    if !fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_dir()) {
        let _ = fs::remove_file(folder);
        fs::create_dir_all(folder)?;
    }
    match content {
        Content::Bytes(bytes, permissions) => {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(bytes)?;
            file.as_file().set_permissions(permissions.clone())?;
            clear(path)?;
            file.persist(path)?;
            Ok(())
        }
        Content::Link(target) => {
            clear(path)?;
            crate::copy::link(target, path)
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn configuration_and_hooks_are_put_back() {
        let dir = tempfile::tempdir().expect("a folder");
        let git = dir.path().join(".git");
        let at = |name: &str| git.join(name);
        for folder in ["hooks", "info", "modules/sub/hooks"] {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        for (name, text) in [
            ("config", "[core]\n"),
            ("hooks/commit-msg", "#!/bin/sh\n"),
            ("modules/sub/HEAD", "x"),
            ("modules/sub/config", ""),
        ] {
            fs::write(at(name), text).expect("a file");
        }
        fs::create_dir(dir.path().join("app")).expect("a folder");
        let folder = GitFolder::remember(&dir.path().join("app")).expect("a repository");
        assert_eq!(folder.restore("ls"), []);
        fs::write(at("config"), "[core]\nfsmonitor = evil\n").expect("a file");
        fs::write(at("hooks/pre-commit"), "evil").expect("a file");
        fs::write(at("modules/sub/hooks/pre-push"), "evil").expect("a file");
        fs::remove_file(at("hooks/commit-msg")).expect("removed");
        std::os::unix::fs::symlink("/etc/passwd", at("hooks/commit-msg")).expect("a link");
        fs::write(at("index"), "of no interest").expect("a file");
        assert_eq!(folder.restore("make").len(), 4);
        assert_eq!(fs::read_to_string(at("config")).expect("a file"), "[core]\n");
        assert_eq!(fs::read_to_string(at("hooks/commit-msg")).expect("a file"), "#!/bin/sh\n");
        assert!(!at("hooks/pre-commit").exists() && !at("modules/sub/hooks/pre-push").exists());
        // The hooks folder became a link, whose target must not be touched.
        let elsewhere = tempfile::tempdir().expect("a folder");
        fs::write(elsewhere.path().join("mine"), "").expect("a file");
        fs::rename(at("hooks"), at("away")).expect("moved");
        std::os::unix::fs::symlink(elsewhere.path(), at("hooks")).expect("a link");
        folder.restore("make");
        assert_eq!(fs::read_to_string(at("hooks/commit-msg")).expect("a file"), "#!/bin/sh\n");
        assert_eq!(folder.restore("ls"), []);
        assert!(folder.restored().iter().all(|restored| restored.after == "make" && restored.back));
        // The whole Git folder became a link.
        fs::rename(&git, dir.path().join("gone")).expect("moved");
        fs::create_dir(elsewhere.path().join("hooks")).expect("a folder");
        fs::write(elsewhere.path().join("hooks/mine"), "").expect("a file");
        std::os::unix::fs::symlink(elsewhere.path(), &git).expect("a link");
        assert!(folder.restore("mv").iter().all(|restored| !restored.back));
        assert!(elsewhere.path().join("hooks/mine").exists() && elsewhere.path().join("mine").exists());
    }
}
