//! Patterns with look-around or backreferences, which need an engine that backtracks. Its searches are bounded in steps, and where steps
//! may be long, because the text is, in time as well.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use fancy_regex::{Captures, Regex, RegexBuilder};

use super::pattern_options::{PatternOptions, PatternTimeout};

/// Maximum length of a text, in bytes, that is searched at once.
const SHORT: usize = 4 << 10;
/// Maximum number of steps back of such a search: some hundred milliseconds at most.
const MAX_STEPS: usize = 500_000;
/// Maximum lengths of longer texts, in bytes, and how many steps back may be made from each start: as a step can take as long as a look
/// at the whole text, these are a second or so.
const LONG: [(usize, usize); 2] = [(256 << 10, 8_000), (usize::MAX, 200)];
/// Time limit for a search of a longer text.
const MAX_TIME: Duration = Duration::from_secs(5);
/// Number of starts between two looks at the clock.
const STARTS: usize = 16;

/// Compiled pattern of a backtracking engine.
#[derive(Clone, Debug)]
pub(super) struct Backtracking {
    /// Looks for a match everywhere.
    whole: Regex,
    /// Look for a match at the start alone, for texts of each length; `None` if the pattern cannot be had that way.
    at_start: Arc<[OnceLock<Option<Regex>>; LONG.len()]>,
    options: PatternOptions,
}

/// Compiles a pattern.
fn compile(pattern: &str, options: PatternOptions, steps: usize) -> Result<Regex, Box<fancy_regex::Error>> {
    let mut builder = RegexBuilder::new(pattern);
    builder
        .case_insensitive(options.ignore_case)
        .multi_line(options.multi_line)
        .crlf(options.multi_line)
        .backtrack_limit(steps);
    builder.build().map_err(Box::new)
}

impl Backtracking {
    pub(super) fn new(pattern: &str, options: PatternOptions) -> Result<Self, Box<fancy_regex::Error>> {
        let whole = compile(pattern, options, MAX_STEPS)?;
        Ok(Self { whole, at_start: Arc::default(), options })
    }

    /// Returns the pattern as it was written.
    pub(super) fn as_str(&self) -> &str {
        self.whole.as_str()
    }

    /// Returns the names of the groups, of those that have one.
    pub(super) fn group_names(&self) -> fancy_regex::CaptureNames<'_> {
        self.whole.capture_names()
    }

    /// Returns until when a search may take that begins now.
    pub(super) fn time_limit() -> Instant {
        Instant::now() + MAX_TIME
    }

    /// Returns the first match that begins at a position or behind it, with its groups.
    pub(super) fn captures_at<'t>(
        &self,
        text: &'t str,
        from: usize,
        until: Instant,
    ) -> Result<Option<Captures<'t>>, PatternTimeout> {
        if text.len() <= SHORT {
            return self.whole.captures_from_pos(text, from).map_err(|_| PatternTimeout);
        }
        let at_start = self.at_start(text.len()).ok_or(PatternTimeout)?;
        let starts = text[from..].char_indices().map(|(at, _)| from + at).chain([text.len()]);
        for (count, start) in starts.enumerate() {
            let looks = text.len() > LONG[0].0 || count % STARTS == 0;
            if looks && Instant::now() >= until {
                return Err(PatternTimeout);
            }
            let found = at_start.captures_from_pos(text, start).map_err(|_| PatternTimeout)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Returns the pattern for matches at the start of a search in a text of this length.
    fn at_start(&self, length: usize) -> Option<&Regex> {
        let (&(_, steps), compiled) =
            LONG.iter().zip(&*self.at_start).find(|((most, _), _)| length <= *most)?;
        // With `(?x)`, a comment at its end would go on.
        let patterns = [format!(r"\G(?:{})", self.as_str()), format!("\\G(?:{}\n)", self.as_str())];
        let compile = |pattern: &String| compile(pattern, self.options, steps).ok();
        compiled.get_or_init(|| patterns.iter().find_map(compile)).as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pattern: &str, text: &str, time: Duration) -> Result<Option<(usize, usize)>, PatternTimeout> {
        let options = PatternOptions { multi_line: true, ..PatternOptions::default() };
        let pattern = Backtracking::new(pattern, options).expect("a pattern");
        let found = pattern.captures_at(text, 0, Instant::now() + time)?;
        Ok(found.and_then(|found| found.get(0)).map(|whole| (whole.start(), whole.end())))
    }

    #[test]
    fn long_texts_are_searched_as_short_ones_are() {
        let minute = Duration::from_mins(1);
        for before in [String::new(), "xy ".repeat(3_000), "é\n".repeat(3_000)] {
            let at = before.len();
            for (pattern, text, found) in [
                (r"foo(?!bar)", "foobar foo", Some((7, 10))),
                (r"(?<=let )z", "z let z", Some((6, 7))),
                (r"(?<=^|\s)q\b(?!r)", " q", Some((1, 2))),
                (r"(?i)(q)\1$", "qQ", Some((0, 2))),
                (r"q(?=\z)|nothing(?!)", "q", Some((0, 1))),
                (r"(?!)", "q", None),
                ("(?x)q(?!r) # a comment", "q", Some((0, 1))),
                (r"(?<=q)\z", "q", Some((1, 1))),
            ] {
                let found = found.map(|(start, end)| (at + start, at + end));
                assert_eq!(
                    find(pattern, &format!("{before}{text}"), minute),
                    Ok(found),
                    "{pattern} behind {at}"
                );
            }
        }
        let longest = "xy ".repeat(100_000) + "let z";
        assert_eq!(find(r"(?<=let )z", &longest, minute), Ok(Some((300_004, 300_005))));
    }

    #[test]
    fn searches_of_long_texts_end() {
        let (started, limit) = (Instant::now(), Duration::from_millis(100));
        for (pattern, text) in [
            // Each start looks at all that follows.
            (r"(?!.*z)(?=.*y)x", "x".repeat(1_000_000)),
            (r"(?!.*z)(?=.*y)x", "x".repeat(60_000)),
            (r"(\w+)\s\1", "x".repeat(300_000)),
            (r"(?s)(?:(?!.*z).)*y", "x".repeat(200_000)),
        ] {
            let found = find(pattern, &text, limit);
            assert!(matches!(found, Err(PatternTimeout) | Ok(None)), "{pattern}: {found:?}");
        }
        // Without a limit, it would be hours.
        assert!(started.elapsed() < Duration::from_mins(1), "{:?}", started.elapsed());
    }
}
