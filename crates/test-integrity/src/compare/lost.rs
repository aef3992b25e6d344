//! Judges assertions that a test no longer makes, and that none of its present assertions has replaced.

use std::collections::BTreeSet;

use super::needless::{excuse_accepted, excuse_missing_items};
use super::{Context, outcomes};
use crate::assertion::vacuous::is_of_traits;
use crate::assertion::{Assertion, Strength};
use crate::extract::Test;
use crate::finding::{Finding, Kind, short};
use crate::weaker::implied::{is_implied, is_taken_out};
use crate::weaker::narrower::{is_lesser, root};
use crate::weaker::subsumption::{Said, bare};
use crate::weaker::{counts_for_nothing, fewer_demand, is_keyword, is_mere_error_check};

/// What is left of a pair of tests once the assertions that belong together are compared.
pub(super) struct Rest<'a> {
    pub(super) before: &'a Test,
    pub(super) after: &'a Test,
    /// All assertions before the change.
    pub(super) then: &'a [Assertion],
    pub(super) said: &'a Said<'a>,
    /// Those that became no other.
    pub(super) dropped: Vec<Assertion>,
    /// Those that no other became.
    pub(super) new: Vec<Assertion>,
}

impl Context<'_> {
    /// Returns what it means that some assertions of a test are no longer made.
    pub(super) fn judge(&self, rest: Rest<'_>) -> Vec<Finding> {
        let Rest { before, after, then, said, mut dropped, new } = rest;
        let name = &after.name;
        let mut findings = Vec::new();
        let mut found = |line: usize, kind: Kind, message: String| {
            findings.push(Finding::new(&after.path, line, kind, message));
        };
        for other in new.iter().filter(|other| other.strength == Strength::Nothing) {
            if !dropped.is_empty() {
                found(
                    other.line,
                    Kind::AlwaysTrue,
                    format!("in `{name}`: `{}` is always true", short(&other.text)),
                );
            }
        }
        let is_unmissed = new.iter().all(|other| other.is_conditional) && !new.is_empty();
        if let Some(failure) = dropped.iter().find(|dropped| dropped.is_failure()).filter(|_| is_unmissed) {
            let text = short(&failure.text);
            let message =
                format!("in `{name}`: `{text}` is gone, and nothing notices if the failure is missing");
            found(after.line, Kind::WeakerAssertion, message);
            return findings;
        }
        let is_certain =
            dropped.iter().any(|dropped| !dropped.is_conditional && dropped.strength > Strength::Nothing);
        if is_unmissed && is_certain {
            let message = format!("an assertion of `{name}` is now made only under a condition");
            found(new[0].line, Kind::ConditionalTest, message);
        }
        // What the test did with something that is gone, it no longer asserts.
        let kept: BTreeSet<&String> = after.body.words.iter().collect();
        let without = before.body.words.iter().filter(|word| !kept.contains(word)).map(String::as_str);
        let removed = self.removed.count(before, without);
        let expected = said.new_failures(then);
        dropped.retain(|assertion| {
            assertion.strength > Strength::Nothing
                && !is_mere_error_check(assertion)
                && !said.covers(assertion)
                && !self.removed.concerns_assertion(before, assertion)
                && !self.moved.contains(&assertion.text)
                && !expected.iter().any(|failure| failure.tells(assertion))
                && !counts_for_nothing(assertion, then, after)
                && !is_implied(assertion, then)
                && !is_taken_out(assertion, &after.body.words)
                && !is_item_of_whole(assertion, said.all(), after)
        });
        dropped.retain(|gone| !outcomes::can_no_longer_fail(gone, after, self.changes));
        if is_set_up_by_runner(before, after) {
            dropped.retain(|assertion| !is_of_set_up(assertion));
        }
        dropped.retain(|assertion| !is_of_clean_up(assertion, before, &self.after.functions));
        let gone = set_up_gone(&mut dropped, before, after);
        dropped.drain(..gone);
        excuse_missing_items(&mut dropped, then, said.all());
        excuse_accepted(&mut dropped, before, then, said.all());
        if dropped.len() <= removed {
            return findings;
        }
        let (now, had, has) = (said.all(), then.len(), said.all().len());
        if has < had && !self.is_split_off(&dropped, before) {
            let first = &dropped[0];
            let message = format!(
                "the test `{name}` makes {has} instead of {had} assertions; gone is `{}`",
                short(&first.text)
            );
            found(after.line, Kind::FewerAssertions, message);
        } else if let ([gone], [other]) = (dropped.as_slice(), new.as_slice())
            && gone.tolerance.zip(other.tolerance).is_some_and(|(was, is)| is > was * 1.000_001)
        {
            let (gone, now) = (short(&gone.text), short(&other.text));
            let message = format!("in `{name}`: `{gone}` became `{now}`, which accepts more");
            found(other.line, Kind::WiderTolerance, message);
        } else if let ([gone], [other]) = (dropped.as_slice(), new.as_slice())
            && (other.strength <= Strength::Present || is_of_traits(&other.text) && !is_of_traits(&gone.text))
            && gone.strength > Strength::Bounded
            // What is empty or missing is often said in this way.
            && (!other.text.contains("Null") || other.text.contains("NotNull"))
            && ![" not ", " ! ", "None"].iter().any(|word| other.text.contains(word))
            && gone.content().any(|word| !is_keyword(word) && other.content().any(|theirs| theirs == word))
        {
            let message = format!(
                "in `{name}`: `{}` became `{}`, which checks hardly anything",
                short(&gone.text),
                short(&other.text)
            );
            found(other.line, Kind::WeakerAssertion, message);
        } else if let Some((gone, other)) = dropped
            .iter()
            .flat_map(|gone| new.iter().map(move |other| (gone, other)))
            .filter(|(gone, other)| new.len() == 1 || root(&gone.subject) == root(&other.subject))
            .find(|(gone, other)| is_lesser(gone, other) && fewer_demand(gone.strength, then, now))
        {
            let (gone, now) = (short(&gone.text), short(&other.text));
            let message = format!("in `{name}`: `{gone}` became `{now}`, which accepts more");
            found(other.line, Kind::WeakerAssertion, message);
        } else if let Some(gone) = dropped.iter().find(|gone| fewer_demand(gone.strength, then, now))
            && new.iter().any(|other| after.body.assertions.iter().all(|own| own.line != other.line))
        {
            // It went to a helper, which asks for less.
            let message = format!("in `{name}`: `{}` is gone, and nothing checks as much", short(&gone.text));
            found(new[0].line, Kind::WeakerAssertion, message);
        }
        findings
    }
}

/// Returns whether an assertion says that a function of the tests' own, which is gone, has cleaned up.
fn is_of_clean_up(assertion: &Assertion, before: &Test, now: &BTreeSet<String>) -> bool {
    let cleans = |name: &str| ["clean", "teardown", "tearDown"].iter().any(|start| name.starts_with(start));
    let is_given = |three: &[String]| {
        let [name, sign, call] = three else { return false };
        matches!(sign.as_str(), "=" | ":=")
            && cleans(call)
            && !now.contains(call)
            && assertion.content().any(|word| word == name)
    };
    before.body.words.windows(3).any(is_given)
}

/// Returns whether the first item of a list was looked at that is now compared as a whole, with all that was expected of the item among
/// what the test says: `f ( ) [ 0 ] . name == "a"` and `f ( ) == [ { name : "a" } ]`.
fn is_item_of_whole(gone: &Assertion, now: &[Assertion], after: &Test) -> bool {
    let Some((list, _)) = gone.subject.split_once(" [ 0 ]") else { return false };
    let Some((_, expected)) = gone.operands() else { return false };
    let is_literal = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\'' | '`'))
    };
    let said =
        |word: &str| after.body.words.iter().chain(&after.body.cells).any(|other| bare(other) == bare(word));
    let mut literals = expected.split(' ').filter(is_literal).peekable();
    let is_whole = |other: &&Assertion| {
        other.strength == Strength::Exact
            && !other.is_conditional
            && !other.is_swallowed
            && other.subject == list
    };
    literals.peek().is_some() && literals.all(said) && now.iter().any(|other| is_whole(&other))
}

/// Returns whether Go's runner sets something up, and takes it away, that a test of its own did before.
fn is_set_up_by_runner(before: &Test, after: &Test) -> bool {
    let count = |test: &Test| {
        let calls = test.body.words.windows(3).filter(|three| {
            three[0] == "t" && three[1] == "." && matches!(three[2].as_str(), "TempDir" | "Setenv" | "Chdir")
        });
        calls.count()
    };
    count(after) > count(before)
}

/// Returns whether an assertion demands that something could be set up or taken away: `assert.NoError(t, os.RemoveAll(folder))`.
fn is_of_set_up(assertion: &Assertion) -> bool {
    const CALLS: &[&str] =
        &["os . Remove", "os . Setenv", "os . Unsetenv", "os . Chdir", "os . MkdirTemp", "ioutil . TempDir"];
    assertion.strength == Strength::Present && CALLS.iter().any(|call| assertion.subject.starts_with(call))
}

/// Puts first the demands that there is no error of calls that the test no longer makes, and returns how many there are.
fn set_up_gone(dropped: &mut [Assertion], before: &Test, after: &Test) -> usize {
    let is_bound = |two: &&[String], name: &str| two[0] == name && matches!(two[1].as_str(), ":=" | "=");
    let ignored = |test: &Test| test.body.words.iter().filter(|word| *word == "_").count();
    let fewer = |name: &str| {
        let count = |test: &Test| test.body.words.windows(2).filter(|two| is_bound(two, name)).count();
        count(before).saturating_sub(count(after))
    };
    let is_mere = |assertion: &Assertion| {
        assertion.strength == Strength::Present
            && assertion.subject.ends_with("err")
            && !assertion.subject.contains(' ')
    };
    dropped.sort_by_key(|assertion| !is_mere(assertion));
    let mere = dropped.iter().take_while(|assertion| is_mere(assertion));
    let gone = dropped.first().map_or(0, |first| fewer(&first.subject));
    if ignored(after) > ignored(before) { 0 } else { mere.count().min(gone) }
}
