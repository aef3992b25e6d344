//! Texts and patterns that something has to contain, of which a part is all that is asked for now.

use std::collections::BTreeSet;

use crate::Change;
use crate::assertion::vocabulary::plain;
use crate::extract::Test;
use crate::files::Role;
use crate::finding::{Finding, Kind, short};

/// Parts of the names of calls that look for what they are given.
#[rustfmt::skip]
const LOOKING: &[&str] = &[
    "contain", "include", "regex", "match", "search", "startswith", "startingwith", "endswith", "prefix", "suffix", "throw", "raise", "warns",
    "assertin", "reject", "shouldpanic", "like", "deprecatedcall",
];
/// Parts of the names of calls that compare what they are given as a whole, or are about what must not be there.
const OTHERS: &[&str] = &["object", "snapshot", "not", "exact", "equal", "doesn"];
/// Most pairs of changed assertions of one test that are compared.
const MAX_PAIRED: usize = 2_500;
/// Shortest word that says what a text is about.
const MIN_WORD: usize = 3;

/// Text or pattern that an assertion looks for.
#[derive(Debug)]
struct Sought<'a> {
    text: &'a str,
    is_pattern: bool,
    /// Whether it is looked for in something, rather than compared with it.
    is_part: bool,
}

/// Returns what a test asks for less of.
pub(super) fn of_pair(before: &Test, after: &Test, changes: &[Change<'_>]) -> Option<Finding> {
    let (old, new) = (texts(before), texts(after));
    let (gone, come) = (without(&old, &new), without(&new, &old));
    if gone.len().saturating_mul(come.len()) > MAX_PAIRED {
        return None;
    }
    let (was, (is, line), lost) = gone.iter().find_map(|(was, _)| {
        come.iter().find_map(|now| shortened(was, now.0).map(|lost| (*was, *now, lost)))
    })?;
    let others: Vec<&str> = come.iter().map(|(text, _)| *text).filter(|text| *text != is).collect();
    let is_excused = is_excused(&lost, is, &others, changes);
    let message = format!("in `{}`: `{}` became `{}`, which fits more", after.name, short(was), short(is));
    (!is_excused).then(|| Finding::new(&after.path, line, Kind::WeakerAssertion, message))
}

/// Returns whether the change shows why a finding asks for less of a text.
pub(super) fn is_shown(finding: &Finding, before: &Test, after: &Test, changes: &[Change<'_>]) -> bool {
    if !finding.message.ends_with("which fits more") {
        return false;
    }
    let (old, new) = (texts(before), texts(after));
    let is = new.iter().find(|(text, line)| *line == finding.line && finding.message.contains(&short(text)));
    let was = old.iter().find(|(text, _)| finding.message.contains(&format!("`{}` became", short(text))));
    let Some(((was, _), (is, _))) = was.zip(is) else { return false };
    let come = without(&new, &old);
    let come: Vec<&str> = come.iter().map(|(text, _)| *text).filter(|text| text != is).collect();
    shortened(was, is).is_some_and(|lost| is_excused(&lost, is, &come, changes))
}

/// Returns those of some texts that are not among others.
fn without<'a>(some: &[(&'a str, usize)], others: &[(&str, usize)]) -> Vec<(&'a str, usize)> {
    let known: BTreeSet<&str> = others.iter().map(|(text, _)| *text).collect();
    some.iter().filter(|(text, _)| !known.contains(text)).copied().collect()
}

/// Returns the assertions of a test, and the statements of Python's that match what was raised.
fn texts(test: &Test) -> Vec<(&str, usize)> {
    let own = test.body.assertions.iter().map(|assertion| (assertion.text.as_str(), assertion.line));
    let matched = test.body.outcomes.needed.iter().filter(|call| call.contains(" . match ( "));
    own.chain(matched.map(|call| (call.as_str(), test.line))).collect()
}

/// Returns whether what is no longer asked for is asked for elsewhere, or is no longer what the program says.
fn is_excused(lost: &[String], is: &str, others: &[&str], changes: &[Change<'_>]) -> bool {
    if !lost.is_empty() && lost.iter().all(|word| others.iter().any(|other| other.contains(word.as_str()))) {
        return true;
    }
    let kept: Vec<String> = sought(is).1.iter().flat_map(|sought| words(sought.text)).collect();
    let (lost, is_told) = if lost.is_empty() { (kept.as_slice(), true) } else { (lost, false) };
    let mut program = changes.iter().filter(|change| Role::of(change.path) != Role::Test);
    program.any(|change| {
        let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
        let lines = |one: &'_ str, other: &str| -> String {
            let known: BTreeSet<&str> = other.lines().map(str::trim).collect();
            one.lines().filter(|line| !known.contains(line.trim())).collect::<Vec<_>>().join("\n")
        };
        let (removed, added) = (lines(before, after), lines(after, before));
        lost.iter().any(|word| removed.contains(word.as_str()) && (is_told || !added.contains(word.as_str())))
    })
}

/// Returns the words that are no longer asked for, if an assertion is the same as another one but for shorter texts.
fn shortened(was: &str, is: &str) -> Option<Vec<String>> {
    let ((frame, old), (other, new)) = (sought(was), sought(is));
    if frame != other || old.len() != new.len() || old.is_empty() {
        return None;
    }
    let mut lost: Option<Vec<String>> = None;
    for (old, new) in old.iter().zip(&new) {
        if old.text == new.text && old.is_pattern == new.is_pattern {
            continue;
        }
        let (had, has) = (reduced(old.text), reduced(new.text));
        let is_looking = old.is_part && new.is_part || new.is_pattern && !old.is_pattern;
        let is_open = had == has && anchors(old.text) > anchors(new.text) && old.is_part;
        if !is_looking || !had.contains(&has) || had == has && !is_open {
            return None;
        }
        // One of several alternatives is more than any of them.
        if old.text.contains('|') && old.is_part {
            return None;
        }
        let kept = words(new.text);
        lost.get_or_insert_default().extend(words(old.text).into_iter().filter(|word| !kept.contains(word)));
    }
    lost
}

/// Returns a pattern without what stands for any text at its ends.
fn reduced(text: &str) -> String {
    let mut text = text.trim_start_matches("(?i)").replace("\\\\", "\\");
    for sign in ["\\b", "^", "$", ".*", ".+"] {
        text = text.trim_start_matches(sign).trim_end_matches(sign).to_owned();
    }
    let text = text.replace('\\', "");
    if text == "." { String::new() } else { text }
}

fn anchors(text: &str) -> usize {
    usize::from(text.starts_with('^')) + usize::from(text.ends_with('$'))
}

fn words(text: &str) -> Vec<String> {
    let words = text.split(|sign: char| !sign.is_alphanumeric());
    words
        .filter(|word| word.len() >= MIN_WORD && !word.starts_with(|sign: char| sign.is_ascii_digit()))
        .map(str::to_owned)
        .collect()
}

/// Returns an assertion without its texts, and these.
fn sought(text: &str) -> (String, Vec<Sought<'_>>) {
    let (mut frame, mut found): (Vec<&str>, Vec<Sought<'_>>) = (Vec::new(), Vec::new());
    let mut calls: Vec<String> = Vec::new();
    let mut rest = text;
    while let Some(start) = rest.find(|sign: char| sign != ' ') {
        rest = &rest[start..];
        let last = frame.last().copied().unwrap_or_default();
        if let Some((literal, is_pattern, behind)) = literal(rest, last) {
            let call = calls.last().map_or("", String::as_str);
            let is_looking = LOOKING.iter().any(|part| call.contains(part))
                && !OTHERS.iter().any(|part| call.contains(part));
            let is_part = is_looking || behind.starts_with(" in ");
            found.push(Sought { text: literal, is_pattern, is_part });
            frame.push("_");
            rest = behind;
            continue;
        }
        let (word, behind) = rest.split_at(rest.find(' ').unwrap_or(rest.len()));
        match word {
            "(" => {
                let name = frame.iter().rev().find(|word| **word != "!").copied().unwrap_or_default();
                let name = if frame.contains(&"not") || name.starts_with("Not") {
                    "not".to_owned()
                } else {
                    plain(name)
                };
                // `! text . contains ( "x" )` demands that it is not there, but for the conditions of Go's.
                let is_negated = text.contains("( ! ");
                let name = if is_negated { "not".to_owned() } else { name.replace('_', "") };
                // What is escaped is given to what is around it.
                calls.push(if name == "escape" { calls.last().cloned().unwrap_or_default() } else { name });
            }
            ")" => drop(calls.pop()),
            _ => {}
        }
        frame.push(word);
        rest = behind;
    }
    (frame.join(" ").replace("re . escape ( _ )", "_"), found)
}

/// Returns the literal that a text begins with, whether it is a pattern, and what is behind it.
fn literal<'a>(text: &'a str, last: &str) -> Option<(&'a str, bool, &'a str)> {
    let bare = text.trim_start_matches(['r', 'b', 'f', 'u']);
    let quote = bare.chars().next()?;
    let is_slash = quote == '/' && matches!(last, "(" | "," | ":" | "=");
    if !matches!(quote, '"' | '\'' | '`') && !is_slash {
        return None;
    }
    let inner = &bare[1..];
    let mut is_escaped = false;
    let end = inner.find(|sign| {
        let ends = sign == quote && !is_escaped;
        is_escaped = sign == '\\' && !is_escaped;
        ends
    })?;
    let behind = &inner[end + 1..];
    let behind =
        if is_slash { behind.trim_start_matches(|sign: char| sign.is_ascii_lowercase()) } else { behind };
    Some((inner[..end].trim(), is_slash, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shorter_texts_lose_words() {
        for (was, is, lost) in [
            (
                "raises ( E , match = \"bad header\" )",
                "raises ( E , match = r\"bad\" )",
                Some(vec!["header"]),
            ),
            ("raises ( E , match = \"bad\" )", "raises ( E , match = \"bad header\" )", None),
            (
                "expect ( f ( ) ) . toThrow ( \"bad header\" )",
                "expect ( f ( ) ) . toThrow ( /bad/i )",
                Some(vec!["header"]),
            ),
            ("expect ( f ( ) ) . toBe ( \"bad header\" )", "expect ( f ( ) ) . toBe ( \"bad\" )", None),
            (
                "expect ( f ( ) ) . not . toContain ( \"bad header\" )",
                "expect ( f ( ) ) . not . toContain ( \"bad\" )",
                None,
            ),
            ("assert \"bad header\" in out", "assert \"bad\" in out", Some(vec!["header"])),
            (
                "assert ! ( f ( ) . contains ( \"bad header\" ) )",
                "assert ! ( f ( ) . contains ( \"bad\" ) )",
                Some(vec!["header"]),
            ),
            (
                "assert ! ( ! f ( ) . contains ( \"bad header\" ) )",
                "assert ! ( ! f ( ) . contains ( \"bad\" ) )",
                None,
            ),
            ("raises ( E , match = \"^bad$\" )", "raises ( E , match = \"bad\" )", Some(vec![])),
            ("raises ( E , match = re . escape ( \"bad.\" ) )", "raises ( E , match = r\"bad\\.\" )", None),
        ] {
            let lost = lost.map(|words: Vec<&str>| words.into_iter().map(str::to_owned).collect::<Vec<_>>());
            assert_eq!(shortened(was, is), lost, "{was}");
        }
    }
}
