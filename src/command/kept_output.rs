//! Whole outputs of commands, kept in files of the run's output folder, so that what an excerpt leaves out can
//! be read and searched without running the command again.

use std::collections::VecDeque;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use parking_lot::Mutex;
use sanitize::Masker;

/// Maximum size of all files together, in bytes. The oldest goes when a new one needs its space.
const MAX_TOTAL: u64 = 64 * 1024 * 1024;

/// Name of the folder below the output folder.
const FOLDER: &str = "command-output";

/// Folder for the outputs of one run's commands.
pub struct KeptOutputs {
    path: PathBuf,
    /// Held open: where the output folder lies in the checkout, others can put a link in its place.
    folder: Dir,
    masker: Arc<Masker>,
    /// Maximum size of all files together, in bytes.
    limit: u64,
    kept: Mutex<KeptFiles>,
}

#[derive(Default)]
struct KeptFiles {
    last: u32,
    files: VecDeque<(String, u64)>,
    total: u64,
}

impl KeptOutputs {
    /// Creates the folder below the output folder of a run.
    pub fn new(out: &Path, masker: Arc<Masker>) -> io::Result<Self> {
        Self::with_limit(out, masker, MAX_TOTAL)
    }

    fn with_limit(out: &Path, masker: Arc<Masker>, limit: u64) -> io::Result<Self> {
        std::fs::create_dir_all(out)?;
        let out = out.canonicalize()?;
        let opened = Dir::open_ambient_dir(&out, ambient_authority())?;
        match opened.create_dir(FOLDER) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
        // A pull request may have put a link there.
        let folder = opened.open_dir_nofollow(FOLDER)?;
        Ok(Self { path: out.join(FOLDER), folder, masker, limit, kept: Mutex::default() })
    }

    /// Returns the path of the folder: absolute, and without symbolic links.
    pub fn folder(&self) -> &Path {
        &self.path
    }

    /// Writes an output, masked, to a new file, and returns its path.
    pub fn keep(&self, text: &str) -> io::Result<PathBuf> {
        let text = self.masker.mask(text);
        let mut kept = self.kept.lock();
        let (name, mut file) = loop {
            kept.last += 1;
            let name = format!("{}.txt", kept.last);
            match self.folder.open_with(&name, OpenOptions::new().write(true).create_new(true)) {
                // A session that continues has the files of the one before.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                opened => break (name, opened?),
            }
        };
        let size = text.len() as u64;
        while kept.total + size > self.limit {
            let Some((oldest, size)) = kept.files.pop_front() else { break };
            self.folder.remove_file(oldest)?;
            kept.total -= size;
        }
        file.write_all(text.as_bytes())?;
        let path = self.path.join(&name);
        kept.files.push_back((name, size));
        kept.total += size;
        Ok(path)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    #[cfg(unix)]
    fn links_are_not_written_through() {
        let dir = tempfile::tempdir().expect("a folder");
        let (out, elsewhere) = (dir.path().join("out"), dir.path().join("elsewhere"));
        let masker = || Arc::new(Masker::new([]));
        fs::create_dir_all(out.join(FOLDER)).expect("a folder");
        std::os::unix::fs::symlink(&elsewhere, out.join(FOLDER).join("1.txt")).expect("a link");
        let kept = KeptOutputs::new(&out, masker()).expect("a folder");
        assert_eq!(kept.keep("one\n").expect("a file").file_name(), Some("2.txt".as_ref()));
        assert!(!elsewhere.exists());
        // A link that comes to be there later leads nowhere either.
        fs::create_dir(&elsewhere).expect("a folder");
        fs::rename(out.join(FOLDER), out.join("moved")).expect("a folder");
        std::os::unix::fs::symlink(&elsewhere, out.join(FOLDER)).expect("a link");
        kept.keep("two\n").expect("a file");
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
        assert!(KeptOutputs::new(&out, masker()).is_err());
    }

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
