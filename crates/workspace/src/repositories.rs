//! The repositories of a checkout: Git's own folders, wherever they are in it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::{SensitiveFiles, WorkspacePath, threads};

/// Number of threads that look at a checkout.
const THREADS: usize = 4;

/// What a walk over the checkout has found.
#[derive(Debug, Default)]
pub struct CheckoutEntries {
    /// Files that are not there for commands, those that Git ignores too.
    pub sensitive: Vec<WorkspacePath>,
    /// `.git` entries below the checkout's own, relative to the checkout.
    pub nested: Vec<PathBuf>,
    /// Sockets of daemons, relative to the checkout.
    pub sockets: Vec<PathBuf>,
}

/// Looks at every file of the checkout once, but for what Git's own folders hold.
pub fn find(root: &Path, sensitive: &SensitiveFiles) -> CheckoutEntries {
    let found = Mutex::new(CheckoutEntries::default());
    let visit = |entry: Result<DirEntry, ignore::Error>| {
        let Ok(entry) = entry else { return WalkState::Continue };
        let Ok(relative) = entry.path().strip_prefix(root) else { return WalkState::Continue };
        let note = |add: &dyn Fn(&mut CheckoutEntries)| {
            add(&mut found.lock().unwrap_or_else(PoisonError::into_inner));
        };
        // A walk that is not parallel cannot skip a folder.
        if relative.parent().is_some_and(|above| above.iter().any(|name| name == ".git")) {
            return WalkState::Continue;
        }
        if entry.depth() > 0 && entry.file_name() == ".git" {
            if entry.depth() > 1 {
                note(&|found| found.nested.push(relative.to_owned()));
            }
            return WalkState::Skip;
        }
        if entry.file_type().is_some_and(is_socket) {
            note(&|found| found.sockets.push(relative.to_owned()));
            return WalkState::Continue;
        }
        let is_file = entry.depth() > 0 && entry.file_type().is_some_and(|kind| !kind.is_dir());
        let path = relative.to_str().filter(|_| is_file && !sensitive.is_empty());
        if let Some(Ok(path)) = path.map(WorkspacePath::parse)
            && sensitive.hides(&path)
        {
            note(&|found| found.sensitive.push(path.clone()));
        }
        WalkState::Continue
    };
    let mut walk = WalkBuilder::new(root);
    walk.standard_filters(false).threads(THREADS);
    if threads::are_available(THREADS) {
        walk.build_parallel().run(|| Box::new(visit));
    } else {
        for entry in walk.build() {
            visit(entry);
        }
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sensitive.extend(other_names(root, &found.sensitive));
    found
}

/// Lists the other names (hard links) of files, which are looked for only if there are any.
#[cfg(unix)]
fn other_names(root: &Path, files: &[WorkspacePath]) -> Vec<WorkspacePath> {
    use std::collections::BTreeSet;
    use std::os::unix::fs::MetadataExt;
    let known = files.iter().filter_map(|path| fs::symlink_metadata(root.join(path.as_str())).ok());
    let known = known.filter(|metadata| metadata.is_file() && metadata.nlink() > 1);
    let known: BTreeSet<(u64, u64)> = known.map(|metadata| (metadata.dev(), metadata.ino())).collect();
    if known.is_empty() {
        return Vec::new();
    }
    let is_other = |entry: &DirEntry| entry.depth() == 0 || entry.file_name() != ".git";
    let walk = WalkBuilder::new(root).standard_filters(false).filter_entry(is_other).build();
    let is_known = |entry: &DirEntry| {
        entry.metadata().is_ok_and(|metadata| known.contains(&(metadata.dev(), metadata.ino())))
    };
    let path = |entry: DirEntry| {
        let relative = entry.path().strip_prefix(root).ok()?.to_str()?;
        WorkspacePath::parse(relative).ok().filter(|path| !files.contains(path))
    };
    walk.flatten().filter(is_known).filter_map(path).collect()
}

/// Returns nothing: whether files are the same is not known there.
#[cfg(not(unix))]
fn other_names(_: &Path, _: &[WorkspacePath]) -> Vec<WorkspacePath> {
    Vec::new()
}

/// Returns whether an entry is a socket, which a daemon may listen at.
#[cfg(unix)]
pub fn is_socket(kind: fs::FileType) -> bool {
    use std::os::unix::fs::FileTypeExt;
    kind.is_socket()
}

/// Returns `false`: other systems have no sockets with a path.
#[cfg(not(unix))]
pub fn is_socket(_: fs::FileType) -> bool {
    false
}

/// Lists Git's own folder with those of submodules and worktrees in it.
pub fn folders(git: &Path) -> Vec<PathBuf> {
    let mut folders = stores(git);
    for store in folders.clone() {
        folders.extend(
            fs::read_dir(store.join("worktrees")).into_iter().flatten().flatten().map(|entry| entry.path()),
        );
    }
    folders
}

/// Lists Git's own folder with those of submodules in it, also where these have submodules: each has its own objects.
pub fn stores(git: &Path) -> Vec<PathBuf> {
    let modules =
        WalkBuilder::new(git.join("modules")).standard_filters(false).filter_entry(may_lead_on).build();
    let is_store = |entry: &DirEntry| entry.path().join("HEAD").is_file();
    let modules = modules.flatten().filter(is_store).map(DirEntry::into_path);
    std::iter::once(git.to_owned()).chain(modules).collect()
}

/// Whether the folder of a submodule may be below: its name may have several parts, and of a repository only
/// `modules` holds others.
fn may_lead_on(entry: &DirEntry) -> bool {
    let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
    let is_in_store = entry.path().parent().is_some_and(|above| above.join("HEAD").is_file());
    is_folder && (!is_in_store || entry.file_name() == OsStr::new("modules"))
}
