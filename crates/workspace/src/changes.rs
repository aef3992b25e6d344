//! Changes to files: states before and after, as totals, diffs, and one exact patch.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
use sha2::{Digest, Sha256};

use super::file_diff::FileDiff;
use super::hunks::hunks;
use super::path::WorkspacePath;
use super::pictures::is_picture_or_font;

/// The file modes that Git knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Mode {
    /// A regular file.
    #[default]
    #[serde(rename = "100644")]
    Regular,
    /// An executable file.
    #[serde(rename = "100755")]
    Executable,
    /// A symbolic link, whose content is its target.
    #[serde(rename = "120000")]
    Link,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Regular => "100644",
            Self::Executable => "100755",
            Self::Link => "120000",
        })
    }
}

/// Content and mode of a file at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    /// The bytes of the file; for a link, its target.
    pub content: Arc<[u8]>,
    /// The mode as Git knows it.
    pub mode: Mode,
}

impl FileState {
    /// Returns the SHA-256 of the content in lowercase hexadecimal.
    pub fn sha256(&self) -> String {
        hex::encode(Sha256::digest(&self.content))
    }

    /// Returns the id of the content as a Git blob, with SHA-1.
    pub fn blob_id(&self) -> String {
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", self.content.len()));
        hash.update(&self.content);
        hex::encode(hash.finalize())
    }
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// Creation of the file.
    Add,
    /// Change of its content or mode.
    Modify,
    /// Deletion of the file.
    Delete,
}

impl Operation {
    /// Returns what happened to a file, from whether it was there and whether it is; `None` if it never was.
    pub(crate) fn between(was_there: bool, is_there: bool) -> Option<Self> {
        match (was_there, is_there) {
            (false, true) => Some(Self::Add),
            (true, true) => Some(Self::Modify),
            (true, false) => Some(Self::Delete),
            (false, false) => None,
        }
    }
}

/// A file before and after; it exists in at least one of the two states, and they differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path of the file.
    pub path: WorkspacePath,
    /// The state before, or `None` if there was no file.
    pub before: Option<FileState>,
    /// The state after, or `None` if there is no file.
    pub after: Option<FileState>,
}

/// Minimum length of text in a picture that is no chance.
const READABLE: usize = 16;

/// Decodes text of wide characters, which a mark at the beginning tells; all else stays as it is.
fn decoded(content: &Arc<[u8]>) -> Arc<[u8]> {
    let pairs = |read: fn([u8; 2]) -> u16| {
        let (pairs, _) = content.as_chunks::<2>();
        String::from_utf16_lossy(&pairs.iter().skip(1).map(|pair| read(*pair)).collect::<Vec<u16>>())
    };
    match content.as_ref() {
        [0xff, 0xfe, ..] => pairs(u16::from_le_bytes).into_bytes().into(),
        [0xfe, 0xff, ..] => pairs(u16::from_be_bytes).into_bytes().into(),
        _ => Arc::clone(content),
    }
}

impl FileChange {
    /// Creates a change, or returns `None` if the states do not differ.
    pub fn new(path: WorkspacePath, before: Option<FileState>, after: Option<FileState>) -> Option<Self> {
        (before != after).then_some(Self { path, before, after })
    }

    /// Returns whether the file is added, modified, or deleted.
    pub fn operation(&self) -> Operation {
        match (&self.before, &self.after) {
            (None, _) => Operation::Add,
            (_, None) => Operation::Delete,
            _ => Operation::Modify,
        }
    }

    /// Returns the mode of the file after the change, or before it if the file is deleted.
    pub fn mode(&self) -> Mode {
        self.after.as_ref().or(self.before.as_ref()).map_or(Mode::Regular, |state| state.mode)
    }

    /// Returns whether either side is binary by Git's measure, a NUL byte. Here it may be anywhere in the
    /// content.
    pub fn is_binary(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(|state| state.content.contains(&0))
    }

    /// Returns whether the file becomes, or stays, a picture or a font, and nothing that could be run or read as text. Programs run many
    /// a file that has a NUL byte in it, whatever its name ends in, so all others are judged as text is.
    pub fn is_opaque(&self) -> bool {
        let name = self.path.file_name().unwrap_or_default();
        match &self.after {
            Some(after) => after.mode == Mode::Regular && is_picture_or_font(name, &after.content),
            None => self.is_binary(),
        }
    }

    /// Counts the lines added and removed; zero for an opaque file.
    pub fn line_counts(&self) -> LineCounts {
        FileDiff::of(self).line_counts()
    }

    /// Returns the lines that the file gains, without diff markers; empty for an opaque file.
    pub fn gained(&self) -> String {
        if self.is_opaque() {
            return String::new();
        }
        let (before, after) = self.contents();
        let text = hunks(before, after);
        let gained = text.split_inclusive(|byte| *byte == b'\n').filter_map(|line| line.strip_prefix(b"+"));
        String::from_utf8_lossy(&gained.collect::<Vec<_>>().concat()).into_owned()
    }

    /// Returns what a program could read in what the file gains: the lines; without their NUL bytes, over which interpreters and
    /// decoders of wide characters go; decoded, where the file is marked as of wide characters; and of an opaque file the readable
    /// parts.
    pub fn readings(&self) -> Vec<String> {
        let Some(after) = self.after.as_ref().filter(|after| Some(*after) != self.before.as_ref()) else {
            return Vec::new();
        };
        if self.is_opaque() {
            let parts = after.content.split(|byte| !matches!(byte, b' '..=b'~' | b'\t'));
            let long: Vec<&[u8]> = parts.filter(|part| part.len() >= READABLE).collect();
            return vec![String::from_utf8_lossy(&long.join(&b'\n')).into_owned()];
        }
        let gained = self.gained();
        let mut readings = Vec::new();
        if gained.contains('\0') {
            readings.push(gained.replace('\0', ""));
            let decoded =
                |state: &FileState| FileState { content: decoded(&state.content), mode: state.mode };
            let (before, after) = (self.before.as_ref().map(decoded), decoded(after));
            readings.extend(Self::new(self.path.clone(), before, Some(after)).map(|change| change.gained()));
        }
        readings.push(gained);
        readings
    }

    /// Returns the change in Git's extended diff format, which `git apply` accepts. `prefix` is the path from
    /// the repository's root to the workspace: empty, or ending in `/`.
    pub fn git_patch(&self, prefix: &str) -> Vec<u8> {
        FileDiff::of(self).git_patch(prefix)
    }

    /// Returns the change for people: hunks without file headers, or for a binary file its sizes.
    pub fn diff(&self) -> String {
        FileDiff::of(self).text()
    }

    /// Returns what a diff without file headers does not tell of the mode, in Git's words: that it changes, or that a new file is
    /// executable or a link; empty otherwise.
    pub fn mode_lines(&self) -> String {
        match (&self.before, &self.after) {
            (Some(before), Some(after)) if before.mode != after.mode => {
                format!("old mode {}\nnew mode {}\n", before.mode, after.mode)
            }
            (None, Some(after)) if after.mode != Mode::Regular => format!("new file mode {}\n", after.mode),
            _ => String::new(),
        }
    }

    fn contents(&self) -> (&[u8], &[u8]) {
        (
            self.before.as_ref().map_or(&[], |state| &*state.content),
            self.after.as_ref().map_or(&[], |state| &*state.content),
        )
    }
}

/// Numbers of lines added and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LineCounts {
    /// Lines that the file gained.
    pub added: usize,
    /// Lines that the file lost.
    pub removed: usize,
}

impl LineCounts {
    /// Counts the added and removed lines in hunks without file headers.
    pub fn of(hunks: &str) -> Self {
        Self::of_bytes(hunks.as_bytes())
    }

    pub(crate) fn of_bytes(hunks: &[u8]) -> Self {
        let mut lines = Self::default();
        for line in hunks.split_inclusive(|byte| *byte == b'\n') {
            match line.first() {
                Some(b'+') => lines.added += 1,
                Some(b'-') => lines.removed += 1,
                _ => {}
            }
        }
        lines
    }
}

impl std::ops::AddAssign for LineCounts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

impl std::iter::Sum for LineCounts {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |mut sum, lines| {
            sum += lines;
            sum
        })
    }
}

impl fmt::Display for LineCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{} −{}", self.added, self.removed)
    }
}

/// The changes of a run, sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangeSet(Vec<FileChange>);

impl ChangeSet {
    /// Creates a set by sorting the changes. Each path may occur only once.
    pub fn new(mut changes: Vec<FileChange>) -> Self {
        changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Self(changes)
    }

    /// Returns these changes with later ones on top. Changes of the same file become one, and are dropped if
    /// they cancel out.
    #[must_use]
    pub fn and(&self, later: &[FileChange]) -> Self {
        let is_later = |path: &WorkspacePath| later.iter().rev().find(|change| change.path == *path);
        let mut changes: Vec<FileChange> =
            self.0.iter().filter(|change| is_later(&change.path).is_none()).cloned().collect();
        for (index, change) in later.iter().enumerate() {
            if later[index + 1..].iter().any(|other| other.path == change.path) {
                continue;
            }
            let first = self.0.iter().chain(later).find(|first| first.path == change.path);
            let before = first.and_then(|first| first.before.clone());
            changes.extend(FileChange::new(change.path.clone(), before, change.after.clone()));
        }
        Self::new(changes)
    }

    /// Returns the changes, sorted by path.
    pub fn iter(&self) -> std::slice::Iter<'_, FileChange> {
        self.0.iter()
    }

    /// Returns whether nothing changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of changed files.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns one patch for all files; see [`FileChange::git_patch`]. Deletions come first, so that a file
    /// can make room for a folder.
    pub fn git_patch(&self, prefix: &str) -> Vec<u8> {
        let (deleted, others): (Vec<_>, Vec<_>) =
            self.0.iter().partition(|change| change.operation() == Operation::Delete);
        deleted.into_iter().chain(others).flat_map(|change| change.git_patch(prefix)).collect()
    }
}

impl<'a> IntoIterator for &'a ChangeSet {
    type Item = &'a FileChange;
    type IntoIter = std::slice::Iter<'a, FileChange>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_programs_read_is_seen_through_other_characters() {
        let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
        for (content, text) in [
            (b"to\0uch pwned\n".to_vec(), "touch pwned"),
            (wide("touch pwn\u{e9}d\n"), "touch pwn"),
            ([b"\xff\xfe".as_slice(), &wide("touch pwn\u{e9}d\n")].concat(), "touch pwn\u{e9}d"),
            (b"touch pwned\n".to_vec(), "touch pwned"),
        ] {
            let state = FileState { content: content.as_slice().into(), mode: Mode::Regular };
            let path = WorkspacePath::parse("logo.png").expect("a path");
            let change = FileChange::new(path, None, Some(state)).expect("a change");
            assert!(change.readings().iter().any(|reading| reading.contains(text)), "{text}");
            assert!(change.line_counts().added > 0, "{text}");
        }
    }
}
