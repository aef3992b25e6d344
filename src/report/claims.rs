//! Patterns of the plain claims that a final message makes, and where such a claim ends.

use std::sync::LazyLock;

use regex::Regex;

/// Claims with names in code: of files, of a command that passed, of a test.
#[expect(clippy::unwrap_used, reason = "constants")]
pub(super) static NAMED: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    let files = r"[\w@./-]+\.(?:py|pyi|js|mjs|cjs|jsx|ts|mts|tsx|rs|go|java|kt|rb|php|c|h|cc|cpp|hpp|cs|swift|scala|md|toml|yml|yaml|json|sh|sql|html|css|xml|txt|cfg|ini)";
    [
        // A line that begins with what was done to files.
        Regex::new(&format!(
            r"^(?:i |i have |i've )?(?:also )?(added|created|updated|changed|modified|edited|rewrote|deleted|removed) (?:the )?(?:new )?(?:files? )?((?:`{files}`(?:, | and |, and )?)+)"
        ))
        .unwrap(),
        Regex::new(&format!("`({files})`")).unwrap(),
        // A command that passed.
        Regex::new(r"`([^`\n]+)` (?:now )?(?:passes|passed|pass|succeeds|succeeded)\b").unwrap(),
        // A test by its name.
        Regex::new(r"^(?:i |i have |i've )?(?:also )?added (?:a |the )?(?:new |unit |regression |failing )*tests? `(\w+)`").unwrap(),
    ]
});

/// The claim that the tests as a whole pass.
#[expect(clippy::unwrap_used, reason = "a constant")]
pub(super) static ALL_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:all |the |\d+ |unit |existing |other |new )*tests? (?:all |now |still )*(?:pass|passed|succeed|succeeded)\b").unwrap()
});

/// Words by which a claim on files goes on without another meaning.
pub(super) const OF_FILES: &[&str] = &[
    "to",
    "so",
    "with",
    "for",
    "in",
    "and",
    "which",
    "as",
    "where",
    "by",
    "because",
    "accordingly",
    "too",
    "also",
];

/// Words by which a claim that something passes goes on without another meaning.
pub(super) const OF_PASSING: &[&str] = &["now", "again", "too", "and", "as", "locally", "also", "both"];

/// Returns whether a claim ends where this text begins, or goes on by one of some words: `passes the list` is none.
pub(super) fn ends(behind: &str, words: &[&str]) -> bool {
    let rest = behind.trim_start();
    let is_apart = behind.is_empty() || behind.starts_with([' ', '.', ',', ';', ':', '!', ')']);
    let first = rest.split(|sign: char| !sign.is_alphanumeric()).next().unwrap_or_default();
    is_apart
        && (!rest.starts_with(|sign: char| sign.is_alphanumeric() || sign == '`') || words.contains(&first))
}

/// Returns whether what a sentence says is denied, wished or conditional, so that it claims nothing.
pub(super) fn is_open(lower: &str) -> bool {
    const WORDS: &[&str] = &[
        " not ",
        "n't ",
        " should ",
        " would ",
        " could ",
        " if ",
        " unless ",
        " will ",
        " once ",
        " until ",
        " when ",
        " make sure ",
        " ensure ",
        " verify ",
        " check that ",
        " confirm that ",
        " please ",
        " before ",
        " except ",
        " apart from ",
    ];
    WORDS.iter().any(|word| format!(" {lower} ").contains(word))
}
