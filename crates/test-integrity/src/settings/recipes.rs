//! Recipes of Make and just: which checks a target runs, by itself and by those that it depends on.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::commands::checks;
use super::purposes::is_replaced_by;
use crate::files::{Format, file_name};
use crate::finding::{Finding, Kind};

/// Most targets whose checks are collected.
const MAX_TARGETS: usize = 500;

/// By how much a text may grow with the values of its variables, in bytes.
const MAX_GROWTH: usize = 256 << 10;

#[derive(Default)]
struct Target {
    line: usize,
    needs: Vec<String>,
    tools: BTreeSet<String>,
}

/// Returns which targets run a check no longer.
pub(super) fn compare(path: &str, before: &str, after: &str) -> Vec<Finding> {
    if !is_of_recipes(path) {
        return Vec::new();
    }
    let (old, new) = (targets(before), targets(after));
    let mut findings = Vec::new();
    if old.len() <= MAX_TARGETS && new.len() <= MAX_TARGETS {
        let gone = |name: &str| -> Vec<String> {
            let now = tools(&new, name);
            tools(&old, name)
                .into_iter()
                .filter(|tool| !now.contains(tool) && !is_replaced_by(tool, &now))
                .collect()
        };
        // A target that only calls another one which lost something is not told as well.
        for (name, target) in &old {
            let Some(now) = new.get(name) else { continue };
            let by_others: BTreeSet<String> = target
                .needs
                .iter()
                .filter(|need| now.needs.contains(need))
                .flat_map(|need| gone(need))
                .collect();
            if let Some(tool) = gone(name).into_iter().find(|tool| !by_others.contains(tool)) {
                findings.push(Finding::new(
                    path,
                    now.line,
                    Kind::WeakerCheck,
                    format!("`{name}` no longer runs `{tool}`"),
                ));
            }
        }
    }
    let shells = |text: &str| -> Vec<(usize, String)> {
        let lines = text.lines().enumerate();
        lines.filter_map(|(at, line)| Some((at + 1, shell(line)?))).collect()
    };
    let known = shells(before);
    for (line, text) in shells(after) {
        if !known.iter().any(|(_, other)| *other == text) {
            findings.push(Finding::new(
                path,
                line,
                Kind::WeakerCheck,
                format!("recipes do not run: `{text}`"),
            ));
        }
    }
    findings
}

/// Returns a line that gives recipes a shell that runs nothing, or lets Make only print them.
fn shell(line: &str) -> Option<String> {
    let (name, value) = line.trim().split_once('=').or_else(|| line.trim().split_once(" := "))?;
    let name = name
        .trim_end_matches([':', '?', '+', ' '])
        .trim_start_matches("override ")
        .trim_start_matches("export ")
        .trim();
    let value = value.trim();
    let is_idle = match name.rsplit(' ').next().unwrap_or(name) {
        "SHELL" => {
            let program = value.split_whitespace().next().unwrap_or_default();
            let program = program.rsplit('/').next().unwrap_or(program);
            !program.starts_with(['$', '"'])
                && !program.ends_with("sh")
                && !program.contains("sh.exe")
                && !program.starts_with("python")
        }
        "MAKEFLAGS" | "MFLAGS" | "GNUMAKEFLAGS" => value.split_whitespace().any(|word| {
            let is_long =
                ["--dry-run", "--just-print", "--recon", "--touch", "--question", "--ignore-errors"]
                    .contains(&word);
            let letters = word.strip_prefix('-').unwrap_or(word);
            is_long
                || !letters.starts_with('-')
                    && letters.len() < 5
                    && letters.contains(['n', 't', 'q', 'i'])
                    && !letters.contains(['$', '=', 'j'])
        }),
        ".SHELLFLAGS" => !value.contains('c'),
        _ => false,
    };
    is_idle.then(|| line.trim().to_owned())
}

/// Returns the targets by name. A later recipe of a name takes the place of an earlier one; what stands under a condition does not count.
fn targets(text: &str) -> BTreeMap<String, Target> {
    let mut found: BTreeMap<String, Target> = BTreeMap::new();
    let mut current: Vec<String> = Vec::new();
    let mut is_fresh = false;
    let mut depth = 0_usize;
    let (values, mut left) = (values(text), MAX_GROWTH);
    for (at, raw) in text.lines().enumerate() {
        let raw = &expanded(raw, &values, &mut left);
        let content = raw.trim();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if content.starts_with("ifdef")
            || content.starts_with("ifndef")
            || content.starts_with("ifeq")
            || content.starts_with("ifneq")
        {
            depth += 1;
            continue;
        }
        if content.starts_with("endif") {
            depth = depth.saturating_sub(1);
            continue;
        }
        if raw.starts_with(['\t', ' ']) {
            if depth > 0 && !content.contains("$(") {
                continue;
            }
            for name in &current {
                let target = found.entry(name.clone()).or_default();
                if is_fresh {
                    target.tools.clear();
                }
                target.tools.extend(checks(raw, Format::Text).into_iter().map(|check| check.tool));
                let made = content.trim_start_matches(['@', '-', '+']).trim();
                if let Some(rest) = made
                    .strip_prefix("$(MAKE) ")
                    .or_else(|| made.strip_prefix("make "))
                    .or_else(|| made.strip_prefix("just "))
                {
                    target.needs.extend(
                        rest.split_whitespace().filter(|word| !word.starts_with('-')).map(str::to_owned),
                    );
                }
            }
            is_fresh = false;
            continue;
        }
        let Some((names, rest)) =
            content.split_once(':').filter(|(names, rest)| !rest.starts_with('=') && !names.contains('='))
        else {
            continue;
        };
        let (needs, inline) =
            rest.trim_start_matches(':').split_once(';').unwrap_or((rest.trim_start_matches(':'), ""));
        // A recipe of just has its parameters behind its name.
        current = names
            .split_whitespace()
            .take(if content.starts_with('.') { 0 } else { 20 })
            .map(|name| name.trim_start_matches('@').to_owned())
            .collect();
        is_fresh = true;
        for name in &current {
            let target = found.entry(name.clone()).or_default();
            target.line = at + 1;
            target.needs.extend(needs.split_whitespace().map(str::to_owned));
            target.tools.extend(checks(inline, Format::Text).into_iter().map(|check| check.tool));
        }
    }
    found
}

/// Returns the variables of a text that stand for one command.
fn values(text: &str) -> Vec<(String, String)> {
    let lines = text.lines().filter(|line| !line.starts_with(['\t', ' ', '#']));
    let pairs = lines.filter_map(|line| line.split_once('=')).map(|(name, value)| {
        (
            name.trim_end_matches([':', '?', '+', ' ']).trim_start_matches("export ").trim().to_owned(),
            value.trim().to_owned(),
        )
    });
    pairs.filter(|(name, value)| !name.contains(' ') && !value.contains('$')).take(MAX_TARGETS).collect()
}

/// Returns a text with the values of its variables, if it is one of recipes.
pub(super) fn with_values<'t>(path: &str, text: &'t str) -> Cow<'t, str> {
    if !is_of_recipes(path) {
        return Cow::Borrowed(text);
    }
    let (values, mut left) = (values(text), MAX_GROWTH);
    Cow::Owned(text.lines().map(|line| expanded(line, &values, &mut left) + "\n").collect())
}

/// Returns whether a file holds recipes.
fn is_of_recipes(path: &str) -> bool {
    matches!(file_name(path), "Makefile" | "makefile" | "GNUmakefile" | "justfile" | "Justfile")
}

/// Returns a line with the values of its variables, as long as it grows by no more bytes than are `left`.
fn expanded(line: &str, values: &[(String, String)], left: &mut usize) -> String {
    let mut line = line.to_owned();
    if line.contains("$(") || line.contains("${") || line.contains("{{") {
        for (name, value) in values {
            for written in [
                format!("$({name})"),
                format!("${{{name}}}"),
                format!("{{{{{name}}}}}"),
                format!("{{{{ {name} }}}}"),
            ] {
                let count = line.matches(written.as_str()).count();
                if count == 0 {
                    continue;
                }
                let growth = value.len().saturating_sub(written.len()).saturating_mul(count);
                let Some(rest) = left.checked_sub(growth) else { return line };
                *left = rest;
                line = line.replace(&written, value);
            }
        }
    }
    line
}

/// Returns the checks that a target leads to.
fn tools(targets: &BTreeMap<String, Target>, name: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut met = BTreeSet::new();
    let mut waiting = vec![name.to_owned()];
    while let Some(name) = waiting.pop() {
        let Some(target) = targets.get(&name).filter(|_| met.insert(name.clone())) else { continue };
        found.extend(target.tools.iter().cloned());
        waiting.extend(target.needs.iter().cloned());
    }
    found
}
