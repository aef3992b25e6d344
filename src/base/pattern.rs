//! Regular expressions as people and models write them. Most are matched in linear time; those with look-around or
//! backreferences, which no linear engine knows, go to a backtracking one that gives up after a number of steps.

use fancy_regex::Regex as Backtracking;
use regex::{Regex, RegexBuilder};

/// Maximum number of steps back of one search: some hundred milliseconds at most.
const MAX_STEPS: usize = 500_000;

/// Compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Engine);

#[derive(Clone, Debug)]
enum Engine {
    Linear(Regex),
    Backtracking(Box<Backtracking>),
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PatternOptions {
    /// Whether upper and lower case are the same.
    pub ignore_case: bool,
    /// Whether `^` and `$` match at every line.
    pub multi_line: bool,
}

/// Error for a pattern that neither engine understands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidPattern(String);

impl InvalidPattern {
    /// Creates an error with its reason.
    pub(crate) fn new(reason: String) -> Self {
        Self(reason)
    }
}

/// Error for a search that was given up, because the pattern backtracks too much on the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern takes too long on this text; write it without nested repetition")]
pub(crate) struct PatternTimeout;

impl Pattern {
    /// Compiles a pattern.
    pub(crate) fn new(pattern: &str, options: PatternOptions) -> Result<Self, InvalidPattern> {
        let linear = RegexBuilder::new(pattern)
            .case_insensitive(options.ignore_case)
            .multi_line(options.multi_line)
            .build();
        let error = match linear {
            Ok(regex) => return Ok(Self(Engine::Linear(regex))),
            Err(error) => error.to_string(),
        };
        let mut builder = fancy_regex::RegexBuilder::new(pattern);
        builder
            .case_insensitive(options.ignore_case)
            .multi_line(options.multi_line)
            .backtrack_limit(MAX_STEPS);
        match builder.build() {
            Ok(regex) => Ok(Self(Engine::Backtracking(Box::new(regex)))),
            // What only the second engine could understand is best explained by it.
            Err(other) if error.contains("look-around") || error.contains("backreferences") => {
                Err(InvalidPattern(other.to_string()))
            }
            Err(_) => Err(InvalidPattern(error)),
        }
    }

    /// Returns the pattern as it was written.
    pub(crate) fn as_str(&self) -> &str {
        match &self.0 {
            Engine::Linear(regex) => regex.as_str(),
            Engine::Backtracking(regex) => regex.as_str(),
        }
    }

    /// Returns `true` if the text contains a match.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, PatternTimeout> {
        match &self.0 {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(regex) => regex.is_match(text).map_err(|_| PatternTimeout),
        }
    }

    /// Returns the names and numbers of the pattern's groups.
    pub(crate) fn groups(&self) -> Vec<String> {
        let all = |names: &mut dyn Iterator<Item = Option<&str>>| {
            let named = names
                .enumerate()
                .flat_map(|(number, name)| [Some(number.to_string()), name.map(str::to_owned)]);
            named.flatten().collect()
        };
        match &self.0 {
            Engine::Linear(regex) => all(&mut regex.capture_names()),
            Engine::Backtracking(regex) => all(&mut regex.capture_names()),
        }
    }

    /// Returns the place of each match, and what it is to be replaced by: `template` with `${1}` and `${name}`
    /// filled in.
    pub(crate) fn replacements(
        &self,
        text: &str,
        template: &str,
    ) -> Result<Vec<Replacement>, PatternTimeout> {
        match &self.0 {
            Engine::Linear(regex) => {
                let one = |found: regex::Captures<'_>| {
                    let range = found.get(0).map_or(0..0, |whole| whole.range());
                    let mut with = String::new();
                    found.expand(template, &mut with);
                    Replacement { range, with }
                };
                Ok(regex.captures_iter(text).map(one).collect())
            }
            Engine::Backtracking(regex) => {
                let one = |found: Result<fancy_regex::Captures<'_>, _>| {
                    let found = found.map_err(|_| PatternTimeout)?;
                    let range = found.get(0).map_or(0..0, |whole| whole.range());
                    let mut with = String::new();
                    found.expand(template, &mut with);
                    Ok(Replacement { range, with })
                };
                regex.captures_iter(text).map(one).collect()
            }
        }
    }
}

/// Match of a pattern, and the text that is to replace it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Replacement {
    /// Position of the match, in bytes.
    pub range: std::ops::Range<usize>,
    /// Text that replaces it.
    pub with: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(text: &str) -> Result<Pattern, InvalidPattern> {
        Pattern::new(text, PatternOptions { multi_line: true, ..PatternOptions::default() })
    }

    #[test]
    fn look_around_and_backreferences_are_understood() {
        for (text, hit, miss) in [
            (r"foo(?!bar)", "foo baz", "foobar"),
            (r"(?<=let )x", "let x", "x"),
            (r"(\w)\1", "aa", "ab"),
            (r"^b$", "a\nb\nc", "abc"),
        ] {
            let pattern = pattern(text).expect("a pattern");
            assert_eq!((pattern.is_match(hit), pattern.is_match(miss)), (Ok(true), Ok(false)), "{text}");
        }
        assert!(pattern("(").is_err_and(|error| error.to_string().contains("unclosed group")));
        assert!(pattern("(?!").is_err());
    }

    #[test]
    fn endless_backtracking_is_given_up() {
        let pattern = pattern(r"^(?:(?=a)(a|a)+)+\b$(?!x)\1").expect("a pattern");
        assert_eq!(pattern.is_match(&format!("{}!", "a".repeat(60))), Err(PatternTimeout));
    }

    #[test]
    fn replacements_fill_in_groups() {
        for (text, with) in [(r"(\w+)@(?P<host>\w+)", "b@a"), (r"(\w+)@(?P<host>\w+)(?!x)", "b@a")] {
            let found = pattern(text).expect("a pattern").replacements("a@b", "${host}@${1}");
            assert_eq!(found, Ok(vec![Replacement { range: 0..3, with: with.to_owned() }]), "{text}");
        }
    }
}
