//! Lists of what is checked, and options that a runner is always called with.

use std::collections::BTreeSet;

use super::flatten::Entry;
use super::last;

/// Keys of lists of rules that are on.
const SELECTIONS: &[&str] =
    &["select", "extend-select", "extend_select", "enable", "enable_error_code", "extend-enable"];
/// Keys of options.
const OPTIONS: &[&str] = &["addopts", "pytest_addopts"];
/// Options, by their beginnings, that make a run stricter.
const STRICT: &[&str] =
    &["--strict", "-Werror", "--cov-fail-under", "--max-warnings", "--fail-on", "--doctest-modules"];
/// Options, by their beginnings, that leave something out.
const SOFT: &[&str] = &[
    "--ignore",
    "--deselect",
    "--no-cov",
    "--co",
    "--setup-plan",
    "--setup-only",
    "--fixtures",
    "--lf",
    "--last-failed",
    "--noconftest",
    "--testmon",
    "--snapshot-update",
    "-k",
    "-m",
    "-Wignore",
    "--pass-with-no-tests",
    "--suppress-no-test-exit-code",
];

/// Returns the lines and messages of what is no longer asked for.
pub(super) fn compare(old: &[Entry], new: &[Entry]) -> Vec<(usize, String)> {
    let mut found = selections(old, new);
    let (before, after) = (options(old), options(new));
    let line = |key: &str| new.iter().find(|entry| last(&entry.key) == key).map_or(1, |entry| entry.line);
    let begins = |option: &str, all: &[&str]| {
        let name = option.split([' ', '=']).next().unwrap_or(option);
        all.iter().any(|begin| name == *begin || begin.len() > 4 && name.starts_with(begin))
    };
    for (key, option) in before.iter().filter(|(_, option)| begins(option, STRICT)) {
        let same = |(other_key, other): &&(String, String)| {
            other_key == key && (other == option || is_no_lower(option, other))
        };
        if !after.iter().any(|other| same(&other)) {
            found.push((line(key), format!("`{key}` no longer has `{option}`")));
        }
    }
    for (key, option) in after.iter().filter(|(_, option)| begins(option, SOFT)) {
        if !before.contains(&(key.clone(), option.clone())) {
            found.push((line(key), format!("`{key}` leaves something out: `{option}`")));
        }
    }
    found
}

/// Returns the module that a milder section for some modules of mypy now names, which none did before.
pub(super) fn overridden(old: &[Entry], new: &[Entry]) -> Option<(usize, String)> {
    const MILD: &[(&str, &str)] = &[
        ("ignore_errors", "true"),
        ("follow_imports", "skip"),
        ("disallow_untyped_defs", "false"),
        ("check_untyped_defs", "false"),
        ("disallow_incomplete_defs", "false"),
        ("disallow_any_generics", "false"),
        ("strict_optional", "false"),
        ("warn_return_any", "false"),
    ];
    let of_overrides = |entry: &&Entry| entry.key.contains("mypy.overrides");
    let is_mild = new.iter().filter(of_overrides).any(|entry| {
        MILD.contains(&(last(&entry.key).as_str(), entry.value.to_ascii_lowercase().as_str()))
            || last(&entry.key) == "disable_error_code"
    });
    let modules = |entries: &[Entry]| -> Vec<(usize, String)> {
        let named = entries.iter().filter(of_overrides).filter(|entry| last(&entry.key) == "module");
        named.map(|entry| (entry.line, entry.value.trim_matches(['[', ']', '"', '\'']).to_owned())).collect()
    };
    let known = modules(old);
    let is_new = |(_, module): &(usize, String)| {
        !module.is_empty() && !module.contains(',') && !known.iter().any(|(_, other)| other == module)
    };
    let (line, module) = modules(new).into_iter().filter(|_| is_mild && !known.is_empty()).find(is_new)?;
    Some((line, format!("less is checked in `{module}`")))
}

/// Returns the rules that lists no longer name; one that a shorter name covers, as `F` covers `F401`, is still there.
fn selections(old: &[Entry], new: &[Entry]) -> Vec<(usize, String)> {
    let is_list = |entry: &&Entry| entry.is_item && SELECTIONS.contains(&last(&entry.key).as_str());
    let now: Vec<&Entry> = new.iter().filter(is_list).collect();
    // golangci-lint 2 has these linters in another one, and one formatter does all that another one does.
    let merged = |rule: &str| match rule {
        "gosimple" | "stylecheck" => Some("staticcheck"),
        "gofmt" => Some("gofumpt"),
        _ => None,
    };
    let is_there = |rule: &Entry| {
        now.iter().any(|other| {
            other.value == "ALL"
                || rule.value.starts_with(other.value.as_str())
                || merged(&rule.value) == Some(other.value.as_str())
        })
    };
    old.iter()
        .filter(is_list)
        .filter(|rule| !is_there(rule))
        .map(|rule| {
            let key = last(&rule.key);
            let same = new.iter().find(|entry| last(&entry.key) == key);
            (same.map_or(1, |entry| entry.line), format!("`{}` no longer names `{}`", rule.key, rule.value))
        })
        .collect()
}

/// Returns the options of each key, with the values of those that have one: `-Werror`, `--ignore=tests`, `-k not slow`.
fn options(entries: &[Entry]) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    for entry in entries {
        let key = last(&entry.key);
        if !OPTIONS.contains(&key.as_str()) {
            continue;
        }
        let text = entry.value.replace(['"', '\'', ',', '[', ']'], " ");
        let mut words = text.split_whitespace().peekable();
        while let Some(word) = words.next() {
            let mut option = word.to_owned();
            // `-W error` is the same as `-Werror`, and `--ignore tests` as `--ignore=tests`.
            if let Some(value) = words.next_if(|next| !next.starts_with('-') && word.starts_with('-')) {
                option += match word {
                    "-W" => "",
                    _ if word.starts_with("--") && !word.contains('=') => "=",
                    _ => " ",
                };
                option += value;
            }
            found.insert((key.clone(), option));
        }
    }
    found
}

/// Returns whether two options set the same number, and the second one is not below the first.
fn is_no_lower(option: &str, other: &str) -> bool {
    let parts = |text: &str| {
        let (name, value) = text.split_once('=')?;
        Some((name.to_owned(), value.parse::<f64>().ok()?))
    };
    parts(option).zip(parts(other)).is_some_and(|((name, value), (other, now))| {
        name == other && now >= value && name != "--max-warnings"
    })
}
