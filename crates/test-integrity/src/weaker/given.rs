//! Expected values that the test itself may give: as the default of what is tested, or out of the very value that is tested.

use super::narrower::root;
use crate::assertion::Assertion;
use crate::syntax::{is_pure, literals, without_strings};

/// Words of expressions that come to another value where there is none.
const DEFAULTS: &[&str] =
    &["or", "||", "??", "|", "**", "...", "get", "getattr", "next", "else", "assign", "pop"];
/// Signs before the other value.
const BEFORE_DEFAULT: &[&str] = &[",", "or", "||", "??", ":", "else"];
/// Values that say that there is none.
const ABSENT: &[&str] = &["None", "null", "nil", "undefined"];

/// Returns whether the test may give what it expects, which it did not before: `a . get ( "k" , 3 ) == 3`, `{ ** a , "k" : 3 }`, or
/// `a . name == text ( a )` where it said the name.
pub(super) fn is_given_by_test(before: &Assertion, after: &Assertion) -> bool {
    let Some((before, after)) = before.operands().zip(after.operands()) else { return false };
    let was_said = is_pure(before.0) || is_pure(before.1);
    was_said && is_made_of_tested(after) || is_default(after) && !is_default(before)
}

/// Returns whether what is expected is made of the very object that is tested.
fn is_made_of_tested((tested, expected): (&str, &str)) -> bool {
    // Words of a text are no names.
    let (tested, expected) = (without_strings(tested), without_strings(expected));
    let object = root(&tested).filter(|name| {
        name.starts_with(char::is_lowercase)
            && !tested.contains(&format!("{name} ("))
            && tested.contains(&format!("{name} ."))
    });
    expected.contains('(')
        && object.is_some_and(|object| expected.split_whitespace().any(|word| word == object))
}

/// Returns whether what is tested comes to what is expected if the program gives nothing.
fn is_default((tested, expected): (&str, &str)) -> bool {
    let has_default =
        |side: &str| without_strings(side).split_whitespace().any(|word| DEFAULTS.contains(&word));
    let said = format!(" {tested} ");
    let stands = |value: &str| BEFORE_DEFAULT.iter().any(|sign| said.contains(&format!(" {sign} {value} ")));
    let is_given = |literal: &str| {
        !literal.is_empty()
            && ['"', '\'', '`'].iter().any(|quote| stands(&format!("{quote}{literal}{quote}")))
    };
    let is_value = is_pure(expected) && !ABSENT.contains(&expected);
    has_default(tested) && (literals(expected).any(is_given) || is_value && stands(expected))
        || tested.contains('(') && expected.contains(tested) && has_default(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_given(before: &str, after: &str) -> bool {
        let equality = |text: &str| {
            let words: Vec<&str> = ["assert"].into_iter().chain(text.split(' ')).collect();
            Assertion::of_condition(text, 1, &words)
        };
        is_given_by_test(&equality(before), &equality(after))
    }

    #[test]
    fn a_test_gives_what_it_expects() {
        for (before, after) in [
            ("page [ 'a' ] == 'b'", "page . get ( 'a' , 'b' ) == 'b'"),
            ("page . get ( 'a' ) == 'b'", "page . get ( 'a' , 'b' ) == 'b'"),
            ("'b c' == page [ 'a' ]", "'b c' == page . get ( 'a' , \"b c\" )"),
            ("page . get ( 'a' ) == 3", "page . get ( 'a' , 3 ) == 3"),
            ("f ( ) == 3", "( f ( ) or 3 ) == 3"),
            ("r . text == 'a'", "r . text == str ( r )"),
        ] {
            assert!(is_given(before, after), "{after}");
        }
    }

    #[test]
    fn what_is_as_before_or_stands_in_a_text_is_not_given() {
        for text in [
            "page . get ( 'a' , 'b' ) == 'b'",
            "'b' == page . get ( 'a' , 'b' )",
            "config . title == \"The default config (v2)\"",
            "response . json ( ) == { \"msg\" : \"no response from server (timeout)\" }",
            "f ( ) == ( f ( ) or 3 )",
        ] {
            assert!(!is_given(text, text), "{text}");
        }
        for (before, after) in [
            ("config . title == \"a\"", "config . title == \"the config (2)\""),
            ("f ( ) == 'a'", "f ( 'b or c' , 'a' ) == 'a'"),
            ("list ( rows ) == [ ]", "next ( rows , None ) is None"),
        ] {
            assert!(!is_given(before, after), "{after}");
        }
    }
}
