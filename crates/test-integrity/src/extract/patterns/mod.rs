//! Tests of languages without a grammar here, by patterns of lines.

mod blocks;
mod demands;

use std::sync::LazyLock;

use regex::Regex;

use crate::extract::{Body, Skip, Test, TestFile};
use blocks::Blocks;

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
                r#"^\s*(?:x|f)?(?:it|specify|test|scenario)\s*\(?\s*["'](.+?)["']|^\s*def\s+(test_\w+)|^\s*(?:it|specify)\s*\{\s*(.+?)\s*\}\s*$"#,
            ),
            skip: regex(
                r"^\s*(?:x(?:it|specify|describe|context)\b|skip\b|pending\b)|,\s*:?skip(?::|\s*=>|\b)|,\s*:?(?:if|unless)(?::|\s*=>)",
            ),
            focus: Some(regex(r"^\s*f(?:it|describe|context)\b|,\s*:?focus\b")),
            assertion: regex(
                r"\b(expect\b.*|is_expected\b.*|assert\w*\b.*|refute\w*\b.*|\S+\.should\b.*|\S+\.must_\w+.*)",
            ),
        },
        Patterns {
            extensions: &["php"],
            test: regex(r"function\s+(test\w+)\s*\(|^\s*(?:it|test)\(\s*'(.+?)'"),
            skip: regex(r"markTest(?:Skipped|Incomplete)|->(?:skip|todo)\(|#\[.*(?:Skip|Requires)"),
            focus: Some(regex(r"->only\(")),
            assertion: regex(r"((?:\$this->|self::|static::)(?:assert|expect|fail)\w*\b.*|\bexpect\(.*)"),
        },
        Patterns {
            extensions: &["cs", "fs", "vb"],
            test: regex(r"^\s*public\s+(?:async\s+)?(?:void|Task|ValueTask)\s+(\w+)\s*\("),
            skip: regex(r"\[Ignore|Skip\s*=|\bExplicit\b|Assert\.(?:Ignore|Inconclusive)"),
            focus: None,
            assertion: regex(
                r"(\bAssert\.\w+.*|[\w.()]*\.Should\(\).*|\bCollectionAssert\.\w+.*|\b\w+\.(?:Verify\w*|Received\w*|DidNotReceive\w*)\(.*)",
            ),
        },
        Patterns {
            extensions: &["c", "cc", "cpp", "cxx", "h", "hpp", "m"],
            test: regex(
                r"^\s*(?:TEST|TEST_F|TEST_P|TYPED_TEST|TEST_CASE|SCENARIO|BOOST_AUTO_TEST_CASE|START_TEST)\s*\((.+?)\)",
            ),
            skip: regex(r"\bDISABLED_|GTEST_SKIP|\[\.|\[!mayfail\]|disabled\("),
            focus: None,
            assertion: regex(
                r"\b((?:EXPECT|ASSERT|REQUIRE|CHECK|BOOST_(?:CHECK|REQUIRE|TEST)|ck_assert|assert)\w*\s*\(.*)",
            ),
        },
        Patterns {
            extensions: &[
                "kt", "kts", "groovy", "scala", "swift", "feature", "dart", "ex", "exs", "lua", "pl", "r",
                "zig", "sh", "ps1",
            ],
            test: regex(
                r#"^\s*(?:x?test|x?it|@test|testWidgets|test_that|It)\s*\(?\s*["'](.+?)["']|\bfu?nc?\s+(test\w*|`[^`]+`)\s*\(|\bdef\s+(test\w*|"[^"]+")|^\s*"!?([^"]+)"(?:\.config\(.*\))?\s*(?:\{|in\s*\{)|^\s*Scenario(?: Outline)?:\s*(.+)"#,
            ),
            skip: regex(
                r#"@(?:Disabled\w*|Ignore|ignore|wip)\b|\bXCTSkip|\.disabled\(|\benabled(?:If)?\s*=|^\s*"!|@tag\s+:skip|\bskip\b|^\s*xit\b|-Skip\b"#,
            ),
            focus: None,
            assertion: regex(
                r"([\w.()]+(?:\.|\s+)should\w*\b.*|\b(?:assert|XCTAssert|XCTUnwrap|expect|require|refute|Should|should|verify|coVerify|ok|is|check)\w*\b.*|^\s*Then\b.*)",
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
    let mut is_marked = false;
    let mut blocks = Blocks::of(text);
    for (at, line) in text.lines().enumerate() {
        let number = at + 1;
        if is_comment(line) {
            continue;
        }
        let found = patterns.test.captures(line);
        let name = found
            .and_then(|found| found.iter().skip(1).flatten().next().map(|name| name.as_str().to_owned()));
        let by_mark = marked(line, &mut is_marked);
        let name = name.or(by_mark);
        if let Some(name) = name {
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
            blocks.begin(line);
            // A test of one line holds what it asserts.
            let inside = line.split_once('{').map(|(_, inside)| inside.trim_end().trim_end_matches('}'));
            if let Some(found) = inside.and_then(|inside| patterns.assertion.captures(inside))
                && let Some(test) = file.tests.last_mut()
            {
                test.body.assertions.push(demands::read(
                    found.get(1).map_or(line, |found| found.as_str()).trim(),
                    number,
                    extension,
                ));
            }
            continue;
        }
        let annotation = line.trim_start().starts_with(['@', '[', '#']);
        if patterns.skip.is_match(line) && (annotation || file.tests.is_empty()) {
            skip_above = Some(skip(number, line));
            continue;
        }
        let Some(test) = file.tests.last_mut() else { continue };
        let words: Vec<&str> = demands::words(line);
        test.body.words.extend(words.iter().map(|word| (*word).to_owned()));
        blocks.enter(at, line, &mut test.body.assertions);
        if patterns.skip.is_match(line) && test.body.skip.is_none() {
            test.body.skip = Some(skip(number, line));
        } else if let Some(found) = patterns.assertion.captures(line) {
            let (text, start) = found.get(1).map_or((line, 0), |found| (found.as_str(), found.start()));
            let mut assertion = demands::read(text, number, extension);
            blocks.mark(&line[..start], text, &mut assertion);
            test.body.assertions.push(assertion);
        }
    }
    file
}

/// Returns the name of a function that an annotation makes a test: `@Test` above `fun adds()`.
fn marked(line: &str, is_marked: &mut bool) -> Option<String> {
    static MARK: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"^\s*@(?:Test|ParameterizedTest|RepeatedTest|Property)\b").ok());
    static FUNCTION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"\b(?:fun|func|def|void)\s+`?([^`(]+?)`?\s*\(").ok());
    *is_marked |= MARK.as_ref()?.is_match(line);
    let found = FUNCTION.as_ref()?.captures(line).filter(|_| *is_marked)?;
    *is_marked = false;
    Some(found[1].to_owned())
}

fn skip(line: usize, text: &str) -> Skip {
    Skip {
        line,
        is_conditional: [" if ", "unless", "if:", ":if", "Requires", "If"]
            .iter()
            .any(|word| text.contains(word)),
        text: text.trim().to_owned(),
    }
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("# ") || line.starts_with("--")
}
