//! Settings in XML as a list of keys and values: texts of elements, attributes, and elements that say a name and a value.

use std::sync::LazyLock;

use regex::Regex;

use super::flatten::Entry;

/// Deepest element whose name is part of a key.
const MAX_DEPTH: usize = 24;

/// Reads the elements of a text that begins with one; `None` if it does not.
pub(super) fn flatten(text: &str) -> Option<Vec<Entry>> {
    static PART: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"<!--[\s\S]*?-->|<\?[^>]*>|<!\[CDATA\[|<(/?)([\w:.-]+)([^<>]*)>|([^<>]+)").ok()
    });
    static ATTRIBUTE: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"([\w:.-]+)\s*=\s*["']([^"']*)["']"#).ok());
    let (part, attribute) = (PART.as_ref()?, ATTRIBUTE.as_ref()?);
    if !text.trim_start().starts_with('<') {
        return None;
    }
    let mut entries = Vec::new();
    let mut open: Vec<String> = Vec::new();
    let (mut line, mut read) = (1, 0);
    for found in part.captures_iter(text) {
        let start = found.get(0).map_or(0, |whole| whole.start());
        line += text[read..start].matches('\n').count();
        read = start;
        let entry = |open: &[String], own: &str, value: &str, is_item: bool| {
            let above = &open[open.len().saturating_sub(MAX_DEPTH)..];
            let key = above
                .iter()
                .map(String::as_str)
                .chain([own].into_iter().filter(|own| !own.is_empty()))
                .collect::<Vec<_>>()
                .join(".");
            Entry { key, value: value.trim().to_owned(), line, is_item }
        };
        if let Some(text) = found.get(4).map(|text| text.as_str().trim()).filter(|text| !text.is_empty()) {
            // What an element of a list is called says nothing; it is one of what the list is called.
            let in_list = is_item(&open);
            // What a plugin is told is told to that plugin.
            if open.last().is_some_and(|name| name == "artifactId")
                && let Some(plugin) = open
                    .iter_mut()
                    .rev()
                    .nth(1)
                    .filter(|name| matches!(name.as_str(), "plugin" | "dependency"))
            {
                *plugin = format!("{plugin} {}", text.replace('.', "-"));
                let own = entry(&open[..open.len().saturating_sub(2)], "plugins", text, true);
                entries.push(own);
                continue;
            }
            entries.push(entry(&open, "", text, in_list));
            continue;
        }
        let Some(name) = found.get(2).map(|name| name.as_str().replace('.', "-")) else { continue };
        if &found[1] == "/" {
            if let Some(at) = open.iter().rposition(|other| other.split(' ').next() == Some(&name)) {
                open.truncate(at);
            }
            continue;
        }
        let given: Vec<(&str, &str)> = attribute
            .captures_iter(&found[3])
            .map(|one| (one.get(1).map_or("", |at| at.as_str()), one.get(2).map_or("", |at| at.as_str())))
            .collect();
        let of = |wanted: &str| given.iter().find(|(name, _)| *name == wanted).map(|(_, value)| *value);
        match (of("name"), of("value").or_else(|| of("ref"))) {
            (Some(own), Some(value)) => entries.push(entry(&open, own, value, false)),
            // `<module name="UnusedImports">` is one of the modules.
            (Some(own), None) => entries.push(entry(&open, &name, own, true)),
            _ => {}
        }
        let is_named = of("name").is_some();
        let below: Vec<String> = open
            .iter()
            .cloned()
            .chain([of("name").map_or(name.clone(), |own| format!("{name} {own}"))])
            .collect();
        for (own, value) in given.iter().filter(|(own, _)| {
            !matches!(*own, "name" | "value" | "xmlns" | "id") || !is_named && *own == "id"
        }) {
            entries.push(entry(&below, own, value, false));
        }
        if !found[3].ends_with('/') {
            open = below;
        }
    }
    Some(entries)
}

/// Returns whether the innermost element is one of a list.
fn is_item(open: &[String]) -> bool {
    const ITEMS: &[&str] = &[
        "include",
        "exclude",
        "module",
        "goal",
        "group",
        "tag",
        "directory",
        "file",
        "arg",
        "compilerArg",
        "rule",
        "NoWarn",
    ];
    open.last().is_some_and(|name| {
        let above = open.iter().rev().nth(1);
        ITEMS.contains(&name.as_str()) || above.is_some_and(|above| *above == format!("{name}s"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_settings() {
        let text = "<project>\n<plugin><artifactId>jacoco</artifactId><minimum>0.8</minimum></plugin>\n<module name=\"A\"><property name=\"max\" value=\"60\"/></module>\n<includes><include>**/*IT</include></includes>\n<phpunit failOnRisky=\"true\"/></project>";
        let entries = flatten(text).expect("elements");
        let has =
            |key: &str, value: &str| entries.iter().any(|entry| entry.key == key && entry.value == value);
        assert!(has("project.plugin jacoco.minimum", "0.8"));
        assert!(has("project.module A.max", "60"));
        assert!(has("project.module", "A"));
        assert!(has("project.includes.include", "**/*IT"));
        assert!(has("project.phpunit.failOnRisky", "true"));
        assert_eq!(entries.iter().find(|entry| entry.value == "60").map(|entry| entry.line), Some(3));
        assert_eq!(flatten("a = 1"), None);
    }
}
