//! Activity of runners: whether any test ran, by what their summaries say. A command that runs none ends well all the same.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::tally::count;
use super::{Outcome, Results, parse};

/// Longest line, in bytes, that can be a summary.
const MAX_LINE: usize = 300;

/// How a summary tells how many tests ran.
#[derive(Clone, Copy)]
enum Told {
    /// Its groups are numbers of tests that ran.
    Ran,
    /// Its first group is the number of all tests, and the others are numbers of those that did not run.
    AllBut,
    /// Its group is a list of counts: `1 failed, 2 passed`.
    List,
    /// Its group is the number of all tests, of which those that lines before it left out did not run.
    Among,
    /// Its group is a number of tests that did not run.
    LeftOut,
    /// It is a file that its runner counts as a test.
    File,
    /// Tests ran, but it does not say how many. Of a part, they ran unless all that is named of it was skipped.
    Some,
    /// A test was skipped, by a runner that may not name those that ran.
    Skipped,
    /// No test ran.
    None,
}

/// Of what a summary counts the tests.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// All that its runner was told to run.
    Run,
    /// One of several packages, modules or targets, each of which has a summary.
    Part,
}

/// Pattern of a summary, and what it tells.
type Row = (Regex, Told, Scope);

/// Lines of summaries, without the blanks around them.
#[expect(clippy::unwrap_used, reason = "constants")]
static SUMMARIES: LazyLock<(RegexSet, Vec<Row>)> = LazyLock::new(|| {
    let rows = [
        // pytest
        (r"^=*\s*(\d+ \w+(?: \w+)?(?:, \d+ \w+(?: \w+)?)*) in [0-9.]+\s?s\b", Told::List, Scope::Run),
        (r"^collected 0 items", Told::None, Scope::Run),
        (r"^collected \d+ items(?: / \d+ \w+)* / 0 selected", Told::None, Scope::Run),
        // unittest; the line behind it says what was skipped
        (r"^Ran (\d+) tests? in ", Told::Ran, Scope::Run),
        // cargo and nextest
        (r"^test result: \w+\. (\d+) passed; (\d+) failed;", Told::Ran, Scope::Part),
        (r"^Summary \[.*\] (\d+)(?:/\d+)? tests? run:", Told::Ran, Scope::Run),
        // Go; a package whose tests were all filtered out ends well, too
        (r"^(?:ok|FAIL) *\t\S+\s.*\[no tests to run\]", Told::None, Scope::Part),
        (r"^(?:\?|ok) *\t\S+\s.*\[no test files\]", Told::None, Scope::Part),
        (r"^\S+\t\tcoverage: 0\.0% of statements$", Told::None, Scope::Part),
        (r"^\{.*\[no test(?:s to run| files)\]", Told::None, Scope::Part),
        (r"^(?:ok|FAIL) *\t\S+\t(?:\(cached\)|[0-9.]+s)", Told::Some, Scope::Part),
        (r#"^\{.*"Action":"(?:pass|fail|skip)","Package":"#, Told::None, Scope::Part),
        // Jest, Vitest, PHPUnit and Pest
        (
            r"^Tests: (\d+), Assertions: \d+.*?(?:, Skipped: (\d+))?(?:, Incomplete: (\d+))?\.$",
            Told::AllBut,
            Scope::Run,
        ),
        (
            r"^Tests:? +((?:no tests|\d+ \w+(?: \(.*?\))??)(?:(?:,| \|) \d+ \w+)*)(?: \(\d+(?: assertions?)?\))?$",
            Told::List,
            Scope::Run,
        ),
        (r"^OK \((\d+) tests?, \d+ assertions?\)", Told::Ran, Scope::Run),
        // Mocha and Bun
        (r"^(\d+) (?:passing|failing)\b", Told::Ran, Scope::Run),
        (r"^(\d+) (?:skip|todo)$", Told::LeftOut, Scope::Part),
        (r"^Ran (\d+) tests? across \d+ files?", Told::Among, Scope::Run),
        // Jasmine and Karma
        (r"^(\d+) specs?, \d+ failures?(?:, (\d+) pending)?", Told::AllBut, Scope::Run),
        (r"^(?:Incomplete: )?No specs found", Told::None, Scope::Run),
        (r"\bExecuted (\d+) of \d+\b", Told::Ran, Scope::Part),
        // Node; a file without tests counts as one
        (r"^(?:ok \d+ - |[✔✖] )\S+\.[cm]?[jt]sx?(?: \([0-9.]+m?s\))?$", Told::File, Scope::Run),
        (r"^(?:ℹ|#) (?:pass|fail) (\d+)$", Told::Ran, Scope::Run),
        // Playwright and AVA
        (
            r"^(\d+) (?:tests? )?(?:passed|failed|flaky|interrupted)(?: \([0-9.]+\w+\))?$",
            Told::Ran,
            Scope::Run,
        ),
        (r"^Running \d+ tests? using \d+ workers?$", Told::None, Scope::Part),
        // Deno
        (r"^(?:ok|FAILED) \| (\d+) passed.* \| (\d+) failed\b", Told::Ran, Scope::Run),
        (r"^1\.\.0\b", Told::None, Scope::Part),
        // Maven, Gradle and sbt
        (r"\bTests run: (\d+), Failures: \d+, Errors: \d+, Skipped: (\d+)", Told::AllBut, Scope::Part),
        (
            r"^> Task :(?:\S+:)?(?:tests?|\w+Tests?)(?: UP-TO-DATE| FROM-CACHE| FAILED)?$",
            Told::Some,
            Scope::Part,
        ),
        (r"^> Task :(?:\S+:)?(?:tests?|\w+Tests?) (?:NO-SOURCE|SKIPPED)$", Told::None, Scope::Part),
        (r"^\S.* > .* (?:PASSED|FAILED)$", Told::Some, Scope::Run),
        (r"^\S.* > .* SKIPPED$", Told::Skipped, Scope::Part),
        (
            r"\b(?:Passed|Failed|Error): Total \d+, Failed (\d+), Errors (\d+), Passed (\d+)",
            Told::Ran,
            Scope::Part,
        ),
        (r"\bTests: succeeded (\d+), failed (\d+), canceled ", Told::Ran, Scope::Part),
        // RSpec, minitest, test-unit and ExUnit
        (r"^(\d+) examples?, \d+ failures?(?:, (\d+) pending)?", Told::AllBut, Scope::Run),
        (
            r"^(\d+) (?:runs?|tests?), \d+ assertions?, \d+ failures?, \d+ errors?(?:, (\d+) skips)?",
            Told::AllBut,
            Scope::Run,
        ),
        (r"^(\d+) tests?, \d+ failures?(?:, (\d+) excluded)?(?:, (\d+) skipped)?$", Told::AllBut, Scope::Run),
        // .NET, CTest, GoogleTest and Swift
        (r"\bFailed: +(\d+), Passed: +(\d+), Skipped: +\d+, Total:", Told::Ran, Scope::Part),
        (r"^Test summary: total: \d+, failed: (\d+), succeeded: (\d+)", Told::Ran, Scope::Run),
        (r"^(?:Test run summary: )?Zero tests ran\b", Told::None, Scope::Part),
        (r"^Test run summary: (?:Passed|Failed)!", Told::Some, Scope::Part),
        (r"^\d+% tests passed, \d+ tests failed out of (\d+)", Told::Ran, Scope::Run),
        (r"^\[=+\] \d+ tests? from .* ran\b", Told::None, Scope::Part),
        (r"^\[ +(?:PASSED|FAILED) +\] (\d+) tests?\b", Told::Ran, Scope::Part),
        (r"^Executed (\d+) tests?, with (?:(\d+) tests? skipped)?", Told::AllBut, Scope::Run),
        (r"^\S Test run with (\d+) tests?\b.* (?:passed|failed) after", Told::Ran, Scope::Run),
        // Sentences of several
        (
            r"(?i)^(?:\[?\w+\]? )?(?:error: |testing: warning: |=+ )?(?:no tests? (?:ran|run|found|files?(?: found)?|executed|modules found|were \w+|specified|suites? found)|there are no tests to run|no tests to run$|couldn.t find any files to test)\b",
            Told::None,
            Scope::Run,
        ),
        (
            r"^(?:\[?\w+\]? )?(?:No tests to run\.|Tests are skipped\.|No test (?:is available in|matches the given) .*)$",
            Told::None,
            Scope::Part,
        ),
    ];
    let set = RegexSet::new(rows.iter().map(|(pattern, ..)| pattern)).unwrap();
    (
        set,
        rows.into_iter().map(|(pattern, told, scope)| (Regex::new(pattern).unwrap(), told, scope)).collect(),
    )
});

/// Counts of tests that ran, in lines that are none of the known summaries, such as those that name a package first.
#[expect(clippy::unwrap_used, reason = "a constant")]
static COUNTS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b[1-9]\d* (?:tests? |specs? )?(?:passed|passing|succeeded)\b").unwrap());

/// Starts of lines that count something other than tests.
const OTHERS: [&str; 3] = ["Test Files", "Test Suites", "Snapshots"];

/// Words of lists for tests that ran.
const RAN: [&str; 5] = ["passed", "failed", "xfailed", "xpassed", "error"];

/// Returns whether any test ran: `false` if runners say that none did, `None` if nothing says either.
///
/// `output` is what a command printed, without escapes. Tests that were skipped did not run. Unless it `is_whole`, the summaries of
/// packages that had tests may be missing.
///
/// ```
/// use test_results::has_run_tests;
///
/// assert_eq!(has_run_tests("Ran 0 tests in 0.000s\n\nOK\n", true), Some(false));
/// assert_eq!(has_run_tests("== 2 passed in 0.01s ==\n", true), Some(true));
/// assert_eq!(has_run_tests("all good\n", true), None);
/// assert_eq!(has_run_tests("?   \texample.com/shop\t[no test files]\n", false), None);
/// ```
pub fn has_run_tests(output: &str, is_whole: bool) -> Option<bool> {
    let (mut ran, mut is_told) = (0, false);
    // Of unittest, whose next line says how many of these were skipped.
    let mut before_skips = 0;
    let (mut files, mut left_out, mut may_have_run) = (0, 0, false);
    let (mut parts, mut has_skipped) = (0, false);
    for line in output.lines().map(str::trim).filter(|line| !line.is_empty() && line.len() <= MAX_LINE) {
        if before_skips > 0
            && let Some((_, skipped)) = line.split_once("skipped=")
            && ["OK (", "FAILED (", "NO TESTS RAN ("].iter().any(|start| line.starts_with(start))
        {
            ran -= number(skipped).min(before_skips);
        }
        let (any, rows) = &*SUMMARIES;
        let row = any.matches(line).iter().next().map(|at| &rows[at]);
        let Some((pattern, told, scope)) = row else {
            may_have_run |= COUNTS.is_match(line) && !OTHERS.iter().any(|start| line.starts_with(start));
            continue;
        };
        let Some(found) = pattern.captures(line) else { continue };
        is_told |=
            !matches!(told, Told::File | Told::LeftOut | Told::Skipped) && (is_whole || *scope == Scope::Run);
        let mut numbers = found.iter().skip(1).flatten().map(|group| number(group.as_str()));
        let told = match told {
            Told::File => {
                files += 1;
                continue;
            }
            Told::Ran => numbers.fold(0, usize::saturating_add),
            Told::AllBut => numbers.next().unwrap_or(0).saturating_sub(numbers.sum()),
            Told::Among => numbers.sum::<usize>().saturating_sub(std::mem::take(&mut left_out)),
            Told::LeftOut => {
                left_out = numbers.fold(left_out, usize::saturating_add);
                continue;
            }
            Told::List => RAN.iter().map(|word| count(&found[1], word)).sum(),
            Told::Skipped => {
                has_skipped = true;
                continue;
            }
            Told::Some if *scope == Scope::Part => {
                parts += 1;
                continue;
            }
            Told::Some => 1,
            Told::None => 0,
        };
        before_skips = if line.starts_with("Ran ") { told } else { 0 };
        ran = told.saturating_add(ran);
    }
    let named = || parse(output);
    if ran <= files && parts > 0 {
        if has_skipped {
            return None;
        }
        let named = named();
        ran += if is_whole && !named.tests.is_empty() && !named.names_test_that_ran() { 0 } else { parts };
    }
    let is_any = ran > files || is_told && named().names_test_that_ran();
    // That one part has none says nothing of the others.
    if is_any { Some(true) } else { (is_told && !may_have_run).then_some(false) }
}

/// Returns the number at the start of a text; 0 if there is none.
fn number(text: &str) -> usize {
    text.split(|sign: char| !sign.is_ascii_digit()).next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
}

impl Results {
    /// Returns whether any single test is named that ran.
    pub fn names_test_that_ran(&self) -> bool {
        self.tests.iter().any(|test| test.outcome != Outcome::Skipped)
    }
}
