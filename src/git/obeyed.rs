//! Files of the checkout that Git runs or obeys because the repository's own settings name them.

use std::path::PathBuf;

use super::Repository;

/// Settings whose values are paths of files or folders.
const PATHS: [(&str, &str); 3] =
    [("core", "hookspath"), ("core", "attributesfile"), ("core", "excludesfile")];

/// Settings whose values are command lines.
const COMMANDS: [(&str, &str); 16] = [
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("gpg", "program"),
    ("merge", "driver"),
    ("sequence", "editor"),
];

/// Characters that end a word of a command line; those that have no meaning in names of files.
const ENDS: &str = "\"'`;|&()<>=$!";

impl Repository {
    /// Returns the files and folders that the settings name, most of which are outside of the checkout. Settings are as
    /// they were when the repository was found.
    pub fn obeyed(&self) -> Vec<PathBuf> {
        let (root, settings) = (self.root(), self.settings());
        let mut found = settings.included().to_vec();
        for (section, key) in PATHS {
            found.extend(settings.of(section, key).map(|path| root.join(path)));
        }
        for line in COMMANDS.iter().flat_map(|(section, key)| settings.of(section, key)) {
            let words = line.split(|letter: char| letter.is_whitespace() || ENDS.contains(letter));
            for word in words.chain([line]).filter(|word| !word.is_empty()) {
                let path = root.join(word);
                // `clean` may be an argument, and a folder of the project.
                if word.contains('/') || path.is_file() {
                    found.push(path);
                }
            }
        }
        found
    }
}
