//! Words of a test that demand something and were turned into words that demand less: `check=True` into `check=False`.

use std::sync::LazyLock;

use regex::Regex;

use crate::extract::Test;
use crate::finding::{Finding, Kind};

/// Words that demand something, words that demand less in their place, and what that means.
const TABLE: &[(&str, &str, &str)] = &[
    (r"\bcheck = True\b", r"\bcheck = False\b", "the program may fail"),
    (r"(?i)\b\w*strict\w* = True\b", r"(?i)\b\w*strict\w* = False\b", "what differs is accepted"),
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
    (
        r"\b(st|strategies|fc) \. (text|integers|floats|lists|string|integer|nat|array|binary)\b",
        r"\b(st|strategies) \. (just|sampled_from) \(|\bfc \. constant(From)? \(",
        "fewer values are generated",
    ),
    (r"\bfc \. assert \(", r"\bfc \. check \(", "what it comes to is not looked at"),
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

/// Words that demand something of a call, where that call is still made: what is called, what demands, what demands it otherwise,
/// and what it means that it is gone.
const GONE: &[(&str, &str, &str, &str)] = &[
    (r"\brun \(", r"\bcheck = True\b", r"returncode|CalledProcessError", "the program may fail"),
    (r"\bgiven \(", r"\bexample \(", "", "an example is gone"),
    (r"\bxfail \(", r"\bstrict = True\b", "", "the test may pass although it is expected to fail"),
];

/// Words that let something pass, where they are in the test for the first time: what the test does, what lets pass, what looks at it
/// nevertheless, and what it means.
const NEW: &[(&str, &str, &str, &str)] = &[
    (
        r"\bgather \(",
        r"\breturn_exceptions = True\b",
        r"\bisinstance \(|\braise\b",
        "failures are results like others",
    ),
    (PROPERTY, r"\b(assume|reject|fc \. pre) \(", "", "some generated values are passed over"),
    (
        PROPERTY,
        r"\b(st|strategies|fc) \. \w+ \([^()]*\) \. filter \(",
        "",
        "some generated values are passed over",
    ),
    (PROPERTY, r"\b(phases|alphabet) =", "", "fewer values are generated"),
];

/// Tests of properties, which run with generated values.
const PROPERTY: &str = r"\bgiven \(|\bfc \. (async)?[pP]roperty \(";

static AROUND: LazyLock<Vec<Around>> = LazyLock::new(|| {
    let around = |is_new: bool| {
        move |(call, word, instead, meaning): &(&str, &str, &str, &'static str)| {
            let instead = if instead.is_empty() { None } else { Some(Regex::new(instead).ok()?) };
            Some(Around {
                is_new,
                call: Regex::new(call).ok()?,
                word: Regex::new(word).ok()?,
                instead,
                meaning,
            })
        }
    };
    GONE.iter().filter_map(around(false)).chain(NEW.iter().filter_map(around(true))).collect()
});

/// Words around a call that are gone, or new.
struct Around {
    is_new: bool,
    call: Regex,
    word: Regex,
    instead: Option<Regex>,
    meaning: &'static str,
}

impl Around {
    /// Returns whether a call is made as often as before, and demands less.
    fn is_weaker(&self, old: &str, new: &str) -> bool {
        let count = |pattern: &Regex, text: &str| pattern.find_iter(text).count();
        let (had, has) = (count(&self.word, old), count(&self.word, new));
        let calls = count(&self.call, old);
        let is_looked_at =
            self.instead.as_ref().is_some_and(|instead| count(instead, new) > count(instead, old));
        calls > 0
            && count(&self.call, new) >= calls
            && !is_looked_at
            && if self.is_new { has > had } else { has < had }
    }
}

static FLIPS: LazyLock<Vec<(Regex, Regex, &'static str)>> = LazyLock::new(|| {
    let flip = |(strong, weak, meaning): &(&str, &str, &'static str)| {
        Some((Regex::new(strong).ok()?, Regex::new(weak).ok()?, *meaning))
    };
    TABLE.iter().filter_map(flip).collect()
});

/// Returns which file a test, or a helper of tests, now writes before it compares with it.
pub(super) fn overwritten(before: &Test, after: &Test) -> Option<Finding> {
    let new = after.body.overwritten.difference(&before.body.overwritten).next()?;
    before.body.words.join(" ").contains(new.as_str()).then(|| {
        let message =
            format!("`{}` writes what it compares with: `{}`", after.name, crate::finding::short(new));
        Finding::new(&after.path, after.line, Kind::WeakerAssertion, message)
    })
}

/// Returns what one test no longer demands of the calls that it makes.
pub(super) fn of_pair(before: &Test, after: &Test) -> Option<Finding> {
    if before.body.words == after.body.words {
        return None;
    }
    if let Some(finding) = overwritten(before, after) {
        return Some(finding);
    }
    let (old, new) = (before.body.words.join(" "), after.body.words.join(" "));
    let is_flipped = |(strong, weak, _): &&(Regex, Regex, &str)| {
        let count = |pattern: &Regex, text: &str| pattern.find_iter(text).count();
        count(strong, &new) < count(strong, &old) && count(weak, &new) > count(weak, &old)
    };
    let flipped = FLIPS.iter().find(is_flipped).map(|(_, weak, meaning)| (weak, &new, *meaning));
    let around = || {
        let found = AROUND.iter().find(|around| around.is_weaker(&old, &new))?;
        Some((&found.word, if found.is_new { &new } else { &old }, found.meaning))
    };
    let (word, text, meaning) = flipped.or_else(around)?;
    let word = word.find(text).map_or("", |found| found.as_str());
    let message = format!("in `{}`: {meaning}: `{word}`", after.name);
    Some(Finding::new(&after.path, after.line, Kind::WeakerAssertion, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!((FLIPS.len(), AROUND.len()), (TABLE.len(), GONE.len() + NEW.len()));
    }
}
