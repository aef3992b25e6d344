//! Comments and attributes that exempt a line from a check.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::Change;
use crate::extract::rust::test_items::lines_of_tests;
use crate::files::{Role, extension};
use crate::finding::{Finding, Kind};

/// Marks of tools that people know, in any language.
static MARK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?x)
        \#\s*(?: noqa\b[^\n]* | type:\s*ignore[^\n]* | pyright:\s*ignore[^\n]* | pylint:\s*disable[^\n]* | mypy:\s*ignore-errors | nosec\b
               | pragma:\s*no\s*cover | rubocop:disable[^\n]* | shellcheck\s+disable[^\n]* | ruff:\s*noqa[^\n]* | flake8:\s*noqa | fmt:\s*off )
      | (?: //|/\*|\{/\* )\s*(?: eslint-disable[^\n]* | @ts-ignore | @ts-expect-error | @ts-nocheck | istanbul\s+ignore[^\n]* | c8\s+ignore[^\n]*
               | v8\s+ignore[^\n]* | nolint\b[^\n]* | NOSONAR | NOLINT\w* | biome-ignore[^\n]* | tslint:disable[^\n]* | deno-lint-ignore[^\n]*
               | prettier-ignore | phpcs:ignore[^\n]* | @phpstan-ignore[^\n]* | stylelint-disable[^\n]* | swiftlint:disable[^\n]* )
      | \#!?\[\s*allow\s*\([^\])]*\) | \#!?\[\s*expect\s*\([^\])]*\) | \#\[\s*coverage\s*\(\s*off\s*\) | \#\[\s*rustfmt::skip
      | @SuppressWarnings\s*\([^)]*\) | @SuppressFBWarnings | @Generated\b | \[SuppressMessage | \#pragma\s+warning\s+disable
        ",
    )
    .ok()
});

/// Most lines of one list of lints.
const MAX_LIST: usize = 20;
/// Longest mark that is compared, and that is told, in characters.
const MAX_MARK: usize = 400;
const MAX_TOLD: usize = 80;

/// Returns the exemptions that a change adds. One that only moved is none.
pub(crate) fn compare(changes: &[Change<'_>]) -> Vec<Finding> {
    let mut known: BTreeMap<String, usize> = BTreeMap::new();
    for change in changes.iter().filter(|change| is_code(change.path)) {
        for (_, mark) in marks(change.before.unwrap_or_default()) {
            *known.entry(spelled_plainly(&mark)).or_default() += 1;
        }
    }
    let mut findings = no_longer_denied(changes);
    let mut fresh = Vec::new();
    for change in changes.iter().filter(|change| is_code(change.path)) {
        let old_lines: BTreeSet<&str> = change.before.unwrap_or_default().lines().map(str::trim).collect();
        for (line, mark) in marks(change.after.unwrap_or_default()) {
            let text = change.after.and_then(|text| text.lines().nth(line - 1)).unwrap_or_default().trim();
            // The first line of a list says nothing of it.
            if old_lines.contains(text) && !text.ends_with('(') {
                take(&mut known, &mark);
            } else if is_other_tool(change, line, &mark) {
                // What was exempt before, in the words of another tool.
            } else {
                fresh.push((change, line, mark));
            }
        }
    }
    // What stands where it stood is known before anything new is compared with the rest. A new file is the author's own style, but what is
    // exempt in it is exempt anyway.
    for (change, line, mark) in fresh {
        if !take(&mut known, &mark) {
            let told: String = mark.chars().take(MAX_TOLD).collect();
            let message = format!("`{told}` exempts this from a check");
            let finding = Finding::new(change.path, line, Kind::Exemption, message);
            let of_tests = || is_of_test_item(change, line, &mark).then_some("it is on an item for tests");
            findings.push(match reason(change.path, &mark).or_else(of_tests) {
                Some(reason) => finding.noted(reason),
                None => finding,
            });
        }
    }
    findings
}

/// Returns the lints that a crate of Rust denied in its code, and denies no more, whether there or in its manifest.
fn no_longer_denied(changes: &[Change<'_>]) -> Vec<Finding> {
    static DENIED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"#!\[[^\]]*?\b(?:deny|forbid)\s*\(([^)]*)\)").ok());
    let Some(pattern) = DENIED.as_ref() else { return Vec::new() };
    let is_rust = |path: &str| extension(path) == "rs";
    let lints = |text: &str| -> BTreeSet<String> {
        let lists = pattern.captures_iter(text).map(|found| found[1].to_owned()).collect::<Vec<_>>();
        let names = lists.iter().flat_map(|list| list.split(',')).map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty() && !name.contains('=')).collect()
    };
    let now: BTreeSet<String> = changes
        .iter()
        .filter(|change| is_rust(change.path))
        .flat_map(|change| lints(change.after.unwrap_or_default()))
        .collect();
    let is_in_manifest = |lint: &str| {
        let name = lint.rsplit(':').next().unwrap_or(lint);
        let mut manifests = changes.iter().filter(|change| change.path.ends_with("Cargo.toml"));
        manifests.any(|change| change.after.is_some_and(|text| text.contains(name)))
    };
    let mut findings = Vec::new();
    for change in changes.iter().filter(|change| is_rust(change.path)) {
        let (Some(before), Some(after)) = (change.before, change.after) else { continue };
        for lint in lints(before).iter().filter(|lint| !now.contains(*lint) && !is_in_manifest(lint)) {
            let line = after.lines().position(|line| line.contains(lint.as_str())).map_or(1, |at| at + 1);
            let message = format!("the lint `{lint}` is no longer denied");
            findings.push(Finding::new(change.path, line, Kind::LooserRule, message));
        }
    }
    findings
}

/// Returns the reason why an exemption loosens nothing: in a file of tests, one for a line concerns no code of the program.
fn reason(path: &str, mark: &str) -> Option<&'static str> {
    // Those for a whole file, and those from the rules on tests themselves.
    const OF_ALL: &[&str] = &[
        "@ts-nocheck",
        "ignore-errors",
        "ruff: noqa",
        "flake8: noqa",
        "#![",
        "eslint-disable ",
        "jest/",
        "vitest/",
        "mocha/",
        "PT0",
        "playwright/",
        "no cover",
        "istanbul",
        "c8 ignore",
        "v8 ignore",
        "coverage(",
    ];
    let is_of_line = !OF_ALL.iter().any(|part| mark.contains(part));
    (is_of_line && Role::of(path) == Role::Test).then_some("it is in a file of tests")
}

/// Returns whether an attribute of Rust's stands in or on an item of code that only tests have. A test that does not run is code that
/// nothing uses.
fn is_of_test_item(change: &Change<'_>, line: usize, mark: &str) -> bool {
    let is_of_unused = ["#!", "dead_code", "unused"].iter().any(|part| mark.contains(part));
    let text = change.after.filter(|_| extension(change.path) == "rs" && !is_of_unused);
    text.is_some_and(|text| lines_of_tests(text).iter().any(|lines| lines.contains(&line)))
}

/// Returns whether a mark stands where one of another tool stood, which is gone: `# noqa` in the place of `# pylint: disable`.
fn is_other_tool(change: &Change<'_>, line: usize, mark: &str) -> bool {
    let tool = |mark: &str| {
        let words = mark.trim_start_matches(['#', '/', '*', '{', ' ', '@', '[', '!']);
        words.split(|letter: char| !letter.is_alphabetic()).next().unwrap_or_default().to_owned()
    };
    let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
    let place = place_of(after, line, mark);
    let at_place = |text: &str| -> Vec<String> {
        let all = marks(text).into_iter();
        all.filter(|(line, mark)| place_of(text, *line, mark) == place).map(|(_, mark)| tool(&mark)).collect()
    };
    if place.is_empty() || !has_mark(before) {
        return false;
    }
    let (old, new) = (at_place(before), at_place(after));
    let own = tool(mark);
    !old.contains(&own) && old.iter().any(|other| !new.contains(other))
}

/// Returns the code that a mark is about: what stands beside it, or on the next line.
fn place_of<'t>(text: &'t str, line: usize, mark: &str) -> &'t str {
    let mut lines = text.lines().skip(line - 1);
    let own = lines.next().unwrap_or_default();
    let beside = own.find(mark).map_or(own, |at| &own[..at]).trim();
    if beside.is_empty() {
        lines.map(str::trim).find(|next| !next.is_empty()).unwrap_or_default()
    } else {
        beside
    }
}

fn take(known: &mut BTreeMap<String, usize>, mark: &str) -> bool {
    let plain = spelled_plainly(mark);
    match known.get_mut(&plain) {
        Some(count) if *count > 0 => {
            *count -= 1;
            true
        }
        // One that names what it is about replaces one that did not, or that named more.
        _ => match plain.split_once('[').or_else(|| plain.rsplit_once(':')).or_else(|| plain.split_once('('))
        {
            Some((bare, _)) => take_longer(known, &plain) || take(known, bare),
            None => false,
        },
    }
}

/// Takes a mark that names all that another one names, and more: `allow(dead_code, unused)` for `allow(unused)`.
fn take_longer(known: &mut BTreeMap<String, usize>, plain: &str) -> bool {
    let names = |mark: &str| -> Option<(String, BTreeSet<String>)> {
        let at = mark
            .find("noqa:")
            .map(|at| at + "noqa".len())
            .or_else(|| mark.find('('))
            .or_else(|| mark.find('['))?;
        let (head, list) = mark.split_at(at);
        let names = list[1..].trim_end_matches([')', ']']).split(',').map(str::to_owned);
        Some((head.to_owned(), names.filter(|name| !name.is_empty()).collect()))
    };
    let Some((head, own)) = names(plain).filter(|(_, own)| !own.is_empty()) else { return false };
    let is_longer = |(mark, count): &(&String, &mut usize)| {
        **count > 0
            && mark.starts_with(&head)
            && names(mark).is_some_and(|(other, names)| other == head && names.is_superset(&own))
    };
    let found = known.iter_mut().find(is_longer);
    found.map(|(_, count)| *count -= 1).is_some()
}

/// Returns a mark without white space, which its tool does not ask for: `# pragma: nocover` is `# pragma: no cover`.
fn spelled_plainly(mark: &str) -> String {
    mark.split_whitespace().collect()
}

fn is_code(path: &str) -> bool {
    matches!(Role::of(path), Role::Test | Role::Source)
}

/// Returns whether a text may have a mark.
pub(crate) fn has_mark(text: &str) -> bool {
    MARK.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

/// Returns the marks of a text with their lines.
fn marks(text: &str) -> Vec<(usize, String)> {
    // In the text as a whole there are more, if any: white space within a mark may be the end of a line.
    let Some(pattern) = MARK.as_ref().filter(|_| has_mark(text)) else { return Vec::new() };
    let lines: Vec<&str> = text.lines().collect();
    let of_line = |at: usize| -> Vec<(usize, String)> {
        let marks =
            pattern.find_iter(lines[at]).map(|found| found.as_str().trim_end_matches("*/").trim().to_owned());
        // A list of lints may go on below.
        let is_open = lines[at].trim_start().starts_with('#') && lines[at].trim_end().ends_with('(');
        let list = is_open.then(|| lines[at..].iter().take(MAX_LIST).copied().collect::<String>());
        let list = list.and_then(|list| Some(pattern.find(&list)?.as_str().split_whitespace().collect()));
        marks.chain(list).map(|mark| (at + 1, mark.chars().take(MAX_MARK).collect())).collect()
    };
    (0..lines.len()).flat_map(of_line).collect()
}
