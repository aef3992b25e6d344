//! Manifests: what of them lists dependencies. Comments, order, layout and what is empty say nothing.

use std::sync::LazyLock;

use manifest::Format;
use regex::Regex;
use serde_json::{Map, Value};
use workspace::{FileChange, FileState, Mode};

use super::code;
use super::ecosystem::{Ecosystem, How, Manifest};
use super::languages::Source;
use super::table::fits;
use super::values;

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

/// Keys of what tools run.
const RUN: [&str; 3] = ["scripts", "tasks", "activation"];

/// Returns the text of a file; `None` if it is not text.
pub(super) fn text(state: &FileState) -> Option<&str> {
    std::str::from_utf8(&state.content).ok().filter(|text| !text.contains('\0'))
}

/// Returns the values of a manifest; `None` if they cannot be told for certain.
pub(super) fn values(path: &str, text: &str) -> Option<Value> {
    let name = super::formats::name_of(path);
    let format = match name.as_str() {
        "pipfile" => Format::Toml,
        name => Format::of(name)?,
    };
    values::plain_values(format, text)
}

/// Returns how a change of a manifest concerns dependencies.
pub(super) fn concern(change: &FileChange, manifest: &Manifest) -> Concern {
    let is_file = |state: &Option<FileState>| state.as_ref().is_none_or(|state| state.mode != Mode::Link);
    if !is_file(&change.before) || !is_file(&change.after) {
        return Concern::None;
    }
    let read = |state: &Option<FileState>| Some(state.as_ref().map_or(Some(""), text)?.to_owned());
    let path = change.path.as_str();
    let texts = read(&change.before).zip(read(&change.after));
    let Some((before, after)) = texts else { return Concern::None };
    let listed = listed(path, &before, manifest.how).zip(listed(path, &after, manifest.how));
    let Some((listed_before, listed_after)) = listed else { return Concern::None };
    if listed_before != listed_after {
        return Concern::Dependencies;
    }
    let version = |text: &str| {
        let values = values(path, text)?;
        let keys = [
            "version",
            "package.version",
            "workspace.package.version",
            "project.version",
            "tool.poetry.version",
        ];
        keys.iter().find_map(|key| at(&values, key)?.as_str().map(str::to_owned))
    };
    match (version(&before), version(&after)) {
        (before, Some(after)) if before.as_ref() != Some(&after) => Concern::Version(after),
        _ => Concern::None,
    }
}

/// Returns what a manifest says of dependencies; `None` if it cannot be told for certain.
fn listed(path: &str, text: &str, how: How) -> Option<Value> {
    match how {
        How::Keys(keys) => {
            let values = values(path, text)?;
            let found = keys.iter().flat_map(|keys| all_at(&values, keys));
            Some(Value::Object(found.filter_map(|(place, value)| Some((place, filled(value)?))).collect()))
        }
        How::Catalog => Some(catalog(&values(path, text)?)),
        How::Xml => projects(text),
        How::Code(language, parts) => Some(code::parts(&Source::of(text, &language), parts)?.into()),
        How::Fields(names) => Some(fields(text, names).into()),
        How::Lines(language) => {
            let source = Source::of(text, &language);
            let mut lines: Vec<String> =
                source.text.lines().map(code::plain).filter(|line| !line.is_empty()).collect();
            lines.sort();
            Some(lines.into())
        }
        How::Setup => Some(setup(text).into()),
        How::Modules => Some(modules(text).into()),
        How::Script => Some(script(text).into()),
    }
}

/// Returns the lines of a manifest that list dependencies; `None` if they cannot be told for certain.
pub(super) fn listed_lines(path: &str, text: &str, how: How) -> Option<Vec<String>> {
    let listed = listed(path, text, how)?;
    let lines = listed.as_array().into_iter().flatten().filter_map(Value::as_str);
    Some(lines.map(str::to_owned).collect())
}

/// Returns the value of keys with dots between them.
pub(super) fn at<'v>(values: &'v Value, keys: &str) -> Option<&'v Value> {
    keys.split('.').try_fold(values, |value, key| value.get(key))
}

/// Returns the values of keys with dots between them, each with its place: `*` is any key or item, and `**` any number of keys.
pub(super) fn all_at<'v>(values: &'v Value, keys: &str) -> Vec<(String, &'v Value)> {
    let mut found = vec![(String::new(), values)];
    for key in keys.split('.') {
        found = found
            .into_iter()
            .flat_map(|(place, value)| match key {
                "*" => inner(&place, value),
                "**" => {
                    let mut all = Vec::new();
                    below(&place, value, &mut all);
                    all
                }
                key => value.get(key).map(|value| (format!("{place}.{key}"), value)).into_iter().collect(),
            })
            .collect();
    }
    found
}

/// Returns the entries of an object, or the items of a list, each with its place.
fn inner<'v>(place: &str, value: &'v Value) -> Vec<(String, &'v Value)> {
    match value {
        Value::Object(entries) => {
            entries.iter().map(|(key, value)| (format!("{place}.{key}"), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (format!("{place}.{index}"), item)).collect()
        }
        _ => Vec::new(),
    }
}

/// Adds a value and all that are below it, except where it says what is run.
fn below<'v>(place: &str, value: &'v Value, found: &mut Vec<(String, &'v Value)>) {
    found.push((place.to_owned(), value));
    let is_run = |place: &str| RUN.iter().any(|run| place.rsplit('.').next() == Some(run));
    for (place, value) in inner(place, value).into_iter().filter(|(place, _)| !is_run(place)) {
        below(&place, value, found);
    }
}

/// Returns a value without what is empty in it.
fn filled(value: &Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) => (!text.is_empty()).then(|| value.clone()),
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().filter_map(filled).collect();
            (!items.is_empty()).then_some(Value::Array(items))
        }
        Value::Object(entries) => {
            let entries: Map<String, Value> =
                entries.iter().filter_map(|(key, value)| Some((key.clone(), filled(value)?))).collect();
            (!entries.is_empty()).then_some(Value::Object(entries))
        }
        _ => Some(value.clone()),
    }
}

/// Returns what a catalog of Gradle lists, with the versions that this uses.
fn catalog(values: &Value) -> Value {
    let mut found = Map::new();
    for key in ["libraries", "bundles", "plugins"] {
        found.extend(at(values, key).and_then(filled).map(|value| (key.to_owned(), value)));
    }
    let used = ["libraries.*.version.ref", "plugins.*.version.ref"].map(|keys| all_at(values, keys));
    for name in used.concat().into_iter().filter_map(|(_, name)| name.as_str()) {
        let version = values.get("versions").and_then(|versions| versions.get(name));
        found.extend(version.map(|version| (format!("versions.{name}"), version.clone())));
    }
    Value::Object(found)
}

/// Returns the elements of a project of .NET that are about packages.
fn projects(text: &str) -> Option<Value> {
    const PACKAGES: [&str; 16] = [
        "PackageReference",
        "PackageVersion",
        "GlobalPackageReference",
        "ProjectReference",
        "FrameworkReference",
        "DotNetCliToolReference",
        "PackageDownload",
        "TargetFramework",
        "TargetFrameworks",
        "RuntimeIdentifier",
        "RuntimeIdentifiers",
        "RestoreSources",
        "RestoreAdditionalProjectSources",
        "ManagePackageVersionsCentrally",
        "CentralPackageTransitivePinningEnabled",
        "Import",
    ];
    let rows = values::xml(text)?;
    let rows: Vec<String> = rows.as_array()?.iter().map(Value::to_string).collect();
    let name = |row: &str| {
        let element = row.split("\"element\":\"").nth(1)?.split('"').next()?;
        Some(element.split('/').map(str::to_owned).collect::<Vec<_>>())
    };
    let is_package = |row: &String| {
        name(row).is_some_and(|names| names.iter().any(|name| PACKAGES.contains(&name.as_str())))
    };
    let mut found: Vec<String> = rows.iter().filter(|row| is_package(row)).cloned().collect();
    // Versions that are given by name.
    let is_used = |row: &&String| {
        let own = name(row).and_then(|mut names| names.pop());
        own.is_some_and(|own| found.iter().any(|row| row.contains(&format!("$({own})"))))
    };
    let properties: Vec<String> =
        rows.iter().filter(|row| !is_package(row)).filter(is_used).cloned().collect();
    found.extend(properties);
    found.sort();
    Some(found.into())
}

/// Returns what fields hold, with the lines below them that are further to the right.
fn fields(text: &str, names: &[&str]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut open: Option<usize> = None;
    for line in text.lines() {
        let start = line.len() - line.trim_start().len();
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with("--") || trimmed.starts_with('#') {
            continue;
        }
        if open.is_some_and(|indentation| start > indentation) {
            if let Some(field) = found.last_mut() {
                field.push_str(&format!(" {}", code::plain(trimmed)));
            }
            continue;
        }
        open = None;
        let field = trimmed
            .split_once(':')
            .filter(|(name, _)| names.iter().any(|wanted| name.trim().eq_ignore_ascii_case(wanted)));
        if let Some((name, value)) = field {
            open = Some(start);
            found.push(format!("{} {}", name.trim().to_lowercase(), code::plain(value)));
        }
    }
    let sorted = found.into_iter().map(|field| {
        let (name, field) = field.split_once(' ').unwrap_or((&field, ""));
        let mut items: Vec<String> =
            field.split(',').map(code::plain).filter(|item| !item.is_empty()).collect();
        items.sort();
        format!("{name} {}", items.join(", "))
    });
    let mut sorted: Vec<String> = sorted.collect();
    sorted.sort();
    sorted
}

/// Returns what `setup.cfg` says of dependencies.
fn setup(text: &str) -> Vec<String> {
    let mut section = "";
    let mut own = String::new();
    let mut found = Vec::new();
    for line in text.lines().chain(["[]"]) {
        if let Some(name) = line.trim().strip_prefix('[').and_then(|name| name.strip_suffix(']')) {
            let requires = [
                "install_requires",
                "setup_requires",
                "tests_require",
                "python_requires",
                "dependency_links",
            ];
            match section {
                // There, a key and its value may be separated by either sign.
                "options" => found.extend(fields(&key_colons(&own), &requires)),
                "options.extras_require" | "easy_install" => {
                    found.extend(
                        own.lines()
                            .map(code::plain)
                            .filter(|line| !line.is_empty() && !line.starts_with('#')),
                    );
                }
                _ => {}
            }
            section = name;
            own.clear();
        } else {
            own.push_str(line);
            own.push('\n');
        }
    }
    found.sort();
    found
}

/// Returns lines with a colon behind their keys, where a sign of equality may stand as well.
fn key_colons(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let is_key = !line.starts_with([' ', '\t']) && line.find('=') < line.find(':').or(Some(usize::MAX));
        if is_key { line.replacen('=', ":", 1) } else { line.to_owned() }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns what a module of Go needs, a directive a line.
fn modules(text: &str) -> Vec<String> {
    const DIRECTIVES: [&str; 7] = ["require", "replace", "exclude", "go", "toolchain", "tool", "use"];
    let mut found = Vec::new();
    let mut open = String::new();
    for line in text.lines() {
        let line = code::plain(line.split("//").next().unwrap_or(line));
        let (first, rest) = line.split_once(' ').unwrap_or((&line, ""));
        if line == ")" {
            open.clear();
        } else if rest == "(" || first.ends_with('(') {
            first.trim_end_matches('(').clone_into(&mut open);
        } else if !line.is_empty() {
            let (directive, rest) =
                if open.is_empty() { (first, rest) } else { (open.as_str(), line.as_str()) };
            if DIRECTIVES.contains(&directive) {
                found.push(format!("{directive} {rest}"));
            }
        }
    }
    found.sort();
    found
}

/// Returns what a script of Python says that it needs.
fn script(text: &str) -> Vec<String> {
    static BLOCK: LazyLock<Regex> = LazyLock::new(|| {
        #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
        Regex::new(r"(?m)^# /// script\r?\n((?:#(?:| .*)\r?\n)+?)# ///\r?$").expect("a valid pattern")
    });
    let block = BLOCK.captures(text).map(|found| found[1].to_owned()).unwrap_or_default();
    let lines = block.lines().map(|line| line.trim_start_matches('#').trim());
    let toml = lines.collect::<Vec<_>>().join("\n");
    let values = values::plain_values(Format::Toml, &toml).unwrap_or(Value::Null);
    let keys = ["dependencies", "requires-python", "tool.uv"];
    keys.iter().filter_map(|key| filled(at(&values, key)?)).map(|value| value.to_string()).collect()
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
