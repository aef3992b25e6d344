//! Whole outputs of commands, kept in files of the run's output folder, so that what an excerpt leaves out can
//! be read and searched without running the command again.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use sanitize::Masker;

/// Maximum size of all files together, in bytes. The oldest goes when a new one needs its space.
const MAX_TOTAL: u64 = 64 * 1024 * 1024;

/// Name of the folder below the output folder.
const FOLDER: &str = "command-output";

/// Folder for the outputs of one run's commands.
pub struct KeptOutputs {
    folder: PathBuf,
    masker: Arc<Masker>,
    /// Maximum size of all files together, in bytes.
    limit: u64,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    last: u32,
    files: VecDeque<(PathBuf, u64)>,
    total: u64,
}

impl KeptOutputs {
    /// Creates the folder below the output folder of a run.
    pub fn new(out: &Path, masker: Arc<Masker>) -> io::Result<Self> {
        Self::with_limit(out, masker, MAX_TOTAL)
    }

    fn with_limit(out: &Path, masker: Arc<Masker>, limit: u64) -> io::Result<Self> {
        let folder = out.join(FOLDER);
        fs::create_dir_all(&folder)?;
        Ok(Self { folder: folder.canonicalize()?, masker, limit, kept: Mutex::default() })
    }

    /// Returns the path of the folder: absolute, and without symbolic links.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Writes an output, masked, to a new file, and returns its path.
    pub fn keep(&self, text: &str) -> io::Result<PathBuf> {
        let text = self.masker.mask(text);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let path = loop {
            kept.last += 1;
            let path = self.folder.join(format!("{}.txt", kept.last));
            // A session that continues has the files of the one before.
            if !path.exists() {
                break path;
            }
        };
        let size = text.len() as u64;
        while kept.total + size > self.limit {
            let Some((oldest, size)) = kept.files.pop_front() else { break };
            fs::remove_file(oldest)?;
            kept.total -= size;
        }
        fs::write(&path, text.as_bytes())?;
        kept.files.push_back((path.clone(), size));
        kept.total += size;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_get_files_of_their_own_and_the_oldest_make_room() {
        let dir = tempfile::tempdir().expect("a folder");
        let kept = KeptOutputs::with_limit(dir.path(), Arc::new(Masker::new([])), 100).expect("a folder");
        let first = kept.keep("one\n").expect("a file");
        let second = kept.keep("two\n").expect("a file");
        assert_eq!(fs::read_to_string(&first).expect("a file"), "one\n");
        assert_eq!(second.file_name().and_then(|name| name.to_str()), Some("2.txt"));
        let again = KeptOutputs::with_limit(dir.path(), Arc::new(Masker::new([])), 100).expect("a folder");
        assert_eq!(again.keep("three\n").expect("a file").file_name(), Some("3.txt".as_ref()));
        kept.keep(&"x".repeat(100)).expect("a file");
        assert!(!first.exists() && !second.exists());
    }
}
