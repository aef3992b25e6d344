//! Settings of package managers: what changes in them is harmless by its name, with a plain value, or is a place that is known.
//! Nothing else may change, as it could say where packages come from in a way that nobody has thought of.

use std::collections::{HashMap, HashSet};

use manifest::Format;
use serde_json::Value;

use super::addresses::Address;
use super::formats::name_of;
use super::rejection::{Reason, RejectedRow};
use super::settings_keys::{HARMLESS, PLACES, PROTECTIONS};
use super::shapes::Judge;
use super::text_kind::Kind;
use super::values::{plain_values, xml};

patterns! {
    SECTION = r#"^\[[\w.-]+(?: "[^"\\\]]*")?\]$"#;
    LITERAL = r"^[A-Za-z0-9._+^~-]{0,100}$|^wrapper/dists$";
    FOLDERS = r"^!?[A-Za-z0-9._@{},*-]+(?:/[A-Za-z0-9._@{},*-]+)*$";
    VERSION_KEY = r"^[A-Za-z][A-Za-z0-9_.-]*[vV]ersion$|^[a-z][a-z0-9_]*_version$";
    // What projects a build of Gradle has, and what Bazel does with what it has.
    PLAIN_LINE = r#"(?x) ^ include \s* \(? \s* (?: ["'] :? [\w:.-]+ ["'] \s* ,? \s* )+ \)? $
        | ^ rootProject\.name \s* = \s* ["'] [\w.-]+ ["'] $
        | ^ (?: build | test | run | common ) (?: : [\w-]+ )?
          (?: \s+ -- (?: jobs=\d+ | verbose_failures | keep_going | test_output=\w+ | compilation_mode=\w+ | cxxopt=-std=[\w+]+ ) )+ $
        | ^ USE_BAZEL_VERSION = [\w.-]+ $"#;
}

/// A setting: the keys that lead to it, and its value.
type Setting = (Vec<String>, String);

/// Returns the addresses that settings name.
pub(super) fn addresses(path: &str, text: &str) -> Vec<Address> {
    let settings = settings(path, text).unwrap_or_else(|| lines(text, ""));
    let values = settings.iter().flat_map(|(_, value)| value.split(['"', '\'', ' ', '(', ')']));
    values.filter_map(|value| Address::of(value).ok()).collect()
}

/// Judges what changes in settings.
pub(super) fn judge(path: &str, before: &str, after: &str, judge: &mut Judge) -> Result<(), RejectedRow> {
    if is_code(path) {
        return code(before, after);
    }
    let unread =
        || RejectedRow { row: "a value".to_owned(), why: Reason("which programs could read differently") };
    let after = settings(path, after).ok_or_else(unread)?;
    let before = settings(path, before).ok_or_else(unread)?;
    let is_modules = name_of(path) == ".gitmodules";
    let had: HashSet<&Setting> = before.iter().collect();
    let has: HashSet<&Setting> = after.iter().collect();
    let names: HashSet<&Vec<String>> = after.iter().map(|(keys, _)| keys).collect();
    if names.len() < after.len() && after.iter().any(|setting| !had.contains(setting)) {
        return Err(RejectedRow { row: "a setting".to_owned(), why: Reason("which is there twice") });
    }
    let row = |(keys, value): &Setting| format!("{} = {value}", keys.join("."));
    let values: HashMap<&Vec<String>, &str> =
        before.iter().map(|(keys, value)| (keys, value.as_str())).collect();
    for setting in after.iter().filter(|setting| !had.contains(setting)) {
        let judged = added(path, setting, judge)
            .and_then(|()| stays(values.get(&setting.0).copied().unwrap_or_default(), &setting.1));
        judged.map_err(|why| RejectedRow { row: row(setting), why })?;
    }
    let mut lost = before.iter().filter(|setting| !has.contains(setting));
    let is_free = |(keys, value): &Setting| {
        is_modules
            || is_harmless(keys, value) && !PROTECTIONS.contains(&&*last(keys))
            || is_listed(path, keys)
    };
    match lost.find(|setting| !names.contains(&setting.0) && !is_free(setting)) {
        Some(setting) => Err(RejectedRow {
            row: row(setting),
            why: Reason("whose loss could make packages come from elsewhere"),
        }),
        None => Ok(()),
    }
}

fn added(path: &str, (keys, value): &Setting, judge: &mut Judge) -> Result<(), Reason> {
    let key = last(keys);
    if name_of(path) == ".gitmodules" {
        let is_module = keys.first().is_some_and(|section| section.starts_with("submodule \""));
        return match key.as_str() {
            "path" if is_module => judge.judge(Kind::Path, value),
            "url" if is_module => judge.judge(Kind::Place, value),
            "branch" | "shallow" | "ignore" | "fetchrecursesubmodules"
                if is_module && LITERAL.is_match(value) =>
            {
                Ok(())
            }
            _ => Err(Reason("which is not a plain setting of a submodule")),
        };
    }
    if is_listed(path, keys) {
        let is_folder = keys.first().is_some_and(|key| key == "packages");
        let is_plain = FOLDERS.is_match(value) && !value.split('/').any(|name| name == "..");
        return if is_folder && is_plain { Ok(()) } else { judge.judge(Kind::Spec, value) };
    }
    if is_harmless(keys, value) {
        return Ok(());
    }
    let is_place = PLACES.contains(&key.as_str()) || key.starts_with('@') && key.ends_with(":registry");
    if is_place {
        let value = if path.to_lowercase().ends_with(".properties") {
            value.replace("\\:", ":")
        } else {
            value.clone()
        };
        judge.found.push(Address::of(&value)?);
        return Ok(());
    }
    Err(Reason("which is not known to be harmless"))
}

/// Checks that a setting that was an address does not become that of another place, even if it is known.
fn stays(before: &str, after: &str) -> Result<(), Reason> {
    let address = |value: &str| Address::of(&value.replace("\\:", ":")).ok();
    match (address(before), address(after)) {
        (Some(before), Some(after)) if !after.is_as(&before) => {
            Err(Reason("which would make packages come from elsewhere than before"))
        }
        _ => Ok(()),
    }
}

fn last(keys: &[String]) -> String {
    let is_number = |key: &&String| key.bytes().all(|byte| byte.is_ascii_digit());
    keys.iter().rev().find(|key| !is_number(key)).map(|key| key.to_lowercase()).unwrap_or_default()
}

fn is_harmless(keys: &[String], value: &str) -> bool {
    let key = last(keys);
    let is_known = HARMLESS.contains(&key.as_str())
        || key.starts_with("org.gradle.") && key.ends_with(".version")
        || keys.len() == 1 && keys.iter().all(|key| VERSION_KEY.is_match(key));
    is_known && LITERAL.is_match(value)
}

/// Returns whether a setting of pnpm's workspace is about what its manifests say as well.
fn is_listed(path: &str, keys: &[String]) -> bool {
    let lists: &[&str] = match &*name_of(path) {
        "pnpm-workspace.yaml" => &["packages", "catalog", "catalogs"],
        ".yarnrc.yml" => &["catalog", "catalogs"],
        _ => return false,
    };
    keys.first().is_some_and(|key| lists.contains(&key.as_str()))
}

fn is_code(path: &str) -> bool {
    let path = path.to_lowercase();
    let name = name_of(&path);
    let ends = [
        ".gradle",
        ".gradle.kts",
        ".cjs",
        ".mjs",
        ".config",
        "opts",
        ".tfrc",
        ".tofurc",
        ".terraformrc",
        "terraform.rc",
        "bazelrc",
    ];
    (ends.iter().any(|end| name.ends_with(end)) && name != "nuget.config")
        || matches!(name.as_str(), ".rprofile" | ".bazeliskrc")
}

/// Judges lines of programs and arguments: only those may change that are known to be harmless.
fn code(before: &str, after: &str) -> Result<(), RejectedRow> {
    let lines = |text: &str| -> Vec<String> {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !PLAIN_LINE.is_match(line));
        // Within another comment, or a text of several lines, it can be none.
        let has_plain_comments = !["/*", "*/", "`", "\"\"\"", "'''"].iter().any(|sign| text.contains(sign));
        let is_comment = |line: &&str| {
            has_plain_comments && (line.starts_with("//") || line.starts_with('#')) && !line.ends_with('\\')
        };
        lines.filter(|line| !is_comment(line)).map(str::to_owned).collect()
    };
    let (before, after) = (lines(before), lines(after));
    if before == after {
        return Ok(());
    }
    let had: HashSet<&String> = before.iter().collect();
    let new = after.iter().find(|line| !had.contains(line)).or_else(|| before.first());
    Err(RejectedRow {
        row: new.cloned().unwrap_or_default(),
        why: Reason("which is not known to be harmless"),
    })
}

/// Returns the settings of a file; `None` if they cannot be told for certain.
fn settings(path: &str, text: &str) -> Option<Vec<Setting>> {
    let name = name_of(path);
    let lower = path.to_lowercase();
    let format = match name.as_str() {
        ".condarc" | "condarc" | ".mambarc" | ".gemrc" => Format::Yaml,
        "config" if lower.ends_with(".bundle/config") => Format::Yaml,
        "config" if lower.ends_with(".cargo/config") => Format::Toml,
        "config" => Format::Json,
        "nuget.config" => return Some(flat(&xml(text)?)),
        name if name.rsplit('.').next() == Some("xml") => return Some(flat(&xml(text)?)),
        name => match Format::of(name) {
            Some(format) => format,
            None => return Some(lines(text, &name_of(path))),
        },
    };
    Some(flat(&plain_values(format, text)?))
}

fn flat(value: &Value) -> Vec<Setting> {
    fn walk(value: &Value, keys: &mut Vec<String>, found: &mut Vec<Setting>) {
        match value {
            Value::Object(entries) => {
                for (key, value) in entries {
                    keys.push(key.clone());
                    walk(value, keys, found);
                    keys.pop();
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    keys.push(index.to_string());
                    walk(item, keys, found);
                    keys.pop();
                }
            }
            Value::String(text) => found.push((keys.clone(), text.clone())),
            other => found.push((keys.clone(), other.to_string())),
        }
    }
    let mut found = Vec::new();
    walk(value, &mut Vec::new(), &mut found);
    found
}

/// Returns `key = value` of each line, below its section. What is none has a value alone.
fn lines(text: &str, name: &str) -> Vec<Setting> {
    let mut section: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if line.starts_with(['#', ';', '!']) {
            continue;
        }
        if SECTION.is_match(line) {
            section = vec![line.trim_matches(['[', ']']).to_owned()];
            continue;
        }
        if line.starts_with('[') {
            // Git reads a setting behind the name of the section.
            found.push((vec![line.to_owned()], line.to_owned()));
            continue;
        }
        let separator = if name == ".yarnrc" { ' ' } else { '=' };
        let (key, value) = line.split_once(separator).unwrap_or(("", line));
        let mut keys = section.clone();
        keys.push(key.trim().to_owned());
        found.push((keys, value.trim().to_owned()));
    }
    found
}
