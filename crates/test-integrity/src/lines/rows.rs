//! Rows of tables in languages without a grammar here, by the looks of their lines.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::statements::Statement;
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
    let is_fewer = count(new, new_rows) < count(gone, old_rows);
    let (line, row) = gone.iter().find(|(line, _)| old_rows.contains(line)).filter(|_| is_fewer)?;
    let message = format!("a table of cases has fewer rows: `{}` is gone", short(&row.join(" ")));
    Some(Finding::new(path, *line, Kind::FewerCases, message))
}

/// Returns the numbers of the lines that are rows of tables: a list alone, such as what a function returns, is none.
pub(super) fn rows(text: &str) -> BTreeSet<usize> {
    let alike: BTreeSet<usize> =
        text.lines().enumerate().filter(|(_, line)| is_row(&words(line))).map(|(at, _)| at + 1).collect();
    let has_neighbor = |line: &usize| alike.contains(&(line + 1)) || alike.contains(&(line - 1));
    alike.iter().filter(|line| has_neighbor(line)).copied().collect()
}

/// Returns whether a line is a row of a table: `[1, 2, 3],`, `'zeros' => [0, 0, 0],`, `[InlineData(1, 2)]`, `| 1 | 2 |`.
fn is_row(words: &[String]) -> bool {
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
