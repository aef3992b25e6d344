//! Git objects, read and verified: the content of each matches its hash, from the commit down.

use std::collections::BTreeMap;
use std::collections::HashMap;
use std::sync::Arc;

use gix_hash::ObjectId;
use gix_object::{Find, Kind, TagRefIter, TreeRefIter};
use gix_odb::HeaderExt;
use workspace::{FileState, Mode};

use super::{GitError, Repository};

/// Maximum number of symbolic links followed to resolve one path.
const MAX_LINKS: usize = 20;

/// Maximum size of an object that is read, in bytes: a small pack may hold one of any size.
const MAX_OBJECT: u64 = 256 << 20;

/// Maximum size of an object other than a file's content, in bytes.
const MAX_STRUCTURE: u64 = 32 << 20;

/// Maximum number of files and folders of one commit.
const MAX_ENTRIES: usize = 2_000_000;

/// Maximum number of paths of one and the same folder: folders within themselves are few objects, and any number of paths.
const MAX_PLACES: usize = 20_000;

/// Maximum number of tags that point to each other.
const MAX_TAGS: usize = 20;

/// The parts of a commit object that are needed here.
#[derive(Debug)]
pub(super) struct Commit {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    pub(super) message: String,
}

/// The kind of a tree entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeKind {
    /// A tree.
    Folder,
    /// A regular file.
    File,
    /// A file with the executable bit.
    Executable,
    /// A symbolic link.
    Link,
    /// A commit of another repository.
    Submodule,
}

/// An entry of a tree, without its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// The kind of the entry, from its mode.
    pub kind: TreeKind,
    /// The id of the object that it names.
    pub(super) id: ObjectId,
}

impl TreeEntry {
    /// Returns whether it is a file, with or without the executable bit.
    fn is_file(&self) -> bool {
        matches!(self.kind, TreeKind::File | TreeKind::Executable)
    }
}

/// Object lookup that fails for an object whose content does not match its id.
pub(super) struct Verified(pub(super) gix_odb::HandleArc);

impl Find for Verified {
    fn try_find<'a>(
        &self,
        id: &gix_hash::oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix_error::Result<Option<gix_object::Data<'a>>> {
        let found = self.0.try_find(id, buffer)?;
        if let Some(data) = &found {
            data.verify_checksum(id)?;
        }
        Ok(found)
    }
}

impl Verified {
    /// Reads an object of a kind.
    pub(super) fn read(&self, id: &ObjectId, kind: Kind) -> Result<Vec<u8>, GitError> {
        let most = if kind == Kind::Blob { MAX_OBJECT } else { MAX_STRUCTURE };
        if let Ok(header) = self.0.header(id)
            && header.size() > most
        {
            return Err(GitError::TooLarge(format!("the object {id} has {} bytes", header.size())));
        }
        let mut buffer = Vec::new();
        match self.try_find(id, &mut buffer) {
            Ok(Some(data)) if data.kind == kind => {}
            Ok(Some(data)) => return Err(corrupt(id, &format!("it is a {}, not a {kind}", data.kind))),
            Ok(None) => return Err(missing(id)),
            Err(error) => return Err(corrupt(id, &error)),
        }
        Ok(buffer)
    }
}

impl Repository {
    /// Returns the content of a file at a commit, or `Ok(None)` if the commit has no such file. `path` is
    /// relative to the repository's root; symbolic links are followed within the commit.
    pub fn read_at(&self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let tree = self.tree_of(commit)?;
        let mut names: Vec<String> = path.split('/').map(str::to_owned).collect();
        for _ in 0..MAX_LINKS {
            match self.walk(&tree, &names)? {
                Walked::Nothing => return Ok(None),
                Walked::Entry(entry) => {
                    return match entry.kind {
                        TreeKind::File | TreeKind::Executable => self.object(&entry.id, Kind::Blob).map(Some),
                        _ => Ok(None),
                    };
                }
                Walked::Link { depth, target } => {
                    let leads_out = || GitError::Link { path: path.to_owned(), commit: commit.to_owned() };
                    let target = String::from_utf8(target).map_err(|_| leads_out())?;
                    let rest = names.split_off(depth + 1);
                    names.pop();
                    for part in target.split('/').map(str::to_owned).chain(rest) {
                        match part.as_str() {
                            // An absolute target begins with an empty part.
                            "" if target.starts_with('/') => return Err(leads_out()),
                            "" | "." => {}
                            ".." => drop(names.pop().ok_or_else(leads_out)?),
                            _ => names.push(part),
                        }
                    }
                }
            }
        }
        Err(GitError::Link { path: path.to_owned(), commit: commit.to_owned() })
    }

    /// Returns the state of a file at a commit, or `Ok(None)` if the commit has no such file. The path is relative to the
    /// repository's root, and no link in it is followed.
    pub fn state_at(&self, commit: &str, path: &str) -> Result<Option<FileState>, GitError> {
        let Some(entry) = self.entry_at(commit, path)? else { return Ok(None) };
        let mode = match entry.kind {
            TreeKind::File => Mode::Regular,
            TreeKind::Executable => Mode::Executable,
            TreeKind::Link => Mode::Link,
            TreeKind::Folder | TreeKind::Submodule => return Ok(None),
        };
        Ok(Some(FileState { content: self.object(&entry.id, Kind::Blob)?.into(), mode }))
    }

    /// Returns the entry at a path of a commit, or `Ok(None)`. The path is relative to the repository's root,
    /// and no link in it is followed.
    pub fn entry_at(&self, commit: &str, path: &str) -> Result<Option<TreeEntry>, GitError> {
        let tree = self.tree_of(commit)?;
        let names: Vec<String> = path.split('/').map(str::to_owned).collect();
        Ok(match self.walk(&tree, &names)? {
            Walked::Entry(entry) => Some(entry),
            _ => None,
        })
    }

    /// Returns the entries of the folder at a path of a commit, which may be the root (an empty path); none if it has no such
    /// folder. No link in the path is followed.
    pub fn entries_at(&self, commit: &str, path: &str) -> Result<Vec<(String, TreeEntry)>, GitError> {
        if path.is_empty() {
            return self.tree(&self.tree_of(commit)?);
        }
        match self.entry_at(commit, path)? {
            Some(entry) if entry.kind == TreeKind::Folder => self.tree(&entry.id),
            _ => Ok(Vec::new()),
        }
    }

    /// Returns the entries of a folder, each with its name.
    pub fn folder(&self, entry: &TreeEntry) -> Result<Vec<(String, TreeEntry)>, GitError> {
        self.tree(&entry.id)
    }

    /// Returns whether an entry's object is a blob with this content.
    pub fn is_content(&self, entry: &TreeEntry, content: &[u8]) -> bool {
        gix_object::compute_hash(self.held.hash, Kind::Blob, content).is_ok_and(|id| id == entry.id)
    }

    /// Returns whether the clone contains the commit and can read it.
    pub fn has_commit(&self, commit: &str) -> bool {
        self.tree_of(commit).is_ok()
    }

    /// Lists the files of a commit below the folder, with paths relative to it and sizes in bytes, sorted by
    /// path. Symbolic links and submodules are left out.
    pub fn files_of(&self, commit: &str) -> Result<Vec<(String, u64)>, GitError> {
        let objects = self.store()?;
        let size = |(path, entry): (String, TreeEntry)| {
            let header = objects.header(entry.id).map_err(|_| missing(&entry.id))?;
            Ok((path, header.size()))
        };
        let entries = self.entries_of(commit)?.into_iter().filter(|(_, entry)| entry.is_file());
        let mut files = entries.map(size).collect::<Result<Vec<_>, GitError>>()?;
        files.sort_unstable();
        Ok(files)
    }

    /// Returns the kinds of a commit's files with the IDs of their contents, by path; the same files as [`Self::files_of`], and links and
    /// submodules.
    pub fn ids_of(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError> {
        let named = |(path, entry): (String, TreeEntry)| (path, format!("{:?} {}", entry.kind, entry.id));
        Ok(self.entries_of(commit)?.into_iter().map(named).collect())
    }

    /// Returns where the symbolic links of a commit lead, as they say it.
    pub fn links_of(&self, commit: &str) -> Result<BTreeMap<String, String>, GitError> {
        let entries = self.entries_of(commit)?.into_iter().filter(|(_, entry)| entry.kind == TreeKind::Link);
        let target = |(path, entry): (String, TreeEntry)| {
            let text = self.object(&entry.id, Kind::Blob)?;
            Ok((path, String::from_utf8_lossy(&text).into_owned()))
        };
        entries.map(target).collect()
    }

    fn entries_of(&self, commit: &str) -> Result<Vec<(String, TreeEntry)>, GitError> {
        let prefix = self.prefix();
        let top = match prefix.trim_end_matches('/') {
            "" => Some(self.tree_of(commit)?),
            below => self.entry_at(commit, below)?.map(|entry| entry.id),
        };
        let mut files = Vec::new();
        let mut folders: Vec<(String, ObjectId)> = top.map(|id| (String::new(), id)).into_iter().collect();
        let mut places = Places::default();
        while let Some((above, id)) = folders.pop() {
            places.add(id)?;
            for (name, entry) in self.tree(&id)? {
                let path = format!("{above}{name}");
                if files.len() + folders.len() >= MAX_ENTRIES {
                    return Err(GitError::TooLarge(format!(
                        "the commit {commit} has more than {MAX_ENTRIES} files"
                    )));
                }
                match entry.kind {
                    TreeKind::Folder => folders.push((path + "/", entry.id)),
                    _ => files.push((path, entry)),
                }
            }
        }
        Ok(files)
    }

    fn walk(&self, tree: &ObjectId, names: &[String]) -> Result<Walked, GitError> {
        let mut id = *tree;
        for (depth, name) in names.iter().enumerate() {
            let is_last = depth + 1 == names.len();
            let found = self.tree(&id)?.into_iter().find(|(other, _)| other == name);
            match found.map(|(_, entry)| entry) {
                Some(TreeEntry { kind: TreeKind::Link, id }) => {
                    return Ok(Walked::Link { depth, target: self.object(&id, Kind::Blob)? });
                }
                Some(entry) if is_last => return Ok(Walked::Entry(entry)),
                Some(TreeEntry { kind: TreeKind::Folder, id: below }) => id = below,
                _ => return Ok(Walked::Nothing),
            }
        }
        Ok(Walked::Nothing)
    }

    /// Reads a tree. Names that are not UTF-8 are left out, because no path here can name them.
    pub(super) fn tree(&self, id: &ObjectId) -> Result<Vec<(String, TreeEntry)>, GitError> {
        let data = self.object(id, Kind::Tree)?;
        let mut entries = Vec::new();
        for entry in TreeRefIter::from_bytes(&data, self.held.hash) {
            let entry = entry.map_err(|error| corrupt(id, &error))?;
            let kind = match entry.mode.kind() {
                gix_object::tree::EntryKind::Tree => TreeKind::Folder,
                gix_object::tree::EntryKind::Blob => TreeKind::File,
                gix_object::tree::EntryKind::BlobExecutable => TreeKind::Executable,
                gix_object::tree::EntryKind::Link => TreeKind::Link,
                gix_object::tree::EntryKind::Commit => TreeKind::Submodule,
            };
            if let Ok(name) = std::str::from_utf8(entry.filename) {
                entries.push((name.to_owned(), TreeEntry { kind, id: entry.oid.to_owned() }));
            }
        }
        Ok(entries)
    }

    pub(super) fn tree_of(&self, commit: &str) -> Result<ObjectId, GitError> {
        let wrong = || GitError::Missing(commit.to_owned());
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(|_| wrong())?;
        Ok(self.commit(&id)?.tree)
    }

    pub(super) fn commit(&self, id: &ObjectId) -> Result<Commit, GitError> {
        let data = self.object(id, Kind::Commit)?;
        let commit =
            gix_object::CommitRef::from_bytes(&data, self.held.hash).map_err(|error| corrupt(id, &error))?;
        Ok(Commit {
            tree: commit.tree(),
            parents: commit.parents().collect(),
            message: commit.message.to_string(),
        })
    }

    /// Reads an object of the given kind, and verifies that its content matches its id.
    pub(super) fn object(&self, id: &ObjectId, kind: Kind) -> Result<Vec<u8>, GitError> {
        if let Some(content) = self.held.recent.get(id, kind) {
            return Ok(content);
        }
        let content = Verified(self.store()?).read(id, kind)?;
        self.held.recent.put(id, kind, &content);
        Ok(content)
    }

    /// Returns whether the clone contains an object, of whatever kind, with that id.
    pub(super) fn has_object(&self, id: &str) -> bool {
        let Ok(id) = ObjectId::from_hex(id.as_bytes()) else { return false };
        self.store().is_ok_and(|store| store.header(id).is_ok())
    }

    /// Returns the tree that an object is, by way of any tags; `None` if it leads to a commit or a file.
    pub(super) fn tagged_tree(&self, id: &str) -> Result<Option<ObjectId>, GitError> {
        let Ok(mut id) = ObjectId::from_hex(id.as_bytes()) else { return Ok(None) };
        let store = self.store()?;
        for _ in 0..MAX_TAGS {
            match store.header(id).map(|header| header.kind()) {
                Ok(Kind::Tree) => return Ok(Some(id)),
                Ok(Kind::Tag) => {
                    let data = self.object(&id, Kind::Tag)?;
                    let tag = TagRefIter::from_bytes(&data, self.held.hash).target_id();
                    id = tag.map_err(|error| corrupt(&id, &error))?;
                }
                _ => return Ok(None),
            }
        }
        Err(GitError::TooLarge(format!(
            "the tag {id} is one of more than {MAX_TAGS} that point to each other"
        )))
    }

    /// Returns the object store of the clone and of what was fetched; it is opened on first use.
    pub(super) fn store(&self) -> Result<gix_odb::HandleArc, GitError> {
        let mut store = self.held.store.lock();
        if let Some(store) = &*store {
            return Ok(store.to_cache_arc());
        }
        let fetched = self.held.fetched.lock();
        let folder = match &*fetched {
            Some(private) => private.objects(),
            None => self.held.common.path()?.join("objects"),
        };
        let options = gix_odb::store::init::Options::default();
        let opened = gix_odb::Store::at_opts(folder, self.held.hash, &mut None.into_iter(), options)?;
        Ok(store.insert(Arc::new(opened)).to_cache_arc())
    }

    /// Drops the open object store, so that the next use finds objects that were fetched since.
    pub(super) fn forget_store(&self) {
        *self.held.store.lock() = None;
    }
}

/// How often each folder was met.
#[derive(Default)]
pub(super) struct Places(HashMap<ObjectId, usize>);

impl Places {
    /// Counts a folder; one that is at too many paths is an error.
    pub(super) fn add(&mut self, id: ObjectId) -> Result<(), GitError> {
        let count = self.0.entry(id).or_default();
        *count += 1;
        if *count > MAX_PLACES {
            return Err(GitError::TooLarge(format!("the folder {id} is at more than {MAX_PLACES} paths")));
        }
        Ok(())
    }
}

/// The result of a walk along a path.
enum Walked {
    Nothing,
    Entry(TreeEntry),
    /// A symbolic link in the place of the path's name number `depth`, from 0.
    Link {
        depth: usize,
        target: Vec<u8>,
    },
}

fn missing(id: &ObjectId) -> GitError {
    GitError::Missing(id.to_string())
}

pub(super) fn corrupt(id: &ObjectId, problem: &impl ToString) -> GitError {
    GitError::Corrupt { id: id.to_string(), problem: problem.to_string() }
}
