//! The lines of the files that a pull request changes, as they are at its head: by them, a finding is known to be still there.

use std::collections::{HashMap, HashSet};

use crate::event::{Finding, Fingerprint};

/// Identities of all lines of the changed files.
pub struct ChangedLines {
    /// Those of each file, by the identity of its path; `None` if nobody can say what it contains.
    files: HashMap<String, Option<Vec<String>>>,
    all: HashSet<String>,
}

impl ChangedLines {
    /// Reads the files: pairs of the path from the repository's root, and the content, if it is known. A file that has been
    /// removed has no content, which is known; in one that is no text there is no line that a finding was on.
    pub fn of<'a>(files: impl Iterator<Item = (&'a str, Option<Vec<u8>>)>) -> Self {
        let identities = |content: Vec<u8>| -> Vec<String> {
            let text = String::from_utf8_lossy(&content);
            text.lines().map(|line| Fingerprint::line_of(&Finding::place_of(line))).collect()
        };
        let files: HashMap<String, Option<Vec<String>>> =
            files.map(|(path, content)| (Fingerprint::file_of(path), content.map(identities))).collect();
        let all = files.values().flatten().flatten().cloned().collect();
        Self { files, all }
    }

    /// Returns whether the pull request changes a file, by the identity of its path.
    pub fn has_file(&self, file: &str) -> bool {
        self.files.contains_key(file)
    }

    /// Returns whether a finding is an earlier one, word for word: on the same line of the same file, which may have another name.
    pub fn is_same(&self, earlier: &Fingerprint, finding: &Fingerprint) -> bool {
        (&earlier.line, &earlier.message) == (&finding.line, &finding.message)
            // A file that has another name now is not there under the old one.
            && (earlier.file == finding.file || finding.has_line() && !self.has_file(&earlier.file))
    }

    /// Returns whether the line of a finding is no longer there, neither in its file nor in another one.
    pub fn is_gone(&self, finding: &Fingerprint) -> bool {
        let is_known = match self.files.get(&finding.file) {
            Some(lines) => lines.is_some(),
            // The file may have another name now.
            None => self.files.values().all(Option::is_some),
        };
        is_known && !self.all.contains(&finding.line)
    }

    /// Returns the number, from 1, of the first line of a file that has the text of a finding's line.
    pub fn number_of(&self, path: &str, line: &str) -> Option<u32> {
        let lines = self.files.get(&Fingerprint::file_of(path))?.as_ref()?;
        u32::try_from(lines.iter().position(|own| own == line)? + 1).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(file: &str, line: &str) -> Fingerprint {
        Fingerprint {
            file: Fingerprint::file_of(file),
            line: Fingerprint::line_of(line),
            message: String::new(),
        }
    }

    #[test]
    fn finding_is_the_same_under_another_name_of_its_file() {
        let lines = ChangedLines::of([("a.rs", Some(b"one".to_vec()))].into_iter());
        for (earlier, now, is_same) in [
            (finding("a.rs", "one"), finding("a.rs", " one "), true),
            (finding("a.rs", "one"), finding("a.rs", "two"), false),
            (finding("old.rs", "one"), finding("a.rs", "one"), true),
            (finding("a.rs", "one"), finding("b.rs", "one"), false),
            // About no file.
            (finding("", ""), finding("", ""), true),
            (finding("old.rs", ""), finding("", ""), false),
        ] {
            assert_eq!(lines.is_same(&earlier, &now), is_same, "{earlier} {now}");
        }
        let reworded = Fingerprint { message: "other".to_owned(), ..finding("a.rs", "one") };
        assert!(!lines.is_same(&finding("a.rs", "one"), &reworded));
    }

    #[test]
    fn line_is_gone_where_that_is_known() {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        let picture = Some(vec![0x89, b'P', b'N', b'G', 0xff, 0]);
        let known =
            || vec![("a.rs", text("one\n  two\n")), ("b.rs", text("three")), ("c.png", picture.clone())];
        let lines = ChangedLines::of(known().into_iter());
        for (file, line, is_gone) in [
            ("a.rs", "two", false),
            ("a.rs", "four", true),
            // Moved, renamed, and in a file that is no longer changed.
            ("a.rs", "three", false),
            ("old.rs", "two", false),
            ("old.rs", "four", true),
            ("c.png", "four", true),
        ] {
            assert_eq!(lines.is_gone(&finding(file, line)), is_gone, "{file} {line}");
        }
        assert_eq!(lines.number_of("a.rs", &Fingerprint::line_of("two")), Some(2));
        // What nobody can read shows nothing about what is in it, and all about what is in others.
        let lines = ChangedLines::of(known().into_iter().chain([("d.rs", None)]));
        for (file, is_gone) in [("a.rs", true), ("d.rs", false), ("old.rs", false)] {
            assert_eq!(lines.is_gone(&finding(file, "four")), is_gone, "{file}");
        }
    }
}
