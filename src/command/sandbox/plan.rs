//! Sandbox plan: the runner decides on the restrictions of each child, and the child applies them.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::OnceCell;
use workspace::{Scratch, SensitiveFiles};

use super::home::Home;
use super::modes::Modes;
use super::places::Places;
use super::repository::{GitMasking, Repository};
use super::shared_folders::{Shared, SharedFolder};
use super::shared_memory::SharedMemory;
use super::{Namespaces, Overlay, Reader};

/// Shared memory that processes open by name.
pub(in crate::command) const SHARED_MEMORY: &str = "/dev/shm";

/// Folders for temporary files.
pub(super) const TEMPORARY: [&str; 2] = ["/tmp", "/var/tmp"];

/// The inputs for the sandbox of a run.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// The environment variables of children.
    pub variables: &'a BTreeMap<String, String>,
    /// The environment variables of this process, which say where the runner keeps its own files.
    pub own: &'a BTreeMap<String, String>,
    /// Additional places to read.
    pub readable: &'a [String],
    /// Folders that the tools read as well, and in which children do not see sensitive files either.
    pub attached: &'a [PathBuf],
    /// Additional places to write to.
    pub writable: &'a [String],
    /// Folders that the checkout shares with another one.
    pub shared: &'a [SharedFolder],
    /// The path of the checkout.
    pub workspace: &'a Path,
    /// Patterns for files that are hidden, in the checkout and around it in the same repository.
    pub sensitive: &'a SensitiveFiles,
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
pub struct Sandbox(pub(super) Arc<Inner>);

#[derive(Debug)]
pub(super) struct Inner {
    /// Roots that are held for children; ends before the folders that are mounted in them go away.
    #[cfg(target_os = "linux")]
    pub(super) held_roots: crate::command::held_roots::HeldRoots,
    pub(super) places: Places,
    pub(super) writable: Vec<PathBuf>,
    pub(super) workspace: PathBuf,
    pub(super) repository: Repository,
    pub(super) shared: Vec<Shared>,
    /// Patterns for files that nobody sees who works in the checkout itself.
    pub(super) sensitive: SensitiveFiles,
    pub(super) masking: GitMasking,
    pub(super) temp: PathBuf,
    /// Cargo's own folder, if a variable names it.
    pub(super) cargo: Option<PathBuf>,
    pub(super) wanted: bool,
    pub(super) landlock: bool,
    pub(super) private: OnceLock<Option<Scratch>>,
    pub(super) home: OnceLock<Option<Home>>,
    pub(super) modes: Arc<Modes>,
    pub(super) namespaces: Arc<OnceCell<Option<Namespaces>>>,
    /// Whether children can have a network of their own.
    pub(super) own_network: Arc<OnceCell<bool>>,
    /// How many children have been given one.
    pub(super) networks: Arc<AtomicUsize>,
    /// The network of commands that run in the background, which others join.
    #[cfg(target_os = "linux")]
    pub(super) shared_network: Mutex<std::sync::Weak<crate::egress::socket_handover::SharedNetwork>>,
    /// How many trusted children were started, if it is theirs.
    pub(super) trusted: Option<AtomicUsize>,
    /// The sandboxes of single hooks, gates, servers and models, by their names.
    pub(super) owners: Mutex<BTreeMap<String, Sandbox>>,
    /// Who uses the machine's shared memory.
    pub(super) shared_memory: Arc<SharedMemory>,
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
    /// Files of the base commit, in a folder elsewhere.
    Base {
        /// That folder, which may contain the one that the child starts in.
        files: &'a Path,
        /// The root of the checkout's repository, of which nothing is seen.
        head: &'a Path,
        /// Whether the child may write to the checkout, if it sees that nevertheless.
        checkout: Option<bool>,
    },
}

impl<'a> View<'a> {
    /// Returns the checkout if the child works in it, or sees it, and not a state of it; and whether it may write there.
    pub(super) fn plain(&self, root: &'a Path, workspace: &'a Path) -> Option<(&'a Path, bool)> {
        match self {
            Self::Plain { writable } => Some((root, *writable)),
            Self::Base { checkout, .. } => checkout.map(|writable| (workspace, writable)),
            _ => None,
        }
    }

    /// Returns the root of the repository of which nothing is seen.
    pub(super) fn withheld(&self) -> Option<&'a Path> {
        match self {
            Self::Base { head, checkout: None, .. } => Some(head),
            _ => None,
        }
    }

    /// Returns whether a place of the machine is the checkout's, which is then not seen because something asks for it.
    pub(super) fn withholds(&self, place: &Path) -> bool {
        matches!(self, Self::Base { head, .. } if place.starts_with(head))
    }
}

/// What children left on the machine that could not be reverted.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// Whether something is in the shared memory that they may have left there.
    pub memory: bool,
    /// The number of System V objects that they may have left.
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
            let place = plain(&match (path.strip_prefix("~/"), &home) {
                (Some(below), Some(home)) => home.join(below),
                _ => workspace.join(path),
            });
            // Where links in the workspace lead is decided by whoever wrote its files. A place that does not exist
            // opens nothing.
            if place.starts_with(workspace) { place } else { place.canonicalize().unwrap_or(place) }
        };
        let mut known = variables.clone();
        // Children do not get this variable; it is known in order to hide its folder.
        known.extend(own.get("RUNNER_TEMP").map(|path| ("RUNNER_TEMP".to_owned(), path.clone())));
        let readable: Vec<PathBuf> =
            settings.readable.iter().map(place).chain(settings.attached.iter().cloned()).collect();
        let mut places = Places::find(&known, &readable, workspace);
        let repository = Repository::around(workspace, home.as_deref());
        let writable: Vec<PathBuf> = settings.writable.iter().map(place).collect();
        places.hidden.extend(repository.hidden(workspace, settings.sensitive, &writable));
        for folder in settings.attached {
            places.hidden.extend(repository.hidden_in_attached(
                folder,
                workspace,
                settings.sensitive,
                &writable,
            ));
        }
        places.hidden.sort_unstable();
        places.hidden.dedup();
        let root = repository.root.as_deref();
        let seen = |folder: &SharedFolder| Shared::new(folder, workspace, root, settings.sensitive);
        let shared = settings.shared.iter().map(seen).collect();
        let lists = [&places.toolchains, &places.settings, &places.caches];
        let known = lists.into_iter().flatten().chain(&places.home).map(PathBuf::as_path);
        let modes = Modes::remember(known.chain([workspace, settings.temp]));
        Self(Arc::new(Inner {
            #[cfg(target_os = "linux")]
            held_roots: crate::command::held_roots::HeldRoots::default(),
            places,
            writable,
            workspace: workspace.to_owned(),
            repository,
            shared,
            sensitive: settings.sensitive.clone(),
            temp: settings.temp.to_owned(),
            cargo: variables.get("CARGO_HOME").map(PathBuf::from).filter(|path| path.is_absolute()),
            wanted: settings.wanted,
            landlock: settings.landlock,
            private: OnceLock::new(),
            home: OnceLock::new(),
            modes: Arc::new(modes),
            masking: settings.masking.clone(),
            namespaces: Arc::default(),
            own_network: Arc::default(),
            networks: Arc::default(),
            #[cfg(target_os = "linux")]
            shared_network: Mutex::default(),
            trusted: None,
            owners: Mutex::default(),
            shared_memory: Arc::default(),
        }))
    }

    /// Returns the sandbox of one hook, gate, server or model: what it leaves in its home folder, in toolchains or in caches is met by
    /// nobody else.
    #[must_use]
    pub fn of(&self, owner: &str) -> Self {
        let mut owners = self.0.owners.lock();
        owners.entry(owner.to_owned()).or_insert_with(|| self.trusted()).clone()
    }

    /// The same for trusted children, who share no folder with those of this: what commands leave in their home folder
    /// must not decide what gates, hooks, servers and models run. Each sees Git's own folders as if it were the first.
    #[must_use]
    pub fn trusted(&self) -> Self {
        let Inner { places, writable, workspace, repository, shared, temp, wanted, landlock, .. } = &*self.0;
        Self(Arc::new(Inner {
            #[cfg(target_os = "linux")]
            held_roots: crate::command::held_roots::HeldRoots::default(),
            places: places.clone(),
            writable: writable.clone(),
            workspace: workspace.clone(),
            repository: repository.clone(),
            shared: shared.clone(),
            sensitive: self.0.sensitive.clone(),
            temp: temp.clone(),
            wanted: *wanted,
            landlock: *landlock,
            private: OnceLock::new(),
            home: OnceLock::new(),
            modes: Arc::clone(&self.0.modes),
            cargo: self.0.cargo.clone(),
            masking: self.0.masking.clone(),
            namespaces: Arc::clone(&self.0.namespaces),
            own_network: Arc::clone(&self.0.own_network),
            networks: Arc::clone(&self.0.networks),
            #[cfg(target_os = "linux")]
            shared_network: Mutex::default(),
            trusted: Some(AtomicUsize::default()),
            owners: Mutex::default(),
            shared_memory: Arc::clone(&self.0.shared_memory),
        }))
    }

    /// Returns how a file system of its own can be had, which `probe` finds out once.
    pub(in crate::command) async fn namespaces(
        &self,
        probe: impl Future<Output = Option<Namespaces>>,
    ) -> Option<Namespaces> {
        *self.0.namespaces.get_or_init(|| probe).await
    }

    /// Returns whether children can have a network of their own, which `probe` finds out once.
    pub(in crate::command) async fn own_network(&self, probe: impl Future<Output = bool>) -> bool {
        *self.0.own_network.get_or_init(|| probe).await
    }

    /// Returns the roots that are held for children.
    #[cfg(target_os = "linux")]
    pub(in crate::command) fn held_roots(&self) -> &crate::command::held_roots::HeldRoots {
        &self.0.held_roots
    }

    /// Returns whether its children are trusted: hooks, gates, servers and models, of which most run once.
    #[cfg(target_os = "linux")]
    pub(in crate::command) fn is_trusted(&self) -> bool {
        self.0.trusted.is_some()
    }

    /// Returns the network in which commands run in the background, if there are some. One that `serves` others is the first
    /// if there are none. Children whose limits are others never share one: they could use each other's proxy.
    #[cfg(target_os = "linux")]
    pub(in crate::command) fn shared_network(
        &self,
        egress: &Arc<crate::egress::Egress>,
        serves: bool,
    ) -> Option<Arc<crate::egress::socket_handover::SharedNetwork>> {
        if self.is_trusted() {
            return None;
        }
        let mut shared = self.0.shared_network.lock();
        if let Some(network) = shared.upgrade() {
            return network.is_of(egress).then_some(network);
        }
        let network = serves.then(|| Arc::new(crate::egress::socket_handover::SharedNetwork::of(egress)));
        *shared = network.as_ref().map(Arc::downgrade).unwrap_or_default();
        network
    }

    /// Returns the path at which the runner meets one more child that makes a network of its own.
    #[cfg(target_os = "linux")]
    pub(in crate::command) fn handover_path(&self) -> std::io::Result<PathBuf> {
        let number = self.0.networks.fetch_add(1, Ordering::Relaxed);
        Ok(self.private()?.join(format!("network-{number}")))
    }

    /// Returns whether the kernel restricts children, by Landlock or by a file system of their own.
    pub fn is_restricted(&self) -> bool {
        self.stands(self.0.namespaces.get().copied().flatten().is_some())
    }

    pub(super) fn stands(&self, own_root: bool) -> bool {
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

    /// Reverts what children left on the machine if they had no file system of their own: changed modes. Returns what could
    /// not be reverted.
    pub fn clean_up(&self) -> Leftovers {
        if !self.is_on_machine() {
            return Leftovers::default();
        }
        Leftovers {
            memory: self.has_left_memory(),
            objects: self.left_objects(),
            modes: self.0.modes.restore(),
        }
    }

    /// Restores modes that a child changed, which has ended.
    pub(in crate::command) fn after(&self) {
        if self.is_on_machine() {
            self.0.modes.restore();
        }
    }

    /// Returns the folders to open for programs that trusted settings name by absolute paths: the files
    /// next to a script belong to it.
    #[must_use]
    pub fn opening(&self, words: &[String]) -> Vec<PathBuf> {
        super::places::named_by(words, self.0.places.home.as_deref())
    }
}

/// Returns a path without `.` and `..`, which are resolved by names alone.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_plain_without_looking_at_any_link() {
        for (path, expected) in [("/a/./b/../c", "/a/c"), ("/a/../../b", "/b"), ("/a/b/", "/a/b"), ("/", "/")]
        {
            assert_eq!(plain(Path::new(path)), Path::new(expected), "{path}");
        }
    }
}
