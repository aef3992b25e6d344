//! Tests of languages without a grammar here, by patterns of lines.

use std::sync::LazyLock;

use regex::Regex;

use super::{Body, Skip, Test, TestFile};
use crate::assertion::Assertion;

/// How tests of one family of languages look.
struct Patterns {
    extensions: &'static [&'static str],
    /// First line of a test; the first group that matched is its name.
    test: Regex,
    skip: Regex,
    focus: Option<Regex>,
    assertion: Regex,
}

#[expect(clippy::expect_used, reason = "the patterns are constants, and a test compiles them all")]
static LANGUAGES: LazyLock<Vec<Patterns>> = LazyLock::new(|| {
    let regex = |pattern: &str| Regex::new(pattern).expect("a pattern");
    vec![
        Patterns {
            extensions: &["rb"],
            test: regex(
                r#"^\s*(?:x|f)?(?:it|specify|test|scenario)\s*\(?\s*["'](.+?)["']|^\s*def\s+(test_\w+)"#,
            ),
            skip: regex(
                r"^\s*(?:x(?:it|specify|describe|context)\b|skip\b|pending\b)|,\s*:?skip(?::|\s*=>|\b)",
            ),
            focus: Some(regex(r"^\s*f(?:it|describe|context)\b|,\s*:?focus\b")),
            assertion: regex(r"\b(expect\b.*|assert\w*\b.*|refute\w*\b.*|\S+\.should\b.*|\S+\.must_\w+.*)"),
        },
        Patterns {
            extensions: &["php"],
            test: regex(r"function\s+(test\w+)\s*\(|^\s*(?:it|test)\(\s*'(.+?)'"),
            skip: regex(r"markTest(?:Skipped|Incomplete)|->(?:skip|todo)\(|#\[.*Skip"),
            focus: Some(regex(r"->only\(")),
            assertion: regex(r"((?:\$this->|self::|static::)(?:assert|expect|fail)\w*\b.*|\bexpect\(.*)"),
        },
        Patterns {
            extensions: &["cs", "fs", "vb"],
            test: regex(r"^\s*public\s+(?:async\s+)?(?:void|Task|ValueTask)\s+(\w+)\s*\("),
            skip: regex(r"\[Ignore|Skip\s*=|Assert\.(?:Ignore|Inconclusive)"),
            focus: None,
            assertion: regex(r"(\bAssert\.\w+.*|\.Should\(\).*|\bCollectionAssert\.\w+.*)"),
        },
        Patterns {
            extensions: &["c", "cc", "cpp", "cxx", "h", "hpp", "m"],
            test: regex(
                r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE|START_TEST)\s*\((.+?)\)",
            ),
            skip: regex(r"\bDISABLED_|GTEST_SKIP|\[\.\]|\[!mayfail\]|disabled\("),
            focus: None,
            assertion: regex(
                r"\b((?:EXPECT|ASSERT|REQUIRE|CHECK|BOOST_(?:CHECK|REQUIRE|TEST)|ck_assert|assert)\w*\s*\(.*)",
            ),
        },
        Patterns {
            extensions: &[
                "kt", "kts", "groovy", "scala", "swift", "dart", "ex", "exs", "lua", "pl", "r", "zig", "sh",
                "ps1",
            ],
            test: regex(
                r#"^\s*(?:x?test|x?it|@test|testWidgets|test_that|It)\s*\(?\s*["'](.+?)["']|\bfu?nc?\s+(test\w*|`[^`]+`)\s*\(|\bdef\s+(test\w*|"[^"]+")"#,
            ),
            skip: regex(r"@(?:Disabled|Ignore)\b|\bXCTSkip|@tag\s+:skip|\bskip\b|^\s*xit\b|-Skip\b"),
            focus: None,
            assertion: regex(
                r"\b((?:assert|XCTAssert|expect|refute|Should|should|verify|ok|is|check)\w*\b.*)",
            ),
        },
    ]
});

/// Reads the tests of a file by patterns; a language that no pattern knows has none.
pub(super) fn read(path: &str, text: &str) -> TestFile {
    let extension = crate::files::extension(path);
    let Some(patterns) = LANGUAGES.iter().find(|known| known.extensions.contains(&extension)) else {
        return TestFile::default();
    };
    let mut file = TestFile::default();
    let mut skip_above: Option<Skip> = None;
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if is_comment(line) {
            continue;
        }
        let found = patterns.test.captures(line);
        if let Some(name) =
            found.and_then(|found| found.iter().skip(1).flatten().next().map(|name| name.as_str().to_owned()))
        {
            let own = patterns.skip.is_match(line).then(|| skip(number, line));
            let body = Body { skip: own.or_else(|| skip_above.take()), ..Body::default() };
            let focus = patterns.focus.as_ref().is_some_and(|focus| focus.is_match(line)).then_some(number);
            let name = name.replace("DISABLED_", "");
            file.tests.push(Test {
                path: path.to_owned(),
                name,
                line: number,
                body,
                focus,
                cases: None,
                hidden: None,
            });
            skip_above = None;
            continue;
        }
        let annotation = line.trim_start().starts_with(['@', '[', '#']);
        if patterns.skip.is_match(line) && (annotation || file.tests.is_empty()) {
            skip_above = Some(skip(number, line));
            continue;
        }
        let Some(test) = file.tests.last_mut() else { continue };
        let words: Vec<&str> = words(line);
        test.body.words.extend(words.iter().map(|word| (*word).to_owned()));
        if patterns.skip.is_match(line) && test.body.skip.is_none() {
            test.body.skip = Some(skip(number, line));
        } else if let Some(found) = patterns.assertion.captures(line) {
            let text = found.get(1).map_or(line, |found| found.as_str());
            test.body.assertions.push(assertion(text, number));
        }
    }
    file
}

fn skip(line: usize, text: &str) -> Skip {
    Skip {
        line,
        is_conditional: text.contains(" if ") || text.contains("unless"),
        text: text.trim().to_owned(),
    }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("# ") || line.starts_with("--")
}

/// Returns the tokens of a line: words, and every other sign by itself.
fn words(line: &str) -> Vec<&str> {
    static WORD: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""[^"]*"|'[^']*'|[\w.]+|[=!<>]=+|\S"#).ok());
    WORD.as_ref().map(|word| word.find_iter(line).map(|found| found.as_str()).collect()).unwrap_or_default()
}

fn assertion(text: &str, line: usize) -> Assertion {
    let words = words(text);
    let name: String = words
        .iter()
        .take_while(|word| !matches!(**word, "(" | "\"" | "'"))
        .copied()
        .collect::<Vec<_>>()
        .join(".");
    // `expect(a).to eq(b)` says what it demands behind its subject.
    let demand = words.iter().rev().find(|word| {
        let plain = crate::vocabulary::plain(word);
        ["eq", "equal", "be", "include", "match", "raise", "true", "nil", "truthy", "not"]
            .iter()
            .any(|known| plain.contains(known))
    });
    let name = if name.starts_with("expect") || name.contains("should") || name.contains("Should") {
        demand.copied().unwrap_or("ok").to_owned()
    } else {
        name
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
    Assertion::of_call(&name, &given, line, &words)
}
