//! Mount points in folders that commands write to. The runner creates them as its own user, before a child
//! mounts anything there: if root created them, other users could not remove them.
//!
//! A command in the background may replace any folder on the way at any moment, so each name is opened in the folder that
//! was opened before it, and nothing is created but what is not there.

use std::io;
use std::path::Path;

use super::Mount;

/// Creates mount points in the private folders.
#[cfg(target_os = "linux")]
pub(super) fn prepare(
    private: &Path,
    home: Option<&Path>,
    temporary: &[&str],
    mounts: &[Mount],
) -> io::Result<()> {
    let home = home.map(|home| (home, "home"));
    let temporary = temporary.iter().map(|folder| (Path::new(folder), "tmp"));
    for (seen, folder) in home.into_iter().chain(temporary) {
        let folder = super::opening::open_place(&private.join(folder))?;
        for mount in mounts {
            let (from, at) = match mount {
                Mount::Bind { from, at, .. } => (Some(from.as_path()), at.as_path()),
                Mount::Overlay { overlay, at, .. } | Mount::Cache { overlay, at } => {
                    (Some(overlay.bottom()), at.as_path())
                }
                // The link itself is part of the new root.
                Mount::Link { at, .. } => (None, at.parent().unwrap_or(at)),
                _ => continue,
            };
            let Some(below) = at.strip_prefix(seen).ok().filter(|below| below.file_name().is_some()) else {
                continue;
            };
            // Whatever becomes of it, the child looks for itself.
            if super::opening::open_below(&folder, below).is_err() {
                create(&folder, below, from.is_none_or(Path::is_dir)).map_err(|error| {
                    io::Error::new(
                        error.kind(),
                        format!("could not prepare `{}` for the sandbox: {error}", at.display()),
                    )
                })?;
            }
        }
    }
    Ok(())
}

/// Does nothing: other systems have no mounts.
#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "like on Linux")]
pub(super) fn prepare(_: &Path, _: Option<&Path>, _: &[&str], _: &[Mount]) -> io::Result<()> {
    Ok(())
}

#[cfg(target_os = "linux")]
use creation::create;

#[cfg(target_os = "linux")]
mod creation {
    use std::ffi::OsStr;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::path::{Component, Path};

    use rustix::fs::{AtFlags, FileType, unlinkat};
    use rustix::io::Errno;

    use crate::command::sandbox::opening::{create_name, kind, open_name};

    /// How often a name is tried that somebody replaces meanwhile.
    const ATTEMPTS: usize = 16;

    /// Creates a file or folder below a folder, with all folders on the way.
    pub(super) fn create(folder: &OwnedFd, below: &Path, is_folder: bool) -> io::Result<()> {
        let mut place = folder.try_clone()?;
        let mut names = below.components().peekable();
        while let Some(name) = names.next() {
            let Component::Normal(name) = name else { return Err(io::ErrorKind::InvalidInput.into()) };
            place = enter(&place, name, is_folder || names.peek().is_some())?;
        }
        Ok(())
    }

    /// Opens an entry of a folder, and creates it if it is missing. Removes a link (or a file) that a command left where a
    /// folder is needed, because a child does not mount anything where one leads.
    fn enter(folder: &OwnedFd, name: &OsStr, is_folder: bool) -> io::Result<OwnedFd> {
        for _ in 0..ATTEMPTS {
            let tried = match open_name(folder, name) {
                Ok(place) => match kind(&place)? {
                    FileType::Directory => return Ok(place),
                    FileType::Symlink => unlinkat(folder, name, AtFlags::empty()),
                    _ if is_folder => unlinkat(folder, name, AtFlags::empty()),
                    _ => return Ok(place),
                },
                Err(Errno::NOENT) => create_name(folder, name, is_folder),
                Err(error) => Err(error),
            };
            match tried {
                // Somebody was faster.
                Ok(()) | Err(Errno::NOENT | Errno::EXIST | Errno::ISDIR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other(format!(
            "a command in the background keeps replacing {}",
            Path::new(name).display()
        )))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::fs::{CWD, RenameFlags, renameat_with};
    use tempfile::TempDir;

    use super::*;

    /// A private folder, and next to it a file and a folder that nobody may change.
    struct Machine {
        folder: TempDir,
    }

    impl Machine {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            for name in ["private/home", "private/tmp", "elsewhere"] {
                fs::create_dir_all(folder.path().join(name)).unwrap();
            }
            fs::write(folder.path().join("elsewhere/file"), "text").unwrap();
            Self { folder }
        }

        fn at(&self, name: &str) -> PathBuf {
            self.folder.path().canonicalize().unwrap().join(name)
        }

        fn prepare(&self, below: &str) -> io::Result<()> {
            let home = Path::new("/home/me");
            let mount =
                Mount::Bind { from: self.at("elsewhere/file"), at: home.join(below), writable: false };
            prepare(&self.at("private"), Some(home), &["/tmp"], &[mount])
        }

        fn assert_untouched(&self) {
            assert_eq!(fs::read_to_string(self.at("elsewhere/file")).unwrap(), "text");
            assert_eq!(fs::read_dir(self.at("elsewhere")).unwrap().count(), 1);
        }
    }

    #[test]
    fn links_and_files_on_the_way_to_a_mount_point_make_room_for_it() {
        for planted in ["a", "a/b", "a/b/c"] {
            for target in ["elsewhere", "elsewhere/file", "elsewhere/new"] {
                let machine = Machine::new();
                let place = machine.at("private/home").join(planted);
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                symlink(machine.at(target), &place).expect("a link");
                machine.prepare("a/b/c").expect("prepared");
                assert!(
                    fs::symlink_metadata(machine.at("private/home/a/b/c")).is_ok_and(|file| file.is_file())
                );
                machine.assert_untouched();
            }
        }
        let machine = Machine::new();
        fs::write(machine.at("private/home/a"), "").unwrap();
        machine.prepare("a/b").expect("prepared");
        assert!(machine.at("private/home/a/b").is_file());
    }

    #[test]
    fn folders_that_are_swapped_meanwhile_lead_nowhere_else() {
        let machine = Machine::new();
        let [way, other] = ["private/home/a", "private/home/b"].map(|name| machine.at(name));
        fs::create_dir(&way).unwrap();
        fs::create_dir(&other).unwrap();
        symlink(machine.at("elsewhere/file"), other.join("file")).expect("a link");
        symlink(machine.at("elsewhere"), other.join("folder")).expect("a link");
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !ended.load(Ordering::Relaxed) {
                    let _ = renameat_with(CWD, &way, CWD, &other, RenameFlags::EXCHANGE);
                    for folder in [&way, &other] {
                        let _ = fs::remove_file(folder.join("file"));
                        let _ = fs::remove_dir_all(folder.join("folder"));
                    }
                    let _ = symlink(machine.at("elsewhere/file"), other.join("file"));
                    let _ = symlink(machine.at("elsewhere"), other.join("folder"));
                }
            });
            for _ in 0..3_000 {
                // Whether it works does not matter here.
                let _ = machine.prepare("a/file");
                let _ = machine.prepare("a/folder/new");
            }
            ended.store(true, Ordering::Relaxed);
        });
        machine.assert_untouched();
    }
}
