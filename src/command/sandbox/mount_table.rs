//! Table of the mounts that a process sees, as the kernel writes it.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

/// A mount.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MountEntry {
    id: u64,
    parent: u64,
    /// The path of the mount point.
    pub(super) point: PathBuf,
    /// Whether the mount is read-only, whatever its file system is.
    pub(super) is_read_only: bool,
}

impl MountEntry {
    /// `id parent device root mount-point options …`, with whitespace and the like as `\\040`
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.splitn(7, ' ').collect();
        let &[id, parent, _, _, point, options, ..] = fields.as_slice() else { return None };
        Some(Self {
            id: id.parse().ok()?,
            parent: parent.parse().ok()?,
            point: unescaped(point),
            is_read_only: options.split(',').any(|option| option == "ro"),
        })
    }
}

/// Returns all mounts that this process sees, each after the one that it is mounted in.
pub(super) fn mounts() -> io::Result<Vec<MountEntry>> {
    Ok(fs::read_to_string("/proc/self/mountinfo")?.lines().filter_map(MountEntry::parse).collect())
}

/// Returns the mounts inside the one that a place is in.
pub(super) fn mounts_inside(place: &OwnedFd) -> io::Result<Vec<MountEntry>> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", place.as_raw_fd()))?;
    let id = info.lines().find_map(|line| line.strip_prefix("mnt_id:")?.trim().parse().ok());
    let id = id.ok_or_else(|| io::Error::other("the kernel cannot distinguish mounts"))?;
    Ok(inside(id, mounts()?))
}

fn inside(id: u64, mut mounts: Vec<MountEntry>) -> Vec<MountEntry> {
    let mut around = vec![id];
    mounts.retain(|mount| {
        let is_inside = around.contains(&mount.parent);
        around.extend(is_inside.then_some(mount.id));
        is_inside
    });
    mounts
}

/// Decodes a path in the table of mounts, where some characters are three octal digits after a backslash.
pub(super) fn unescaped(text: &str) -> PathBuf {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\').and_then(|code| std::str::from_utf8(code).ok());
        let byte = code.and_then(|code| u8::from_str_radix(code, 8).ok());
        plain.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &after[3..] } else { after };
    }
    PathBuf::from(OsString::from_vec(plain))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn mount_points_are_read_as_the_kernel_writes_them() {
        for (text, path) in [
            ("/plain", "/plain"),
            (r"/with\040blank\134and\011tab", "/with blank\\and\ttab"),
            (r"/end\04", r"/end\04"),
            ("", ""),
        ] {
            assert_eq!(unescaped(text), Path::new(path), "{text}");
        }
    }

    #[test]
    fn mounts_inside_another_are_told_by_their_ids_and_not_by_their_paths() {
        let table = "7 1 0:1 / /a rw,nosuid - tmpfs x rw\n8 7 0:2 / /a/b ro - tmpfs x rw\n9 1 0:3 / /a rw - tmpfs x ro\n\
                     10 9 0:4 / /a/c\\040d rw,relatime - tmpfs x rw\n2 10 0:5 / /a/c\\040d/e ro,nosuid - tmpfs x rw\n";
        let of = |id| {
            let mounts = inside(id, table.lines().filter_map(MountEntry::parse).collect());
            mounts.into_iter().map(|mount| (mount.point, mount.is_read_only)).collect::<Vec<_>>()
        };
        assert_eq!(of(7), [("/a/b".into(), true)]);
        assert_eq!(of(9), [("/a/c d".into(), false), ("/a/c d/e".into(), true)]);
        assert_eq!(of(10), [("/a/c d/e".into(), true)]);
        assert_eq!(of(8), []);
    }
}
