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
