//! Finds new rows of a lock file, and judges them.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::addresses::Address;
use super::checksums;
use super::formats::{self, Writing};
use super::rejection::{Reason, RejectedRow};
use super::shapes::Judge;
use super::text_kind::Kind;
use super::values::values;

/// Judges what a file has that it did not have before.
pub(super) fn judge(path: &str, before: &str, after: &str, judge: &mut Judge) -> Result<(), RejectedRow> {
    let name = formats::name_of(path);
    let writing = formats::writing(path, after);
    if is_requirements(&name) {
        return super::requirements::judge(path, before, after, judge);
    }
    if writing == Writing::Lines && name != "yarn.lock" {
        return super::lines::judge(&name, before, after, judge);
    }
    let after = values(path, after).ok_or_else(|| {
        RejectedRow::new(
            "values",
            Reason("which programs could read differently (twice the same key, a reference, a fault)"),
        )
    })?;
    let before = values(path, before).unwrap_or(Value::Null);
    let weakest = checksums::weakest(&before);
    let mut rows = Rows { name: &name, judge, had: HashSet::new(), weakest, is_lenient: false };
    remember(&before, &mut Vec::new(), &mut rows.had);
    rows.walk(Some(&before), &after, &mut Vec::new())
}

/// Returns whether a lock file is written as lists of Python's packages are.
fn is_requirements(name: &str) -> bool {
    matches!(name, "requirements.lock" | "requirements-dev.lock")
}

/// Returns the addresses that a lock file names.
pub(super) fn addresses(path: &str, text: &str) -> Vec<Address> {
    if is_requirements(&formats::name_of(path)) {
        return super::requirements::addresses(text);
    }
    if let Some(values) = values(path, text) {
        return addresses_of(path, &values, Vec::new());
    }
    let mut judge = Judge::of(path);
    super::lines::each(&formats::name_of(path), text, &mut judge);
    judge.found
}

/// Returns the addresses that the value at some keys names.
pub(super) fn addresses_of(path: &str, value: &Value, mut keys: Vec<String>) -> Vec<Address> {
    let (name, mut judge) = (formats::name_of(path), Judge::of(path));
    let mut rows =
        Rows { name: &name, judge: &mut judge, had: HashSet::new(), weakest: None, is_lenient: true };
    // What is not accepted does not end it.
    drop(rows.walk(None, value, &mut keys));
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

/// Keys of what says what has to be fetched.
const CHECKSUMS: [&str; 6] = ["integrity", "checksum", "hash", "hashes", "sha256", "narHash"];

const UNCHECKED: Reason = Reason("without which anything could be fetched");

/// Keys that a package has, and what holds packages has not.
const PACKAGE: [&str; 7] = ["version", "name", "resolution", "resolved", "source", "url", "file"];

/// Returns the item of a list that was there before for the same thing: that of the same name and version, or else of the same name.
fn same_item<'v>(before: &'v [Value], item: &Value) -> Option<&'v Value> {
    let key =
        ["name", "url", "file", "identity", "package"].into_iter().find(|key| item.get(key).is_some())?;
    let is_same = |key: &str, had: &&Value| had.get(key) == item.get(key);
    let mut named = before.iter().filter(|had| is_same(key, had));
    let first = named.clone().next();
    named.find(|had| is_same("version", had)).or(first)
}

/// Returns the entry that was there before for the same package, whatever its version was.
fn same_package<'v>(before: &'v Value, key: &str) -> Option<&'v Value> {
    let entries = before.as_object().filter(|_| package_of(key) != key)?;
    entries.iter().find(|(had, _)| package_of(had) == package_of(key)).map(|(_, value)| value)
}

/// Rows of a file that are new.
struct Rows<'a> {
    name: &'a str,
    judge: &'a mut Judge,
    had: HashSet<(String, String)>,
    /// Length in bits of the shortest checksum that the file had.
    weakest: Option<usize>,
    /// Whether what is not accepted does not end the walk.
    is_lenient: bool,
}

impl Rows<'_> {
    fn walk(
        &mut self,
        before: Option<&Value>,
        after: &Value,
        keys: &mut Vec<String>,
    ) -> Result<(), RejectedRow> {
        if before == Some(after) {
            return Ok(());
        }
        match after {
            Value::String(text) => {
                self.checksum(before.and_then(Value::as_str), text, keys)?;
                self.text(text, keys)
            }
            Value::Array(items) => {
                let before = before.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
                let known: HashSet<String> = before.iter().map(Value::to_string).collect();
                for (index, item) in
                    items.iter().enumerate().filter(|(_, item)| !known.contains(&item.to_string()))
                {
                    keys.push(index.to_string());
                    self.walk(same_item(before, item), item, keys)?;
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
                        _ => self.walk(known.or_else(|| same_package(before?, key)), value, keys)?,
                    }
                    keys.pop();
                }
                let lost = CHECKSUMS.iter().find(|key| {
                    before.is_some_and(|before| before.get(**key).is_some()) && !entries.contains_key(**key)
                });
                let is_link = entries.get("link") == Some(&Value::Bool(true));
                if let Some(key) = lost.filter(|_| !is_link) {
                    return Err(RejectedRow::new(key_row(keys, key), UNCHECKED));
                }
                let is_package = !keys.is_empty() && PACKAGE.iter().any(|key| entries.contains_key(*key));
                let had = before.is_some_and(|before| checksums::weakest(before).is_some());
                if is_package && !is_link && had && checksums::weakest(after).is_none() {
                    return Err(RejectedRow::new(row(keys, "no checksum"), UNCHECKED));
                }
                Ok(())
            }
            Value::Bool(false) if keys.last().is_some_and(|key| key == "verify_ssl") => Err(
                RejectedRow::new("verify_ssl = false", Reason("which lets others change what is fetched")),
            ),
            _ => Ok(()),
        }
    }

    /// Returns what the text or the keys at some keys are.
    fn kind(&self, keys: &[String], text: &str) -> Kind {
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        formats::kind(self.name, &keys, text)
    }

    /// Judges whether a checksum is as good as the one that was there before or, if it is new, as others of the file are.
    fn checksum(&self, before: Option<&str>, text: &str, keys: &[String]) -> Result<(), RejectedRow> {
        let least = before.and_then(|before| checksums::strength(keys, before)).or(self.weakest);
        match checksums::strength(keys, text) {
            Some(bits) if !self.is_lenient && least.is_some_and(|least| bits < least) => {
                let why =
                    Reason("which is a weaker checksum than there was, so something else could be fetched");
                Err(RejectedRow::new(row(keys, text), why))
            }
            _ => Ok(()),
        }
    }

    fn text(&mut self, text: &str, keys: &[String]) -> Result<(), RejectedRow> {
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

    fn check(&mut self, kind: Kind, text: &str, row: &str) -> Result<(), RejectedRow> {
        let judged = self.judge.judge(kind, text);
        if self.is_lenient {
            return Ok(());
        }
        judged.map_err(|why| RejectedRow::new(row, why))
    }

    /// Judges the addresses that Nix and R give in parts.
    fn parts(&mut self, entries: &Map<String, Value>, keys: &[String]) -> Result<(), RejectedRow> {
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

/// Returns the name of the package that a key is for: without the folder above, and without its version.
pub(super) fn package_of(key: &str) -> &str {
    let name = key.rsplit("node_modules/").next().unwrap_or(key).trim_start_matches('/');
    let end = name.char_indices().skip(1).find(|(_, letter)| *letter == '@').map_or(name.len(), |(at, _)| at);
    &name[..end]
}
