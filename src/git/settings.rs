//! Repository configuration, read as data: none of it is ever obeyed.

use std::fs;
use std::path::Path;

/// Maximum size of a configuration file, in bytes.
const MAX_SIZE: u64 = 1024 * 1024;

/// Settings in the order of the file, followed by those of included files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<Setting>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Setting {
    /// The section in lower case and the subsection as written: `remote.origin`.
    section: String,
    key: String,
    value: String,
}

impl Settings {
    /// Reads the configuration of the repository in `folder` and the files that it includes directly. What
    /// cannot be read is left out.
    pub(super) fn read(folder: &Path) -> Self {
        let mut all = Self::parse(&small_text(&folder.join("config")).unwrap_or_default());
        let included: Vec<Self> = all
            .values("path")
            .filter_map(|path| small_text(&folder.join(path)))
            .map(|text| Self::parse(&text))
            .collect();
        all.0.extend(included.into_iter().flat_map(|settings| settings.0));
        all
    }

    fn parse(text: &str) -> Self {
        let mut section = String::new();
        let mut settings = Vec::new();
        for line in text.lines().map(str::trim) {
            if let Some(header) = line.strip_prefix('[').and_then(|line| line.split(']').next()) {
                section = match header.split_once(' ') {
                    Some((name, below)) => {
                        format!("{}.{}", name.to_ascii_lowercase(), below.trim().trim_matches('"'))
                    }
                    None => header.to_ascii_lowercase(),
                };
            } else if let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with(['#', ';']))
            {
                settings.push(Setting {
                    section: section.clone(),
                    key: key.trim().to_ascii_lowercase(),
                    value: value.trim().trim_matches('"').to_owned(),
                });
            }
        }
        Self(settings)
    }

    /// Returns all values of a key, in whatever section.
    pub fn values<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |setting| setting.key == key).map(|setting| setting.value.as_str())
    }

    /// Returns the effective value of a key, which is the last one.
    pub(super) fn last(&self, section: &str, key: &str) -> Option<&str> {
        let is_it = |setting: &&Setting| setting.section == section && setting.key == key;
        self.0.iter().rev().find(is_it).map(|setting| setting.value.as_str())
    }

    /// Returns the URL of the remote `origin`.
    pub fn origin(&self) -> Option<&str> {
        self.last("remote.origin", "url")
    }
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
}
