//! Descendants of a command, whatever session they have moved to.

use std::io;
use std::path::Path;

use rustix::process::Pid;

/// Lists all processes below one. Fails if one that exists cannot be looked at.
pub(super) fn descendants(processes: &Path, above: Pid) -> io::Result<Vec<Pid>> {
    let mut parents: Vec<(i32, i32)> = Vec::new();
    for entry in std::fs::read_dir(processes)? {
        let entry = entry?;
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        parents.extend(parent(&entry.path())?.map(|parent| (pid, parent)));
    }
    let mut found = vec![above.as_raw_pid()];
    let mut next = 0;
    while let Some(&above) = found.get(next) {
        found.extend(parents.iter().filter(|(_, parent)| *parent == above).map(|(pid, _)| *pid));
        next += 1;
    }
    found.drain(..1);
    Ok(found.into_iter().filter_map(Pid::from_raw).collect())
}

/// Returns the parent of a process; `None` if the process is gone.
fn parent(process: &Path) -> io::Result<Option<i32>> {
    let stat = match std::fs::read(process.join("stat")) {
        Ok(stat) => stat,
        Err(error)
            if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // The name before it may contain anything, even parentheses, and need not be text.
    let fields = stat.rsplit(|byte| *byte == b')').next().unwrap_or_default();
    let field =
        String::from_utf8_lossy(fields).split_ascii_whitespace().nth(1).and_then(|field| field.parse().ok());
    field.map(Some).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn processes_that_cannot_be_listed_are_not_taken_for_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let pid = |number| Pid::from_raw(number).expect("a process id");
        let listed = || {
            let found = descendants(folder.path(), pid(10)).map(|mut found| {
                found.sort_unstable_by_key(|pid| pid.as_raw_pid());
                found
            });
            found.map_err(|error| error.kind())
        };
        assert_eq!(listed(), Ok(Vec::new()));
        for (number, stat) in [
            ("10", "10 (supervisor) S 1 10"),
            ("11", "11 (sh) S 10 10"),
            ("12", "12 (a) S 1 (b)) S 11 12"),
            ("13", "13 (other) S 1 13"),
        ] {
            fs::create_dir(folder.path().join(number)).expect("a folder");
            fs::write(folder.path().join(number).join("stat"), stat).expect("a file");
        }
        fs::create_dir(folder.path().join("sys")).expect("a folder");
        // A process that is gone by now.
        fs::create_dir(folder.path().join("14")).expect("a folder");
        assert_eq!(listed(), Ok(vec![pid(11), pid(12)]));
        fs::create_dir(folder.path().join("14/stat")).expect("a folder");
        assert!(listed().is_err(), "it is there, and its parent is not known");
        fs::remove_dir(folder.path().join("14/stat")).expect("removed");
        fs::write(folder.path().join("14/stat"), "14 (x").expect("a file");
        assert_eq!(listed(), Err(io::ErrorKind::InvalidData));
        assert!(descendants(&folder.path().join("none"), pid(10)).is_err());
    }
}
