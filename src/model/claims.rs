//! Answers under way that count towards a ledger in a file: what runs on one machine are about to spend, before it is spent.
//!
//! A claim is a file beside the ledger that its process keeps locked. The claim of a process that was killed therefore no longer counts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::base::file_locks::FileLocks;
use crate::base::fs::open_regular;

/// Held while claims are counted.
const LOCK: &str = "lock";

/// Maximum length of an amount as it is written, in bytes: a float has at most some 300 digits before its point.
const MAX_AMOUNT: u64 = 1024;

/// An answer under way, until this is dropped.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    _locked: File,
}

/// Result of claiming the possible price of an answer.
#[derive(Debug)]
pub(super) enum ClaimAttempt {
    /// The answer may be requested. There is no claim if no other run has to know of it.
    Granted(Option<Claim>),
    /// Answers of other runs have to end first, or have just spent what was left.
    Busy,
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

impl Claim {
    /// Claims that an answer may cost so many USD, at a moment when others claim less than `left` returns: whatever they come to
    /// cost, this answer is the only one that may go beyond that. Returns `None` if others have to end first, or nothing is left.
    pub(super) fn take<E: From<io::Error>>(
        folder: &Path,
        locks: &FileLocks,
        usd: f64,
        left: impl FnOnce() -> Result<f64, E>,
    ) -> Result<Option<Self>, E> {
        fs::create_dir_all(folder)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let lock = open_regular(&folder.join(LOCK), &mut options)?;
        locks.lock(&lock)?;
        // Read first: an answer that ends meanwhile is in the ledger, or still among the claims.
        let others = sum(folder)?;
        // Without others as well: what was left when the caller looked may have been spent by one that has ended since.
        if left()? <= others {
            return Ok(None);
        }
        let path = folder.join(uuid::Uuid::new_v4().to_string());
        let mut file = OpenOptions::new().create_new(true).read(true).write(true).open(&path)?;
        file.lock()?;
        let claim = Self { path, _locked: file.try_clone()? };
        write!(file, "{usd}")?;
        Ok(Some(claim))
    }
}

/// Returns what others claim, in USD, and removes what nobody claims any more.
fn sum(folder: &Path) -> io::Result<f64> {
    let mut usd = 0.0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name() == LOCK {
            continue;
        }
        let Ok(file) = open_regular(&entry.path(), OpenOptions::new().read(true)) else { continue };
        if file.try_lock().is_ok() {
            let _ = fs::remove_file(entry.path());
            continue;
        }
        let mut text = String::new();
        (&file).take(MAX_AMOUNT).read_to_string(&mut text)?;
        usd += text.parse::<f64>().unwrap_or(0.0);
    }
    Ok(usd)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_leave_room_for_one_answer_that_goes_beyond() {
        let folder = tempfile::tempdir().expect("a folder");
        let take = |usd: f64, left: f64| {
            Claim::take(folder.path(), &FileLocks::default(), usd, || Ok::<_, io::Error>(left))
                .expect("claims can be counted")
        };
        let first = take(0.2, 0.1).expect("the only one may go beyond");
        assert!(take(0.2, 0.2).is_none());
        let second = take(0.2, 0.3).expect("enough for both");
        assert!(take(0.1, 0.4).is_none());
        drop(first);
        assert!(take(0.1, 0.4).is_some());
        // What a killed process leaves is not locked.
        drop(second);
        fs::write(folder.path().join("left"), "99").expect("a file");
        assert!(take(0.1, 0.1).is_some());
        assert!(!folder.path().join("left").exists());
        assert!(take(0.1, 0.0).is_none(), "an answer that is over has spent it");
    }
}
