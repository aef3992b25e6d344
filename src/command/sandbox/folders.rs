//! The sandbox's own folders on the machine: what a run keeps for its children, and where the changes go that are thrown
//! away.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use workspace::Scratch;

use super::Overlay;
use super::home::{Home, Shown};
use super::plan::{Inner, Sandbox};

/// The kind of overlays above the Git folder.
const GIT: &str = "git";

impl Sandbox {
    /// Returns the private folder of the run, which is created on first use.
    pub(super) fn private(&self) -> io::Result<&Path> {
        let made = self.0.private.get_or_init(|| {
            let scratch = Scratch::new(&self.0.temp).ok()?;
            for folder in ["root", "tmp", "home"] {
                fs::create_dir(scratch.path().join(folder)).ok()?;
            }
            open_to_all(&scratch.path().join("tmp")).ok()?;
            Some(scratch)
        });
        let none = || io::Error::other(format!("could not create a folder in {}", self.0.temp.display()));
        made.as_ref().map(Scratch::path).ok_or_else(none)
    }

    /// Returns the private home folder of children that see the machine's own file system, which is filled on first use;
    /// `None` if the real one is in the checkout.
    pub(super) fn home(&self) -> io::Result<Option<&Home>> {
        let Inner { places, workspace, writable, home, cargo, .. } = &*self.0;
        let Some(real) = places.home.as_ref().filter(|home| !home.starts_with(workspace)) else {
            return Ok(None);
        };
        let private = self.private()?.join("home");
        let is_elsewhere = |place: &&Path| !place.starts_with(workspace);
        let make = || {
            let lists = [&places.toolchains, &places.settings, &places.readable, writable];
            let linked = lists.into_iter().flatten().map(PathBuf::as_path).filter(is_elsewhere).collect();
            let caches = places.caches.iter().map(PathBuf::as_path).filter(is_elsewhere);
            let caches = caches.map(|cache| {
                let begins_empty =
                    self.is_around(cache) || places.results.iter().any(|results| results == cache);
                (cache, (!begins_empty).then(|| places.real(cache)))
            });
            let hidden = places.hidden.iter().map(|hidden| places.real(hidden)).collect();
            Home::make(
                &private,
                Shown { real, cargo: cargo.as_deref(), linked, caches: caches.collect(), hidden },
            )
        };
        let made = home.get_or_init(|| make().ok());
        let none = || io::Error::other(format!("could not create a home folder in {}", private.display()));
        made.as_ref().map(Some).ok_or_else(none)
    }

    /// Returns whether a folder contains the checkout, or what the run keeps for itself.
    pub(super) fn is_around(&self, folder: &Path) -> bool {
        self.0.workspace.starts_with(folder) || self.0.temp.starts_with(folder)
    }

    /// Returns an overlay above a folder of the machine, whose changes are discarded.
    pub(super) fn overlay(&self, kind: &str, index: usize, lower: &Path) -> io::Result<Overlay> {
        let folder = self.private()?.join(format!("{kind}-{index}"));
        let overlay = Overlay {
            lowers: vec![lower.to_owned()],
            upper: folder.join("upper"),
            work: folder.join("work"),
        };
        fs::create_dir_all(&overlay.work)?;
        fs::create_dir_all(&overlay.upper)?;
        Ok(overlay)
    }

    /// A throw-away folder above one of Git's own; `None` where that one cannot be shown.
    pub(super) fn git_overlay(&self, index: usize, lower: &Path) -> io::Result<Option<Overlay>> {
        let Inner { repository, masking, temp, trusted, .. } = &*self.0;
        let Some(layer) = repository.layer(index, temp, masking) else { return Ok(None) };
        let kind = match trusted {
            Some(started) => format!("{GIT}-{}", started.fetch_add(1, Ordering::Relaxed)),
            None => GIT.to_owned(),
        };
        let mut overlay = self.overlay(&kind, index, lower)?;
        overlay.lowers.insert(0, layer);
        Ok(Some(overlay))
    }

    /// An overlay above a folder, to find out whether one can be had.
    pub(in crate::command) fn probe_overlay(&self, lower: &Path) -> io::Result<Overlay> {
        self.overlay("probe", 0, lower)
    }
}

#[cfg(unix)]
fn open_to_all(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o1777))
}

#[cfg(not(unix))]
fn open_to_all(_: &Path) -> io::Result<()> {
    Ok(())
}
