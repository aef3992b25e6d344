//! Reasons that a change shows for a test that is gone: new tests took its place, or the code that it was about is gone.
//!
//! Neither proves that nothing is lost, because only people know what a program should do. So these reasons turn an error into
//! a note, which remains in every report, rather than into nothing.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::definitions::Removed;
use super::renamed::is_renamed;
use super::state::State;
use super::subject::Subject;
use crate::Change;
use crate::assertion::{Assertion, Strength, vocabulary};
use crate::extract::Test;
use crate::extract::rust::test_items::TestItems;
use crate::files::{Language, Role, extension, stem, subject};
use crate::finding::{Finding, Kind};
use crate::syntax::free_names::outer_words;
use crate::syntax::words;
use crate::weaker::is_keyword;

/// Shortest word whose loss says what a test was about.
const MIN_WORD: usize = 4;
/// Most cases of a new test that count.
const MAX_CASES: usize = 100;
/// Least number of lines of code that a change takes away for each that it adds, if it chiefly removes.
const REMOVED_PER_ADDED: usize = 2;
/// Most files of a change among which one is looked for that another one has become.
const MAX_RENAMED: usize = 200;
/// Least number of lines of code that a change takes away, if it removes what a test was about.
const MIN_REMOVED: usize = 3;

/// New tests, whose assertions may stand where those of other tests stood, each once.
pub(crate) struct Successors<'a> {
    state: &'a State,
    tests: Vec<Successor<'a>>,
}

struct Successor<'a> {
    test: &'a Test,
    calls: BTreeSet<&'a str>,
    /// What its assertions demand, but for those that stand for others already; read when first asked for.
    demands: OnceCell<Vec<Strength>>,
}

impl<'a> Successors<'a> {
    /// Takes those tests that run.
    pub(crate) fn new(state: &'a State, tests: impl Iterator<Item = &'a Test>) -> Self {
        let successor =
            |test: &'a Test| Successor { test, calls: Subject::calls_of(test), demands: OnceCell::new() };
        Self { state, tests: tests.filter(|test| test.runs()).map(successor).collect() }
    }

    /// Returns the reason why a test is gone, if new ones of its file stand in its place: they call most of what that one called,
    /// and demand as much, whatever the values are.
    pub(crate) fn take_place_of(&mut self, test: &Test, asserted: &[Assertion]) -> Option<String> {
        let own = Subject::calls_of(test);
        let state = self.state;
        let mut about_it: Vec<&mut Successor<'a>> = self
            .tests
            .iter_mut()
            .filter(|successor| {
                let common = own.intersection(&successor.calls).count();
                successor.test.path == test.path && common > 0 && common * 2 >= own.len()
            })
            .collect();
        let mut taken: Vec<(usize, usize)> = Vec::new();
        for assertion in asserted.iter().filter(|assertion| assertion.strength > Strength::Nothing) {
            let found = about_it.iter().enumerate().find_map(|(at, successor)| {
                let mut demands = successor.demands(state).iter().enumerate();
                let is_free = |place: usize| !taken.contains(&(at, place));
                demands
                    .find(|(place, demand)| **demand >= assertion.strength && is_free(*place))
                    .map(|(place, _)| (at, place))
            });
            taken.push(found?);
        }
        // Nothing is known of what the test asserted: then one that calls the same and asserts anything has to do.
        if taken.is_empty() {
            let first = about_it.iter().find(|successor| !successor.demands(state).is_empty())?;
            return Some(format!("the new test `{}` is about the same", first.test.name));
        }
        let (first, _) = taken.first()?;
        let name = about_it[*first].test.name.clone();
        for (at, place) in taken {
            if let Some(demand) = about_it[at].demands.get_mut().and_then(|demands| demands.get_mut(place)) {
                *demand = Strength::Nothing;
            }
        }
        Some(format!("new tests such as `{name}` are about the same, and demand as much"))
    }

    /// Returns the reason why a test asserts less, if it is paired with one that is only alike, or leaves it to a response.
    pub(crate) fn take_place_of_part(
        &mut self,
        kind: Kind,
        (before, after): (&Test, &Test),
        asserted: impl FnOnce() -> Vec<Assertion>,
    ) -> Option<String> {
        match kind {
            Kind::FewerAssertions if before.simple_name() != after.simple_name() => {
                self.take_place_of(before, &asserted())
            }
            Kind::FewerAssertions if asks_more(before, after) => {
                Some("it demands something else of a response".to_owned())
            }
            Kind::EmptyTest if asks_response(after) => Some("it calls `expect` of a response".to_owned()),
            Kind::EmptyTest if tells_error(after) => Some("it tells the runner of an error".to_owned()),
            _ => None,
        }
    }
}

impl Successor<'_> {
    fn demands(&self, state: &State) -> &[Strength] {
        self.demands.get_or_init(|| {
            let of_one: Vec<Strength> =
                state.assertions(&self.test.body, None).iter().map(|assertion| assertion.strength).collect();
            of_one.repeat(self.test.cases.unwrap_or(1).min(MAX_CASES))
        })
    }
}

/// Returns whether a test makes demands of a response in the way of supertest: `request(app).get("/").expect(200, done)`.
fn asks_response(test: &Test) -> bool {
    // What a function comes to that is given is not looked at.
    let is_function = |word: &str| matches!(word, "(" | "function" | "async");
    test.body
        .words
        .windows(4)
        .any(|four| four[0] == "." && four[1] == "expect" && four[2] == "(" && !is_function(&four[3]))
}

/// Returns whether a test demands something of a response that it did not demand before.
fn asks_more(before: &Test, after: &Test) -> bool {
    let demands = |test: &Test| -> BTreeSet<String> {
        let calls = test.body.words.windows(8).filter(|words| words[0] == "." && words[1] == "expect");
        calls.map(|words| words.join(" ")).collect()
    };
    asks_response(after) && !demands(after).is_subset(&demands(before))
}

/// Returns whether a test hands an error to the function that is told of its end: `done(err)`.
fn tells_error(test: &Test) -> bool {
    test.body.words.windows(4).any(|words| {
        matches!(words[0].as_str(), "cb" | "done" | "callback" | "next")
            && words[1] == "("
            && matches!(words[2].as_str(), "err" | "error" | "e")
            && words[3] == ")"
    })
}

/// Returns the names that a test calls, but for those of assertions and of its own.
pub(super) fn calls(test: &Test) -> BTreeSet<&str> {
    let words = &test.body.words;
    let called = words.windows(2).filter(|two| two[1] == "(").map(|two| two[0].as_str());
    called
        .filter(|name| {
            name.starts_with(|first: char| first.is_alphabetic() || first == '_')
                && !is_keyword(name)
                && !vocabulary::is_statement(name)
                && !test.body.defined.contains_key(*name)
        })
        .collect()
}

/// Words of the program that a change chiefly takes code away from. They are read when a test first asks for them.
pub(crate) struct Dropped<'c> {
    changes: &'c [Change<'c>],
    removed: &'c Removed<'c>,
    code: OnceCell<LostCode>,
}

/// What the code of a change has no longer.
#[derive(Default)]
struct LostCode {
    /// Number of lines.
    lines: usize,
    /// Words that nothing of it has.
    words: BTreeSet<String>,
    /// The same in small letters.
    lower: BTreeSet<String>,
    /// Parts of the words of the lines that are gone, in small letters.
    parts: BTreeSet<String>,
    /// Whether no line is new.
    is_all: bool,
}

impl<'c> Dropped<'c> {
    pub(crate) fn by(changes: &'c [Change<'c>], removed: &'c Removed<'c>) -> Self {
        Self { changes, removed, code: OnceCell::new() }
    }

    /// Returns the reason why a test is gone: the program used a name or text of it and does no longer, or the code that is gone is what
    /// the test is named after.
    pub(crate) fn reason_of_gone(&self, test: &Test) -> Option<String> {
        let code = self.code();
        let least = if code.is_all { 1 } else { MIN_REMOVED };
        let by_words = || self.reason(test, &test.body.words).or_else(|| self.went_with_code(test));
        // What has another name now is still there.
        let is_kept = || words(test.simple_name()).iter().any(|word| self.removed.has_renamed(word));
        let by_name = || if is_kept() { None } else { named_after(test, code) };
        (code.lines >= least).then(|| by_words().or_else(by_name))?
    }

    /// Returns the reason why a test is gone, if its file went with the one that it is named after.
    fn went_with_code(&self, test: &Test) -> Option<String> {
        let is_gone = |change: &Change<'_>| change.before.is_some() && change.after.is_none();
        let file =
            self.changes.iter().find(|change| change.path == test.path).filter(|change| is_gone(change))?;
        let subject = subject(file.path);
        let is_of_it = |change: &&Change<'_>| {
            Role::of(change.path) == Role::Source
                && is_gone(change)
                && extension(change.path) == extension(file.path)
                && stem(change.path) == subject
        };
        let code = self.changes.iter().find(is_of_it)?;
        // Code that has another name now is still there.
        let is_moved =
            self.changes.len() > MAX_RENAMED || self.changes.iter().any(|other| is_renamed(other, &[*code]));
        (!is_moved).then(|| format!("`{}` is gone as well", code.path))
    }

    fn code(&self) -> &LostCode {
        self.code.get_or_init(|| dropped(self.changes))
    }

    /// Returns the reason why a test asserts less than before, by the words that it no longer has.
    pub(crate) fn reason_of_pair(&self, before: &Test, after: &Test) -> Option<String> {
        let kept: BTreeSet<&String> = after.body.words.iter().collect();
        if self.code().lines < MIN_REMOVED {
            return None;
        }
        self.reason(before, before.body.words.iter().filter(|word| !kept.contains(word)))
    }

    /// Returns the reason why some words of a test are gone, if the program used one of them and does no longer.
    fn reason<'a>(&self, test: &Test, words: impl IntoIterator<Item = &'a String>) -> Option<String> {
        let words: Vec<String> = words.into_iter().cloned().collect();
        let dropped = &self.code().words;
        if dropped.is_empty() {
            return None;
        }
        let word = outer_words(&words).into_iter().find(|word| {
            let bare = bare(word);
            bare.len() >= MIN_WORD
                && dropped.contains(bare)
                && !self.removed.has_renamed(bare)
                && !is_keyword(bare)
                && !vocabulary::is_statement(bare)
                && !test.body.defined.contains_key(bare)
        })?;
        Some(format!("the change chiefly removes code, among it `{}`", bare(&word)))
    }
}

/// Turns what a test no longer asserts into a note, if there is a reason for it.
pub(crate) fn noted(finding: Finding, reason: impl FnOnce(Kind) -> Option<String>) -> Finding {
    let is_less = matches!(finding.kind, Kind::FewerAssertions | Kind::FewerCases | Kind::EmptyTest);
    let reason = is_less.then(|| reason(finding.kind)).flatten();
    finding.noted_if(reason)
}

/// Returns a literal without its quotes, and any other word as it is.
fn bare(word: &str) -> &str {
    word.trim_start_matches(['b', 'f', 'r', 'u'])
        .strip_prefix(['"', '\'', '`'])
        .map_or(word, |text| text.trim_end_matches(['"', '\'', '`']))
}

/// Returns the reason why a test is gone that is named after code which is gone: one word of its name is one that no code has any more, or
/// two are parts of what stood there.
fn named_after(test: &Test, code: &LostCode) -> Option<String> {
    const OF_ANY: &[&str] = &[
        "test", "tests", "should", "shouldn", "shouldnt", "does", "doesn", "doesnt", "not", "and", "the",
        "for", "from", "with", "without", "when", "then", "that", "this", "into", "only", "are", "can",
        "cannot", "has", "have", "returns", "return", "throws", "throw", "raises", "raise", "works", "gets",
        "get", "set", "sets", "value", "values", "true", "false", "none", "null", "error", "errors", "all",
        "any", "new", "default", "name", "type", "data", "list", "string", "object", "called", "call",
        "calls",
    ];
    let own: BTreeSet<String> = words(test.simple_name())
        .into_iter()
        .filter(|word| word.len() > 2 && !OF_ANY.contains(&word.as_str()))
        .collect();
    let mut parts = own.iter().filter(|word| word.len() >= MIN_WORD && code.parts.contains(*word));
    let named = own
        .iter()
        .find(|word| code.lower.contains(*word))
        .or_else(|| parts.next().filter(|_| parts.next().is_some()))?;
    Some(format!("the change chiefly removes code that it is named after, by `{named}`"))
}

/// Returns what the code of the change no longer has, if it chiefly removes code.
fn dropped(changes: &[Change<'_>]) -> LostCode {
    let (mut old, mut new) = (Code::default(), Code::default());
    for change in changes.iter().filter(|change| Role::of(change.path) == Role::Source) {
        old.read(change.path, change.before.unwrap_or_default());
        new.read(change.path, change.after.unwrap_or_default());
    }
    let (lines, added) = (old.lines_beyond(&new), new.lines_beyond(&old));
    if lines < added * REMOVED_PER_ADDED {
        return LostCode::default();
    }
    let gone = old.lines.iter().filter(|(line, count)| new.lines.get(*line).is_none_or(|now| now < count));
    let gone_words: BTreeSet<String> = old.words.difference(&new.words).cloned().collect();
    LostCode {
        lines,
        lower: gone_words.iter().map(|word| word.to_lowercase()).collect(),
        words: gone_words,
        parts: gone.flat_map(|(line, _)| words(line)).collect(),
        is_all: added == 0,
    }
}

/// Lines of code, with how often each is there, and their words.
#[derive(Default)]
struct Code {
    lines: BTreeMap<String, usize>,
    words: BTreeSet<String>,
}

impl Code {
    fn read(&mut self, path: &str, text: &str) {
        static WORD: LazyLock<Option<Regex>> =
            LazyLock::new(|| Regex::new(r#""((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([A-Za-z_]\w*)"#).ok());
        let Some(pattern) = WORD.as_ref() else { return };
        // Tests among the code are no part of the program.
        let rest = (Language::of(path) == Some(Language::Rust)).then(|| TestItems::of(text)).flatten();
        let text = rest.as_ref().map_or(text, |items| &items.rest);
        let mut is_text = false;
        for line in text.lines().map(str::trim) {
            // Documentation in Python.
            let was_text = is_text;
            is_text ^= line.matches("\"\"\"").count() % 2 == 1;
            if was_text || is_text || line.starts_with("\"\"\"") {
                continue;
            }
            if line.is_empty() || ["#", "//", "*", "/*"].iter().any(|sign| line.starts_with(sign)) {
                continue;
            }
            *self.lines.entry(line.to_owned()).or_default() += 1;
            for found in pattern.captures_iter(line) {
                self.words.extend(found.iter().skip(1).flatten().map(|word| word.as_str().to_owned()));
            }
        }
    }

    /// Returns the number of lines that this has more often than another one.
    fn lines_beyond(&self, other: &Self) -> usize {
        let of = |line: &String| other.lines.get(line).copied().unwrap_or(0);
        self.lines.iter().map(|(line, count)| count.saturating_sub(of(line))).sum()
    }
}
