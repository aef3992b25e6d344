//! Names of new files that other systems take for others, or for none: they fold case and accents, drop dots and spaces at ends, and
//! keep some names for devices.

use std::collections::{BTreeSet, HashMap};

use workspace::{ChangeSet, FileChange, WorkspacePath};

use super::dependencies::BaseFiles;

/// Names that Windows keeps for devices, whatever comes behind a dot.
const DEVICES: [&str; 7] = ["aux", "clock$", "con", "conin$", "conout$", "nul", "prn"];

/// Beginnings of such names that one more digit follows.
const NUMBERED_DEVICES: [&str; 2] = ["com", "lpt"];

/// Names of the files and folders that a plan leaves, by how other systems may read them.
pub(super) struct Names<'a> {
    changes: &'a ChangeSet,
    base: &'a BaseFiles<'a>,
    folded: HashMap<String, BTreeSet<WorkspacePath>>,
}

impl<'a> Names<'a> {
    pub(super) fn of(changes: &'a ChangeSet, base: &'a BaseFiles<'a>) -> Self {
        let mut folded: HashMap<String, BTreeSet<WorkspacePath>> = HashMap::new();
        for change in changes.iter().filter(|change| change.after.is_some()) {
            for path in with_folders(&change.path) {
                folded.entry(path.folded()).or_default().insert(path);
            }
        }
        Self { changes, base, folded }
    }

    /// Returns why the name of a new file could be that of another one on some systems, which it would replace there.
    pub(super) fn ambiguity(&self, path: &WorkspacePath) -> Option<String> {
        let is_cut = |name: &str| {
            name.ends_with('.')
                || name.trim_matches(char::is_whitespace) != name
                || name.starts_with('\u{feff}')
        };
        if path.names().any(is_cut) {
            return Some("it has a dot or a space at an end of a name".to_owned());
        }
        if let Some(letter) = path.as_str().chars().find(|letter| "\\:*?\"<>|".contains(*letter)) {
            return Some(format!("it has a `{letter}`"));
        }
        if let Some(name) = path.names().find(|name| is_device(name)) {
            return Some(format!("`{name}` is a device there"));
        }
        let twin = with_folders(path).find_map(|part| self.twin_in_plan(&part));
        let twin = twin.or_else(|| self.twin_on_disk(path))?;
        Some(format!("there it is the same as {twin}"))
    }

    /// Returns another file or folder of the plan that some systems could take for this one.
    fn twin_in_plan(&self, part: &WorkspacePath) -> Option<WorkspacePath> {
        self.folded.get(&part.folded())?.iter().find(|other| *other != part).cloned()
    }

    /// Returns a file or folder that some systems could take for the path, or for a folder on the way to it. One that the changes
    /// take away, with all that is in it, is in nobody's way.
    fn twin_on_disk(&self, path: &WorkspacePath) -> Option<WorkspacePath> {
        let mut folder = WorkspacePath::root();
        for own in path.names() {
            let folded = folder.child(own).folded();
            let is_twin = |name: &String| may_be_same(name, own) && folder.child(name).folded() == folded;
            let mut twins =
                (self.base.names)(&folder).into_iter().filter(is_twin).map(|name| folder.child(&name));
            if let Some(twin) = twins.find(|twin| self.stays(twin)) {
                return Some(twin);
            }
            folder = folder.child(own);
        }
        None
    }

    /// Returns whether anything of a file or folder of the checkout is left.
    fn stays(&self, path: &WorkspacePath) -> bool {
        let goes = |change: &&FileChange| change.after.is_none() && change.path.is_within(path);
        let mut going = self.changes.iter().filter(goes).peekable();
        match going.peek() {
            None => true,
            Some(change) if change.path == *path => false,
            Some(_) => {
                let names = (self.base.names)(path);
                names.iter().any(|name| self.stays(&path.child(name)))
            }
        }
    }
}

/// Returns the folders on the way to a file, and the file.
fn with_folders(path: &WorkspacePath) -> impl Iterator<Item = WorkspacePath> {
    path.names().scan(WorkspacePath::root(), |folder, name| {
        *folder = folder.child(name);
        Some(folder.clone())
    })
}

/// Returns whether Windows takes a name for a device: `aux`, and `aux.txt` as well.
fn is_device(name: &str) -> bool {
    let stem = name.split(['.', ':']).next().unwrap_or_default().trim_end().to_lowercase();
    let is_numbered = |start: &&str| {
        let rest = stem.strip_prefix(*start).unwrap_or_default();
        let mut rest = rest.chars();
        rest.next().is_some_and(|letter| letter.is_ascii_digit() || "¹²³".contains(letter))
            && rest.next().is_none()
    };
    DEVICES.contains(&stem.as_str()) || NUMBERED_DEVICES.iter().any(is_numbered)
}

/// Returns `false` if two names are certainly different, or one: most are, which takes little time to see.
fn may_be_same(name: &str, own: &str) -> bool {
    let is_plain = |name: &str| name.is_ascii() && !name.contains(['~', ':']) && !name.ends_with(['.', ' ']);
    name != own && (!is_plain(name) || !is_plain(own) || name.eq_ignore_ascii_case(own))
}
