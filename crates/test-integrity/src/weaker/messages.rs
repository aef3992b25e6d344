//! Assertions on the text of a failure, a message or a warning, which are now made where that is expected, or the other way round.

use crate::assertion::{Assertion, Strength};

/// Returns whether the text of a failure is asserted by itself: `raises ( KeyError , match = "x" )` and
/// `caught . value . args == ( "x" , )`.
pub(super) fn says_of_failure(part: &Assertion, fresh: &[&Assertion]) -> bool {
    const OF_FAILURES: &[&str] = &["value", "exception", "message", "getMessage", "hasMessage", "args"];
    let is_told = |literal: &str| {
        fresh.iter().any(|other| {
            other.strength >= Strength::Present
                && !other.is_failure()
                && other.text.contains(literal)
                && other.text.split(' ').any(|word| OF_FAILURES.contains(&word))
        })
    };
    // What is given to what fails is still given to it.
    let is_given = |literal: &str| {
        let written = format!("\"{literal}\" ,");
        fresh.iter().any(|other| other.is_failure() && other.text.contains(&written))
    };
    // A pattern that begins or ends with anything says what a start or an end of the text says.
    let plain = |literal: &'_ str| {
        let text = literal.trim_start_matches('^').trim_end_matches('$');
        let text = text.trim_start_matches(".*").trim_end_matches(".*");
        if text.is_empty() { literal.to_owned() } else { text.to_owned() }
    };
    part.is_failure()
        && fresh.iter().any(|other| other.is_failure())
        && crate::syntax::literals(&part.text).any(|literal| is_told(&plain(literal)))
        && crate::syntax::literals(&part.text).all(|literal| is_told(&plain(literal)) || is_given(literal))
}

/// Returns whether the text of a failure, asserted by itself before, is now said where the failure is expected:
/// `assertEquals ( "x" , error . getMessage ( ) )` and `assertThatThrownBy ( … ) . hasMessage ( "x" )`.
pub(super) fn is_said_by_failure(part: &Assertion, fresh: &[&Assertion]) -> bool {
    const MESSAGES: &[&str] =
        &["message", "Message", "getMessage", "hasMessage", "hasMessageThat", "unwrap_err", "to_string"];
    let mut literals = crate::syntax::literals(&part.text).peekable();
    let is_message = part.text.split(' ').any(|word| MESSAGES.contains(&word));
    let says = |other: &&Assertion, literal: &str| {
        let is_chain =
            ["ThrownBy", "thatThrownBy", "catchThrowable"].iter().any(|name| other.text.contains(name));
        let is_thrown =
            || other.is_failure() && crate::syntax::literals(&other.text).any(|said| said == literal);
        is_chain && other.text.contains(&format!("essage ( \"{literal}\"")) || is_thrown()
    };
    !part.is_failure()
        && is_message
        && literals.peek().is_some()
        && literals.all(|literal| fresh.iter().any(|other| says(other, literal)))
}

/// Returns whether messages or warnings are asked for by a fixture where the test caught them itself.
pub(super) fn is_caught(part: &Assertion, fresh: &[&Assertion]) -> bool {
    let of_log = [" . output", " . records"].iter().any(|end| part.subject.ends_with(end));
    // pytest's fixture for what was printed, as a whole.
    let printed = |other: &&&Assertion| {
        other.text.contains("readouterr ( ) == ")
            && crate::syntax::literals(&part.text).all(|text| other.text.contains(text))
            && (part.text != "assert not err" || other.text.contains("\"\""))
    };
    if matches!(part.text.trim_start_matches("assert ").split(' ').next_back(), Some("err"))
        || part.text.starts_with("assert out ")
        || part.text.starts_with("assert err ")
    {
        return fresh.iter().any(|other| printed(&other));
    }
    let fixture = match part.name.rsplit('.').next() {
        Some("assertLogs") => "caplog",
        _ if of_log => "caplog",
        Some("assertWarns" | "assertWarnsRegex") => "recwarn",
        _ => return false,
    };
    let asks = |other: &&&Assertion| {
        other.strength == Strength::Exact && other.text.split(' ').any(|word| word == fixture)
    };
    fresh.iter().any(|other| asks(&other))
}
