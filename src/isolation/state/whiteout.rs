//! Marks of an overlay's upper folder: what the lower folder has is gone, or hidden as a whole.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata, MetadataExt};
use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat, openat};

/// Extended attributes of opaque folders, as set by an overlay without and with privileges.
const OPAQUE: [&str; 2] = ["user.overlay.opaque", "trusted.overlay.opaque"];

/// Marks a file as gone in a folder to which no command writes.
pub(super) fn hide_at(folder: &Path, path: &Path) -> io::Result<()> {
    let full = folder.join(path);
    if let Some(parent) = full.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(mknodat(CWD, &full, FileType::CharacterDevice, Mode::empty(), 0)?)
}

/// Makes a folder opaque, which hides what the lower folder has there.
pub(super) fn hide_below(folder: &Path) -> io::Result<()> {
    make_opaque(&Dir::open_ambient_dir(folder, ambient_authority())?)
}

/// Makes an open folder opaque.
pub(super) fn make_opaque(folder: &Dir) -> io::Result<()> {
    Ok(rustix::fs::fsetxattr(readable(folder)?, OPAQUE[0], b"y", rustix::fs::XattrFlags::empty())?)
}

/// Opens a folder for more than reaching what is in it.
fn readable(folder: &Dir) -> rustix::io::Result<OwnedFd> {
    openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

pub(super) fn is_whiteout(metadata: &Metadata) -> bool {
    cap_std::fs::FileTypeExt::is_char_device(&metadata.file_type()) && metadata.rdev() == 0
}

pub(super) fn is_opaque(folder: &Dir) -> bool {
    let Ok(folder) = readable(folder) else { return false };
    OPAQUE.iter().any(|mark| {
        let mut value = [0_u8; 4];
        rustix::fs::fgetxattr(&folder, *mark, &mut value).is_ok_and(|length| value[..length] == *b"y")
    })
}
