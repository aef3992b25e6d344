//! Locks on files that other processes may hold: waited for only as long as somebody can wait.

use std::fs::{File, TryLockError};
use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

use super::blocking::in_place;

/// How long a lock is waited for where others hold it for one write.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it is waited for once the run has to end, so that a last entry is not lost to one other writer.
const LAST_PATIENCE: Duration = Duration::from_secs(1);

/// How often a lock is tried; the system's own wait could not be ended.
const PAUSE: Duration = Duration::from_millis(5);

/// Locks that a run takes on files that others may hold for longer than it can wait.
#[derive(Debug)]
pub(crate) struct FileLocks {
    /// How long one is waited for.
    patience: Duration,
    /// Cancelled when the run has to end.
    end: OnceLock<CancellationToken>,
    /// Whether somebody has held one for too long: none is waited for until one is free again.
    gave_up: AtomicBool,
}

impl Default for FileLocks {
    fn default() -> Self {
        Self::patient(PATIENCE)
    }
}

impl FileLocks {
    /// Creates locks that are waited for as long as this.
    pub(crate) fn patient(patience: Duration) -> Self {
        Self { patience, end: OnceLock::new(), gave_up: AtomicBool::new(false) }
    }

    /// Sets when the run has to end.
    pub(crate) fn wait_until(&self, end: CancellationToken) {
        // A run has one end; a second one would be the same.
        let _ = self.end.set(end);
    }

    /// Locks a file that is to be written.
    pub(crate) fn lock(&self, file: &File) -> io::Result<()> {
        self.wait(|| file.try_lock())
    }

    /// Locks a file that is to be read.
    pub(crate) fn lock_shared(&self, file: &File) -> io::Result<()> {
        self.wait(|| file.try_lock_shared())
    }

    fn wait(&self, attempt: impl Fn() -> Result<(), TryLockError>) -> io::Result<()> {
        if self.has_locked(&attempt)? { Ok(()) } else { in_place(|| self.wait_longer(attempt)) }
    }

    fn wait_longer(&self, attempt: impl Fn() -> Result<(), TryLockError>) -> io::Result<()> {
        let since = Instant::now();
        while since.elapsed() < self.patience() {
            thread::sleep(PAUSE);
            if self.has_locked(&attempt)? {
                return Ok(());
            }
        }
        self.gave_up.store(true, Ordering::Relaxed);
        Err(io::Error::other("another process keeps it locked"))
    }

    /// Tries once; returns whether the lock was free.
    fn has_locked(&self, attempt: &impl Fn() -> Result<(), TryLockError>) -> io::Result<bool> {
        match attempt() {
            Ok(()) => {
                self.gave_up.store(false, Ordering::Relaxed);
                Ok(true)
            }
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn patience(&self) -> Duration {
        if self.gave_up.load(Ordering::Relaxed) {
            return Duration::ZERO;
        }
        let has_ended = self.end.get().is_some_and(CancellationToken::is_cancelled);
        if has_ended { LAST_PATIENCE } else { self.patience }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_waited_for_as_long_as_somebody_waits() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let held = file.reopen().expect("the file");
        held.lock().expect("a lock");
        let locks = FileLocks::default();
        let end = CancellationToken::new();
        locks.wait_until(end.clone());
        end.cancel();
        let since = Instant::now();
        assert!(locks.lock(file.as_file()).is_err());
        assert!(since.elapsed() >= LAST_PATIENCE);
        // Once is enough.
        let since = Instant::now();
        assert!(locks.lock_shared(file.as_file()).is_err());
        assert!(since.elapsed() < LAST_PATIENCE);
        drop(held);
        assert!(locks.lock(file.as_file()).is_ok());
    }
}
