//! Patterns of the files in which a runner looks for tests, which fit fewer files than before.

use std::collections::BTreeMap;

use regex::Regex;

use super::flatten::Entry;
use super::last;

/// Keys of such patterns.
const KEYS: &[&str] = &["spec", "specpattern", "testmatch", "testregex"];
/// Longest pattern that is compared, in bytes.
const MAX_PATTERN: usize = 200;

/// Returns the lines of patterns that took the place of ones that fit more files, with what that means.
pub(super) fn compare(old: &[Entry], new: &[Entry]) -> Vec<(usize, String)> {
    let (known, now) = (patterns(old), patterns(new));
    let narrower = known.iter().filter_map(|(key, was)| {
        let is = now.get(key)?;
        let gone = || was.iter().filter(|(_, pattern)| is.iter().all(|(_, other)| other != pattern));
        let fresh = || is.iter().filter(|(_, pattern)| was.iter().all(|(_, other)| other != pattern));
        // Several that took the place of one may fit together what that one did.
        let is_fewer =
            is.len() <= was.len() && fresh().all(|(_, one)| gone().any(|(_, all)| is_within(one, all)));
        let (line, pattern) = fresh().next().filter(|_| is_fewer)?;
        Some((*line, format!("tests are looked for in fewer files: `{key}` is `{pattern}`")))
    });
    narrower.collect()
}

/// Returns the patterns of a file by their keys, with their lines.
fn patterns(entries: &[Entry]) -> BTreeMap<&str, Vec<(usize, &str)>> {
    let mut found: BTreeMap<&str, Vec<(usize, &str)>> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| KEYS.contains(&last(&entry.key).as_str())) {
        let pattern = entry.value.trim_matches(['"', '\'']);
        // A list that is written on one line is an entry by itself beside its items.
        if !pattern.starts_with('[') && !pattern.is_empty() {
            found.entry(&entry.key).or_default().push((entry.line, pattern));
        }
    }
    found
}

/// Returns whether a pattern of paths fits all that another one fits, and more: `test/**/*.js` and `test/unit/*.js`.
fn is_within(one: &str, all: &str) -> bool {
    let any = all.replace("**/", "*").replace("**", "*");
    let whole = any.split('*').map(regex::escape).collect::<Vec<_>>().join(".*");
    all.contains('*')
        && one != all
        && all.len().max(one.len()) <= MAX_PATTERN
        && Regex::new(&format!("^{whole}$")).is_ok_and(|whole| whole.is_match(one))
}

#[cfg(test)]
mod tests {
    use super::is_within;

    #[test]
    fn patterns_are_within_others() {
        for (one, all, expected) in [
            ("test/unit/*.test.js", "test/**/*.test.js", true),
            ("test/*.test.js", "test/**/*.test.js", true),
            ("test/**/*.test.js", "test/unit/*.test.js", false),
            ("tests/**/*.test.js", "test/**/*.test.js", false),
            ("test/a.test.js", "test/*.test.js", true),
            ("test/a.test.js", "test/a.test.js", false),
        ] {
            assert_eq!(is_within(one, all), expected, "{one} {all}");
        }
    }
}
