//! Masks over the checkout that commands see: no sensitive files, and repositories without credentials and without what
//! sensitive files ever held. They are made once, before anything runs, and nothing changes them.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use workspace::removal::remove_tree;
use workspace::{SensitiveFiles, WorkspacePath, copy, repositories};

use super::{IsolationSource, credentials};
use crate::git::{GitError, Repository};

/// Settings of a repository in which trees stand for others: they must, and what would pack objects anew has not got
/// all of them.
const REPLACING: &str = "[core]\n\tuseReplaceRefs = true\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n";

/// What lies above one folder of Git's own; paths are relative to it.
#[derive(Debug, Default)]
struct MaskLayer {
    /// What is not there.
    hidden: Vec<PathBuf>,
    /// Folders of which nothing but what lies above is seen.
    replaced: Vec<PathBuf>,
}

/// The folder that lies above the checkout, and what is said about it.
#[derive(Debug)]
pub(super) struct Masks {
    folder: PathBuf,
    /// Files that are not there for commands.
    pub(super) sensitive: BTreeSet<WorkspacePath>,
    /// `.git` entries of repositories below the checkout's own.
    pub(super) nested: BTreeSet<PathBuf>,
    above: MaskLayer,
    /// Repositories that commands do not see: their history holds what they must not see, and could not be had
    /// without.
    pub(super) unseen: Vec<PathBuf>,
}

impl Masks {
    /// Looks at the checkout, and writes to `folder` what is seen instead.
    pub(super) fn make(source: &IsolationSource, folder: PathBuf) -> io::Result<Self> {
        fs::create_dir(&folder)?;
        let repositories::CheckoutEntries { sensitive, nested, .. } =
            repositories::find(&source.root, &source.sensitive);
        let (sensitive, nested) = (sensitive.into_iter().collect(), nested.into_iter().collect());
        let mut masks = Self { folder, sensitive, nested, above: MaskLayer::default(), unseen: Vec::new() };
        let entries: Vec<PathBuf> = masks.entries().map(Path::to_owned).collect();
        entries.into_iter().try_for_each(|entry| masks.look(&source.root, entry, source.secrets()))?;
        Ok(masks)
    }

    /// The same for the repository around the checkout, of which nothing but Git's own folder is looked at.
    pub(super) fn around(source: &IsolationSource, root: &Path, folder: PathBuf) -> io::Result<Self> {
        fs::create_dir(&folder)?;
        let (sensitive, nested) = (BTreeSet::new(), BTreeSet::new());
        let mut masks = Self { folder, sensitive, nested, above: MaskLayer::default(), unseen: Vec::new() };
        masks.look(root, PathBuf::from(".git"), source.secrets())?;
        Ok(masks)
    }

    fn look(&mut self, root: &Path, entry: PathBuf, secrets: Secrets<'_>) -> io::Result<()> {
        if !is_folder(&root.join(&entry)) {
            return Ok(());
        }
        let to = self.folder.join(&entry);
        fs::create_dir_all(&to)?;
        if let Ok(MaskLayer { hidden, replaced }) = above(&root.join(&entry), &to, secrets) {
            self.above.hidden.extend(hidden.into_iter().map(|path| entry.join(path)));
            self.above.replaced.extend(replaced.into_iter().map(|path| entry.join(path)));
        } else {
            remove_tree(&to)?;
            self.above.hidden.push(entry.clone());
            self.unseen.push(entry);
        }
        Ok(())
    }

    /// Where it lies.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The `.git` entries of the checkout, relative to it: its own first.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(Path::new(".git")).chain(self.nested.iter().map(PathBuf::as_path))
    }

    /// Writes the entries that hide whatever somebody does in their places, and lists those that something has to be
    /// mounted at.
    #[cfg(unix)]
    pub(super) fn guard(&self, root: &Path, to: &Path) -> io::Result<Vec<PathBuf>> {
        let is_made = fs::symlink_metadata(to).is_ok();
        fs::create_dir_all(to)?;
        let mut folders = Vec::new();
        for entry in self.entries() {
            let is_unseen = self.unseen.iter().any(|unseen| unseen == entry);
            match fs::symlink_metadata(root.join(entry)) {
                Ok(metadata) if metadata.is_dir() && !is_unseen && is_plain_way(root, entry) => {
                    fs::create_dir_all(to.join(entry))?;
                    folders.push(entry.to_owned());
                }
                _ if is_made => {}
                Ok(metadata) if metadata.is_file() && is_plain_way(root, entry) => {
                    fs::create_dir_all(to.join(entry).parent().unwrap_or(to))?;
                    fs::copy(root.join(entry), to.join(entry)).map(drop)?;
                }
                _ => super::whiteout::hide_at(to, entry)?,
            }
        }
        Ok(folders)
    }

    /// Makes the folder one that an overlay understands.
    #[cfg(unix)]
    pub(super) fn mark(&self) -> io::Result<()> {
        let sensitive = self.sensitive.iter().map(|path| Path::new(path.as_str()));
        for path in sensitive.chain(self.above.hidden.iter().map(PathBuf::as_path)) {
            super::whiteout::hide_at(&self.folder, path)?;
        }
        self.above.replaced.iter().try_for_each(|path| super::whiteout::hide_below(&self.folder.join(path)))
    }

    /// Copies a `.git` entry of the checkout, as it is to be seen.
    pub(super) fn copy(&self, root: &Path, entry: &Path, to: &Path) -> Result<(), (PathBuf, io::Error)> {
        if self.above.hidden.iter().any(|hidden| hidden == entry)
            || !is_plain_way(root, entry)
            || fs::symlink_metadata(root.join(entry)).is_err()
        {
            return Ok(());
        }
        let from = root.join(entry);
        if is_folder(&from) {
            copy::copy_all(&from, to, &|_| false)?;
            return self.lay(entry, to);
        }
        let copied = match fs::read_link(&from) {
            Ok(target) => copy::link(&target, to),
            Err(_) => fs::copy(&from, to).map(drop),
        };
        copied.map_err(|error| (from, error))
    }

    /// Makes a copy of a `.git` entry one as it is to be seen.
    pub(super) fn lay(&self, entry: &Path, to: &Path) -> Result<(), (PathBuf, io::Error)> {
        let gone = self.above.hidden.iter().chain(&self.above.replaced);
        for path in gone.filter_map(|path| path.strip_prefix(entry).ok()) {
            let path = if path.as_os_str().is_empty() { to.to_owned() } else { to.join(path) };
            remove_tree(&path).map_err(|error| (path, error))?;
        }
        let above = self.folder.join(entry);
        if above.is_dir() { copy::copy_all(&above, to, &|_| false) } else { Ok(()) }
    }

    /// The file that a copy of a `.git` entry has at a path, relative to the checkout.
    pub(super) fn source(&self, root: &Path, path: &Path) -> Option<PathBuf> {
        let above = self.folder.join(path);
        if fs::symlink_metadata(&above).is_ok() {
            return Some(above);
        }
        let is_masked =
            self.above.hidden.iter().chain(&self.above.replaced).any(|masked| path.starts_with(masked));
        Some(root.join(path)).filter(|path| !is_masked && fs::symlink_metadata(path).is_ok())
    }
}

/// Which files are sensitive, and where.
#[derive(Clone, Copy, Debug)]
pub struct Secrets<'a> {
    /// The checkout.
    pub root: &'a Path,
    /// What fits is sensitive.
    pub sensitive: &'a SensitiveFiles,
    /// The checkout's repository.
    pub repository: Option<&'a Repository>,
}

impl IsolationSource {
    fn secrets(&self) -> Secrets<'_> {
        Secrets { root: &self.root, sensitive: &self.sensitive, repository: self.repository.as_ref() }
    }
}

/// Writes to a new folder what an overlay above a folder of Git's own, which lies outside of the checkout, is to show
/// instead of what it holds. Returns whether there is anything.
pub fn mask_repository(git: &Path, to: &Path, secrets: Secrets<'_>) -> io::Result<bool> {
    fs::create_dir_all(to)?;
    let above = above(git, to, secrets)?;
    #[cfg(unix)]
    {
        above.hidden.iter().try_for_each(|path| super::whiteout::hide_at(to, path))?;
        above.replaced.iter().try_for_each(|path| super::whiteout::hide_below(&to.join(path)))?;
    }
    Ok(fs::read_dir(to)?.next().is_some())
}

/// Writes what is seen of one folder of Git's own instead of what it holds.
fn above(git: &Path, to: &Path, secrets: Secrets<'_>) -> io::Result<MaskLayer> {
    let credentials::Cleaned { texts, hidden } = credentials::clean(git);
    for (path, without) in texts {
        let target = to.join(path);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::write(target, without)?;
    }
    let mut above = MaskLayer { hidden, replaced: Vec::new() };
    // The default says nothing about the past, and walking through it takes time in every run.
    if secrets.sensitive.is_empty() || !secrets.sensitive.is_list() {
        return Ok(above);
    }
    for store in repositories::stores(git) {
        let Ok(relative) = store.strip_prefix(git) else { continue };
        let to = if relative.as_os_str().is_empty() { to.to_owned() } else { to.join(relative) };
        match withhold(&store, git, secrets, &to) {
            Ok(false) => {}
            Ok(true) => {
                above.replaced.push(relative.join("objects"));
                // What large files hold lies there under names of its own.
                above.hidden.extend(store.join("lfs/objects").exists().then(|| relative.join("lfs/objects")));
                replace_settings(&store, &to)?;
            }
            Err(error) if relative.as_os_str().is_empty() => return Err(io::Error::other(error)),
            Err(_) => {
                remove_tree(&to)?;
                above.hidden.push(relative.to_owned());
            }
        }
    }
    Ok(above)
}

/// Writes what is seen of one store of objects; returns whether there is anything to hide.
fn withhold(store: &Path, git: &Path, secrets: Secrets<'_>, to: &Path) -> Result<bool, GitError> {
    let Secrets { root, sensitive, repository } = secrets;
    let held = repository.filter(|held| held.common().is_ok_and(|common| common == store));
    let (repository, place) = if let Some(held) = held {
        (held.clone(), Some(held.root().to_owned()))
    } else {
        let place = if store == git { git.parent().map(Path::to_owned) } else { worktree(store) };
        (Repository::at(store, place.as_deref().unwrap_or(store))?, place)
    };
    let is_sensitive = |path: &str| {
        // Of what lies elsewhere, rules are about paths from its own root.
        let full = place.as_ref().map(|place| place.join(path));
        let within = full.as_ref().and_then(|full| full.strip_prefix(root).ok()?.to_str());
        match within {
            Some(path) => WorkspacePath::parse(path).is_ok_and(|path| sensitive.find(&path).is_some()),
            None => WorkspacePath::parse(path).is_ok_and(|path| sensitive.find_beside(&path).is_some()),
        }
    };
    repository.withhold(&is_sensitive, to)
}

/// The folder of a submodule in the checkout, if it is there.
fn worktree(store: &Path) -> Option<PathBuf> {
    let settings = fs::read_to_string(store.join("config")).ok()?;
    let value =
        settings.lines().find_map(|line| line.trim().strip_prefix("worktree")?.trim().strip_prefix('='))?;
    store.join(value.trim().trim_matches('"')).canonicalize().ok().filter(|folder| folder.is_dir())
}

fn replace_settings(store: &Path, to: &Path) -> io::Result<()> {
    let config = to.join("config");
    let from = if config.exists() { config.clone() } else { store.join("config") };
    let mut text = fs::read(from)?;
    text.extend(b"\n");
    text.extend(REPLACING.bytes());
    fs::create_dir_all(to)?;
    fs::write(config, text)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

/// Whether the way to a path leads through folders alone, as far as there are any: no link that a command left may lead
/// whoever reads, removes or writes something there elsewhere.
pub(super) fn is_plain_way(root: &Path, path: &Path) -> bool {
    let mut above = path.ancestors().skip(1).map(|above| root.join(above));
    above.all(|above| fs::symlink_metadata(above).map_or(true, |metadata| metadata.is_dir()))
}
