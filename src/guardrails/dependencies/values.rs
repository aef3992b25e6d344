//! Values of a lock file or of settings, read so that no program could read them differently.

use manifest::Format;
use roxmltree::Document;
use serde_json::{Map, Value};

use super::formats::{self, Writing};

/// Deepest nesting of brackets that is parsed.
const MAX_NESTING: usize = 200;

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
