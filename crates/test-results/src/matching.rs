//! Which results belong to which tests.

use regex::Regex;

use super::{Results, TestResult};

impl Results {
    /// Returns, for each of some tests, its results: several if it has several cases, none if the output does not name it.
    ///
    /// `names` are the parts of each test's name: folders, file without its extension, classes or groups, the test's own.
    /// Those parts count that both have in common at the end, however many folders or packages a runner names; a result
    /// belongs to the tests that it fits best.
    pub fn of(&self, names: &[Vec<String>]) -> Vec<Vec<&TestResult>> {
        let patterns: Vec<Vec<Part>> =
            names.iter().map(|name| name.iter().map(|part| Part::new(part)).collect()).collect();
        let mut found: Vec<Vec<(usize, &TestResult)>> = vec![Vec::new(); names.len()];
        for result in &self.tests {
            let fits: Vec<usize> = patterns.iter().map(|parts| common(parts, &result.name)).collect();
            let best = fits.iter().copied().max().unwrap_or(0);
            for (test, fit) in fits.into_iter().enumerate() {
                if fit > 0 && fit == best {
                    found[test].push((fit, result));
                }
            }
        }
        found.into_iter().map(best).collect()
    }

    /// Returns what could not be built or loaded, if a test is part of it.
    pub fn unbuilt_of(&self, name: &[String]) -> Option<&str> {
        let of_test = self.unbuilt.iter().find(|unbuilt| {
            unbuilt.name.last().is_none_or(|last| name.iter().any(|part| is_same(part, last)))
        });
        of_test.map(|unbuilt| unbuilt.message.as_str())
    }
}

/// Returns the results that fit best.
fn best(results: Vec<(usize, &TestResult)>) -> Vec<&TestResult> {
    let best = results.iter().map(|(fit, _)| *fit).max().unwrap_or(0);
    results.into_iter().filter(|(fit, _)| *fit == best).map(|(_, result)| result).collect()
}

/// Part of a test's name; one with placeholders stands for the names of its cases.
struct Part {
    text: String,
    cases: Option<Regex>,
}

impl Part {
    fn new(text: &str) -> Self {
        let cases = text.contains(['%', '$']).then(|| {
            let mut pattern = String::from("^");
            let mut rest = text;
            while let Some(at) = rest.find(['%', '$']) {
                pattern += &regex::escape(&rest[..at]);
                pattern += ".*";
                let behind = &rest[at + 1..];
                let length = match behind.strip_prefix('{').and_then(|inner| inner.find('}')) {
                    Some(end) => end + 2,
                    None if rest[at..].starts_with('%') => behind.chars().next().map_or(0, char::len_utf8),
                    None => behind
                        .find(|sign: char| !sign.is_alphanumeric() && !matches!(sign, '_' | '.'))
                        .unwrap_or(behind.len()),
                };
                rest = &behind[length..];
            }
            pattern += &regex::escape(rest);
            Regex::new(&(pattern + "$")).ok()
        });
        Self { text: text.to_owned(), cases: cases.flatten() }
    }

    fn fits(&self, other: &str) -> bool {
        is_same(&self.text, other) || self.cases.as_ref().is_some_and(|cases| cases.is_match(other))
    }
}

/// Compares two parts; a crate `test-results` is called `test_results` as well.
fn is_same(one: &str, other: &str) -> bool {
    one == other || one.len() == other.len() && one.replace('-', "_") == other.replace('-', "_")
}

/// Returns how many parts two names have in common at their ends.
fn common(test: &[Part], result: &[String]) -> usize {
    test.iter().rev().zip(result.iter().rev()).take_while(|(part, other)| part.fits(other)).count()
}
