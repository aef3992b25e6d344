//! Settings of any format as one list of keys and values.
//!
//! Files of settings are read line by line where their format allows: a broken file still shows what it says, and each
//! value has a line. Nothing here decides what a tool would do with a file.

use std::collections::HashMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::files::Format;

/// One setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// Key with those that it is in, joined by dots.
    pub(super) key: String,
    pub(super) value: String,
    /// Line, from 1.
    pub(super) line: usize,
    /// Whether it is one of a list.
    pub(super) is_item: bool,
}

/// Length of a key, in bytes, up to which it counts: many settings below one long name must not multiply it.
const MAX_KEY: usize = 256;
/// Length of one name in a key, likewise.
const MAX_NAME: usize = 128;
/// Number of groups of code, one in the other, whose names are parts of keys.
const MAX_DEPTH: usize = 64;
/// Number of bytes that are searched for the lines of values.
const MAX_SEARCHED: usize = 256 << 20;

/// Returns the settings of a file.
pub(super) fn flatten(text: &str, format: Format) -> Vec<Entry> {
    match format {
        Format::Sections => sections(text),
        Format::Json => json(text),
        Format::Yaml => yaml(text),
        Format::Text => code(text),
    }
}

fn entry(key: &str, value: &str, line: usize, is_item: bool) -> Entry {
    let value = value.trim().trim_end_matches(',').trim_matches(['"', '\'']).trim();
    Entry { key: end_of(key).to_owned(), value: value.to_owned(), line, is_item }
}

/// Returns the end of a key, which says the most about the setting.
fn end_of(key: &str) -> &str {
    &key[key.ceil_char_boundary(key.len().saturating_sub(MAX_KEY))..]
}

/// Returns the beginning of a name.
fn start_of(name: &str) -> &str {
    &name[..name.floor_char_boundary(MAX_NAME)]
}

/// Reads INI and TOML: `[section]`, `key = value`, and lists over several lines.
fn sections(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut section = String::new();
    let mut list: Option<String> = None;
    for (at, raw) in text.lines().enumerate() {
        let line = at + 1;
        let content = raw.split(" #").next().unwrap_or(raw).trim();
        if content.is_empty() || content.starts_with(['#', ';']) {
            continue;
        }
        let is_header = content.starts_with('[')
            && content.ends_with(']')
            && !raw.starts_with([' ', '\t'])
            && !content.contains(',');
        if is_header && list.as_ref().is_none_or(|key| !key.starts_with('[')) {
            start_of(content.trim_matches(['[', ']']).trim()).clone_into(&mut section);
            list = None;
            continue;
        }
        let is_continued = raw.starts_with([' ', '\t'])
            || content.starts_with(']')
            || list.as_ref().is_some_and(|key| key.starts_with('['));
        if let Some(key) = list.clone().filter(|_| is_continued) {
            items(key.trim_start_matches('['), content, line, &mut entries);
            if content.ends_with(']') {
                list = None;
            }
            continue;
        }
        let Some((key, value)) = content.split_once('=').or_else(|| content.split_once(':')) else {
            continue;
        };
        let key = format!("{section}.{}", start_of(key.trim().trim_matches(['"', '\''])));
        let value = value.trim();
        if value.starts_with('[') && !value.ends_with(']') {
            items(&key, value, line, &mut entries);
            list = Some(format!("[{key}"));
        } else if value.starts_with('[') {
            items(&key, value, line, &mut entries);
            list = None;
        } else if value.starts_with('{') {
            let level = value
                .split_once("level")
                .map(|(_, rest)| rest.trim_start_matches([' ', '=']).split([',', '}']).next().unwrap_or(""));
            entries.push(entry(&key, level.unwrap_or(value), line, false));
        } else {
            entries.push(entry(&key, value, line, false));
            items(&key, value, line, &mut entries);
            list = Some(key);
        }
    }
    entries
}

/// Adds the parts of a list, separated by commas or blanks.
fn items(key: &str, text: &str, line: usize, entries: &mut Vec<Entry>) {
    let parts = text.trim_matches(['[', ']', ' ']).split([',', '\n']);
    let parts = parts.map(str::trim).filter(|part| !part.is_empty() && *part != "]");
    entries.extend(parts.map(|part| entry(key, part, line, true)));
}

/// Reads JSON; the line of a value is the first that names its key behind that of the one before.
fn json(text: &str) -> Vec<Entry> {
    static COMMENT: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"("(?:[^"\\]|\\.)*")|//[^\n]*|/\*[\s\S]*?\*/|,(\s*[}\]])"#).ok());
    let plain = COMMENT.as_ref().map_or_else(|| text.into(), |pattern| pattern.replace_all(text, "$1$2"));
    let Ok(value) = serde_json::from_str::<Value>(&plain) else { return code(text) };
    let mut entries = Vec::new();
    let mut waiting = vec![(String::new(), &value, false)];
    while let Some((key, value, is_item)) = waiting.pop() {
        let below = |name: &str| {
            let name = start_of(name);
            if key.is_empty() { name.to_owned() } else { end_of(&format!("{key}.{name}")).to_owned() }
        };
        match value {
            Value::Object(map) => {
                waiting.extend(map.iter().rev().map(|(name, value)| (below(name), value, false)));
            }
            Value::Array(list) => {
                // A rule with options is a list that begins with its severity.
                if let Some(first) = list.first().filter(|_| key.contains("rules.")) {
                    waiting.push((key.clone(), first, false));
                }
                waiting.extend(list.iter().rev().map(|value| (key.clone(), value, true)));
            }
            Value::String(text) => entries.push(Entry { key, value: text.clone(), line: 0, is_item }),
            Value::Null => {}
            other => entries.push(Entry { key, value: other.to_string(), line: 0, is_item }),
        }
    }
    let starts: Vec<usize> =
        std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    let mut lines: HashMap<String, usize> = HashMap::new();
    let mut left = MAX_SEARCHED;
    for entry in &mut entries {
        let name = entry.key.rsplit('.').next().unwrap_or(&entry.key);
        let quoted = serde_json::to_string(if entry.is_item { entry.value.as_str() } else { name })
            .unwrap_or_default();
        entry.line = lines.get(&quoted).copied().unwrap_or_else(|| {
            let found = (left > 0).then(|| text.find(&quoted)).flatten();
            left = left.saturating_sub(found.unwrap_or(text.len()));
            found.map_or(1, |at| starts.partition_point(|start| *start <= at))
        });
        lines.insert(quoted, entry.line);
    }
    entries
}

/// Reads YAML by indentation: keys, values and lists, which is all that settings of CI and linters consist of.
fn yaml(text: &str) -> Vec<Entry> {
    let mut entries = Vec::new();
    let mut path: Vec<(usize, String)> = Vec::new();
    let mut count = 0_usize;
    for (at, raw) in text.lines().enumerate() {
        let content = raw.split(" #").next().unwrap_or(raw).trim_end();
        let mut rest = content.trim_start();
        if rest.is_empty() || rest.starts_with('#') || rest == "---" {
            continue;
        }
        let mut indent = content.len() - rest.len();
        let mut is_item = false;
        while let Some(inner) = rest.strip_prefix("- ") {
            path.retain(|(depth, _)| *depth <= indent);
            path.retain(|(depth, name)| *depth < indent + 1 || !name.is_empty());
            count += 1;
            is_item = true;
            indent += rest.len() - inner.trim_start().len();
            rest = inner.trim_start();
        }
        path.retain(|(depth, _)| *depth < indent);
        let names = |path: &[(usize, String)]| {
            path.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(".")
        };
        match rest.split_once(": ").or_else(|| rest.strip_suffix(':').map(|key| (key, ""))) {
            Some((key, value)) if !key.contains(' ') || key.starts_with(['"', '\'']) => {
                let key = start_of(key.trim_matches(['"', '\''])).to_owned();
                let full = [names(&path), key.clone()]
                    .iter()
                    .filter(|part| !part.is_empty())
                    .cloned()
                    .collect::<Vec<_>>()
                    .join(".");
                if value.is_empty() || value.starts_with('|') || value.starts_with('>') {
                    path.push((indent, key));
                } else if value.starts_with('[') {
                    if full.contains("rules.") {
                        entries.push(entry(
                            &full,
                            value.trim_matches(['[', ']']).split(',').next().unwrap_or(""),
                            at + 1,
                            false,
                        ));
                    }
                    items(&full, value, at + 1, &mut entries);
                } else {
                    // What is in a list is distinguished by its place.
                    let in_list = is_item
                        || path.iter().any(|(_, name)| name == "steps" || name == "repos" || name == "hooks");
                    let full = if in_list && matches!(key.as_str(), "if" | "continue-on-error") {
                        format!("{full}#{count}")
                    } else {
                        full
                    };
                    entries.push(entry(&full.replace('#', "."), value, at + 1, false));
                }
            }
            _ => entries.push(entry(&names(&path), rest.trim_start_matches("- "), at + 1, true)),
        }
    }
    // A step's number is the last part of its key, and says nothing about it.
    for entry in &mut entries {
        if let Some((key, number)) = entry.key.rsplit_once('.')
            && number.chars().all(|digit| digit.is_ascii_digit())
        {
            entry.key = key.to_owned();
        }
    }
    entries
}

/// Reads `key: value` and `<key>value</key>` wherever they stand in code.
fn code(text: &str) -> Vec<Entry> {
    static PAIR: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"["']?([@\w/-]+)["']?\s*[:=]\s*\[?\s*("[^"]*"|'[^']*'|true|false|-?[\d.]+)|<([\w.]+)>\s*([^<\s]+)\s*</"#).ok()
    });
    let Some(pattern) = PAIR.as_ref() else { return Vec::new() };
    let mut entries = Vec::new();
    let mut groups: Vec<&str> = Vec::new();
    // Number of groups that are open in the innermost one of those.
    let mut deeper = 0_usize;
    // Brackets in elements are those of ranges of versions, not of lists.
    let is_xml = text.trim_start().starts_with('<');
    for (at, line) in text.lines().enumerate() {
        let content = line.split(" //").next().unwrap_or(line);
        if content.trim_start().starts_with("//") || content.trim_start().starts_with('#') {
            continue;
        }
        for found in pattern.captures_iter(content) {
            let name = found.get(1).or_else(|| found.get(3)).map_or("", |name| name.as_str());
            let value = found.get(2).or_else(|| found.get(4)).map_or("", |value| value.as_str());
            // Elements of XML that hold a minimum are those of coverage.
            let of_element = found.get(3).map(|_| "check");
            let groups = groups.iter().copied();
            let key = groups.chain(of_element).chain([start_of(name)]).collect::<Vec<_>>().join(".");
            entries.push(entry(&key, value, at + 1, false));
        }
        if is_xml {
            continue;
        }
        let opened = content.matches(['{', '[']).count();
        let closed = content.matches(['}', ']']).count();
        if opened > closed {
            let name =
                content.trim().split([':', '=', '(', ' ']).next().unwrap_or("").trim_matches(['"', '\'']);
            let more = (opened - closed).min(MAX_DEPTH.saturating_sub(groups.len()));
            groups.extend(std::iter::repeat_n(start_of(name), more));
            deeper += opened - closed - more;
        } else {
            let of_deeper = deeper.min(closed - opened);
            deeper -= of_deeper;
            groups.truncate(groups.len().saturating_sub(closed - opened - of_deeper));
        }
        let list = groups.last().map_or_else(String::new, |name| (*name).to_owned());
        if super::exempts(&list) || super::exempts(content.trim().split([':', '=']).next().unwrap_or("")) {
            let inner = content.split_once('[').map_or(content, |(_, inner)| inner);
            let key = if opened == closed && opened > 0 {
                content.trim().split([':', '=']).next().unwrap_or("").to_owned()
            } else {
                list
            };
            items(&key, inner.trim().trim_end_matches([']', ',', '}']), at + 1, &mut entries);
        }
    }
    entries
}
