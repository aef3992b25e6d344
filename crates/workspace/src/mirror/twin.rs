//! Two folders that are to hold the same: single entries are compared and copied between them, whatever their names,
//! sizes and kinds are. Everything is reached through open folders, so a link that takes a folder's place leads nowhere.

use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path};

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};

use crate::copy::{copy_between, copy_file, link_in};
use crate::entry::open_file;
use crate::file_system::is_absent;
use crate::removal::remove_in;

/// Makes an entry of `to` what it is in `from`: a file, a link, a folder with everything in it, or nothing. Pipes,
/// sockets and devices count as nothing.
pub(crate) fn copy(from: &Dir, to: &Dir, path: &Path) -> io::Result<()> {
    let Some((source, name, metadata)) = find(from, path)? else { return remove(to, path) };
    if !metadata.is_dir() && !metadata.is_file() && !metadata.is_symlink() {
        return remove(to, path);
    }
    let folder = make_parent(to, path)?;
    remove_in(&folder, name)?;
    if metadata.is_symlink() {
        link_in(&source.read_link_contents(name)?, &folder, name)
    } else if metadata.is_dir() {
        folder.create_dir(name)?;
        copy_between(source.open_dir_nofollow(name)?, folder.open_dir_nofollow(name)?, &|_| false)
    } else {
        copy_file(open_file(&source, name)?, &folder, name)
    }
}

/// Removes an entry, folders with everything in them. Does nothing if there is nothing.
pub(crate) fn remove(folder: &Dir, path: &Path) -> io::Result<()> {
    find(folder, path)?.map_or(Ok(()), |(parent, name, _)| remove_in(&parent, name))
}

/// Returns whether an entry has the same kind and content in both folders, and whether it can be executed in both or in
/// neither. What cannot be read is not the same.
pub(crate) fn is_same(one: &Dir, other: &Dir, path: &Path) -> bool {
    match (find(one, path), find(other, path)) {
        (Ok(None), Ok(None)) => true,
        (Ok(Some(one)), Ok(Some(other))) => is_equal(&one, &other).unwrap_or(false),
        _ => false,
    }
}

/// Returns the metadata of an entry, if there is one.
pub(crate) fn metadata(folder: &Dir, path: &Path) -> Option<Metadata> {
    find(folder, path).ok().flatten().map(|(_, _, metadata)| metadata)
}

/// Sets the permissions of a folder or a file. A link has none of its own.
#[cfg(unix)]
pub(crate) fn set_mode(root: &Dir, path: &Path, mode: u32) -> io::Result<()> {
    use cap_std::fs::{Permissions, PermissionsExt};
    let Some((parent, name, metadata)) = find(root, path)? else { return Ok(()) };
    if metadata.is_dir() {
        parent.set_permissions(name, Permissions::from_mode(mode & 0o1777))
    } else if metadata.is_file() {
        parent.set_permissions(name, Permissions::from_mode(mode & 0o777))
    } else {
        Ok(())
    }
}

/// Does nothing: other systems have no modes.
#[cfg(not(unix))]
pub(crate) fn set_mode(_: &Dir, _: &Path, _: u32) -> io::Result<()> {
    Ok(())
}

/// An entry: the folder that it is in, its name there, and its metadata.
pub(crate) type Entry<'a> = (Dir, &'a Path, Metadata);

/// Returns an entry that is reached through no link, or `None` if there is nothing.
pub(crate) fn find<'a>(root: &Dir, path: &'a Path) -> io::Result<Option<Entry<'a>>> {
    let name = Path::new(path.file_name().ok_or(io::ErrorKind::InvalidInput)?);
    let found = parent(root, path).and_then(|folder| Ok((folder.symlink_metadata(name)?, folder)));
    match found {
        Ok((metadata, folder)) => Ok(Some((folder, name, metadata))),
        Err(error) if is_absent(&error) || is_link(&error) => Ok(None),
        Err(error) => Err(error),
    }
}

fn parent(root: &Dir, path: &Path) -> io::Result<Dir> {
    let mut folder = root.try_clone()?;
    for name in names_above(path)? {
        folder = folder.open_dir_nofollow(name)?;
    }
    Ok(folder)
}

/// Opens the folder of an entry, and creates what is missing of it. What stands where a folder is needed is removed.
fn make_parent(root: &Dir, path: &Path) -> io::Result<Dir> {
    let mut folder = root.try_clone()?;
    for name in names_above(path)? {
        match folder.symlink_metadata(name) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => {
                folder.remove_file(name)?;
                folder.create_dir(name)?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => folder.create_dir(name)?,
            Err(error) => return Err(error),
        }
        folder = folder.open_dir_nofollow(name)?;
    }
    Ok(folder)
}

fn names_above(path: &Path) -> io::Result<Vec<&Path>> {
    let above = path.parent().unwrap_or(Path::new(""));
    let name = |part| match part {
        Component::Normal(name) => Ok(Path::new(name)),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    above.components().map(name).collect()
}

fn is_link(error: &io::Error) -> bool {
    #[cfg(unix)]
    {
        rustix::io::Errno::from_io_error(error) == Some(rustix::io::Errno::LOOP)
    }
    #[cfg(not(unix))]
    {
        let _ = error;
        false
    }
}

fn is_equal(one: &Entry<'_>, other: &Entry<'_>) -> io::Result<bool> {
    let ((folder, name, metadata), (other_folder, other_name, other_metadata)) = (one, other);
    let kind = |metadata: &Metadata| (metadata.is_file(), metadata.is_symlink(), metadata.is_dir());
    if kind(metadata) != kind(other_metadata) {
        return Ok(false);
    }
    if metadata.is_symlink() {
        return Ok(folder.read_link_contents(name)? == other_folder.read_link_contents(other_name)?);
    }
    if !metadata.is_file() {
        return Ok(metadata.is_dir());
    }
    if metadata.len() != other_metadata.len() || is_executable(metadata) != is_executable(other_metadata) {
        return Ok(false);
    }
    have_same_content(open_file(folder, name)?, open_file(other_folder, other_name)?)
}

/// Compares two files without holding them in memory.
fn have_same_content(mut one: fs::File, mut other: fs::File) -> io::Result<bool> {
    const PART: u64 = 256 * 1024;
    let (mut part, mut other_part) = (Vec::new(), Vec::new());
    loop {
        part.clear();
        other_part.clear();
        Read::by_ref(&mut one).take(PART).read_to_end(&mut part)?;
        Read::by_ref(&mut other).take(PART).read_to_end(&mut other_part)?;
        if part != other_part {
            return Ok(false);
        }
        if part.is_empty() {
            return Ok(true);
        }
    }
}

#[cfg(unix)]
fn is_executable(metadata: &Metadata) -> bool {
    use cap_std::fs::PermissionsExt;
    metadata.permissions().mode() & 0o111 != 0
}

#[cfg(not(unix))]
fn is_executable(_: &Metadata) -> bool {
    false
}

#[cfg(all(test, unix))]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    use cap_std::ambient_authority;

    use super::*;

    #[test]
    fn entries_of_every_kind_are_put_back_and_no_link_is_followed() {
        let temp = tempfile::tempdir().expect("a folder");
        let at = |name: &str| temp.path().join(name);
        for folder in ["from/a/b", "to/a", "outside/b"] {
            fs::create_dir_all(at(folder)).expect("a folder");
        }
        let odd = Path::new(OsStr::from_bytes(b"odd\xff"));
        fs::write(at("from/a/b/file"), "mine").expect("a file");
        fs::write(at("from").join(odd), "odd").expect("a file");
        symlink("b/file", at("from/a/link")).expect("a link");
        fs::write(at("outside/b/file"), "theirs").expect("a file");
        symlink(at("outside/b"), at("to/a/b")).expect("a link");
        fs::create_dir_all(at("to/a/link/folder")).expect("a folder");
        fs::write(at("to/new"), "").expect("a file");
        let open = |name: &str| Dir::open_ambient_dir(at(name), ambient_authority()).expect("a folder");
        let (from, to) = (open("from"), open("to"));
        for path in [Path::new("a/b/file"), Path::new("a/link"), Path::new("new"), odd] {
            assert!(!is_same(&from, &to, path), "{}", path.display());
            copy(&from, &to, path).expect("copied");
            assert!(is_same(&from, &to, path), "{}", path.display());
        }
        assert_eq!(fs::read_to_string(at("outside/b/file")).expect("a file"), "theirs");
        assert!(fs::symlink_metadata(at("to/new")).is_err());
        assert!(copy(&from, &to, Path::new("../outside")).is_err());
    }
}
