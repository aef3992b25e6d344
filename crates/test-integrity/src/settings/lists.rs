//! Lists of what checks leave out, in files of their own and in lists of rules, and words by which a pipeline goes on after a failure.

use std::collections::BTreeMap;

use super::flatten::flatten;
use super::last;
use crate::files::{Format, extension, file_name, is_list};
use crate::finding::{Finding, Kind, short};

/// Words by which a pipeline goes on after a failure.
const GOING_ON: &[&str] = &["catchError", "warnError", "returnStatus: true", "propagate: false"];

/// Returns what a change of a file of settings newly leaves out, or goes on after.
pub(super) fn compare(path: &str, before: &str, after: &str, format: Format) -> Vec<Finding> {
    let mut findings = going_on(path, before, after);
    findings.extend(negated(path, before, after, format));
    findings.extend(warnings(path, before, after, format));
    if is_list(path) && file_name(path) != "staticcheck.conf" {
        findings.extend(added(path, before, after));
    }
    findings
}

/// Returns the lines that a list of what is left out gained. Where one took another's place, it counts if it fits more.
fn added(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let is_entry = |line: &&str| {
        !line.is_empty()
            && !line.starts_with(['#', ';'])
            && !line.starts_with("</")
            && !line.starts_with("<!")
    };
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in before.lines().map(str::trim).filter(is_entry) {
        *known.entry(line).or_default() += 1;
    }
    let mut new = Vec::new();
    for (at, line) in after.lines().map(str::trim).enumerate().filter(|(_, line)| is_entry(line)) {
        match known.get_mut(line).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => new.push((at + 1, line)),
        }
    }
    let gone: usize = known.values().sum();
    let patterns = |text: &str| text.matches('*').count();
    let is_wider = new.iter().map(|(_, line)| patterns(line)).sum::<usize>()
        > known.iter().filter(|(_, count)| **count > 0).map(|(line, _)| patterns(line)).sum::<usize>();
    let first = new.iter().find(|(_, line)| !is_wider || line.contains('*')).or_else(|| new.first());
    let found = first.filter(|_| new.len() > gone || is_wider);
    let finding = |(line, text): &(usize, &str)| {
        Finding::new(path, *line, Kind::LooserRule, format!("more is left out of a check: `{}`", short(text)))
    };
    found.map(finding).into_iter().collect()
}

/// Returns the rules that a list of rules newly takes away: `-SA1000`.
fn negated(path: &str, before: &str, after: &str, format: Format) -> Vec<Finding> {
    let read = |text: &str| -> Vec<(usize, String)> {
        let items = flatten(text, format).into_iter().filter(|entry| entry.is_item);
        let of_rules = items
            .filter(|entry| matches!(last(&entry.key).as_str(), "checks" | "rules" | "enable" | "lints"));
        let bare = of_rules.map(|entry| (entry.line, entry.value.trim_matches(['"', '\'']).to_owned()));
        bare.filter(|(_, value)| value.starts_with('-') && !value.starts_with("--")).collect()
    };
    let known = read(before);
    let is_new = |(_, value): &(usize, String)| known.iter().all(|(_, other)| other != value);
    let found = read(after).into_iter().filter(is_new);
    found
        .map(|(line, value)| Finding::new(path, line, Kind::LooserRule, format!("a rule is off: `{value}`")))
        .collect()
}

/// Returns whether warnings are errors no longer.
fn warnings(path: &str, before: &str, after: &str, format: Format) -> Option<Finding> {
    let read = |text: &str| -> Vec<(usize, String)> {
        let all = flatten(text, format).into_iter().filter(|entry| last(&entry.key) == "filterwarnings");
        all.map(|entry| (entry.line, entry.value.trim_matches(['[', ']', '"', '\'', ' ']).to_owned()))
            .collect()
    };
    let is_error = |(_, value): &(usize, String)| value == "error" || value.starts_with("error:");
    let (old, new) = (read(before), read(after));
    let gone = old
        .iter()
        .filter(|one| is_error(one))
        .find(|(_, value)| new.iter().all(|(_, other)| other != value))?;
    if new.iter().any(|one| one.1 == "error") {
        return None;
    }
    let line = new.first().map_or(1, |(line, _)| *line);
    Some(Finding::new(path, line, Kind::LooserRule, format!("warnings no longer fail: `{}` is gone", gone.1)))
}

/// Returns the words by which a pipeline newly goes on after a failure.
fn going_on(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let is_pipeline =
        file_name(path).starts_with("Jenkinsfile") || matches!(extension(path), "groovy" | "gradle" | "kts");
    if !is_pipeline {
        return Vec::new();
    }
    let found = GOING_ON.iter().filter(|word| after.matches(**word).count() > before.matches(**word).count());
    found
        .map(|word| {
            let line = after.lines().position(|line| line.contains(word)).map_or(1, |at| at + 1);
            Finding::new(path, line, Kind::WeakerCheck, format!("a failure no longer counts: `{word}`"))
        })
        .collect()
}
