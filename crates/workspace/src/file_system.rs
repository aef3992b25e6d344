//! Answers of file systems in our terms, and operations that only some of them have.

use std::io;

use cap_std::fs::Dir;

use super::changes::Mode;
use super::{Kind, Stat};

/// Returns whether an error is the one for opening a socket (`ENXIO`), or for a link where links are refused
/// (`ELOOP`).
#[cfg(unix)]
pub(crate) fn is_refusal(error: &io::Error) -> bool {
    use rustix::io::Errno;
    Errno::from_io_error(error).is_some_and(|errno| matches!(errno, Errno::NXIO | Errno::LOOP))
}

#[cfg(not(unix))]
pub(crate) fn is_refusal(_: &io::Error) -> bool {
    false
}

/// Returns whether an error means that nothing is there: the name is missing, or something above it is not a
/// folder. A link above it counts as well, because a resolved path has none; creating something there is
/// refused.
pub(crate) fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is_refusal(error)
}

pub(crate) fn stat_of(metadata: &cap_std::fs::Metadata) -> Stat {
    let kind = match metadata.file_type() {
        kind if kind.is_file() => Kind::File,
        kind if kind.is_dir() => Kind::Directory,
        kind if kind.is_symlink() => Kind::Link,
        _ => Kind::Special,
    };
    let size = if kind == Kind::File { metadata.len() } else { 0 };
    Stat { kind, size, mode: mode_of(metadata) }
}

#[cfg(unix)]
pub(crate) fn link(folder: &Dir, target: &str, name: &str) -> io::Result<()> {
    // Where the link leads is checked when it is followed.
    folder.symlink_contents(target, name)
}

#[cfg(not(unix))]
pub(crate) fn link(folder: &Dir, target: &str, name: &str) -> io::Result<()> {
    folder.write(name, target)
}

#[cfg(unix)]
pub(crate) fn set_executable(folder: &Dir, name: &str, executable: bool) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt};
    let mode = folder.symlink_metadata(name)?.permissions().mode();
    // Everybody with read permission gets execute permission.
    let wanted = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    if wanted == mode {
        return Ok(());
    }
    folder.set_permissions(name, Permissions::from_mode(wanted))
}

#[cfg(not(unix))]
pub(crate) fn set_executable(_: &Dir, _: &str, _: bool) -> io::Result<()> {
    Ok(())
}

/// Returns whether the owner of a file may execute it.
#[cfg(unix)]
pub fn is_executable(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o100 != 0
}

#[cfg(not(unix))]
pub fn is_executable(_: &std::fs::Metadata) -> bool {
    false
}

#[cfg(unix)]
pub(crate) fn mode_of(metadata: &cap_std::fs::Metadata) -> Mode {
    use cap_std::fs::PermissionsExt;
    if metadata.permissions().mode() & 0o100 == 0 { Mode::Regular } else { Mode::Executable }
}

#[cfg(not(unix))]
pub(crate) fn mode_of(_: &cap_std::fs::Metadata) -> Mode {
    Mode::Regular
}
