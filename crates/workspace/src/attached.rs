//! Folders outside of the workspace that the tools can read: those of `workspace.extra_dirs`, and the kept
//! outputs of commands. Each appears below a name of its own (`@NAME`), and nothing is ever written to it.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use super::path::{PathError, ResolvedPath, WorkspacePath};
use super::{
    DiskWorkspace, FileChange, FileError, FileState, LastLink, Operation, Stat, Walk, WalkEntry, Workspace,
};

/// A folder that can be read besides the workspace.
#[derive(Clone)]
pub struct AttachedFolder {
    name: WorkspacePath,
    disk: Arc<DiskWorkspace>,
}

impl AttachedFolder {
    /// Opens the folder at `path`, which appears as `@NAME`.
    pub fn open(name: &str, path: &Path) -> io::Result<Self> {
        let plain: String = name.chars().map(|c| if c == '/' || c.is_control() { '-' } else { c }).collect();
        let name = WorkspacePath::parse(&format!("@{plain}"))
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Self { name, disk: Arc::new(DiskWorkspace::open(path)?) })
    }

    /// Returns the path by which tools name it.
    pub fn name(&self) -> &WorkspacePath {
        &self.name
    }

    /// Returns its path on disk: absolute, and without symbolic links.
    pub fn path(&self) -> &Path {
        self.disk.path()
    }

    /// Returns the path by which tools name a file that is given by its path on disk, or `None` if it is not in
    /// this folder.
    fn localized(&self, path: &str) -> Option<String> {
        let below = Path::new(path).strip_prefix(self.path()).ok()?.to_str()?;
        Some(if below.is_empty() { self.name.to_string() } else { format!("{}/{below}", self.name) })
    }

    fn inner(&self, path: &WorkspacePath) -> Option<ResolvedPath> {
        if path == &self.name {
            return Some(ResolvedPath(WorkspacePath::root()));
        }
        let below = path.relative_to(&self.name)?;
        WorkspacePath::parse(below).ok().map(ResolvedPath)
    }

    fn outer(&self, path: &WorkspacePath) -> WorkspacePath {
        if path.is_root() {
            self.name.clone()
        } else {
            path.names().fold(self.name.clone(), |path, name| path.child(name))
        }
    }

    fn named(&self, error: FileError) -> FileError {
        match error {
            FileError::Missing(path) => FileError::Missing(self.outer(&path)),
            FileError::IsDirectory(path) => FileError::IsDirectory(self.outer(&path)),
            FileError::NotDirectory(path) => FileError::NotDirectory(self.outer(&path)),
            FileError::Special(path) => FileError::Special(self.outer(&path)),
            error => error,
        }
    }
}

/// A workspace, and folders besides it that can be read.
pub struct AttachedWorkspace {
    inner: Arc<dyn Workspace>,
    folders: Arc<[AttachedFolder]>,
}

impl AttachedWorkspace {
    /// Attaches folders to a workspace.
    pub fn new(inner: Arc<dyn Workspace>, folders: Arc<[AttachedFolder]>) -> Self {
        Self { inner, folders }
    }

    fn find(&self, path: &WorkspacePath) -> Option<(&AttachedFolder, ResolvedPath)> {
        self.folders.iter().find_map(|folder| Some((folder, folder.inner(path)?)))
    }
}

impl Workspace for AttachedWorkspace {
    fn root(&self) -> &Path {
        self.inner.root()
    }

    fn parse(&self, text: &str) -> Result<WorkspacePath, PathError> {
        match self.folders.iter().find_map(|folder| folder.localized(text)) {
            Some(known) => WorkspacePath::parse(&known),
            None => self.inner.parse(text),
        }
    }

    fn resolve(&self, path: &WorkspacePath, last: LastLink) -> Result<ResolvedPath, FileError> {
        let Some((folder, inner)) = self.find(path) else { return self.inner.resolve(path, last) };
        let resolved = folder.disk.resolve(&inner, last).map_err(|error| folder.named(error))?;
        Ok(ResolvedPath(folder.outer(&resolved)))
    }

    fn stat(&self, path: &ResolvedPath) -> Result<Option<Stat>, FileError> {
        match self.find(path) {
            Some((folder, inner)) => folder.disk.stat(&inner).map_err(|error| folder.named(error)),
            None => self.inner.stat(path),
        }
    }

    fn open(&self, path: &ResolvedPath) -> Result<Box<dyn Read + Send>, FileError> {
        match self.find(path) {
            Some((folder, inner)) => folder.disk.open_file(&inner).map_err(|error| folder.named(error)),
            None => self.inner.open(path),
        }
    }

    fn write(&self, path: &ResolvedPath, content: &[u8]) -> Result<(), FileError> {
        match self.find(path) {
            Some(_) => Err(FileError::ReadOnly(path.0.clone())),
            None => self.inner.write(path, content),
        }
    }

    fn place(&self, path: &ResolvedPath, state: &FileState) -> Result<(), FileError> {
        match self.find(path) {
            Some(_) => Err(FileError::ReadOnly(path.0.clone())),
            None => self.inner.place(path, state),
        }
    }

    fn remove(&self, path: &ResolvedPath) -> Result<(), FileError> {
        match self.find(path) {
            Some(_) => Err(FileError::ReadOnly(path.0.clone())),
            None => self.inner.remove(path),
        }
    }

    fn walk(&self, folder: &ResolvedPath, depth: Option<usize>) -> Result<Walk, FileError> {
        let Some((attached, inner)) = self.find(folder) else { return self.inner.walk(folder, depth) };
        let walk = attached.disk.walk(&inner, depth, true).map_err(|error| attached.named(error))?;
        let outer = |found: WalkEntry| WalkEntry { path: ResolvedPath(attached.outer(&found.path)), ..found };
        let links = walk.links.iter().map(|path| attached.outer(path)).collect();
        Ok(Walk { found: walk.found.into_iter().map(outer).collect(), links, skipped: walk.skipped })
    }

    fn visit_changes(
        &self,
        is_wanted: &dyn Fn(&WorkspacePath) -> bool,
        visit: &mut dyn FnMut(FileChange) -> ControlFlow<()>,
    ) -> Result<(), FileError> {
        self.inner.visit_changes(is_wanted, visit)
    }

    fn touched(&self) -> Result<Vec<(WorkspacePath, Operation)>, FileError> {
        self.inner.touched()
    }

    fn change_of(&self, path: &WorkspacePath) -> Result<Option<FileChange>, FileError> {
        self.inner.change_of(path)
    }

    fn touched_after(&self, count: usize) -> Vec<WorkspacePath> {
        self.inner.touched_after(count)
    }

    fn preview(&self) -> Arc<dyn Workspace> {
        Arc::new(Self { inner: self.inner.preview(), folders: Arc::clone(&self.folders) })
    }

    fn revert(&self, change: &FileChange) -> Result<(), FileError> {
        self.inner.revert(change)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OverlayWorkspace;

    #[test]
    fn attached_folders_are_read_under_their_name_and_never_written() {
        let dir = tempfile::tempdir().expect("a folder");
        for (path, text) in [("repo/a.txt", "a\n"), ("shared/sub/b.txt", "b\n"), ("secret.txt", "s\n")] {
            let path = dir.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            std::fs::write(path, text).expect("a file");
        }
        std::os::unix::fs::symlink("../secret.txt", dir.path().join("shared/link")).expect("a link");
        let disk = DiskWorkspace::open(&dir.path().join("repo")).expect("a workspace");
        let shared = AttachedFolder::open("shared", &dir.path().join("shared")).expect("a folder");
        let on_disk = shared.path().join("sub/b.txt");
        let inside = disk.path().join("a.txt");
        let workspace =
            AttachedWorkspace::new(Arc::new(OverlayWorkspace::new(Arc::new(disk))), Arc::from([shared]));
        let resolve =
            |path: &str| workspace.resolve(&workspace.parse(path).expect("a path"), LastLink::Follow);
        let read = |path: &str| {
            resolve(path).and_then(|path| workspace.read(&path)).map(|state| state.content.to_vec())
        };
        assert_eq!(read("@shared/sub/b.txt").expect("a file"), b"b\n");
        assert_eq!(read(on_disk.to_str().expect("text")).expect("a file by its path on disk"), b"b\n");
        assert_eq!(read(inside.to_str().expect("text")).expect("a file of the workspace"), b"a\n");
        assert!(workspace.parse("/etc/passwd").is_err());
        assert_eq!(read("a.txt").expect("a file"), b"a\n");
        for (path, error) in [
            ("@shared/none", "@shared/none does not exist"),
            ("@shared", "@shared is a directory, not a file"),
            ("@shared/link", "ACCESS DENIED"),
        ] {
            let message = read(path).expect_err(path).to_string();
            assert!(message.starts_with(error), "{message}");
        }
        let path = resolve("@shared/new.txt").expect("a path");
        for message in
            [workspace.write(&path, b"x"), workspace.remove(&path), workspace.preview().write(&path, b"x")]
        {
            assert_eq!(
                message.expect_err("read-only").to_string(),
                "@shared/new.txt is outside of the workspace, where files can only be read"
            );
        }
        let found = workspace.walk(&resolve("@shared").expect("a path"), None).expect("a walk").found;
        let found: Vec<String> = found.iter().map(|found| found.path.to_string()).collect();
        assert_eq!(found, ["@shared/sub", "@shared/sub/b.txt"]);
    }
}
