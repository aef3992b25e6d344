//! Entry of a workspace: a file or link, held by the folder that it is in. Whatever its path leads to later, what is done
//! with the entry reaches nothing else.

use std::fs;
use std::io;

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsMaybeDirExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};

use super::disk::DiskWorkspace;
use super::path::{ResolvedPath, WorkspacePath};
use super::{Kind, confined};

/// A file, link, or special file.
pub struct Entry {
    /// The folder that it is in.
    pub folder: Dir,
    /// Its name there.
    pub name: String,
    /// Its own metadata.
    pub metadata: Metadata,
}

impl DiskWorkspace {
    /// Returns what is at a path that leads through no link, unless it is a folder or nothing.
    pub fn entry(&self, path: &WorkspacePath) -> io::Result<Option<Entry>> {
        let resolved = ResolvedPath(path.clone());
        let (parent, name) = confined::split(&resolved)?;
        let found = confined::open_dir(self.dir(), &parent)
            .and_then(|folder| Ok((folder.symlink_metadata(name)?, folder)));
        match found {
            Ok((metadata, _)) if metadata.is_dir() => Ok(None),
            Ok((metadata, folder)) => Ok(Some(Entry { folder, name: name.to_owned(), metadata })),
            Err(error) if super::file_system::is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether there is a folder at a path that leads through no link; one that cannot be looked at counts as there.
    pub fn has_folder(&self, path: &WorkspacePath) -> bool {
        let stat = self.stat(&ResolvedPath(path.clone()));
        stat.map_or(true, |stat| stat.is_some_and(|stat| stat.kind == Kind::Directory))
    }

    /// Removes whatever is at a path that leads through no link, folders with everything in them.
    pub fn remove_all(&self, path: &WorkspacePath) -> io::Result<()> {
        let resolved = ResolvedPath(path.clone());
        let (parent, name) = confined::split(&resolved)?;
        match confined::open_dir(self.dir(), &parent) {
            Err(error) if super::file_system::is_absent(&error) => Ok(()),
            folder => super::removal::remove_in(&folder?, name),
        }
    }
}

impl Entry {
    /// Opens a regular file for reading; anything else is an error.
    pub fn open(&self) -> io::Result<fs::File> {
        open_file(&self.folder, &self.name)
    }
}

/// Opens a regular file in a folder for reading, and does not wait for anybody if it is none.
pub fn open_file(folder: &Dir, name: impl AsRef<std::path::Path>) -> io::Result<fs::File> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).maybe_dir(false);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits().cast_signed());
    }
    let file = folder.open_with(name, &options).map(File::into_std)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

/// Copies what a file holds, and leaves holes where it has some: a file may be larger than the disk.
#[cfg(target_os = "linux")]
pub fn copy_content(from: &mut fs::File, to: &mut fs::File) -> io::Result<()> {
    use std::io::{Read, Seek, Write};
    use std::os::unix::fs::MetadataExt;

    use rustix::fs::{SeekFrom, seek};
    /// Unit of [`MetadataExt::blocks`].
    const BLOCK: u64 = 512;
    let metadata = from.metadata()?;
    // Shares the blocks where the file system can (reflink).
    if metadata.blocks().saturating_mul(BLOCK) >= metadata.len() {
        return io::copy(from, to).map(drop);
    }
    to.set_len(metadata.len())?;
    let mut at = 0;
    while at < metadata.len() {
        let start = match seek(&*from, SeekFrom::Data(at)) {
            Ok(start) => start,
            // There is nothing more but a hole.
            Err(rustix::io::Errno::NXIO) => break,
            Err(error) => return Err(error.into()),
        };
        let end = seek(&*from, SeekFrom::Hole(start))?;
        from.seek(io::SeekFrom::Start(start))?;
        to.seek(io::SeekFrom::Start(start))?;
        io::copy(&mut Read::by_ref(from).take(end - start), to)?;
        at = end;
    }
    to.flush()
}

/// Copies what a file holds.
#[cfg(not(target_os = "linux"))]
pub fn copy_content(from: &mut fs::File, to: &mut fs::File) -> io::Result<()> {
    io::copy(from, to).map(drop)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Seek, Write};
    use std::os::unix::fs::MetadataExt;

    use super::*;

    #[test]
    fn holes_stay_holes() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        let mut from =
            fs::File::options().read(true).write(true).create_new(true).open(at("from")).expect("a file");
        from.set_len(1 << 40).expect("a large file");
        from.seek(io::SeekFrom::Start(1 << 30)).expect("a place");
        from.write_all(b"in the middle").expect("written");
        let mut to = fs::File::create_new(at("to")).expect("a file");
        copy_content(&mut from, &mut to).expect("copied");
        let copied = fs::metadata(at("to")).expect("a file");
        assert!(copied.len() == 1 << 40 && copied.blocks() < 4096, "{copied:?}");
        let mut text = vec![0; 13];
        std::os::unix::fs::FileExt::read_exact_at(
            &fs::File::open(at("to")).expect("a file"),
            &mut text,
            1 << 30,
        )
        .expect("read");
        assert_eq!(text, b"in the middle");
    }

    #[test]
    fn entries_are_reached_through_no_link_and_pipes_are_not_waited_for() {
        let dir = tempfile::tempdir().expect("a folder");
        let at = |name: &str| dir.path().join(name);
        fs::create_dir_all(at("work/folder")).expect("a folder");
        fs::create_dir(at("outside")).expect("a folder");
        fs::write(at("outside/file"), "").expect("a file");
        std::os::unix::fs::symlink("../outside", at("work/link")).expect("a link");
        let pipe = rustix::fs::FileType::Fifo;
        rustix::fs::mknodat(rustix::fs::CWD, at("work/pipe"), pipe, 0o600.into(), 0).expect("a pipe");
        let disk = DiskWorkspace::open(&at("work")).expect("a workspace");
        let entry = |path: &str| disk.entry(&WorkspacePath::parse(path).expect("a path")).expect("looked up");
        for path in ["link/file", "folder", "folder/none", "none/none", "pipe/below"] {
            assert!(entry(path).is_none(), "{path}");
        }
        assert!(entry("link").is_some_and(|entry| entry.metadata.is_symlink() && entry.open().is_err()));
        assert!(entry("pipe").is_some_and(|entry| entry.open().is_err()));
        disk.remove_all(&WorkspacePath::parse("link/file").expect("a path")).expect("nothing there");
        assert!(at("outside/file").exists());
    }
}
