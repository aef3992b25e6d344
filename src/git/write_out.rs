//! Writing of a commit's files to a folder, from verified objects alone: no filter, attribute or setting has a say.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use gix_hash::ObjectId;
use gix_object::Kind;

use super::objects::{Places, Verified};
use super::{GitError, Repository, TreeEntry, TreeKind};

/// Maximum number of files, links and folders that are written.
const MAX_ENTRIES: usize = 500_000;

/// Maximum size of what is written, in bytes.
const MAX_BYTES: u64 = 4 << 30;

/// Maximum number of threads that write.
const MAX_THREADS: usize = 4;

/// Reason why the files of a commit were not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteOutError {
    /// Objects that could not be read.
    #[error(transparent)]
    Git(#[from] GitError),
    /// A file, link or folder that could not be written.
    #[error("could not write `{}`: {error}", .path.display())]
    Write {
        /// Where it should be.
        path: PathBuf,
        /// The reason.
        #[source]
        error: io::Error,
    },
    /// A commit with too many files.
    #[error("it has more than {MAX_ENTRIES} files, which is more than this program writes")]
    Entries,
    /// A commit with too much in its files.
    #[error("its files have more than {MAX_BYTES} bytes, which is more than this program writes")]
    Bytes,
}

/// Files and links of a commit, with their paths below the folder that they are written to.
#[derive(Default)]
struct Listing {
    files: Vec<(PathBuf, TreeEntry)>,
    links: Vec<(PathBuf, ObjectId)>,
    folders: Vec<PathBuf>,
}

impl Repository {
    /// Writes the files of a commit to an empty folder: files with their contents and modes, but nobody may write to them, and
    /// links that stay inside. A submodule is an empty folder. Names that are not UTF-8 are left out, and so are links that
    /// lead outside.
    ///
    /// # Errors
    ///
    /// [`WriteOutError::Git`] where objects are missing or corrupt; the folder then holds only some of the files, as it does
    /// for every other error.
    pub fn write_files(&self, commit: &str, to: &Path) -> Result<(), WriteOutError> {
        let listing = self.listing(commit)?;
        let failed = |path: &Path, error| WriteOutError::Write { path: path.to_owned(), error };
        for folder in &listing.folders {
            let folder = to.join(folder);
            fs::create_dir(&folder).map_err(|error| failed(&folder, error))?;
        }
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS);
        let part = listing.files.len().div_ceil(threads).max(1);
        let written = AtomicU64::new(0);
        std::thread::scope(|scope| {
            let started: Vec<_> = (listing.files.chunks(part))
                .map(|files| {
                    let write = || self.write_some(files, to, &written);
                    (files, std::thread::Builder::new().spawn_scoped(scope, write))
                })
                .collect();
            let panicked = |_| Err(failed(to, io::Error::other("a thread panicked")));
            started.into_iter().try_for_each(|(files, thread)| match thread {
                Ok(thread) => thread.join().unwrap_or_else(panicked),
                // Where no thread can be had, this one does the work.
                Err(_) => self.write_some(files, to, &written),
            })
        })?;
        // Links come last, so that nothing is written through one.
        for (path, id) in &listing.links {
            let target = self.object(id, Kind::Blob)?;
            let Ok(target) = String::from_utf8(target) else { continue };
            if stays_inside(path, Path::new(&target)) {
                let link = to.join(path);
                symlink(&target, &link).map_err(|error| failed(&link, error))?;
            }
        }
        Ok(())
    }

    fn write_some(
        &self,
        files: &[(PathBuf, TreeEntry)],
        to: &Path,
        written: &AtomicU64,
    ) -> Result<(), WriteOutError> {
        let objects = Verified(self.store()?);
        for (path, entry) in files {
            let content = objects.read(&entry.id, Kind::Blob)?;
            let size = content.len() as u64;
            if written.fetch_add(size, Ordering::Relaxed) + size > MAX_BYTES {
                return Err(WriteOutError::Bytes);
            }
            let path = to.join(path);
            let file = create(&path, entry.kind == TreeKind::Executable);
            let wrote = file.and_then(|mut file| file.write_all(&content));
            wrote.map_err(|error| WriteOutError::Write { path, error })?;
        }
        Ok(())
    }

    fn listing(&self, commit: &str) -> Result<Listing, WriteOutError> {
        let mut found = Listing::default();
        let mut waiting = vec![(PathBuf::new(), self.tree_of(commit)?)];
        let mut places = Places::default();
        let mut count = 0;
        while let Some((above, id)) = waiting.pop() {
            places.add(id)?;
            for (name, entry) in self.tree(&id)?.into_iter().filter(|(name, _)| is_plain(name)) {
                count += 1;
                if count > MAX_ENTRIES {
                    return Err(WriteOutError::Entries);
                }
                let path = above.join(name);
                match entry.kind {
                    TreeKind::Folder => {
                        found.folders.push(path.clone());
                        waiting.push((path, entry.id));
                    }
                    TreeKind::Submodule => found.folders.push(path),
                    TreeKind::File | TreeKind::Executable => found.files.push((path, entry)),
                    TreeKind::Link => found.links.push((path, entry.id)),
                }
            }
        }
        Ok(found)
    }
}

/// Returns whether a name is one of an ordinary file: Git itself writes no other.
fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && !name.contains(['/', '\0', std::path::MAIN_SEPARATOR])
        && !name.eq_ignore_ascii_case(".git")
}

/// Returns whether a link at a path below a folder leads to something below that folder, by names alone.
fn stays_inside(link: &Path, target: &Path) -> bool {
    let mut depth = link.components().count() - 1;
    for name in target.components() {
        match name {
            Component::Normal(_) => depth += 1,
            Component::CurDir => {}
            Component::ParentDir if depth > 0 => depth -= 1,
            _ => return false,
        }
    }
    true
}

#[cfg(unix)]
fn create(path: &Path, is_executable: bool) -> io::Result<fs::File> {
    use std::os::unix::fs::OpenOptionsExt;
    let mode = if is_executable { 0o555 } else { 0o444 };
    fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)
}

#[cfg(not(unix))]
fn create(path: &Path, _: bool) -> io::Result<fs::File> {
    fs::OpenOptions::new().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn symlink(target: &str, at: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, at)
}

#[cfg(not(unix))]
fn symlink(target: &str, at: &Path) -> io::Result<()> {
    fs::write(at, target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_stay_inside_are_told_by_their_names() {
        for (link, target) in
            [("a", "b"), ("a/b", "../c/d"), ("a/b", "."), ("a/b/c", "../../d"), ("a", "x/../y")]
        {
            assert!(stays_inside(Path::new(link), Path::new(target)), "{link} -> {target}");
        }
        for (link, target) in [("a", "../b"), ("a", "/etc/passwd"), ("a/b", "../../c"), ("a", "x/../../y")] {
            assert!(!stays_inside(Path::new(link), Path::new(target)), "{link} -> {target}");
        }
    }

    #[test]
    fn names_that_git_itself_would_not_write_are_left_out() {
        for name in ["", ".", "..", ".git", ".GIT", "a/b", "a\0"] {
            assert!(!is_plain(name), "{name:?}");
        }
        for name in [".github", ".gitignore", "git", "...", "a b"] {
            assert!(is_plain(name), "{name:?}");
        }
    }
}
