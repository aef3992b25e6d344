//! Packages that come from elsewhere than before. Both places may be known, and still what is called the same is not the same there.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::addresses::Address;
use super::formats::name_of;
use super::manifests::at;
use super::shapes::{Judge, Kind};
use super::values::values;
use super::{lines, rows};

/// Places of packages, by their names.
pub(super) type Places = BTreeMap<String, BTreeSet<Address>>;

/// Keys of the objects and lists that hold packages.
const LISTS: [&str; 14] = [
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
    "",
];

/// Keys of a package's name.
const NAMES: [&str; 3] = ["name", "identity", "package"];

/// Returns where the packages of a lock file come from.
pub(super) fn places(path: &str, text: &str) -> Places {
    let mut places = Places::new();
    let name = name_of(path);
    if matches!(name.as_str(), "gemfile.lock" | "gems.locked") {
        gems(path, text, &mut places);
    } else if name == "mix.lock" {
        for line in text.lines() {
            let mut judge = Judge::of(path);
            lines::each(&name, line, &mut judge);
            let package = line.split('"').nth(1).unwrap_or_default().to_owned();
            places.entry(package).or_default().extend(judge.found);
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
            for (key, package) in found.into_iter().flat_map(entries) {
                let own = NAMES.iter().find_map(|name| package.get(name)?.as_str());
                let keys = keys.iter().cloned().chain([key.clone()]).collect();
                let found = rows::addresses_of(path, package, keys);
                places.entry(own.unwrap_or(package_of(&key)).to_owned()).or_default().extend(found);
            }
        }
    }
    places
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

/// Returns the name of the package that a key is for: without the folder above, and without its version.
pub(super) fn package_of(key: &str) -> &str {
    let name = key.rsplit("node_modules/").next().unwrap_or(key).trim_start_matches('/');
    let end = name.char_indices().skip(1).find(|(_, letter)| *letter == '@').map_or(name.len(), |(at, _)| at);
    &name[..end]
}

/// Adds the gems of each section, with the remotes of the section.
fn gems(path: &str, text: &str, places: &mut Places) {
    let mut remotes = BTreeSet::new();
    for line in text.lines() {
        let indentation = line.len() - line.trim_start().len();
        let line = line.trim();
        match (indentation, line.split_once(' ')) {
            (0, _) => remotes.clear(),
            (2, Some(("remote:", remote))) => {
                let mut judge = Judge::of(path);
                // A path of the checkout is no address.
                let _ = judge.judge(Kind::Place, remote.trim());
                remotes.extend(judge.found);
            }
            (4, Some((gem, _))) => places.entry(gem.to_owned()).or_default().extend(remotes.iter().cloned()),
            _ => {}
        }
    }
}

/// Returns a package that would come from elsewhere than before. What came from one of the `usual` places may come from any.
pub(super) fn moved<'p>(before: &Places, after: &'p Places, usual: &[Address]) -> Option<&'p str> {
    let moved = after.iter().find(|(name, now)| {
        let Some(had) = before.get(*name) else { return false };
        let is_bound = had.iter().any(|place| !usual.iter().any(|usual| place.is_as(usual)));
        let is_had = |place: &Address| had.iter().any(|had| place.is_as(had));
        is_bound && (now.is_empty() || !now.iter().all(is_had))
    });
    moved.map(|(name, _)| name.as_str())
}
