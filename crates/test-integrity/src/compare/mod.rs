//! Compares the tests before a change with those after it: each one with what became of it, in one module for each way in which it can
//! demand less. It uses the pairs of [`crate::matching`], and the comparison of assertions of [`crate::weaker`].

mod cases;
mod doubles;
mod elsewhere;
pub(crate) mod excused;
mod flips;
mod groups;
mod loops;
mod looser;
mod losses;
mod lost;
mod messages;
mod needless;
mod outcomes;
mod projections;
mod recomputed;
mod shadow;
mod skips;
mod support;
mod unchanged;
mod waiting;

use crate::Change;
use crate::assertion::Assertion;
use crate::extract::{Test, tests as read};
use crate::files::{Role, stem};
use crate::finding::{Finding, Kind, short};
use crate::matching::definitions::Removed;
use crate::matching::inherited;
use crate::matching::reasons::{Dropped, Successors, noted};
use crate::matching::renamed::is_renamed;
use crate::matching::state::{State, moved_assertions};
use crate::matching::{Heirs, Tables, pairs};
use crate::weaker::subsumption::{Said, has_rows_for};
use crate::weaker::{fewer_demand, is_part, is_said_beside, looks_away, most_alike, nearest, weaker};
use cases::fewer_cases;
use doubles::{mocked, replaced};
use loops::{only_of_found, only_of_items};
use lost::Rest;
use needless::{excuse_awaited_errors, excuse_called_anyway, excuse_panic, excuse_passes, excuse_rules};
use recomputed::recomputed;
use shadow::{foreign, shadow};
use std::collections::BTreeSet;
use unchanged::without_same;

/// Most pairs of changed assertions of one test that are compared.
const MAX_PAIRED: usize = 100_000;

/// Returns what happened to the tests of the changed files.
#[expect(clippy::too_many_lines, reason = "each step needs what the ones before it found")]
pub(crate) fn tests(changes: &[Change<'_>], unchanged: &[Change<'_>]) -> Vec<Finding> {
    let (mut before, mut after) = (State::default(), State::default());
    let (mut helped, mut helps) = (Vec::new(), Vec::new());
    for change in changes.iter().filter(|change| matches!(Role::of(change.path), Role::Test | Role::Source)) {
        for (text, state, functions) in
            [(change.before, &mut before, &mut helped), (change.after, &mut after, &mut helps)]
        {
            if let Some(text) = text {
                let file = read(change.path, text);
                functions.extend(support::functions(change.path, &file));
                // What tests call from a package of helpers is an assertion of theirs already.
                if !support::is_package(change.path) {
                    state.add(change.path, file);
                }
            }
        }
    }
    // What runs the tests of a class may be in a file that stays.
    if after.tests.iter().any(inherited::is_of_base) {
        for file in unchanged.iter().filter(|file| matches!(Role::of(file.path), Role::Test)) {
            let classes = read(file.path, file.after.unwrap_or_default()).classes;
            before.classes.extend(classes.iter().cloned());
            after.classes.extend(classes);
        }
    }
    support::lend_helpers(unchanged, &mut before, &mut after);
    before.settle();
    after.settle();
    support::leave_idle_hooks(&mut before, &mut after);
    let removed = Removed::by(changes);
    let matching = pairs(&before.tests, &after.tests);
    let context = Context {
        before: &before,
        after: &after,
        added: changes
            .iter()
            .filter(|change| change.before.is_none() && !is_renamed(change, changes))
            .filter(|change| matches!(Role::of(change.path), Role::Test | Role::Source))
            .map(|change| stem(change.path))
            .collect(),
        changes,
        removed: &removed,
        dropped: Dropped::by(changes, &removed),
        moved: moved_assertions(&before, &after),
        new: matching.new.iter().map(|at| &after.tests[*at]).collect(),
    };

    let mut findings = Vec::new();
    let mut successors = Successors::new(&after, context.new.iter().copied());
    for (one, other) in &matching.pairs {
        let (one, other) = (&before.tests[*one], &after.tests[*other]);
        let mut found = Vec::new();
        context.pair(one, other, &mut found);
        found.retain(|finding| !looser::is_shown(finding, one, other, changes));
        // What is lost in another way as well is told once.
        if found.is_empty() {
            found = outcomes::of_pair(one, other, changes);
        }
        if found.is_empty() {
            found.extend(waiting::of_pair((&before, one), (&after, other)));
        }
        if found.is_empty() && !removed.concerns_test(one) {
            found.extend(projections::of_pair((&before, one), (&after, other)));
            if found.is_empty() {
                found.extend(looser::of_pair(one, (&after, other), changes));
            }
        }
        if other.is_hook() {
            found = found.into_iter().map(|finding| support::about_hook(finding, &other.name)).collect();
        }
        findings.extend(found.into_iter().map(|finding| {
            noted(finding, |kind| {
                let asserted = || before.assertions(&one.body, None);
                let by_new = || successors.take_place_of_part(kind, (one, other), asserted);
                context.dropped.reason_of_pair(one, other).or_else(by_new)
            })
        }));
        findings.extend(replaced((&before, one), (&after, other)));
    }
    let callers = || matching.pairs.iter().map(|(one, _)| &before.tests[*one]);
    for (one, other) in support::pairs(&helped, &helps) {
        // What a test loses with its helper is told of the test, and what a hook loses of the hook.
        let is_told = |test: &Test| {
            test.body.calls.contains(&one.name)
                || test.is_hook() && test.path == one.path && test.simple_name() == one.name
        };
        let mut found = Vec::new();
        if !callers().any(is_told) {
            context.pair_assertions(one, other, &mut found);
        }
        found.extend(flips::overwritten(one, other));
        findings.extend(found.into_iter().map(|finding| support::about_helper(finding, &one.name)));
    }
    let mut around = State::default();
    if !matching.gone.is_empty() {
        for file in unchanged.iter().filter(|file| matches!(Role::of(file.path), Role::Test)) {
            around.add(file.path, read(file.path, file.after.unwrap_or_default()));
        }
    }
    let heirs = [Heirs::new(&after, &context.new), Heirs::new(&around, &[])];
    // A test may have become a table, and taken in others. If it has no row for what it was, it is gone like those.
    let merged: Vec<usize> = matching
        .pairs
        .iter()
        .filter(|pair| context.is_merged(**pair, &matching.gone))
        .map(|(one, _)| *one)
        .collect();
    let grown = matching.pairs.iter().map(|(one, other)| {
        let had = if merged.contains(one) { 0 } else { before.tests[*one].rows() };
        (&after.tests[*other], had)
    });
    let mut tables = Tables::new(&after, context.new.iter().map(|test| (*test, 0)).chain(grown));
    let is_new = |path: &str| changes.iter().any(|change| change.path == path && change.before.is_none());
    let (mut lost, mut taken) = (Vec::new(), Vec::new());
    for at in matching.gone.iter().chain(&merged) {
        let test = &before.tests[*at];
        let mut asserted = before.assertions(&test.body, None);
        asserted.retain(|assertion| !assertion.is_link());
        if let Some(heir) = heirs.iter().find_map(|heirs| heirs.heir_of(test, &asserted)) {
            taken.push(heir);
        } else if !removed.concerns_test(test)
            && !before
                .names
                .get(&test.path)
                .is_some_and(|names| removed.is_of_lost_import(test, &names.imported))
            && !skips::is_trivial(&asserted, test)
            && !support::starts_nothing(test, changes, unchanged)
            && !tables.take_in(test, &asserted, is_new)
            && !skips::runs_lost_suite(test, changes)
            && !(test.is_hook() && context.is_kept(test, &asserted))
        {
            lost.push((test, asserted));
        }
    }
    // What stands for other tests is free for none.
    let stands_for_others =
        |test: &Test| tables.have_taken(test) || taken.iter().any(|heir| std::ptr::eq(*heir, test));
    let free = context.new.iter().copied().filter(|test| !stands_for_others(test));
    let mut successors = Successors::new(&after, free);
    findings.extend(lost.into_iter().map(|(test, asserted)| {
        let what = if test.is_hook() { "what asserts for many tests," } else { "the test" };
        let message = format!("{what} `{}` is gone", test.name);
        let by_code = || context.dropped.reason_of_gone(test);
        let reason = successors.take_place_of(test, &asserted).or_else(by_code);
        Finding::new(&test.path, test.line, Kind::VanishedTest, message).noted_if(reason)
    }));
    for at in &matching.new {
        let test = &after.tests[*at];
        if let Some(line) = test.focus {
            findings.push(skips::focused(test, line));
        }
    }
    findings.extend(skips::of_helpers(&before, &after, changes));
    findings.extend(mocked(&before, &after, changes, &context.new));
    findings
}

/// What the comparison of one pair of tests asks of the whole change.
struct Context<'a> {
    before: &'a State,
    after: &'a State,
    /// Names of files that the change adds, without their extensions.
    added: Vec<&'a str>,
    changes: &'a [Change<'a>],
    /// What the program no longer has.
    removed: &'a Removed<'a>,
    /// What the program chiefly lost.
    dropped: Dropped<'a>,
    /// Assertions that some test makes, if the one that made them no longer does.
    moved: BTreeSet<String>,
    /// Tests that were not there before, under whatever name.
    new: Vec<&'a Test>,
}

impl Context<'_> {
    /// Returns whether a test was merged with others that are gone into a table, which has no row for what it asserted.
    fn is_merged(&self, (one, other): (usize, usize), gone: &[usize]) -> bool {
        let (before, after) = (&self.before.tests[one], &self.after.tests[other]);
        before.rows() == 1
            && after.rows() > 1
            && before.simple_name() != after.simple_name()
            && gone.iter().any(|at| self.before.tests[*at].path == before.path)
            && !has_rows_for(
                after,
                &self.after.assertions(&after.body, None),
                &self.before.assertions(&before.body, None),
            )
    }

    fn pair(&self, before: &Test, after: &Test, findings: &mut Vec<Finding>) {
        findings.extend(skips::of_pair(before, after));
        if skips::was_in_helper(before, self.before, self.after) {
            findings.retain(|finding| finding.kind != Kind::ConditionalTest);
        }
        findings.extend(flips::of_pair(before, after));
        let mut found = |line: usize, kind: Kind, message: String| {
            findings.push(Finding::new(&after.path, line, kind, message));
        };
        let name = &after.name;
        if let (Some(old), Some(new)) =
            (self.before.names.get(&before.path), self.after.names.get(&after.path))
            && let Some(shadow) = shadow((before, old), (after, new))
            && (shadow.asserts || !self.removed.has_come_from_tests(shadow.name, &after.path))
        {
            found(shadow.line, Kind::WeakerAssertion, shadow.message(name));
        } else if let (Some(old), Some(new)) =
            (self.before.names.get(&before.path), self.after.names.get(&after.path))
            && let Some(foreign) = foreign((before, old), (after, new), &self.added)
            && !self.removed.has_moved(foreign)
        {
            let message = format!("`{foreign}`, which the test `{name}` is about, comes from somewhere else");
            found(after.line, Kind::MockedSubject, message);
        }
        if let (None, Some(line)) = (before.focus, after.focus) {
            findings.push(skips::focused(after, line));
            return self.pair_assertions(before, after, findings);
        }
        let fewer = fewer_cases((self.before, before), (self.after, after));
        let split = self.after.tests.len() > self.before.tests.len();
        if let Some((old, new)) = fewer.filter(|_| !split && !self.cases_are_about_removed(before, after)) {
            found(
                after.line,
                Kind::FewerCases,
                format!("the test `{name}` has {new} instead of {old} cases"),
            );
        }
        self.pair_assertions(before, after, findings);
    }

    /// Returns whether the cases that are gone name something that the program no longer defines.
    fn cases_are_about_removed(&self, before: &Test, after: &Test) -> bool {
        let kept: BTreeSet<&str> = after.body.words.iter().map(String::as_str).collect();
        let gone: Vec<&str> =
            before.body.words.iter().map(String::as_str).filter(|word| !kept.contains(word)).collect();
        self.removed.concerns(before, gone)
    }

    fn pair_assertions(&self, before: &Test, after: &Test, findings: &mut Vec<Finding>) {
        // What never ran demanded nothing.
        if before
            .body
            .skip
            .as_ref()
            .is_some_and(|skip| !skip.is_conditional && !skip.text.starts_with("return"))
        {
            return;
        }
        let mut found = |line: usize, kind: Kind, message: String| {
            findings.push(Finding::new(&after.path, line, kind, message));
        };
        let name = &after.name;
        let caught = format!("the failure of an assertion of `{name}` is caught");
        let (mut old, mut new) = (
            self.before.assertions(&before.body, Some(&after.body)),
            self.after.assertions(&after.body, None),
        );
        excuse_panic(&mut old, before, after);
        excuse_called_anyway(&mut old, after);
        excuse_passes(&mut new, before, after);
        let (had, has) = (old.len(), new.len());
        let (then, now) = (old.clone(), new.clone());
        let rows = |test: &Test| test.cases.unwrap_or(1).max(1) + test.body.rows.iter().sum::<usize>();
        let has_more_cases = rows(after) > rows(before);
        let said = Said::new(after, &now, &then, has_more_cases);
        let runs = after.body.skip.as_ref().is_none_or(|skip| skip.is_conditional);
        if had > 0 && has == 0 {
            let is_about_removed = old.iter().any(|gone| self.removed.concerns_assertion(before, gone));
            let is_kept = self.is_moved(&old) || before.is_hook() && self.is_kept(before, &old);
            if runs && !is_about_removed && !is_kept {
                found(
                    after.line,
                    Kind::EmptyTest,
                    format!(
                        "the test `{name}` no longer asserts anything; it made {had} assertion{}",
                        if had == 1 { "" } else { "s" }
                    ),
                );
            }
            return;
        }

        let (mut left, looser) = without_same(old, &mut new);
        excuse_awaited_errors(&mut left, before, after);
        excuse_rules(&mut left, &new);
        // What went to another test became none of this one's.
        left.retain(|assertion| !self.moved.contains(&assertion.text));
        for (other, kind, message) in looser {
            found(other.line, kind, format!("in `{name}`: {message}"));
        }
        if left.len().saturating_mul(new.len()) > MAX_PAIRED {
            return;
        }
        let by_loop = only_of_items(&left, before, after).or_else(|| only_of_found(before, after));
        if let Some((line, message)) = by_loop {
            found(line, Kind::ConditionalTest, format!("in `{name}`: {message}"));
        }

        // What was changed: first by what it is about, then by its words.
        let mut dropped = Vec::new();
        for assertion in left {
            let same =
                |other: &Assertion| !assertion.subject.is_empty() && other.subject == assertion.subject;
            let by_subject = nearest(&assertion, &new, same)
                .or_else(|| new.iter().position(|other| is_part(&assertion, other)));
            let at = by_subject.or_else(|| most_alike(&assertion, &new));
            let Some(at) = at else {
                dropped.push(assertion);
                continue;
            };
            let other = new.remove(at);
            let names = self.before.names.get(&before.path).zip(self.after.names.get(&after.path));
            let by_program = names.and_then(|(old, new)| recomputed((&assertion, old), (&other, new)));
            if let Some(function) = by_program {
                let (old, new) = (short(&assertion.text), short(&other.text));
                let message =
                    format!("in `{name}`: `{old}` became `{new}`, whose expected value is from `{function}`");
                found(other.line, Kind::WeakerAssertion, message);
            } else if assertion.is_failure() && !other.is_failure() && other.is_conditional {
                let text = short(&assertion.text);
                let message =
                    format!("in `{name}`: `{text}` is gone, and nothing notices if the failure is missing");
                found(other.line, Kind::WeakerAssertion, message);
            } else if let Some((kind, message)) = weaker(&assertion, &other) {
                // What is only alike may be the wrong one of several, as long as as many demand as much.
                let is_certain =
                    by_subject.is_some() || kind != Kind::WeakerAssertion || looks_away(&assertion, &other);
                if (!assertion.is_link() || before.simple_name() == after.simple_name())
                    && !said.covers(&assertion)
                    && !said.refuses(&assertion, &other)
                    && !is_said_beside(&assertion, &other, &new, &after.body.words)
                    && !self.removed.concerns_assertion(before, &assertion)
                    && (is_certain || fewer_demand(assertion.strength, &then, &now))
                {
                    found(other.line, kind, format!("in `{name}`: {message}"));
                }
            } else if other.is_swallowed && !assertion.is_swallowed {
                found(other.line, Kind::SwallowedFailure, caught.clone());
            } else if other.is_conditional && !assertion.is_conditional && !assertion.is_handling {
                let message = format!("an assertion of `{name}` is now made only under a condition");
                found(other.line, Kind::ConditionalTest, message);
            }
        }
        let rest = Rest { before, after, then: &then, said: &said, dropped, new };
        findings.extend(self.judge(rest));
    }
}
