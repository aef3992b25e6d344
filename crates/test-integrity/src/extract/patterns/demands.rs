//! Measures how much a line that asserts something demands, in languages without a grammar here.

use std::sync::LazyLock;

use regex::Regex;

use crate::assertion::{Assertion, Strength, vocabulary};
use crate::extract::recognition::learned;

/// Returns the tokens of a line: words, numbers, and every other sign by itself.
pub(super) fn words(line: &str) -> Vec<&str> {
    static WORD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'|\d+(?:\.\d+)?|\w+[?!]?|[=!<>]=+|\S"#).ok());
    WORD.as_ref().map(|word| word.find_iter(line).map(|found| found.as_str()).collect()).unwrap_or_default()
}

/// Reads what a line asserts.
pub(super) fn read(text: &str, line: usize, extension: &str) -> Assertion {
    // Elixir asserts that a value fits a pattern.
    let is_pattern = matches!(extension, "ex" | "exs") && text.starts_with("assert ") && text.contains(" = ");
    let text = &if is_pattern { text.replacen(" = ", " == ", 1) } else { text.to_owned() };
    let words = words(text);
    if let Some(failure) = failure(text, line, &words) {
        return failure;
    }
    if let Some((subject, matcher, is_negative)) = matched(text) {
        let (subject, matcher) = (self::words(subject).join(" "), self::words(matcher).join(" "));
        let mut assertion = Assertion::of_call("equal", &[subject.clone(), matcher.clone()], line, &words);
        assertion.strength = learned::demand(&matcher, is_negative);
        let expected = expected(&matcher);
        assertion.sides = Some((subject, expected)).filter(|_| assertion.strength == Strength::Exact);
        return assertion;
    }
    of_call(text, line, &words)
}

/// Returns the value of a matcher: `250` of `eq ( 250 )` and of `Be 250`.
fn expected(matcher: &str) -> String {
    let inner =
        matcher.split_once(" ( ").and_then(|(_, rest)| rest.trim_end_matches([';', ' ']).strip_suffix(" )"));
    inner.or_else(|| matcher.split_once(' ').map(|(_, rest)| rest)).unwrap_or_default().to_owned()
}

/// Returns the value that is tested, the matcher, and whether it must not fit: `expect(a).to eq(1)`, `a shouldBe 1`, `a.Should().Be(1)`.
fn matched(text: &str) -> Option<(&str, &str, bool)> {
    static TO: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(
            r"^(?:expect\((.*?)\)|is_expected)\.(to_not|not_to|to)\s+(.+)$|^(.*?)(?:\.Should\(\)\.|\.?\s*\bshould)(Not|_not)?_?\.?\s*(\w.*)$|^EXPECT_THAT\(()(.+)\);?$|^ASSERT_THAT\(()(.+)\);?$",
        )
        .ok()
    });
    let found = TO.as_ref()?.captures(text)?;
    let part = |at: usize| found.get(at).map(|part| part.as_str());
    if let Some(matcher) = part(3) {
        return Some((part(1).unwrap_or("subject"), matcher, part(2) != Some("to")));
    }
    if let Some(given) = part(8).or_else(|| part(10)) {
        let (subject, matcher) = given.rsplit_once("), ").or_else(|| given.split_once(", "))?;
        return Some((subject, matcher, false));
    }
    let subject = part(4).filter(|subject| !subject.is_empty())?;
    Some((subject, part(6)?, part(5).is_some()))
}

/// Reads what expects a failure: `raise_error(ArgumentError, /negative/)`, `Assert.Throws<ArgumentException>(…)`, `EXPECT_ANY_THROW(…)`.
fn failure(text: &str, line: usize, words: &[&str]) -> Option<Assertion> {
    static FAILS: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r"(?i)raise_error|assert_raise|\bshouldThrow|assertFails|assertThrows|\.Throws?\w*\s*<|EXPECT_\w*THROW|ASSERT_\w*THROW|expectException|ThrowsError|toThrow|throwsMessage").ok()
    });
    let found =
        FAILS.as_ref()?.find(text).filter(|found| !text[..found.start()].to_lowercase().ends_with("not"))?;
    let rest = &text[found.start()..];
    if rest.to_lowercase().contains("nothrow") || rest.contains("NotThrow") {
        return None;
    }
    // What is called says nothing about how it fails.
    let mut said = rest.to_owned();
    for (open, close) in [("{", "}"), ("=>", ""), ("->", ""), ("fn", "")] {
        if let Some(at) = said.find(open) {
            let end = if close.is_empty() { None } else { said.rfind(close).map(|end| end + 1) };
            let kept = if close.is_empty() {
                said.find(").").map_or("", |end| &said[end.max(at)..])
            } else {
                &said[end.unwrap_or(said.len())..]
            };
            said = format!("{}{kept}", &said[..at]);
        }
    }
    let says = said.contains(['"', '\'', '/']) || said.contains("Message");
    let broad = ["Exception>", "StandardError", "Throwable", "Error)"].iter().any(|kind| {
        said.match_indices(kind).any(|(at, _)| !said[..at].ends_with(|last: char| last.is_alphanumeric()))
    });
    let names_kind = said
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_' && letter != ':')
        .skip(1)
        .any(|word| {
            word.trim_start_matches("std::").starts_with(char::is_uppercase) || word.starts_with("std::")
        });
    let kind = if names_kind && !broad && !said.to_uppercase().contains("ANY_THROW") { "Kind" } else { "" };
    Some(Assertion::of_failure(kind, says, line, words))
}

/// Reads a call by its name and what it is given.
fn of_call(text: &str, line: usize, words: &[&str]) -> Assertion {
    let called = words.iter().take_while(|word| !matches!(**word, "(" | "\"" | "'" | "{" | "<"));
    let name =
        called.filter(|word| word.starts_with(char::is_alphabetic)).last().copied().unwrap_or_default();
    // `EXPECT_TRUE` and `XCTAssertTrue` are about a truth, and `REQUIRE` alone as well.
    let bare = ["EXPECT_", "ASSERT_", "REQUIRE_", "CHECK_", "XCTAssert"]
        .iter()
        .find_map(|start| name.strip_prefix(start));
    let name = match name {
        "REQUIRE" | "CHECK" | "expect" | "require" | "check" | "XCTAssert" => "assert",
        _ => bare.filter(|rest| !rest.is_empty()).unwrap_or(name),
    };
    let open = words.iter().position(|word| *word == "(").map_or(0, |at| at + 1);
    let mut given = vec![Vec::new()];
    let mut depth = 0_usize;
    for word in words.iter().skip(open) {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" if depth == 0 => break,
            ")" | "]" | "}" => depth -= 1,
            "," if depth == 0 => {
                given.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = given.last_mut() {
            last.push(*word);
        }
    }
    let given: Vec<String> = given.into_iter().map(|words| words.join(" ")).collect();
    // Without brackets, the condition is behind the first word.
    let is_bare =
        open == 0 || words.first().is_some_and(|first| *first == "assert") && words.get(1) != Some(&"(");
    let condition = text.strip_prefix("assert ").filter(|_| is_bare);
    let mut assertion = match condition {
        Some(condition) => Assertion::of_condition(&self::words(condition).join(" "), line, words),
        None => Assertion::of_call(name, &given, line, words),
    };
    if vocabulary::plain(name).starts_with("refute") {
        assertion.strength = assertion.strength.min(Strength::Bounded);
    }
    if vocabulary::plain(name).contains("verify") {
        assertion.strength = of_mock(text);
    }
    assertion
}

/// Returns how much is demanded of the calls of a mock: `verify(exactly = 1) { a.f("b") }`, `mock.Verify(a => a.F("b"), Times.Once)`.
fn of_mock(text: &str) -> Strength {
    let has = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    if has(&["atLeast = 0", "AtLeast(0)"]) {
        Strength::Nothing
    } else if has(&["atLeast", "atMost", "AtLeast", "AtMost"]) {
        Strength::Bounded
    } else if has(&["any()", "It.IsAny", "Arg.Any"]) {
        Strength::Partial
    } else {
        Strength::Exact
    }
}
