//! Sandbox plan: the runner decides on the restrictions of each child, and the child applies them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use tokio::sync::OnceCell;

use super::home::Home;
use super::modes::Modes;
use super::mount_points::prepare;
use super::places::Places;
use super::repository::{GitMasking, Repository};
use super::stores::Stores;
use super::{Mount, Namespaces, NewRoot, Overlay, Reader, Rights, Sockets, User, Walls};
use crate::workspace::{PathGlobs, Scratch};

/// Devices that programs commonly write to.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/pts"];

/// Shared memory that processes open by name.
const SHARED_MEMORY: &str = "/dev/shm";

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

/// The kind of overlays above the Git folder.
const GIT: &str = "git";

/// Paths that a process working in the checkout itself cannot change.
const KEPT: [&str; 5] =
    [".git", ".github/workflows", ".github/actions", ".github/architect.yml", ".architect.yml"];

/// Folders for temporary files.
const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The inputs for the sandbox of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The environment variables of children.
    pub variables: &'a BTreeMap<String, String>,
    /// The environment variables of this process, which say where the runner keeps its own files.
    pub own: &'a BTreeMap<String, String>,
    /// Additional places to read.
    pub readable: &'a [String],
    /// Additional places to write to.
    pub writable: &'a [String],
    /// Whether children may use the network.
    pub network: bool,
    /// The path of the checkout.
    pub workspace: &'a Path,
    /// Patterns for files that are hidden, in the checkout and around it in the same repository.
    pub sensitive: &'a PathGlobs,
    /// Hides what is secret in Git's folders outside of the workspace.
    pub masking: &'a GitMasking,
    /// The folder for scratch folders.
    pub temp: &'a Path,
    /// Whether restrictions are wanted, or the isolated state alone.
    pub wanted: bool,
    /// Whether the kernel has Landlock.
    pub landlock: bool,
}

/// The sandbox of the children of one run.
#[derive(Clone, Debug)]
pub struct Sandbox(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    places: Places,
    writable: Vec<PathBuf>,
    workspace: PathBuf,
    repository: Repository,
    masking: GitMasking,
    sockets: Sockets,
    temp: PathBuf,
    /// Cargo's own folder, if a variable names it.
    cargo: Option<PathBuf>,
    wanted: bool,
    landlock: bool,
    made: SystemTime,
    private: OnceLock<Option<Scratch>>,
    home: OnceLock<Option<Home>>,
    modes: Arc<Modes>,
    /// The number of System V objects that could not be removed.
    objects: Arc<AtomicUsize>,
    namespaces: Arc<OnceCell<Option<Namespaces>>>,
    /// How many trusted children were started, if it is theirs.
    trusted: Option<AtomicUsize>,
}

/// What a child sees at the path of the workspace.
#[derive(Clone, Copy, Debug)]
pub enum View<'a> {
    /// The workspace as the lower folder of an overlay.
    Overlay(&'a Overlay),
    /// The same overlay read-only, while others may be using it.
    Reader(&'a Reader),
    /// A copy of the workspace.
    Copy {
        /// The copy of the repository that contains it, or the copy itself.
        around: &'a Path,
    },
    /// The folder itself.
    Plain {
        /// Whether the child may write to it.
        writable: bool,
    },
}

/// What children left on the machine that could not be reverted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// The number of files in caches.
    pub files: usize,
    /// The number of System V objects.
    pub objects: usize,
    /// Folders with another mode than before.
    pub modes: Vec<PathBuf>,
}

impl Sandbox {
    /// Creates the sandbox for the children of one run.
    pub fn new(settings: Settings<'_>) -> Self {
        let Settings { variables, own, workspace, .. } = settings;
        let home = variables.get("HOME").map(PathBuf::from);
        let place = |path: &String| {
            let place = match (path.strip_prefix("~/"), &home) {
                (Some(below), Some(home)) => home.join(below),
                _ => workspace.join(path),
            };
            // A place that does not exist opens nothing.
            place.canonicalize().unwrap_or(place)
        };
        let mut known = variables.clone();
        // Children do not get this variable; it is known in order to hide its folder.
        known.extend(own.get("RUNNER_TEMP").map(|path| ("RUNNER_TEMP".to_owned(), path.clone())));
        let readable: Vec<PathBuf> = settings.readable.iter().map(place).collect();
        let mut places = Places::find(&known, &readable);
        let repository = Repository::around(workspace, home.as_deref());
        places.hidden.extend(repository.sensitive(workspace, settings.sensitive));
        let lists = [&places.toolchains, &places.settings, &places.caches];
        let known = lists.into_iter().flatten().chain(&places.home).map(PathBuf::as_path);
        let modes = Modes::remember(known.chain([workspace, settings.temp]));
        Self(Arc::new(Inner {
            places,
            writable: settings.writable.iter().map(place).collect(),
            workspace: workspace.to_owned(),
            repository,
            sockets: if settings.network { Sockets::Internet } else { Sockets::Local },
            temp: settings.temp.to_owned(),
            cargo: variables.get("CARGO_HOME").map(PathBuf::from).filter(|path| path.is_absolute()),
            wanted: settings.wanted,
            made: SystemTime::now(),
            landlock: settings.landlock,
            private: OnceLock::new(),
            home: OnceLock::new(),
            modes: Arc::new(modes),
            objects: Arc::default(),
            masking: settings.masking.clone(),
            namespaces: Arc::default(),
            trusted: None,
        }))
    }

    /// The same for trusted children, who share no folder with those of this: what commands leave in their home folder
    /// must not decide what gates and hooks run. Each sees Git's own folders as if it were the first.
    #[must_use]
    pub fn trusted(&self) -> Self {
        let Inner { places, writable, workspace, repository, sockets, temp, wanted, landlock, made, .. } =
            &*self.0;
        Self(Arc::new(Inner {
            places: places.clone(),
            writable: writable.clone(),
            workspace: workspace.clone(),
            repository: repository.clone(),
            sockets: *sockets,
            temp: temp.clone(),
            wanted: *wanted,
            landlock: *landlock,
            made: *made,
            private: OnceLock::new(),
            home: OnceLock::new(),
            modes: Arc::clone(&self.0.modes),
            objects: Arc::clone(&self.0.objects),
            cargo: self.0.cargo.clone(),
            masking: self.0.masking.clone(),
            namespaces: Arc::clone(&self.0.namespaces),
            trusted: Some(AtomicUsize::default()),
        }))
    }

    /// Returns how a file system of its own can be had, which `probe` finds out once.
    pub(in crate::command) async fn namespaces(
        &self,
        probe: impl Future<Output = Option<Namespaces>>,
    ) -> Option<Namespaces> {
        *self.0.namespaces.get_or_init(|| probe).await
    }

    /// Returns whether the kernel restricts children, by Landlock or by a file system of their own.
    pub fn is_restricted(&self) -> bool {
        self.stands(self.0.namespaces.get().copied().flatten().is_some())
    }

    fn stands(&self, own_root: bool) -> bool {
        self.0.wanted && (self.0.landlock || own_root)
    }

    /// Returns the configuration files in the home folder that children do not see, because they contain a
    /// credential.
    pub fn withheld(&self) -> &[PathBuf] {
        &self.0.places.withheld
    }

    /// Returns whether children see the machine's own file system.
    fn is_on_machine(&self) -> bool {
        self.0.wanted && self.0.namespaces.get().is_some_and(Option::is_none)
    }

    /// Reverts what children left on the machine if they had no file system of their own: files in its caches, and
    /// changed modes. Returns what could not be reverted.
    pub fn clean_up(&self) -> Left {
        if !self.is_on_machine() {
            return Left::default();
        }
        let mut folders = self.0.places.caches.clone();
        folders.push(PathBuf::from(SHARED_MEMORY));
        // A folder that contains the checkout, or is in it, is not a mere cache.
        let workspace = &self.0.workspace;
        folders.retain(|folder| !workspace.starts_with(folder) && !folder.starts_with(workspace));
        // The folders around the caches have to be open.
        let modes = self.0.modes.restore();
        let files = super::caches::remove_newer(&folders, self.0.made);
        Left { files, objects: self.0.objects.load(Ordering::Relaxed), modes }
    }

    /// Lists the System V objects before a child runs that may leave some.
    pub(in crate::command) fn before(&self) -> Option<Stores> {
        self.is_on_machine().then(Stores::look)
    }

    /// Removes the System V objects of a child that has ended, and restores modes that it changed.
    pub(in crate::command) fn after(&self, before: &Stores) {
        self.0.modes.restore();
        self.0.objects.fetch_add(before.remove_newer(), Ordering::Relaxed);
    }

    /// Returns the private folder of the run, which is created on first use.
    fn private(&self) -> io::Result<&Path> {
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
    fn home(&self) -> io::Result<Option<&Home>> {
        let Inner { places, workspace, writable, home, cargo, .. } = &*self.0;
        let Some(real) = places.home.as_ref().filter(|home| !home.starts_with(workspace)) else {
            return Ok(None);
        };
        let private = self.private()?.join("home");
        let lists = [&places.toolchains, &places.settings, &places.caches, &places.readable, writable];
        let places = || lists.into_iter().flatten().filter(|place| !place.starts_with(workspace));
        let made = home.get_or_init(|| Home::make(&private, real, places(), cargo.as_deref()).ok());
        let none = || io::Error::other(format!("could not create a home folder in {}", private.display()));
        made.as_ref().map(Some).ok_or_else(none)
    }

    /// Returns an overlay above a folder of the machine, whose changes are discarded.
    fn overlay(&self, kind: &str, index: usize, lower: &Path) -> io::Result<Overlay> {
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
    fn git_overlay(&self, index: usize, lower: &Path) -> io::Result<Option<Overlay>> {
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

    /// Adapts a child's variables to what it sees.
    pub(in crate::command) fn adapt(
        &self,
        environment: &mut BTreeMap<String, String>,
        own_root: bool,
    ) -> io::Result<()> {
        if !self.stands(own_root) {
            return Ok(());
        }
        let temporary = if own_root { PathBuf::from("/tmp") } else { self.private()?.join("tmp") };
        for name in ["TMPDIR", "TMP", "TEMP"] {
            environment.insert(name.to_owned(), temporary.display().to_string());
        }
        environment.remove("XDG_RUNTIME_DIR");
        if let Some(home) = if own_root { None } else { self.home()? } {
            home.adapt(environment);
        }
        // In containers the checkout belongs to another user, for which Git refuses it. Whatever its
        // configuration could do stays in the sandbox.
        let mut settings = vec![("safe.directory", "*")];
        // Folders that merely look like a repository would have their settings obeyed, whoever made them.
        settings.extend(self.0.trusted.is_some().then_some(("safe.bareRepository", "explicit")));
        environment.insert("GIT_CONFIG_COUNT".to_owned(), settings.len().to_string());
        for (index, (key, value)) in settings.into_iter().enumerate() {
            environment.insert(format!("GIT_CONFIG_KEY_{index}"), key.to_owned());
            environment.insert(format!("GIT_CONFIG_VALUE_{index}"), value.to_owned());
        }
        // An overlay above a subfolder of a repository is a file system of its own.
        environment.insert("GIT_DISCOVERY_ACROSS_FILESYSTEM".to_owned(), "1".to_owned());
        environment.insert("GIT_OPTIONAL_LOCKS".to_owned(), "0".to_owned());
        Ok(())
    }

    /// Returns the folders to open for programs that trusted settings name by absolute paths: the files
    /// beside a script belong to it.
    #[must_use]
    pub fn opening(&self, words: &[String]) -> Vec<PathBuf> {
        super::places::named_by(words, self.0.places.home.as_deref())
    }

    /// Returns the restrictions of a child that sees `view` at the path `root`.
    pub fn walls(
        &self,
        root: &Path,
        view: View<'_>,
        rights: Rights,
        namespaces: Option<Namespaces>,
    ) -> io::Result<Walls> {
        self.walls_opening(root, view, rights, namespaces, &[])
    }

    /// Returns the same restrictions with additional places to read.
    pub fn walls_opening(
        &self,
        root: &Path,
        view: View<'_>,
        rights: Rights,
        namespaces: Option<Namespaces>,
        more: &[PathBuf],
    ) -> io::Result<Walls> {
        let sockets = if rights == Rights::Look { Sockets::None } else { self.0.sockets };
        let new_root = match namespaces {
            Some(namespaces) => {
                let mounts = self.mounts(root, view, rights, more)?;
                // Landlock alone keeps a light root from being written to, and it allows the folders for temporary
                // files with all that is mounted below them.
                let light = rights == Rights::Look
                    && self.0.wanted
                    && self.0.landlock
                    && !mounts.iter().any(is_below_temporary);
                Some(NewRoot {
                    at: self.private()?.join("root"),
                    namespaces,
                    mounts,
                    user: (namespaces == Namespaces::Sudo).then(own_user),
                    light,
                })
            }
            None => None,
        };
        let works = rights == Rights::Work;
        let mut writable: Vec<PathBuf> = DEVICES.iter().map(PathBuf::from).collect();
        if works {
            writable.push(PathBuf::from(SHARED_MEMORY));
            let is_written = !matches!(view, View::Reader(_) | View::Plain { writable: false });
            writable.extend(is_written.then(|| root.to_owned()));
            if let View::Copy { around } = view {
                writable.push(around.join(".git"));
            }
            writable.extend(self.0.places.caches.iter().chain(&self.0.writable).cloned());
        }
        let (mut readable, mut listable) = (None, Vec::new());
        if new_root.is_some() {
            writable.extend(TEMPORARY.map(PathBuf::from));
            if works {
                writable.extend(self.0.places.home.clone());
                writable.extend(self.0.repository.folders.iter().chain(&self.0.places.toolchains).cloned());
            }
        } else {
            writable.push(self.private()?.join("tmp"));
            let home = self.home()?.map(|home| home.path().to_owned());
            writable.extend(home.clone().filter(|_| works));
            let mut opened = self.opened(root, rights);
            opened.extend(more.iter().cloned());
            opened.extend(home);
            if let View::Copy { around } = view {
                opened.push(around.to_owned());
            }
            readable = Some(without(&opened, &self.0.places.hidden, &mut listable));
        }
        let restricted = self.stands(namespaces.is_some());
        Ok(Walls { root: new_root, restricted, readable, listable, writable, sockets, metadata: works })
    }

    /// Returns where a child may read if it sees the machine's own file system.
    fn opened(&self, root: &Path, rights: Rights) -> Vec<PathBuf> {
        let Inner { places, repository, writable, .. } = &*self.0;
        let mut opened = vec![root.to_owned(), PathBuf::from("/sys"), PathBuf::from("/dev")];
        match rights {
            Rights::Work => opened.push(PathBuf::from("/proc")),
            Rights::Look => opened.extend(OWN_PROC.map(PathBuf::from)),
        }
        let lists = [&places.readable, &places.toolchains, &places.settings, &places.caches, writable];
        opened.extend(lists.into_iter().flatten().cloned());
        opened.extend(repository.harmless(&self.0.temp, &self.0.masking));
        // A copy is elsewhere, where no path leads to what is beside the workspace.
        if root == self.0.workspace {
            opened.extend(repository.root.clone());
        }
        opened.extend(resolver());
        opened
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
        };
        let repositories = match view {
            View::Reader(reader) => reader.repositories.as_slice(),
            View::Overlay(_) | View::Copy { .. } | View::Plain { .. } => &[],
        };
        let repositories = repositories.iter().map(|(at, overlay)| Mount::Overlay {
            overlay: overlay.clone(),
            at: at.clone(),
            writable: false,
        });
        if !self.stands(true) {
            return Ok([bind(Path::new("/"), true), own].into_iter().chain(repositories).collect());
        }
        let works = rights == Rights::Work;
        let private = self.private()?;
        let mut mounts = vec![Mount::Folder { at: "/run".into() }];
        mounts.extend(works.then(|| bind(Path::new("/sys"), false)));
        for place in places.readable.iter().chain(more.iter().filter(|place| !place.starts_with(root))) {
            shown(place, &mut mounts);
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
        mounts.extend(places.settings.iter().map(|file| bind(file, false)));
        mounts.extend(repository.root.iter().map(|folder| bind(folder, false)));
        for (kind, folders) in [("tool", &places.toolchains), ("cache", &places.caches)] {
            for (index, folder) in folders.iter().enumerate().filter(|(_, folder)| !folder.starts_with(root))
            {
                mounts.push(if works {
                    Mount::Cache { overlay: self.overlay(kind, index, folder)?, at: folder.clone() }
                } else {
                    bind(folder, false)
                });
            }
        }
        for (index, folder) in repository.folders.iter().enumerate() {
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
        mounts.extend(repositories);
        if let View::Plain { writable: true } = view {
            // The child works in the checkout itself, and not on a state of it.
            let kept = KEPT.iter().map(|name| root.join(name)).filter(|path| path.exists());
            mounts.extend(kept.map(|path| bind(&path, false)));
        }
        let outside = writable.iter().filter(|path| !path.starts_with(root) && path.exists());
        mounts.extend(outside.map(|path| bind(path, works)));
        mounts.extend(places.hidden.iter().map(|at| Mount::Hide { at: at.clone() }));
        prepare(private, places.home.as_deref(), &TEMPORARY, &mounts)?;
        // A mount that contains others comes before them.
        mounts.sort_by_key(|mount| mount.at().components().count());
        Ok([Mount::Processes, Mount::Devices].into_iter().chain(mounts).collect())
    }
}

/// Returns whether a mount puts something of the machine below a folder for temporary files, for reading only.
fn is_below_temporary(mount: &Mount) -> bool {
    let is_below = |at: &Path| TEMPORARY.iter().any(|folder| at.starts_with(folder));
    matches!(mount, Mount::Bind { writable: false, at, .. } if is_below(at))
}

fn bind(path: &Path, writable: bool) -> Mount {
    Mount::Bind { from: path.to_owned(), at: path.to_owned(), writable }
}

/// Adds a read-only place; if its name is a link, the link and its target.
fn shown(place: &Path, mounts: &mut Vec<Mount>) {
    let Ok(real) = place.canonicalize() else { return };
    if real != place && !mounts.iter().any(|mount| mount.at() == real) {
        mounts.push(bind(&real, false));
    }
    mounts.push(match fs::read_link(place) {
        Ok(to) => Mount::Link { at: place.to_owned(), to },
        Err(_) => bind(place, false),
    });
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

#[cfg(unix)]
fn open_to_all(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o1777))
}

#[cfg(not(unix))]
fn open_to_all(_: &Path) -> io::Result<()> {
    Ok(())
}
