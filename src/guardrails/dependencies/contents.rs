//! Contents of lock files and manifests, read as the programs that they are for would read them.

use std::collections::BTreeSet;

use manifest::Format;
use serde_json::Value;
use workspace::{FileChange, FileState, Mode};

use super::addresses::{self, Address};
use super::table::{Ecosystem, Manifest, fits};

/// Deepest nesting of brackets that is parsed.
const MAX_NESTING: usize = 200;

/// Texts for people, by the place where they stand: those before and behind what a package is called by.
const FOR_PEOPLE: [(&str, &str, &[&str]); 6] = [
    ("package-lock.json", "packages", &["funding", "deprecated", "license"]),
    ("npm-shrinkwrap.json", "packages", &["funding", "deprecated", "license"]),
    ("pnpm-lock.yaml", "packages", &["deprecated"]),
    ("composer.lock", "packages", COMPOSER),
    ("composer.lock", "packages-dev", COMPOSER),
    (
        "renv.lock",
        "Packages",
        &["URL", "BugReports", "Author", "Maintainer", "Description", "Authors@R", "License"],
    ),
];

const COMPOSER: &[&str] =
    &["funding", "support", "authors", "homepage", "description", "keywords", "license", "notification-url"];

/// Returns the text of a file; `None` if it is not text.
pub(super) fn text(state: &FileState) -> Option<&str> {
    std::str::from_utf8(&state.content).ok().filter(|text| !text.contains('\0'))
}

/// Returns the values of a file; `None` if they cannot be told for certain.
pub(super) fn values(path: &str, text: &str) -> Option<Value> {
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let format = match name.as_str() {
        "composer.lock" | "pipfile.lock" | "deno.lock" | "bun.lock" | "conan.lock" | "package.resolved"
        | "flake.lock" | "renv.lock" | "module.bazel.lock" | "devbox.lock" => Format::Json,
        "pubspec.lock" | "podfile.lock" | "chart.lock" | "pixi.lock" | "stack.yaml.lock" | "shard.lock"
        | "buf.lock" => Format::Yaml,
        "pdm.lock" | "mise.lock" => Format::Toml,
        name if name.ends_with(".py.lock") => Format::Toml,
        name => Format::of(name)?,
    };
    if is_deep(text) {
        return None;
    }
    manifest::values(format, text).ok()
}

/// Returns whether a text is nested so deeply that a parser could fail on it.
fn is_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    let is_too_deep = text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_NESTING
    });
    // In YAML, signs and spaces at the start of a line nest as well.
    let nests = |line: &str| {
        let start = line.trim_start().len();
        let signs = line.trim_start().bytes().take_while(|byte| b"-? \t".contains(byte)).count();
        signs > MAX_NESTING || line.len() - start > 10 * MAX_NESTING
    };
    is_too_deep || text.lines().any(nests)
}

/// Returns the addresses that a file names, apart from those in texts that are for people alone.
pub(super) fn addresses(path: &str, state: &FileState, ecosystem: &Ecosystem) -> BTreeSet<Address> {
    let lossy = String::from_utf8_lossy(&state.content);
    let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
    let mut found = BTreeSet::new();
    let for_people: Vec<_> = FOR_PEOPLE.iter().filter(|(file, ..)| *file == name).collect();
    let values = values(path, &lossy);
    if let Some(values) = &values {
        each_text(values, &mut Vec::new(), &mut |at, text| {
            let is_for_people = for_people.iter().any(|(_, packages, keys)| {
                matches!(at, [first, _, key, ..] if first == packages && keys.contains(key))
            });
            if !is_for_people {
                found.append(&mut addresses::in_value(text));
            }
        });
        accounts(values, &mut found);
    }
    if values.is_none() || for_people.is_empty() {
        // Terraform names hosts without a scheme.
        let lines = if name == ".terraform.lock.hcl" {
            lossy.replace("provider \"", "provider \"https://")
        } else {
            lossy.into_owned()
        };
        found.append(&mut addresses::in_lines(&lines));
    }
    if ecosystem.any_account { found.into_iter().map(Address::of_host).collect() } else { found }
}

/// Calls a function for every key and text, with the keys that lead there.
fn each_text<'v>(value: &'v Value, at: &mut Vec<&'v str>, told: &mut dyn FnMut(&[&str], &str)) {
    match value {
        Value::String(text) => told(at, text),
        Value::Array(items) => {
            for item in items {
                at.push("");
                each_text(item, at, told);
                at.pop();
            }
        }
        Value::Object(entries) => {
            for (key, value) in entries {
                told(at, key);
                at.push(key);
                each_text(value, at, told);
                at.pop();
            }
        }
        _ => {}
    }
}

/// Adds the addresses that Nix gives in parts.
fn accounts(value: &Value, found: &mut BTreeSet<Address>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| accounts(item, found)),
        Value::Object(entries) => {
            let text = |key: &str| entries.get(key).and_then(Value::as_str);
            if let (Some(kind), Some(owner)) = (text("type"), text("owner")) {
                let usual = match kind {
                    "gitlab" => "gitlab.com",
                    "sourcehut" => "git.sr.ht",
                    _ => "github.com",
                };
                let address = format!("https://{}/{owner}/", text("host").unwrap_or(usual));
                found.append(&mut addresses::in_value(&address));
            }
            entries.values().for_each(|value| accounts(value, found));
        }
        _ => {}
    }
}

/// How a change of a manifest concerns dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Concern {
    /// Other dependencies are listed.
    Dependencies,
    /// It is the version of the package itself, which lock files repeat.
    Version(String),
    /// It does not.
    None,
}

/// Returns how a change of a manifest concerns dependencies.
pub(super) fn concern(change: &FileChange, manifest: &Manifest) -> Concern {
    let is_file = |state: &Option<FileState>| state.as_ref().is_none_or(|state| state.mode != Mode::Link);
    if !is_file(&change.before) || !is_file(&change.after) {
        return Concern::None;
    }
    let read = |state: &Option<FileState>| Some(state.as_ref().map_or(Some(""), text)?.to_owned());
    let (Some(before), Some(after)) = (read(&change.before), read(&change.after)) else {
        return Concern::None;
    };
    if manifest.keys.is_empty() {
        let is_same = code_lines(&before) == code_lines(&after);
        return if is_same { Concern::None } else { Concern::Dependencies };
    }
    let parsed = |state: &Option<FileState>, text: &str| match state {
        Some(_) => values(change.path.as_str(), text),
        None => Some(Value::Null),
    };
    let parsed = parsed(&change.before, &before).zip(parsed(&change.after, &after));
    let Some((before, after)) = parsed else { return Concern::None };
    let differs = |key: &&&str| at(&before, key) != at(&after, key);
    if manifest.keys.iter().any(|key| differs(&key)) {
        return Concern::Dependencies;
    }
    let version = |values: &Value| {
        let found = [
            "version",
            "package.version",
            "workspace.package.version",
            "project.version",
            "tool.poetry.version",
        ];
        found.iter().find_map(|key| at(values, key)?.as_str().map(str::to_owned))
    };
    match version(&after) {
        Some(new) if version(&before).as_ref() != Some(&new) => Concern::Version(new),
        _ => Concern::None,
    }
}

/// Returns the value of keys with dots between them.
pub(super) fn at<'v>(values: &'v Value, keys: &str) -> Option<&'v Value> {
    keys.split('.').try_fold(values, |value, key| value.get(key))
}

/// Returns the lines of a text without comments and what spaces they are indented by.
fn code_lines(text: &str) -> Vec<String> {
    const COMMENTS: [&str; 6] = ["#", "//", "--", ";", "%", "/*"];
    let lines = text.lines().map(|line| {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let starts = COMMENTS
            .iter()
            .filter_map(|mark| if line.starts_with(mark) { Some(0) } else { line.find(&format!(" {mark}")) });
        let end = starts.min().unwrap_or(line.len());
        line[..end].to_owned()
    });
    lines.filter(|line| !line.is_empty()).collect()
}

/// Returns whether all that a lock file gains is a version.
pub(super) fn gains_only(change: &FileChange, version: &str) -> bool {
    let gained = change.gained();
    gained.lines().all(|line| {
        let rest = line.replacen(version, "", 1).replacen("version", "", 1);
        rest.chars().all(|letter| letter.is_whitespace() || "\"':=,".contains(letter))
    })
}

/// Returns what is listed as members of a workspace.
pub(super) fn members(path: &str, text: &str) -> Vec<String> {
    const KEYS: [&str; 6] = [
        "workspaces",
        "packages",
        "workspace",
        "workspace.members",
        "tool.uv.workspace.members",
        "workspaces.packages",
    ];
    let Some(values) = values(path, text) else { return Vec::new() };
    let lists = KEYS.iter().filter_map(|key| at(&values, key)?.as_array());
    lists
        .flatten()
        .filter_map(|member| member.as_str())
        .map(|member| member.trim_start_matches("./").trim_end_matches('/').to_owned())
        .collect()
}

/// Returns the manifest that a file is, if it is one.
pub(super) fn manifest_of<'e>(ecosystem: &'e Ecosystem, path: &str) -> Option<&'e Manifest> {
    let path = path.to_lowercase();
    ecosystem.manifests.iter().find(|manifest| fits(manifest.name, &path))
}
