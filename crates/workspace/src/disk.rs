//! The checkout on disk, confined by the kernel.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use ignore::WalkBuilder;

use super::changes::{FileState, Mode};
use super::file_system::{is_absent, is_refusal, link, set_executable, stat_of};
use super::path::{ResolvedPath, WorkspacePath};
use super::resolve::{Step, resolve};
use super::{FileError, Kind, LastLink, MAX_FILE, Stat, Walk, WalkEntry, confined, threads};

/// The checkout on disk. It is not a [`super::Workspace`] by itself, because writes must be tracked or
/// planned.
pub struct DiskWorkspace {
    root: Dir,
    path: PathBuf,
}

impl DiskWorkspace {
    /// Opens the folder at `path`, which must exist.
    pub fn open(path: &Path) -> io::Result<Self> {
        let path = fs::canonicalize(path)?;
        Ok(Self { root: Dir::open_ambient_dir(&path, ambient_authority())?, path })
    }

    /// Returns the path of the checkout: absolute, and without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the folder, held open: renaming it or putting another one in its place does not lead elsewhere.
    pub fn dir(&self) -> &Dir {
        &self.root
    }

    /// Follows every symbolic link in `path`. The result need not exist.
    pub fn resolve(&self, path: &WorkspacePath, last: LastLink) -> Result<ResolvedPath, FileError> {
        if self.is_plain(path) {
            return Ok(ResolvedPath(path.clone()));
        }
        let mut cursor = self.cursor();
        resolve(&self.path, path, last, |path| cursor.step(path))
    }

    /// Returns `true` if a path exists and is resolved already; if it is not known to be, its links have to be looked for.
    pub(crate) fn is_plain(&self, path: &WorkspacePath) -> bool {
        confined::is_plain(&self.root, path)
    }

    /// Returns a cursor at the root, for the look-ups of one path; see [`Cursor::step`].
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor { disk: self, path: WorkspacePath::root(), dir: None }
    }

    fn link_target(&self, path: &ResolvedPath) -> Result<String, FileError> {
        let io = |error| FileError::Io { path: path.0.clone(), error };
        let (parent, name) = confined::split(path).map_err(io)?;
        let target =
            confined::open_dir(&self.root, &parent).map_err(io)?.read_link_contents(name).map_err(io)?;
        // A target that is not UTF-8 names nothing that a tool could open.
        target.into_os_string().into_string().map_err(|_| FileError::Special(path.0.clone()))
    }

    /// Returns kind, size, and mode of the entry at `path`, or `None` if there is none.
    pub fn stat(&self, path: &ResolvedPath) -> Result<Option<Stat>, FileError> {
        if path.is_root() {
            return Ok(Some(Stat { kind: Kind::Directory, size: 0, mode: Mode::Regular }));
        }
        let found = confined::split(path).and_then(|(parent, name)| {
            if parent.is_root() {
                return self.root.symlink_metadata(name);
            }
            confined::open_dir(&self.root, &parent)?.symlink_metadata(name)
        });
        match found {
            Ok(metadata) => Ok(Some(stat_of(&metadata))),
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(FileError::Io { path: path.0.clone(), error }),
        }
    }

    /// Opens a regular file for reading; anything else is [`FileError::Special`].
    pub fn open_file(&self, path: &ResolvedPath) -> Result<Box<dyn Read + Send>, FileError> {
        let (file, _) = self.opened(path)?;
        Ok(Box::new(file))
    }

    /// Opens a regular file for reading, and says what it is.
    fn opened(&self, path: &ResolvedPath) -> Result<(File, Stat), FileError> {
        let file = confined::open_file(&self.root, path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => FileError::Missing(path.0.clone()),
            _ if is_refusal(&error) => FileError::Special(path.0.clone()),
            io::ErrorKind::InvalidInput => FileError::Special(path.0.clone()),
            _ => FileError::Io { path: path.0.clone(), error },
        })?;
        let file = File::from_std(file);
        let metadata = file.metadata().map_err(|error| FileError::Io { path: path.0.clone(), error })?;
        let stat = stat_of(&metadata);
        match stat.kind {
            Kind::File => Ok((file, stat)),
            Kind::Directory => Err(FileError::IsDirectory(path.0.clone())),
            Kind::Link | Kind::Special => Err(FileError::Special(path.0.clone())),
        }
    }

    /// Writes to a temporary file next to the target and renames it: a reader sees the old or the new content,
    /// and another name of the same file (a hard link) keeps the old content. The mode of an existing file is
    /// kept.
    pub(crate) fn write_file(&self, path: &ResolvedPath, content: &[u8]) -> Result<(), FileError> {
        let old = self.stat(path)?;
        match old.map(|stat| stat.kind) {
            None | Some(Kind::File) => {}
            Some(Kind::Directory) => return Err(FileError::IsDirectory(path.0.clone())),
            Some(Kind::Link | Kind::Special) => return Err(FileError::Special(path.0.clone())),
        }
        let io = |error: io::Error| match error.kind() {
            io::ErrorKind::NotADirectory => FileError::NotDirectory(self.obstacle(path)),
            _ => FileError::Io { path: path.0.clone(), error },
        };
        let (parent, name) = confined::split(path).map_err(io)?;
        let folder = confined::create_dir(&self.root, &parent).map_err(io)?;
        let temporary = Temporary::new(&folder);
        let mut file =
            folder.open_with(&temporary.name, OpenOptions::new().write(true).create_new(true)).map_err(io)?;
        file.write_all(content).map_err(io)?;
        if old.is_some() {
            let permissions = folder.symlink_metadata(name).map_err(io)?.permissions();
            file.set_permissions(permissions).map_err(io)?;
        }
        drop(file);
        folder.rename(&temporary.name, &folder, name).map_err(io)?;
        temporary.keep();
        Ok(())
    }

    /// Returns the outermost entry above `path` that exists and is not a folder; `path` itself if there is
    /// none.
    fn obstacle(&self, path: &WorkspacePath) -> WorkspacePath {
        let mut obstacle = path.clone();
        let mut above = path.parent();
        while let Some(parent) = above {
            let stat = self.stat(&ResolvedPath(parent.clone())).ok().flatten();
            if stat.is_some_and(|stat| stat.kind != Kind::Directory) {
                obstacle = parent.clone();
            }
            above = parent.parent();
        }
        obstacle
    }

    /// Restores a path to a state: a file with its mode, a link, or nothing. A folder in its place is removed
    /// if there is to be a file, and left alone if there is to be nothing.
    pub(crate) fn restore(&self, path: &ResolvedPath, state: Option<&FileState>) -> Result<(), FileError> {
        let io = |error| FileError::Io { path: path.0.clone(), error };
        let (parent, name) = confined::split(path).map_err(io)?;
        let folder = match (confined::open_dir(&self.root, &parent), state) {
            (Ok(folder), _) => folder,
            (Err(error), None) if is_absent(&error) => return Ok(()),
            (Err(_), _) => confined::create_dir(&self.root, &parent).map_err(io)?,
        };
        match folder.symlink_metadata(name) {
            Ok(metadata) if metadata.is_dir() && state.is_none() => return Ok(()),
            Ok(metadata) if metadata.is_dir() => super::removal::remove_in(&folder, name).map_err(io)?,
            Ok(metadata) if !metadata.is_file() || state.is_none_or(|state| state.mode == Mode::Link) => {
                folder.remove_file(name).map_err(io)?;
            }
            Ok(_) => {}
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(io(error)),
        }
        let Some(state) = state else { return Ok(()) };
        if state.mode == Mode::Link {
            return link(&folder, &String::from_utf8_lossy(&state.content), name).map_err(io);
        }
        self.write_file(path, &state.content)?;
        set_executable(&folder, name, state.mode == Mode::Executable).map_err(io)
    }

    pub(crate) fn remove_file(&self, path: &ResolvedPath) -> Result<(), FileError> {
        match self.stat(path)?.map(|stat| stat.kind) {
            None => return Err(FileError::Missing(path.0.clone())),
            Some(Kind::Directory) => return Err(FileError::IsDirectory(path.0.clone())),
            Some(Kind::Special) => return Err(FileError::Special(path.0.clone())),
            Some(Kind::File | Kind::Link) => {}
        }
        confined::split(path)
            .and_then(|(parent, name)| confined::open_dir(&self.root, &parent)?.remove_file(name))
            .map_err(|error| FileError::Io { path: path.0.clone(), error })
    }

    /// Lists files and folders with ripgrep's walker. `respect_ignore_files` is off where planned ignore
    /// files differ from those on disk.
    pub(crate) fn walk(
        &self,
        folder: &ResolvedPath,
        depth: Option<usize>,
        respect_ignore_files: bool,
    ) -> Result<Walk, FileError> {
        match self.stat(folder)?.map(|stat| stat.kind) {
            Some(Kind::Directory) => {}
            None => return Err(FileError::Missing(folder.0.clone())),
            Some(_) => return Err(FileError::NotDirectory(folder.0.clone())),
        }
        let start = self.path.join(folder.as_str());
        let mut builder = WalkBuilder::new(&start);
        builder
            .standard_filters(false)
            .git_ignore(respect_ignore_files)
            .ignore(respect_ignore_files)
            .git_exclude(respect_ignore_files)
            .require_git(false)
            .follow_links(false)
            .max_depth(depth)
            .filter_entry(|entry| entry.file_name() != ".git");
        // Ignore files between the root and `folder` also apply; those above the root never do.
        if respect_ignore_files {
            super::ignored::add_ancestors(&mut builder, &self.path, folder);
        }
        let (found, links) = (std::sync::Mutex::new(Vec::new()), std::sync::Mutex::new(Vec::new()));
        let skipped = AtomicU64::new(0);
        let note = |entry: Result<ignore::DirEntry, ignore::Error>| match entry
            .ok()
            .and_then(|entry| self.found(&entry))
        {
            Some((path, Entry::Directory)) => lock(&found).push(WalkEntry { path, directory: true }),
            Some((path, Entry::File)) => lock(&found).push(WalkEntry { path, directory: false }),
            Some((path, Entry::Link)) => lock(&links).push(path.0),
            Some((_, Entry::Other)) => {}
            None => {
                skipped.fetch_add(1, Ordering::Relaxed);
            }
        };
        let threads = std::thread::available_parallelism().map_or(2, |threads| threads.get().min(8));
        if threads::are_available(threads) {
            let note = &note;
            builder.threads(threads).build_parallel().run(|| {
                Box::new(move |entry| {
                    note(entry);
                    ignore::WalkState::Continue
                })
            });
        } else {
            builder.build().for_each(note);
        }
        let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.sort_unstable();
        let mut links = links.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        links.sort_unstable();
        let skipped = usize::try_from(skipped.into_inner()).unwrap_or(usize::MAX);
        Ok(Walk { found, links, skipped })
    }

    /// Converts an entry of the walk. Returns `None` for what cannot be named.
    fn found(&self, entry: &ignore::DirEntry) -> Option<(ResolvedPath, Entry)> {
        if entry.depth() == 0 {
            return Some((ResolvedPath(WorkspacePath::root()), Entry::Other));
        }
        let kind = match entry.file_type()? {
            kind if kind.is_dir() => Entry::Directory,
            kind if kind.is_file() => Entry::File,
            kind if kind.is_symlink() => Entry::Link,
            _ => Entry::Other,
        };
        let relative = entry.path().strip_prefix(&self.path).ok()?.to_str()?;
        Some((ResolvedPath(WorkspacePath::parse(relative).ok()?), kind))
    }

    /// Returns the current content and mode of a file or link, or `None` if there is neither. A file larger
    /// than [`MAX_FILE`] is an error, because it would have to be held in memory.
    pub(crate) fn state(&self, path: &ResolvedPath) -> Result<Option<FileState>, FileError> {
        let (file, Stat { size, mode, .. }) = match self.opened(path) {
            Ok(opened) => opened,
            // Nearly everything is a file. What else there is, and what cannot be opened, is looked up by its name.
            Err(error) => {
                return match self.stat(path)?.map(|stat| stat.kind) {
                    Some(Kind::File) => Err(error),
                    Some(Kind::Link) => {
                        let target = self.link_target(path)?;
                        Ok(Some(FileState { content: target.into_bytes().into(), mode: Mode::Link }))
                    }
                    Some(Kind::Directory | Kind::Special) | None => Ok(None),
                };
            }
        };
        let too_large = |size| FileError::TooLarge { path: path.0.clone(), size, limit: MAX_FILE };
        if size > MAX_FILE {
            return Err(too_large(size));
        }
        let mut content = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
        // One byte beyond the limit reveals a file that grows while it is read.
        let read = file.take(MAX_FILE + 1).read_to_end(&mut content);
        read.map_err(|error| FileError::Io { path: path.0.clone(), error })?;
        if content.len() as u64 > MAX_FILE {
            return Err(too_large(content.len() as u64));
        }
        Ok(Some(FileState { content: content.into(), mode }))
    }
}

/// The kind of an entry of a walk.
enum Entry {
    File,
    Directory,
    Link,
    /// A device or the like, which no tool opens, or the folder that is walked.
    Other,
}

/// The folder where the last look-up ended, held open, so that a path of n names takes n look-ups, however
/// deep it is.
pub(crate) struct Cursor<'a> {
    disk: &'a DiskWorkspace,
    path: WorkspacePath,
    dir: Option<Dir>,
}

impl Cursor<'_> {
    /// Looks up `path`, whose folder was looked up before. Links are not followed.
    pub(crate) fn step(&mut self, path: &WorkspacePath) -> Result<Step, FileError> {
        let resolved = ResolvedPath(path.clone());
        let (parent, name) =
            confined::split(&resolved).map_err(|error| FileError::Io { path: path.clone(), error })?;
        let looked_up = self.enter(&parent).and_then(|dir| {
            let metadata = dir.symlink_metadata(name)?;
            let below = if metadata.is_dir() { Some(dir.open_dir_nofollow(name)?) } else { None };
            Ok((metadata, below))
        });
        match looked_up {
            Ok((_, Some(below))) => {
                self.path = path.clone();
                self.dir = Some(below);
                Ok(Step::Directory)
            }
            Ok((metadata, None)) if metadata.is_symlink() => {
                Ok(Step::Link(self.disk.link_target(&resolved)?))
            }
            Ok(_) => Ok(Step::End),
            Err(error) if is_absent(&error) => Ok(Step::End),
            Err(error) => Err(FileError::Io { path: path.clone(), error }),
        }
    }

    fn enter(&mut self, folder: &WorkspacePath) -> io::Result<&Dir> {
        if self.dir.is_none() || self.path != *folder {
            self.dir = Some(confined::open_dir(&self.disk.root, folder)?);
            self.path = folder.clone();
        }
        self.dir.as_ref().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    }
}

/// A unique temporary file name in a folder; the file is removed on drop unless it is kept.
struct Temporary<'a> {
    folder: &'a Dir,
    name: String,
    kept: bool,
}

impl<'a> Temporary<'a> {
    fn new(folder: &'a Dir) -> Self {
        Self { folder, name: format!(".architect-ci-{}.tmp", uuid::Uuid::new_v4().simple()), kept: false }
    }

    fn keep(mut self) {
        self.kept = true;
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.kept {
            // Nothing more can be done if even this fails; the write reports its own error.
            let _ = self.folder.remove_file(&self.name);
        }
    }
}

fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
