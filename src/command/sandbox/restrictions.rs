//! Restrictions of one child, from what the sandbox of its run knows: where it may read and write, and what its file system is
//! made of.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use workspace::repositories::{CheckoutEntries, find};

use super::hidden;
use super::mount_points::prepare;
use super::plan::{Inner, SHARED_MEMORY, Sandbox, TEMPORARY, View};
use super::{Mount, Namespaces, NewRoot, Restrictions, Rights, Sockets, User, kernel_support, terminals};

/// Devices that programs commonly write to. A process has no terminal behind `/dev/tty` but its session's own.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty"];

/// Parts of `/proc` that reveal nothing about other processes.
const OWN_PROC: [&str; 11] = [
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/version",
    "/proc/loadavg",
    "/proc/uptime",
    "/proc/filesystems",
    "/proc/mounts",
    "/proc/sys",
    "/proc/thread-self",
];

/// Paths that a process working in the checkout itself cannot change.
const KEPT: [&str; 5] =
    [".git", ".github/workflows", ".github/actions", ".github/architect.yml", ".architect.yml"];

impl Sandbox {
    /// Returns the restrictions of a child that sees `view` at the path `root`. They open no network.
    pub fn restrictions(
        &self,
        root: &Path,
        view: View<'_>,
        rights: Rights,
        namespaces: Option<Namespaces>,
    ) -> io::Result<Restrictions> {
        self.restrictions_opening(root, view, rights, namespaces, &[])
    }

    /// Returns the same restrictions with additional places to read.
    pub fn restrictions_opening(
        &self,
        root: &Path,
        view: View<'_>,
        rights: Rights,
        namespaces: Option<Namespaces>,
        more: &[PathBuf],
    ) -> io::Result<Restrictions> {
        let sockets = if rights == Rights::Look { Sockets::None } else { Sockets::Local };
        let new_root = match namespaces {
            Some(namespaces) => {
                let mounts = self.mounts(root, view, rights, more)?;
                // Landlock alone keeps a light root from being changed, if it can, and it allows the folders for temporary
                // files with all that is mounted below them.
                let light = rights == Rights::Look
                    && self.0.wanted
                    && self.0.landlock
                    && kernel_support().truncation
                    && !mounts.iter().any(is_below_temporary);
                Some(NewRoot {
                    at: self.private()?.join("root"),
                    namespaces,
                    mounts,
                    user: (namespaces == Namespaces::Sudo).then(own_user),
                    light,
                    held: None,
                })
            }
            None => None,
        };
        let works = rights == Rights::Work;
        let mut writable: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        let has_terminals = new_root.is_some() || terminals::are_unused();
        writable.extend(terminals::PLACES.iter().filter(|_| has_terminals).map(PathBuf::from));
        if works {
            let is_written =
                !matches!(view, View::Reader(_) | View::Plain { writable: false } | View::Base { .. });
            writable.extend(is_written.then(|| root.to_owned()));
            let is_seen = |place: &&PathBuf| !view.withholds(place);
            writable.extend(self.0.writable.iter().filter(is_seen).cloned());
            let is_changed = matches!(view, View::Base { checkout: Some(true), .. });
            writable.extend(is_changed.then(|| self.0.workspace.clone()));
        }
        let (mut readable, mut listable) = (None, Vec::new());
        if new_root.is_some() {
            writable.extend(TEMPORARY.map(PathBuf::from));
            if works {
                writable.push(PathBuf::from(SHARED_MEMORY));
                let Inner { places, repository, shared, .. } = &*self.0;
                writable.extend(places.home.clone());
                writable.extend(shared.iter().map(|shared| shared.folder.at.clone()));
                let lists = [&repository.folders, &places.toolchains, &places.caches];
                writable.extend(lists.into_iter().flatten().cloned());
            }
        } else {
            writable.push(self.private()?.join("tmp"));
            let home = self.home()?.map(|home| home.path().to_owned());
            writable.extend(home.clone().filter(|_| works));
            listable.push(PathBuf::from("/dev"));
            let mut opened = self.opened(root, rights);
            opened.extend(more.iter().map(|place| self.real_of(place)));
            opened.retain(|place| !view.withholds(place));
            opened.extend(home);
            if let View::Base { files, checkout, .. } = view {
                opened.push(files.to_owned());
                opened.extend(checkout.map(|_| self.0.workspace.clone()));
            }
            if let View::Copy { around } = view {
                opened.push(around.to_owned());
                // Where the workspace is the whole copy, this is a part of it, and the command's to replace.
                writable.extend((around != root && works).then(|| around.join(".git")));
            }
            let mut hidden: Vec<PathBuf> =
                self.0.places.hidden.iter().map(|hidden| self.0.places.real(hidden)).collect();
            hidden.extend(view.withheld().map(Path::to_owned));
            readable = Some(without(&opened, &hidden, &mut listable));
        }
        let restricted = self.stands(namespaces.is_some());
        let named_sockets = new_root.is_some() || !self.meets_daemons();
        let root = new_root;
        Ok(Restrictions {
            root,
            restricted,
            readable,
            listable,
            writable,
            sockets,
            network: None,
            named_sockets,
            system_v: false,
            metadata: works,
        })
    }

    /// Returns where a place is that trusted settings name: links are followed unless they are in the workspace.
    fn real_of(&self, place: &Path) -> PathBuf {
        let is_within = place.starts_with(&self.0.workspace);
        place.canonicalize().ok().filter(|_| !is_within).unwrap_or_else(|| place.to_owned())
    }

    /// Returns whether a child that sees the machine's own file system could reach daemons by sockets with a path, for
    /// which Landlock has no rules, or by those without one, for which older kernels have none. Sockets that the configuration
    /// names as writable do not count. A daemon may have started since the last command.
    fn meets_daemons(&self) -> bool {
        let is_named = |socket: &Path| self.0.writable.iter().any(|place| socket.starts_with(place));
        hidden::may_have_sockets(is_named, kernel_support().signals)
    }

    /// Returns where a child may read if it sees the machine's own file system.
    fn opened(&self, root: &Path, rights: Rights) -> Vec<PathBuf> {
        let Inner { places, repository, writable, .. } = &*self.0;
        let mut opened = vec![root.to_owned(), PathBuf::from("/sys")];
        opened.extend(devices());
        match rights {
            Rights::Work => opened.push(PathBuf::from("/proc")),
            Rights::Look => opened.extend(OWN_PROC.map(PathBuf::from)),
        }
        let named = [&places.readable, &places.toolchains, &places.settings].into_iter().flatten();
        let named = named.chain(places.caches.iter().filter(|cache| !self.is_around(cache)));
        opened.extend(named.map(|place| places.real(place)).chain(writable.iter().cloned()));
        opened.extend(repository.harmless(&self.0.temp, &self.0.masking));
        // A copy is elsewhere, where no path leads to what is next to the workspace.
        if root == self.0.workspace {
            opened.extend(repository.root.clone());
        }
        opened.extend(resolver());
        opened
    }

    /// Adds what a child sees otherwise, or cannot change, in the checkout itself. Returns the sockets there.
    fn in_checkout(&self, root: &Path, writable: bool, mounts: &mut Vec<Mount>) -> Vec<PathBuf> {
        let CheckoutEntries { sensitive, nested, sockets } = find(root, &self.0.sensitive);
        mounts.extend(sensitive.iter().map(|path| Mount::Hide { at: root.join(path.as_str()) }));
        // A link is not mounted, but what it leads to.
        let nested = nested.into_iter().map(|entry| root.join(entry)).filter(|entry| !entry.is_symlink());
        let kept = KEPT.iter().map(|name| root.join(name)).chain(nested).filter(|path| path.exists());
        mounts.extend(kept.filter(|_| writable).map(|path| bind(&path, false)));
        sockets.into_iter().map(|socket| root.join(socket)).collect()
    }

    /// Returns the parts of a new root, each after those that contain it.
    fn mounts(
        &self,
        root: &Path,
        view: View<'_>,
        rights: Rights,
        more: &[PathBuf],
    ) -> io::Result<Vec<Mount>> {
        let Inner { places, repository, writable, .. } = &*self.0;
        let own = match view {
            View::Overlay(overlay) => {
                let (overlay, at) = (overlay.clone(), root.to_owned());
                Mount::Overlay { overlay, at, writable: rights == Rights::Work }
            }
            View::Reader(reader) => {
                Mount::Overlay { overlay: reader.tree.clone(), at: root.to_owned(), writable: false }
            }
            View::Copy { .. } => bind(root, rights == Rights::Work),
            View::Plain { writable } => bind(root, writable && rights == Rights::Work),
            View::Base { files, .. } => bind(files, false),
        };
        let repositories = above_repositories(view);
        let works = rights == Rights::Work;
        let shared = self.shared_mounts(view, works)?;
        let (plain, withheld) = (view.plain(root, &self.0.workspace), view.withheld());
        if !self.stands(true) {
            return Ok([bind(Path::new("/"), true), own]
                .into_iter()
                .chain(repositories)
                .chain(shared)
                .chain(withheld.map(|at| Mount::Hide { at: at.to_owned() }))
                .collect());
        }
        let is_elsewhere = |place: &Path| !place.starts_with(root) && !view.withholds(place);
        let private = self.private()?;
        let mut mounts = vec![Mount::Folder { at: "/run".into() }];
        mounts.extend(works.then(|| bind(Path::new("/sys"), false)));
        let named = places.readable.iter().map(|place| (place, places.real(place)));
        let named = named.chain(more.iter().map(|place| (place, self.real_of(place))));
        for (place, real) in named.filter(|(place, real)| is_elsewhere(place) && !view.withholds(real)) {
            shown(place, &real, &mut mounts);
        }
        for at in TEMPORARY.map(PathBuf::from) {
            mounts.push(Mount::Bind { from: private.join("tmp"), at, writable: true });
        }
        mounts.push(Mount::Link { at: "/var/run".into(), to: "/run".into() });
        mounts.extend(resolver().map(|file| bind(&file, false)));
        // A home folder in the checkout is part of the checkout.
        if let Some(home) = places.home.as_ref().filter(|home| !home.starts_with(root)) {
            mounts.push(Mount::Bind { from: private.join("home"), at: home.clone(), writable: works });
        }
        let settings = places.settings.iter().filter(|file| is_elsewhere(file));
        mounts.extend(settings.map(|file| Mount::Bind {
            from: places.real(file),
            at: file.clone(),
            writable: false,
        }));
        let around = repository.root.iter().filter(|_| withheld.is_none());
        mounts.extend(around.map(|folder| bind(folder, false)));
        for (kind, folders) in [("tool", &places.toolchains), ("cache", &places.caches)] {
            for (index, folder) in folders.iter().enumerate().filter(|(_, folder)| is_elsewhere(folder)) {
                let (at, real) = (folder.clone(), places.real(folder));
                if view.withholds(&real) {
                    continue;
                }
                mounts.push(if works {
                    Mount::Cache { overlay: self.overlay(kind, index, &real)?, at }
                } else {
                    Mount::Bind { from: real, at, writable: false }
                });
            }
        }
        for (index, folder) in repository.folders.iter().enumerate().filter(|_| withheld.is_none()) {
            let at = folder.clone();
            mounts.push(match self.git_overlay(index, folder)? {
                Some(overlay) => Mount::Overlay { overlay, at, writable: works },
                None => Mount::Hide { at },
            });
        }
        if let View::Copy { around } = view
            && around != root
        {
            mounts.push(bind(around, false));
            let git = around.join(".git");
            mounts.extend(git.exists().then(|| bind(&git, works)));
        }
        mounts.push(own);
        mounts.extend(repositories.chain(shared));
        let mut sockets = hidden::listed_sockets();
        if let Some((root, writable)) = plain {
            mounts.extend(matches!(view, View::Base { .. }).then(|| bind(root, writable && works)));
            sockets.extend(self.in_checkout(root, writable, &mut mounts));
        }
        let outside = writable.iter().filter(|path| is_elsewhere(path) && path.exists());
        mounts.extend(outside.map(|path| bind(path, works)));
        let is_named = |socket: &Path| writable.iter().any(|place| socket.starts_with(place));
        // A socket of the checkout leads nowhere from a state above it or a copy of it.
        let is_within = |socket: &Path| plain.is_some() || !socket.starts_with(root);
        let sockets = sockets.into_iter().filter(|socket| !is_named(socket) && is_within(socket));
        // A place that is opened may contain the checkout.
        let hidden = places.hidden.iter().map(PathBuf::as_path).chain(withheld);
        mounts.extend(hidden.map(|at| Mount::Hide { at: at.to_owned() }));
        // A workspace among what is hidden is mounted by each child, but its mount point is made with the rest.
        let is_within_hidden = places.hidden.iter().any(|at| root != at && root.starts_with(at));
        mounts.extend(is_within_hidden.then(|| Mount::Folder { at: root.to_owned() }));
        mounts.extend(sockets.map(|at| Mount::HideSocket { at }));
        prepare(private, places.home.as_deref(), &TEMPORARY, &mounts)?;
        // A mount that contains others comes before them.
        mounts.sort_by_key(|mount| mount.at().components().count());
        let of_kernel = [Mount::Processes, Mount::Devices, Mount::Terminals, Mount::SharedMemory];
        Ok(of_kernel.into_iter().chain(mounts).collect())
    }
}

/// Returns whether a mount puts something of the machine below a folder for temporary files, for reading only.
fn is_below_temporary(mount: &Mount) -> bool {
    let is_below = |at: &Path| TEMPORARY.iter().any(|folder| at.starts_with(folder));
    matches!(mount, Mount::Bind { writable: false, at, .. } if is_below(at))
}

/// Returns what lies above Git's own folders in the checkout for a child that changes nothing.
fn above_repositories(view: View<'_>) -> impl Iterator<Item = Mount> {
    let repositories = match view {
        View::Reader(reader) => reader.repositories.as_slice(),
        View::Overlay(_) | View::Copy { .. } | View::Plain { .. } | View::Base { .. } => &[],
    };
    repositories.iter().map(|(at, overlay)| Mount::Overlay {
        overlay: overlay.clone(),
        at: at.clone(),
        writable: false,
    })
}

fn bind(path: &Path, writable: bool) -> Mount {
    Mount::Bind { from: path.to_owned(), at: path.to_owned(), writable }
}

/// Adds a read-only place; if its name is a link, the link and its target.
fn shown(place: &Path, real: &Path, mounts: &mut Vec<Mount>) {
    if real != place && !mounts.iter().any(|mount| mount.at() == real) {
        mounts.push(bind(real, false));
    }
    mounts.push(match fs::read_link(place) {
        Ok(to) => Mount::Link { at: place.to_owned(), to },
        Err(_) => bind(place, false),
    });
}

/// Returns all devices, without terminals and the memory that processes share: what is in it may be somebody else's.
fn devices() -> Vec<PathBuf> {
    let entries = fs::read_dir("/dev").into_iter().flatten().flatten();
    // A link leads to another device, or to what the child has open.
    let entries = entries.filter(|entry| entry.file_type().is_ok_and(|kind| !kind.is_symlink()));
    let entries = entries.filter(|entry| !terminals::is_one(&entry.file_name().to_string_lossy()));
    entries.map(|entry| entry.path()).filter(|path| path != Path::new(SHARED_MEMORY)).collect()
}

/// Returns the file with the addresses of name servers, if it is in `/run`.
fn resolver() -> Option<PathBuf> {
    let file = Path::new("/etc/resolv.conf").canonicalize().ok()?;
    file.starts_with("/run").then_some(file)
}

/// Returns the places without what is hidden in them. Folders of which only a part is left are added to
/// `listable`.
fn without(places: &[PathBuf], hidden: &[PathBuf], listable: &mut Vec<PathBuf>) -> Vec<PathBuf> {
    let mut left = Vec::new();
    for place in places {
        let within: Vec<PathBuf> =
            hidden.iter().filter(|hidden| hidden.starts_with(place)).cloned().collect();
        if within.is_empty() {
            left.push(place.clone());
        } else if !within.contains(place) {
            listable.push(place.clone());
            let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
            left.extend(without(&entries.collect::<Vec<_>>(), &within, listable));
        }
    }
    left
}

#[cfg(unix)]
fn own_user() -> User {
    use rustix::process::{getgid, getgroups, getuid};
    let groups = getgroups().unwrap_or_default().into_iter().map(rustix::process::Gid::as_raw).collect();
    User { id: getuid().as_raw(), group: getgid().as_raw(), groups }
}

#[cfg(not(unix))]
fn own_user() -> User {
    User { id: 0, group: 0, groups: Vec::new() }
}
