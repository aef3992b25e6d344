//! State of a folder, exact enough to show that somebody was there.

use std::collections::BTreeMap;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One file, link or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    kind: u32,
    pub permissions: u32,
    owner: (u32, u32),
    /// A digest of the text, or of where a link points.
    content: u64,
    /// When content or metadata last changed, for places where nothing may happen at all: it tells of `chmod` and
    /// `chmod` back, of times that were set, and of extended attributes.
    touched: Option<(i64, i64)>,
}

/// Files above this size are compared by it alone.
const LARGE: u64 = 256 << 20;

/// Every entry below a folder, by its path from there.
pub type State = BTreeMap<PathBuf, Entry>;

/// How closely entries are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closeness {
    /// Content, kind, permissions and owner: what a checkout is compared by.
    Content,
    /// The time of the last change as well, for files.
    Touched,
}

/// Reads the state of everything below `root` that `wanted` takes, without following links.
pub fn read(root: &Path, closeness: Closeness, wanted: impl Fn(&Path) -> bool) -> State {
    let mut state = State::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(root).expect("below the root").to_owned();
            if !wanted(&name) {
                continue;
            }
            let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
            if metadata.is_dir() {
                folders.push(path.clone());
            }
            let closeness = if metadata.is_dir() { Closeness::Content } else { closeness };
            state.insert(name, entry(&path, &metadata, closeness));
        }
    }
    state
}

fn entry(path: &Path, metadata: &fs::Metadata, closeness: Closeness) -> Entry {
    let mut digest = DefaultHasher::new();
    if metadata.is_symlink() {
        fs::read_link(path).ok().map(|target| target.as_os_str().as_bytes().to_vec()).hash(&mut digest);
    } else if metadata.is_file() {
        if metadata.len() <= LARGE {
            fs::read(path).ok().hash(&mut digest);
        } else {
            metadata.len().hash(&mut digest);
        }
    }
    Entry {
        kind: metadata.mode() & 0o170_000,
        permissions: metadata.mode() & 0o7777,
        owner: (metadata.uid(), metadata.gid()),
        content: digest.finish(),
        touched: (closeness == Closeness::Touched).then(|| (metadata.ctime(), metadata.ctime_nsec())),
    }
}

impl Entry {
    pub fn is_folder(&self) -> bool {
        self.kind == 0o040_000
    }

    /// Says whether both are of one kind and hold the same.
    pub fn holds_what(&self, other: &Self) -> bool {
        (self.kind, self.content) == (other.kind, other.content)
    }

    pub fn is_file(&self) -> bool {
        self.kind == 0o100_000
    }
}

/// Returns the paths that are not the same in both.
pub fn differences(before: &State, after: &State) -> Vec<PathBuf> {
    let changed = before.iter().filter(|(path, entry)| after.get(*path) != Some(entry));
    let added = after.iter().filter(|(path, _)| !before.contains_key(*path));
    changed.chain(added).map(|(path, _)| path.clone()).collect()
}
