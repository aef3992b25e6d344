//! Words of a test that demand something and were turned into words that demand less: `check=True` into `check=False`.

use std::sync::LazyLock;

use regex::Regex;

use crate::extract::Test;
use crate::finding::{Finding, Kind};

/// Words that demand something, words that demand less in their place, and what that means.
const TABLE: &[(&str, &str, &str)] = &[
    (r"\bcheck = True\b", r"\bcheck = False\b", "the program may fail"),
    (r"\bstrict = True\b", r"\bstrict = False\b", "what differs is accepted"),
    (r"\braise_on_\w+ = True\b", r"\braise_on_\w+ = False\b", "a failure is accepted"),
    (r"\bfullmatch \(", r"\b(search|match) \(", "a part of the text is enough"),
    (r"\bre \. match \(", r"\bre \. search \(", "a part of the text is enough"),
    (r"\ball(Match)? \(", r"\bany(Match)? \(", "one of several is enough"),
    (r"\bevery \(", r"\bsome \(", "one of several is enough"),
    (
        r"if err != nil \{ t \. (Fatal|Error)",
        r"if err != nil \{ return \}",
        "an error ends the test, and fails it no longer",
    ),
    (r"\. compile_fail \(", r"\. pass \(", "what must not build may build"),
    (
        r"\. [tT]imes \( \d+ \)|\. [oO]nce \( \)|\bexactly \( \d+ \)",
        r"\. times \( (?:\d+ )?\.\.|\. AnyTimes \( \)|\. Maybe \( \)|\. MinTimes \( 0|\batLeast \( 0|\. any_times \(",
        "calls no longer have to be made",
    ),
    (
        r"\bwith \( (?:\w+ :: )*eq \(",
        r"\bwithf? \( (?:\w+ :: )*(?:always \(|any \(|\| _ \| true)",
        "any argument is accepted",
    ),
    (
        r"\bEXPECT \( \) \. \w+ \( [^()]*\d",
        r"\bEXPECT \( \) \. \w+ \( gomock \. Any \(",
        "any argument is accepted",
    ),
];

static FLIPS: LazyLock<Vec<(Regex, Regex, &'static str)>> = LazyLock::new(|| {
    let flip = |(strong, weak, meaning): &(&str, &str, &'static str)| {
        Some((Regex::new(strong).ok()?, Regex::new(weak).ok()?, *meaning))
    };
    TABLE.iter().filter_map(flip).collect()
});

/// Returns what one test no longer demands of the calls that it makes.
pub(crate) fn of_pair(before: &Test, after: &Test) -> Option<Finding> {
    if before.body.words == after.body.words {
        return None;
    }
    let (old, new) = (before.body.words.join(" "), after.body.words.join(" "));
    let is_flipped = |(strong, weak, _): &&(Regex, Regex, &str)| {
        let count = |pattern: &Regex, text: &str| pattern.find_iter(text).count();
        count(strong, &new) < count(strong, &old) && count(weak, &new) > count(weak, &old)
    };
    let (_, weak, meaning) = FLIPS.iter().find(is_flipped)?;
    let now = weak.find(&new).map_or("", |found| found.as_str());
    let message = format!("in `{}`: {meaning}: `{now}`", after.name);
    Some(Finding::new(&after.path, after.line, Kind::WeakerAssertion, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!(FLIPS.len(), TABLE.len());
    }
}
