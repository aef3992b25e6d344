//! Settings of tools that nothing else here knows, compared by what the words of their keys say.

use std::collections::{BTreeMap, BTreeSet};

use regex::Regex;

use super::flags::{lost_flags, lost_registrations};
use super::flatten::{Entry, flatten};
use super::reading::{Reading, badness, reading};
use super::{code, numbered, xml};
use crate::Change;
use crate::files::Format;
use crate::finding::{Finding, Kind};
use crate::syntax::words;

/// What is weaker: the line after the change, the kind, and a sentence.
pub(super) type Weaker = (usize, Kind, String);

/// Returns which settings are weaker than before.
pub(super) fn compare(before: &str, after: &str, format: Format) -> Vec<Weaker> {
    let (old, new) = (read(before, format), read(after, format));
    let (plain, now) = (numbered(&old), numbered(&new));
    let mut found = Vec::new();
    for ((key, number), entry) in &plain {
        let current = now.get(&(*key, *number)).or_else(|| only_moved(key, &plain, &now));
        if current.is_some_and(|current| current.value == entry.value) {
            continue;
        }
        if last(key) == "phase" && current.is_some_and(|current| current.value == "none") {
            found.push((
                current.map_or(1, |current| current.line),
                Kind::WeakerCheck,
                format!("it never runs: `{key}` is `none`"),
            ));
        }
        let Some(reading) = reading(key) else { continue };
        // A key that went elsewhere with its value still says it.
        let own = last(key);
        let is_kept = || {
            new.iter().any(|other| !other.is_item && last(&other.key) == own && other.value == entry.value)
        };
        if current.is_none() && is_kept() {
            continue;
        }
        // A variable of recipes that is gone is used no more; what used it is compared by itself.
        if current.is_none() && key.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') {
            continue;
        }
        if let Some((kind, what)) =
            looser(reading, &entry.value, current.map(|current| current.value.as_str()))
        {
            let message = match current {
                Some(current) => format!("{what}: `{key}` was `{}` and is `{}`", entry.value, current.value),
                None => format!("{what}: `{key}`, which was `{}`, is gone", entry.value),
            };
            found.push((current.map_or(1, |current| current.line), kind, message));
        }
    }
    for ((key, _), entry) in now.iter().filter(|(place, _)| !plain.contains_key(*place)) {
        if old.iter().any(|other| other.value == entry.value && last(&other.key) == last(key)) {
            continue;
        }
        if last(key) == "when"
            && matches!(entry.value.as_str(), "manual" | "never" | "on_failure" | "delayed")
        {
            found.push((
                entry.line,
                Kind::WeakerCheck,
                format!("it does not run by itself: `{key}` is `{}`", entry.value),
            ));
            continue;
        }
        let is_new_list = !old.iter().any(|other| other.key == **key);
        let what = match reading(key) {
            Some(Reading::Mild)
                if super::is_folder_of_packages(entry.value.trim_matches(['[', ']', '"', '\'', ' '])) =>
            {
                continue;
            }
            Some(Reading::Mild) if !is_off(&entry.value) && !is_about_nothing(last(key)) => {
                "less is checked, or a failure no longer counts"
            }
            Some(Reading::Effort) if number(&entry.value).is_some_and(|tries| tries <= 10.0) => {
                "less is tried"
            }
            Some(Reading::Maximum)
                if is_repeated(key) && number(&entry.value).is_some_and(|tries| tries > 0.0) =>
            {
                "what fails is run again"
            }
            Some(Reading::Strict) if is_false(&entry.value) => "a check is off",
            Some(Reading::Selection) if is_new_list && is_filter(key) => "only a part is run",
            _ => continue,
        };
        let kind = if what == "a check is off" { Kind::WeakerCheck } else { Kind::LooserRule };
        found.push((entry.line, kind, format!("{what}: `{key}` is `{}`", entry.value)));
    }
    found.extend(lists(&old, &new));
    found.extend(lost_flags(before, after));
    found.extend(lost_registrations(before, after));
    found
}

/// Returns the one new setting that has the last two names of a key in common: that of `linters-settings.gocyclo.min-complexity` is
/// `linters.settings.gocyclo.min-complexity` in another version of the tool.
fn only_moved<'e>(
    key: &str,
    old: &BTreeMap<(&str, usize), &Entry>,
    new: &'e BTreeMap<(&str, usize), &Entry>,
) -> Option<&'e &'e Entry> {
    let end = key.rmatch_indices('.').nth(1).map(|(at, _)| &key[at..])?;
    let mut others = new
        .iter()
        .filter(|((other, number), _)| other.ends_with(end) && !old.contains_key(&(*other, *number)));
    let (_, only) = others.next()?;
    others.next().is_none().then_some(only)
}

/// Returns what a file that prepares tests does to the settings in it, in languages without a grammar here.
pub(crate) fn of_helpers(change: &Change<'_>) -> Vec<Finding> {
    let (Some(before), Some(after)) = (change.before, change.after) else { return Vec::new() };
    let ((before, _), (after, _)) = (super::bounded(before), super::bounded(after));
    let found = compare(before, after, Format::Text).into_iter();
    found.map(|(line, kind, message)| Finding::new(change.path, line, kind, message)).collect()
}

/// Returns what lists of what is left out gained, and lists of what is checked lost.
fn lists(old: &[Entry], new: &[Entry]) -> Vec<Weaker> {
    let mut found = Vec::new();
    let items = |all: &[Entry]| -> BTreeSet<(String, String)> {
        all.iter()
            .filter(|entry| entry.is_item)
            .map(|entry| (entry.key.clone(), bare(&entry.value)))
            .collect()
    };
    let (known, now) = (items(old), items(new));
    let anywhere = |all: &[Entry], value: &str| all.iter().any(|entry| bare(&entry.value) == value);
    // What golangci-lint left out by itself, its second version leaves out by these.
    let is_next_version = |key: &str| {
        let has = |key: &str, value: &str| {
            old.iter().any(|entry| last(&entry.key) == key && bare(&entry.value) == value)
        };
        key.ends_with("exclusions.presets") && !has("version", "2") && !has("exclude-use-default", "false")
    };
    for entry in new.iter().filter(|entry| entry.is_item && !is_next_version(&entry.key)) {
        let value = bare(&entry.value);
        if known.contains(&(entry.key.clone(), value.clone())) || value.is_empty() || anywhere(old, &value) {
            continue;
        }
        let is_filter_of_breaches = reading(&entry.key) == Some(Reading::Selection)
            && words(&value)
                .iter()
                .any(|word| ["suppress", "ignore", "exclu"].iter().any(|part| word.starts_with(part)));
        if is_filter_of_breaches {
            found.push((entry.line, Kind::LooserRule, format!("breaches are left out by `{value}`")));
        } else if reading(&entry.key) == Some(Reading::Mild) && !is_about_nothing(&value) {
            found.push((entry.line, Kind::LooserRule, format!("`{}` leaves out `{value}`", entry.key)));
        } else if last(&entry.key) == "args" && !super::narrow::options("cargo nextest", &value).is_empty() {
            found.push((
                entry.line,
                Kind::WeakerCheck,
                format!("a check is told to leave something out: `{value}`"),
            ));
        } else if is_filter(&entry.key) && !known.iter().any(|(key, _)| *key == entry.key) {
            found.push((
                entry.line,
                Kind::LooserRule,
                format!("only a part is run: `{}` names `{value}`", entry.key),
            ));
        }
    }
    for (key, value) in known.difference(&now) {
        // These are compared by the beginnings of their rules.
        if matches!(last(key), "select" | "extend-select" | "extend_select" | "enable" | "extend-enable") {
            continue;
        }
        let is_kept = new.iter().any(|entry| bare(&entry.value) == *value && last(&entry.key) == last(key));
        if reading(key) == Some(Reading::Selection) && !is_kept && !is_renamed(key, &known, &now) {
            let line = new.iter().find(|entry| entry.key == *key).map_or(1, |entry| entry.line);
            found.push((line, Kind::LooserRule, format!("`{key}` no longer names `{value}`")));
        }
    }
    found
}

/// Returns whether a list has as many items as before, so that one of them may only have another name.
fn is_renamed(key: &str, known: &BTreeSet<(String, String)>, now: &BTreeSet<(String, String)>) -> bool {
    let count = |all: &BTreeSet<(String, String)>| all.iter().filter(|(other, _)| other == key).count();
    // A file or package of another name may be another one.
    let is_of_places = words(last(key)).iter().any(|word| {
        matches!(
            word.as_str(),
            "package"
                | "packages"
                | "class"
                | "classes"
                | "directory"
                | "tests"
                | "include"
                | "includes"
                | "goal"
        )
    });
    count(now) >= count(known) && !is_of_places
}

/// Returns how a setting is weaker; `None` as what it is now means that it is gone.
fn looser(reading: Reading, old: &str, now: Option<&str>) -> Option<(Kind, &'static str)> {
    let (was, is) = (number(old), now.and_then(number));
    match reading {
        Reading::Minimum | Reading::Effort => {
            let lower = was
                .filter(|was| *was > 0.0)
                .is_some_and(|was| is.map_or(now.is_none_or(is_off), |is| is < was));
            lower.then_some((Kind::LowerThreshold, "a threshold is lower"))
        }
        Reading::Maximum => {
            let higher = was.is_some_and(|was| is.is_some_and(|is| is > was || is < 0.0 && was >= 0.0));
            higher.then_some((Kind::LowerThreshold, "a limit is higher"))
        }
        Reading::Strict => {
            (is_true(old) && now.is_none_or(is_false)).then_some((Kind::LooserRule, "a check is off"))
        }
        Reading::Mild => {
            let grows = now
                .is_some_and(|now| !is_off(now) && (is_off(old) || now.contains(old) || is_wider(old, now)));
            grows.then_some((Kind::LooserRule, "less is checked, or a failure no longer counts"))
        }
        Reading::Bar => {
            let higher = badness(old).zip(now.and_then(badness)).is_some_and(|(was, is)| is > was);
            higher.then_some((Kind::LooserRule, "only worse breaches fail"))
        }
        Reading::Severity => {
            let milder = badness(old).zip(now.and_then(badness)).is_some_and(|(was, is)| is < was);
            milder.then_some((Kind::LooserRule, "a rule is milder"))
        }
        Reading::Selection => None,
    }
}

/// Returns whether a pattern of files fits all that another one fits: `**/*.java` and `**/Main.java`.
fn is_wider(old: &str, now: &str) -> bool {
    let pattern = now.split('*').map(regex::escape).collect::<Vec<_>>().join(".*");
    now.contains('*')
        && now != old
        && now.len() < 200
        && Regex::new(&format!("^{pattern}$")).is_ok_and(|wide| wide.is_match(old))
}

/// Returns the settings of a text.
fn read(text: &str, format: Format) -> Vec<Entry> {
    let mut entries = if format == Format::Text {
        xml::flatten(text).unwrap_or_else(|| code::flatten(text))
    } else {
        flatten(text, format)
    };
    entries.truncate(super::MAX_ENTRIES);
    entries
}

fn last(key: &str) -> &str {
    key.rsplit('.').next().unwrap_or(key)
}

fn bare(value: &str) -> String {
    value.trim_matches(['"', '\'', ' ', '[', ']', ',']).to_owned()
}

/// Returns the number of a value, with a unit or without; that of tries in a table of them.
pub(super) fn number(value: &str) -> Option<f64> {
    let count = value.split_once("count").map(|(_, rest)| rest.trim_start_matches([' ', '=', ':']));
    let text = count.unwrap_or(value).trim_start_matches(['"', '\'', '(', '>', '=', ' ']);
    if let Ok(whole) = text.trim_end_matches(['"', '\'', '%', ',', ')', ' ']).parse() {
        return Some(whole);
    }
    let end = text
        .find(|letter: char| !(letter.is_ascii_digit() || matches!(letter, '.' | '-' | '_')))
        .unwrap_or(text.len());
    text[..end].replace('_', "").parse().ok()
}

fn is_true(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "true" | "yes" | "on" | "1" | "enable" | "strict" | "always"
    )
}

fn is_false(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "false" | "no" | "off" | "0" | "disable" | "never" | "none")
}

fn is_off(value: &str) -> bool {
    is_false(value) || matches!(value, "" | "[]" | "{}" | "null" | "~" | "\"\"" | "[ ]")
}

/// Returns whether a key is that of how often what fails is run again.
fn is_repeated(key: &str) -> bool {
    words(last(key)).iter().any(|word| word.starts_with("retr") || word.starts_with("rerun"))
}

/// Returns whether a key chooses what is run, so that what it did not name before is left out.
fn is_filter(key: &str) -> bool {
    let own = words(last(key));
    let is_one = |known: &[&str]| own.iter().any(|word| known.contains(&word.as_str()));
    // Images and releases have tags as well.
    // The name of a package's script says when it runs: `prepublishOnly`; that of a lint, what it finds.
    if key.starts_with("scripts.") || key.contains("lints.") {
        return false;
    }
    let of_tests = !["push", "with.", "overrides", "images"].iter().any(|part| key.contains(part));
    is_one(&["only", "filter", "filters", "grep"]) && !key.contains("overrides")
        || is_one(&["groups", "tags", "tag"]) && of_tests
}

/// Returns whether what is left out is none of a project's own code.
pub(super) fn is_about_nothing(value: &str) -> bool {
    [
        "node_modules",
        "vendor",
        "dist",
        "build",
        "target",
        "coverage",
        ".git",
        "generated",
        "third_party",
        ".venv",
    ]
    .iter()
    .any(|name| value.contains(name))
        || [".md", ".txt", ".lock", ".svg"].iter().any(|end| value.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_weaker_by_their_words() {
        for (before, after, is_weaker) in [
            ("threshold:\n  total: 80\n", "threshold:\n  total: 20\n", true),
            ("threshold:\n  total: 80\n", "threshold:\n  total: 90\n", false),
            ("limits:\n  max-warnings: 3\n", "limits:\n  max-warnings: 30\n", true),
            ("run:\n  fail-on-empty: true\n", "run:\n", true),
            ("run:\n  fail-fast: true\n", "run:\n", false),
            ("run:\n  jobs: 2\n", "run:\n  jobs: 2\n  retries: 3\n", true),
            ("run:\n  jobs: 2\n", "run:\n  jobs: 2\n  default-filter: not slow\n", true),
            ("skip:\n  - vendor\n", "skip:\n  - vendor\n  - src/app\n", true),
            ("run:\n  jobs: 2\n", "run:\n  jobs: 2\n  allow-failures: true\n", true),
        ] {
            assert_eq!(!compare(before, after, Format::Yaml).is_empty(), is_weaker, "{before} {after}");
        }
        assert!(!compare("minimum_coverage 90\n", "minimum_coverage 40\n", Format::Text).is_empty());
        assert!(!compare("  a = 1\n", "  a = 1\n  ignoreFailures = ci != null\n", Format::Text).is_empty());
        assert!(is_wider("**/Main.java", "**/*.java"));
        assert!(!is_wider("**/*.java", "**/Main.java"));
    }
}
