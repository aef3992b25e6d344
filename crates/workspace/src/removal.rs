//! Removal of whole trees by descriptors: however deep they are, through no link, and although somebody took the
//! permissions away.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, Metadata};

/// Removes whatever is at a path, whose folder nobody else can replace. Does nothing if there is nothing.
pub fn remove_tree(path: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    match Dir::open_ambient_dir(parent, ambient_authority()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        opened => remove_in(&opened?, name),
    }
}

/// Removes whatever has this name in a folder. Does nothing if there is nothing.
pub fn remove_in(folder: &Dir, name: impl AsRef<OsStr>) -> io::Result<()> {
    let name = name.as_ref();
    match folder.symlink_metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        found => remove_found(folder, name, &found?),
    }
}

/// Removes everything in a folder. What cannot be removed is left, and the first error returned after the rest is gone.
pub fn empty(top: &Dir) -> io::Result<()> {
    let mut waiting = names(top)?;
    let mut failure = Ok(());
    let mut moved = 0_u64;
    while let Some(name) = waiting.pop() {
        let removed = match top.symlink_metadata(&name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(metadata) if !metadata.is_dir() => top.remove_file(&name),
            Ok(metadata) => {
                // The folders in it are moved up before it goes, so that none is ever deeper than this, and few are open.
                let lift = |folder: &Dir, below: &OsStr, metadata: &Metadata| {
                    moved += 1;
                    let place = OsString::from(format!(".{}-{moved}", uuid::Uuid::new_v4().simple()));
                    open_up(folder, below, metadata);
                    folder.rename(below, top, &place).map(|()| waiting.push(place))
                };
                clear_folder(top, &name, &metadata, lift)
            }
        };
        failure = failure.and(removed);
    }
    failure
}

fn remove_found(folder: &Dir, name: &OsStr, metadata: &Metadata) -> io::Result<()> {
    if !metadata.is_dir() {
        return folder.remove_file(name);
    }
    // Most folders that are removed one by one are empty.
    if folder.remove_dir(name).is_ok() {
        return Ok(());
    }
    open_up(folder, name, metadata);
    let emptied = folder.open_dir_nofollow(name).and_then(|opened| empty(&opened));
    // The folder's own error says less than that of what is still in it.
    folder.remove_dir(name).map_err(|error| emptied.err().unwrap_or(error))
}

/// Removes a folder with its files; `lift` takes the folders in it elsewhere.
fn clear_folder(
    above: &Dir,
    name: &OsStr,
    metadata: &Metadata,
    mut lift: impl FnMut(&Dir, &OsStr, &Metadata) -> io::Result<()>,
) -> io::Result<()> {
    if above.remove_dir(name).is_ok() {
        return Ok(());
    }
    open_up(above, name, metadata);
    let folder = above.open_dir_nofollow(name)?;
    let mut failure = Ok(());
    for below in names(&folder)? {
        let removed = match folder.symlink_metadata(&below) {
            Ok(metadata) if metadata.is_dir() => {
                folder.remove_dir(&below).or_else(|_| lift(&folder, &below, &metadata))
            }
            Ok(_) => folder.remove_file(&below),
            Err(error) => Err(error),
        };
        failure = failure.and(removed);
    }
    failure.and(above.remove_dir(name))
}

fn names(folder: &Dir) -> io::Result<Vec<OsString>> {
    folder.entries()?.map(|entry| entry.map(|entry| entry.file_name())).collect()
}

/// Gives this user every permission on a folder. If that fails, so does what needs it.
#[cfg(unix)]
fn open_up(above: &Dir, name: &OsStr, metadata: &Metadata) {
    use cap_std::fs::{Permissions, PermissionsExt};
    if metadata.permissions().mode() & 0o700 != 0o700 {
        let _ = above.set_permissions(name, Permissions::from_mode(0o700));
    }
}

/// Does nothing: other systems have no modes.
#[cfg(not(unix))]
fn open_up(_: &Dir, _: &OsStr, _: &Metadata) {}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Creates so many folders, each in the one before and with a file.
    fn tower(folder: &Path, levels: usize) -> io::Result<()> {
        let mut dir = Dir::open_ambient_dir(folder, ambient_authority())?;
        for _ in 0..levels {
            dir.create_dir("d")?;
            dir = dir.open_dir("d")?;
            dir.write("f", b"x")?;
        }
        Ok(())
    }

    #[test]
    fn trees_of_any_depth_and_mode_go_and_what_links_lead_to_stays() {
        let temp = tempfile::tempdir().expect("a folder");
        let elsewhere = temp.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("a folder");
        fs::write(elsewhere.join("mine"), "").expect("a file");
        let tree = temp.path().join("tree");
        fs::create_dir_all(tree.join("a/closed/b")).expect("a folder");
        fs::write(tree.join("a/closed/b/f"), "").expect("a file");
        symlink(&elsewhere, tree.join("a/link")).expect("a link");
        symlink(&elsewhere, tree.join("link")).expect("a link");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            tree.join("a/pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::empty(),
            0,
        )
        .expect("a pipe");
        tower(&tree, 12_000).expect("a deep tree");
        for folder in ["a/closed/b", "a/closed", "a"] {
            fs::set_permissions(tree.join(folder), fs::Permissions::from_mode(0o000)).expect("no rights");
        }
        remove_tree(&tree).expect("removed");
        assert!(fs::symlink_metadata(&tree).is_err() && elsewhere.join("mine").exists());
        let link = temp.path().join("link");
        symlink(&elsewhere, &link).expect("a link");
        remove_tree(&link).expect("removed");
        remove_tree(&link).expect("nothing to remove");
        remove_tree(&temp.path().join("no/such")).expect("nothing to remove");
        assert!(fs::symlink_metadata(&link).is_err() && elsewhere.join("mine").exists());
    }
}
