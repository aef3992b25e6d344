//! Settings of test runners, linters, type checkers and CI: what they demand, before and after. It uses [`crate::files`] and
//! [`crate::syntax`], and knows nothing of tests.

mod actions;
mod cargo;
mod check;
mod code;
mod commands;
mod elsewhere;
mod flags;
mod flatten;
mod general;
mod goals;
mod hooks;
mod inputs;
mod keys;
mod lists;
mod matrix;
mod migration;
mod narrow;
mod numbers;
mod options;
pub(crate) mod packages;
mod parts;
mod patterns;
pub(crate) mod places;
mod purposes;
mod reading;
mod recipes;
mod script;
pub(crate) mod selected;
mod shell;
mod signs;
mod steps;
mod tree;
mod variables;
mod workflow;
mod xml;

use std::collections::{BTreeMap, HashSet};

use crate::Change;
use crate::files::{Format, file_name};
use crate::finding::{Finding, Kind};
pub(crate) use elsewhere::Settled;
use flatten::{Entry, flatten};
pub(crate) use general::of_helpers;
use keys::{EXEMPTIONS, MAXIMA, MILD, MINIMA, STRICT};
pub(crate) use migration::Migrations;
use reading::severity;

/// Size of a file of settings, in bytes, up to which it is looked at.
const MAX_TEXT: usize = 1 << 20;
/// Number of settings, and of checks, of a file that are compared.
const MAX_ENTRIES: usize = 20_000;
const MAX_CHECKS: usize = 4_000;

/// Returns the beginning of a text that is looked at, and whether that is less than all of it.
fn bounded(text: &str) -> (&str, bool) {
    let end = text.floor_char_boundary(MAX_TEXT);
    (&text[..end], end < text.len())
}

/// Returns what is found in a file that is too large for all of it to be compared.
fn too_large(path: &str) -> Finding {
    let message = format!("`{}` is too large for all of its settings to be compared", file_name(path));
    Finding::new(path, 1, Kind::WeakerCheck, message)
}

/// Returns how a file of settings is weaker than before.
pub(crate) fn compare(change: &Change<'_>, format: Format) -> Vec<Finding> {
    let Some(before) = change.before else {
        return cargo::compare(change.path, "", change.after.unwrap_or_default());
    };
    let Some(after) = change.after else {
        let checks = !commands::checks(before, format).is_empty();
        let rules = || flatten(before, format).iter().any(is_demand);
        let kind = if checks { Some(Kind::WeakerCheck) } else { rules().then_some(Kind::LooserRule) };
        let message = format!("`{}`, which configures checks, is gone", file_name(change.path));
        return kind.map(|kind| Finding::new(change.path, 1, kind, message)).into_iter().collect();
    };
    let ((before, _), (after, is_cut)) = (bounded(before), bounded(after));
    let mut findings = commands::compare(change.path, before, after, format);
    findings.extend(cargo::compare(change.path, before, after));
    findings.extend(signs::compare(change.path, before, after));
    findings.extend(workflow::compare(change.path, before, after));
    findings.extend(recipes::compare(change.path, before, after));
    findings.extend(lists::compare(change.path, before, after, format));
    findings.extend(steps::compare(change.path, before, after, format));
    let scripts = script::flatten(change.path, before).zip(script::flatten(change.path, after));
    let (mut old, mut new) = scripts.unwrap_or_else(|| (flatten(before, format), flatten(after, format)));
    findings.extend((is_cut || new.len() > MAX_ENTRIES).then(|| too_large(change.path)));
    old.truncate(MAX_ENTRIES);
    new.truncate(MAX_ENTRIES);
    let mut report = |line: usize, kind: Kind, message: String| {
        findings.push(Finding::new(change.path, line, kind, message));
    };

    let (known, by_key) = (numbered(&old), numbered(&new));
    for (key, entry) in &known {
        let now = by_key.get(key).copied();
        let own = last(&entry.key);
        let is_moved = || new.iter().any(|other| other.value == entry.value && last(&other.key) == own);
        let is_succeeded = || {
            is_rule(&entry.key)
                && new.iter().any(|other| {
                    is_rule(&other.key)
                        && migration::is_same_rule(&other.key, &entry.key)
                        && severity(&other.value) >= severity(&entry.value)
                })
        };
        if now.is_none() && (is_moved() || is_succeeded()) {
            continue;
        }
        if let Some((kind, what)) = looser(entry, now.map(|now| now.value.as_str())) {
            let line = now.map_or(1, |now| now.line);
            let message = match now {
                Some(now) => format!("{what}: `{}` was `{}` and is `{}`", entry.key, entry.value, now.value),
                None => format!("{what}: `{}`, which was `{}`, is gone", entry.key, entry.value),
            };
            report(line, kind, message);
        }
    }
    for (_, entry) in by_key.iter().filter(|(key, _)| !known.contains_key(*key)) {
        if let Some((kind, message)) = of_new(entry) {
            report(entry.line, kind, message);
        }
    }
    for (line, message) in options::compare(&old, &new).into_iter().chain(patterns::compare(&old, &new)) {
        report(line, Kind::LooserRule, message);
    }
    let known: HashSet<(&str, &str)> =
        old.iter().filter(|known| known.is_item).map(|known| (&*known.key, &*known.value)).collect();
    for entry in new.iter().filter(|entry| entry.is_item && exempts(&entry.key)) {
        if !known.contains(&(&*entry.key, &*entry.value)) && !is_folder_of_packages(&entry.value) {
            report(
                entry.line,
                Kind::LooserRule,
                format!("`{}` exempts `{}` from a check", entry.key, entry.value),
            );
        }
    }
    if let Some((line, message)) = options::overridden(&old, &new) {
        findings.push(Finding::new(change.path, line, Kind::LooserRule, message));
    }
    let told: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    let variables = variables::compare(change.path, before, after).into_iter();
    findings.extend(variables.filter(|finding| finding.line == 1 || !told.contains(&finding.line)));
    let told: Vec<usize> = findings.iter().map(|finding| finding.line).collect();
    let general =
        general::compare(before, after, format).into_iter().filter(|(line, ..)| !told.contains(line));
    findings.extend(general.map(|(line, kind, message)| Finding::new(change.path, line, kind, message)));
    let mut met = std::collections::BTreeSet::new();
    findings.retain(|finding| met.insert((finding.line, finding.kind)));
    // What a hook does not do that was not there before, nobody did.
    let of_new_hooks = hooks::lines_of_new(change.path, before, after);
    let of_new_linters = selected::lines_of_new(before, after, format);
    findings
        .retain(|finding| !of_new_hooks.contains(&finding.line) && !of_new_linters.contains(&finding.line));
    findings
}

/// Returns what a setting that was not there before makes weaker.
fn of_new(entry: &Entry) -> Option<(Kind, String)> {
    let (key, value) = (&entry.key, &entry.value);
    let last = last(key);
    let is_mild =
        MILD.iter().any(|mild| last == *mild) && is_on(value) || is_maximum_of_failures(&last, value);
    if is_mild {
        return Some((Kind::WeakerCheck, format!("a failure no longer counts: `{key}` is `{value}`")));
    }
    if last == "ignore_missing_imports" && is_on(value) {
        return Some((Kind::LooserRule, format!("what is imported is not checked: `{key}` is `{value}`")));
    }
    if is_rule(key) && severity(value) == Some(0) {
        return Some((Kind::LooserRule, format!("a rule is off: `{key}` is `{value}`")));
    }
    let never = last == "if" && matches!(value.as_str(), "false" | "${{ false }}");
    never.then(|| (Kind::WeakerCheck, format!("`{key}` never runs: its condition is `{value}`")))
}

/// Returns what a script that is run by CI or people does to the checks in it.
pub(crate) fn scripts(change: &Change<'_>) -> Vec<Finding> {
    let (Some(before), Some(after)) = (change.before, change.after) else { return Vec::new() };
    let ((before, _), (after, _)) = (bounded(before), bounded(after));
    let mut findings = commands::compare(change.path, before, after, Format::Text);
    findings.extend(variables::compare(change.path, before, after));
    findings
}

/// Returns whether a setting demands something of tests or code.
fn is_demand(entry: &Entry) -> bool {
    let key = last(&entry.key);
    is_minimum(&entry.key, &key)
        || MAXIMA.contains(&key.as_str())
        || STRICT.iter().any(|strict| key.contains(strict))
        || is_rule(&entry.key) && severity(&entry.value) != Some(0)
}

/// Returns the settings that are not items of lists, by key and by how often the key was met before.
fn numbered(entries: &[Entry]) -> BTreeMap<(&str, usize), &Entry> {
    let mut met: BTreeMap<&str, usize> = BTreeMap::new();
    let plain = entries.iter().filter(|entry| !entry.is_item);
    plain
        .map(|entry| {
            let number = met.entry(&entry.key).or_default();
            *number += 1;
            ((entry.key.as_str(), *number), entry)
        })
        .collect()
}

/// Returns how a setting is weaker than before; `None` as what it is now means that it is gone.
fn looser(before: &Entry, now: Option<&str>) -> Option<(Kind, &'static str)> {
    let key = last(&before.key);
    let number = |text: &str| text.trim_end_matches(['%', ',']).trim().parse::<f64>().ok();
    if now == Some(before.value.as_str()) {
        return None;
    }
    if is_minimum(&before.key, &key)
        && reading::reading(&before.key) != Some(reading::Reading::Maximum)
        && let Some(old) = number(&before.value)
    {
        let lower = now.is_none_or(|now| number(now).is_none_or(|now| now < old));
        return (lower && old > 0.0).then_some((Kind::LowerThreshold, "a threshold is lower"));
    }
    if MAXIMA.contains(&key.as_str())
        && let Some(old) = number(&before.value)
    {
        let higher = now.is_none_or(|now| number(now).is_none_or(|now| now > old));
        return higher.then_some((Kind::LowerThreshold, "a limit is higher"));
    }
    if MILD.contains(&key.as_str()) {
        return now
            .filter(|now| is_on(now) && !is_on(&before.value))
            .map(|_| (Kind::WeakerCheck, "a failure no longer counts"));
    }
    if key == "if" && now.is_some_and(|now| matches!(now, "false" | "${{ false }}")) {
        return Some((Kind::WeakerCheck, "it never runs"));
    }
    if STRICT.iter().any(|strict| key.contains(strict)) && is_on(&before.value) && !now.is_some_and(is_on) {
        return Some((Kind::LooserRule, "a check is off"));
    }
    if is_rule(&before.key)
        && let (Some(old), new) = (severity(&before.value), now.and_then(severity))
        && old > 0
        && now.is_none_or(|_| new.is_some_and(|new| new < old))
    {
        return Some((Kind::LooserRule, "a rule is milder"));
    }
    None
}

/// Returns whether a key is that of a minimum. Words such as `lines` are so only beside others of coverage.
fn is_minimum(key: &str, last: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let is_common = matches!(
        last,
        "branches"
            | "functions"
            | "lines"
            | "statements"
            | "target"
            | "threshold"
            | "minimum"
            | "break"
            | "global"
    );
    let of_coverage = ["cover", "threshold", "nyc", "c8", "project", "patch", "stryker", "check", "jacoco"]
        .iter()
        .any(|word| lower.contains(word));
    MINIMA.contains(&last) && (!is_common || of_coverage)
}

/// Returns whether a key is that of a rule of a linter, which has a severity.
fn is_rule(key: &str) -> bool {
    key.split('.').any(|part| matches!(part, "rules" | "lints" | "lints.rust" | "lints.clippy"))
        || key.contains("lints.")
}

fn is_maximum_of_failures(last: &str, value: &str) -> bool {
    last == "max-warnings" && value.parse::<f64>().is_ok_and(|value| value < 0.0)
}

/// Returns whether a list is one of what is not checked.
fn exempts(key: &str) -> bool {
    if key.contains("dependencies") {
        return false;
    }
    // Those of a table have the files as keys, which may hold dots.
    if ["per-file-ignores.", "per_file_ignores."].iter().any(|table| key.contains(table)) {
        return true;
    }
    let key = last(key);
    EXEMPTIONS.contains(&key.as_str()) || key.starts_with("reportoff")
}

/// Returns whether a pattern is that of the folder of installed packages, which holds no tests of the project's own.
fn is_folder_of_packages(pattern: &str) -> bool {
    pattern.trim_matches(['/', '*', '<', '>']).trim_start_matches("rootDir>/") == "node_modules"
}

fn is_on(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1" | "strict" | "${{ true }}")
}

/// Returns the last part of a key in small letters.
fn last(key: &str) -> String {
    key.rsplit('.').next().unwrap_or(key).to_ascii_lowercase()
}
