//! Matches results with tests.

use std::collections::BTreeMap;

use regex::Regex;

use super::{Results, TestResult};

/// Most parts of a name behind that of its test.
const MAX_BEHIND: usize = 3;

/// Fewest parts that a test has in common with a result in which its name is followed by others.
const MIN_COMMON: usize = 2;

/// Most entries of what could not be built that are looked through for one test.
const MAX_UNBUILT: usize = 500;

impl Results {
    /// Returns, for each of some tests, its results: several if it has several cases, none if the output does not name it.
    ///
    /// `names` are the parts of each test's name: folders, file without its extension, classes or groups, the test's own.
    /// Those parts count that both have in common at the end, however many folders or packages a runner names; a result
    /// belongs to the tests that it fits best.
    pub fn of(&self, names: &[Vec<String>]) -> Vec<Vec<&TestResult>> {
        let patterns: Vec<Vec<Part>> =
            names.iter().map(|name| name.iter().map(|part| Part::new(part)).collect()).collect();
        // What does not end alike does not fit, so that each result is compared with few of many tests.
        let mut by_end: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        let mut with_cases = Vec::new();
        for (test, parts) in patterns.iter().enumerate() {
            match parts.last() {
                Some(last) if last.cases.is_some() => with_cases.push(test),
                Some(last) => by_end.entry(normal(&last.text)).or_default().push(test),
                None => {}
            }
        }
        let mut found: Vec<Vec<(usize, &TestResult)>> = vec![Vec::new(); names.len()];
        for result in &self.tests {
            let Some(end) = result.name.last() else { continue };
            let of_end = by_end.get(&normal(end)).into_iter().flatten();
            let fits: Vec<(usize, usize)> = of_end
                .chain(&with_cases)
                .map(|test| (*test, common(&patterns[*test], &result.name)))
                .filter(|(_, fit)| *fit > 0)
                .collect();
            let best = fits.iter().map(|(_, fit)| *fit).max();
            for (test, fit) in fits.into_iter().filter(|(_, fit)| Some(*fit) == best) {
                found[test].push((fit, result));
            }
        }
        // Some macros make a module of a test, with a function for each case. A test that is named itself has none.
        let is_named: Vec<bool> = found.iter().map(|results| !results.is_empty()).collect();
        for result in self.tests.iter().filter(|result| result.case.is_none()) {
            for behind in 1..=MAX_BEHIND.min(result.name.len().saturating_sub(MIN_COMMON)) {
                let above = &result.name[..result.name.len() - behind];
                let of_end = above.last().and_then(|end| by_end.get(&normal(end))).into_iter().flatten();
                for test in of_end.filter(|test| !is_named[**test]) {
                    let fit = common(&patterns[*test], above);
                    if fit >= 2 * MIN_COMMON {
                        found[*test].push((fit, result));
                    }
                }
            }
        }
        found.into_iter().map(best).collect()
    }

    /// Returns what could not be built or loaded, if a test is part of it.
    pub fn unbuilt_of(&self, name: &[String]) -> Option<&str> {
        let of_test = self.unbuilt.iter().take(MAX_UNBUILT).find(|unbuilt| {
            unbuilt.stops_all
                || unbuilt.name.last().is_none_or(|last| name.iter().any(|part| is_same(part, last)))
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
        // A name of which nothing is known would fit the results of all other tests.
        let is_known = |text: &str| {
            let rest = text.split("${").map(|part| part.split_once('}').map_or(part, |(_, behind)| behind));
            rest.into_iter().any(|part| part.contains(char::is_alphanumeric))
        };
        let cases = (text.contains(['%', '$']) && is_known(text)).then(|| {
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
    one == other || normal(one) == normal(other)
}

/// Returns a part as it is compared: without the types of parameters, as in `adds(int)`.
fn normal(part: &str) -> String {
    let is_name =
        |text: &str| !text.is_empty() && text.chars().all(|sign| sign.is_alphanumeric() || sign == '_');
    let bare = part.strip_suffix(')').and_then(|inner| inner.split_once('(')).map(|(name, _)| name);
    bare.filter(|name| is_name(name)).unwrap_or(part).replace('-', "_")
}

/// Returns how well two names fit: the parts that they have in common at their ends. Parts that are the same fit better than
/// one with placeholders, which fits the names of other tests as well.
fn common(test: &[Part], result: &[String]) -> usize {
    let pairs = || test.iter().rev().zip(result.iter().rev());
    let fitting = pairs().take_while(|(part, other)| part.fits(other)).count();
    let is_exact = pairs().take(fitting).all(|(part, other)| is_same(&part.text, other));
    2 * fitting + usize::from(fitting > 0 && is_exact)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Outcome;

    fn result(parts: &[&str]) -> TestResult {
        TestResult {
            name: parts.iter().map(|part| (*part).to_owned()).collect(),
            case: None,
            outcome: Outcome::Passed,
            message: None,
            duration_ms: None,
        }
    }

    #[test]
    fn many_results_are_matched_with_many_tests() {
        let name = |number: usize| vec!["file".to_owned(), format!("test-{number}")];
        let names: Vec<Vec<String>> = (0..20_000).map(name).collect();
        let tests = (0..20_000).map(|number| result(&["src", "file", &format!("test_{number}")])).collect();
        let results = Results { tests, ..Results::default() };
        let start = std::time::Instant::now();
        let found = results.of(&names);
        let is_its_own = |(number, of): (usize, &Vec<&TestResult>)| {
            of.len() == 1 && of[0].name[2] == format!("test_{number}")
        };
        assert!(found.iter().enumerate().all(is_its_own));
        // Each with each takes minutes.
        assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    }

    #[test]
    fn placeholders_take_no_result_of_another_test() {
        let tests = ["gen 1", "gen x", "other"].map(|name| result(&["a", name])).to_vec();
        let results = Results { tests, ..Results::default() };
        let names = ["gen ${value}", "gen x", "${value}", "${a} ${b}"];
        let names: Vec<Vec<String>> =
            names.iter().map(|name| vec!["a".to_owned(), (*name).to_owned()]).collect();
        let found = results.of(&names);
        let found: Vec<Vec<&str>> =
            found.iter().map(|of| of.iter().map(|result| result.name[1].as_str()).collect()).collect();
        assert_eq!(found, [vec!["gen 1"], vec!["gen x"], vec![], vec![]]);
    }

    #[test]
    fn cases_in_a_module_of_the_test_belong_to_it() {
        let name = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect::<Vec<_>>();
        let tests = [
            &["shop", "tests", "adds", "case_1_small"][..],
            &["shop", "tests", "adds", "a_1_2", "b_1_3"],
            &["shop", "tests", "case_1"],
            &["shop", "tests", "sums"],
            &["shop", "tests", "sums", "more"],
        ];
        let results = Results { tests: tests.map(result).to_vec(), ..Results::default() };
        let names = [["src", "tests", "adds"], ["src", "tests", "case_1"], ["src", "tests", "sums"]];
        let found = results.of(&names.map(|parts| name(&parts)));
        let ends: Vec<Vec<&str>> = found
            .iter()
            .map(|of| of.iter().filter_map(|result| result.name.last()).map(String::as_str).collect())
            .collect();
        assert_eq!(ends, [vec!["case_1_small", "b_1_3"], vec!["case_1"], vec!["sums"]]);
    }
}
