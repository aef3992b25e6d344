//! Configurations of linters that are code, read by the grammar: rules, and what is left out.

use super::flatten::Entry;
use crate::files::Language;
use crate::syntax::{At, parse};

/// Returns the settings of a configuration; `None` if it is none of a linter's, or cannot be parsed.
pub(super) fn flatten(path: &str, text: &str) -> Option<Vec<Entry>> {
    let name = crate::files::file_name(path);
    let is_code = Language::of(path) == Some(Language::EcmaScript);
    let tree = (is_code && name.contains("eslint")).then(|| parse(text, Language::EcmaScript))??;
    let mut entries = Vec::new();
    for at in At::root(&tree, text).descendants() {
        let Some((name, value)) = pair(at).or_else(|| given(at)) else { continue };
        match name {
            "rules" => rules(value, &mut entries),
            "extends" => {
                let sets = value.children().into_iter().chain([value]).filter(|set| set.kind() == "string");
                entries.extend(sets.map(|set| entry("extends", set, true)));
            }
            "ignores" | "ignorePatterns" | "globalIgnores" => {
                let items = value.children().into_iter().filter(|item| item.kind() == "string");
                entries.extend(items.map(|item| entry("ignores", item, true)));
            }
            _ => {}
        }
    }
    Some(entries)
}

/// Returns the name and value of a pair of an object.
fn pair(at: At<'_>) -> Option<(&str, At<'_>)> {
    let key = at.field("key").filter(|_| at.kind() == "pair")?;
    Some((key.text().trim_matches(['"', '\'']), at.field("value")?))
}

/// Returns the name of a function that is called, and what it is given first.
fn given(at: At<'_>) -> Option<(&str, At<'_>)> {
    let name = at.field("function").filter(|_| at.kind() == "call_expression")?;
    Some((name.text(), at.field("arguments")?.children().first().copied()?))
}

/// Adds the rules of an object. One that is off for some files is so for these alone.
fn rules(at: At<'_>, entries: &mut Vec<Entry>) {
    let block = at.node.parent().and_then(|pair| pair.parent()).map(|block| at.with(block));
    let files = block.and_then(|block| {
        block.children().into_iter().find_map(|child| pair(child).filter(|(name, _)| *name == "files"))
    });
    for rule in at.children() {
        let Some((name, value)) = pair(rule) else { continue };
        // A rule with options is a list that begins with its severity.
        let level =
            if value.kind() == "array" { value.children().first().copied().unwrap_or(value) } else { value };
        let mut found = entry(&format!("rules.{name}"), level, false);
        if let Some((_, files)) = files.filter(|_| super::severity(&found.value) == Some(0)) {
            found.key = format!("{} of {}", found.key, files.text());
        }
        entries.push(found);
        for option in value.children().into_iter().skip(1).filter(|_| value.kind() == "array") {
            if option.kind() == "number" {
                entries.push(entry(&format!("rules.{name}"), option, true));
            }
            let pairs = option.children().into_iter().filter_map(pair);
            let limits = pairs.filter(|(_, limit)| limit.kind() == "number");
            entries.extend(limits.map(|(key, limit)| entry(&format!("rules.{name}.{key}"), limit, false)));
        }
    }
}

fn entry(key: &str, at: At<'_>, is_item: bool) -> Entry {
    let value = at.text().trim_matches(['"', '\'', '`']).to_owned();
    Entry { key: key.to_owned(), value, line: at.line(), is_item }
}
