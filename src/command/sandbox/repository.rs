//! Repository around a workspace: what children see of it besides the workspace itself.

use std::ffi::OsStr;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use workspace::repositories::is_socket;
use workspace::{Scratch, SensitiveFiles, WorkspacePath};

/// Function that hides what is secret in a Git folder.
type Mask = dyn Fn(&Path, &Path) -> io::Result<bool> + Send + Sync;

/// Hides what is secret in Git's folders. What that takes is known to layers above this one, so it is handed in.
#[derive(Clone)]
pub struct GitMasking(Arc<Mask>);

impl GitMasking {
    /// Creates it from a function that is called with a Git folder and an empty folder. It writes what is to be seen
    /// in place of secrets to the second, and returns whether there was anything to hide.
    pub fn new(mask: impl Fn(&Path, &Path) -> io::Result<bool> + Send + Sync + 'static) -> Self {
        Self(Arc::new(mask))
    }

    fn mask(&self, folder: &Path, to: &Path) -> io::Result<bool> {
        (self.0)(folder, to)
    }
}

impl Default for GitMasking {
    /// Returns one for folders outside of any repository: it refuses every Git folder, which is then not shown.
    fn default() -> Self {
        Self::new(|folder, _| Err(io::Error::other(format!("{} cannot be masked", folder.display()))))
    }
}

impl fmt::Debug for GitMasking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("GitMasking").finish_non_exhaustive()
    }
}

/// The parts of the checkout's repository outside of the workspace.
#[derive(Clone, Debug, Default)]
pub(super) struct Repository {
    /// The root of the repository, if the workspace is a subfolder of it.
    pub(super) root: Option<PathBuf>,
    /// Git folders outside of the workspace.
    pub(super) folders: Vec<PathBuf>,
    layers: Arc<OnceLock<Option<Layers>>>,
}

/// What is seen of Git's own folders: without credentials, and without what sensitive files ever held.
#[derive(Debug)]
struct Layers {
    scratch: Scratch,
    /// By folder; `None` where it is not seen at all.
    found: Vec<Option<Masked>>,
}

/// What lies above one of Git's own folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Masked {
    /// Nothing has to be hidden.
    Nothing,
    /// Something is seen otherwise.
    Something,
}

impl Repository {
    /// Finds the repository by going upwards from the workspace.
    pub(super) fn around(workspace: &Path, home: Option<&Path>) -> Self {
        let found = workspace.ancestors().find(|folder| fs::symlink_metadata(folder.join(".git")).is_ok());
        let Some(root) = found else { return Self::default() };
        let git = root.join(".git");
        let mut folders = Vec::new();
        if git.is_dir() {
            folders.extend(git.canonicalize());
        } else if let Some(folder) = linked(&git) {
            // A worktree shares the rest with its repository.
            let common = fs::read_to_string(folder.join("commondir")).ok();
            folders.extend(common.and_then(|common| folder.join(common.trim()).canonicalize().ok()));
            folders.push(folder);
        }
        folders.retain(|folder| !folder.starts_with(workspace));
        folders.dedup_by(|below, above| below.starts_with(above));
        let root = Some(root.to_owned())
            .filter(|root| root != workspace && !home.is_some_and(|home| home.starts_with(root)));
        Self { root, folders, layers: Arc::default() }
    }
}

impl Repository {
    /// Lists what lies next to the workspace and is nobody's business: sensitive files, sockets of daemons but those in
    /// `opened` places, and other repositories, which may hold credentials.
    pub(super) fn hidden(
        &self,
        workspace: &Path,
        sensitive: &SensitiveFiles,
        opened: &[PathBuf],
    ) -> Vec<PathBuf> {
        let Some(root) = &self.root else { return Vec::new() };
        let own = root.join(".git");
        let is_sensitive = |path: &WorkspacePath| sensitive.hides_beside(path);
        hidden_below(root, &[workspace, &own], opened, Unnamed::Shown, is_sensitive)
    }

    /// Lists the same in a folder of `workspace.extra_dirs`, where the tools refuse what is sensitive whether or not Git tracks it, and
    /// what they cannot name. What the workspace's own repository needs is seen as elsewhere.
    pub(super) fn hidden_in_attached(
        &self,
        folder: &Path,
        workspace: &Path,
        sensitive: &SensitiveFiles,
        opened: &[PathBuf],
    ) -> Vec<PathBuf> {
        let name = folder.file_name().and_then(OsStr::to_str).unwrap_or_default();
        let left_out: Vec<&Path> = self.folders.iter().map(PathBuf::as_path).chain([workspace]).collect();
        hidden_below(folder, &left_out, opened, Unnamed::Hidden, |path| {
            let named = WorkspacePath::parse(&format!("@{name}/{path}"));
            sensitive.find_beside(path).is_some() || named.is_ok_and(|path| sensitive.find(&path).is_some())
        })
    }

    /// The folder that lies above one of Git's own; `None` where that one cannot be shown.
    pub(super) fn layer(&self, index: usize, temp: &Path, masking: &GitMasking) -> Option<PathBuf> {
        let layers = self.layers(temp, masking)?;
        layers.found.get(index)?.map(|_| layers.scratch.path().join(index.to_string()))
    }

    /// Git's own folders in which nothing has to be hidden.
    pub(super) fn harmless(&self, temp: &Path, masking: &GitMasking) -> Vec<PathBuf> {
        let found = self.layers(temp, masking).map_or(&[][..], |layers| &layers.found);
        let folders = self.folders.iter().zip(found).filter(|(_, mask)| **mask == Some(Masked::Nothing));
        folders.map(|(folder, _)| folder.clone()).collect()
    }

    /// Made when first asked for.
    fn layers(&self, temp: &Path, masking: &GitMasking) -> Option<&Layers> {
        let make = || {
            let scratch = Scratch::new(temp).ok()?;
            let masked = |(index, folder): (usize, &PathBuf)| {
                let masked = masking.mask(folder, &scratch.path().join(index.to_string()));
                masked.ok().map(|is_masked| if is_masked { Masked::Something } else { Masked::Nothing })
            };
            let found = self.folders.iter().enumerate().map(masked).collect();
            Some(Layers { scratch, found })
        };
        if self.folders.is_empty() { None } else { self.layers.get_or_init(make).as_ref() }
    }
}

/// Whether files are seen whose names are not UTF-8, so that no pattern says what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unnamed {
    Shown,
    Hidden,
}

/// Lists what is hidden in a folder, without looking into some folders.
fn hidden_below(
    root: &Path,
    left_out: &[&Path],
    opened: &[PathBuf],
    unnamed: Unnamed,
    is_sensitive: impl Fn(&WorkspacePath) -> bool,
) -> Vec<PathBuf> {
    let left_out: Vec<PathBuf> = left_out.iter().map(|path| (*path).to_owned()).collect();
    let walk = ignore::WalkBuilder::new(root)
        .standard_filters(false)
        .filter_entry(move |entry| !left_out.iter().any(|path| entry.path().starts_with(path)))
        .build();
    let is_hidden = |entry: &ignore::DirEntry| {
        // A link holds nothing itself.
        if entry.path_is_symlink() || entry.depth() == 0 {
            return false;
        }
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        if is_folder {
            return entry.file_name() == ".git";
        }
        if entry.file_type().is_some_and(is_socket) {
            return !opened.iter().any(|place| entry.path().starts_with(place));
        }
        match entry.path().strip_prefix(root).ok().and_then(Path::to_str) {
            Some(path) => WorkspacePath::parse(path).is_ok_and(|path| is_sensitive(&path)),
            None => unnamed == Unnamed::Hidden,
        }
    };
    walk.flatten().filter(is_hidden).map(ignore::DirEntry::into_path).collect()
}

/// Returns the folder that a `.git` file names.
fn linked(git: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(git).ok()?;
    git.parent()?.join(text.strip_prefix("gitdir:")?.trim()).canonicalize().ok()
}
