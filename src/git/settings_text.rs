//! The text of one configuration file, read as Git reads it.

use gix_config::parse::{Error, EventRef, Events, SectionRef};
use gix_config::value::normalize;

/// One setting, as it stands in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The section in lower case and the subsection as written: `remote.origin`.
    pub(super) section: String,
    /// The key in lower case.
    pub(super) key: String,
    /// The value without quotes and escapes; a key that stands alone has the value `true`.
    pub(super) value: String,
}

impl Setting {
    /// Returns whether the setting stands in this section, of whatever subsection.
    pub(super) fn is_in(&self, section: &str) -> bool {
        self.section.split('.').next() == Some(section)
    }
}

/// Returns the settings of a file in its order. Bytes that are no text are replaced, because the settings beside them count
/// all the same.
pub(super) fn parse(bytes: &[u8]) -> Result<Vec<Setting>, Error> {
    let text = String::from_utf8_lossy(bytes);
    let events = Events::from_bytes(text.as_bytes(), None)?;
    Ok(events.sections().flat_map(settings).collect())
}

fn settings(section: SectionRef<'_>) -> Vec<Setting> {
    let name = header(section.header());
    let (mut found, mut key, mut raw, mut is_alone) = (Vec::new(), String::new(), Vec::new(), true);
    for event in section.body() {
        match event {
            EventRef::SectionValueName(name) => {
                key = name.to_string().to_ascii_lowercase();
                (raw, is_alone) = (Vec::new(), true);
            }
            EventRef::KeyValueSeparator => is_alone = false,
            EventRef::ValueNotDone(part) => raw.extend_from_slice(part),
            EventRef::Value(part) | EventRef::ValueDone(part) => {
                raw.extend_from_slice(part);
                let value = if is_alone { "true".to_owned() } else { normalize(&raw).to_string() };
                found.push(Setting { section: name.clone(), key: key.clone(), value });
            }
            _ => {}
        }
    }
    found
}

/// Returns the name of a section as Git joins it with keys. What stands behind a dot has no case, what stands in quotes has.
fn header(event: EventRef<'_>) -> String {
    let EventRef::SectionHeader { name, separator, subsection_name } = event else { return String::new() };
    let name = name.to_string().to_ascii_lowercase();
    let Some(below) = subsection_name.map(ToString::to_string) else { return name };
    let is_quoted = separator.is_none_or(|separator| *separator != ".");
    format!("{name}.{}", if is_quoted { below } else { below.to_ascii_lowercase() })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Returns the settings as Git lists them; `None` if it refuses the file.
    fn as_git_reads(bytes: &[u8]) -> Option<Vec<Setting>> {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("config"), bytes).expect("a file");
        let mut git = Command::new("git");
        let git = git.args(["config", "--file", "config", "--list", "-z"]).current_dir(dir.path());
        let output = git.output().expect("git");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let setting = |entry: &str| {
            let (name, value) = entry.split_once('\n').unwrap_or((entry, "true"));
            let (section, key) = name.rsplit_once('.').expect("a name with a dot");
            Setting { section: section.to_owned(), key: key.to_owned(), value: value.to_owned() }
        };
        output.status.success().then(|| text.split_terminator('\0').map(setting).collect())
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        for text in [
            &b"# a comment = x\n[Core]\n\tAutoCRLF = input\n[remote \"Origin\"]\n\turl = \"https://host/o/r\"\n"[..],
            b"[core] hooksPath = .husky/_",
            b"[core]\n\thooksPath = .husky/_ # by husky\n\tbare\n\teditor=\n",
            b"[core]\n\thooksPath = \".hu#sky\"/_ ; a comment\r\n\tbare = no\r\n",
            b"[core]\n\thooksPath = .hus\\\nky/_\n\tx = a  \\\n  b  \\\n\n\ty = \"c \"\\\r\nd\n",
            b"[core]\n\thooksPath = \"a \\\"b\\\" \\\\c\\t\"\n",
            b"[a \"x]y\"]\nk = v\n[CORE]\nHOOKSPATH=h\n[a \"q\\\"\\\\\\z\"]k=v\n[A.B.C] k = 1\n",
            // A comment does not continue, and an escaped backslash continues nothing.
            b"[core]\n\t# C:\\hooks\\\n\thooksPath = .husky\n",
            b"[core]\n\tx = y ; C:\\\n\thooksPath = .husky\n\tz = C:\\\\\n\tlast = 1\n",
            b"[extensions]\n\tworktreeConfig\n\tobjectFormat = sha256 # c\n",
            b"\xef\xbb\xbf[user]\n\tname = me\n",
            b"[user]\n\tname = J\xf6rg\n\temail = j@host\n",
            b"[core]\n\thooksPath = at the end\\",
            b"",
        ] {
            let shown = String::from_utf8_lossy(text);
            let git = as_git_reads(text).unwrap_or_else(|| panic!("git refuses {shown}"));
            assert_eq!(parse(text).expect(&shown), git, "{shown}");
        }
    }

    #[test]
    fn what_git_refuses_is_refused_with_its_line() {
        for (text, line) in [
            (&b"[core]\n\tbare = false\n[core\n"[..], 3),
            (b"[core]\n\thooksPath = \"open\n", 2),
            (b"[core]\n\thooksPath = a\\xb\n", 2),
            (b"[core]\n\thooks_path = a\n", 2),
            (b"[co re]\n", 1),
            (b"[core]\n<<<<<<< HEAD\n", 2),
        ] {
            let shown = String::from_utf8_lossy(text);
            assert_eq!(as_git_reads(text), None, "{shown}");
            assert_eq!(parse(text).expect_err(&shown).line_number(), line, "{shown}");
        }
    }
}
