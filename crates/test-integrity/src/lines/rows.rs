//! Rows of tables in languages without a grammar here, by the looks of their lines.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::extract::Statement;
use crate::finding::{Finding, Kind, short};

/// Returns the row of a table that is gone, and that no other one took the place of.
pub(super) fn fewer_rows(
    path: &str,
    (gone, old_rows): (&[Statement], &BTreeSet<usize>),
    (new, new_rows): (&[Statement], &BTreeSet<usize>),
) -> Option<Finding> {
    let count = |all: &[Statement], rows: &BTreeSet<usize>| {
        all.iter().filter(|(line, _)| rows.contains(line)).count()
    };
    // A theory of one case may have become a fact.
    let marks = |all: &[Statement], mark: &str| {
        all.iter().filter(|(_, words)| words.iter().any(|word| word == mark)).count()
    };
    let facts = marks(gone, "Theory").min(marks(new, "Fact"));
    let is_fewer = count(new, new_rows) + facts < count(gone, old_rows);
    let (line, row) = gone.iter().find(|(line, _)| old_rows.contains(line)).filter(|_| is_fewer)?;
    let message = format!("a table of cases has fewer rows: `{}` is gone", short(&row.join(" ")));
    Some(Finding::new(path, *line, Kind::FewerCases, message))
}

/// Returns the numbers of the lines that are rows of tables: a list alone, such as what a function returns, is none; but what an
/// attribute gives a test is, as long as the `other` state of the file has that test.
pub(super) fn rows(text: &str, other: &str) -> BTreeSet<usize> {
    let lines: Vec<(usize, Vec<String>)> = text
        .lines()
        .enumerate()
        .map(|(at, line)| (at + 1, without_comment(words(line))))
        .filter(|(_, words)| !words.is_empty())
        .collect();
    let is_alike = |place: usize| lines.get(place).is_some_and(|(_, words)| is_row(words));
    let gives_case = |place: usize| {
        let (_, words) = &lines[place];
        let tested = || lines[place..].iter().find(|(_, words)| !is_attribute(words));
        is_attribute(words)
            && words.iter().any(|word| OF_CASES.contains(&word.as_str()))
            && tested()
                .and_then(|(_, words)| function(words))
                .is_some_and(|name| other.contains(&format!("{name}(")))
    };
    let is_of_table =
        |place: usize| is_alike(place) && (is_alike(place + 1) || place.checked_sub(1).is_some_and(is_alike));
    let rows = (0..lines.len()).filter(|place| is_of_table(*place) || gives_case(*place));
    rows.map(|place| lines[place].0).collect()
}

/// Attributes that give a test its cases.
const OF_CASES: &[&str] = &[
    "InlineData",
    "TestCase",
    "TestCaseSource",
    "DataRow",
    "DynamicData",
    "MemberData",
    "ClassData",
    "Arguments",
    "TestWith",
    "DataProvider",
];

fn is_attribute(words: &[String]) -> bool {
    matches!(words, [first, ..] if first == "[" || first == "@")
        || matches!(words, [first, second, ..] if first == "#" && second == "[")
}

/// Returns the name of the function that a line begins.
fn function(words: &[String]) -> Option<&str> {
    let open = words.iter().position(|word| word == "(")?;
    Some(words[open.checked_sub(1)?].as_str())
}

/// Takes out the comment at the end of a line.
fn without_comment(mut words: Vec<String>) -> Vec<String> {
    let begins = |at: usize| {
        let next = words.get(at + 1).map_or("", String::as_str);
        match words[at].as_str() {
            "#" => at > 0 || next != "[",
            "/" => matches!(next, "/" | "*"),
            "-" => next == "-",
            "*" => at == 0,
            _ => false,
        }
    };
    let end = (0..words.len()).find(|at| begins(*at)).unwrap_or(words.len());
    words.truncate(end);
    words
}

/// Takes out the words before what a row holds: `yield return new object[] { 1, 2 };`.
fn without_keywords(words: &[String]) -> &[String] {
    const BEFORE: &[&[&str]] = &[&["yield"], &["return"], &["new"], &["object", "[", "]"], &["[", "]"]];
    let is_yielded = words.first().is_some_and(|first| matches!(first.as_str(), "yield" | "new"));
    let mut rest = words;
    while let Some(skipped) = BEFORE.iter().filter(|_| is_yielded).find(|known| {
        rest.len() > known.len() && rest.iter().zip(known.iter()).all(|(word, known)| word == known)
    }) {
        rest = &rest[skipped.len()..];
    }
    let made = MAKERS.iter().find_map(|name| {
        let inner = rest.get(name.len()..).filter(|inner| inner.first().is_some_and(|open| open == "("))?;
        rest.iter().zip(name.iter()).all(|(word, known)| word == known).then_some(inner)
    });
    made.unwrap_or(rest)
}

/// Calls that make a row of what they are given.
const MAKERS: &[&[&str]] = &[
    &["arrayOf"],
    &["listOf"],
    &["arguments"],
    &["Arguments", ".", "of"],
    &["row"],
    &["Pair"],
    &["Triple"],
    &["TestCaseData"],
];

/// Returns whether a line is a row of a table: `[1, 2, 3],`, `'zeros' => [0, 0, 0],`, `[InlineData(1, 2)]`, `| 1 | 2 |`.
fn is_row(words: &[String]) -> bool {
    let words = without_keywords(words);
    let opens = |word: &String| matches!(word.as_str(), "[" | "(" | "{" | "|");
    let start = words.iter().position(opens).unwrap_or(usize::MAX);
    let is_key = start == 0
        || start <= 3
            && matches!(words[start - 1].as_str(), ":" | ">" | "=>" | "=")
            && words[0].starts_with(['"', '\'']);
    let ends = words
        .iter()
        .rev()
        .find(|word| !matches!(word.as_str(), "," | ";"))
        .is_some_and(|last| matches!(last.as_str(), "]" | ")" | "}" | "|"));
    let is_literal = |word: &&String| {
        word.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '"' | '\''))
    };
    let is_data = !words.iter().any(|word| matches!(word.as_str(), "Fact" | "Trait" | "=="));
    is_key
        && ends
        && is_data
        && words.iter().any(|word| word == "," || word == "|")
        && words.iter().skip(start).any(|word| is_literal(&word))
}

/// Returns whether some of the bracketed groups of a list are gone, and no other ones came: `[(1, 2), (0, 0)]` became `[(1, 2)]`.
pub(super) fn drops_groups(was: &[String], now: &[String]) -> bool {
    let groups = |tokens: &[String]| -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut start = None;
        for (at, token) in tokens.iter().enumerate() {
            match token.as_str() {
                "(" | "[" | "{" => start = Some(at),
                ")" | "]" | "}" => {
                    let group = start.take().map(|start| &tokens[start + 1..at]);
                    found.extend(
                        group
                            .filter(|group| group.iter().any(|word| word == ","))
                            .map(|group| group.join(" ")),
                    );
                }
                _ => {}
            }
        }
        found
    };
    let (old, new) = (groups(was), groups(now));
    old.len() > new.len() && !new.is_empty() && new.is_subset(&old) && old.len() > 1
}

/// Returns the tokens of a line in a language without a grammar here.
pub(super) fn words(line: &str) -> Vec<String> {
    static WORD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'|\d+(?:\.\d+)?|\w+|[=!<>]=+|\S"#).ok());
    WORD.as_ref()
        .map_or_else(Vec::new, |word| word.find_iter(line).map(|found| found.as_str().to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_beside_others_or_give_a_test_its_cases() {
        for (text, other, expected) in [
            ("[\n[1, 2],\n[0, 0],\n]", "", &[2, 3][..]),
            ("[\n// a\n[1, 2],\n\n# b\n[0, 0], // c\n]", "", &[3, 6]),
            ("return [1, 2];\n}\nreturn [0, 0];", "", &[]),
            ("[200, [\"a\", 1]]", "", &[]),
            ("yield [1, 2];\nyield 'zeros' => [0, 0];", "", &[1, 2]),
            ("yield return new object[] { 1, 2 };\nyield return new object[] { 0, 0 };", "", &[1, 2]),
            ("arrayOf(1, 2),\n// b\narrayOf(0, 0),\nlog(1, 2)", "", &[1, 3]),
            ("[Theory]\n[InlineData(1, 2)]\npublic void A(int a)", "void A()", &[2]),
            ("[Theory]\n[InlineData(1, 2)]\npublic void A(int a)", "void B()", &[]),
            ("#[TestWith([1, 2])]\npublic function testA($a)", "testA()", &[1]),
            ("[Fact]\npublic void A()", "void A()", &[]),
        ] {
            assert_eq!(rows(text, other).into_iter().collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
