//! Assembly of a new root. A command in the background can rename whatever is in the folders that it shares with others, at
//! any moment, and so the folders above a mount point. No name is used twice therefore: a mount is made ready where nobody
//! else gets to, on top of the root's own folder, and is then moved to its mount point. That is opened once, without
//! following links, from the mount that contains it.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, StatVfsMountFlags, fstat, openat, statvfs, symlinkat};
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount, mount_bind_recursive, mount_move, mount_remount};

use super::mount_table::{mounts, mounts_inside};
use super::opening::{create_name, kind, open_below, open_name, open_place, path_of};
use super::{Mount, NewRoot};

/// An empty file in every new root, which covers files.
const NOTHING: &str = ".nothing";

/// A root that is being made.
pub(super) struct Assembly<'a> {
    root: &'a NewRoot,
    /// What has been made, the root's own file system first.
    made: Vec<Made<'a>>,
    /// The mount points of the machine, read when they are first needed.
    points: Option<Vec<PathBuf>>,
}

/// A mount that has been made.
struct Made<'a> {
    at: &'a Path,
    /// The folder at its top, wherever it is mounted by now.
    top: OwnedFd,
    /// The device of a file system that is new: mount points can be created in it.
    fresh: Option<u64>,
    /// Whether it is a folder of the machine that commands write to.
    is_open: bool,
}

/// Prepares an empty file system for a root.
pub(super) fn furnish(root: &Path) -> io::Result<()> {
    let nothing = root.join(NOTHING);
    fs::OpenOptions::new().write(true).create_new(true).mode(0o444).open(&nothing)?;
    fs::set_permissions(&nothing, Permissions::from_mode(0o444))
}

impl<'a> Assembly<'a> {
    /// Begins with the file system that is mounted at the root's own folder.
    pub(super) fn begin(root: &'a NewRoot) -> io::Result<Self> {
        let top = open_top(&root.at)?;
        let is_own = root.mounts.iter().all(|step| step.at() != Path::new("/"));
        let fresh = if is_own { Some(fstat(&top)?.st_dev) } else { None };
        let made = vec![Made { at: Path::new("/"), top, fresh, is_open: false }];
        Ok(Self { root, made, points: None })
    }

    /// Creates a folder.
    pub(super) fn folder(&self, at: &Path) -> io::Result<()> {
        self.point(at, true).map(drop)
    }

    /// Creates a link, unless there is something that came along with a folder that was bound in.
    pub(super) fn link(&self, to: &Path, at: &Path) -> io::Result<()> {
        let (Some(folder), Some(name)) = (at.parent(), at.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        match symlinkat(to, self.point(folder, true)?, name) {
            Err(Errno::EXIST) => Ok(()),
            made => Ok(made?),
        }
    }

    /// Mounts a file or folder of the machine, with everything that is mounted in it.
    pub(super) fn bind(&mut self, step: &'a Mount, from: &Path, writable: bool) -> io::Result<()> {
        // What does not exist (any more) is not needed; what a link leads to by now is not what was meant.
        let Ok(place) = open_place(from) else { return Ok(()) };
        let is_folder = kind(&place)? == FileType::Directory;
        let has_mounts = !writable && self.may_have_mounts(from)?;
        self.place(step, is_folder, |stage| bind_at(stage, &place, writable, has_mounts))
    }

    /// Makes a mount with `mount`, which is given a private path for it, and moves it to its place.
    pub(super) fn place(
        &mut self,
        step: &'a Mount,
        is_folder: bool,
        mount: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<()> {
        let at = step.at();
        let point = self.point(at, is_folder)?;
        let stage = self.stage(is_folder);
        mount(&stage)?;
        let top = open_top(&stage)?;
        // On top of the root's own folder is where the machine's own root belongs.
        if at != Path::new("/") {
            mount_move(&stage, path_of(&point)).map_err(replaced)?;
        }
        let is_open = is_open(step);
        self.made.push(Made { at, top, fresh: None, is_open });
        Ok(())
    }

    /// Records a new and empty file system that was mounted in the root's own.
    pub(super) fn add_fresh(&mut self, at: &'a Path) -> io::Result<()> {
        let top = open_below(&self.made[0].top, below(Path::new("/"), at))?;
        let fresh = Some(fstat(&top)?.st_dev);
        self.made.push(Made { at, top, fresh, is_open: false });
        Ok(())
    }

    /// Covers a file or folder with something empty, if it exists. What is seen in such a folder nevertheless is mounted in
    /// the empty one.
    pub(super) fn hide(&mut self, at: &'a Path) -> io::Result<()> {
        let above = self.above(at);
        let point = match open_below(&above.top, below(above.at, at)) {
            Ok(point) => point,
            // It was there when it was found, and somebody who may see it has moved it away.
            Err(error) if above.is_open && !self.is_covered(at) => {
                return Err(io::Error::other(format!("a path that has to be hidden has moved: {error}")));
            }
            Err(_) => return Ok(()),
        };
        if kind(&point)? == FileType::Directory {
            let is_around = self.root.mounts.iter().any(|step| step.is_seen_in(at));
            let options = if is_around { c"mode=111,size=4k" } else { c"mode=000,size=4k" };
            let stage = self.stage(true);
            mount("tmpfs", &stage, "tmpfs", MountFlags::NOSUID, options)?;
            let top = open_top(&stage)?;
            mount_move(&stage, path_of(&point))?;
            if is_around {
                let fresh = Some(fstat(&top)?.st_dev);
                self.made.push(Made { at, top, fresh, is_open: false });
            }
            return Ok(());
        }
        let nothing = self.stage(false);
        mount_bind_recursive(&nothing, &nothing)?;
        read_only(&nothing)?;
        Ok(mount_move(&nothing, path_of(&point))?)
    }

    /// Returns whether a folder around it is hidden as well.
    fn is_covered(&self, at: &Path) -> bool {
        let covers =
            |step: &Mount| matches!(step, Mount::Hide { at: other } if at != other && at.starts_with(other));
        self.root.mounts.iter().any(covers)
    }

    /// Returns where a mount is made ready.
    fn stage(&self, is_folder: bool) -> PathBuf {
        if is_folder { self.root.at.clone() } else { self.root.at.join(NOTHING) }
    }

    /// Returns the innermost mount that contains a path.
    fn above(&self, at: &Path) -> &Made<'a> {
        let around = self.made.iter().skip(1).filter(|made| at.starts_with(made.at));
        around.max_by_key(|made| made.at.components().count()).unwrap_or(&self.made[0])
    }

    /// Opens a mount point. It is created in a new file system only: in folders that commands write to, the runner has
    /// done so.
    fn point(&self, at: &Path, is_folder: bool) -> io::Result<OwnedFd> {
        let above = self.above(at);
        let below = below(above.at, at);
        if below.as_os_str().is_empty() {
            return above.top.try_clone();
        }
        let opened = match open_below(&above.top, below) {
            Err(Errno::NOENT) => create_below(&above.top, below, is_folder, above.fresh),
            opened => opened,
        };
        opened.map_err(replaced)
    }

    /// Returns whether anything could be mounted below a place of the machine.
    fn may_have_mounts(&mut self, place: &Path) -> io::Result<bool> {
        // Where commands write, names may have changed since the table was read.
        if self.root.mounts.iter().any(|step| is_open(step) && place.starts_with(step.at())) {
            return Ok(true);
        }
        let points = match self.points.take() {
            Some(points) => points,
            None => mounts()?.into_iter().map(|mount| mount.point).collect(),
        };
        let points = self.points.insert(points);
        Ok(points.iter().any(|point| point != place && point.starts_with(place)))
    }
}

fn replaced(error: Errno) -> io::Error {
    io::Error::other(format!("its mount point is missing or was replaced: {error}"))
}

fn is_open(step: &Mount) -> bool {
    matches!(step, Mount::Bind { from, at, writable: true } if from == at)
}

fn below<'p>(above: &Path, at: &'p Path) -> &'p Path {
    at.strip_prefix(above).unwrap_or(at)
}

/// Opens what is mounted last at a path that nobody else gets to.
fn open_top(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW, Mode::empty())?)
}

/// Opens a place below a folder name by name, and creates what is missing on the device `fresh`.
fn create_below(
    folder: &OwnedFd,
    below: &Path,
    is_folder: bool,
    fresh: Option<u64>,
) -> Result<OwnedFd, Errno> {
    let mut place = openat(folder, ".", OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let mut names = below.components().peekable();
    while let Some(name) = names.next() {
        let Component::Normal(name) = name else { return Err(Errno::INVAL) };
        let next = match open_name(&place, name) {
            Err(Errno::NOENT) if fresh == Some(fstat(&place)?.st_dev) => {
                create_name(&place, name, is_folder || names.peek().is_some())?;
                open_name(&place, name)?
            }
            opened => opened?,
        };
        if kind(&next)? == FileType::Symlink {
            return Err(Errno::LOOP);
        }
        place = next;
    }
    Ok(place)
}

/// Binds a place of the machine to a path that nobody else gets to.
pub(super) fn bind_at(stage: &Path, place: &OwnedFd, writable: bool, has_mounts: bool) -> io::Result<()> {
    mount_bind_recursive(path_of(place), stage)?;
    if writable {
        return Ok(());
    }
    read_only(stage)?;
    if !has_mounts {
        return Ok(());
    }
    let top = open_top(stage)?;
    for inner in mounts_inside(&top)? {
        read_only(&inner.point)?;
    }
    // The names on the way to them may be a command's.
    match mounts_inside(&top)?.iter().find(|inner| !inner.is_read_only) {
        Some(inner) => {
            Err(io::Error::other(format!("{} could not be made read-only", inner.point.display())))
        }
        None => Ok(()),
    }
}

/// Makes a mount at a path that nobody else gets to read-only for everybody, including modes, owners, and times.
pub(super) fn read_only(at: &Path) -> io::Result<()> {
    // In a user namespace, the restrictions of the mount below must be repeated.
    let has = statvfs(at)?.f_flag;
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID;
    for (is, flag) in [
        (StatVfsMountFlags::NODEV, MountFlags::NODEV),
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if has.contains(is) {
            flags |= flag;
        }
    }
    Ok(mount_remount(at, flags, "")?)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn mount_points_are_not_created_where_a_link_leads_nor_in_what_was_bound_in() {
        let dir = tempfile::tempdir().expect("a folder");
        let (root, elsewhere) = (dir.path().join("root"), dir.path().join("elsewhere"));
        fs::create_dir_all(root.join("home")).expect("a folder");
        fs::create_dir(&elsewhere).expect("a folder");
        symlink(&elsewhere, root.join("home/link")).expect("a link");
        symlink(elsewhere.join("file"), root.join("home/dangling")).expect("a link");
        let top = open_top(&root).expect("a folder");
        let fresh = Some(fstat(&top).expect("a folder").st_dev);
        for is_folder in [true, false] {
            for below in
                ["home/link/below", "home/link", "home/dangling", "home/link/a/b", "../elsewhere/below"]
            {
                assert!(create_below(&top, Path::new(below), is_folder, fresh).is_err(), "{below}");
            }
            assert_eq!(
                create_below(&top, Path::new("home/other"), is_folder, None).err(),
                Some(Errno::NOENT)
            );
        }
        assert!(create_below(&top, Path::new("home/folder/below"), true, fresh).is_ok());
        assert!(create_below(&top, Path::new("home/folder/file"), false, fresh).is_ok());
        assert!(root.join("home/folder/below").is_dir() && root.join("home/folder/file").is_file());
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
    }
}
