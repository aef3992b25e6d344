//! Writes files as a whole or not at all, reads what others may have written, and locks folders.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// Writes a file in place of whatever lies there: never through a link, which a command of the agent's
/// could have planted, nor into a folder that was swapped.
pub(crate) fn write_atomic(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = fresh(path, content)?;
    readable(file.as_file())?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Writes a file as [`write_atomic`] does, from what `content` writes.
pub(crate) fn write_atomic_from(
    path: &Path,
    content: impl FnOnce(&mut dyn io::Write) -> io::Result<()>,
) -> io::Result<()> {
    let file = begun(path)?;
    readable(file.as_file())?;
    filled(&file, content)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Writes a file that must be whole even after a loss of power, and otherwise as [`write_atomic`] does.
pub(crate) fn write_durable(path: &Path, content: &[u8]) -> io::Result<()> {
    let file = fresh(path, content)?;
    readable(file.as_file())?;
    file.as_file().sync_all()?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Writes a file that other users of the machine cannot read, and otherwise as [`write_atomic`] does.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> io::Result<()> {
    // Temporary files are this user's alone.
    fresh(path, content)?.persist(path).map(drop).map_err(|error| error.error)
}

/// Writes a file as [`write_private`] does, from what `content` writes; not at all if that fails.
pub(crate) fn write_private_from<E: From<io::Error>>(
    path: &Path,
    content: impl FnOnce(&mut dyn io::Write) -> Result<(), E>,
) -> Result<(), E> {
    let file = begun(path)?;
    filled(&file, content)?;
    file.persist(path).map(drop).map_err(|error| error.error.into())
}

/// Creates a folder if it is missing, and checks that no link leads elsewhere.
pub(crate) fn create_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    if path.canonicalize()? == path { Ok(()) } else { Err(io::Error::other("it was replaced by a link")) }
}

fn fresh(path: &Path, content: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let mut file = begun(path)?;
    file.write_all(content)?;
    Ok(file)
}

fn filled<E: From<io::Error>>(
    file: &tempfile::NamedTempFile,
    content: impl FnOnce(&mut dyn io::Write) -> Result<(), E>,
) -> Result<(), E> {
    let mut writer = io::BufWriter::new(file.as_file());
    content(&mut writer)?;
    Ok(writer.flush()?)
}

fn begun(path: &Path) -> io::Result<tempfile::NamedTempFile> {
    let folder = path.parent().unwrap_or(path);
    if folder.canonicalize()? != folder {
        return Err(io::Error::other("its folder was replaced by a link"));
    }
    tempfile::NamedTempFile::new_in(folder)
}

/// Tells the file system that the folders in a folder have nothing to do with each other, so that it spreads them over the disk.
/// Ext4 puts a folder's files beside those of the folder above, and does not use the place of a file again soon after it was
/// deleted: where many folders come and go, it spends most of its time looking for a place. This is a hint, which other file
/// systems do not take.
#[cfg(target_os = "linux")]
pub(crate) fn spread_folders_in(path: &Path) {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};
    let set = |folder: fs::File| ioctl_setflags(&folder, ioctl_getflags(&folder)? | IFlags::TOPDIR);
    if let Ok(Err(error)) = fs::File::open(path).map(set) {
        tracing::debug!("the folders in {} are not spread: {error}", path.display());
    }
}

/// Does nothing: only Linux has such a hint.
#[cfg(not(target_os = "linux"))]
pub(crate) fn spread_folders_in(_: &Path) {}

/// Returns whether a disk has less than a megabyte left. Where that cannot be asked, it is taken to have more.
#[cfg(unix)]
pub(crate) fn is_disk_full(path: &Path) -> bool {
    const LEAST: u64 = 1_000_000;
    rustix::fs::statvfs(path).is_ok_and(|disk| disk.f_bavail.saturating_mul(disk.f_frsize) < LEAST)
}

/// Returns whether a disk has less than a megabyte left. Where that cannot be asked, it is taken to have more.
#[cfg(not(unix))]
pub(crate) fn is_disk_full(_: &Path) -> bool {
    false
}

/// Opens a file for reading: never through a link, and never anything else than a file, whose opening or reading might not end.
pub(crate) fn open_file(path: &Path) -> io::Result<fs::File> {
    let folder = path.parent().unwrap_or(path);
    if folder.canonicalize()? != folder {
        return Err(io::Error::other("its folder was replaced by a link"));
    }
    let file = open_without_waiting(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

#[cfg(unix)]
fn open_without_waiting(path: &Path) -> io::Result<fs::File> {
    use rustix::fs::{Mode, OFlags};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_without_waiting(path: &Path) -> io::Result<fs::File> {
    if path.symlink_metadata()?.is_file() {
        fs::File::open(path)
    } else {
        Err(io::Error::other("it is not a file"))
    }
}

/// Opens a file, behind links as well, unless it is anything else, such as a pipe, whose opening, reading or locking might not end.
pub(crate) fn open_regular(path: &Path, options: &mut fs::OpenOptions) -> io::Result<fs::File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = options.open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a file")) }
}

/// Reads at most so many bytes to the end; more of them are an error.
pub(crate) fn read_at_most(file: impl io::Read, most: u64) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    if content.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(content)
}

/// How long a lock is waited for: a process that was killed may have left children that are not yet themselves, and hold
/// what it held.
const PATIENCE: Duration = Duration::from_secs(2);

/// Locks a file for this process, until it is closed. Returns `false` if another process holds it.
pub(crate) fn lock(file: &fs::File) -> bool {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Err(fs::TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(20));
            }
            Err(fs::TryLockError::WouldBlock) => return false,
            // Some file systems know no locks; then nobody holds one.
            Ok(()) | Err(fs::TryLockError::Error(_)) => return true,
        }
    }
}

/// Locks a folder for this process; nothing is written to it. Returns `None` if another process holds it. The lock ends
/// with the file that is returned.
#[cfg(unix)]
pub(crate) fn lock_folder(path: &Path) -> io::Result<Option<fs::File>> {
    let folder = fs::File::open(path)?;
    Ok(lock(&folder).then_some(folder))
}

/// Returns a file that locks nothing: folders cannot be opened here.
#[cfg(not(unix))]
pub(crate) fn lock_folder(_: &Path) -> io::Result<Option<fs::File>> {
    tempfile::tempfile().map(Some)
}

/// Gives a temporary file the mode that files have by default.
#[cfg(unix)]
fn readable(file: &fs::File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn readable(_: &fs::File) -> io::Result<()> {
    Ok(())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use rustix::fs::{IFlags, ioctl_getflags, ioctl_setflags};

    use super::*;

    #[test]
    fn folders_that_come_and_go_are_spread_where_the_file_system_can() {
        let (folder, other) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("another one"));
        let flags = |folder: &tempfile::TempDir| {
            ioctl_getflags(fs::File::open(folder.path()).expect("the folder")).unwrap_or(IFlags::empty())
        };
        // Whether a file system can is for it to show: that of a container can what the one below it can.
        let file = fs::File::open(other.path()).expect("the folder");
        let _ = ioctl_setflags(&file, flags(&other) | IFlags::TOPDIR);
        spread_folders_in(folder.path());
        let [is_spread, can] = [&folder, &other].map(|folder| flags(folder).contains(IFlags::TOPDIR));
        assert_eq!(is_spread, can);
        spread_folders_in(&folder.path().join("missing"));
    }
}
