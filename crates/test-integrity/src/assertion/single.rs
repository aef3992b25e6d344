//! Conditions that one value alone meets, although no sign of equality says so.

use super::sides::sides_of;
use super::{Strength, vocabulary};
use crate::syntax::tokens::split;

/// Returns what a pattern of Rust is about that says all of a value: `matches ! ( error , Kind :: Short { had : 1 } )`.
pub(super) fn pattern(text: &str) -> Option<(&str, Strength)> {
    let inner = text.strip_prefix("matches ! ( ")?.strip_suffix(" )")?;
    let parts = split(inner, &[" , "]);
    let (subject, said) = (*parts.first()?, *parts.get(1)?);
    let (said, guard) = said.split_once(" if ").unwrap_or((said, ""));
    let words: Vec<&str> = said.split(' ').collect();
    let leaves_out = words.iter().any(|word| matches!(*word, "_" | ".." | "|"));
    // A name is given to whatever there is, unless the condition behind the pattern says what it is.
    let is_open = |(at, word): (usize, &&str)| {
        let is_name = word.starts_with(|first: char| first.is_lowercase()) && !vocabulary::is_literal(word);
        let is_path = matches!(words.get(at + 1), Some(&("::" | ":")));
        let is_last_of_path = at > 0 && words[at - 1] == "::";
        let is_said = split(guard, &[" && "])
            .iter()
            .any(|part| sides_of(part).is_some_and(|(one, _)| one.trim_start_matches("* ") == *word));
        is_name && !is_path && !is_last_of_path && !is_said && !matches!(*word, "ref" | "mut")
    };
    let is_whole = |(at, word): (usize, &&str)| {
        let is_variant = at > 1 && words[at - 1] == "::" && word.starts_with(char::is_uppercase);
        *word == "None" || is_variant && !matches!(words.get(at + 1), Some(&("(" | "{")))
    };
    let says = words.iter().any(|word| vocabulary::is_literal(word) && !matches!(*word, "[" | "{" | "("))
        || words.iter().enumerate().any(is_whole);
    let is_open = leaves_out || words.iter().enumerate().any(is_open);
    (says && !is_open).then_some((subject, Strength::Exact))
}

/// Returns what a condition is about that only one value meets: `x . is_nan ( )`.
pub(super) fn single(text: &str) -> Option<(&str, Strength)> {
    const CALLS: &[&str] =
        &["math . isnan ( ", "isNaN ( ", "Number . isNaN ( ", "Double . isNaN ( ", "math . IsNaN ( "];
    let receiver = text.strip_suffix(" . is_nan ( )").or_else(|| text.strip_suffix(" . isNaN ( )"));
    let given = || CALLS.iter().find_map(|call| text.strip_prefix(call)?.strip_suffix(" )"));
    receiver.or_else(given).map(|subject| (subject, Strength::Exact))
}
