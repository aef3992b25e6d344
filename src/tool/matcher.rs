//! Matchers of the search: ripgrep's, or one that backtracks for what ripgrep's does not know.

use std::cell::Cell;
use std::ops::Range;
use std::time::{Duration, Instant};

use grep_matcher::{LineTerminator, Match, Matcher, NoCaptures};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};

use crate::base::pattern::{InvalidPattern, Pattern, line_matcher};
use crate::base::pattern_options::{PatternOptions, PatternTimeout};

/// Time limit of a search with a pattern that backtracks.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Matcher of lines.
pub(super) enum LineMatcher {
    /// Linear time.
    Linear(Box<RegexMatcher>),
    /// Look-around and backreferences.
    Backtracking(Backtracking),
}

/// How a pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Syntax {
    Literal,
    Regex,
}

impl LineMatcher {
    /// Compiles a pattern.
    pub(super) fn new(pattern: &str, syntax: Syntax, case_sensitive: bool) -> Result<Self, InvalidPattern> {
        let mut builder = RegexMatcherBuilder::new();
        builder.fixed_strings(syntax == Syntax::Literal).case_insensitive(!case_sensitive);
        let error = match line_matcher(pattern, &builder) {
            Ok(matcher) => return Ok(Self::Linear(Box::new(matcher))),
            Err(error) => error.to_string(),
        };
        if pattern.contains('\n') || pattern.contains("\\n") {
            return Err(InvalidPattern::new(format!("{error}; matches are within a line")));
        }
        let options = PatternOptions { ignore_case: !case_sensitive, multi_line: false };
        match Pattern::new(pattern, options) {
            Ok(pattern) => Ok(Self::Backtracking(Backtracking { pattern, until: Instant::now() + MAX_TIME })),
            Err(error) => Err(error),
        }
    }

    /// Returns the matches in a line, from left to right.
    pub(super) fn matches<'a>(&'a self, line: &'a str) -> impl Iterator<Item = Range<usize>> + 'a {
        let mut from = 0;
        std::iter::from_fn(move || {
            if from > line.len() {
                return None;
            }
            let found = match self {
                Self::Linear(matcher) => {
                    let found = matcher.find_at(line.as_bytes(), from).ok()??;
                    found.start()..found.end()
                }
                Self::Backtracking(matcher) => matcher.search(line, from).ok()??,
            };
            // An empty match must not be found again.
            let next = found.end.max(found.start + 1);
            from = if next > line.len() { next } else { line.ceil_char_boundary(next) };
            Some(found)
        })
    }

    /// Returns what ends the lines that it is asked about.
    pub(super) fn line_terminator(&self) -> LineTerminator {
        match self {
            Self::Linear(matcher) => matcher.line_terminator().unwrap_or_default(),
            Self::Backtracking(_) => LineTerminator::default(),
        }
    }

    /// Returns `true` if the time for the search is up.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::Linear(_) => false,
            Self::Backtracking(matcher) => matcher.is_over(),
        }
    }
}

/// Pattern that backtracks, within a time limit for the whole search.
pub(super) struct Backtracking {
    pattern: Pattern,
    until: Instant,
}

impl Backtracking {
    fn is_over(&self) -> bool {
        Instant::now() >= self.until
    }

    /// Looks for a match in a line from a position on, while there is time.
    fn search(&self, line: &str, from: usize) -> Result<Option<Range<usize>>, PatternTimeout> {
        if self.is_over() { Err(PatternTimeout) } else { self.pattern.find_at(line, from) }
    }
}

/// Matcher of the lines of one file. A line on which it gives up counts as one that matches, so that the searcher tells which it is.
pub(super) struct FileMatcher<'a> {
    pub(super) matcher: &'a Backtracking,
    /// Whether it has given up on the last line.
    pub(super) gave_up: &'a Cell<bool>,
}

impl Matcher for FileMatcher<'_> {
    type Captures = NoCaptures;
    type Error = std::convert::Infallible;

    /// Looks for a match in a line. Where in the line it is does not matter to the search.
    fn find_at(&self, line: &[u8], at: usize) -> Result<Option<Match>, Self::Error> {
        let rest = String::from_utf8_lossy(line.get(at..).unwrap_or_default());
        let found = self.matcher.search(rest.trim_end_matches(['\n', '\r']), 0);
        self.gave_up.set(found.is_err());
        Ok(found.unwrap_or(Some(0..0)).map(|_| Match::new(at, line.len())))
    }

    fn new_captures(&self) -> Result<NoCaptures, Self::Error> {
        Ok(NoCaptures::new())
    }
}
