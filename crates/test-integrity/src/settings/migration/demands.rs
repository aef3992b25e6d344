//! Demands of settings, in words that tools of one purpose have in common.

use super::super::flatten::Entry;
use super::super::general::{is_about_nothing, number};
use super::super::reading::{Reading, reading, severity};
use super::super::{MAXIMA, MILD, STRICT, exempts, is_minimum, is_on, is_rule, last};
use super::names::{bare_pattern, canonical};
use super::tools::Purpose;

/// One demand, or what takes from one.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Demand {
    /// A number that has to be reached.
    Floor(f64),
    /// A number that must not be passed.
    Ceiling(f64),
    /// A rule of a linter with its severity.
    Rule(usize),
    /// A rule that is off for some files only.
    OffForSome,
    /// A check that is on.
    Strict,
    /// Rules that are chosen by the beginning of their codes.
    Selected,
    /// What is not checked.
    LeftOut,
    /// A failure that does not count.
    Mild,
    /// A set of rules by its name.
    Preset,
}

/// Demand with where it is said.
#[derive(Clone, Debug)]
pub(super) struct Said {
    pub(super) demand: Demand,
    /// Name that tools have in common.
    pub(super) name: String,
    /// Name as it is written.
    pub(super) shown: String,
    pub(super) line: usize,
}

/// Returns what settings of one purpose demand.
pub(super) fn read(entries: &[&Entry], purpose: Purpose) -> Vec<Said> {
    let mut found = Vec::new();
    let mut module = String::new();
    for entry in entries {
        let own = last(&entry.key);
        let value = entry.value.trim_matches(['"', '\'', '[', ']', ' ']);
        // What mypy's sections are about stands in their names, or in a setting of theirs.
        if own == "module" {
            value.clone_into(&mut module);
        }
        let mut say = |demand: Demand, name: &str, shown: &str| {
            let name = match demand {
                Demand::LeftOut => bare_pattern(name),
                Demand::Selected | Demand::Preset => name.to_owned(),
                _ => canonical(name),
            };
            found.push(Said { demand, name, shown: shown.to_owned(), line: entry.line });
        };
        if is_of_options(&own) {
            // A list is read as one line, where it begins.
            let is_same = |other: &&&Entry| other.key == entry.key;
            let is_first = entries.iter().find(is_same).is_some_and(|first| std::ptr::eq(*first, *entry));
            if is_first {
                let all = entries.iter().filter(is_same).filter(|other| other.is_item == entry.is_item);
                let values: Vec<&str> =
                    all.map(|other| other.value.trim_matches(['"', '\'', '[', ']', ' '])).collect();
                options(&values.join(" "), &mut say);
            }
        } else if own == "filterwarnings" {
            if value == "error" || value.starts_with("error:") {
                say(Demand::Strict, &format!("filterwarnings {value}"), &format!("filterwarnings = {value}"));
            }
        } else if own == "extends" && purpose == Purpose::ScriptLint {
            say(Demand::Preset, value, value);
        } else if purpose == Purpose::ScriptLint && is_rule(&entry.key) {
            rule(entry, &mut say);
        } else if entry.is_item && is_selection(&own) {
            say(Demand::Selected, value, value);
        } else if own == "collectcoveragefrom" {
            // A list of what is looked at leaves something out as well: `['src/**', '!src/main.ts']`.
            let patterns = value.split([',', '[', ']']).map(|part| part.trim().trim_matches(['"', '\'']));
            for pattern in patterns.filter_map(|pattern| pattern.strip_prefix('!')) {
                say(Demand::LeftOut, pattern, pattern);
            }
        } else if exempts(&entry.key) {
            for pattern in left_out(entry, value) {
                say(Demand::LeftOut, &pattern, &pattern);
            }
        } else if own == "ignore_errors" && is_on(value) && purpose == Purpose::PythonTypes {
            let section = entry.key.trim_end_matches(".ignore_errors").trim_start_matches("mypy-");
            let what = if section.ends_with("overrides") { module.as_str() } else { section };
            say(Demand::LeftOut, &format!("errors of {what}"), what);
        } else if MILD.contains(&own.as_str()) && !entry.is_item {
            if is_on(value) {
                say(Demand::Mild, &own, &own);
            }
        } else if let Some(number) = number(value).filter(|_| !entry.is_item) {
            match reading(&entry.key) {
                // A score of all breaches is no coverage.
                _ if purpose == Purpose::PythonLint && own == "fail-under" => {}
                Some(Reading::Maximum) => say(Demand::Ceiling(number), &own, &own),
                _ if MAXIMA.contains(&own.as_str()) => say(Demand::Ceiling(number), &own, &own),
                Some(Reading::Minimum) => say(Demand::Floor(number), &own, &own),
                _ if is_minimum(&entry.key, &own) || is_of_coverage(&own, purpose) => {
                    say(Demand::Floor(number), &own, &own);
                }
                _ => {}
            }
        } else if STRICT.iter().any(|strict| own.contains(strict)) && is_on(value) {
            let name = if own == "typecheckingmode" { "strict" } else { own.as_str() };
            say(Demand::Strict, name, &own);
        }
    }
    found
}

/// Returns whether a number of a test runner is what has to be covered.
fn is_of_coverage(own: &str, purpose: Purpose) -> bool {
    purpose == Purpose::ScriptTests && matches!(own, "branches" | "functions" | "lines" | "statements")
}

/// Returns whether a setting holds options of a command line.
fn is_of_options(own: &str) -> bool {
    matches!(own, "addopts" | "pytest_addopts")
}

/// Returns whether a list is one of rules that are on.
fn is_selection(own: &str) -> bool {
    matches!(own, "select" | "extend-select" | "extend_select" | "enable_error_code")
}

/// Groups of Biome's rules.
const GROUPS: &[&str] =
    &["a11y", "complexity", "correctness", "nursery", "performance", "security", "style", "suspicious"];

/// Reads a rule of a linter: its severity, and a number that it must not pass.
fn rule(entry: &Entry, say: &mut impl FnMut(Demand, &str, &str)) {
    let (key, of_some) =
        entry.key.split_once(" of ").map_or((entry.key.as_str(), false), |(key, _)| (key, true));
    let path = key.rsplit_once("rules.").map_or(key, |(_, path)| path);
    let parts: Vec<&str> = path.split('.').collect();
    let of_files = of_some || key.contains("overrides.");
    let number = entry.value.parse::<f64>().ok();
    // Biome's rules are in groups; what is below a rule are its options.
    let (name, option) = match parts.as_slice() {
        [group, name, option @ ..] if GROUPS.contains(group) => {
            (*name, option.first().copied().unwrap_or_default())
        }
        [name, option @ ..] => (*name, option.first().copied().unwrap_or_default()),
        [] => return,
    };
    let is_level = matches!(option, "" | "level" | "severity");
    let is_limit = name.contains("max-") || name.to_lowercase().contains("complexity");
    if let Some(number) = number.filter(|_| is_limit && (entry.is_item || !is_level)) {
        say(Demand::Ceiling(number), name, name);
    } else if is_level && (!entry.is_item || number.is_none()) && !matches!(name, "recommended" | "all") {
        let level = match entry.value.as_str() {
            "true" | "on" => Some(2),
            "false" => Some(0),
            value => severity(value),
        };
        match level {
            Some(0) if of_files => say(Demand::OffForSome, name, name),
            Some(level) => say(Demand::Rule(level), name, name),
            None => {}
        }
    }
}

/// Reads the options that a runner is always called with.
fn options(text: &str, say: &mut impl FnMut(Demand, &str, &str)) {
    let text = text.replace(['"', '\'', ',', '[', ']'], " ").replace("-W error", "-Werror");
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let (name, given) = word.split_once('=').unwrap_or((word, ""));
        let mut value = given;
        if given.is_empty() && words.peek().is_some_and(|next| !next.starts_with('-')) {
            value = words.next().unwrap_or_default();
        }
        match name {
            "--cov-fail-under" | "--fail-under" => {
                if let Ok(number) = value.parse() {
                    say(Demand::Floor(number), name, name);
                }
            }
            "-Werror" => say(Demand::Strict, "filterwarnings error", word),
            "--strict" | "--strict-markers" | "--strict-config" | "--doctest-modules" => {
                say(Demand::Strict, name, name);
            }
            "-k" | "-m" | "--ignore" | "--ignore-glob" | "--deselect" => {
                say(Demand::LeftOut, value, &format!("{name} {value}"));
            }
            "--reruns" | "--lf" | "--last-failed" | "--no-cov" | "--suppress-no-test-exit-code" => {
                say(Demand::Mild, name, name);
            }
            _ => {}
        }
    }
}

/// Returns what an entry of a list leaves out. A table of files names them in its keys, or before a colon.
fn left_out(entry: &Entry, value: &str) -> Vec<String> {
    if value.is_empty() || is_about_nothing(value) {
        return Vec::new();
    }
    let table = ["per-file-ignores", "per_file_ignores"].iter().find_map(|table| {
        entry.key.split_once(table).map(|(_, file)| file.trim_matches(['.', '"', '\'']).to_owned())
    });
    match table {
        // The items alone hold no more than one code.
        Some(_) if !entry.is_item => Vec::new(),
        Some(file) => {
            let (file, codes) = value.split_once(':').unwrap_or((&file, value));
            codes
                .split([',', ' '])
                .filter(|code| !code.is_empty())
                .map(|code| format!("{code} in {file}"))
                .collect()
        }
        None if entry.is_item => vec![value.to_owned()],
        None => Vec::new(),
    }
}
