//! Files of the checkout that Git runs or reads settings from because the repository's own settings name them.

use std::path::{Path, PathBuf};

use super::Repository;
use super::settings::expanded;

/// The kind of a setting's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Names {
    /// The path of a file or a folder.
    Path,
    /// A command line.
    Command,
    /// A command line if it begins with `!`, and otherwise arguments of Git's own.
    Shell,
}

/// The key of a row that stands for every key of its section.
const ANY: &str = "*";

/// Settings that name files which Git runs or reads, by the first part of their section and their key.
const ROWS: [(&str, &str, Names); 45] = [
    ("alias", ANY, Names::Shell),
    ("browser", "cmd", Names::Command),
    ("browser", "path", Names::Path),
    ("commit", "template", Names::Path),
    ("core", "alternaterefscommand", Names::Command),
    ("core", "askpass", Names::Command),
    ("core", "attributesfile", Names::Path),
    ("core", "editor", Names::Command),
    ("core", "excludesfile", Names::Path),
    ("core", "fsmonitor", Names::Command),
    ("core", "gitproxy", Names::Command),
    ("core", "hookspath", Names::Path),
    ("core", "pager", Names::Command),
    ("core", "sshcommand", Names::Command),
    ("credential", "helper", Names::Shell),
    ("diff", "command", Names::Command),
    ("diff", "external", Names::Command),
    ("diff", "textconv", Names::Command),
    ("difftool", "cmd", Names::Command),
    ("difftool", "path", Names::Path),
    ("filter", "clean", Names::Command),
    ("filter", "process", Names::Command),
    ("filter", "smudge", Names::Command),
    ("gpg", "allowedsignersfile", Names::Path),
    ("gpg", "defaultkeycommand", Names::Command),
    ("gpg", "program", Names::Command),
    ("hook", "command", Names::Command),
    ("init", "templatedir", Names::Path),
    ("interactive", "difffilter", Names::Command),
    ("merge", "driver", Names::Command),
    ("mergetool", "cmd", Names::Command),
    ("mergetool", "path", Names::Path),
    ("pager", ANY, Names::Command),
    ("remote", "receivepack", Names::Command),
    ("remote", "uploadpack", Names::Command),
    ("sendemail", "cccmd", Names::Command),
    ("sendemail", "headercmd", Names::Command),
    ("sendemail", "sendmailcmd", Names::Command),
    ("sendemail", "tocmd", Names::Command),
    ("sequence", "editor", Names::Command),
    ("submodule", "update", Names::Shell),
    ("tar", "command", Names::Command),
    ("trailer", "cmd", Names::Command),
    ("trailer", "command", Names::Command),
    ("uploadpack", "packobjectshook", Names::Command),
];

/// Characters that end a word of a command line; those that have no meaning in names of files.
const ENDS: &str = "\"'`;|&()<>=$!";

impl Repository {
    /// Returns the files and folders that the settings name, most of which are outside of the checkout. Settings are as
    /// they were when the repository was found.
    pub fn configured_files(&self) -> Vec<PathBuf> {
        let (root, settings) = (self.root(), self.settings());
        let mut found = settings.included().to_vec();
        for setting in settings.iter() {
            let is_of = |(section, key, _): &&(&str, &str, Names)| {
                setting.is_in(section) && (*key == ANY || *key == setting.key)
            };
            match ROWS.iter().find(is_of) {
                Some((_, _, Names::Path)) => {
                    found.extend(expanded(&setting.value).map(|path| root.join(path)));
                }
                Some((_, _, names)) => found.extend(files_of(&setting.value, *names, root)),
                None => {}
            }
        }
        found
    }
}

/// Returns the files that a command line may mean, in the checkout or elsewhere.
fn files_of(line: &str, names: Names, root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // Words of Git's own, such as `checkout`, are no files.
    let is_run = names == Names::Command || line.starts_with('!');
    let words = line.split(|letter: char| letter.is_whitespace() || ENDS.contains(letter));
    for word in words.chain([line]).filter(|word| !word.is_empty()) {
        let path = expanded(word).map(|path| root.join(path));
        // `clean` may be an argument, and a folder of the project.
        found.extend(path.filter(|path| word.contains('/') || is_run && path.is_file()));
        // A variable may stand before it, as in `$PWD/ci/ssh`.
        let below = word.split_once('/').map(|(_, below)| root.join(below.trim_start_matches('/')));
        found.extend(below.filter(|below| below.is_file()));
    }
    found
}
