//! Two assertions on the same value of which the second one, by the same name or another of its library, looks at less of it.

use std::collections::BTreeSet;

use super::given::is_given_by_test;
use crate::assertion::bounds::{Bound, seconds};
use crate::assertion::vocabulary::{is_of_a_value, plain};
use crate::assertion::{Assertion, Strength};
use crate::syntax::literals;
use crate::syntax::tokens::{outer_call, split};

/// Parts of names, and what takes their place in names that demand less.
const STRICT: &[(&str, &str)] = &[
    ("strictequal", "equal"),
    ("deepstrictequal", "deepequal"),
    ("nthcalledwith", "calledwith"),
    ("lastcalledwith", "calledwith"),
    ("calledoncewithexactly", "calledoncewith"),
    ("calledoncewith", "calledwith"),
    ("calledwithexactly", "calledwith"),
    ("calledonce", "called"),
    ("calledoncewith", "anycall"),
    ("calledwith", "anycall"),
    ("awaitedoncewith", "awaitedwith"),
    ("awaitedonce", "awaited"),
];
/// Keywords of arguments that say nothing about what is demanded.
const OF_NO_MATTER: &[&str] =
    &["msg", "message", "err_msg", "reason", "timeout", "verbose", "interval", "description"];

/// Returns how an assertion looks at less than another one on the same value.
pub(super) fn narrower(before: &Assertion, after: &Assertion) -> Option<&'static str> {
    let came_from_tested = before.is_recomputed || before.is_of_callback;
    let is_new = after.is_recomputed
        && !came_from_tested
        && !returns_its_object(before, after)
        && !compared_the_same(before, after);
    if is_new && before.strength > Strength::Nothing {
        return Some("whose expected value comes from what is tested");
    }
    let is_of_kind = |assertion: &Assertion| {
        assertion.is_failure()
            || ["isinstance (", "nstanceOf ("].iter().any(|call| assertion.text.contains(call))
    };
    if is_of_kind(before) && is_of_kind(after) && accepts_more_kinds(before, after) {
        return Some("which accepts more kinds");
    }
    if before.is_failure() || after.is_failure() {
        let is_same = before.is_failure() && after.is_failure();
        return (is_same && has_fewer_members(before, after)).then_some("which says less of the failure");
    }
    let panics = plain(&after.name);
    if panics.ends_with("panics") && plain(&before.name).starts_with(&format!("{panics}with")) {
        return Some("which says less of the failure");
    }
    if is_stricter(before, after) {
        return Some("which compares less strictly");
    }
    if drops_argument(before, after) {
        return Some("which says less of what is expected");
    }
    if has_fewer_members(before, after) {
        return Some("which names fewer members");
    }
    if loses_question(before, after) {
        return Some("which asks for less");
    }
    if is_given_by_test(before, after) {
        return Some("which the test itself may give");
    }
    if is_long(before, after) {
        return Some("which accepts far more time");
    }
    if is_set(before, after) {
        return Some("in whatever order");
    }
    if turns_off(before, after) {
        return Some("which leaves something out");
    }
    if is_projection(before, after) {
        return Some("which looks at a part only");
    }
    accepts_longer(before, after).then_some("which fits more")
}

/// Returns whether an assertion that took the place of another one demands less, although they have hardly a word in common.
pub(crate) fn is_lesser(gone: &Assertion, other: &Assertion) -> bool {
    let is_about_same = || root(&gone.subject).is_some() && root(&gone.subject) == root(&other.subject);
    // The mere truth of a name says nothing about what it stands for.
    let is_name = || other.strength == Strength::Present && !other.text.contains('(');
    gone.strength > other.strength
        && gone.strength > Strength::Bounded
        && gone.bound.is_none()
        && (other.bound.is_some() || is_about_same() || is_name())
}

/// Returns the name that an expression begins with.
pub(crate) fn root(text: &str) -> Option<&str> {
    let is_name = |word: &&str| {
        word.starts_with(|first: char| first.is_alphabetic() || first == '_')
            && !matches!(*word, "len" | "list" | "self" | "set" | "sorted" | "str" | "await" | "type")
    };
    text.split(' ').find(is_name)
}

/// Returns whether a method has to return its own object, and was what the assertion was about before: `a . check ( ) is None` became
/// `a . check ( ) is a`.
fn returns_its_object(before: &Assertion, after: &Assertion) -> bool {
    let is_method = |call: &str, object: &str| {
        call == before.subject && call.strip_prefix(object).is_some_and(|rest| rest.starts_with(" . "))
    };
    let is_identity = after.text.contains(" is ") && !after.text.contains(" is not ");
    is_identity
        && after.sides.as_ref().is_some_and(|(one, other)| is_method(one, other) || is_method(other, one))
}

/// Returns whether an assertion of another style compared the same expressions, which are more than names: these may stand for something
/// else now.
fn compared_the_same(before: &Assertion, after: &Assertion) -> bool {
    let had = |side: &str| format!(" {} ", before.text).contains(&format!(" {side} "));
    before.text != after.text
        && after.sides.as_ref().is_some_and(|(one, other)| {
            had(one) && had(other) && [one, other].iter().any(|side| side.contains(' '))
        })
}

/// Returns the names of kinds of failures in a text.
fn kinds(text: &str) -> BTreeSet<&str> {
    let is_kind = |word: &&str| {
        word.starts_with(char::is_uppercase)
            && ["Error", "Exception", "Warning"].iter().any(|end| word.ends_with(end))
    };
    text.split(' ').filter(is_kind).collect()
}

/// Returns whether an assertion on kinds accepts those that it did and more, or nearly all.
fn accepts_more_kinds(before: &Assertion, after: &Assertion) -> bool {
    const ALL: &[&str] = &["object", "Object", "Function"];
    let (old, new) = (kinds(&before.text), kinds(&after.text));
    let has_all = |text: &str| text.split(' ').any(|word| ALL.contains(&word));
    // All members of a group have to be there.
    let is_group = after.text.contains("RaisesGroup (");
    !old.is_empty() && old.is_subset(&new) && old.len() < new.len() && !is_group
        || has_all(&after.text) && !has_all(&before.text)
}

/// Returns whether the same value has to have fewer of the members that it had to have: `toMatchObject({ a: 1, b: 2 })` became
/// `toMatchObject({ a: 1 })`.
fn has_fewer_members(before: &Assertion, after: &Assertion) -> bool {
    const OF_PARTS: &[&str] = &[
        "MatchObject",
        "ontaining (",
        ". like (",
        "artial",
        "nclude (",
        "Subset (",
        "has_entries (",
        "ejects (",
        "hrows (",
        "HaveStyle (",
    ];
    let name = |assertion: &Assertion| OF_PARTS.iter().find(|part| assertion.text.contains(**part));
    let words =
        |assertion: &Assertion| -> BTreeSet<String> { assertion.content().map(str::to_owned).collect() };
    let (old, new) = (words(before), words(after));
    // By what path the assertion is called, and which form a function has, says nothing of members.
    let path = before.text.split(" ( ").next().unwrap_or_default();
    let is_member =
        |word: &String| !matches!(word.as_str(), "function" | "async" | "new") && !path.contains(word);
    before.subject == after.subject
        && name(before).is_some()
        && name(before) == name(after)
        && before.text.contains('{')
        && !before.text.contains("=>")
        && new.is_subset(&old)
        && old.difference(&new).any(is_member)
}

/// Returns whether it was asked of a value whether it has something, and is now only whether there is any.
fn loses_question(before: &Assertion, after: &Assertion) -> bool {
    let rest = before.subject.strip_prefix(&after.subject).filter(|_| !after.subject.is_empty());
    let asks = |rest: &str| rest.starts_with(" . ") && rest.contains(" ( ") && rest.ends_with(" )");
    before.strength == Strength::Present
        && after.strength == Strength::Present
        && rest.is_some_and(|rest| asks(rest) && literals(rest).next().is_some())
}

/// Returns whether the length of time in a comparison is far longer.
fn is_long(before: &Assertion, after: &Assertion) -> bool {
    let bound = |assertion: &Assertion| {
        let words: Vec<&str> = assertion.text.split(' ').collect();
        words.iter().any(|word| word.starts_with('<')).then(|| seconds(&words)).flatten().map(Bound::of_time)
    };
    bound(before).zip(bound(after)).is_some_and(|(old, new)| old != new && old.is_within(new))
}

/// Returns whether both sides became sets of what they were lists of.
fn is_set(before: &Assertion, after: &Assertion) -> bool {
    let all = |assertion: &Assertion, start: char, end: char| {
        assertion.sides.as_ref().is_some_and(|(one, other)| {
            [one, other]
                .iter()
                .all(|side| side.starts_with(start) && side.ends_with(end) && !side.contains(" : "))
        })
    };
    all(before, '[', ']') && all(after, '{', '}')
}

/// Returns whether the name of an assertion is the stricter one of its library, and all else is the same.
fn is_stricter(before: &Assertion, after: &Assertion) -> bool {
    let (old, new) = (plain(&before.name), plain(&after.name));
    let is_of_call = old.contains("called");
    before.subject == after.subject
        && STRICT.iter().any(|(strict, loose)| {
            old.strip_suffix(strict).is_some_and(|start| {
                let start = start.strip_suffix("deep").unwrap_or(start);
                new == format!("{start}{loose}") || new == format!("{start}deep{loose}")
            })
        })
        && (is_of_call || before.sides == after.sides)
}

/// Returns whether an argument that says what is expected is no longer given.
fn drops_argument(before: &Assertion, after: &Assertion) -> bool {
    let call = |assertion: &Assertion| {
        let (callee, given) = outer_call(&assertion.text)?;
        Some((
            callee.to_owned(),
            split(given, &[" , "]).into_iter().map(str::to_owned).collect::<Vec<String>>(),
        ))
    };
    let (Some((old, had)), Some((new, has))) = (call(before), call(after)) else { return false };
    if old != new || has.len() >= had.len() || before.tolerance.is_some() || is_of_a_value(&before.name) {
        return false;
    }
    let name = plain(&before.name);
    // A message is a text, and stands behind the values.
    let says_all = before.text.starts_with("expect (")
        || ["called", "property", "attr", "header", "style", "css", "should"]
            .iter()
            .any(|part| name.contains(part));
    let counts = |(place, given): (usize, &String)| {
        let keyword = given.split_once(" = ").map(|(keyword, value)| (keyword, value == "False"));
        match keyword {
            Some((keyword, is_off)) => !is_off && !OF_NO_MATTER.contains(&keyword),
            None if given.contains("timeout") => false,
            None => {
                says_all || place == 1 && !given.starts_with(['"', '\'', '`', 'f']) && !given.contains("=>")
            }
        }
    };
    had.iter().enumerate().filter(|(_, given)| !has.contains(given)).any(counts)
        && (has.iter().all(|given| had.contains(given)) || name.contains("property") || name.contains("attr"))
}

/// Returns whether an option of a comparison is off that was not: `check_dtype=False`, `{ strict: false }`.
fn turns_off(before: &Assertion, after: &Assertion) -> bool {
    const OPTIONS: &[&str] = &["check", "strict", "order", "exact", "compare", "verify", "case", "require"];
    let off = |assertion: &Assertion| -> BTreeSet<String> {
        let words: Vec<&str> = assertion.text.split(' ').collect();
        let is_off = |three: &&[&str]| match three {
            ["check_like", "=", value] => *value == "True",
            [name, "=" | ":", "False" | "false"] => OPTIONS.iter().any(|option| name.starts_with(option)),
            _ => false,
        };
        words.windows(3).filter(is_off).map(|three| three[0].to_owned()).collect()
    };
    off(after).difference(&off(before)).next().is_some()
}

/// Returns whether a value that is made of the one that was looked at, or a part of it, is compared with less than before:
/// `f ( ) == { "id" : 1 , "name" : "a" }` became `set ( f ( ) ) == { "id" , "name" }`.
fn is_projection(before: &Assertion, after: &Assertion) -> bool {
    // A matcher of one member is given its name beside its value.
    if [". property (", ". header (", "HaveProperty ("].iter().any(|matcher| before.text.contains(matcher)) {
        return false;
    }
    let is_word = |word: &&str| {
        word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\'' | '`'))
    };
    let expected = |assertion: &Assertion| -> Vec<String> {
        let rest = assertion.text.replacen(&assertion.subject, "", 1);
        rest.split(' ').filter(is_word).map(str::to_owned).collect()
    };
    let names = |text: &str| -> BTreeSet<String> {
        let is_name = |word: &&str| word.starts_with(char::is_alphabetic);
        text.split(' ').filter(is_name).map(str::to_owned).collect()
    };
    // Several values that are compared each, and one that is made of them.
    let is_made_of =
        before.subject.starts_with(['(', '[']) && names(&before.subject).is_subset(&names(&after.subject));
    let wraps = is_made_of || format!(" {} ", after.subject).contains(&format!(" {} ", before.subject));
    if !wraps || before.subject == after.subject || !before.subject.contains(char::is_alphabetic) {
        return false;
    }
    let (old, new) = (expected(before), expected(after));
    !new.is_empty()
        && new.len() < old.len()
        && (is_made_of || new.iter().all(|literal| old.contains(literal)))
}

/// Returns whether a shorter text or pattern has to be found in the same value, which more values have.
fn accepts_longer(before: &Assertion, after: &Assertion) -> bool {
    const NEGATIVE: &[&str] = &[" not ", "not.", "Not", "doesNot"];
    let is_part = |assertion: &Assertion| {
        let name = plain(&assertion.name);
        assertion.strength == Strength::Bounded
            && (assertion.text.contains(" in ")
                || ["contain", "include", "match", "regex"].iter().any(|part| name.contains(part)))
    };
    if !is_part(before) || !is_part(after) || before.subject != after.subject {
        return false;
    }
    let is_negative = |assertion: &Assertion| NEGATIVE.iter().any(|word| assertion.text.contains(word));
    // What must not be there is more if it is longer.
    let (before, after) = match (is_negative(before), is_negative(after)) {
        (false, false) => (before, after),
        (true, true) => (after, before),
        _ => return false,
    };
    let part = |assertion: &Assertion| -> Option<String> {
        let rest = assertion.text.replacen(&assertion.subject, "", 1);
        let found = literals(&rest).map(str::to_owned).collect::<Vec<_>>();
        match found.as_slice() {
            [only] => Some(only.clone()),
            _ => rest
                .split_once('/')
                .and_then(|(_, rest)| rest.rsplit_once('/'))
                .map(|(part, _)| part.to_owned()),
        }
    };
    let (Some(old), Some(new)) = (part(before), part(after)) else { return false };
    let bare = |text: &str| text.trim().trim_start_matches('^').trim_end_matches('$').to_owned();
    let (short, long) = (bare(&new), bare(&old));
    let has_ends =
        |text: &str| usize::from(text.trim().starts_with('^')) + usize::from(text.trim().ends_with('$'));
    !short.is_empty()
        && (long != short && long.contains(&short) || long == short && has_ends(&new) < has_ends(&old))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equality(text: &str) -> Assertion {
        let words: Vec<&str> = ["assert"].into_iter().chain(text.split(' ')).collect();
        Assertion::of_condition(text, 1, &words)
    }

    #[test]
    fn less_of_a_value_is_looked_at() {
        for (before, after, expected) in [
            ("f ( ) == { 'a' : 1 , 'b' : 2 }", "set ( f ( ) ) == { 'a' , 'b' }", true),
            ("f ( ) == [ 1 , 2 ]", "list ( f ( ) ) == [ 1 , 2 ]", false),
            ("f ( ) == [ 1 , 2 ]", "f ( ) . rows == [ 3 ]", false),
            ("'3 items' in page", "'items' in page", true),
            ("'items' in page", "'3 items' in page", false),
            ("'items' not in page", "'item' not in page", false),
            ("'item' not in page", "'items' not in page", true),
            ("page . startswith ( 'a' )", "page", true),
            ("page . get ( 'a' ) == 'b'", "page . get ( 'a' , 'b' ) == 'b'", true),
            ("page [ 'a' ] == 'b'", "page . get ( 'a' , 'b' ) == 'b'", true),
            ("[ a . id for a in rows ] == [ 2 , 1 ]", "{ a . id for a in rows } == { 1 , 2 }", true),
            ("( a , b ) == ( 6 , 4 )", "a + b == 10", true),
        ] {
            assert_eq!(
                narrower(&equality(before), &equality(after)).is_some(),
                expected,
                "{before}, {after}"
            );
        }
    }
}
