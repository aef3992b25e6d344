//! Headers of a unified diff: which file a part of it is about.

use super::parse::ParseError;
use workspace::WorkspacePath;

/// Name in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// `/dev/null`.
    Nothing,
    /// A file.
    File(String),
}

/// Names that the headers of one file give.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) old: Option<Name>,
    pub(super) new: Option<Name>,
    /// Old and new name of a file that is renamed.
    pub(super) renamed: (Option<String>, Option<String>),
}

impl Header {
    /// Returns the name of the file, the new one if they differ.
    pub(super) fn file(&self) -> Option<&str> {
        [&self.new, &self.old].into_iter().find_map(|name| match name {
            Some(Name::File(file)) => Some(file.as_str()),
            _ => None,
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the file and, if it is renamed, its new name, as paths in the repository. Git puts `a/` and `b/` before
    /// names; `exists` tells such a prefix from a folder of that name.
    pub(super) fn paths(&self, exists: &dyn Fn(&str) -> bool) -> Option<(String, Option<String>)> {
        if let (Some(from), Some(to)) = &self.renamed {
            return Some((from.clone(), Some(to.clone())));
        }
        let plain = |name: &Option<Name>, prefix: &str| match name {
            Some(Name::File(file)) => match file.strip_prefix(prefix) {
                Some(below) if !exists(file) || exists(below) => Some(below.to_owned()),
                _ => Some(file.clone()),
            },
            _ => None,
        };
        match (plain(&self.old, "a/"), plain(&self.new, "b/")) {
            (Some(old), Some(new)) if old != new => {
                // Tools other than Git compare a copy (`file.orig`) with the file.
                if exists(&new) { Some((new, None)) } else { Some((old, Some(new))) }
            }
            (old, new) => Some((new.or(old)?, None)),
        }
    }

    /// Checks that every name in the header is the file of the call, with or without a leading folder such as
    /// `a/`.
    pub(super) fn check(&self, path: &WorkspacePath) -> Result<(), ParseError> {
        for name in [&self.old, &self.new] {
            let Some(Name::File(named)) = name else { continue };
            let whole = WorkspacePath::parse(named)?;
            let below = named.split_once('/').and_then(|(_, below)| WorkspacePath::parse(below).ok());
            if whole != *path && below.as_ref() != Some(path) {
                return Err(ParseError::OtherFile { named: named.clone(), path: path.to_string() });
            }
        }
        Ok(())
    }
}

/// Returns whether a line is one of Git's headers between files that carry nothing needed here.
pub(super) fn is_header(line: &str) -> bool {
    ["diff ", "index ", "new file mode", "deleted file mode", "similarity ", "rename ", "Binary files", "\\ "]
        .iter()
        .any(|start| line.starts_with(start))
}

/// Refuses Git's extended headers that ask for more than a change of content.
pub(super) fn extended(line: &str) -> Result<(), ParseError> {
    let unsupported = [
        ("copy ", "copies a file"),
        ("old mode ", "changes a mode"),
        ("new file mode 100755", "creates an executable file"),
        ("new file mode 120000", "creates a link"),
        ("GIT binary patch", "is binary"),
        ("Binary files ", "is binary"),
    ];
    match unsupported.iter().find(|(start, _)| line.starts_with(start)) {
        Some((_, what)) => Err(ParseError::Unsupported(what)),
        None => Ok(()),
    }
}

/// Parses the name after `--- ` or `+++ `, without the date behind a tab, and unquoted.
pub(super) fn name(text: &str) -> Name {
    let text = text.split('\t').next().unwrap_or(text).trim_end();
    let name = if text.starts_with('"') { unquoted(text) } else { text.to_owned() };
    if name == "/dev/null" { Name::Nothing } else { Name::File(name) }
}

/// Decodes a name in Git's C-like quotes.
pub(super) fn unquoted(text: &str) -> String {
    let inner = text.trim_matches('"').as_bytes();
    let mut bytes = Vec::with_capacity(inner.len());
    let mut at = 0;
    while at < inner.len() {
        let escaped = inner.get(at + 1).filter(|_| inner[at] == b'\\');
        let Some(escaped) = escaped else {
            bytes.push(inner[at]);
            at += 1;
            continue;
        };
        let octal = inner.get(at + 1..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
        match (escaped, octal.and_then(|digits| u8::from_str_radix(digits, 8).ok())) {
            (b'0'..=b'7', Some(byte)) => {
                bytes.push(byte);
                at += 4;
                continue;
            }
            (b'n', _) => bytes.push(b'\n'),
            (b't', _) => bytes.push(b'\t'),
            (b'r', _) => bytes.push(b'\r'),
            (other, _) => bytes.push(*other),
        }
        at += 2;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
