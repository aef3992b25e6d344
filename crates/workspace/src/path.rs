//! Workspace paths: [`WorkspacePath`] is the only way to name a file, and [`ResolvedPath`] the only way to
//! open one.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unicode_normalization::UnicodeNormalization;

use sanitize::invisible::is_invisible;

/// Maximum length of a file name in common file systems, in bytes.
const MAX_NAME: usize = 255;

/// A path inside the workspace: relative, separated by `/`, and free of `.` and `..`.
///
/// It says nothing about symbolic links; only those in a [`ResolvedPath`] have been followed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct WorkspacePath(String);

/// Reasons why a text does not name a path inside the workspace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A path that is absolute or relative to a home folder, or that leaves the workspace through `..` or a
    /// symbolic link.
    #[error("ACCESS DENIED: path escapes the workspace: {0}")]
    Escapes(String),
    /// An empty text.
    #[error("the path is empty; name a file relative to the workspace, or \".\" for its root")]
    Empty,
    /// A text with a NUL byte, which no file name can contain.
    #[error("ACCESS DENIED: the path contains a NUL byte")]
    Nul,
    /// A path with a name that is longer than file systems allow; holds its length in bytes.
    #[error("a name in the path is {0} bytes long; the limit is 255")]
    NameTooLong(usize),
}

impl WorkspacePath {
    /// Returns the path of the workspace's root.
    pub const fn root() -> Self {
        Self(String::new())
    }

    /// Parses a path as a model or a configuration file writes it: `.` and `..` are resolved by text, and
    /// repeated separators are allowed.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        if text.is_empty() {
            return Err(PathError::Empty);
        }
        if text.contains('\0') {
            return Err(PathError::Nul);
        }
        let escapes = || PathError::Escapes(text.to_owned());
        let drive = text.as_bytes().get(1) == Some(&b':') && text.as_bytes()[0].is_ascii_alphabetic();
        if text.starts_with('/') || (cfg!(windows) && drive) {
            return Err(escapes());
        }
        let mut names: Vec<&str> = Vec::new();
        for name in text.split(SEPARATORS) {
            match name {
                "" | "." => {}
                ".." => {
                    names.pop().ok_or_else(escapes)?;
                }
                name if name.len() > MAX_NAME => return Err(PathError::NameTooLong(name.len())),
                name => names.push(name),
            }
        }
        // `~` has no meaning in the file system's grammar, but whoever writes it means a home folder; two
        // backslashes mean a network share.
        if names.first().is_some_and(|name| *name == "~" || name.starts_with('\\')) {
            return Err(escapes());
        }
        Ok(Self(names.join("/")))
    }

    /// Returns the path as text; `"."` for the root.
    pub fn as_str(&self) -> &str {
        if self.0.is_empty() { "." } else { &self.0 }
    }

    /// Returns whether this is the root of the workspace.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the names in the path from the root downwards; none for the root.
    pub fn names(&self) -> impl DoubleEndedIterator<Item = &str> {
        self.0.split('/').filter(|name| !name.is_empty())
    }

    /// Returns the last name, or `None` for the root.
    pub fn file_name(&self) -> Option<&str> {
        self.names().next_back()
    }

    /// Returns the folder that contains this path, or `None` for the root.
    pub fn parent(&self) -> Option<Self> {
        if self.is_root() {
            return None;
        }
        Some(Self(self.0.rsplit_once('/').map_or(String::new(), |(parent, _)| parent.to_owned())))
    }

    /// Returns the path as other file systems may read it: they fold case, ignore invisible characters
    /// (HFS+), take a letter with its accent for the two of them, ignore dots and spaces at the end of a name and whatever follows a colon (NTFS), and also know
    /// long names by short ones (`GIT~1`). Two paths that name one file on any of them give the same result.
    pub fn folded(&self) -> String {
        let names = self.0.split(['/', '\\']).map(folded_name);
        names.filter(|name| !name.is_empty()).collect::<Vec<_>>().join("/")
    }

    /// Returns the folders above this path as text, the innermost first, without the root.
    pub(crate) fn above(&self) -> impl Iterator<Item = &str> {
        self.0.rmatch_indices('/').map(|(at, _)| &self.0[..at])
    }

    /// Returns the path of an entry in this folder. `name` must be a single name.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        debug_assert!(!name.contains('/') && !name.is_empty());
        if self.is_root() { Self(name.to_owned()) } else { Self(format!("{}/{name}", self.0)) }
    }

    /// Returns whether this path is `folder` or is below it.
    pub fn is_within(&self, folder: &Self) -> bool {
        folder.is_root()
            || self.0 == folder.0
            || self.0.strip_prefix(&folder.0).is_some_and(|rest| rest.starts_with('/'))
    }

    /// Returns the path relative to `folder`, or `None` if it is not below it.
    pub fn relative_to(&self, folder: &Self) -> Option<&str> {
        if folder.is_root() {
            return Some(&self.0);
        }
        self.0.strip_prefix(&folder.0)?.strip_prefix('/')
    }
}

/// Returns a text as file systems compare names that fold case and composed characters, and ignore invisible ones.
pub(super) fn folded_text(text: &str) -> String {
    let visible: String = text.chars().filter(|c| !is_invisible(*c)).collect();
    // Through upper case, so that characters with the same upper case (`ſ` and `s`) are folded into one.
    visible.to_uppercase().to_lowercase().nfd().collect()
}

/// The beginnings of 8.3 short names (`GIT~1`), with the long names whose protection they would evade.
const SHORT_NAMES: [(&str, &str); 5] = [
    ("git~", ".git"),
    ("github~", ".github"),
    ("workfl~", "workflows"),
    ("action~", "actions"),
    ("archit~", "architect.yml"),
];

fn folded_name(name: &str) -> String {
    // Most names, of which a run folds those of the whole checkout.
    let is_plain = name.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let folded = if is_plain { name.to_ascii_lowercase() } else { folded_text(name) };
    let stem = folded.split(':').next().unwrap_or_default().trim_end_matches(['.', ' ']);
    let short = SHORT_NAMES.iter().find(|(start, _)| {
        let number = stem.strip_prefix(start).map(|rest| rest.trim_end_matches(".yml"));
        number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
    });
    short.map_or(stem, |(_, long)| long).to_owned()
}

#[cfg(not(windows))]
const SEPARATORS: &[char] = &['/'];
#[cfg(windows)]
const SEPARATORS: &[char] = &['/', '\\'];

impl fmt::Display for WorkspacePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl TryFrom<String> for WorkspacePath {
    type Error = PathError;

    fn try_from(text: String) -> Result<Self, PathError> {
        Self::parse(&text)
    }
}

// Sound because equality, order, and hash of a path are those of its text.
impl std::borrow::Borrow<str> for WorkspacePath {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl From<WorkspacePath> for String {
    fn from(path: WorkspacePath) -> Self {
        path.as_str().to_owned()
    }
}

/// A path in which every symbolic link has been followed and found to stay inside the workspace.
///
/// Only [`super::Workspace::resolve`] creates one for a path from outside of this module. Opening it refuses
/// links, so a folder that is replaced by a link after the check makes the call fail instead of leading it
/// outside.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResolvedPath(pub(super) WorkspacePath);

impl std::ops::Deref for ResolvedPath {
    type Target = WorkspacePath;

    fn deref(&self) -> &WorkspacePath {
        &self.0
    }
}

impl fmt::Display for ResolvedPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn plain_paths_are_normalised() {
        for (text, expected) in [
            ("src/main.rs", "src/main.rs"),
            ("./src//main.rs", "src/main.rs"),
            ("src/../lib/./a", "lib/a"),
            ("dir/", "dir"),
            (".", "."),
            ("a/..", "."),
            ("...", "..."),
            ("a b/ü\u{308}", "a b/ü\u{308}"),
            ("~backup", "~backup"),
            (" /", " "),
        ] {
            assert_eq!(WorkspacePath::parse(text).map(String::from), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn spellings_of_other_file_systems_are_one_path() {
        for (path, expected) in [
            ("src/Main.RS", "src/main.rs"),
            (".git/config", ".git/config"),
            (".GIT/config", ".git/config"),
            ("git~1/config", ".git/config"),
            ("GIT~2/config", ".git/config"),
            (".git::$INDEX_ALLOCATION/config", ".git/config"),
            (".git:x/config", ".git/config"),
            (".git /config", ".git/config"),
            (".git. . /config", ".git/config"),
            (".git\\config", ".git/config"),
            (".g\u{200c}it/config", ".git/config"),
            ("\u{feff}.git\u{fe0f}/config", ".git/config"),
            ("sub/.G\u{130}T", "sub/.gi\u{307}t"),
            (".g\u{131}t", ".git"),
            ("github~1/workfl~1/x.yml", ".github/workflows/x.yml"),
            (".github/workflow\u{17f}/x.yml", ".github/workflows/x.yml"),
            (".github/wor\u{212a}flows/x.yml", ".github/workflows/x.yml"),
            ("git~/x", "git~/x"),
            ("git~one/x", "git~one/x"),
            ("my.git/x", "my.git/x"),
            (".gitignore", ".gitignore"),
            ("..\u{200b}", ""),
            ("caf\u{e9}", "cafe\u{301}"),
            ("CAFE\u{301}", "cafe\u{301}"),
        ] {
            let folded = WorkspacePath::parse(path).map(|path| path.folded());
            assert_eq!(folded.as_deref(), Ok(expected), "{path:?}");
        }
    }

    #[test]
    fn paths_that_leave_are_refused() {
        for text in [
            "..",
            "../x",
            "a/../../x",
            "/etc/passwd",
            "//x",
            "~",
            "~/x",
            "./~",
            "a/../~/x",
            "\\\\host\\share",
        ] {
            assert!(matches!(WorkspacePath::parse(text), Err(PathError::Escapes(_))), "{text}");
        }
        assert_eq!(WorkspacePath::parse(""), Err(PathError::Empty));
        assert_eq!(WorkspacePath::parse("a\0b"), Err(PathError::Nul));
        assert_eq!(WorkspacePath::parse(&"x".repeat(300)), Err(PathError::NameTooLong(300)));
    }

    proptest! {
        #[test]
        fn whatever_parses_stays_inside_and_is_stable(text in "[a./~ \\x00ü]{0,24}") {
            if let Ok(path) = WorkspacePath::parse(&text) {
                prop_assert!(path.names().all(|name| name != ".." && name != "." && !name.contains('\0')));
                prop_assert_eq!(WorkspacePath::parse(path.as_str()), Ok(path));
            }
        }
    }
}
