//! Numbers that commands are given: what has to be reached, and what must not be passed.

use std::sync::LazyLock;

use regex::Regex;

use super::check::Check;
use super::reading::{Reading, reading};
use crate::syntax::words;

/// Returns the option of a command whose number is looser in all calls that there are now: its name, the number before and after.
pub(super) fn looser(before: &str, now: &[&Check]) -> Option<(String, f64, f64)> {
    given(before).into_iter().find_map(|(name, old)| {
        let new: Vec<f64> = now
            .iter()
            .filter_map(|other| {
                given(&other.text).into_iter().find(|(known, _)| *known == name).map(|(_, new)| new)
            })
            .collect();
        if is_exit_code(&name) {
            return (old != 0.0 && !new.is_empty() && new.iter().all(|new| *new == 0.0))
                .then_some((name, old, 0.0));
        }
        match reading(&name)? {
            Reading::Minimum if new.len() == now.len() => {
                new.into_iter().reduce(f64::max).filter(|new| *new < old).map(|new| (name, old, new))
            }
            Reading::Maximum => new
                .into_iter()
                .reduce(f64::min)
                .filter(|new| *new > old || *new < 0.0 && old >= 0.0)
                .map(|new| (name, old, new)),
            _ => None,
        }
    })
}

fn is_exit_code(name: &str) -> bool {
    words(name).ends_with(&["exit".to_owned(), "code".to_owned()])
}

/// Returns the numbers of a command by the names of their options.
fn given(command: &str) -> Vec<(String, f64)> {
    static OPTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"(?:^|\s)(?:-{1,2}|/p:|-p:|-[DP])?([A-Za-z][\w.:-]*)(?:=|\s+)["']?(-?\d+(?:\.\d+)?)%?(?:["'\s]|$)"#).ok()
    });
    OPTION.as_ref().map_or_else(Vec::new, |option| {
        option
            .captures_iter(command)
            .filter_map(|found| Some((found[1].to_owned(), found[2].parse().ok()?)))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_known_by_the_words_of_their_options() {
        let check =
            |text: &str| Check { line: 1, tool: "a".to_owned(), text: text.to_owned(), narrow: Vec::new() };
        for (before, after, is_looser) in [
            ("a --fail-under-lines 85", "a --fail-under-lines 60", true),
            ("a --fail-under-lines 85", "a --fail-under-lines 90", false),
            ("a /p:Threshold=80", "a /p:Threshold=0", true),
            ("a --max-warnings=0", "a --max-warnings=-1", true),
            ("a --exit-code 1 .", "a --exit-code 0 .", true),
            ("a --retries 0", "a --retries 4", true),
            ("a -timeout=2m", "a -timeout=9m", false),
            ("a --jobs 4", "a --jobs 2", false),
        ] {
            assert_eq!(looser(before, &[&check(after)]).is_some(), is_looser, "{before} {after}");
        }
    }
}
