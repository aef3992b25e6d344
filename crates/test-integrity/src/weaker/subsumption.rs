//! Statements of a test after the change, for telling whether something that it said before is still said.

use std::collections::BTreeSet;

use super::ignoring::leaves_out;
use super::kept::counts_assertions;
use super::reworded::CONNECTING;
use super::{demands_the_same, is_count, is_keyword, whole};
use crate::assertion::{Assertion, Strength, is_mere_failure};
use crate::extract::Test;
use crate::syntax::literals;

/// Words of assertions on a failure that was caught before it was looked at.
const OF_FAILURES: [&str; 9] =
    ["excinfo", "exc_info", "exc", "exception", "error", "err", "value", "exit_code", "returncode"];

/// What a test says after the change.
pub(crate) struct Said<'a> {
    assertions: Vec<(&'a Assertion, BTreeSet<&'a str>)>,
    all: &'a [Assertion],
    /// Those that were not there before.
    fresh: Vec<&'a Assertion>,
    /// Tokens of the whole test.
    words: BTreeSet<&'a str>,
    /// Whether it has more cases than before: an assertion may have become one of them.
    has_more_cases: bool,
}

impl<'a> Said<'a> {
    /// Takes a test after the change, with its assertions, and those before.
    pub(crate) fn new(
        test: &'a Test,
        assertions: &'a [Assertion],
        before: &[Assertion],
        has_more_cases: bool,
    ) -> Self {
        let known: BTreeSet<&str> = before.iter().map(|old| old.text.as_str()).collect();
        let is_fresh = |assertion: &&Assertion| {
            assertion.strength > Strength::Nothing && !known.contains(assertion.text.as_str())
        };
        Self {
            all: assertions,
            fresh: assertions.iter().filter(is_fresh).collect(),
            assertions: assertions
                .iter()
                .map(|assertion| (assertion, assertion.content().collect()))
                .collect(),
            words: test.body.words.iter().map(String::as_str).collect(),
            has_more_cases,
        }
    }

    /// Returns all assertions.
    pub(crate) fn all(&self) -> &'a [Assertion] {
        self.all
    }

    /// Returns whether one assertion, or a case, says what another assertion said.
    pub(crate) fn covers(&self, assertion: &Assertion) -> bool {
        let known: BTreeSet<&str> =
            without_places(&assertion.text).filter(|word| !is_keyword(word)).collect();
        // What all cases have in common may stand somewhere else.
        let has_words = || {
            let text = without_makers(&assertion.text);
            let mut subjects = names(&text).peekable();
            known.is_subset(&self.words)
                || subjects.peek().is_some() && subjects.all(|name| self.words.contains(name))
        };
        let by_case = self.has_more_cases
            && has_words()
            && self.assertions.iter().any(|(other, _)| other.strength >= assertion.strength);
        let by_assertion = |(other, words): &(&Assertion, BTreeSet<&str>)| {
            other.strength >= assertion.strength
                && other.text != assertion.text
                && (!is_of_calls(assertion) || is_of_calls(other))
                && !leaves_out(assertion, other)
                && is_as_tight(other, assertion)
                && known.is_subset(words)
        };
        // Its number is none that the program gives.
        if counts_assertions(assertion) {
            return whole::is_counted(&self.fresh, self.all, &self.words);
        }
        !known.is_empty()
            && (by_case
                || self.assertions.iter().any(by_assertion)
                || self.fresh.iter().any(|other| demands_the_same(assertion, other))
                || self.is_part_of_whole(assertion)
                || whole::holds(assertion, &self.fresh, self.all, &self.words)
                || self.is_in_snapshot(assertion)
                || self.is_of_one_call(assertion)
                || self.is_made_always(assertion))
    }

    /// Returns whether the call that an assertion was about is expected to fail now, in a way that is looked at: that is another
    /// expectation, not a weaker one.
    pub(crate) fn refuses(&self, assertion: &Assertion, failure: &Assertion) -> bool {
        let is_failure = |other: &&&Assertion| other.is_failure();
        failure.is_failure()
            && failure.strength >= Strength::Bounded
            && assertion.subject.contains('(')
            && failure.text.contains(&assertion.subject)
            && (failure.strength == Strength::Exact
                || self.fresh.iter().filter(|other| !is_failure(other)).any(|other| {
                    other.strength >= Strength::Bounded
                        && ["Message", "message", ". what", "str ("]
                            .iter()
                            .any(|word| other.text.contains(word))
                }))
    }

    /// Returns whether an assertion on the one call of a mock says what one on its calls said.
    fn is_of_one_call(&self, assertion: &Assertion) -> bool {
        let is_of_calls = |word: &str| {
            let word = crate::assertion::vocabulary::plain(word);
            word.contains("called") || word == "callcount"
        };
        let own: Vec<&str> = assertion
            .content()
            .filter(|word| !is_keyword(word) && !is_of_calls(word) && *word != "1")
            .filter(|word| !CONNECTING.contains(word))
            .collect();
        assertion.content().any(is_of_calls)
            && self.fresh.iter().any(|other| {
                let theirs: BTreeSet<&str> = other.content().collect();
                let is_named = |part: &str| {
                    theirs.iter().any(|word| crate::assertion::vocabulary::plain(word).contains(part))
                };
                let is_counted = || self.fresh.iter().any(|count| count.text.contains("CalledTimes ( 1 )"));
                let is_once = is_named("oncewith") || is_named("calledwith") && is_counted();
                is_once && !own.is_empty() && own.iter().all(|word| theirs.contains(word))
            })
    }

    /// Returns whether what was asserted of something under a condition is now asserted of it without one.
    fn is_made_always(&self, assertion: &Assertion) -> bool {
        let is_same = |other: &&&Assertion| {
            !other.is_conditional
                && other.subject == assertion.subject
                && other.strength >= assertion.strength
        };
        assertion.is_conditional
            && !assertion.subject.is_empty()
            && self.fresh.iter().any(|other| is_same(&other))
    }

    /// Returns whether a snapshot in the test itself, of the same value, shows all that an assertion names.
    fn is_in_snapshot(&self, assertion: &Assertion) -> bool {
        let given: Vec<&str> = literals(&assertion.text).filter(|text| !text.is_empty()).collect();
        let mut snapshots =
            self.fresh.iter().filter_map(|other| other.text.split_once(". toMatchInlineSnapshot ("));
        snapshots.any(|(subject, snapshot)| {
            let has = |word: &str| subject.split(' ').any(|other| other == word) || snapshot.contains(word);
            let mut own = names(&assertion.text).filter(|name| !matches!(*name, "as" | "any"));
            snapshot.contains('{') && own.all(has) && given.iter().all(|text| snapshot.contains(text))
        })
    }

    /// Returns whether an assertion on the whole value says what one on a part of it said: all of its literals, about something
    /// of the same name.
    fn is_part_of_whole(&self, assertion: &Assertion) -> bool {
        let texts: Vec<&str> = literals(&assertion.text).filter(|text| !text.is_empty()).collect();
        let is_number = |word: &&str| word.starts_with(|first: char| first.is_ascii_digit());
        let numbers: Vec<&str> = assertion.content().filter(is_number).collect();
        let subjects: BTreeSet<&str> = names(&assertion.text).collect();
        let is_whole = |(other, words): &(&Assertion, BTreeSet<&str>)| {
            let theirs: BTreeSet<&str> = names(&other.text).collect();
            other.strength == Strength::Exact
                && texts.iter().all(|text| literals(&other.text).any(|whole| whole.contains(text)))
                && numbers.iter().all(|number| words.contains(number))
                && subjects.intersection(&theirs).count() * 2 > subjects.len()
        };
        assertion.strength < Strength::Exact
            && !(texts.is_empty() && numbers.is_empty())
            && self.assertions.iter().any(is_whole)
    }

    /// Returns the failures that the test expects, and did not expect before.
    pub(crate) fn new_failures(&self, before: &[Assertion]) -> Vec<ExpectedFailure<'a>> {
        let all = self.assertions.iter().map(|(assertion, _)| *assertion);
        let new = all.filter(|assertion| {
            assertion.is_failure() && before.iter().all(|old| old.text != assertion.text)
        });
        new.map(ExpectedFailure).collect()
    }
}

/// Failure that a test expects, such as `pytest.raises(ValueError, match="no such")`.
pub(crate) struct ExpectedFailure<'a>(&'a Assertion);

impl ExpectedFailure<'_> {
    /// Returns whether the expectation says what an assertion on the caught failure said, if it is one of kind and text. An exit
    /// code other than 0 is part of what a failure is.
    pub(crate) fn tells(&self, assertion: &Assertion) -> bool {
        let mut words = assertion.text.split(' ');
        let expected = self.0.text.to_lowercase();
        if is_mere_failure(assertion) {
            return true;
        }
        self.0.strength == Strength::Exact
            && words.clone().any(|word| OF_FAILURES.contains(&word))
            && !words.any(|word| word == "0" && !assertion.text.contains("[ 0 ]"))
            && literals(&assertion.text).all(|literal| expected.contains(&literal.to_lowercase()))
    }
}

/// Returns whether a test, with these assertions, says all that some other assertions say: as much is demanded, and their
/// literals are in the assertion or in the test's cases.
pub(crate) fn says_all(test: &Test, assertions: &[Assertion], asserted: &[Assertion]) -> bool {
    let cases = test.cases.is_some_and(|cases| cases > 1).then_some(&[] as &[String]);
    says_all_of(test, cases, assertions, asserted)
}

/// Returns whether a test that grew to a table says all that some assertions say, with its assertions and in its rows.
pub(crate) fn has_rows_for(test: &Test, assertions: &[Assertion], asserted: &[Assertion]) -> bool {
    says_all_of(test, Some(&test.body.cells), assertions, asserted)
}

fn says_all_of(
    test: &Test,
    cells: Option<&[String]>,
    assertions: &[Assertion],
    asserted: &[Assertion],
) -> bool {
    let of_cases: BTreeSet<&str> = cells.map_or_else(BTreeSet::new, |cells| {
        test.body.words.iter().chain(cells).flat_map(|word| word.split(' ')).map(bare).collect()
    });
    let mut free: Vec<&Assertion> = assertions.iter().collect();
    let mut demands = asserted.iter().filter(|assertion| assertion.strength > Strength::Nothing);
    demands.all(|assertion| {
        // Methods of a Go suite name it in each of their statements.
        let is_own = |word: &&str| !is_keyword(word) && *word != "s";
        // Of names of the test's own, what they stand for counts as well.
        let said: Vec<&str> = values(assertion).filter(is_own).collect();
        let meant: Option<Vec<&str>> = assertion.resolved.as_ref().map(|(one, two)| {
            one.split(' ').chain(two.split(' ')).filter(|word| is_value(word)).filter(is_own).collect()
        });
        let fits = |other: &&Assertion| {
            [Some(&said), meant.as_ref()].into_iter().flatten().any(|own| {
                let theirs: BTreeSet<&str> = values(other).collect();
                // A pattern that is plain text says what the text says.
                let is_known = |word: &&&str| theirs.contains(**word) || of_cases.contains(bare(word));
                let is_literal =
                    |word: &&&str| !word.starts_with(|first: char| first.is_alphabetic() || first == '_');
                (other.strength >= assertion.strength || is_count(other) && is_count(assertion))
                    && own.iter().filter(is_literal).all(|word| is_known(&word))
                    && own.iter().filter(is_known).count() * 2 >= own.len()
            })
        };
        let Some(at) = free.iter().position(fits) else { return false };
        // A table says the same of every case.
        if cells.is_none() {
            free.remove(at);
        }
        true
    })
}

/// Returns the names and literals of an assertion.
fn values(assertion: &Assertion) -> impl Iterator<Item = &str> {
    assertion.text.split(' ').filter(|word| is_value(word))
}

/// Returns whether a token is a name or a literal, which may be the empty text.
pub(crate) fn is_value(word: &str) -> bool {
    word.chars().any(char::is_alphanumeric) || matches!(word, "\"\"" | "''" | "``")
}

/// Returns whether an assertion has all literals of another one, and most of its words.
pub(crate) fn says_the_same(other: &Assertion, assertion: &Assertion) -> bool {
    let theirs: BTreeSet<&str> = other.content().collect();
    let own: Vec<&str> = assertion.content().filter(|word| !is_keyword(word)).collect();
    let is_literal = |word: &&&str| !word.starts_with(|first: char| first.is_alphabetic() || first == '_');
    other.text == assertion.text
        || other.strength >= assertion.strength
            && own.iter().filter(is_literal).all(|word| theirs.contains(word))
            && own.iter().filter(|word| theirs.contains(**word)).count() * 2 >= own.len()
}

/// Returns what stands between the quotes of a text, or the slashes of a pattern.
pub(crate) fn bare(literal: &str) -> &str {
    literal.trim_matches(['"', '\'', '`', '/'])
}

/// Returns whether an assertion is one on the calls of a mock, and on nothing of what they were given.
fn is_of_calls(assertion: &Assertion) -> bool {
    let name = crate::assertion::vocabulary::plain(&assertion.name);
    (name.contains("called") || name.contains("awaited")) && !name.contains("with")
}

/// Returns whether an assertion accepts no greater difference than another one.
fn is_as_tight(assertion: &Assertion, other: &Assertion) -> bool {
    assertion.tolerance.is_none_or(|tolerance| other.tolerance.is_some_and(|other| tolerance <= other))
}

/// Returns the names of a text that are not keywords of assertions.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split(' ').filter(|word| {
        word.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && word.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
            && !is_keyword(word)
            && !crate::assertion::vocabulary::plain(word).starts_with("contain")
            && !matches!(*word, "isTrue" | "isEqualTo" | "toBe" | "toEqual" | "toContain")
    })
}

/// Returns a text with literals in the place of what is made of them alone, as a table gives them: `"1.50"` for
/// `new BigDecimal ( "1.50" )`.
fn without_makers(text: &str) -> String {
    let words: Vec<&str> = text.split(' ').collect();
    let is_made = |at: usize| {
        let name = at.checked_sub(2).map_or("", |name| words[name]);
        name.starts_with(char::is_uppercase)
            && words[at - 1] == "("
            && words.get(at + 1) == Some(&")")
            && words[at].starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''))
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut closes = false;
    for (at, word) in words.iter().enumerate() {
        if std::mem::take(&mut closes) {
            continue;
        }
        if is_made(at) {
            kept.truncate(kept.len() - 2);
            if kept.last() == Some(&"new") {
                kept.pop();
            }
            closes = true;
        }
        kept.push(word);
    }
    kept.join(" ")
}

/// Returns the names and literals of a text, but for the places of items in a list: `a [ 1 ]` is about `a`.
fn without_places(text: &str) -> impl Iterator<Item = &str> {
    let mut before = "";
    text.split(' ').filter(move |word| {
        let is_place = before == "[" && word.bytes().all(|byte| byte.is_ascii_digit());
        before = word;
        !is_place && word.chars().any(char::is_alphanumeric)
    })
}
