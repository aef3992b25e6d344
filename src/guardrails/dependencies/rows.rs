//! What is new in a lock file, and whether it may be.

use std::collections::HashSet;

use manifest::Format;
use roxmltree::Document;
use serde_json::{Map, Value};

use super::addresses::{Address, Odd};
use super::formats::{self, Writing};
use super::shapes::{Judge, Kind};

/// Deepest nesting of brackets that is parsed.
const MAX_NESTING: usize = 200;

/// Row that is not accepted, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Refused {
    pub(super) row: String,
    pub(super) why: Odd,
}

impl Refused {
    fn of(row: &str, why: Odd) -> Self {
        Self { row: row.to_owned(), why }
    }
}

/// Returns the values of a file; `None` if programs could read them differently.
pub(super) fn values(path: &str, text: &str) -> Option<Value> {
    match formats::writing(path, text) {
        Writing::Values(format) => plain_values(format, text),
        Writing::Xml => xml(text),
        Writing::Lines if formats::name_of(path) == "yarn.lock" => yarn(text),
        Writing::Lines => None,
    }
}

/// Returns the values of a text without anything in it that stands for what is elsewhere.
pub(super) fn plain_values(format: Format, text: &str) -> Option<Value> {
    if is_deep(text) || format == Format::Yaml && manifest::has_references(text) {
        return None;
    }
    if text.trim().is_empty() {
        return Some(Value::Object(Map::new()));
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

/// Returns elements of XML as values: `name attribute` is the key of an attribute.
pub(super) fn xml(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    // Entities, which could stand for anything, are not read.
    let document = Document::parse(text).ok()?;
    let mut rows = Vec::new();
    for node in document.descendants().filter(roxmltree::Node::is_element) {
        let above: Vec<&str> =
            node.ancestors().filter(roxmltree::Node::is_element).map(|node| node.tag_name().name()).collect();
        let above = above.into_iter().rev().collect::<Vec<_>>().join("/");
        let own: String =
            node.children().filter_map(|child| child.text().filter(|_| child.is_text())).collect();
        let mut row = Map::new();
        row.insert("element".to_owned(), above.into());
        for attribute in node.attributes() {
            row.insert(attribute.name().to_owned(), attribute.value().into());
        }
        for namespace in node.namespaces().filter(|space| space.name() != Some("xml")) {
            row.insert(format!("xmlns {}", namespace.name().unwrap_or_default()), namespace.uri().into());
        }
        if !own.trim().is_empty() {
            row.insert("text".to_owned(), own.trim().into());
        }
        rows.push(Value::Object(row));
    }
    Some(Value::Array(rows))
}

/// Returns the values of a lock file of Yarn 1: `key value`, and what is further to the right below `key:`.
fn yarn(text: &str) -> Option<Value> {
    let mut packages = Map::new();
    let (mut package, mut list) = (String::new(), String::new());
    for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#')) {
        let indentation = line.len() - line.trim_start_matches(' ').len();
        let words = words(line.trim())?;
        match (indentation, words.as_slice()) {
            (0, [.., last]) if last == ":" => {
                package = words[..words.len() - 1].join(" ");
                if packages.insert(package.clone(), Value::Object(Map::new())).is_some() {
                    return None;
                }
            }
            (2, [key, colon]) if colon == ":" => list.clone_from(key),
            (2, [key, value]) => {
                let fields = packages.get_mut(&package)?.as_object_mut()?;
                if fields.insert(key.clone(), value.clone().into()).is_some() {
                    return None;
                }
            }
            (4, [name, range]) => {
                let fields = packages.get_mut(&package)?.as_object_mut()?;
                let names = fields.entry(list.clone()).or_insert_with(|| Value::Object(Map::new()));
                names.as_object_mut()?.insert(name.clone(), range.clone().into());
            }
            _ => return None,
        }
    }
    Some(Value::Object(packages))
}

/// Returns the words of a line of Yarn, without quotes; a colon at its end is a word.
fn words(line: &str) -> Option<Vec<String>> {
    let (mut words, mut rest) = (Vec::new(), line);
    while !rest.is_empty() {
        if let Some(quoted) = rest.strip_prefix('"') {
            let (word, behind) = quoted.split_once('"')?;
            if word.contains('\\') || !behind.is_empty() && !behind.starts_with([' ', ',', ':']) {
                return None;
            }
            words.push(word.to_owned());
            rest = behind;
        } else if rest == ":" {
            words.push(":".to_owned());
            break;
        } else {
            let end = rest.find(' ').unwrap_or(rest.len());
            let (word, behind) = rest.split_at(end);
            let is_last = behind.is_empty() && word.ends_with(':');
            let word = if is_last { &word[..word.len() - 1] } else { word };
            if word.contains(['"', '\\']) {
                return None;
            }
            words.push(word.to_owned());
            rest = if is_last { ":" } else { behind };
        }
        rest = rest.trim_start_matches([',', ' ']);
    }
    Some(words)
}

/// Judges what a file has that it did not have before.
pub(super) fn judge(path: &str, before: &str, after: &str, judge: &mut Judge) -> Result<(), Refused> {
    let name = formats::name_of(path);
    let writing = formats::writing(path, after);
    if writing == Writing::Lines && name != "yarn.lock" {
        return super::lines::judge(&name, before, after, judge);
    }
    let after = values(path, after).ok_or_else(|| {
        Refused::of(
            "values",
            "which programs could read differently (twice the same key, a reference, a fault)",
        )
    })?;
    let before = values(path, before).unwrap_or(Value::Null);
    let mut rows = Rows { name: &name, judge, had: HashSet::new(), is_lenient: false };
    remember(&before, &mut Vec::new(), &mut rows.had);
    rows.walk(Some(&before), &after, &mut Vec::new())
}

/// Returns the addresses that a lock file names.
pub(super) fn addresses(path: &str, text: &str) -> Vec<Address> {
    let mut judge = Judge::of(path);
    match values(path, text) {
        Some(values) => {
            let name = formats::name_of(path);
            let mut rows = Rows { name: &name, judge: &mut judge, had: HashSet::new(), is_lenient: true };
            drop(rows.walk(None, &values, &mut Vec::new()));
        }
        None => super::lines::each(&formats::name_of(path), text, &mut judge),
    }
    judge.found
}

/// Adds all texts, with the keys that lead to them, of whatever item of a list.
fn remember(value: &Value, keys: &mut Vec<String>, had: &mut HashSet<(String, String)>) {
    match value {
        Value::String(text) => drop(had.insert((keys.join("\0"), text.clone()))),
        Value::Array(items) => items.iter().for_each(|item| {
            keys.push("0".to_owned());
            remember(item, keys, had);
            keys.pop();
        }),
        Value::Object(entries) => {
            for (key, value) in entries {
                keys.push(key.clone());
                remember(value, keys, had);
                keys.pop();
            }
        }
        _ => {}
    }
}

/// Rows of a file that are new.
struct Rows<'a> {
    name: &'a str,
    judge: &'a mut Judge,
    had: HashSet<(String, String)>,
    /// Whether what is not accepted does not end the walk.
    is_lenient: bool,
}

impl Rows<'_> {
    fn walk(&mut self, before: Option<&Value>, after: &Value, keys: &mut Vec<String>) -> Result<(), Refused> {
        if before == Some(after) {
            return Ok(());
        }
        match after {
            Value::String(text) => self.text(text, keys),
            Value::Array(items) => {
                let before = before.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let known: HashSet<String> = before.iter().map(Value::to_string).collect();
                for (index, item) in
                    items.iter().enumerate().filter(|(_, item)| !known.contains(&item.to_string()))
                {
                    keys.push(index.to_string());
                    self.walk(None, item, keys)?;
                    keys.pop();
                }
                Ok(())
            }
            Value::Object(entries) => {
                self.parts(entries, keys)?;
                for (key, value) in entries {
                    let known = before.and_then(|before| before.get(key));
                    if known.is_none() {
                        let kind = formats::kind_of_names(self.name, keys);
                        self.check(kind, key, &key_row(keys, key))?;
                    }
                    // A path of the checkout, and nothing that is fetched.
                    let is_link = self.name != "yarn.lock" && entries.get("link") == Some(&Value::Bool(true));
                    keys.push(key.clone());
                    match value {
                        Value::String(text) if key == "resolved" && is_link => {
                            self.check(Kind::Path, text, &row(keys, text))?;
                        }
                        Value::String(text) if key == "resolved" => {
                            self.check(self.kind(keys, text), text, &row(keys, text))?;
                        }
                        _ => self.walk(known, value, keys)?,
                    }
                    keys.pop();
                }
                Ok(())
            }
            Value::Bool(false) if keys.last().is_some_and(|key| key == "verify_ssl") => {
                Err(Refused::of("verify_ssl = false", "which lets others change what is fetched"))
            }
            _ => Ok(()),
        }
    }

    /// Returns what the text or the keys at some keys are.
    fn kind(&self, keys: &[String], text: &str) -> Kind {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        formats::kind(self.name, &keys, text)
    }

    fn text(&mut self, text: &str, keys: &[String]) -> Result<(), Refused> {
        let is_number = |key: &String| !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
        let any: Vec<&str> = keys.iter().map(|key| if is_number(key) { "0" } else { key.as_str() }).collect();
        if self.had.contains(&(any.join("\0"), text.to_owned())) {
            return Ok(());
        }
        // Paths of a package in a workspace begin in its folder.
        let kind = self.kind(keys, text);
        let folders =
            keys.iter().filter(|key| !key.contains(['@', ':'])).map(|key| key.matches('/').count() + 1);
        let more = if kind == Kind::Spec { folders.filter(|count| *count > 1).max().unwrap_or(0) } else { 0 };
        self.judge.levels += more;
        let checked = self.check(kind, text, &row(keys, text));
        self.judge.levels -= more;
        checked
    }

    fn check(&mut self, kind: Kind, text: &str, row: &str) -> Result<(), Refused> {
        let judged = self.judge.judge(kind, text);
        if self.is_lenient {
            return Ok(());
        }
        judged.map_err(|why| Refused { row: row.to_owned(), why })
    }

    /// Judges the addresses that Nix and R give in parts.
    fn parts(&mut self, entries: &Map<String, Value>, keys: &[String]) -> Result<(), Refused> {
        let text = |key: &str| entries.get(key).and_then(Value::as_str);
        let place = match (text("type"), text("owner"), text("RemoteUsername")) {
            (Some(kind), Some(owner), _) => {
                let usual = match kind {
                    "gitlab" => "gitlab.com",
                    "sourcehut" => "git.sr.ht",
                    _ => "github.com",
                };
                Some((text("host").unwrap_or(usual), owner))
            }
            (_, _, Some(owner)) => Some((text("RemoteHost").unwrap_or("github.com"), owner)),
            _ => None,
        };
        let Some((host, owner)) = place else { return Ok(()) };
        let host = if host == "api.github.com" { "github.com" } else { host };
        let address = format!("https://{host}/{owner}/-");
        self.check(Kind::Place, &address, &row(keys, &address))
    }
}

fn row(keys: &[String], text: &str) -> String {
    format!("{}: {text}", keys.join("."))
}

fn key_row(keys: &[String], key: &str) -> String {
    if keys.is_empty() { key.to_owned() } else { format!("{}.{key}", keys.join(".")) }
}
