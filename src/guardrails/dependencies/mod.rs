//! Dependencies in a plan: whether its lock files and the settings of package managers name only what the base allows.
//!
//! Nobody reads a lock file line by line, so it must not change alone, and neither it nor a file that says where packages come from
//! may name a place that is not known already.

/// Declares constant patterns, each compiled when it is first used; every one of them is used in a test.
macro_rules! patterns {
    ($($name:ident = $pattern:expr;)*) => {
        $(static $name: std::sync::LazyLock<regex::Regex> = std::sync::LazyLock::new(|| {
            regex::Regex::new($pattern).expect("a valid pattern")
        });)*
    };
}

mod addresses;
mod checksums;
mod code;
mod ecosystem;
mod ecosystems;
mod formats;
mod grammars;
mod hosts;
mod indexes;
mod languages;
mod lines;
mod manifests;
mod moves;
mod place;
mod rejection;
mod requirements;
mod rows;
mod settings;
mod settings_keys;
mod shapes;
mod sources;
mod table;
#[cfg(test)]
mod tests;
mod text_kind;
mod values;

use std::collections::BTreeSet;

use workspace::{ChangeSet, FileChange, FileState, Mode, WorkspacePath};

use crate::base::text::shortened;
use crate::config::LockFiles;
use addresses::Address;
use ecosystem::{Ecosystem, How};
use manifests::{Concern, concern, gains_only, manifest_of, text};
use place::Place;
use rejection::{Reason, RejectedRow};
use shapes::Judge;
use table::{Role, folder_of, role_of};

/// Reason why a change of what package managers fetch is not written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum DependencyError {
    /// A lock file that must not change.
    #[error("it changes the lock file {0}, which `apply.lock_files: refuse` forbids")]
    LockFile(WorkspacePath),
    /// A lock file, manifest or file of settings that is a link.
    #[error("{0} would become a link to content elsewhere; keep it a file")]
    Link(WorkspacePath),
    /// A lock file that changes alone.
    #[error(
        "it changes the lock file {path} without a change of the dependencies in {manifest}; set `apply.lock_files: \
         allow` if plans may update dependencies"
    )]
    Alone {
        /// The lock file.
        path: WorkspacePath,
        /// Names of the files that list the dependencies.
        manifest: String,
    },
    /// A lock file that nobody can read.
    #[error(
        "the lock file {0} is not text, so nothing can be said of what it would fetch; set `apply.lock_files: allow` if \
         plans may change it"
    )]
    Binary(WorkspacePath),
    /// A place that was not named before.
    #[error("{path} would fetch packages from {host}, which is not known there; change it by hand")]
    Host {
        /// The file.
        path: WorkspacePath,
        /// The place.
        host: String,
    },
    /// A row that is not of a kind that is known to be harmless.
    #[error("{path} gains or loses `{row}`, {why}; a person has to change it by hand")]
    Row {
        /// The file.
        path: WorkspacePath,
        /// The row.
        row: String,
        /// Why not.
        why: &'static str,
    },
}

/// Longest row that is told of.
const MAX_ROW: usize = 200;

/// Files of the commit that is trusted.
pub(crate) struct BaseFiles<'a> {
    /// Path from the repository's root to the workspace: empty, or ending in `/`.
    pub(crate) prefix: &'a str,
    /// Whether that commit can be read.
    pub(crate) is_there: bool,
    /// Returns the content of a file, which is named from the repository's root.
    pub(crate) read: &'a dyn Fn(&str) -> Option<Vec<u8>>,
    /// Returns the names in a folder of the checkout, which is named from the workspace.
    pub(crate) names: &'a dyn Fn(&WorkspacePath) -> Vec<String>,
}

impl BaseFiles<'_> {
    fn state(&self, path: &str) -> Option<FileState> {
        let content = (self.read)(path)?;
        Some(FileState { content: content.into(), mode: Mode::Regular })
    }
}

/// Checks a change of a file that is about dependencies. `changes` are all changes of the plan.
pub(super) fn inspect(
    change: &FileChange,
    changes: &ChangeSet,
    rule: LockFiles,
    base: &BaseFiles<'_>,
) -> Result<(), DependencyError> {
    let Some((ecosystem, role)) = role_of(change.path.as_str()) else { return Ok(()) };
    let path = change.path.clone();
    let is_lock = match role {
        Role::Lock => true,
        Role::Requirements => {
            holds_checksums(change.before.as_ref()) || holds_checksums(change.after.as_ref())
        }
        Role::Settings | Role::Manifest => false,
    };
    // Any program of Python may list what it needs.
    let is_script =
        || manifest_of(ecosystem, path.as_str()).is_some_and(|found| matches!(found.how, How::Script));
    if change.after.as_ref().is_some_and(|state| state.mode == Mode::Link) && !is_script() {
        return Err(DependencyError::Link(path));
    }
    if is_lock {
        match rule {
            LockFiles::Refuse => return Err(DependencyError::LockFile(path)),
            LockFiles::WithManifest if !changes_with_manifest(change, changes, ecosystem, base) => {
                let mut names: Vec<&str> = ecosystem.manifests.iter().map(|manifest| manifest.name).collect();
                names.truncate(3);
                let manifest = if names.is_empty() { "a manifest".to_owned() } else { names.join(" or ") };
                return Err(DependencyError::Alone { path, manifest });
            }
            LockFiles::WithManifest | LockFiles::Allow => {}
        }
    }
    if matches!(role, Role::Lock | Role::Manifest) && change.after.is_none() {
        return Ok(());
    }
    let read = |state: &Option<FileState>| match state {
        None => Some(String::new()),
        // Encodings differ, and addresses are written alike in most of them.
        Some(state) if role == Role::Manifest => Some(String::from_utf8_lossy(&state.content).into_owned()),
        Some(state) => text(state).map(str::to_owned),
    };
    let Some(after) = read(&change.after) else {
        return if rule == LockFiles::Allow { Ok(()) } else { Err(DependencyError::Binary(path)) };
    };
    let before = read(&change.before).unwrap_or_default();
    if role != Role::Manifest && after.contains(ends_line) {
        let why = "which has a sign that ends a line for some programs";
        return Err(DependencyError::Row { path, row: "a line".to_owned(), why });
    }
    let mut judge = Judge::of(&format!("{}{path}", base.prefix));
    let judged = match role {
        Role::Lock => rows::judge(path.as_str(), &before, &after, &mut judge),
        Role::Requirements => requirements::judge(path.as_str(), &before, &after, &mut judge),
        Role::Settings => settings::judge(path.as_str(), &before, &after, &mut judge),
        Role::Manifest => sources::judge(ecosystem, path.as_str(), &before, &after, &mut judge),
    };
    let known = known(change, role, ecosystem, base);
    let comparable = |found| {
        if role == Role::Manifest && !ecosystem.is_by_address { found } else { comparable(found, ecosystem) }
    };
    let wanted: Vec<Address> = judge.found.into_iter().map(comparable).collect();
    if let Some(host) = wanted.iter().find(|wanted| !known.iter().any(|known| wanted.is_as(known))) {
        return Err(DependencyError::Host { path, host: host.to_string() });
    }
    let judged = judged.and_then(|()| match role {
        Role::Lock => {
            let pipfile = pipfile_of(change, changes, base);
            indexes::judge(path.as_str(), &before, &after, pipfile.as_deref())?;
            stays(&path, &before, &after, ecosystem)
        }
        Role::Requirements | Role::Settings | Role::Manifest => Ok(()),
    });
    judged.map_err(|RejectedRow { row, why }| {
        let row: String = row
            .chars()
            .map(|letter| if letter.is_control() || letter == '`' { ' ' } else { letter })
            .collect();
        DependencyError::Row { path, row: shortened(&row, MAX_ROW), why: why.0 }
    })
}

/// Checks that no package comes from elsewhere than before.
fn stays(path: &WorkspacePath, before: &str, after: &str, ecosystem: &Ecosystem) -> Result<(), RejectedRow> {
    let usual = if ecosystem.any_account { Vec::new() } else { public(ecosystem) };
    let (before, after) = (moves::origins(path.as_str(), before), moves::origins(path.as_str(), after));
    match moves::moved(&before, &after, &usual) {
        Some(name) => Err(RejectedRow::new(name, Reason("which would come from elsewhere than before"))),
        None => Ok(()),
    }
}

/// Returns the text of the Pipfile beside a lock file, as it is planned or else as the base has it.
fn pipfile_of(change: &FileChange, changes: &ChangeSet, base: &BaseFiles<'_>) -> Option<String> {
    let path = format!("{}Pipfile", change.path.as_str().strip_suffix("Pipfile.lock")?);
    let planned = changes.iter().find(|other| other.path.as_str() == path);
    let state = match planned {
        Some(planned) => planned.after.clone(),
        None => base.state(&format!("{}{path}", base.prefix)),
    };
    Some(text(&state?)?.to_owned())
}

/// Returns the places that packages come from where nothing says otherwise.
fn public(ecosystem: &Ecosystem) -> Vec<Address> {
    ecosystem.public.iter().filter_map(|text| Address::of(text).ok()).collect()
}

/// Returns whether a sign ends a line for some programs, such as pip, and not for others.
fn ends_line(letter: char) -> bool {
    matches!(letter, '\u{b}' | '\u{c}' | '\u{1c}'..='\u{1e}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Returns an address as far as it is compared.
fn comparable(address: Address, ecosystem: &Ecosystem) -> Address {
    if ecosystem.any_account { address.of_host() } else { address }
}

/// Returns the addresses that a file names.
fn addresses_in(path: &str, state: &FileState, role: Role) -> Vec<Address> {
    let Some(text) = text(state) else { return Vec::new() };
    match role {
        Role::Lock => rows::addresses(path, text),
        Role::Requirements => requirements::addresses(text),
        Role::Settings => settings::addresses(path, text),
        Role::Manifest => sources::addresses(text),
    }
}

/// Returns whether a list of packages holds their checksums, which nobody writes by hand.
fn holds_checksums(state: Option<&FileState>) -> bool {
    state.is_some_and(|state| String::from_utf8_lossy(&state.content).contains("--hash"))
}

/// Returns whether a file that lists dependencies changes together with a lock file, at a place that the lock file is for.
fn changes_with_manifest(
    change: &FileChange,
    changes: &ChangeSet,
    ecosystem: &'static Ecosystem,
    base: &BaseFiles<'_>,
) -> bool {
    let place = Place::of(change, changes, ecosystem, base);
    changes.iter().any(|other| {
        let Some(manifest) = manifest_of(ecosystem, other.path.as_str()) else { return false };
        // A script has a lock file of its own.
        let script =
            change.path.as_str().strip_suffix(".lock").filter(|path| path.rsplit('.').next() == Some("py"));
        if matches!(manifest.how, How::Script) != (script == Some(other.path.as_str())) {
            return false;
        }
        if other.path == change.path || !place.serves(other) {
            return false;
        }
        match concern(other, manifest) {
            Concern::Dependencies => true,
            Concern::Version(version) => gains_only(change, &version),
            Concern::None => false,
        }
    })
}

/// Returns where packages may come from: the places that this file named before, that the files around it name in the commit that
/// is trusted, and where nothing else is named the usual ones.
fn known(
    change: &FileChange,
    role: Role,
    ecosystem: &'static Ecosystem,
    base: &BaseFiles<'_>,
) -> BTreeSet<Address> {
    let is_by_account = role == Role::Manifest && !ecosystem.is_by_address;
    let comparable = |found| if is_by_account { found } else { comparable(found, ecosystem) };
    let (mut known, mut listed) = (BTreeSet::new(), BTreeSet::new());
    let mut add = |path: &str, role: Role, state: Option<&FileState>| {
        let found = state.into_iter().flat_map(|state| addresses_in(path, state, role)).map(comparable);
        if role == Role::Manifest { listed.extend(found) } else { known.extend(found) }
    };
    add(change.path.as_str(), role, change.before.as_ref());
    let full = format!("{}{}", base.prefix, change.path);
    let mut folder = folder_of(ecosystem, &full);
    loop {
        let settings = ecosystem.settings.iter().map(|name| (name, Role::Settings));
        // One that comes in the place of another may name what that named.
        let is_new = change.before.is_none() || role == Role::Manifest;
        let locks = ecosystem.locks.iter().filter(|_| is_new).map(|name| (name, Role::Lock));
        let manifests = ecosystem.manifests.iter().map(|manifest| (&manifest.name, Role::Manifest));
        let manifests = manifests.filter(|_| role == Role::Manifest);
        for (name, role) in settings.chain(locks).chain(manifests).filter(|(name, _)| !name.contains('*')) {
            for name in spellings(name) {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                add(&path, role, base.state(&path).as_ref());
            }
        }
        if folder.is_empty() {
            break;
        }
        folder = folder.rsplit_once('/').map_or("", |(above, _)| above);
    }
    let public = public(ecosystem);
    // Who has packages of their own does not want those of the same name that anybody can publish.
    let is_public = |known: &Address| public.iter().any(|public| known.is_as(public));
    let has_own = known.iter().any(|known| !known.is_shared() && !is_public(known));
    if has_own && role != Role::Lock {
        // Settings that name both say which packages come from where; another one would say so of others.
        known.retain(|known| !is_public(known));
    } else if !has_own && base.is_there {
        known.extend(public.into_iter().map(comparable));
    }
    known.extend(listed);
    known
}

/// Returns how a name of the table is written, which is in lower case there.
fn spellings(name: &str) -> Vec<String> {
    let capital = |name: &str| {
        let mut letters = name.chars();
        letters
            .next()
            .map(|first| first.to_uppercase().chain(letters).collect::<String>())
            .unwrap_or_default()
    };
    let more = match name {
        "nuget.config" => vec!["NuGet.Config".to_owned(), "NuGet.config".to_owned()],
        "module.bazel.lock" => vec!["MODULE.bazel.lock".to_owned()],
        "module.bazel" => vec!["MODULE.bazel".to_owned()],
        "juliamanifest.toml" => vec!["JuliaManifest.toml".to_owned()],
        _ => vec![capital(name)],
    };
    std::iter::once(name.to_owned()).chain(more.into_iter().filter(|more| more != name)).collect()
}
