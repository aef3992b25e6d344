//! Variables by which tools are given options: in the environment of CI, in shells, builds and scripts.

use std::sync::LazyLock;

use regex::Regex;

use super::narrow;
use crate::finding::{Finding, Kind};

/// Variables, and the tool whose options they hold.
const OPTIONS: &[(&str, &str)] = &[
    ("PYTEST_ADDOPTS", "pytest"),
    ("GOFLAGS", "go test"),
    ("MAVEN_ARGS", "mvn"),
    ("MAVEN_OPTS", "mvn"),
    ("MAVEN_CLI_OPTS", "mvn"),
    ("JAVA_TOOL_OPTIONS", "mvn"),
    ("MAKEFLAGS", "make"),
    ("JEST_ARGS", "jest"),
    ("VITEST_ARGS", "vitest"),
];

/// Variables that leave something out, or rewrite what is expected, whatever their value is but an empty one.
const SWITCHES: &[&str] = &[
    "INSTA_FORCE_PASS",
    "INSTA_UPDATE",
    "UPDATE_EXPECT",
    "UPDATE_SNAPSHOTS",
    "UPDATE_GOLDEN",
    "TRYBUILD",
    "TOX_SKIP_ENV",
    "GTEST_FILTER",
    "PYTHONOPTIMIZE",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD",
    "SKIP_TESTS",
    "SKIP",
    "NEXTEST_RETRIES",
    "RUST_TEST_SKIP",
    "CTEST_CUSTOM",
    "MAVEN_SKIP_TESTS",
    "npm_config_ignore_scripts",
];

static ASSIGNED: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let names = OPTIONS
        .iter()
        .map(|(name, _)| *name)
        .chain(SWITCHES.iter().copied())
        .chain(["NODE_OPTIONS", "RUSTFLAGS"]);
    let names = names.collect::<Vec<_>>().join("|");
    Regex::new(&format!(
        r#"(?:^|[\s"';{{,])(?P<name>{names})["']?\s*(?::|=|\+=|:=|\?=)\s*(?P<value>"[^"]*"|'[^']*'|[^>]*)"#
    ))
    .ok()
});

/// Returns what variables leave out that they did not before.
pub(super) fn compare(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let old = assigned(before);
    let mut findings = Vec::new();
    for (line, name, value) in assigned(after) {
        let known: Vec<&str> =
            old.iter().filter(|(_, other, _)| *other == name).map(|(.., value)| value.as_str()).collect();
        if known.contains(&value.as_str()) {
            continue;
        }
        let weak = weakness(&name, &value)
            .into_iter()
            .find(|option| !known.iter().any(|known| known.contains(option.as_str())));
        if let Some(option) = weak {
            findings.push(Finding::new(
                path,
                line,
                Kind::WeakerCheck,
                format!("`{name}` leaves something out: `{option}`"),
            ));
        }
    }
    // Warnings of the compiler are errors because of this variable alone.
    let is_strict = |all: &[(usize, String, String)]| {
        all.iter()
            .any(|(_, name, value)| name == "RUSTFLAGS" && value.replace("-D ", "-D").contains("-Dwarnings"))
    };
    let count = |text: &str| text.replace("-D ", "-D").matches("-Dwarnings").count();
    if is_strict(&old) && !is_strict(&assigned(after)) && count(after) < count(before) {
        findings.push(Finding::new(path, 1, Kind::LooserRule, "warnings are no longer errors: `RUSTFLAGS`"));
    }
    findings
}

/// Returns the options of a variable that leave something out.
fn weakness(name: &str, value: &str) -> Vec<String> {
    if let Some((_, tool)) = OPTIONS.iter().find(|(known, _)| *known == name) {
        return narrow::options(tool, value);
    }
    match name {
        // Code that is loaded before the tests can change what they see.
        "NODE_OPTIONS" => {
            let parts = ["--require", "-r ", "--import", "--loader", "--experimental-loader", "--test-"];
            parts.iter().filter(|part| value.contains(**part)).map(|part| (*part).to_owned()).collect()
        }
        "RUSTFLAGS" => ["--cap-lints", "-A", "--allow"]
            .iter()
            .filter(|part| value.contains(**part))
            .map(|part| (*part).to_owned())
            .collect(),
        _ if value.is_empty() || matches!(value, "0" | "false" | "no") => Vec::new(),
        _ => vec![value.to_owned()],
    }
}

/// Returns the lines, names and values of variables.
fn assigned(text: &str) -> Vec<(usize, String, String)> {
    let Some(pattern) = ASSIGNED.as_ref() else { return Vec::new() };
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim_start().starts_with(['#', '/']) {
            continue;
        }
        for one in pattern.captures_iter(line) {
            let value = one["value"].trim().trim_matches(['"', '\'', ',']).trim();
            found.push((at + 1, one["name"].to_owned(), value.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_wherever_they_stand() {
        assert!(ASSIGNED.is_some());
        for text in [
            "  PYTEST_ADDOPTS: --co",
            "PYTEST_ADDOPTS=--co pytest",
            "echo PYTEST_ADDOPTS=--co >> $GITHUB_ENV",
            "export PYTEST_ADDOPTS = --co",
        ] {
            assert_eq!(compare("a.yml", "", text).len(), 1, "{text}");
        }
        assert!(compare("a.yml", "", "PYTEST_ADDOPTS: --color=yes").is_empty());
    }
}
