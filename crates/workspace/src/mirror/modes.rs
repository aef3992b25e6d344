//! Modes of what was kept: all that is told of them is whether a file can be executed, so nothing else of them may change.

use std::io;
use std::path::{Path, PathBuf};

use super::{Mirror, twin};
use crate::inventory::Inventory;
use crate::path::WorkspacePath;

/// The bits of a mode that let a file be executed.
const EXECUTE: u32 = 0o111;
/// The bits that give a program the rights of its owner, and keep a folder's files from others.
const SPECIAL: u32 = 0o7000;

impl Mirror {
    /// Gives back the modes that files and folders had, but for whether a file can be executed, and takes special bits from new
    /// files.
    pub(super) fn put_back_modes(&self, before: &Inventory) -> Result<(), (PathBuf, io::Error)> {
        let now = Inventory::take_below(self.checkout.path())?;
        let set = |path: &Path, mode: u32| {
            twin::set_mode(self.checkout.disk().dir(), path, mode).map_err(|error| (path.to_owned(), error))
        };
        for (path, mode, was) in before.other_modes(&now) {
            let is_folder = before.folder_mode(path).is_some();
            let wanted = if is_folder { was } else { with_execution_of(was, mode) };
            if wanted != mode && !self.is_own(path) {
                set(path, wanted)?;
            }
        }
        let new =
            now.files.iter().filter(|(path, _)| !before.files.contains_key(*path) && !self.is_own(path));
        for (path, stamp) in new.filter(|(_, stamp)| stamp.mode & SPECIAL != 0) {
            set(path, stamp.mode & !SPECIAL)?;
        }
        Ok(())
    }

    /// Returns the new folders without files, each behind the one that it is in.
    pub(super) fn new_folders(&self, before: &Inventory, now: &Inventory) -> Vec<WorkspacePath> {
        let new = now.folders_besides(before).filter(|path| !self.is_own(path));
        let first_from = |path: &Path| now.files.range(path.to_owned()..).next();
        let is_empty = |path: &&Path| first_from(path).is_none_or(|(file, _)| !file.starts_with(path));
        new.filter(is_empty).filter_map(|path| WorkspacePath::parse(path.to_str()?).ok()).collect()
    }
}

/// Returns a mode that differs from `was` only where `now` differs in whether a file can be executed. Who can read it can execute
/// it then.
fn with_execution_of(was: u32, now: u32) -> u32 {
    match (was & EXECUTE != 0, now & EXECUTE != 0) {
        (false, true) => was | (was >> 2 & EXECUTE),
        (true, false) => was & !EXECUTE,
        _ => was,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_mode_only_execution_follows() {
        for (was, now, expected) in [
            (0o644, 0o600, 0o644),
            (0o644, 0o755, 0o755),
            (0o640, 0o4711, 0o750),
            (0o755, 0o600, 0o644),
            (0o644, 0o000, 0o644),
        ] {
            assert_eq!(with_execution_of(was, now), expected, "{was:o} {now:o}");
        }
    }
}
