//! Steps of CI that other people's actions take, and tasks that others wait for.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::flatten::flatten;
use super::narrow;
use super::tree::{Node, read};
use crate::files::{Format, extension};
use crate::finding::{Finding, Kind};
use crate::syntax::words;

/// Words of what checks something.
#[rustfmt::skip]
const CHECKS: &[&str] = &[
    "test", "tests", "spec", "specs", "lint", "linter", "linters", "check", "checks", "audit", "deny", "scan", "codeql", "coverage", "cover",
    "codecov", "coveralls", "sonar", "sonarqube", "sonarcloud", "trivy", "snyk", "semgrep", "review", "junit", "typos", "reviewdog", "clippy",
    "verify", "license", "security", "gitleaks", "secrets", "scorecard", "golangci", "ruff", "eslint", "mypy", "detekt", "ktlint", "kover",
    "jacoco", "rubocop", "vet", "typecheck", "integration", "e2e", "spotbugs", "checkstyle", "pmd", "analyze", "analyse", "validate", "fmt",
    "format", "shellcheck", "hadolint", "zizmor", "actionlint",
];
/// Words of what only prepares a check, or tells of it.
#[rustfmt::skip]
const OTHERS: &[&str] = &[
    "setup", "upload", "download", "cache", "checkout", "install", "deploy", "publish", "release", "login", "label", "labeler", "stale", "comment",
    "create", "commit", "add", "cleanup", "notify", "docs",
];

/// Returns which steps and tasks that check something are gone.
pub(super) fn compare(path: &str, before: &str, after: &str, format: Format) -> Vec<Finding> {
    let mut findings = Vec::new();
    if format == Format::Yaml {
        findings.extend(actions(path, before, after));
        findings.extend(gates(path, &read(before), &read(after)));
        findings.extend(arguments(path, before, after));
    }
    findings.extend(waits(path, before, after));
    findings
}

fn is_check(name: &str) -> bool {
    let words = words(name);
    words.iter().any(|word| CHECKS.contains(&word.as_str()))
        && !words.iter().any(|word| OTHERS.contains(&word.as_str()))
}

/// Returns the actions of other people that check something and are no longer called.
fn actions(path: &str, before: &str, after: &str) -> Vec<Finding> {
    let used = |text: &str| -> Vec<(usize, String)> {
        let lines = text.lines().enumerate().filter_map(|(at, line)| {
            let name =
                line.trim().trim_start_matches("- ").strip_prefix("uses:")?.trim().split('@').next()?;
            Some((at + 1, name.trim_matches(['"', '\'']).to_owned()))
        });
        lines.collect()
    };
    let now = used(after);
    let known: BTreeSet<&str> = before.lines().map(str::trim).collect();
    let new_lines: Vec<&str> = after.lines().map(str::trim).filter(|line| !known.contains(line)).collect();
    let is_gone = |name: &str| {
        let own = name.rsplit('/').next().unwrap_or(name);
        // A command, or another action, may do what it did.
        let said: Vec<String> = words(own)
            .into_iter()
            .filter(|word| !matches!(word.as_str(), "action" | "cargo" | "go" | "run" | "github" | "actions"))
            .collect();
        let is_replaced = new_lines.iter().any(|line| {
            let theirs = words(line);
            said.iter().any(|word| theirs.contains(word))
        });
        is_check(own) && !is_replaced && now.iter().all(|(_, other)| other != name)
    };
    let gone = used(before).into_iter().filter(|(_, name)| is_gone(name));
    gone.map(|(line, name)| Finding::new(path, line, Kind::WeakerCheck, format!("`{name}` no longer runs")))
        .collect()
}

/// Returns which checks a job that only waits for others no longer waits for.
fn gates(path: &str, old: &Node, new: &Node) -> Vec<Finding> {
    let jobs = |root: &Node| -> BTreeMap<String, (BTreeSet<String>, usize)> {
        let jobs = root.get("jobs").map_or(&[][..], |jobs| &jobs.below);
        let needs = |job: &Node| job.get("needs").map(Node::words).unwrap_or_default().into_iter().collect();
        jobs.iter()
            .map(|job| (job.key.clone(), (needs(job), job.get("needs").map_or(job.line, |needs| needs.line))))
            .collect()
    };
    let (was, now) = (jobs(old), jobs(new));
    let needed: BTreeSet<&String> = now.values().flat_map(|(needs, _)| needs).collect();
    let mut found = Vec::new();
    for (name, (needs, _)) in was.iter().filter(|(_, (needs, _))| needs.len() > 1) {
        let Some((left, line)) = now.get(name) else { continue };
        // What lets the job go on without any of them is something else.
        let gone = needs.difference(left).find(|need| now.contains_key(*need) && !needed.contains(need));
        if let Some(need) = gone {
            found.push(Finding::new(
                path,
                *line,
                Kind::LooserRule,
                format!("`{name}` no longer waits for `{need}`"),
            ));
        }
    }
    found
}

/// Returns the options by which an action is told to check less.
fn arguments(path: &str, before: &str, after: &str) -> Vec<Finding> {
    const KEYS: &[&str] = &["args", "arguments", "extra_args", "extra-args", "run-args", "options", "flags"];
    let given = |text: &str| -> Vec<(String, usize)> {
        let entries = flatten(text, Format::Yaml).into_iter();
        let entries = entries.filter(|entry| KEYS.contains(&super::last(&entry.key).as_str()));
        entries
            .flat_map(|entry| {
                narrow::options("golangci-lint", &entry.value)
                    .into_iter()
                    .map(move |option| (option, entry.line))
            })
            .collect()
    };
    let known = given(before);
    // Links that cannot be followed say nothing of the program, and neither does an action that did nothing before.
    let mut is_link = false;
    let of_links: BTreeSet<usize> = after
        .lines()
        .enumerate()
        .filter_map(|(at, line)| {
            if let Some(name) = line.trim().trim_start_matches("- ").strip_prefix("uses:") {
                let tool =
                    name.split('@').next().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
                let tool = tool.trim_end_matches("-action").trim();
                is_link = ["lychee", "link"].iter().any(|word| name.contains(word)) || !before.contains(tool);
            }
            is_link.then_some(at + 1)
        })
        .collect();
    let new = given(after)
        .into_iter()
        .filter(|(option, line)| known.iter().all(|(other, _)| other != option) && !of_links.contains(line));
    new.map(|(option, line)| {
        Finding::new(
            path,
            line,
            Kind::WeakerCheck,
            format!("a check is told to leave something out: `{option}`"),
        )
    })
    .collect()
}

/// Returns which checks a task no longer waits for: `check: lint test`, `dependsOn("lint", "test")`, `task default: %i[lint test]`.
fn waits(path: &str, before: &str, after: &str) -> Vec<Finding> {
    static LINE: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"(?:^|\{)\s*((?:\w[\w.]*\.)?(?:dependsOn|finalizedBy)|task\s+:?\w+)\b\s*(?::|\(|=>|=)?(.+)$",
        )
        .ok()
    });
    static TARGET: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^([\w.-]+)\s*:([^=].*)$").ok());
    let is_made = matches!(
        crate::files::file_name(path),
        "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile"
    ) || extension(path) == "mk";
    let is_build =
        matches!(extension(path), "gradle" | "kts" | "rake") || crate::files::file_name(path) == "Rakefile";
    let pattern = if is_made { TARGET.as_ref() } else { LINE.as_ref().filter(|_| is_build) };
    let Some(pattern) = pattern else { return Vec::new() };
    let read = |text: &str| -> Vec<(usize, String, BTreeSet<String>)> {
        let lines = text.lines().enumerate();
        let found = lines.filter_map(|(at, line)| {
            let found = pattern.captures(line).filter(|found| !found[1].starts_with('.'))?;
            let names =
                found[2].split(|letter: char| !letter.is_alphanumeric() && !matches!(letter, '-' | '_'));
            let names = names.filter(|name| !matches!(*name, "" | "tasks" | "named" | "i" | "w"));
            Some((at + 1, found[1].to_owned(), names.map(str::to_owned).collect()))
        });
        found.collect()
    };
    let now = read(after);
    let is_called = |name: &str| {
        now.iter().any(|(_, _, names)| names.contains(name))
            || after.lines().any(|line| {
                ["$(MAKE) ", "make ", "just "].iter().any(|call| line.contains(&format!("{call}{name}")))
            })
    };
    let mut findings = Vec::new();
    let all: BTreeSet<String> = now.iter().flat_map(|(_, _, names)| names.clone()).collect();
    for (_, head, names) in read(before) {
        let same = now.iter().find(|(_, other, _)| *other == head);
        // What a build hangs on tasks may stand at any of them.
        let (line, left) = match same {
            _ if head.contains("dependsOn") => (same.map_or(1, |(line, ..)| *line), &all),
            Some((line, _, left)) => (*line, left),
            None => continue,
        };
        let gone = names.difference(left).find(|name| is_check(name) && !is_called(name));
        // Under another name, it is a new one of the list.
        if let Some(name) =
            gone.filter(|_| head.contains("dependsOn") || left.difference(&names).next().is_none())
        {
            findings.push(Finding::new(
                path,
                line,
                Kind::WeakerCheck,
                format!("`{head}` no longer runs `{name}`"),
            ));
        }
    }
    findings
}
