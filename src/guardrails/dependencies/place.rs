//! Place of a lock file: whose dependencies it holds.

use regex::Regex;
use serde_json::Value;
use workspace::{ChangeSet, FileChange, Glob};

use super::manifests::{at, members, text};
use super::table::{Ecosystem, Reach, fits, folder_of};
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

    /// Returns whether a package below belongs to the workspace of the lock file: the lock file has named it before, or the
    /// workspace lists its folder.
    fn is_member(&self, relative: &str, manifest: &FileChange) -> bool {
        let before = self.change.before.as_ref().and_then(text).unwrap_or_default();
        let name =
            Regex::new(&format!(r#"(?m)(?:^|["'\s:])(?:\./)?{}(?:$|["'\s:,)])"#, regex::escape(relative)));
        if name.is_ok_and(|name| name.is_match(before)) || self.is_crate(manifest, before) {
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

    /// Returns whether a manifest is of a crate that the lock file has as one of the workspace, which is one without a source.
    fn is_crate(&self, manifest: &FileChange, before: &str) -> bool {
        let state = manifest.before.as_ref().or(manifest.after.as_ref());
        let own =
            state.and_then(text).and_then(|text| super::manifests::values(manifest.path.as_str(), text));
        let own = own.as_ref().and_then(|own| at(own, "package.name")?.as_str());
        let lock = values(self.change.path.as_str(), before);
        let crates = lock.as_ref().and_then(|lock| lock.get("package")?.as_array());
        own.zip(crates).is_some_and(|(own, crates)| {
            crates.iter().any(|one| {
                one.get("name").and_then(Value::as_str) == Some(own) && one.get("source").is_none()
            })
        })
    }
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
