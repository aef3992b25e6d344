//! Repository configuration, read as data: none of it is ever obeyed.

use std::fs;
use std::path::{Path, PathBuf};

/// Maximum size of a configuration file, in bytes.
const MAX_SIZE: u64 = 1024 * 1024;

/// Maximum depth of files that include others, as in Git.
const MAX_DEPTH: usize = 10;

/// Settings in the order of the file, each followed by those of the files that it includes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    all: Vec<Setting>,
    /// Files that are included, under whatever condition, whether they exist or not.
    included: Vec<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// The section in lower case and the subsection as written: `remote.origin`.
    section: String,
    key: String,
    value: String,
}

impl Settings {
    /// Reads the configuration of a repository, that of its worktree, and the files that these include. `common` is the
    /// folder of the former, `git_dir` that of the latter. What cannot be read is left out.
    pub(super) fn read(common: &Path, git_dir: &Path) -> Self {
        let mut settings = Self::default();
        settings.add(&common.join("config"), 0);
        if settings.last("extensions", "worktreeconfig").is_some_and(|value| value != "false") {
            settings.add(&git_dir.join("config.worktree"), 0);
        }
        settings
    }

    fn add(&mut self, file: &Path, depth: usize) {
        let found = Self::parse(&small_text(file).unwrap_or_default());
        let folder = file.parent().unwrap_or(file);
        let included = found.of("include", "path").chain(found.of("includeif", "path"));
        let included: Vec<PathBuf> = included.map(|path| folder.join(path)).collect();
        self.all.extend(found.all);
        for path in included {
            // Files that include each other end here, and so do those that were read already.
            if depth < MAX_DEPTH && !self.included.contains(&path) {
                self.included.push(path.clone());
                self.add(&path, depth + 1);
            }
        }
    }

    fn parse(text: &str) -> Self {
        let mut section = String::new();
        let mut all = Vec::new();
        // A value may continue on the next line.
        let text = text.replace("\\\r\n", "").replace("\\\n", "");
        for line in text.lines().map(str::trim) {
            let mut rest = line;
            if let Some((header, after)) = line.strip_prefix('[').and_then(split_header) {
                section = match header.split_once([' ', '\t']) {
                    Some((name, below)) => {
                        format!("{}.{}", name.to_ascii_lowercase(), below.trim().trim_matches('"'))
                    }
                    None => header.to_ascii_lowercase(),
                };
                // A key may follow on the same line.
                rest = after.trim();
            }
            if let Some((key, value)) = rest.split_once('=').filter(|_| !rest.starts_with(['#', ';'])) {
                let key = key.trim().to_ascii_lowercase();
                all.push(Setting { section: section.clone(), key, value: unquoted(value) });
            }
        }
        Self { all, included: Vec::new() }
    }

    /// Returns the files that the settings include, under whatever condition, whether they exist or not.
    pub(super) fn included(&self) -> &[PathBuf] {
        &self.included
    }

    /// Returns all values of a key in a section, of whatever subsection.
    pub(super) fn of<'a>(&'a self, section: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
        let is_it = move |setting: &&Setting| {
            setting.section.split('.').next() == Some(section) && setting.key == key
        };
        self.all.iter().filter(is_it).map(|setting| setting.value.as_str())
    }

    /// Returns all values of a key, in whatever section.
    pub fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.all.iter().filter(move |setting| setting.key == key).map(|setting| setting.value.as_str())
    }

    /// Returns the effective value of a key, which is the last one.
    pub(super) fn last(&self, section: &str, key: &str) -> Option<&str> {
        let is_it = |setting: &&Setting| setting.section == section && setting.key == key;
        self.all.iter().rev().find(is_it).map(|setting| setting.value.as_str())
    }

    /// Returns the URL of the remote `origin`.
    pub fn origin(&self) -> Option<&str> {
        self.last("remote.origin", "url")
    }
}

/// Splits what follows `[` into the header of a section and what follows it.
fn split_header(line: &str) -> Option<(&str, &str)> {
    let mut is_quoted = false;
    let end = line.find(|letter| {
        is_quoted ^= letter == '"';
        letter == ']' && !is_quoted
    });
    end.map(|end| (&line[..end], &line[end + 1..]))
}

/// Returns a value without quotes, escapes and a comment behind it.
fn unquoted(written: &str) -> String {
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut letters = written.trim().chars();
    while let Some(letter) = letters.next() {
        match letter {
            '"' => is_quoted = !is_quoted,
            '#' | ';' if !is_quoted => break,
            '\\' => value.extend(letters.next().map(|escaped| match escaped {
                'n' => '\n',
                't' => '\t',
                other => other,
            })),
            other => value.push(other),
        }
    }
    value.trim_end().to_owned()
}

/// Reads a regular file of at most [`MAX_SIZE`]; reading a device or a pipe might never end.
fn small_text(path: &Path) -> Option<String> {
    let metadata = fs::metadata(path).ok()?;
    let is_sensible = metadata.is_file() && metadata.len() <= MAX_SIZE;
    is_sensible.then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_keys_and_values_are_told_apart() {
        let settings = Settings::parse(
            "# a comment = x\n[Core]\n\tAutoCRLF = input\n[remote \"origin\"]\n\turl = \"https://host/o/r\"\n\
             [remote \"other\"]\n\turl = ssh://host/o/r\n[core]\n\tautocrlf = false\n",
        );
        assert_eq!(settings.origin(), Some("https://host/o/r"));
        assert_eq!(settings.last("core", "autocrlf"), Some("false"));
        assert_eq!(settings.last("core", "url"), None);
        assert_eq!(settings.values("url").count(), 2);
    }

    #[test]
    fn values_are_read_as_git_reads_them() {
        for (text, value) in [
            ("[core] hooksPath = .husky/_", ".husky/_"),
            ("[core]\n\thooksPath = .husky/_ # by husky", ".husky/_"),
            ("[core]\n\thooksPath = \".hu#sky\"/_ ; a comment", ".hu#sky/_"),
            ("[core]\n\thooksPath = .hus\\\nky/_", ".husky/_"),
            ("[core]\n\thooksPath = \"a \\\"b\\\" \\\\c\"", "a \"b\" \\c"),
            ("[a \"x]y\"]\nk = v\n[CORE]\nHOOKSPATH=h", "h"),
        ] {
            assert_eq!(Settings::parse(text).last("core", "hookspath"), Some(value), "{text}");
        }
    }

    #[test]
    fn included_files_are_known_however_deep() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join("git")).expect("a folder");
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).expect("a file");
        write("git/config", "[include]\n\tpath = ../a\n[extensions]\n\tworktreeConfig = true\n");
        write("git/config.worktree", "[includeIf \"onbranch:main\"]\n\tpath = missing\n");
        write("a", "[include]\n\tpath = b\n");
        write("b", "[include]\n\tpath = a\n[core]\n\thooksPath = h\n");
        let settings = Settings::read(&dir.path().join("git"), &dir.path().join("git"));
        assert_eq!(settings.last("core", "hookspath"), Some("h"));
        let names = ["git/../a", "git/../b", "git/../a", "git/missing"].map(|name| dir.path().join(name));
        let known: Vec<_> = settings.included().iter().collect();
        assert!(names.iter().all(|name| known.contains(&name)), "{known:?}");
    }
}
