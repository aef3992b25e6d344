//! Words of a text that GitHub acts on.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

/// Words that GitHub acts on: mentions and addresses of mail, references to issues (which closing keywords need), links to issues,
/// the first words of alerts, and dollars, between which it sets formulas that may have links.
static ACTIVE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(
        r"(?ix) (?:https?://|www\.)[^\s<>]+ /(?:issues|pull|discussions|commit)/ [^\s<>]*
        | (?:[\w.-]+/[\w.-]+)? \# \d+ | GH-\d+ | (?:mailto:|xmpp:)? [\w.+-]* @ [a-z0-9._-] (?:[\w/.-]*\w)?
        | \[![a-z]+\] | \$ \S*",
    )
    .expect("the pattern is valid")
});

/// Returns whether a text can have an active word: the pattern takes long to compile, and most texts have none.
fn may_be_active(text: &str) -> bool {
    let names_issue = || text.as_bytes().windows(3).any(|three| three.eq_ignore_ascii_case(b"gh-"));
    let names_page = || text.as_bytes().windows(4).any(|four| four.eq_ignore_ascii_case(b"www."));
    text.contains(['#', '@', '$'])
        || text.contains("://")
        || names_page()
        || text.contains("[!")
        || names_issue()
}

/// Finds the active words of a text.
pub(crate) fn active_words(text: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    if !may_be_active(text) {
        return words;
    }
    let mut rest = 0;
    for found in ACTIVE.find_iter(text) {
        let mut start = found.start();
        // The whole word that a dollar is in. The pattern would look for one from every letter on.
        if found.as_str().starts_with('$') {
            start = rest + text[rest..start].trim_end_matches(|sign: char| !sign.is_whitespace()).len();
        }
        rest = found.end();
        words.push(start..rest);
    }
    words
}
