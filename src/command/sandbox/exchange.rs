//! A copy that takes the checkout's place for a while, where nothing can be mounted: every path in it stays true.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Two places of one file system, each of which takes the other's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exchange {
    /// The checkout.
    pub checkout: PathBuf,
    /// Its copy.
    pub copy: PathBuf,
    /// By what the checkout is known, wherever it lies.
    identity: (u64, u64),
}

impl Exchange {
    /// Whether and how both can be exchanged; `None` where they cannot.
    pub fn between(checkout: &Path, copy: &Path) -> Option<Self> {
        let known = identity(checkout)?;
        let parent = checkout.parent()?;
        // What something is mounted at cannot be renamed.
        let is_near = |path: &Path| identity(path).is_some_and(|other| other.0 == known.0);
        let on_one_device = is_near(parent) && is_near(copy);
        let exchange = Self { checkout: checkout.to_owned(), copy: copy.to_owned(), identity: known };
        (on_one_device && may_rename_in(parent)).then_some(exchange)
    }

    /// Exchanges them, or exchanges them back.
    #[cfg(target_os = "linux")]
    pub fn perform(&self) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        Ok(renameat_with(CWD, &self.checkout, CWD, &self.copy, RenameFlags::EXCHANGE)?)
    }

    /// Other systems cannot do it in one step.
    #[cfg(not(target_os = "linux"))]
    pub fn perform(&self) -> io::Result<()> {
        Err(io::Error::from(io::ErrorKind::Unsupported))
    }

    /// Exchanges them back if whoever exchanged them could not.
    pub fn make_good(&self) -> io::Result<()> {
        if identity(&self.copy) == Some(self.identity) { self.perform() } else { Ok(()) }
    }
}

#[cfg(target_os = "linux")]
fn identity(path: &Path) -> Option<(u64, u64)> {
    use std::os::unix::fs::MetadataExt;
    fs::symlink_metadata(path).ok().map(|metadata| (metadata.dev(), metadata.ino()))
}

#[cfg(not(target_os = "linux"))]
fn identity(path: &Path) -> Option<(u64, u64)> {
    // They are never exchanged.
    fs::symlink_metadata(path).err().map(|_| (0, 0))
}

#[cfg(unix)]
fn may_rename_in(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn may_rename_in(_: &Path) -> bool {
    false
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_exchanged_is_made_good_once() {
        let dir = tempfile::tempdir().expect("a folder");
        let (checkout, copy) = (dir.path().join("checkout"), dir.path().join("copy"));
        for (folder, text) in [(&checkout, "real"), (&copy, "copy")] {
            fs::create_dir(folder).expect("a folder");
            fs::write(folder.join("name"), text).expect("a file");
        }
        let exchange = Exchange::between(&checkout, &copy).expect("one file system");
        let name = || fs::read_to_string(checkout.join("name")).expect("a file");
        exchange.make_good().expect("nothing to do");
        assert_eq!(name(), "real");
        exchange.perform().expect("exchanged");
        assert_eq!(name(), "copy");
        exchange.make_good().expect("exchanged back");
        exchange.make_good().expect("nothing to do");
        assert_eq!(name(), "real");
        assert_eq!(Exchange::between(&checkout, Path::new("/proc/self")), None);
    }
}
