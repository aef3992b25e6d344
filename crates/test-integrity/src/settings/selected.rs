//! Rules that settings of linters put on, by name: what is exempt from one that was not on before loosens nothing.

use std::collections::BTreeSet;

use super::flatten::flatten;
use super::last;
use crate::Change;
use crate::files::{Format, Role};
use crate::finding::{Finding, Kind};

/// Rules that were on, and those that are.
#[derive(Default)]
pub(super) struct Selected {
    old: BTreeSet<String>,
    new: BTreeSet<String>,
}

impl Selected {
    pub(super) fn of(before: &str, after: &str, format: Format) -> Self {
        let selected = |text: &str| -> BTreeSet<String> {
            let is_selection =
                |key: &str| matches!(last(key).as_str(), "select" | "extend-select" | "enable");
            let all = flatten(text, format).into_iter().filter(|entry| entry.is_item);
            all.filter(|entry| is_selection(&entry.key)).map(|entry| entry.value).collect()
        };
        Self { old: selected(before), new: selected(after) }
    }

    /// Returns whether some were on, and more are now.
    pub(super) fn are_more(&self) -> bool {
        !self.old.is_empty() && self.new.difference(&self.old).next().is_some()
    }

    /// Returns whether a rule was on, or any of those that begin as it does.
    pub(super) fn was_on(&self, rule: &str) -> bool {
        let is_of =
            |known: &String| known == "ALL" || rule.starts_with(known.as_str()) || known.starts_with(rule);
        self.old.iter().any(is_of)
    }
}

/// Returns the lines of settings of golangci-lint that are about linters alone which were not on before.
pub(super) fn lines_of_new(before: &str, after: &str, format: Format) -> BTreeSet<usize> {
    let linters = Selected::of(before, after, format);
    if format != Format::Yaml || !linters.are_more() {
        return BTreeSet::new();
    }
    let is_new = |name: &str| linters.new.contains(name) && !linters.old.contains(name);
    let entries = flatten(after, format);
    let of_settings = entries.iter().filter(|entry| {
        entry.key.contains("settings.") && !entry.key.ends_with(".enable") && entry.key.split('.').any(is_new)
    });
    let mut found: BTreeSet<usize> = of_settings.map(|entry| entry.line).collect();
    // Each rule of a list of what is left out begins with a dash, as far to the right as the others.
    let lines: Vec<&str> = after.lines().collect();
    let indent = |line: &str| line.len() - line.trim_start().len();
    for start in (1..lines.len()).filter(|at| ["exclude-rules:", "rules:"].contains(&lines[at - 1].trim())) {
        let depth = indent(lines[start]);
        let within = lines[start..].iter().take_while(|line| {
            indent(line) > depth
                || indent(line) == depth && line.trim().starts_with(['-', '#'])
                || line.trim().is_empty()
        });
        let end = start + within.count();
        let starts: Vec<usize> = (start..end)
            .filter(|at| indent(lines[*at]) == depth && lines[*at].trim().starts_with('-'))
            .collect();
        for (place, from) in starts.iter().enumerate() {
            let rule = *from + 1..=starts.get(place + 1).copied().unwrap_or(end);
            let mut named = entries
                .iter()
                .filter(|entry| rule.contains(&entry.line) && last(&entry.key) == "linters")
                .map(|entry| entry.value.trim_matches(['[', ']', ' ']))
                .peekable();
            if named.peek().is_some() && named.all(is_new) {
                found.extend(rule);
            }
        }
    }
    found
}

/// Returns whether a comment exempts a line from rules alone that the change puts on: `# noqa: B006`.
pub(crate) fn is_of_new_rules(finding: &Finding, changes: &[Change<'_>]) -> bool {
    let is_code = |word: &&str| {
        word.starts_with(char::is_uppercase) && word.ends_with(|last: char| last.is_ascii_digit())
    };
    let codes = finding.message.split_once("noqa:").filter(|_| finding.kind == Kind::Exemption);
    let Some((_, codes)) = codes else { return false };
    let codes = codes.split('`').next().unwrap_or_default();
    let mut codes = codes.split([' ', ',']).filter(is_code).peekable();
    let settings: Vec<Selected> = changes
        .iter()
        .filter_map(|change| match (Role::of(change.path), change.before, change.after) {
            (Role::Settings(format), Some(before), Some(after)) => Some(Selected::of(before, after, format)),
            _ => None,
        })
        .collect();
    let is_new = |code: &str| settings.iter().any(|rules| rules.are_more() && !rules.was_on(code));
    codes.peek().is_some() && codes.all(is_new)
}
