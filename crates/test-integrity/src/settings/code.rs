//! Settings in code, line by line, wherever they stand in it.

use std::sync::LazyLock;

use regex::Regex;

use super::flatten::Entry;
use super::reading::{Reading, reading};

/// Reads settings of code by lines: `minBound(80)`, `minimum_coverage 90`, `ignoreFailures = ci`, `threshold: 90`.
pub(super) fn flatten(text: &str) -> Vec<Entry> {
    static SET: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"^\s*(?:[\w.]+\.)?([A-Za-z_][\w-]*)\s*(?:[:?+]?=|:|\.set)\s*(\S.*?)\s*[;,]?$|\b([A-Za-z_]\w*)(?:\s+|\s*[(:=]\s*)(-?\d+(?:\.\d+)?%?|(?i:true|false))\b")
            .ok()
    });
    let Some(pattern) = SET.as_ref() else { return Vec::new() };
    let mut entries = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with(['#', '*'])
            || line.trim_start().starts_with("//")
            || line.starts_with('\t')
        {
            continue;
        }
        entries.extend(option(line, at + 1));
        for found in pattern.captures_iter(line) {
            let (name, value) =
                (found.get(1).or_else(|| found.get(3)), found.get(2).or_else(|| found.get(4)));
            let (Some(name), Some(value)) = (name, value) else { continue };
            let value = value.as_str().trim_matches(['"', '\'', '(', ')', ' ']).to_owned();
            if value.ends_with(['{', '[', '(']) {
                continue;
            }
            entries.push(Entry { key: name.as_str().to_owned(), value, line: at + 1, is_item: false });
        }
    }
    entries
}

/// Reads a line that is an option, `--fail-if-no-examples`, or a call that leaves something out, `config.filter_run_excluding :slow`.
fn option(line: &str, number: usize) -> Option<Entry> {
    let line = line.trim();
    let (name, value) = match line.strip_prefix("--") {
        Some(option) => option.split_once([' ', '=']).unwrap_or((option, "true")),
        None => line.split_once(' ').filter(|(name, value)| {
            let name = name.rsplit('.').next().unwrap_or(name);
            name.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
                && value.starts_with([':', '"', '\''])
                && reading(name) == Some(Reading::Mild)
        })?,
    };
    let name = name.rsplit('.').next().unwrap_or(name).to_owned();
    Some(Entry { key: name, value: value.trim().to_owned(), line: number, is_item: false })
}
