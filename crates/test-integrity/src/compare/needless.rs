//! Assertions that may go without a loss: what they said follows from what the test does now.

use std::collections::{BTreeMap, BTreeSet};

use crate::assertion::vocabulary::plain;
use crate::assertion::{Assertion, Strength};
use crate::extract::Test;
use crate::syntax::is_pure;
use crate::syntax::tokens::outer_call;

/// Removes from `old` the demand that a test panics, if that was a known fault which is mended. Only snapshots tell it from a failure that
/// is no longer demanded: one that had to stay empty is filled in, or there was one of what nothing could show. All else is as it was.
pub(super) fn excuse_panic(old: &mut Vec<Assertion>, before: &Test, after: &Test) {
    let is_panic =
        |assertion: &Assertion| assertion.is_failure() && assertion.text.starts_with("# [ should_panic");
    let (had, has) = (Snapshots::of(&before.body.words), Snapshots::of(&after.body.words));
    let is_same = names(&before.body.words).eq(names(&after.body.words));
    old.retain(|assertion| {
        let says_nothing = assertion.text == "# [ should_panic ]";
        let is_mended = has.empty < had.empty || says_nothing && had.filled > 0 && has.filled > 0;
        !(is_same && is_panic(assertion) && is_mended)
    });
}

/// Returns the tokens that are no literals.
fn names(words: &[String]) -> impl Iterator<Item = &String> {
    let is_name = |word: &&String| {
        word.starts_with(|first: char| first.is_alphabetic() || first == '_') && !word.contains('"')
    };
    words.iter().filter(is_name)
}

/// How many snapshots hold nothing, such as `str![]` and `expect![[""]]`, and how many others there are.
#[derive(Debug, Default, PartialEq, Eq)]
struct Snapshots {
    empty: usize,
    filled: usize,
}

impl Snapshots {
    fn of(words: &[String]) -> Self {
        let mut found = Self::default();
        for (at, word) in words.iter().enumerate() {
            let rest = || words[at + 1..].iter().map(String::as_str);
            if matches!(word.as_str(), "str" | "file" | "expect" | "expect_file")
                && rest().take(2).eq(["!", "["])
            {
                let is_empty = rest().skip(1).find(|word| !matches!(*word, "[" | "\"\"")) == Some("]");
                found.empty += usize::from(is_empty);
                found.filled += usize::from(!is_empty);
            }
        }
        found
    }
}

/// Removes from `new` the assertions on constants, as far as the test said `t.pass("…")` before, and no longer does: they say where it
/// has come.
pub(super) fn excuse_passes(new: &mut Vec<Assertion>, before: &Test, after: &Test) {
    let passes =
        |test: &Test| test.body.words.windows(2).filter(|two| two[0] == "pass" && two[1] == "(").count();
    let mut said = passes(before).saturating_sub(passes(after));
    let is_of_constants = |assertion: &Assertion| {
        assertion.strength == Strength::Nothing
            && outer_call(&assertion.text).is_some_and(|(_, given)| is_pure(given))
    };
    new.retain(|assertion| {
        let is_pass = said > 0 && is_of_constants(assertion);
        said -= usize::from(is_pass);
        !is_pass
    });
}

/// Removes from `dropped` the demands that a callback is given no error, as far as the test has fewer such callbacks, and waits for more
/// promises: one that is rejected fails it.
pub(super) fn excuse_awaited_errors(dropped: &mut Vec<Assertion>, before: &Test, after: &Test) {
    let fewer =
        |count: fn(&[String]) -> usize| count(&before.body.words).saturating_sub(count(&after.body.words));
    let awaits = |words: &[String]| words.iter().filter(|word| *word == "await").count();
    let more_awaits = awaits(&after.body.words).saturating_sub(awaits(&before.body.words));
    let mut left = more_awaits.min(fewer(callbacks_of_errors)).min(fewer(functions));
    dropped.retain(|assertion| {
        let is_told = left > 0 && is_absent_error(assertion);
        left -= usize::from(is_told);
        !is_told
    });
}

/// Removes from `left` what a rule of JUnit 4 expected of a failure, and the assertions that have to fail now, as far as a new assertion
/// on a failure says it: `thrown.expect(IOException.class)` became `assertThatThrownBy(() -> load()).isInstanceOf(IOException.class)`.
pub(super) fn excuse_rules(left: &mut Vec<Assertion>, new: &[Assertion]) {
    const OF_FAILURES: &[&str] =
        &["assertThatThrownBy (", "assertThatExceptionOfType (", "assertThrows (", "thenThrownBy ("];
    let failures: Vec<&str> = new
        .iter()
        .map(|other| other.text.as_str())
        .filter(|text| OF_FAILURES.iter().any(|name| text.contains(name)))
        .collect();
    // A cause that was looked at where it was caught: `assertTrue(e.getCause() instanceof IOException)`.
    let says_cause = |text: &str| {
        let expected = text.trim_end_matches([' ', ')']).rsplit(' ').next().unwrap_or_default();
        let is_said = |failure: &&str| {
            ["hasCause (", "hasCauseInstanceOf (", "hasRootCause ("].iter().any(|name| failure.contains(name))
                && failure.split(' ').any(|word| word.trim_end_matches(".class") == expected)
        };
        text.contains(" . getCause ( )") && failures.iter().any(is_said)
    };
    // What failed the test behind a call that has to fail, of which the new one says so.
    let mut open = failures.len();
    left.retain(|assertion| {
        let text = assertion.text.as_str();
        if open > 0 && (text.starts_with("fail (") || text.ends_with(" . isFailure ( ) ) . isTrue ( )")) {
            open -= 1;
            return false;
        }
        let says = |given: &str| failures.iter().any(|failure| failure.contains(given));
        let of_rule = text.split_once(" . expect ( ").or_else(|| text.split_once(" . expectMessage ( "));
        let of_rule =
            of_rule.filter(|(rule, _)| !rule.contains(' ')).and_then(|(_, given)| given.strip_suffix(" )"));
        let of_mark = text.strip_prefix("@ Test ( expected = ").and_then(|given| given.strip_suffix(" )"));
        !(says(text) || says_cause(text) || of_rule.or(of_mark).is_some_and(says))
    });
}

/// Removes from `old` the demands that something fails not, as far as the test still does it: a failure ends it anyway.
pub(super) fn excuse_called_anyway(old: &mut Vec<Assertion>, after: &Test) {
    const NAMES: &[&str] = &[
        "doesnotthrow",
        "assertdoesnotthrow",
        "nottothrow",
        "nottothrowerror",
        "notpanics",
        "doesnotreject",
    ];
    let words: BTreeSet<&str> = after.body.words.iter().map(String::as_str).collect();
    let still = |text: &str| {
        let inner =
            text.split_once(" => ").or_else(|| text.split_once(" -> ")).or_else(|| text.split_once(" { "));
        let inner: Vec<&str> = inner.map(|(_, inner)| inner.split(' ').collect()).unwrap_or_default();
        let mut named = inner.windows(2).filter_map(|two| match two {
            [".", name] | [name, "("] if name.starts_with(char::is_alphabetic) => Some(*name),
            _ => None,
        });
        let mut met = named.by_ref().peekable();
        met.peek().is_some() && met.all(|name| NAMES.contains(&plain(name).as_str()) || words.contains(name))
    };
    // A call that is asked again whether it fails is another assertion.
    let asks = |word: &&str| NAMES.contains(&plain(word).as_str()) || *word == "toThrow";
    let is_asked = words.iter().any(asks);
    old.retain(|assertion| {
        is_asked || !NAMES.contains(&plain(&assertion.name).as_str()) || !still(&assertion.text)
    });
}

/// Most failures of one test that are looked for in it.
const MAX_ACCEPTED: usize = 20;

/// Names of what a callback is given first if something failed.
const ERRORS: &[&str] = &["err", "error", "e"];

/// Returns how many functions of JavaScript's there are, but those that clean up behind the test: `t.after(() => server.close())`.
fn functions(words: &[String]) -> usize {
    const CLEANING: &[&str] = &["after", "teardown", "onTestFinished"];
    let all = words.iter().filter(|word| matches!(word.as_str(), "=>" | "function")).count();
    let cleaning =
        words.windows(2).filter(|two| CLEANING.contains(&two[0].as_str()) && two[1] == "(").count();
    all.saturating_sub(cleaning)
}

/// Returns how many functions are given an error first: `(err, body) => …`, `function (error) { … }`.
fn callbacks_of_errors(words: &[String]) -> usize {
    let is_callback = |(at, word): (usize, &String)| {
        let before = |places: usize| at.checked_sub(places).map_or("", |at| words[at].as_str());
        let next = words.get(at + 1).map_or("", String::as_str);
        let is_first = before(1) == "(" && matches!(next, "," | ")");
        let is_of_function = before(2) == "function" || before(3) == "function";
        let end = words[at..]
            .iter()
            .position(|word| word == ")")
            .map_or("", |end| words.get(at + end + 1).map_or("", String::as_str));
        ERRORS.contains(&word.as_str()) && (next == "=>" || is_first && (is_of_function || end == "=>"))
    };
    words.iter().enumerate().filter(|at| is_callback(*at)).count()
}

/// Returns whether an assertion demands of a callback's error that there is none: `assert.ifError(err)`, `expect(err).toBeNull()`.
fn is_absent_error(assertion: &Assertion) -> bool {
    const NONE: &[&str] = &[
        "ifError (",
        ". error ( e",
        "null",
        "Null",
        "undefined",
        "Undefined",
        "Falsy",
        "notOk (",
        "not . exist",
        "! e",
    ];
    let names = assertion.content().any(|word| ERRORS.contains(&word));
    names && NONE.iter().any(|part| assertion.text.contains(part))
}

/// Removes from `dropped` as many assertions on items of a list as there were behind its end, where it is expected to be shorter now:
/// that is another expectation. An item that moved up may have taken the place of one that is gone.
pub(super) fn excuse_missing_items(dropped: &mut Vec<Assertion>, then: &[Assertion], now: &[Assertion]) {
    let (had, has) = (lengths(then), lengths(now));
    for (list, old) in had {
        let new = has.get(list).and_then(|new| new.iter().max());
        let Some(end) = new.filter(|new| old.iter().any(|old| old > *new)) else { continue };
        let behind = |all: &[Assertion]| {
            all.iter().filter_map(|assertion| place(list, assertion)).filter(|place| place >= end).count()
        };
        let mut left = behind(then).saturating_sub(behind(now));
        dropped.retain(|assertion| {
            let is_item = left > 0 && place(list, assertion).is_some();
            left -= usize::from(is_item);
            !is_item
        });
    }
}

/// Removes from `dropped` the demands that a call of Python's fails, with what was said of these failures, if the result of the same call
/// is compared now: that is another expectation.
pub(super) fn excuse_accepted(
    dropped: &mut Vec<Assertion>,
    before: &Test,
    then: &[Assertion],
    now: &[Assertion],
) {
    let words = &before.body.words;
    let is_compared = |call: &str| {
        now.iter().any(|new| {
            new.strength >= Strength::Partial
                && !new.is_failure()
                && new.text.contains(call)
                && then.iter().all(|old| old.text != new.text)
        })
    };
    let accepted = |failure: &Assertion| -> Option<Option<String>> {
        let own: Vec<&str> = failure.text.split(' ').collect();
        let at = words.windows(own.len()).position(|some| some.iter().eq(own.iter()))?;
        let rest = &words[at + own.len()..];
        let (name, block) = match rest {
            [word, name, colon, block @ ..] if word == "as" && colon == ":" => (Some(name.clone()), block),
            [colon, block @ ..] if colon == ":" => (None, block),
            _ => return None,
        };
        let mut depth = 0_usize;
        let end = block.iter().position(|word| {
            depth = match word.as_str() {
                "(" => depth + 1,
                ")" => depth.saturating_sub(1),
                _ => depth,
            };
            word == ")" && depth == 0
        })?;
        is_compared(&block[..=end].join(" ")).then_some(name)
    };
    let found: Vec<(String, Option<String>)> = dropped
        .iter()
        .filter(|gone| gone.is_failure())
        .take(MAX_ACCEPTED)
        .filter_map(|gone| Some((gone.text.clone(), accepted(gone)?)))
        .collect();
    dropped.retain(|gone| {
        let is_of =
            |name: &Option<String>| name.as_ref().is_some_and(|name| gone.content().any(|word| word == name));
        !found.iter().any(|(text, name)| gone.text == *text || is_of(name))
    });
}

/// Returns the place of the item of a list that an assertion is about.
fn place(list: &str, assertion: &Assertion) -> Option<usize> {
    let rest = assertion.subject.strip_prefix(list)?;
    [" . get ( ", " [ "].iter().find_map(|open| rest.strip_prefix(open))?.split(' ').next()?.parse().ok()
}

/// Returns the lengths that lists are expected to have, by the expressions that give these lists.
fn lengths(assertions: &[Assertion]) -> BTreeMap<&str, BTreeSet<usize>> {
    let mut found: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for (tested, expected) in assertions.iter().filter_map(Assertion::operands) {
        let list = [" . size ( )", " . length", " . len ( )"].iter().find_map(|end| tested.strip_suffix(end));
        let list = list.or_else(|| tested.strip_prefix("len ( ")?.strip_suffix(" )"));
        if let Some((list, length)) = list.zip(expected.parse().ok()) {
            found.entry(list).or_default().insert(length);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    fn equality(text: &str) -> Assertion {
        let words: Vec<&str> = ["assert"].into_iter().chain(text.split(' ')).collect();
        Assertion::of_condition(text, 1, &words)
    }

    #[test]
    fn snapshots_are_empty_or_filled() {
        for (text, empty, filled) in [
            ("t ( a , str ! [ ] )", 1, 0),
            ("t ( a , str ! [ [ \"\" ] ] )", 1, 0),
            ("expect ! [ [ ] ] . assert_eq ( a )", 1, 0),
            ("t ( a , str ! [ [ \"a\" ] ] ) ; t ( b , file ! [ _ ] )", 0, 2),
            ("assert_eq ! ( a , vec ! [ ] )", 0, 0),
        ] {
            assert_eq!(Snapshots::of(&words(text)), Snapshots { empty, filled }, "{text}");
        }
    }

    #[test]
    fn callbacks_of_errors_are_functions() {
        for (text, expected) in [
            ("get ( a , ( err , body ) => { } )", 1),
            ("get ( a , function ( error ) { } )", 1),
            ("get ( a , function done ( err , b ) { } )", 1),
            ("p . catch ( e => { } )", 1),
            ("const { data , error } = await load ( )", 0),
            ("if ( err ) { throw err }", 0),
            ("check ( err , 1 ) ; on ( ( a ) => { } )", 0),
        ] {
            assert_eq!(callbacks_of_errors(&words(text)), expected, "{text}");
        }
    }

    #[test]
    fn items_are_missing_behind_the_end() {
        for (items, gone, length, is_left) in [
            (&["rows [ 1 ]", "rows [ 2 ]"][..], "rows [ 2 ]", 2, false),
            (&["rows [ 1 ]", "rows [ 2 ]"], "rows [ 1 ]", 2, false),
            (&["rows [ 0 ]", "rows [ 1 ]"], "rows [ 1 ]", 2, true),
            (&["rows [ 1 ]", "rows [ 2 ]"], "rows [ 2 ]", 3, true),
            (&["rows [ 2 ]", "rows [ at ]"], "rows [ at ]", 2, true),
        ] {
            let is = |item: &str| equality(&format!("{item} == 'a'"));
            let size = |length: usize| equality(&format!("len ( rows ) == {length}"));
            let then: Vec<Assertion> = items.iter().map(|item| is(item)).chain([size(3)]).collect();
            let mut dropped = vec![is(gone)];
            excuse_missing_items(&mut dropped, &then, &[size(length)]);
            assert_eq!(!dropped.is_empty(), is_left, "{gone}, {length}");
        }
    }
}
