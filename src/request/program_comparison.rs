//! Comparison of what is in the checkout with a commit, file by file.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use workspace::is_executable;

use super::refusal::ProgramRefusal;
use crate::git::{GitError, Repository, TreeEntry, TreeKind};

/// Most bytes of a program's file.
const MAX_FILE: u64 = 64 * 1024 * 1024;

/// Most links that are followed one after another.
const MAX_LINKS: usize = 20;

/// Endings of files that interpreters run.
const SCRIPTS: [&str; 19] = [
    "bash", "cjs", "cts", "js", "jsx", "lua", "mjs", "mk", "mts", "php", "pl", "ps1", "py", "pyz", "rb",
    "sh", "ts", "tsx", "zsh",
];

/// Compares paths of the repository, from its root, with a commit.
pub(super) struct Comparison<'a> {
    pub(super) commit: &'a str,
    pub(super) repository: Option<&'a Repository>,
    pub(super) root: &'a Path,
}

impl Comparison<'_> {
    /// Checks a name that is run, or loaded as code: a file with the folder around it, or all that is in a folder.
    pub(super) fn check_program(&self, path: &str) -> Result<(), ProgramRefusal> {
        self.check_as(path, true)
    }

    /// Checks a name that may be a program, or anything that a program looks at.
    pub(super) fn check(&self, path: &str) -> Result<(), ProgramRefusal> {
        self.check_as(path, false)
    }

    /// Checks what takes the place of a module of the standard library where Python imports from a folder.
    pub(super) fn check_modules(&self, folder: &Path) -> Result<(), ProgramRefusal> {
        for full in super::program_imports::modules_in(folder) {
            let name = full.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let name = name.split('.').next().unwrap_or_default();
            if !super::python_modules::standard_modules().any(|known| known == name) {
                continue;
            }
            if let Some(path) = full.strip_prefix(self.root).ok().and_then(below) {
                self.check_module(&path)?;
            }
        }
        Ok(())
    }

    /// Checks a module, or a package, without the folder around it.
    pub(super) fn check_module(&self, path: &str) -> Result<(), ProgramRefusal> {
        let (_, entry) = self.entry(path)?;
        self.compare(path, entry.as_ref()).map_err(|refusal| ProgramRefusal::Imported(Box::new(refusal)))
    }

    /// Checks what a program may load that is there on disk.
    pub(super) fn check_loaded(&self, path: &str) -> Result<(), ProgramRefusal> {
        let (_, entry) = self.entry(path)?;
        self.compare(path, entry.as_ref())
    }

    fn check_as(&self, path: &str, is_program: bool) -> Result<(), ProgramRefusal> {
        let (on_disk, entry) = self.entry(path)?;
        if !on_disk && entry.is_none() {
            return Ok(());
        }
        let is_folder = self.root.join(path).is_dir();
        let is_run = is_program || self.root.join(path).join("__main__.py").exists();
        if is_folder && !is_run {
            // What a program looks at, and not what it is.
            return Ok(());
        }
        self.compare(path, entry.as_ref())?;
        if is_folder || !is_program && !is_script(path, entry.as_ref()) {
            return Ok(());
        }
        match path.rsplit_once('/') {
            Some((folder, _)) => {
                let (_, entry) = self.entry(folder)?;
                self.compare(folder, entry.as_ref())
            }
            None => Ok(()),
        }
    }

    /// Returns whether something is at a path, and the entry of the commit.
    fn entry(&self, path: &str) -> Result<(bool, Option<TreeEntry>), ProgramRefusal> {
        let on_disk = fs::symlink_metadata(self.root.join(path)).is_ok();
        let Some(repository) = self.repository else {
            return if on_disk { Err(ProgramRefusal::NoBase(path.to_owned())) } else { Ok((false, None)) };
        };
        match repository.entry_at(self.commit, path) {
            Ok(entry) => Ok((on_disk, entry)),
            // A word that is not a file at all needs no commit.
            Err(_) if !on_disk => Ok((false, None)),
            Err(error) => Err(ProgramRefusal::Git { path: path.to_owned(), error }),
        }
    }

    fn compare(&self, path: &str, entry: Option<&TreeEntry>) -> Result<(), ProgramRefusal> {
        let Some(repository) = self.repository else { return Err(self.differs(path)) };
        match self.same(repository, path, entry, MAX_LINKS) {
            Ok(None) => Ok(()),
            Ok(Some(path)) => Err(self.differs(&path)),
            Err(error) => Err(ProgramRefusal::Git { path: path.to_owned(), error }),
        }
    }

    fn differs(&self, path: &str) -> ProgramRefusal {
        let commit = self.commit[..self.commit.len().min(12)].to_owned();
        ProgramRefusal::Differs { path: path.to_owned(), commit }
    }

    /// Compares what is at a path with an entry of the commit, folders with all that is in them, and links with what
    /// they lead to; answers with the first path that differs.
    fn same(
        &self,
        repository: &Repository,
        path: &str,
        entry: Option<&TreeEntry>,
        links: usize,
    ) -> Result<Option<String>, GitError> {
        let full = self.root.join(path);
        let differs = || Ok(Some(path.to_owned()));
        let (Some(entry), Ok(metadata)) = (entry, fs::symlink_metadata(&full)) else { return differs() };
        match entry.kind {
            TreeKind::Folder if metadata.is_dir() => {
                let mut here = BTreeSet::new();
                for found in fs::read_dir(&full)? {
                    match found?.file_name().into_string() {
                        Ok(name) => drop(here.insert(name)),
                        Err(name) => return Ok(Some(format!("{path}/{}", name.to_string_lossy()))),
                    }
                }
                for (name, entry) in repository.folder(entry)? {
                    here.remove(&name);
                    let below = format!("{path}/{name}");
                    if let Some(path) = self.same(repository, &below, Some(&entry), links)? {
                        return Ok(Some(path));
                    }
                }
                Ok(here.into_iter().next().map(|name| format!("{path}/{name}")))
            }
            TreeKind::File | TreeKind::Executable if metadata.is_file() && metadata.len() <= MAX_FILE => {
                let is_same = is_executable(&metadata) == (entry.kind == TreeKind::Executable)
                    && repository.is_content(entry, &fs::read(&full)?);
                if is_same { Ok(None) } else { differs() }
            }
            TreeKind::Link if metadata.is_symlink() => {
                let target = fs::read_link(&full)?;
                if !repository.is_content(entry, target.as_os_str().as_encoded_bytes()) || links == 0 {
                    return differs();
                }
                // Outside of the repository it is the machine's.
                let target = crate::trust::normalize(&full.parent().unwrap_or(&full).join(target));
                let Some(target) = target.strip_prefix(self.root).ok().and_then(below) else {
                    return Ok(None);
                };
                // A link to a folder around it would never end.
                if path.strip_prefix(&target).is_some_and(|rest| rest.starts_with('/')) {
                    return differs();
                }
                let entry = repository.entry_at(self.commit, &target)?;
                if entry.is_none() && fs::symlink_metadata(self.root.join(&target)).is_err() {
                    return Ok(None);
                }
                self.same(repository, &target, entry.as_ref(), links - 1)
            }
            // Its commit says nothing of what is there.
            _ => differs(),
        }
    }
}

/// Returns a path in Git's form; `None` for the root itself.
pub(super) fn below(path: &Path) -> Option<String> {
    let names: Vec<_> = path.components().map(|name| name.as_os_str().to_str()).collect::<Option<_>>()?;
    (!names.is_empty()).then(|| names.join("/"))
}

/// Returns whether a file is one that loads others: a program or a script.
fn is_script(path: &str, entry: Option<&TreeEntry>) -> bool {
    entry.is_some_and(|entry| entry.kind == TreeKind::Executable) || is_script_name(path)
}

/// Returns whether a path has the ending of a script.
pub(super) fn is_script_name(path: &str) -> bool {
    let ending = Path::new(path).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SCRIPTS.contains(&ending))
}
