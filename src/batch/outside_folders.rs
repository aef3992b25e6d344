//! Folders of `workspace.extra_dirs` as keys of tasks need them: one digest of all that commands and tools see in them.
//!
//! No commit says what they contain, so they are measured when the batch begins, and looked at again whenever a task has ended: what
//! has changed meanwhile is not known to be what the task saw. What is too large, or cannot be read, is not measured either.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use workspace::{SensitiveFiles, WorkspacePath};

use crate::base::integrity::HashWriter;
use crate::config;
use crate::git::Repository;

/// Most files, links and folders of a folder that is measured. Looking at them again after each task takes well below a second.
const MAX_ENTRIES: usize = 10_000;

/// Most bytes of all files of a folder that is measured, which is read within about a second when the batch begins.
const MAX_BYTES: u64 = 256 * 1024 * 1024;

/// Reason why it is not known what a task found in a folder.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub(super) enum NotMeasured {
    #[error("it has more than 10,000 files and folders")]
    Entries,
    #[error("its files have more than 256 MiB")]
    Bytes,
    #[error("it contains something that is neither a file nor a folder nor a link")]
    Special,
    #[error("it could not be read: {0}")]
    Unreadable(String),
    #[error("it changed while the batch ran")]
    Changed,
    #[error("a `.git` folder in it was read")]
    GitFolder,
    #[error("a link of the repository leads to it")]
    Link,
}

impl From<io::Error> for NotMeasured {
    fn from(error: io::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// Where a folder of `workspace.extra_dirs` lies for a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExtraPlace {
    /// In the repository, so that the task's worktree has a copy of its own. The path is relative to the root.
    InRepository(String),
    /// Elsewhere on this machine.
    OnDisk(PathBuf),
}

impl ExtraPlace {
    /// Finds the folder that the configuration calls `given`, for a task that works in the folder `own` of the repository at
    /// `root`.
    pub(super) fn of(given: &str, own: &str, root: &Path) -> Self {
        if Path::new(given).is_absolute() {
            return Self::OnDisk(given.into());
        }
        let (mut names, mut above) = (Vec::new(), 0);
        for name in own.split('/').chain(given.split('/')) {
            match name {
                ".." if names.pop().is_none() => above += 1,
                "" | "." | ".." => {}
                name => names.push(name),
            }
        }
        let below = names.join("/");
        if above == 0 {
            return Self::InRepository(below);
        }
        let start = std::iter::repeat_n("..", above).fold(root.to_owned(), |path, up| path.join(up));
        Self::OnDisk(start.join(below))
    }

    /// Returns the name that tools have for the folder.
    pub(super) fn name(&self, given: &str) -> String {
        let path = match self {
            Self::InRepository(_) => Path::new(given),
            Self::OnDisk(path) => path,
        };
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let plain = |sign: char| if sign.is_control() { '-' } else { sign };
        format!("@{}", name.chars().map(plain).collect::<String>())
    }
}

/// Lets folders outside of the repository be those that lie beside the batch's own checkout: nothing lies beside a worktree.
pub(super) fn keep_outside(workspace: &mut config::Workspace, folder: Option<&str>, git: &Repository) {
    let own = [&git.prefix(), workspace.root.as_str(), folder.unwrap_or_default()].join("/");
    for given in &mut workspace.extra_dirs {
        if let ExtraPlace::OnDisk(path) = ExtraPlace::of(given, &own, git.root())
            && let Ok(path) = path.into_os_string().into_string()
        {
            *given = path;
        }
    }
}

/// What a folder contained when the batch began.
#[derive(Clone, Debug)]
struct Measured {
    /// A digest of names, modes and contents.
    contents: String,
    /// A digest of what the file system says of all entries.
    entries: String,
}

/// Folders as they were when the batch began.
#[derive(Default)]
pub(super) struct OutsideFolders {
    measured: BTreeMap<PathBuf, Result<Measured, NotMeasured>>,
    sensitive: SensitiveFiles,
}

impl OutsideFolders {
    /// Measures folders. Files that are sensitive are seen by nobody, and count for nothing.
    pub(super) fn measure(
        folders: impl Iterator<Item = (String, PathBuf)>,
        sensitive: SensitiveFiles,
    ) -> Self {
        let mut all = Self { measured: BTreeMap::new(), sensitive };
        for (name, path) in folders {
            if !all.measured.contains_key(&path) {
                let measured = all.measured_now(&name, &path);
                all.measured.insert(path, measured);
            }
        }
        all
    }

    fn measured_now(&self, name: &str, path: &Path) -> Result<Measured, NotMeasured> {
        let folder = path.canonicalize()?;
        let found = self.walk(name, &folder)?;
        // First, so that what changes while contents are read is seen later.
        let entries = found.fingerprint();
        Ok(Measured { contents: found.contents(&folder)?, entries })
    }

    /// Returns the digest of a folder as it was when the batch began.
    pub(super) fn at_start(&self, path: &Path) -> Result<&str, NotMeasured> {
        match self.measured.get(path) {
            Some(Ok(measured)) => Ok(&measured.contents),
            Some(Err(why)) => Err(why.clone()),
            None => Err(NotMeasured::Changed),
        }
    }

    /// Returns the digest of a folder that has not changed since the batch began.
    pub(super) fn until_now(&self, name: &str, path: &Path) -> Result<&str, NotMeasured> {
        let contents = self.at_start(path)?;
        let found = self.walk(name, &path.canonicalize()?)?.fingerprint();
        match self.measured.get(path) {
            Some(Ok(measured)) if measured.entries == found => Ok(contents),
            _ => Err(NotMeasured::Changed),
        }
    }

    fn walk(&self, name: &str, folder: &Path) -> Result<Entries, NotMeasured> {
        let walk = ignore::WalkBuilder::new(folder)
            .standard_filters(false)
            .filter_entry(|entry| {
                let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
                entry.depth() == 0 || !is_folder || entry.file_name() != ".git"
            })
            .sort_by_file_name(Ord::cmp)
            .build();
        let (mut all, mut bytes) = (Vec::new(), 0);
        for entry in walk {
            let entry = entry.map_err(|error| NotMeasured::Unreadable(error.to_string()))?;
            let path = entry.path().strip_prefix(folder).map_err(io::Error::other)?.to_owned();
            let about = fs::symlink_metadata(entry.path())?;
            if about.is_file() {
                if self.is_sensitive(name, &path) {
                    continue;
                }
                bytes += about.len();
            } else if !about.is_dir() && !about.is_symlink() {
                return Err(NotMeasured::Special);
            }
            all.push((path, about));
            if all.len() > MAX_ENTRIES {
                return Err(NotMeasured::Entries);
            }
            if bytes > MAX_BYTES {
                return Err(NotMeasured::Bytes);
            }
        }
        Ok(Entries(all))
    }

    /// Returns whether neither tools nor commands see a file.
    fn is_sensitive(&self, name: &str, path: &Path) -> bool {
        let Some(path) = path.to_str() else { return false };
        let is = |path: &str, find: &dyn Fn(&WorkspacePath) -> bool| {
            WorkspacePath::parse(path).is_ok_and(|path| find(&path))
        };
        is(path, &|path| self.sensitive.find_beside(path).is_some())
            || is(&format!("{name}/{path}"), &|path| self.sensitive.find(path).is_some())
    }
}

/// All that is in a folder, in order, as the file system describes it.
struct Entries(Vec<(PathBuf, Metadata)>);

impl Entries {
    fn fingerprint(&self) -> String {
        let mut all = Sha256::new();
        for (path, about) in &self.0 {
            add(&mut all, path.as_os_str().as_encoded_bytes());
            // Times of folders change with what is hidden in them.
            let times = if about.is_dir() { String::new() } else { times(about) };
            add(&mut all, format!("{:?} {times}", about.file_type()).as_bytes());
        }
        hex::encode(all.finalize())
    }

    fn contents(&self, folder: &Path) -> Result<String, NotMeasured> {
        let mut all = Sha256::new();
        for (path, about) in &self.0 {
            add(&mut all, path.as_os_str().as_encoded_bytes());
            let place = folder.join(path);
            if about.is_symlink() {
                add(&mut all, b"link");
                add(&mut all, fs::read_link(place)?.as_os_str().as_encoded_bytes());
            } else if about.is_dir() {
                add(&mut all, b"folder");
            } else {
                add(&mut all, if is_executable(about) { b"program" } else { b"file" });
                let mut own = HashWriter::default();
                io::copy(&mut File::open(place)?, &mut own)?;
                add(&mut all, own.digest().as_bytes());
            }
        }
        Ok(hex::encode(all.finalize()))
    }
}

/// Adds a part with its length, so that no two lists of parts are the same.
fn add(all: &mut Sha256, part: &[u8]) {
    all.update((part.len() as u64).to_le_bytes());
    all.update(part);
}

#[cfg(unix)]
fn times(about: &Metadata) -> String {
    use std::os::unix::fs::MetadataExt;
    let (modified, changed) = ((about.mtime(), about.mtime_nsec()), (about.ctime(), about.ctime_nsec()));
    format!("{} {} {} {modified:?} {changed:?}", about.ino(), about.len(), about.mode())
}

#[cfg(not(unix))]
fn times(about: &Metadata) -> String {
    format!("{} {:?}", about.len(), about.modified().ok())
}

#[cfg(unix)]
fn is_executable(about: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    about.mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_found_in_the_repository_or_beside_it() {
        let root = Path::new("/work/repo");
        for (own, given, name, expected) in [
            ("", "../shared", "@shared", Err("/work/repo/../shared")),
            ("./", "./../shared/.", "@shared", Err("/work/repo/../shared")),
            ("", "../shared/one/..", "@shared", Err("/work/repo/../shared")),
            ("/app/.", "../lib", "@lib", Ok("lib")),
            ("app", "lib/", "@lib", Ok("app/lib")),
            ("app/one", "../../../shared/x", "@x", Err("/work/repo/../shared/x")),
            ("app", "../../repo/lib", "@lib", Err("/work/repo/../repo/lib")),
            ("app", "/opt/a\tb", "@a-b", Err("/opt/a\tb")),
        ] {
            let expected = match expected {
                Ok(path) => ExtraPlace::InRepository(path.to_owned()),
                Err(path) => ExtraPlace::OnDisk(path.into()),
            };
            let place = ExtraPlace::of(given, own, root);
            assert_eq!((&place, place.name(given).as_str()), (&expected, name), "{own} {given}");
        }
    }

    #[test]
    fn folders_are_known_until_they_change_or_grow_too_large() {
        type Change = fn(&Path);
        fn write(folder: &Path, name: &str, text: &str) {
            fs::write(folder.join(name), text).expect("a file");
        }
        let cases: [(&str, Change, Option<NotMeasured>, Option<NotMeasured>); 7] = [
            ("nothing", |_| (), None, None),
            ("a file", |folder| write(folder, "a", "new"), None, Some(NotMeasured::Changed)),
            (
                "a folder",
                |folder| fs::create_dir(folder.join("d")).expect("a folder"),
                None,
                Some(NotMeasured::Changed),
            ),
            ("a secret", |folder| write(folder, "x.pem", "new"), None, None),
            ("Git's own", |folder| write(folder, ".git/index", "new"), None, None),
            (
                "much",
                |folder| {
                    let file = File::create(folder.join("much")).expect("a file");
                    file.set_len(MAX_BYTES).expect("a length");
                },
                Some(NotMeasured::Bytes),
                Some(NotMeasured::Bytes),
            ),
            (
                "many",
                |folder| {
                    (0..MAX_ENTRIES).for_each(|n| drop(File::create(folder.join(n.to_string()))));
                },
                Some(NotMeasured::Entries),
                Some(NotMeasured::Entries),
            ),
        ];
        for (name, change, later, now) in cases {
            let folder = tempfile::tempdir().expect("a folder");
            write(folder.path(), "a", "old");
            write(folder.path(), "x.pem", "old");
            fs::create_dir(folder.path().join(".git")).expect("a folder");
            let path = folder.path().to_owned();
            let usual = || {
                let tracked = workspace::Tracked::default();
                SensitiveFiles::new(None, tracked, workspace::WorkspaceLocation::default()).expect("a rule")
            };
            let measure = || OutsideFolders::measure([("@x".to_owned(), path.clone())].into_iter(), usual());
            let before = measure();
            change(&path);
            assert_eq!(before.until_now("@x", &path).err(), now, "{name}");
            let after = measure();
            assert_eq!(after.at_start(&path).err(), later, "{name}");
            let is_same = after.at_start(&path).ok() == before.at_start(&path).ok();
            assert_eq!(is_same, now.is_none(), "{name}");
        }
    }
}
