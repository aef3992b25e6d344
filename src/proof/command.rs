//! The command that runs tests, with places for the names of those that are to run.

use std::collections::BTreeMap;

use test_integrity::ChangedTest;

use crate::base::command_template::{CommandTemplate, Dialect, MisplacedPlaceholder, operand, quote};
use crate::base::template::places;

/// All tests that are to run, as arguments of the runner.
const TESTS: &str = "tests";
/// One test; the command runs once for each.
const TEST: &str = "test";
/// The files of the tests.
const FILES: &str = "files";

/// Command line with places for tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TestCommand {
    line: CommandTemplate,
}

/// Why a text is no command that runs tests.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub(crate) enum CommandError {
    /// Names go in as words of their own.
    #[error("the test command is invalid: {0}")]
    Misplaced(#[from] MisplacedPlaceholder),
    /// A line of words, which a further shell would read.
    #[error(
        "`{{{0}}}` is inside an argument of the test command that contains spaces; give the whole command \
         as one argument, or make the placeholder an argument by itself"
    )]
    Within(String),
    /// There is no command.
    #[error("the test command is empty; name one, such as `pytest {{tests}}`")]
    Empty,
    /// A word cannot be given to a shell.
    #[error("the test command contains a NUL byte")]
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
        Ok(Self { line: template(line.trim())? })
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
        self.line.has(TESTS) || self.is_for_each() || self.line.has(FILES)
    }

    /// Returns whether the command is told the names of the tests.
    pub(crate) fn names_tests(&self) -> bool {
        self.line.has(TESTS) || self.is_for_each()
    }

    /// Returns whether the command runs once for each test.
    pub(crate) fn is_for_each(&self) -> bool {
        self.line.has(TEST)
    }

    /// Returns the command line for some tests.
    pub(crate) fn for_tests(&self, tests: &[&ChangedTest]) -> String {
        let mut files: Vec<&str> = tests.iter().map(|test| test.path.as_str()).collect();
        files.sort_unstable();
        files.dedup();
        self.line.fill(|name| match name {
            TESTS | TEST => Some(self.names(tests)),
            FILES => Some(files.iter().map(|file| operand(file).into_owned()).collect()),
            _ => None,
        })
    }

    fn runner(&self) -> Runner {
        let has = |word: &str| self.line.as_str().contains(word);
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

    /// Returns the names of tests as the runner takes them.
    fn names(&self, tests: &[&ChangedTest]) -> Vec<String> {
        let own = |test: &&ChangedTest| test.names.last().cloned().unwrap_or_default();
        match self.runner() {
            Runner::Pytest => {
                let id = |test: &&ChangedTest| {
                    [&[operand(&test.path).into_owned()], &test.names[..]].concat().join("::")
                };
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
        }
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

fn is_place(name: &str) -> bool {
    matches!(name, TESTS | TEST | FILES)
}

fn template(line: &str) -> Result<CommandTemplate, MisplacedPlaceholder> {
    CommandTemplate::parse(line, Dialect::Shell, is_place)
}

/// Quotes a word for a shell, except for its places.
fn word_with_places(word: &str) -> Result<String, CommandError> {
    // Quotes that have come through a shell were meant for this one, and a place within a line would end it.
    template(word)?;
    let places: Vec<(usize, &str)> = places(word).filter(|(_, name)| is_place(name)).collect();
    if let Some((_, name)) = places.first().filter(|_| word.contains(char::is_whitespace)) {
        return Err(CommandError::Within((*name).to_owned()));
    }
    if word.is_empty() {
        return Ok(quote("", Dialect::Shell));
    }
    let piece = |text: &str| if text.is_empty() { String::new() } else { quote(text, Dialect::Shell) };
    let mut line = String::new();
    let mut end = 0;
    for (at, name) in places {
        let after = at + name.len() + "{}".len();
        line += &piece(&word[end..at]);
        line += &word[at..after];
        end = after;
    }
    line += &piece(&word[end..]);
    Ok(line)
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
    fn a_name_is_no_placeholder_for_others() {
        let tests = changed_tests(&[Change {
            path: "a;touch x.test.js",
            before: None,
            after: Some("test('{files}', () => { expect(f()).toBe(1); });\n"),
        }]);
        let command = TestCommand::parse("run {tests} {files}").expect("a command");
        let line = command.for_tests(&tests.iter().collect::<Vec<_>>());
        assert_eq!(line, "run '{files}' 'a;touch x.test.js'");
    }

    #[test]
    fn places_in_quotes_are_refused() {
        for (text, told) in [
            ("pytest \"{tests}\"", "`{tests}` is in quotes"),
            ("sh -c 'pytest {test}'", "`{test}` is in quotes"),
            ("echo `ls {files}`", "`{files}` is in quotes"),
            ("  ", "the test command is empty"),
            ("a\0b", "NUL byte"),
        ] {
            let error = TestCommand::parse(text).expect_err(text).to_string();
            assert!(error.contains(told), "{text}: {error}");
        }
        for text in ["echo \\\" {tests} && pytest {tests}", "PYTEST='{other}' pytest {tests}"] {
            assert!(TestCommand::parse(text).is_ok(), "{text}");
        }
        for words in [
            &["pytest", "'{tests}'"][..],
            &["'{files}'"],
            &["pytest", "-k=\"{test}\""],
            &["sh", "-c", "pytest {tests}"],
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert!(TestCommand::of_words(&words).is_err(), "{words:?}");
        }
        let words =
            ["pytest".to_owned(), "-k".to_owned(), "a b".to_owned(), "x{tests}".to_owned(), String::new()];
        let command = TestCommand::of_words(&words).expect("a command");
        assert_eq!(command.line.as_str(), "pytest -k 'a b' x{tests} ''");
    }
}
