//! Headers of a unified diff: which file a part of it is about.

use super::parse::{Effect, ParseError};
use workspace::WorkspacePath;

/// Name in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Name {
    /// `/dev/null`.
    Nothing,
    /// A file.
    File(String),
}

/// What a header says of the existence of a file, beside its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Existence {
    /// It is created.
    Created,
    /// It is deleted.
    Deleted,
    /// It is a link, and deleted.
    LinkDeleted,
    /// It is deleted, whatever it is.
    Discarded,
}

/// Names of the file that a part of a patch is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The file, by its old name if it is renamed.
    pub file: String,
    /// Its new name if it is renamed.
    pub moved_to: Option<String>,
    /// The name as it is written, where `a/` or `b/` before it may be a folder, and was taken for a prefix.
    pub written: Option<String>,
}

impl Named {
    fn file(file: String) -> Self {
        Self { file, moved_to: None, written: None }
    }
}

/// What the headers of one file say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) old: Option<Name>,
    pub(super) new: Option<Name>,
    /// Old and new name of a file that is renamed.
    pub(super) renamed: Option<(String, String)>,
    pub(super) existence: Option<Existence>,
    /// Both names as Git writes them in one line.
    pub(super) git: Option<String>,
    /// Old name of a file whose new one has not been read yet.
    pub(super) from: Option<String>,
    /// Whether its names are in marks such as `*** Update File:`, where nothing is put before them.
    pub(super) is_of_marks: bool,
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

    /// Returns the header with names, which Git leaves out for empty files, and what becomes of the file. Fails if its lines
    /// contradict each other.
    pub(super) fn completed(mut self) -> Result<(Self, Effect), ParseError> {
        if let (Some(existence), None, None) = (self.existence, &self.old, &self.new) {
            let (old, new) = self.git.as_deref().and_then(same_names).ok_or(ParseError::Unnamed)?;
            let names = match existence {
                Existence::Created => (Name::Nothing, Name::File(new)),
                _ => (Name::File(old), Name::Nothing),
            };
            (self.old, self.new) = (Some(names.0), Some(names.1));
        }
        if let (None, None, None, None) = (self.existence, &self.renamed, &self.old, &self.new)
            && let Some((old, new)) = self.git.as_deref().and_then(same_names)
        {
            (self.old, self.new) = (Some(Name::File(old)), Some(Name::File(new)));
        }
        let contradiction = |what| Err(ParseError::Contradiction(what));
        let nothing = Some(Name::Nothing);
        let effect = match (self.old == nothing, self.new == nothing, self.existence) {
            (false, false, None) => Effect::Change,
            (true, false, None | Some(Existence::Created)) => Effect::Create,
            (false, true, None | Some(Existence::Deleted)) => Effect::Delete,
            (false, true, Some(Existence::LinkDeleted)) => Effect::DeleteLink,
            (false, true, Some(Existence::Discarded)) => Effect::Discard,
            (true, true, _) => return contradiction("both names are `/dev/null`"),
            _ => return contradiction("whether the file is created, changed or deleted"),
        };
        if self.from.is_some() {
            return contradiction("there is `rename from`, but no `rename to`");
        }
        if let Some((from, to)) = &self.renamed {
            let is = |name: &Option<Name>, prefix: &str, renamed: &String| match name {
                Some(Name::File(file)) => {
                    file == renamed || file.strip_prefix(prefix) == Some(renamed.as_str())
                }
                Some(Name::Nothing) => false,
                None => true,
            };
            if !is(&self.old, "a/", from) || !is(&self.new, "b/", to) {
                return contradiction("`rename from` and `rename to` name other files than `---` and `+++`");
            }
        }
        Ok((self, effect))
    }

    /// Returns the name of the file if nothing is put before it: in a mark, and where Git writes the same name on both sides, as it does
    /// with `diff.noprefix`.
    fn unprefixed(&self) -> Option<&str> {
        let file = self.file()?;
        let is_same = || {
            if let (Some(Name::File(old)), Some(Name::File(new))) = (&self.old, &self.new) {
                return old == new;
            }
            let names = self.git.as_deref().and_then(same_names);
            names.is_some_and(|(old, new)| old == file && new == file)
        };
        (self.is_of_marks || is_same()).then_some(file)
    }

    /// Returns the file that is meant, as a path in the repository. Git puts `a/` and `b/` before names; `exists` distinguishes such a
    /// prefix from a folder of that name: it returns whether there is a file of a name, or a folder of one with `/` at its end.
    pub(super) fn paths(&self, exists: &dyn Fn(&str) -> bool) -> Result<Option<Named>, ParseError> {
        if let Some((from, to)) = &self.renamed {
            let (file, moved_to) = (from.clone(), Some(to.clone()));
            return Ok(Some(Named { file, moved_to, written: None }));
        }
        if let Some(written) = self.unprefixed() {
            let below = written.strip_prefix("a/").or(written.strip_prefix("b/"));
            // In a folder that there is, nothing else is meant.
            let is_meant = |below: &&str| !exists(&written[..2]) && exists(below);
            // What is deleted is not guessed.
            let is_changed = ![&self.old, &self.new].contains(&&Some(Name::Nothing));
            let below = below.filter(|_| is_changed).filter(is_meant);
            return Ok(Some(match below {
                Some(below) => Named { written: Some(written.to_owned()), ..Named::file(below.to_owned()) },
                None => Named::file(written.to_owned()),
            }));
        }
        if let (Some((old, new)), Some(file)) = (self.git.as_deref().and_then(same_names), self.file())
            && let (Some(name), true) = (old.strip_prefix("a/"), [&old, &new].contains(&&file.to_owned()))
        {
            let written = (exists(file) && !exists(name)).then(|| file.to_owned());
            return Ok(Some(Named { written, ..Named::file(name.to_owned()) }));
        }
        if let (Some(Name::File(old)), Some(Name::File(new))) = (&self.old, &self.new) {
            let below = |(before, after): &(&str, &str)| {
                old.strip_prefix(before).filter(|name| new.strip_prefix(after) == Some(*name))
            };
            if let Some(name) = MNEMONICS.iter().find_map(below) {
                return Ok(Some(Named::file(name.to_owned())));
            }
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
                // Tools other than Git compare a copy (`file.orig`, `file~`) with the file.
                let (short, long) = if old.len() < new.len() { (&old, &new) } else { (&new, &old) };
                match long.strip_prefix(short.as_str()) {
                    Some(ending) if !ending.contains('/') => Ok(Some(Named::file(short.clone()))),
                    _ => Err(ParseError::TwoNames(old, new)),
                }
            }
            (old, new) => Ok(new.or(old).map(Named::file)),
        }
    }

    /// Checks that the header is about the file of the call: that it names no other, but for a leading folder such as `a/`
    /// and for the new name of a file that is renamed. Where nothing is put before names, one that `exists` is
    /// another file.
    pub(super) fn check(
        &self,
        path: &WorkspacePath,
        exists: &dyn Fn(&str) -> bool,
    ) -> Result<(), ParseError> {
        let other =
            |named: &str| Err(ParseError::OtherFile { named: named.to_owned(), path: path.to_string() });
        if let Some((from, _)) = &self.renamed {
            return if WorkspacePath::parse(from)? == *path { Ok(()) } else { other(from) };
        }
        for name in [&self.old, &self.new] {
            let Some(Name::File(named)) = name else { continue };
            let whole = WorkspacePath::parse(named)?;
            let below = named.split_once('/').and_then(|(_, below)| WorkspacePath::parse(below).ok());
            // A name without a folder leaves it to the call.
            let own = path.as_str().rsplit('/').next();
            let is_name =
                |named: &WorkspacePath| !named.as_str().contains('/') && Some(named.as_str()) == own;
            let is_short =
                is_name(&whole) || below.as_ref().is_some_and(|below| is_name(below) && is_prefixed(named));
            let is_another = || self.unprefixed() == Some(named) && exists(named);
            if whole != *path && (below.as_ref() != Some(path) && !is_short || is_another()) {
                return other(named);
            }
        }
        Ok(())
    }
}

/// What Git puts before the old and the new name if it is told to say what is compared: the commit, the index, the work tree, an object.
const MNEMONICS: [(&str, &str); 5] = [("i/", "w/"), ("c/", "i/"), ("c/", "w/"), ("o/", "w/"), ("1/", "2/")];

/// Returns whether a name has one of the prefixes that Git puts before names.
fn is_prefixed(name: &str) -> bool {
    name.starts_with("a/") || name.starts_with("b/")
}

/// Returns the names in Git's line `diff --git a/NAME b/NAME` if they are one name, which is how they are told apart: a name
/// may contain blanks.
fn same_names(text: &str) -> Option<(String, String)> {
    let (old, rest) = text.split_at_checked(text.len() / 2)?;
    let (old, new) = (unquoted_if_quoted(old), unquoted_if_quoted(rest.strip_prefix(' ')?));
    let is_same =
        old == new || old.strip_prefix("a/").is_some_and(|name| new.strip_prefix("b/") == Some(name));
    is_same.then_some((old, new))
}

/// Returns whether a line is one of Git's headers between files that carry nothing needed here.
pub(super) fn is_header(line: &str) -> bool {
    [
        "diff ",
        "index ",
        "new file mode",
        "deleted file mode",
        "old mode",
        "new mode",
        "similarity ",
        "dissimilarity ",
        "rename ",
        "copy ",
        "Binary files",
        "GIT binary patch",
        "\\ ",
    ]
    .iter()
    .any(|start| line.starts_with(start))
}

/// Reads one of Git's extended headers. Refuses what asks for more than a change of content.
pub(super) fn extended(line: &str, header: &mut Header) -> Result<(), ParseError> {
    let unsupported = [
        ("copy ", "copies a file"),
        ("old mode ", "changes a mode"),
        ("new mode ", "changes a mode"),
        ("new file mode 100755", "creates an executable file"),
        ("new file mode 120000", "creates a link"),
        ("new file mode 160000", "changes a submodule"),
        ("deleted file mode 160000", "changes a submodule"),
        ("GIT binary patch", "is binary"),
        ("Binary files ", "is binary"),
        ("diff --cc ", "is a combined diff"),
        ("diff --combined ", "is a combined diff"),
    ];
    if let Some((_, what)) = unsupported.iter().find(|(start, _)| line.starts_with(start)) {
        return Err(ParseError::Unsupported(what));
    }
    if let Some(names) = line.strip_prefix("diff --git ") {
        header.git = Some(names.to_owned());
    } else if let Some(from) = line.strip_prefix("rename from ") {
        header.from = Some(unquoted_if_quoted(from));
    } else if let Some(to) = line.strip_prefix("rename to ") {
        let from = header.from.take();
        let from = from.ok_or(ParseError::Contradiction("there is `rename to`, but no `rename from`"))?;
        header.renamed = Some((from, unquoted_if_quoted(to)));
    } else if line.starts_with("new file mode ") {
        header.existence = Some(Existence::Created);
    } else if let Some(mode) = line.strip_prefix("deleted file mode ") {
        let is_link = mode.trim() == "120000";
        header.existence = Some(if is_link { Existence::LinkDeleted } else { Existence::Deleted });
    } else if line.starts_with("index ") {
        match line.trim_end().rsplit(' ').next() {
            Some("120000") => return Err(ParseError::Unsupported("changes where a link leads")),
            Some("160000") => return Err(ParseError::Unsupported("changes a submodule")),
            _ => {}
        }
    }
    Ok(())
}

/// Parses the name after `--- ` or `+++ `, without the date behind a tab, and unquoted. Git puts a tab behind a name with
/// blanks; without one, blanks at the end are nobody's.
pub(super) fn name(text: &str) -> Name {
    let text = text.split_once('\t').map_or_else(|| text.trim_end(), |(name, _)| name);
    let name = unquoted_if_quoted(text);
    if name == "/dev/null" { Name::Nothing } else { Name::File(name) }
}

fn unquoted_if_quoted(name: &str) -> String {
    if name.starts_with('"') { unquoted(name) } else { name.to_owned() }
}

/// Decodes a name in Git's C-like quotes.
fn unquoted(text: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sections;

    #[test]
    fn names_are_read_with_the_prefixes_that_their_format_has() {
        let marks = |line: &str| format!("*** Begin Patch\n*** {line}\n*** End Patch\n");
        let update = |name: &str| marks(&format!("Update File: {name}\n@@\n-x\n+y"));
        let diff = |old: &str, new: &str| format!("--- {old}\n+++ {new}\n@@ -1 +1 @@\n-x\n+y\n");
        let created = "diff --git a/h b/h\nnew file mode 100644\n--- /dev/null\n+++ b/h\n@@ -0,0 +1 @@\n+x\n";
        let deleted = |git: &str| format!("diff --git {git}\n--- a/h\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n");
        for (text, files, file, written) in [
            (marks("Delete File: a/h"), &["a/h", "h"][..], "a/h", None),
            (marks("Delete File: a/h"), &["h"], "a/h", None),
            (marks("Delete File: a/h"), &[], "a/h", None),
            (marks("Add File: b/new\n+x"), &[], "b/new", None),
            (marks("Add File: b/new\n+x"), &["new"], "b/new", None),
            (update("a/h"), &["a/h", "h"], "a/h", None),
            (update("b/h"), &["b/h"], "b/h", None),
            (update("b/h"), &["h"], "h", Some("b/h")),
            (update("b/h"), &["b/", "h"], "b/h", None),
            (update("i/h"), &["h"], "i/h", None),
            // Git writes one name on both sides if it is told to put nothing before it.
            (diff("b/h", "b/h"), &["b/h", "h"], "b/h", None),
            (diff("a/h", "a/h"), &["a/h", "h"], "a/h", None),
            (diff("a/h", "a/h"), &["h"], "h", Some("a/h")),
            (created.to_owned(), &["b/h"], "h", Some("b/h")),
            (deleted("a/h a/h"), &["a/h", "h"], "a/h", None),
            (deleted("a/h b/h"), &["a/h", "h"], "h", None),
            (deleted("a/h b/h"), &["a/h"], "h", Some("a/h")),
            (diff("a/h", "b/h"), &["a/h", "b/h", "h"], "h", None),
            (diff("a/h", "b/h"), &[], "h", None),
            (diff("a/h", "h"), &["h"], "h", None),
            (diff("i/h", "w/h"), &["h"], "h", None),
            (diff("h.orig", "h"), &["h"], "h", None),
        ] {
            let section = &sections(&text).expect("a patch")[0];
            let exists = |name: &str| files.iter().any(|file| file.starts_with(name));
            let named = section.paths(&exists).expect("a name").expect("a name");
            let found = (named.file.as_str(), named.written.as_deref());
            assert_eq!(found, (file, written), "{text} {files:?}");
        }
    }

    #[test]
    fn a_file_of_another_name_is_none_of_the_call() {
        let path = WorkspacePath::parse("h").expect("a path");
        for (text, files, is_own) in [
            ("*** Delete File: a/h", &["h"][..], true),
            ("*** Delete File: a/h", &["a/h", "h"], false),
            ("*** Delete File: src/h", &["src/h", "h"], false),
            ("--- a/h\n+++ b/h\n@@ -1 +1 @@\n-x\n+y\n", &["a/h", "h"], true),
            ("--- b/h\n+++ b/h\n@@ -1 +1 @@\n-x\n+y\n", &["b/h", "h"], false),
            ("--- b/h\n+++ b/h\n@@ -1 +1 @@\n-x\n+y\n", &["h"], true),
        ] {
            let section = &sections(text).expect("a patch")[0];
            let checked = section.check(&path, &|name| files.iter().any(|file| file.starts_with(name)));
            assert_eq!(checked.is_ok(), is_own, "{text} {files:?}");
        }
    }
}
