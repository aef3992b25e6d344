//! Regular expressions as people and models write them. Most are matched in linear time; those with look-around or
//! backreferences, which no linear engine knows, go to a backtracking one that gives up after some time.

use std::ops::Range;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use regex::{Regex, RegexBuilder};

use super::backtracking::Backtracking;
use super::pattern_options::{PatternOptions, PatternTimeout};

/// Compiled pattern.
#[derive(Clone, Debug)]
pub(crate) struct Pattern(Engine);

#[derive(Clone, Debug)]
enum Engine {
    Linear(Regex),
    Backtracking(Box<Backtracking>),
}

/// Compiles a pattern that is matched line by line, in linear time. A line ends with `\n` or `\r\n`, neither of which is
/// part of it; a pattern that names `\r` itself sees it.
pub(crate) fn line_matcher(
    pattern: &str,
    builder: &RegexMatcherBuilder,
) -> Result<RegexMatcher, grep_regex::Error> {
    let mut builder = builder.clone();
    builder.multi_line(true);
    let as_is = builder.clone().line_terminator(Some(b'\n')).build(pattern);
    builder.crlf(true).build(pattern).or(as_is)
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

    /// Returns the reason alone, without the pattern and the arrow below it.
    pub(crate) fn brief(&self) -> &str {
        let last = self.0.lines().next_back().unwrap_or_default();
        last.strip_prefix("error: ").unwrap_or(last)
    }
}

impl Pattern {
    /// Compiles a pattern.
    pub(crate) fn new(pattern: &str, options: PatternOptions) -> Result<Self, InvalidPattern> {
        let linear = RegexBuilder::new(pattern)
            .case_insensitive(options.ignore_case)
            .multi_line(options.multi_line)
            .crlf(options.multi_line)
            .build();
        let error = match linear {
            Ok(regex) => return Ok(Self(Engine::Linear(regex))),
            Err(error) => error.to_string(),
        };
        // Perl's blank is a hexadecimal digit of the second engine.
        if has_escape(pattern, 'h') {
            return Err(InvalidPattern(
                r"`\h` means different things to different programs; write `[ \t]`".to_owned(),
            ));
        }
        match Backtracking::new(pattern, options) {
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

    /// Returns the first match that begins at a position or behind it.
    pub(crate) fn find_at(&self, text: &str, from: usize) -> Result<Option<Range<usize>>, PatternTimeout> {
        if from > text.len() {
            return Ok(None);
        }
        match &self.0 {
            Engine::Linear(regex) => Ok(regex.find_at(text, from).map(|found| found.range())),
            Engine::Backtracking(regex) => {
                let found = regex.captures_at(text, from, Backtracking::time_limit())?;
                Ok(found.and_then(|found| found.get(0)).map(|whole| whole.range()))
            }
        }
    }

    /// Returns `true` if the text contains a match.
    pub(crate) fn is_match(&self, text: &str) -> Result<bool, PatternTimeout> {
        match &self.0 {
            Engine::Linear(regex) => Ok(regex.is_match(text)),
            Engine::Backtracking(_) => Ok(self.find_at(text, 0)?.is_some()),
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
            Engine::Backtracking(regex) => all(&mut regex.group_names()),
        }
    }

    /// Returns the text with every match replaced by `template`, with `${1}` and `${name}` filled in, and the number of
    /// matches. It ends as soon as the text is longer than `limit`, in bytes.
    pub(crate) fn replace(
        &self,
        text: &str,
        template: &str,
        limit: usize,
    ) -> Result<(String, usize), ReplaceError> {
        let template = parts(template);
        let mut replaced = Replaced { text, from: 0, made: String::new(), times: 0, limit, work: 0 };
        match &self.0 {
            Engine::Linear(regex) => {
                for found in regex.captures_iter(text) {
                    let range = found.get(0).map_or(0..0, |whole| whole.range());
                    if self.is_behind_last_line(text, &range)? {
                        continue;
                    }
                    replaced.add(range, &template, &|name| {
                        let group =
                            name.parse().map_or_else(|_| found.name(name), |number| found.get(number));
                        group.map_or("", |group| group.as_str())
                    })?;
                }
            }
            Engine::Backtracking(regex) => {
                let (until, mut from, mut last_end) = (Backtracking::time_limit(), 0, None);
                while from <= text.len() {
                    let Some(found) = regex.captures_at(text, from, until)? else { break };
                    let range = found.get(0).map_or(0..0, |whole| whole.range());
                    from = if range.is_empty() { next_boundary(text, range.end) } else { range.end };
                    // An empty match directly behind another is none.
                    let is_behind_match =
                        last_end.replace(range.end) == Some(range.start) && range.is_empty();
                    if is_behind_match || self.is_behind_last_line(text, &range)? {
                        continue;
                    }
                    replaced.add(range, &template, &|name| {
                        let group =
                            name.parse().map_or_else(|_| found.name(name), |number| found.get(number));
                        group.map_or("", |group| group.as_str())
                    })?;
                }
            }
        }
        replaced.put(&text[replaced.from..])?;
        Ok((replaced.made, replaced.times))
    }

    /// Returns whether an empty match is where a line would begin behind the last line end, but there is none. What matches there
    /// only because the text ends, such as `\z`, does not ask for a line.
    fn is_behind_last_line(&self, text: &str, range: &Range<usize>) -> Result<bool, PatternTimeout> {
        if !range.is_empty() || range.start < text.len() || !text.ends_with('\n') {
            return Ok(false);
        }
        let with_line = format!("{text}\n");
        Ok(self.find_at(&with_line, text.len())?.is_some_and(|found| found.start == text.len()))
    }
}

/// Returns where the character behind a position begins; behind the last, a position outside of the text.
fn next_boundary(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}

/// Error for a replacement that was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReplaceError {
    /// The search took too long.
    #[error(transparent)]
    Timeout(#[from] PatternTimeout),
    /// The text would be longer than the limit, in bytes.
    #[error("the text would be longer than {} MiB with the replacements", .0 >> 20)]
    TooLong(usize),
    /// There are too many groups to be filled in.
    #[error("there are too many places with too many groups to be filled in")]
    TooMany,
}

/// Most groups that are filled in, in all places together.
const MAX_FILLED: usize = 1 << 26;

/// Part of a template.
enum Part<'a> {
    Text(&'a str),
    Group(&'a str),
}

/// Returns the parts of a template, in which `$$` stands for a dollar sign.
fn parts(template: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = template;
    while let Some(at) = rest.find('$') {
        let (before, after) = (&rest[..at], &rest[at + 1..]);
        let group = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let (part, then) = match group {
            Some((name, then)) => (Part::Group(name), then),
            None => (Part::Text("$"), after.strip_prefix('$').unwrap_or(after)),
        };
        parts.extend([Part::Text(before), part]);
        rest = then;
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| !matches!(part, Part::Text("")));
    parts
}

/// Text with replacements, as far as it is made.
struct Replaced<'a> {
    text: &'a str,
    /// Position up to which the text is done.
    from: usize,
    made: String,
    times: usize,
    limit: usize,
    work: usize,
}

impl Replaced<'_> {
    fn add<'f>(
        &mut self,
        range: std::ops::Range<usize>,
        template: &[Part<'f>],
        group: &dyn Fn(&str) -> &'f str,
    ) -> Result<(), ReplaceError> {
        let text = self.text;
        self.put(&text[self.from..range.start])?;
        self.from = range.end;
        self.times += 1;
        self.work += template.len();
        if self.work > MAX_FILLED {
            return Err(ReplaceError::TooMany);
        }
        for part in template {
            match part {
                Part::Text(text) => self.put(text)?,
                Part::Group(name) => self.put(group(name))?,
            }
        }
        Ok(())
    }

    fn put(&mut self, text: &str) -> Result<(), ReplaceError> {
        if self.made.len() + text.len() > self.limit {
            return Err(ReplaceError::TooLong(self.limit));
        }
        self.made += text;
        Ok(())
    }
}

/// Returns whether a pattern has a letter behind a backslash that is not escaped itself.
fn has_escape(pattern: &str, letter: char) -> bool {
    let mut signs = pattern.chars();
    while let Some(sign) = signs.next() {
        if sign == '\\' && signs.next() == Some(letter) {
            return true;
        }
    }
    false
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
        for (text, template, expected) in [
            (r"(\w+)@(?P<host>\w+)", "${host}@${1}", "<b@a>"),
            (r"(\w+)@(?P<host>\w+)(?!x)", "${host}@${1}", "<b@a>"),
            (r"@", "$$${0}$1", "<a$@$1b>"),
            (r"(x)?@", "${1}${none}", "<ab>"),
            (r"z", "y", "<a@b>"),
        ] {
            let found = pattern(text).expect("a pattern").replace("<a@b>", template, 100);
            let times = usize::from(text != "z");
            assert_eq!(found, Ok((expected.to_owned(), times)), "{text} {template}");
        }
        let found = pattern("").expect("a pattern").replace("äb", "-", 100);
        assert_eq!(found, Ok(("-ä-b-".to_owned(), 3)));
        for (text, template, expected) in [
            (".*", "x", ("x\nx\n", 2)),
            ("^", "# ", ("# a\n# b\n", 2)),
            ("$", ";", ("a;\nb;\n", 2)),
            ("$(?!x)", ";", ("a;\nb;\n", 2)),
            ("", "-", ("-a-\n-b-\n", 4)),
            // The end of the text, in so many words.
            (r"\z", "c", ("a\nb\nc", 1)),
            (r"$(?!\n)", "c", ("a\nb\nc", 1)),
            (r"(?![\s\S])", "c", ("a\nb\nc", 1)),
            (r"\s*\z", "c", ("a\nbc", 1)),
        ] {
            let found = pattern(text).expect("a pattern").replace("a\nb\n", template, 100);
            assert_eq!(found, Ok((expected.0.to_owned(), expected.1)), "{text}");
        }
    }

    #[test]
    fn replacements_end_at_the_limit() {
        let text = "a".repeat(1_000);
        for (source, template, expected) in [
            // A gigabyte, by many places or by one.
            ("a", "b".repeat(1_000_000), ReplaceError::TooLong(2_000)),
            ("a+", "${0}".repeat(1_000_000), ReplaceError::TooLong(2_000)),
            ("(?=a)a+", "${0}".repeat(1_000_000), ReplaceError::TooLong(2_000)),
            // Nothing, so many times.
            ("()a", "${1}".repeat(1_000_000), ReplaceError::TooMany),
        ] {
            let found = pattern(source).expect("a pattern").replace(&text, &template, 2_000);
            assert_eq!(found, Err(expected), "{source}");
        }
        assert!(pattern("a").expect("a pattern").replace(&text, "bb", 2_000).is_ok());
    }
}
