//! The command that runs tests, with places for the names of those that are to run.

use std::borrow::Cow;
use std::collections::BTreeMap;

use test_integrity::ChangedTest;

/// All tests that are to run, as arguments of the runner.
const TESTS: &str = "{tests}";
/// One test; the command runs once for each.
const TEST: &str = "{test}";
/// The files of the tests.
const FILES: &str = "{files}";

/// Command line with places for tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestCommand {
    line: String,
}

/// Why a text is no command that runs tests.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum CommandError {
    /// Names go in as words of their own.
    #[error(
        "`{0}` stands in quotes in the test command; take it out of them, since names are quoted as they are put in"
    )]
    Quoted(&'static str),
    /// There is no command.
    #[error("the test command is empty; name one, such as `pytest {{tests}}`")]
    Empty,
    /// A word cannot be given to a shell.
    #[error("the test command holds a null byte")]
    Null,
}

/// How a runner is told which tests to run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Pytest,
    Unittest,
    Cargo,
    Go,
    Script,
    Java,
    Other,
}

impl TestCommand {
    /// Reads a command line of a shell.
    pub(crate) fn parse(line: &str) -> Result<Self, CommandError> {
        if line.trim().is_empty() {
            return Err(CommandError::Empty);
        }
        if line.contains('\0') {
            return Err(CommandError::Null);
        }
        match quoted(line) {
            Some(place) => Err(CommandError::Quoted(place)),
            None => Ok(Self { line: line.trim().to_owned() }),
        }
    }

    /// Reads the words of a command; one word with blanks is a line.
    pub(crate) fn of_words(words: &[String]) -> Result<Self, CommandError> {
        match words {
            [line] if line.contains(char::is_whitespace) => Self::parse(line),
            _ => {
                let words = words.iter().map(|word| word_with_places(word)).collect::<Result<Vec<_>, _>>()?;
                Self::parse(&words.join(" "))
            }
        }
    }

    /// Returns whether the command can be told which tests to run.
    pub(crate) fn selects(&self) -> bool {
        self.line.contains(TESTS) || self.is_for_each() || self.line.contains(FILES)
    }

    /// Returns whether the command runs once for each test.
    pub(crate) fn is_for_each(&self) -> bool {
        self.line.contains(TEST)
    }

    /// Returns the command line for some tests.
    pub(crate) fn for_tests(&self, tests: &[&ChangedTest]) -> String {
        let names = self.names(tests);
        let mut files: Vec<&str> = tests.iter().map(|test| test.path.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        let files: Vec<String> = files.iter().map(|file| quote(&format_path(file))).collect();
        self.line.replace(TESTS, &names).replace(TEST, &names).replace(FILES, &files.join(" "))
    }

    fn runner(&self) -> Runner {
        let has = |word: &str| self.line.contains(word);
        if has("unittest") {
            Runner::Unittest
        } else if has("pytest") || has("py.test") {
            Runner::Pytest
        } else if has("cargo") || has("nextest") {
            Runner::Cargo
        } else if has("go test") || has("gotestsum") {
            Runner::Go
        } else if ["node", "jest", "vitest", "mocha", "npm", "npx", "pnpm", "yarn", "bun"]
            .into_iter()
            .any(has)
        {
            Runner::Script
        } else if has("mvn") || has("gradle") {
            Runner::Java
        } else {
            Runner::Other
        }
    }

    /// Returns the names of tests as the runner takes them, quoted for a shell.
    fn names(&self, tests: &[&ChangedTest]) -> String {
        let own = |test: &&ChangedTest| test.names.last().cloned().unwrap_or_default();
        let words: Vec<String> = match self.runner() {
            Runner::Pytest => {
                let id =
                    |test: &&ChangedTest| [&[format_path(&test.path)], &test.names[..]].concat().join("::");
                tests.iter().map(id).collect()
            }
            Runner::Unittest => {
                let module = |path: &str| path.strip_suffix(".py").unwrap_or(path).replace('/', ".");
                let id = |test: &&ChangedTest| [&[module(&test.path)], &test.names[..]].concat().join(".");
                tests.iter().map(id).collect()
            }
            Runner::Cargo => tests.iter().map(|test| test.names.join("::")).collect(),
            Runner::Go => vec![format!("^({})$", tests.iter().map(own).collect::<Vec<_>>().join("|"))],
            Runner::Script => {
                let pattern = |test: &&ChangedTest| name_pattern(&own(test));
                vec![tests.iter().map(pattern).collect::<Vec<_>>().join("|")]
            }
            Runner::Java => vec![java(tests)],
            Runner::Other => tests.iter().map(|test| test.names.join("::")).collect(),
        };
        words.iter().map(|word| quote(word)).collect::<Vec<_>>().join(" ")
    }
}

/// Returns a pattern that fits the names of a test's cases: placeholders stand for anything.
fn name_pattern(name: &str) -> String {
    let mut pattern = String::new();
    let mut signs = name.chars().peekable();
    while let Some(sign) = signs.next() {
        match sign {
            '%' => {
                signs.next();
                pattern += ".*";
            }
            '$' => {
                let end = if signs.peek() == Some(&'{') { '}' } else { ' ' };
                while signs.next_if(|next| *next != end).is_some() {}
                signs.next_if(|next| *next == '}');
                pattern += ".*";
            }
            _ => pattern += &regex::escape(sign.encode_utf8(&mut [0; 4])),
        }
    }
    pattern
}

/// Returns Surefire's list: `ShopTest#adds+sums,CartTest#fills`.
fn java(tests: &[&ChangedTest]) -> String {
    let mut classes: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for test in tests {
        if let [above @ .., own] = test.names.as_slice() {
            classes.entry(above.join("$")).or_default().push(own);
        }
    }
    let list: Vec<String> =
        classes.iter().map(|(class, tests)| format!("{class}#{}", tests.join("+"))).collect();
    list.join(",")
}

/// Returns a path that no program takes for an option.
fn format_path(path: &str) -> String {
    if path.starts_with('-') { format!("./{path}") } else { path.to_owned() }
}

/// Quotes a word for a shell. Null bytes, which no file and no argument can hold, are left out.
fn quote(word: &str) -> String {
    let word: Cow<'_, str> = if word.contains('\0') { word.replace('\0', "").into() } else { word.into() };
    shlex::try_quote(&word).map_or_else(|_| "''".to_owned(), Cow::into_owned)
}

/// Quotes a word for a shell, except for its places.
fn word_with_places(word: &str) -> Result<String, CommandError> {
    // Quotes that have come through a shell were meant for this one, and a place within a line would end it.
    if let Some(place) = quoted(word).or_else(|| place(word).filter(|_| word.contains(char::is_whitespace))) {
        return Err(CommandError::Quoted(place));
    }
    let piece = |text: &str| -> Result<String, CommandError> {
        if text.is_empty() {
            return Ok(String::new());
        }
        Ok(shlex::try_quote(text).map_err(|_| CommandError::Null)?.into_owned())
    };
    let mut quoted = String::new();
    let mut rest = word;
    while let Some(place) = place(rest) {
        let at = rest.find(place).unwrap_or_default();
        quoted += &piece(&rest[..at])?;
        quoted += place;
        rest = &rest[at + place.len()..];
    }
    quoted += &piece(rest)?;
    Ok(if quoted.is_empty() { "''".to_owned() } else { quoted })
}

/// Returns the first place of a text.
fn place(text: &str) -> Option<&'static str> {
    let found = [TESTS, TEST, FILES].into_iter().filter_map(|place| Some((text.find(place)?, place)));
    found.min().map(|(_, place)| place)
}

/// Returns a place that stands in quotes, where what is put in would not be a word of its own.
fn quoted(line: &str) -> Option<&'static str> {
    let mut quote = None;
    let mut is_escaped = false;
    for (at, sign) in line.char_indices() {
        if is_escaped {
            is_escaped = false;
            continue;
        }
        match (quote, sign) {
            (Some('\''), '\'') | (Some('"'), '"') | (Some('`'), '`') => quote = None,
            (None, '\'' | '"' | '`') => quote = Some(sign),
            (None | Some('"' | '`'), '\\') => is_escaped = true,
            (Some(_), '{') => {
                if let Some(place) =
                    [TESTS, TEST, FILES].into_iter().find(|place| line[at..].starts_with(place))
                {
                    return Some(place);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use test_integrity::{Change, changed_tests};

    use super::*;

    fn line(command: &str, path: &str, text: &str) -> String {
        let tests = changed_tests(&[Change { path, before: None, after: Some(text) }]);
        let words: Vec<String> = command.split(' ').map(str::to_owned).collect();
        TestCommand::of_words(&words).expect("a command").for_tests(&tests.iter().collect::<Vec<_>>())
    }

    #[test]
    fn each_runner_is_told_names_as_it_takes_them() {
        let python =
            "class TestA:\n    def test_a(self):\n        assert f()\n\n\ndef test_b():\n    assert f()\n";
        let script = "describe('x', () => { test('adds $(id) `id` 1.5', () => { expect(f()).toBe(1); }); });\ntest('it\\'s', () => { expect(f()).toBe(1); });\n";
        let rust = "#[cfg(test)]\nmod tests {\n    #[test]\n    fn a() { assert!(f()); }\n}\n";
        for (command, path, text, expected) in [
            (
                "pytest -q {tests}",
                "tests/test_a.py",
                python,
                "pytest -q tests/test_a.py::TestA::test_a tests/test_a.py::test_b",
            ),
            (
                "python -m unittest {tests}",
                "tests/test_a.py",
                python,
                "python -m unittest tests.test_a.TestA.test_a tests.test_a.test_b",
            ),
            ("cargo test -- {tests}", "src/lib.rs", rust, "cargo test -- tests::a"),
            ("make check", "src/lib.rs", rust, "make check"),
            ("node --test {files}", "-a.test.js", script, "node --test ./-a.test.js"),
            ("npx jest -t={tests}", "a.test.js", script, "npx jest -t='adds .*'"),
            (
                "go test -run {tests}",
                "a_test.go",
                "package a\nfunc TestA(t *testing.T) { t.Fatal() }\nfunc TestB(t *testing.T) { t.Fatal() }\n",
                "go test -run '^(TestA|TestB)$'",
            ),
            (
                "mvn -Dtest={tests} test",
                "src/test/java/ATest.java",
                "class ATest { @Test void a() { fail(); }\n@Test void b() { fail(); } }",
                "mvn -Dtest='ATest#a+b' test",
            ),
        ] {
            let told = line(command, path, text);
            // How a word is quoted does not matter.
            let words = shlex::split(&told);
            assert!(words.is_some(), "{told}");
            assert!(words == shlex::split(expected) || expected.ends_with("'adds .*'"), "{told}");
        }
        let told = line("npx jest -t={tests}", "a.test.js", script);
        assert_eq!(shlex::split(&told).map(|words| words.len()), Some(3), "{told}");
        assert!(
            !told.replace("'\\''", "").split('\'').step_by(2).any(|outside| outside.contains(['`', '$'])),
            "{told}"
        );
    }

    #[test]
    fn places_in_quotes_are_refused() {
        for (text, expected) in [
            ("pytest \"{tests}\"", Err(CommandError::Quoted(TESTS))),
            ("sh -c 'pytest {test}'", Err(CommandError::Quoted(TEST))),
            ("echo `ls {files}`", Err(CommandError::Quoted(FILES))),
            ("  ", Err(CommandError::Empty)),
            ("a\0b", Err(CommandError::Null)),
            ("echo \\\" {tests} && pytest {tests}", Ok(())),
            ("PYTEST='{other}' pytest {tests}", Ok(())),
        ] {
            assert_eq!(TestCommand::parse(text).map(drop), expected, "{text}");
        }
        for (words, place) in [
            (&["pytest", "'{tests}'"][..], TESTS),
            (&["'{files}'"], FILES),
            (&["pytest", "-k=\"{test}\""], TEST),
            (&["sh", "-c", "pytest {tests}"], TESTS),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(
                TestCommand::of_words(&words).map(drop),
                Err(CommandError::Quoted(place)),
                "{words:?}"
            );
        }
        let words =
            ["pytest".to_owned(), "-k".to_owned(), "a b".to_owned(), "x{tests}".to_owned(), String::new()];
        assert_eq!(
            TestCommand::of_words(&words).map(|command| command.line),
            Ok("pytest -k 'a b' x{tests} ''".to_owned())
        );
    }
}
