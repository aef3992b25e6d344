//! Assertions on a whole value, or on all calls of a mock, that say what several assertions on parts of it said.

use std::collections::BTreeSet;

use super::documents::is_in_document;
use super::implied::is_wrapped;
use super::looks_away;
use super::messages::{is_caught, is_said_by_failure, says_of_failure};
use super::reworded::is_reworded;
use crate::assertion::vocabulary::{is_literal, is_of_a_part};
use crate::assertion::{Assertion, Strength};

/// Returns whether one of the new assertions says what an assertion said of a part; `all` are those that the test makes now, and
/// `now` are its tokens.
pub(super) fn holds(part: &Assertion, fresh: &[&Assertion], all: &[Assertion], now: &BTreeSet<&str>) -> bool {
    let mut whole = fresh.iter().filter(|other| {
        other.strength == Strength::Exact && !other.is_conditional && !looks_away(part, other)
    });
    let exact = all.iter().filter(|other| other.strength == Strength::Exact && !other.is_conditional);
    is_reworded(part, fresh, now)
        || is_in_document(part, fresh)
        || is_missed(part, all)
        || is_caught(part, fresh)
        || is_taken_apart(part, fresh)
        || is_list_taken_apart(part, fresh)
        || fresh
            .iter()
            .any(|other| other.is_failure() && has_member(part, &other.text) || is_last_call(part, other))
        || says_of_failure(part, fresh)
        || is_said_by_failure(part, fresh)
        || exact.clone().any(|other| {
            has_call(part, other)
                || is_implied(part, other)
                || compares_same(part, other)
                || is_wrapped(part, other, now)
        })
        || whole.any(|other| {
            has_member(part, &other.text)
                || has_field(part, &other.text)
                || has_captured(part, &other.text)
                || has_all(part, &other.text)
                || misses_other(part, &other.text)
                || has_length(part, other)
                || is_expected_of_chain(part, other)
                || is_of_same(part, other)
        })
}

/// Returns whether the same two values are compared, whatever names stand for them.
fn compares_same(part: &Assertion, other: &Assertion) -> bool {
    let sides = |assertion: &Assertion| {
        let (one, two) = assertion.resolved.as_ref().or(assertion.sides.as_ref())?;
        let mut sides = [one, two].map(|side| side.trim_start_matches("& ").to_owned());
        sides.sort();
        Some(sides)
    };
    part.text != other.text
        && part.sides.is_some()
        && other.tolerance.is_none()
        && !looks_away(part, other)
        && sides(part) == sides(other)
}

/// Returns whether a collection is compared as a whole whose length was asserted.
fn has_length(part: &Assertion, other: &Assertion) -> bool {
    const LENGTHS: &[&str] =
        &[" . len ( )", " . length", " . size ( )", " . count ( )", " . length ( )", " . Len ( )"];
    let of_length = LENGTHS.iter().any(|end| part.subject.strip_suffix(end) == Some(other.subject.as_str()));
    let is_list = ["[", "of (", "xactly", "elements_are"].iter().any(|list| other.text.contains(list));
    of_length && is_list && !other.subject.is_empty()
}

/// Returns whether what one call of a chain expected is expected of the collected values: `. expectNext ( "a" )` and
/// `assertEquals ( List . of ( "a" , "b" ) , … )`.
fn is_expected_of_chain(part: &Assertion, other: &Assertion) -> bool {
    let mut literals = crate::syntax::literals(&part.text);
    part.is_link()
        && !other.is_link()
        && other.sides.is_some()
        && ["expectNext", "verifyComplete"].iter().any(|name| part.text.contains(name))
        && literals.all(|literal| crate::syntax::literals(&other.text).any(|theirs| theirs == literal))
}

/// Returns whether a value has a member of the name that is asserted, with the value that is expected:
/// `expect ( card . title ) . toBe ( 'a' )` and `{ id : 1 , title : 'a' }`.
fn has_member(part: &Assertion, whole: &str) -> bool {
    let is_empty = part.text.ends_with("ength ( 0 )");
    let empty = || is_empty.then_some((part.subject.as_str(), "[ ]"));
    let Some((subject, expected)) = sides(part).or_else(empty) else { return false };
    let Some(name) = subject.rsplit(" . ").next().filter(|name| subject.contains(" . ") && is_name(name))
    else {
        return has_bound(subject, expected, whole);
    };
    let whole = format!(" {whole} ");
    let keys = [name.to_owned(), format!("\"{name}\""), format!("'{name}'")];
    keys.iter()
        .any(|key| [":", "=", "=>"].iter().any(|sign| whole.contains(&format!(" {key} {sign} {expected} "))))
}

/// Returns whether a name that a pattern bound is asserted as the literal that now stands in the pattern's place:
/// `assert_eq ! ( kind , 9 )` and `Err ( FrameError :: Kind ( 9 ) )`.
fn has_bound(subject: &str, expected: &str, whole: &str) -> bool {
    is_name(subject)
        && is_literal(expected)
        && whole.contains(&format!("( {expected} )"))
        && whole.contains(" Err ( ")
}

/// Returns whether the field of a row that was expected still is: `rec . Code != tt . code` and
/// `code != tt . code || body != tt . body`.
fn has_field(part: &Assertion, whole: &str) -> bool {
    let Some((one, other)) = part.sides.as_ref() else { return false };
    let is_field = |text: &str| matches!(text.split(" . ").collect::<Vec<_>>().as_slice(), [row, name] if is_name(row) && is_name(name));
    let whole = format!(" {whole} ");
    let compares = |side: &str| [" != ", " == "].iter().any(|sign| whole.contains(&format!("{sign}{side} ")));
    [one, other].into_iter().any(|side| is_field(side) && compares(side))
}

/// Returns whether what a captor caught is given at once: `verify ( a ) . f ( captor . capture ( ) )` and
/// `verify ( a ) . f ( new B ( 1 ) )`.
fn has_captured(part: &Assertion, whole: &str) -> bool {
    let is_caught = part.text.contains(" . getValue ( )") || part.text.contains(" . getAllValues ( )");
    let expected = sides(part).map(|(_, expected)| format!(" {expected} "));
    is_caught
        && whole.starts_with("verify (")
        && whole.contains(" new ")
        && expected.is_some_and(|expected| whole.contains(&expected))
}

/// Returns whether all of a list or an object is compared, of which a part was: `log . records [ 0 ] . level == "INFO"` and
/// `log . tuples == [ ( "a" , logging . INFO ) ]`.
fn is_of_same(part: &Assertion, other: &Assertion) -> bool {
    let Some((_, expected)) = other.operands() else { return false };
    let root = |text: &str| {
        let word = text.split(' ').find(|word| is_name(word) && !matches!(*word, "len" | "list" | "self"));
        word.map(str::to_owned)
    };
    if !expected.starts_with(['[', '{'])
        || root(&part.subject).is_none()
        || root(&part.subject) != root(&other.subject)
    {
        return false;
    }
    if is_of_a_part(&part.subject) {
        return true;
    }
    let rest = part.text.replacen(&part.subject, "", 1);
    let given = || {
        rest.rsplit_once(" ( ")
            .map(|(_, given)| given.trim_end_matches([' ', ')']))
            .filter(|_| !part.name.is_empty())
    };
    let own = sides(part).map(|(_, expected)| expected).or_else(given).unwrap_or_default();
    let words: Vec<&str> = expected.split(' ').collect();
    let bare = |word: &str| word.trim_matches(['"', '\'']).to_lowercase();
    let is_there = |word: &str| words.iter().any(|other| bare(other) == bare(word));
    let mut literals = own.split(' ').filter(|word| word.chars().any(char::is_alphanumeric)).peekable();
    !own.is_empty()
        && (literals.peek().is_some() && literals.all(is_there)
            || own == "[ ]" && expected.contains("[ [ ] ]"))
}

/// Returns whether what a mock was called with, which a test took from it before, is asserted of the mock itself.
fn is_last_call(part: &Assertion, other: &Assertion) -> bool {
    const TAKEN: &[&str] = &["args", "kwargs", "call", "call_args"];
    let is_taken = part.subject.split(' ').next().is_some_and(|root| TAKEN.contains(&root));
    let mut literals = crate::syntax::literals(&part.text).peekable();
    is_taken
        && crate::assertion::vocabulary::plain(&other.name).ends_with("with")
        && literals.peek().is_some()
        && literals.all(|literal| other.text.split(' ').any(|word| word.trim_matches(['"', '\'']) == literal))
}

/// Returns both sides of an equality: what is tested, and the value that is expected.
fn sides(part: &Assertion) -> Option<(&str, &str)> {
    let (one, other) = part.sides.as_ref()?;
    let is_expected =
        |text: &str| is_literal(text) || text.contains(" . ") && text.split(" . ").all(is_constant);
    match (is_expected(one), is_expected(other)) {
        (false, true) => Some((one.as_str(), other.as_str())),
        (true, false) => Some((other.as_str(), one.as_str())),
        _ => None,
    }
}

/// Returns whether all calls of a mock are compared where single ones were: `expect ( f ) . toHaveBeenCalledTimes ( 1 )` and
/// `expect ( f . mock . calls ) . toEqual ( [ [ 1 ] ] )`.
fn has_call(part: &Assertion, whole: &Assertion) -> bool {
    const OF_CALLS: &[&str] = &[" . call_args", " . call_count", " . called"];
    let by_name = crate::assertion::vocabulary::plain(&part.name).contains("called");
    let of_calls = OF_CALLS.iter().find_map(|end| part.subject.strip_suffix(end));
    let Some(mock) = of_calls.or_else(|| by_name.then_some(part.subject.as_str())) else { return false };
    let lists = [" . mock . calls", " . mock_calls", " . call_args_list"];
    let is_all = lists.iter().any(|list| whole.text.contains(&format!("{mock}{list}")))
        || whole.text.starts_with(&format!("{mock} . assert_called_once_with ("));
    let literals = crate::syntax::literals(&part.text).all(|text| whole.text.contains(text));
    !mock.is_empty() && part.text != whole.text && is_all && literals
}

/// Returns whether an assertion on a value says what a looser one on the same value said.
fn is_implied(part: &Assertion, other: &Assertion) -> bool {
    const VARIANTS: &[(&str, &str)] = &[
        (" . is_err ( )", " . unwrap_err ( )"),
        (" . is_ok ( )", " . unwrap ( )"),
        (" . is_some ( )", " . unwrap ( )"),
    ];
    let variant =
        VARIANTS.iter().find_map(|(end, taken)| Some(format!("{}{taken}", part.subject.strip_suffix(end)?)));
    let same = !part.is_link()
        && part.strength < Strength::Exact
        && part.subject.contains(' ')
        && part.subject == other.subject;
    same && !part.is_failure() && part.tolerance.is_none() && part.text != other.text
        || variant.is_some_and(|taken| other.text.contains(&taken))
}

/// Returns whether an equality has all that another one named, and all literals in their order:
/// `a . f ( 1 ) == 'x'` and `[ a . f ( 1 ) , a . f ( 2 ) ] == [ 'x' , 'y' ]`.
fn has_all(part: &Assertion, whole: &str) -> bool {
    const BUILT_IN: &[&str] = &[
        "list",
        "sorted",
        "len",
        "set",
        "dict",
        "tuple",
        "toBe",
        "toEqual",
        "toStrictEqual",
        "equal",
        "isEqualTo",
        "as",
    ];
    if part.sides.is_none() || !whole.contains(['[', '{']) {
        return false;
    }
    let is_digit = |word: &str| word.starts_with(|first: char| first.is_ascii_digit());
    let words: Vec<&str> = whole.split(' ').collect();
    // The key of a member is no value of that name.
    let is_named = |name: &str| {
        words.iter().enumerate().any(|(at, word)| *word == name && words.get(at + 1) != Some(&":"))
    };
    let mut names = part
        .text
        .split(' ')
        .filter(|word| is_name(word) && !super::is_keyword(word) && !BUILT_IN.contains(word));
    let mut literals =
        part.text.split(' ').filter(|word| is_digit(word) || word.starts_with(['"', '\''])).peekable();
    let mut rest = words.iter();
    literals.peek().is_some()
        && names.all(is_named)
        && literals.all(|literal| rest.any(|word| *word == literal))
}

/// Returns whether a value is compared part by part: all that was expected of it is expected of its parts.
fn is_taken_apart(part: &Assertion, fresh: &[&Assertion]) -> bool {
    let Some((_, expected)) = part.operands() else { return false };
    let parts: Vec<&&Assertion> = fresh
        .iter()
        .filter(|other| {
            let rest = other.subject.strip_prefix(&part.subject);
            other.strength >= Strength::Partial
                && !other.is_conditional
                && rest.is_some_and(|rest| rest.starts_with(" .") || rest.starts_with(" ["))
        })
        .collect();
    let is_literal =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''));
    let mut literals = expected.split(' ').filter(is_literal).peekable();
    !part.subject.is_empty()
        && parts.len() > 1
        && literals.peek().is_some()
        && literals.all(|literal| parts.iter().any(|other| other.text.split(' ').any(|word| word == literal)))
}

/// Returns whether several values that were compared as one list are compared one by one: `[ a , b ] == [ 1 , 2 ]`.
fn is_list_taken_apart(part: &Assertion, fresh: &[&Assertion]) -> bool {
    let Some((one, other)) = part.sides.as_ref() else { return false };
    let is_literal =
        |word: &&str| word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''));
    let expected = if one.split(' ').any(|word| is_literal(&word)) { one } else { other };
    let has = |word: &str| {
        let bare = word.trim_matches(['"', '\'']);
        let says = |other: &&Assertion| {
            !other.is_conditional
                && other.strength >= Strength::Bounded
                && other.text.split(' ').any(|theirs| theirs.trim_matches(['"', '\'']) == bare)
        };
        fresh.iter().any(says)
    };
    let values: Vec<&str> = expected.split(' ').filter(is_literal).collect();
    one.starts_with("[ ")
        && other.starts_with("[ ")
        && values.len() > 1
        && fresh.len() >= values.len()
        && values.into_iter().all(has)
}

/// Returns whether an assertion is the arm for all other values, which an equality makes needless.
fn misses_other(part: &Assertion, whole: &str) -> bool {
    let is_end = part.text.starts_with("panic !") || part.text.starts_with("unreachable !");
    is_end && whole.starts_with("assert_eq !")
}

/// Returns whether nothing was to be called that now has no calls at all.
fn is_missed(part: &Assertion, all: &[Assertion]) -> bool {
    let mock = part.text.strip_prefix("verify ( ").and_then(|rest| rest.split_once(" , never ( ) )"));
    mock.is_some_and(|(mock, _)| {
        all.iter().any(|other| other.text == format!("verifyNoInteractions ( {mock} )"))
    })
}

/// Returns whether an assertion on the number of assertions is needless, because each is made anyway.
pub(super) fn is_counted(fresh: &[&Assertion], all: &[Assertion], now: &BTreeSet<&str>) -> bool {
    let is_repeated = ["for", "while"].iter().any(|word| now.contains(word));
    let is_plain = |other: &Assertion| {
        !other.is_conditional && !other.is_handling && other.strength >= Strength::Bounded
    };
    !is_repeated && fresh.iter().any(|other| is_plain(other)) && all.iter().all(is_plain)
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
        && text.chars().all(|letter| letter.is_alphanumeric() || letter == '_')
}

fn is_constant(text: &str) -> bool {
    is_name(text) && text.starts_with(char::is_uppercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn equality(text: &str) -> Assertion {
        Assertion::of_condition(text, 1, &["assert"].into_iter().chain(text.split(' ')).collect::<Vec<_>>())
    }

    #[test]
    fn whole_values_hold_their_members() {
        let whole = equality("cards == [ { title : 'a' , id : 1 } ]");
        for (part, expected) in [
            ("card . title == 'a'", true),
            ("card . title == 'b'", false),
            ("card . name == 'a'", false),
            ("title == 'a'", true),
            ("id == 'a'", false),
            ("card . id == 1", true),
            ("card . id > 0", false),
        ] {
            assert_eq!(holds(&equality(part), &[&whole], &[], &BTreeSet::new()), expected, "{part}");
        }
        let whole = equality("code == row . code && body == row . body");
        assert!(holds(&equality("rec . Code == row . code"), &[&whole], &[], &BTreeSet::new()));
        assert!(!holds(&equality("rec . Code == row . head"), &[&whole], &[], &BTreeSet::new()));
        let whole = equality("f ( ) == expected");
        assert!(holds(&equality("f ( ) == other"), &[&whole], &[], &BTreeSet::new()));
        assert!(!holds(&equality("g ( ) == other"), &[&whole], &[], &BTreeSet::new()));
    }
}
