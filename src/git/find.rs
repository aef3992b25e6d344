//! Repository discovery: finds the repository of a folder and holds it for the whole run.

use std::fs::{self};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::GitError;
use super::held::Held;
use super::settings::Settings;

/// A repository, as seen from one folder of its checkout. Clones share what was found.
#[derive(Clone, Debug)]
pub struct Repository {
    pub(super) held: Arc<Held>,
    /// The folder: absolute, and without symbolic links.
    pub(super) folder: PathBuf,
}

impl Repository {
    /// Finds the repository of `folder` by the `.git` entry in it or in a folder above it, up to `border` and
    /// to the root of the file system. Returns `Ok(None)` if there is none.
    ///
    /// A folder that merely looks like a (bare) repository does not count: anybody can commit one.
    pub fn find(folder: &Path, border: Option<&Path>) -> Result<Option<Self>, GitError> {
        let folder =
            folder.canonicalize().map_err(|error| GitError::Folder { folder: folder.to_owned(), error })?;
        let border = border.and_then(|border| border.canonicalize().ok());
        for above in folder.ancestors() {
            if let Some((git_dir, common)) = entry(above)? {
                let held = Held::new(above.to_owned(), git_dir, common)?;
                return Ok(Some(Self { held: Arc::new(held), folder }));
            }
            if border.as_deref() == Some(above) || is_mount(above) {
                break;
            }
        }
        Ok(None)
    }

    /// Opens the repository whose own folder is `git`, with the checkout at `root`; there need not be one.
    pub fn at(git: &Path, root: &Path) -> Result<Self, GitError> {
        let held = Held::new(root.to_owned(), git.to_owned(), git.to_owned())?;
        Ok(Self { held: Arc::new(held), folder: root.to_owned() })
    }

    /// Returns the folder of `HEAD` and the index, which a worktree or a submodule has for itself.
    pub fn git_dir(&self) -> Result<&Path, GitError> {
        self.held.git_dir.path()
    }

    /// Returns Git's own folder: of a worktree, that of the repository that it belongs to.
    pub fn common(&self) -> Result<&Path, GitError> {
        self.held.common.path()
    }

    /// Returns the same repository as seen from another folder of its checkout.
    #[must_use]
    pub fn seen_from(&self, folder: &Path) -> Self {
        Self { held: Arc::clone(&self.held), folder: folder.to_owned() }
    }

    /// Returns the root of the checkout.
    pub fn root(&self) -> &Path {
        &self.held.root
    }

    /// Returns the path from the checkout's root to the folder: empty, or ending in `/`.
    pub fn prefix(&self) -> String {
        let below = self.folder.strip_prefix(&self.held.root).unwrap_or(Path::new(""));
        below
            .components()
            .filter_map(|part| match part {
                Component::Normal(name) => Some(format!("{}/", name.to_string_lossy())),
                _ => None,
            })
            .collect()
    }

    /// Returns the root of an enclosing repository whose commit has an entry at the path of this one, or
    /// `None`. The author of that commit chose what is in this repository.
    pub fn imposed_on(&self, border: Option<&Path>) -> Result<Option<PathBuf>, GitError> {
        let canonical = border.and_then(|border| border.canonicalize().ok());
        let Some(above) = self.root().parent().filter(|_| canonical.as_deref() != Some(self.root())) else {
            return Ok(None);
        };
        let Some(outer) = Self::find(above, border)? else { return Ok(None) };
        let path = self.root().strip_prefix(outer.root()).ok().and_then(Path::to_str);
        let (Some(head), Some(path)) = (outer.head(), path) else { return Ok(None) };
        let entry = outer.entry_at(&head, &path.replace('\\', "/"))?;
        Ok(entry.map(|_| outer.root().to_owned()))
    }

    /// Returns the repository's own configuration, as data.
    pub fn settings(&self) -> &Settings {
        &self.held.settings
    }
}

/// Reads the `.git` entry of a folder. Returns the folder of the repository, and that of the repository that
/// it belongs to (the same one, unless it is a worktree).
fn entry(folder: &Path) -> Result<Option<(PathBuf, PathBuf)>, GitError> {
    let place = folder.join(".git");
    let unusable =
        |problem: &str| GitError::Unusable { path: place.display().to_string(), problem: problem.to_owned() };
    let Ok(metadata) = fs::symlink_metadata(&place) else { return Ok(None) };
    let git_dir = if metadata.is_dir() {
        place.clone()
    } else if metadata.is_file() {
        let text = fs::read_to_string(&place)?;
        let target = text.trim_end_matches(['\r', '\n']).strip_prefix("gitdir: ");
        let target = target.ok_or_else(|| unusable("the file does not begin with `gitdir: `"))?;
        folder.join(target).canonicalize().map_err(|error| unusable(&format!("{target}: {error}")))?
    } else {
        return Err(unusable("it is neither a folder nor a file, and links are not followed"));
    };
    let common = match fs::read_to_string(git_dir.join("commondir")) {
        Ok(text) => git_dir.join(text.trim_end()).canonicalize()?,
        Err(_) => git_dir.clone(),
    };
    if !git_dir.join("HEAD").is_file() || !common.join("objects").is_dir() {
        return Err(unusable("it lacks `HEAD` or `objects`"));
    }
    Ok(Some((git_dir, common)))
}

/// Returns `true` if the folder is the root of a mounted file system.
#[cfg(unix)]
fn is_mount(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = |path: &Path| fs::metadata(path).map(|metadata| metadata.dev()).ok();
    folder.parent().is_none_or(|above| device(above) != device(folder))
}

#[cfg(not(unix))]
fn is_mount(folder: &Path) -> bool {
    folder.parent().is_none()
}
