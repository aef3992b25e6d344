//! Settings that a change moves or writes in another way: what one file of settings no longer says, and another one says now, is
//! neither weaker nor new. Lines that say it are blanked before the files are compared.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::check::Check;
use super::commands::checks;
use super::flatten::{Entry, flatten};
use super::migration::Migrations;
use super::selected::Selected;
use super::{cargo, exempts, is_on, is_rule, last, matrix, script};
use crate::Change;
use crate::files::{Format, Language, Role};

/// Setting as it can be found again in a file of another format: the last part of its key, and one word of its value.
type Atom = (String, String);

/// Largest file of settings whose lines are looked for elsewhere, in bytes.
const MAX_TEXT: usize = 1 << 18;

/// Largest file of JSON of which each line is looked for, in bytes.
const MAX_JSON: usize = 1 << 15;

/// Both texts of a file of settings, without what only moved.
pub(crate) struct Settled {
    pub(crate) before: Option<String>,
    pub(crate) after: Option<String>,
}

impl Settled {
    /// Reads a change of a file of settings among the other ones.
    pub(crate) fn of(
        change: &Change<'_>,
        format: Format,
        changes: &[Change<'_>],
        migrations: &Migrations,
    ) -> Self {
        let is_short = |text: Option<&str>| text.is_none_or(|text| text.len() <= MAX_TEXT);
        let after = change
            .after
            .map(|text| if format == Format::Yaml { matrix::expanded(text) } else { text.to_owned() });
        let before = change
            .before
            .map(|text| if format == Format::Yaml { matrix::expanded(text) } else { text.to_owned() });
        if !is_short(change.before) || !is_short(change.after) {
            return Self { before, after };
        }
        let others: Vec<Other> = changes
            .iter()
            .filter(|other| other.path != change.path && is_short(other.before) && is_short(other.after))
            .filter_map(Other::of)
            .collect();
        let (old, new) = (before.unwrap_or_default(), after.unwrap_or_default());
        let rewriting = Rewriting::of(&old, &new, format);
        // What stands in sections moves line by line, and what is gone as a whole may stand in a file of another format.
        let in_sections = format == Format::Sections;
        let is_movable = in_sections || change.after.is_none() || format == Format::Json;
        let is_moved_away = |line: &str, entries: &[&Entry]| {
            entries.iter().any(|entry| migrations.has_judged_before(change.path, entry.line))
                || is_movable
                    && is_said(entries, |atom| others.iter().any(|other| other.gained.contains(atom)))
                || migrations.has_judged_commands(change.path)
                    && !checks(line, rewriting.line_format()).is_empty()
                || rewriting.covers(entries)
                || rewriting.is_still_exempt(entries)
                || rewriting.runs_elsewhere(line, &others)
        };
        let is_moved_here = |_: &str, entries: &[&Entry]| {
            entries.iter().any(|entry| migrations.has_judged_after(change.path, entry.line))
                || in_sections
                    && is_said(entries, |atom| others.iter().any(|other| other.lost.contains(atom)))
                || rewriting.is_of_no_rule(entries)
                || !entries.is_empty()
                    && entries.iter().all(|entry| cargo::was_allowed_in_code(entry, change, changes))
        };
        let settled_old = without(&old, format, &new, &is_moved_away);
        let settled_new = without(&new, format, &old, &is_moved_here);
        Self { before: change.before.map(|_| settled_old), after: change.after.map(|_| settled_new) }
    }
}

/// Returns a text without the lines that are not in the `counterpart` and that something is true of, with the entries on each.
fn without(
    text: &str,
    format: Format,
    counterpart: &str,
    is_moved: &dyn Fn(&str, &[&Entry]) -> bool,
) -> String {
    let kept: BTreeSet<&str> = counterpart.lines().map(str::trim).collect();
    // With long keys, and many of them, all that is read would fill the memory.
    let is_read = format != Format::Json || text.len() <= MAX_JSON;
    let mut entries = if is_read { flatten(text, format) } else { Vec::new() };
    entries.sort_by_key(|entry| entry.line);
    let mut lines = text.lines().enumerate().map(|(at, line)| {
        if line.trim().is_empty() || kept.contains(line.trim()) {
            return line;
        }
        let first = entries.partition_point(|entry| entry.line <= at);
        let own: Vec<&Entry> = entries[first..].iter().take_while(|entry| entry.line == at + 1).collect();
        if is_moved(line, &own) { "" } else { line }
    });
    let first = lines.next().unwrap_or_default().to_owned();
    let mut settled = lines.fold(first, |text, line| text + "\n" + line);
    if text.ends_with('\n') {
        settled.push('\n');
    }
    settled
}

/// What another file of settings gained and lost.
struct Other {
    gained: BTreeSet<Atom>,
    lost: BTreeSet<Atom>,
    checks: Vec<Check>,
    /// All checks that it has now, whether they are new or not.
    now: Vec<Check>,
}

impl Other {
    fn of(change: &Change<'_>) -> Option<Self> {
        let Role::Settings(format) = Role::of(change.path) else { return None };
        let read = |text: Option<&str>| {
            let text = text.unwrap_or_default();
            atoms(script::flatten(change.path, text).unwrap_or_else(|| flatten(text, format)).iter())
        };
        let (old, new) = (read(change.before), read(change.after));
        let (before, after) =
            (runs(change.path, change.before, format), runs(change.path, change.after, format));
        let is_new = |check: &&Check| before.iter().all(|other| other.tool != check.tool);
        Some(Self {
            gained: new.difference(&old).cloned().collect(),
            lost: old.difference(&new).cloned().collect(),
            checks: after.iter().filter(is_new).cloned().collect(),
            now: after,
        })
    }
}

/// Returns the checks of a file, also those that code gives word by word: `session.run("pytest", "-q")`.
/// The configuration of a tool of JavaScript runs nothing.
pub(super) fn runs(path: &str, text: Option<&str>, format: Format) -> Vec<Check> {
    let text = text.filter(|_| Language::of(path) != Some(Language::EcmaScript)).unwrap_or_default();
    let text = if format == Format::Yaml { matrix::expanded(text) } else { text.to_owned() };
    // What is installed does not run yet.
    let kept: Vec<&str> = text.lines().filter(|line| !line.contains(".install(")).collect();
    let spelled =
        kept.join("\n").replace("\", \"", " ").replace("', '", " ").replace(['"', '\'', '(', ')'], " ");
    let mut found = checks(&text, format);
    if format == Format::Text {
        found.extend(checks(&spelled, format));
    }
    found
}

/// Returns settings as atoms. `tests` in `testpaths = tests` and in `testpaths = ["tests"]` is the same.
fn atoms<'a>(entries: impl Iterator<Item = &'a Entry>) -> BTreeSet<Atom> {
    let is_sign = |letter: char| letter.is_whitespace() || matches!(letter, ',' | '[' | ']' | '"' | '\'');
    entries
        .flat_map(|entry| {
            // Of a rule with options, it is the severity that is compared.
            let count = match is_rule(&entry.key) {
                true if entry.value.starts_with('{') => 0,
                true => 1,
                false => usize::MAX,
            };
            let words = entry.value.split(is_sign).filter(|word| !word.is_empty()).take(count);
            let words = words.map(|word| match word {
                // ESLint's numbers for how bad a breach is.
                "2" => "error".to_owned(),
                "1" => "warn".to_owned(),
                _ => word.to_lowercase(),
            });
            words.map(|word| (last(&entry.key), word)).collect::<Vec<_>>()
        })
        .collect()
}

/// Returns whether all that the settings of a line say is said by other files.
fn is_said(entries: &[&Entry], is_said: impl Fn(&Atom) -> bool) -> bool {
    let own = atoms(entries.iter().copied());
    !own.is_empty() && own.iter().all(is_said)
}

/// Both texts of a file, with what is read of them when it is first asked for.
struct Rewriting<'a> {
    before: &'a str,
    after: &'a str,
    format: Format,
    is_strict: OnceCell<bool>,
    rules: OnceCell<Selected>,
    /// What was exempt, and what is.
    exempt: OnceCell<[BTreeSet<(String, String)>; 2]>,
    has_new_call: OnceCell<bool>,
}

impl<'a> Rewriting<'a> {
    fn of(before: &'a str, after: &'a str, format: Format) -> Self {
        let (is_strict, has_new_call) = (OnceCell::new(), OnceCell::new());
        let (rules, exempt) = (OnceCell::new(), OnceCell::new());
        Self { before, after, format, is_strict, rules, exempt, has_new_call }
    }

    /// Returns the format in which one line of the file is read.
    fn line_format(&self) -> Format {
        if self.format == Format::Json { Format::Text } else { self.format }
    }

    /// Returns whether a strictness that is gone is part of one that is on: `disallow_any_generics` of `strict`.
    fn covers(&self, entries: &[&Entry]) -> bool {
        const PARTS: &[&str] = &[
            "disallow_",
            "warn_",
            "no_implicit",
            "check_untyped",
            "strict",
            "noimplicit",
            "alwaysstrict",
            "extra_checks",
        ];
        let is_part = |entry: &&&Entry| {
            let key = last(&entry.key);
            is_on(&entry.value) && key != "strict" && PARTS.iter().any(|part| key.starts_with(part))
        };
        let plain: Vec<&&Entry> = entries.iter().filter(|entry| !entry.is_item).collect();
        let is_strict = || {
            let all = flatten(self.after, self.format);
            all.iter().any(|entry| last(&entry.key) == "strict" && is_on(&entry.value))
        };
        !plain.is_empty() && plain.iter().all(is_part) && *self.is_strict.get_or_init(is_strict)
    }

    /// Returns whether a line exempts from rules alone that were not on before more of them were put on.
    fn is_of_no_rule(&self, entries: &[&Entry]) -> bool {
        if entries.is_empty() || !entries.iter().all(|entry| exempts(&entry.key)) {
            return false;
        }
        let rules = self.rules.get_or_init(|| Selected::of(self.before, self.after, self.format));
        let [known, _] = self.exempt.get_or_init(|| [self.before, self.after].map(|text| self.exempt(text)));
        let is_known = |entry: &Entry| known.contains(&(entry.key.clone(), entry.value.clone()));
        let mut items = entries.iter().filter(|entry| entry.is_item).peekable();
        rules.are_more()
            && items.peek().is_some()
            && items.filter(|entry| !is_known(entry)).all(|entry| !rules.was_on(&entry.value))
    }

    /// Returns whether a line only exempts from what is exempt now as well, while more rules are put on.
    fn is_still_exempt(&self, entries: &[&Entry]) -> bool {
        let rules = self.rules.get_or_init(|| Selected::of(self.before, self.after, self.format));
        let is_exempt = |entry: &&Entry| {
            let [_, now] =
                self.exempt.get_or_init(|| [self.before, self.after].map(|text| self.exempt(text)));
            now.contains(&(entry.key.clone(), entry.value.clone()))
        };
        !entries.is_empty() && rules.are_more() && entries.iter().all(is_exempt)
    }

    /// Returns what a text exempts, by the key of its list.
    fn exempt(&self, text: &str) -> BTreeSet<(String, String)> {
        let all = flatten(text, self.format).into_iter();
        all.filter(|entry| entry.is_item && exempts(&entry.key))
            .map(|entry| (entry.key, entry.value))
            .collect()
    }

    /// Returns whether all checks of a line run somewhere else now: by a file that did not run them before, or by one that a new
    /// command of this file calls.
    fn runs_elsewhere(&self, line: &str, others: &[Other]) -> bool {
        const CALLERS: &[&str] = &["npm ", "yarn ", "pnpm ", "make ", "just ", "task ", "tox", "nox"];
        let format = self.line_format();
        // A string of JSON may hold the command.
        let line = if self.format == Format::Json {
            line.replace(['"', '[', ',', ']'], " ")
        } else {
            line.to_owned()
        };
        let own = if others.is_empty() { Vec::new() } else { checks(&line, format) };
        if own.is_empty() {
            return false;
        }
        let has_new_call = *self.has_new_call.get_or_init(|| {
            let known = checks(self.before, self.format);
            let is_new = |check: &Check| {
                CALLERS.iter().any(|tool| check.tool.starts_with(tool))
                    && known.iter().all(|other| other.tool != check.tool)
            };
            checks(self.after, self.format).iter().any(is_new)
        });
        own.iter().all(|check| {
            let is_it = |other: &Check| {
                other.tool == check.tool && other.narrow.iter().all(|option| check.narrow.contains(option))
            };
            let runs =
                |other: &Other| other.checks.iter().any(is_it) || has_new_call && other.now.iter().any(is_it);
            others.iter().any(runs)
        })
    }
}
