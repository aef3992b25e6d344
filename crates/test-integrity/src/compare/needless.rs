//! Assertions that may go without a loss: what they said follows from what the test does now.

use std::collections::{BTreeMap, BTreeSet};

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
