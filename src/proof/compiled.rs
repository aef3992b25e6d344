//! Code that Python compiled earlier. It takes that for the code of any file with the same size and the same second.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use workspace::FileChange;

use super::has_extension;

/// Where compiled code is, if not beside its source.
const ELSEWHERE: &str = "PYTHONPYCACHEPREFIX";

/// Waits for the next second if there is code that was compiled from a file of this second, and that would be taken for that of a
/// file which is about to be written.
pub(super) async fn pass_second(root: &Path, variables: &BTreeMap<String, String>, changes: &[FileChange]) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let is_elsewhere = variables.get(ELSEWHERE).is_some_and(|folder| !folder.is_empty());
    let is_taken = |change: &FileChange| {
        let Some(after) = &change.after else { return false };
        let path = root.join(change.path.as_str());
        let size = after.content.len();
        if is_elsewhere { is_of_second(&path, now) } else { has_compiled(&path, now, size) }
    };
    let python = |change: &&FileChange| has_extension(change.path.as_str(), "py");
    if changes.iter().filter(python).any(is_taken) {
        let rest = Duration::from_secs(1).saturating_sub(Duration::from_nanos(now.subsec_nanos().into()));
        tokio::time::sleep(rest).await;
    }
}

/// Returns whether a file was written in the second of this time.
fn is_of_second(path: &Path, now: Duration) -> bool {
    let modified = fs::symlink_metadata(path).and_then(|data| data.modified()).ok();
    let since = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.is_some_and(|since| since.as_secs() == now.as_secs())
}

/// Returns whether there is code that was compiled from this file when it had a size, and was written in the second of this time.
fn has_compiled(source: &Path, now: Duration, size: usize) -> bool {
    let (Some(folder), Some(stem)) = (source.parent(), source.file_stem().and_then(|stem| stem.to_str()))
    else {
        return false;
    };
    let Ok(entries) = fs::read_dir(folder.join("__pycache__")) else { return false };
    entries.flatten().any(|entry| {
        let name = entry.file_name();
        let rest = name.to_str().and_then(|name| name.strip_prefix(stem));
        rest.is_some_and(|rest| rest.starts_with('.') && has_extension(rest, "pyc"))
            && source_of(&entry.path()) == Some((now.as_secs(), size))
    })
}

/// Returns the second in which the source of compiled code was written, and its size; both as far as 32 bits go.
fn source_of(compiled: &Path) -> Option<(u64, usize)> {
    let mut head = [0; 16];
    File::open(compiled).and_then(|mut file| file.read_exact(&mut head)).ok()?;
    let number = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    // Otherwise, the code is that of what its source contains, by a digest.
    (number(4) == 0).then(|| (number(8).into(), number(12) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compiled_code_of_this_second_and_size_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("shop.py");
        let now = Duration::from_secs(1_700_000_000);
        assert!(!has_compiled(&source, now, 4));
        fs::create_dir(folder.path().join("__pycache__")).expect("a folder");
        let write = |name: &str, flags: u32, second: u32, size: u32| {
            let head = [7, flags, second, size].map(u32::to_le_bytes).concat();
            fs::write(folder.path().join("__pycache__").join(name), head).expect("a file");
        };
        for (name, flags, second, size, expected) in [
            ("shop.cpython-312.pyc", 0, 1_700_000_000, 4, true),
            ("shop.cpython-312-pytest-8.3.pyc", 0, 1_700_000_000, 4, true),
            ("shop.cpython-312.pyc", 0, 1_700_000_000, 5, false),
            ("shop.cpython-312.pyc", 0, 1_699_999_999, 4, false),
            ("shop.cpython-312.pyc", 1, 1_700_000_000, 4, false),
            ("shops.cpython-312.pyc", 0, 1_700_000_000, 4, false),
        ] {
            write(name, flags, second, size);
            assert_eq!(has_compiled(&source, now, 4), expected, "{name} {flags} {second} {size}");
            fs::remove_file(folder.path().join("__pycache__").join(name)).expect("a file");
        }
    }
}
