//! Place of a lock file: whose dependencies it holds.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use workspace::{ChangeSet, FileChange, Glob};

use super::ecosystem::{Ecosystem, Reach};
use super::formats::name_of;
use super::manifests::{all_at, at, members, text};
use super::table::{fits, folder_of};
use super::values::values;
use super::{BaseFiles, spellings};

/// A lock file, and what is known of the packages that it is for.
pub(super) struct Place<'a> {
    change: &'a FileChange,
    changes: &'a ChangeSet,
    ecosystem: &'static Ecosystem,
    base: &'a BaseFiles<'a>,
    folder: &'a str,
}

impl<'a> Place<'a> {
    pub(super) fn of(
        change: &'a FileChange,
        changes: &'a ChangeSet,
        ecosystem: &'static Ecosystem,
        base: &'a BaseFiles<'a>,
    ) -> Self {
        Self { change, changes, ecosystem, base, folder: folder_of(ecosystem, change.path.as_str()) }
    }

    /// Returns whether the lock file holds the dependencies that a manifest lists.
    pub(super) fn serves(&self, manifest: &FileChange) -> bool {
        let folder = parent(manifest.path.as_str());
        if folder == self.folder || self.ecosystem.reach == Reach::Below && in_gradle(folder) == self.folder {
            return true;
        }
        match self.ecosystem.reach {
            Reach::Own => false,
            Reach::Shared => {
                let name = manifest.path.file_name().unwrap_or_default().to_lowercase();
                name.starts_with("directory.") && below(self.folder, folder).is_some()
            }
            Reach::Below => below(folder, self.folder).is_some() && !self.has_nearer(folder),
            Reach::Members => below(folder, self.folder)
                .is_some_and(|relative| !self.has_nearer(folder) && self.is_member(relative, manifest)),
        }
    }

    /// Returns whether a folder below, or one on the way there, has a lock file of its own.
    fn has_nearer(&self, mut folder: &str) -> bool {
        while folder != self.folder && !folder.is_empty() {
            let is_there = self.ecosystem.locks.iter().any(|lock| {
                let is_changed = self.changes.iter().any(|other| {
                    let path = other.path.as_str();
                    fits(lock, &path.to_lowercase()) && parent(path) == folder
                });
                let is_in_base = || {
                    let paths = spellings(lock)
                        .into_iter()
                        .map(|name| format!("{}{folder}/{name}", self.base.prefix));
                    !lock.contains('*') && paths.into_iter().any(|path| (self.base.read)(&path).is_some())
                };
                is_changed || is_in_base()
            });
            if is_there {
                return true;
            }
            folder = parent(folder);
        }
        false
    }

    /// Returns whether a package below belongs to the workspace of the lock file: the lock file has had it before, or the workspace
    /// lists its folder.
    fn is_member(&self, relative: &str, manifest: &FileChange) -> bool {
        // What is fetched is no member, whatever its folder is called.
        if relative.split('/').any(|name| name == "node_modules") {
            return false;
        }
        let path = self.change.path.as_str();
        let before = self.change.before.as_ref().and_then(text).and_then(|text| values(path, text));
        let before = before.unwrap_or_default();
        if folders(&name_of(path), &before).contains(relative) || is_crate(manifest, &before) {
            return true;
        }
        let listed = self.ecosystem.manifests.iter().filter(|manifest| !manifest.name.contains('*'));
        listed.flat_map(|manifest| spellings(manifest.name)).any(|name| {
            let path = if self.folder.is_empty() { name } else { format!("{}/{name}", self.folder) };
            let content = (self.base.read)(&format!("{}{path}", self.base.prefix)).unwrap_or_default();
            let members = members(&path, &String::from_utf8_lossy(&content));
            members.iter().any(|member| Glob::parse(member).is_ok_and(|glob| glob.matches(relative)))
        })
    }
}

/// Lock files, with the keys of the object whose keys are the folders of members.
const FOLDERS: [(&str, &str); 5] = [
    ("package-lock.json", "packages"),
    ("npm-shrinkwrap.json", "packages"),
    ("pnpm-lock.yaml", "importers"),
    ("bun.lock", "workspaces"),
    ("deno.lock", "workspace.members"),
];

/// Lock files, with the keys of texts that are, or end in, the folder of a member.
const NAMED_FOLDERS: [(&str, &str); 6] = [
    ("yarn.lock", "*.resolution"),
    ("uv.lock", "package.*.source.*"),
    ("poetry.lock", "package.*.source.url"),
    ("pdm.lock", "package.*.path"),
    ("pixi.lock", "packages.*.pypi"),
    ("pubspec.lock", "packages.*.description.path"),
];

/// Returns the folders of the members of a workspace that a lock file has.
fn folders(name: &str, lock: &Value) -> BTreeSet<String> {
    let keys = FOLDERS.iter().filter(|(file, _)| *file == name);
    let keys = keys.filter_map(|(_, keys)| at(lock, keys)?.as_object()).flat_map(Map::keys);
    let texts = NAMED_FOLDERS.iter().filter(|(file, _)| *file == name);
    let texts = texts.flat_map(|(_, keys)| all_at(lock, keys)).filter_map(|(_, text)| text.as_str());
    let texts = texts.map(|text| text.rsplit_once("@workspace:").map_or(text, |(_, folder)| folder));
    let plain = |folder: &str| folder.trim_start_matches("./").trim_end_matches('/').to_owned();
    keys.map(String::as_str).chain(texts).map(plain).collect()
}

/// Returns whether a manifest has been that of a crate that the lock file has as one of the workspace, which is one without a source.
fn is_crate(manifest: &FileChange, lock: &Value) -> bool {
    let own = manifest.before.as_ref().and_then(text);
    let own = own.and_then(|text| super::manifests::values(manifest.path.as_str(), text));
    let own = own.as_ref().and_then(|own| at(own, "package.name")?.as_str());
    let crates = lock.get("package").and_then(Value::as_array);
    own.zip(crates).is_some_and(|(own, crates)| {
        let is_own = |one: &Value| one.get("name").and_then(Value::as_str) == Some(own);
        crates.iter().any(|one| is_own(one) && one.get("source").is_none())
    })
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Returns the folder that a folder of Gradle's own files is for.
fn in_gradle(folder: &str) -> &str {
    if folder == "gradle" { "" } else { folder.strip_suffix("/gradle").unwrap_or(folder) }
}

/// Returns a folder as it is named from one above it.
fn below<'p>(folder: &'p str, above: &str) -> Option<&'p str> {
    if above.is_empty() {
        return (!folder.is_empty()).then_some(folder);
    }
    folder.strip_prefix(above)?.strip_prefix('/')
}
