//! Packages that come from elsewhere than before. Both places may be known, and still what is called the same is not the same there.

use std::collections::{BTreeMap, BTreeSet};
use std::slice;

use serde_json::Value;

use super::addresses::Address;
use super::formats::name_of;
use super::indexes;
use super::manifests::{all_at, at};
use super::rows::package_of;
use super::shapes::Judge;
use super::text_kind::Kind;
use super::values::values;
use super::{lines, rows};

/// Where a package comes from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Origin {
    /// An address.
    Place(Address),
    /// The checkout itself.
    Checkout,
    /// Where the package manager looks if nothing is said.
    Unsaid,
}

/// Origins of packages, by their names.
pub(super) type Origins = BTreeMap<String, BTreeSet<Origin>>;

/// Keys of the objects and lists that hold packages.
const LISTS: [&str; 15] = [
    "packages",
    "packages-dev",
    "package",
    "dependencies",
    "default",
    "develop",
    "deps",
    "Packages",
    "nodes",
    "pins",
    "object.pins",
    "EXTERNAL SOURCES",
    "CHECKOUT OPTIONS",
    "shards",
    "",
];

/// Lock files of npm, whose first version has packages in packages.
const NPM: [&str; 2] = ["package-lock.json", "npm-shrinkwrap.json"];

/// Keys of a package's name.
const NAMES: [&str; 3] = ["name", "identity", "package"];

/// Keys of what a package says of others.
const OF_OTHERS: [&str; 10] = [
    "dependencies",
    "devDependencies",
    "peerDependencies",
    "optionalDependencies",
    "dev-dependencies",
    "optional-dependencies",
    "metadata",
    "extras",
    "require",
    "require-dev",
];

/// Lock files, with keys that only packages of the checkout have, and the value if others have the key as well.
const CHECKOUT: [(&str, &str, Option<&str>); 14] = [
    ("package-lock.json", "link", None),
    ("npm-shrinkwrap.json", "link", None),
    ("pnpm-lock.yaml", "resolution.type", Some("directory")),
    ("uv.lock", "source.editable", None),
    ("uv.lock", "source.virtual", None),
    ("uv.lock", "source.directory", None),
    ("uv.lock", "source.path", None),
    ("poetry.lock", "source.type", Some("directory")),
    ("poetry.lock", "source.type", Some("file")),
    ("pdm.lock", "path", None),
    ("pipfile.lock", "path", None),
    ("composer.lock", "dist.type", Some("path")),
    ("pubspec.lock", "source", Some("path")),
    ("podfile.lock", ":path", None),
];

/// Returns where the packages of a lock file come from.
pub(super) fn origins(path: &str, text: &str) -> Origins {
    let mut origins = Origins::new();
    let name = name_of(path);
    if matches!(name.as_str(), "gemfile.lock" | "gems.locked" | "paket.lock") {
        sections(path, text, &mut origins);
    } else if name == "mix.lock" {
        for line in text.lines() {
            let mut judge = Judge::of(path);
            lines::each(&name, line, &mut judge);
            let package = line.split('"').nth(1).unwrap_or_default();
            add(&mut origins, package, judge.found);
        }
    } else if let Some(values) = values(path, text) {
        for list in LISTS {
            // Only Yarn has packages at the top.
            let found = if list.is_empty() {
                Some(&values).filter(|_| name == "yarn.lock")
            } else {
                at(&values, list)
            };
            let keys: Vec<String> =
                list.split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect();
            let below = |keys: &[String], key: String| [keys, slice::from_ref(&key)].concat();
            let mut waiting: Vec<(Vec<String>, &Value)> = found
                .into_iter()
                .flat_map(entries)
                .map(|(key, package)| (below(&keys, key), package))
                .collect();
            while let Some((keys, package)) = waiting.pop() {
                if list == "dependencies" && NPM.contains(&name.as_str()) {
                    let keys = below(&keys, list.to_owned());
                    let inner = package.get(list).into_iter().flat_map(entries);
                    let inner = inner.filter(|(_, inner)| inner.is_object());
                    waiting.extend(inner.map(|(key, inner)| (below(&keys, key), inner)));
                }
                let key = keys.last().cloned().unwrap_or_default();
                let Some(own) = own_name(&key, package) else { continue };
                // A package may be called otherwise than the one that it stands for.
                let by_key = name_by(&key).filter(|name| *name != own);
                let names = [Some(own), by_key].into_iter().flatten();
                if is_of_checkout(&name, package) {
                    // It may name an address as well, and package managers may follow that.
                    let found = rows::addresses_of(path, &of_itself(package), keys);
                    for name in names {
                        let of = origins.entry(folded(name)).or_default();
                        of.insert(Origin::Checkout);
                        of.extend(found.iter().cloned().map(Origin::Place));
                    }
                    continue;
                }
                let mut found = rows::addresses_of(path, package, keys);
                if found.is_empty() {
                    found.extend(indexes::of_package(&name, &values, package));
                }
                for name in names {
                    add(&mut origins, name, found.clone());
                }
            }
        }
        listed_elsewhere(&values, &mut origins);
    }
    origins
}

/// Adds what lock files say of packages outside of the lists of packages: members of pnpm's workspaces, and pods of each repository.
fn listed_elsewhere(values: &Value, origins: &mut Origins) {
    for dependencies in ["dependencies", "devDependencies", "optionalDependencies"] {
        for (_, listed) in all_at(values, &format!("importers.*.{dependencies}")) {
            let is_link =
                |one: &Value| one["version"].as_str().is_some_and(|version| version.starts_with("link:"));
            for (name, _) in entries(listed).into_iter().filter(|(_, one)| is_link(one)) {
                origins.entry(folded(&name)).or_default().insert(Origin::Checkout);
            }
        }
    }
    for (repository, pods) in values.get("SPEC REPOS").into_iter().flat_map(entries) {
        let address = if repository == "trunk" { "https://cdn.cocoapods.org" } else { &repository };
        for pod in pods.as_array().into_iter().flatten().filter_map(Value::as_str) {
            add(origins, pod, Address::of(address).ok());
        }
    }
}

fn add(origins: &mut Origins, package: &str, found: impl IntoIterator<Item = Address>) {
    let of = origins.entry(folded(package)).or_default();
    let mut found = found.into_iter().peekable();
    if found.peek().is_none() {
        of.insert(Origin::Unsaid);
    }
    of.extend(found.map(Origin::Place));
}

/// Returns a name in the spelling that stands for all those that registries do not tell apart, or people could confuse.
fn folded(name: &str) -> String {
    let mut folded = String::with_capacity(name.len());
    for letter in name.to_lowercase().chars() {
        let letter = if matches!(letter, '_' | '.') { '-' } else { letter };
        if letter != '-' || !folded.ends_with('-') {
            folded.push(letter);
        }
    }
    folded
}

/// Returns the name of a package of a list; `None` if only its place in the list is known, which says nothing.
fn own_name<'v>(key: &'v str, package: &'v Value) -> Option<&'v str> {
    // Conda has the name in that of the file, before the version and the build.
    let of_file = |file: &'v str| file.rsplit('/').next()?.rsplitn(3, '-').nth(2);
    NAMES
        .iter()
        .find_map(|name| package.get(name)?.as_str())
        .or_else(|| package.get("conda")?.as_str().and_then(of_file))
        .or_else(|| name_by(key))
}

/// Returns the name of the package that a key is for; `None` if the key is its place in a list.
fn name_by(key: &str) -> Option<&str> {
    Some(package_of(key)).filter(|key| !key.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns whether a package of a lock file is one of the checkout, so that everybody sees what is in it.
fn is_of_checkout(file: &str, package: &Value) -> bool {
    let has = |keys: &str, value: Option<&str>| {
        at(package, keys)
            .is_some_and(|found| found.as_bool() != Some(false) && value.is_none_or(|value| found == value))
    };
    // A crate without a source is one of the workspace.
    if file == "cargo.lock" && package.get("source").is_none() {
        return true;
    }
    let resolved = match package {
        Value::Array(items) => items.first(),
        package => package.get("resolution").or_else(|| package.get("resolved")),
    };
    let resolved = resolved.and_then(Value::as_str);
    let is_path = resolved.is_some_and(|text| {
        ["workspace:", "file:", "link:", "portal:"]
            .iter()
            .any(|scheme| text.starts_with(scheme) || text.contains(&format!("@{scheme}")))
    });
    is_path || CHECKOUT.iter().any(|(name, keys, value)| *name == file && has(keys, *value))
}

/// Returns a package without what it says of other packages.
fn of_itself(package: &Value) -> Value {
    match package {
        Value::Object(all) => {
            let own = all.iter().filter(|(key, _)| !OF_OTHERS.contains(&key.as_str()));
            Value::Object(own.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(of_itself).collect()),
        other => other.clone(),
    }
}

fn entries(value: &Value) -> Vec<(String, &Value)> {
    match value {
        Value::Object(entries) => entries.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => Vec::new(),
    }
}

/// Adds the packages of each section of a lock file of Bundler or Paket, with the remotes of the section.
fn sections(path: &str, text: &str, origins: &mut Origins) {
    let mut section = "";
    let mut remotes = Vec::new();
    for line in text.lines() {
        let indentation = line.len() - line.trim_start().len();
        let line = line.trim();
        match (indentation, line.split_once(' ')) {
            (0, _) => {
                section = line;
                remotes.clear();
            }
            (2, Some(("remote:", remote))) => {
                let mut judge = Judge::of(path);
                // A path of the checkout is no address.
                let _ = judge.judge(Kind::Place, remote.trim());
                remotes.extend(judge.found);
            }
            (4, Some((package, _))) if section == "PATH" => {
                origins.entry(folded(package)).or_default().insert(Origin::Checkout);
            }
            (4, Some((package, _))) => add(origins, package, remotes.clone()),
            _ => {}
        }
    }
}

/// Returns a package that would come from elsewhere than before: from a place that it has not come from, unless it and that place
/// are `usual`, or no longer from any place of its own.
pub(super) fn moved<'p>(before: &Origins, after: &'p Origins, usual: &[Address]) -> Option<&'p str> {
    let is_usual = |origin: &Origin| match origin {
        Origin::Place(place) => usual.iter().any(|usual| place.is_as(usual)),
        Origin::Checkout => false,
        Origin::Unsaid => true,
    };
    let is_from = |origin: &Origin, had: &BTreeSet<Origin>| match origin {
        Origin::Place(place) => {
            had.iter().any(|had| matches!(had, Origin::Place(known) if place.is_as(known)))
        }
        Origin::Checkout => true,
        Origin::Unsaid => had.contains(origin),
    };
    let moved = after.iter().find(|(name, now)| {
        let Some(had) = before.get(*name) else { return false };
        let is_bound = !had.iter().all(is_usual);
        let is_known = |origin: &Origin| is_from(origin, had) || !is_bound && is_usual(origin);
        !now.iter().all(is_known) || is_bound && now.iter().all(is_usual)
    });
    moved.map(|(name, _)| name.as_str())
}
