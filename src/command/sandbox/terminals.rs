//! Terminals of the machine, for children that have none of their own: whoever may open one can write to it, read from it, and
//! change how it works.

use std::fs;
use std::path::Path;

/// Where programs make terminals of their own.
pub(super) const PLACES: [&str; 2] = ["/dev/ptmx", "/dev/pts"];

/// What the names of terminals, consoles and their contents begin with.
const NAMES: [&str; 6] = ["tty", "pts", "ptmx", "console", "vcs", "hvc"];

/// Returns whether a device is a terminal other than a process's own.
pub(super) fn is_one(name: &str) -> bool {
    name != "tty" && NAMES.iter().any(|start| name.starts_with(start))
}

/// Returns whether this user could open no terminal in the folder in which programs make theirs: no rule tells those of a child
/// from the others there.
pub(super) fn are_unused() -> bool {
    is_without_terminals(Path::new(PLACES[1]))
}

#[cfg(unix)]
fn is_without_terminals(folder: &Path) -> bool {
    use rustix::fs::{Access, access};
    let opens =
        |path: &Path| [Access::READ_OK, Access::WRITE_OK].iter().any(|how| access(path, *how).is_ok());
    let is_terminal = |name: &str| name.chars().all(|letter| letter.is_ascii_digit());
    let is_open =
        |entry: fs::DirEntry| is_terminal(&entry.file_name().to_string_lossy()) && opens(&entry.path());
    fs::read_dir(folder).is_ok_and(|mut entries| !entries.any(|entry| entry.map_or(true, is_open)))
}

/// Returns `false`: other systems keep terminals elsewhere.
#[cfg(not(unix))]
fn is_without_terminals(_: &Path) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn terminals_are_known_by_name() {
        for (name, expected) in
            [("tty", false), ("tty1", true), ("ttyS0", true), ("pts", true), ("ptmx", true)]
        {
            assert_eq!(is_one(name), expected, "{name}");
        }
        assert!(!is_one("null") && !is_one("urandom") && is_one("console") && is_one("vcsa1"));
    }

    #[test]
    fn a_folder_is_without_terminals_if_none_is_there_or_can_be_opened() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::write(dir.path().join("ptmx"), "").expect("a file");
        assert!(is_without_terminals(dir.path()) && !is_without_terminals(&dir.path().join("missing")));
        fs::write(dir.path().join("0"), "").expect("a file");
        assert!(!is_without_terminals(dir.path()));
    }
}
