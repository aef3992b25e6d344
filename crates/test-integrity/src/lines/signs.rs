//! Lines that steer a runner or an assertion library from within the files of tests, by their looks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::efforts::efforts;
use super::own_t::is_asked;
use crate::Change;
use crate::files::{Language, Role, file_name};
use crate::finding::{Finding, Kind};

/// Most lines of a change that are asked whether they steer only what is new.
const MAX_ASKED: usize = 50;

/// Line that makes tests demand less, whatever test it stands in.
struct Sign {
    language: Language,
    pattern: Regex,
    kind: Kind,
    meaning: &'static str,
}

#[rustfmt::skip]
const TABLE: &[(Language, &str, Kind, &str)] = &[
    (Language::Python, r"^collect_ignore(_glob)?\b.*test", Kind::SkippedTest, "tests are not collected"),
    (Language::Python, r"^collect_ignore(_glob)?\b", Kind::LooserRule, "files are not collected"),
    (Language::Python, r"\bitems\.clear\(\)|\bitems\[:\]\s*=\s*\[\]", Kind::SkippedTest, "no test runs"),
    (Language::Python, r"\bitems\[:\]\s*=|\bpytest_deselected\(|\b(add_marker|applymarker)\(.*\b(skip|xfail)", Kind::LooserRule, "some tests do not run"),
    (Language::Python, r"^(async )?def pytest_(ignore_collect|pyfunc_call|runtest_(call|protocol|makereport|setup)|load_initial_conftests)\b", Kind::LooserRule, "a hook decides how tests run"),
    (Language::Python, r#"\.outcome\s*=\s*["']passed|\bforce_result\(|\bexitstatus\s*=\s*0|\bAssertionError\s*="#, Kind::WeakerCheck, "a failure no longer counts"),
    (Language::Python, r#"\bconfig\.option\.\w+\s*=|\bargs\.(append|extend)\(.*["']--"#, Kind::LooserRule, "options of the runner are changed"),
    (Language::Python, r"\bsys\.modules\[[^\]]*\]\s*=\s*\S*Mock\b", Kind::MockedSubject, "a module is replaced by a mock"),
    (Language::Python, r"\bassert_all\w*\s*=\s*False\b", Kind::WeakerCheck, "what is expected need not happen"),
    (Language::EcmaScript, r#"\bonUnhandledRequest:\s*["'](bypass|warn)"#, Kind::WeakerCheck, "what nobody expects may happen"),
    (Language::Python, r"\breruns\s*=|^@(pytest\.mark\.)?flaky\b", Kind::LooserRule, "what fails is run again"),
    (Language::Python, r"^@pytest\.mark\.timeout\(\s*(0|\d{4,})\b", Kind::LooserRule, "a time limit is off"),
    (Language::Python, r"^failureException\s*=|\bself\.assert\w+\s*=[^=]|\bsetattr\([^,]+,\s*.assert", Kind::WeakerAssertion, "assertions are replaced"),
    (Language::Python, r"^def (run\(self,\s*result|load_tests\()", Kind::LooserRule, "which tests run is decided here"),
    (Language::EcmaScript, r"\bjest\.retryTimes\(|\bthis\.retries\(|\b(it|test|describe|setConfig)\b.*\bretr(y|ies):\s*[1-9]", Kind::LooserRule, "what fails is run again"),
    (Language::EcmaScript, r"\bjest\.setTimeout\(\s*\d{6,}|\bthis\.timeout\(\s*(0|\d{6,})\s*\)", Kind::LooserRule, "a time limit is off"),
    (Language::EcmaScript, r"\bprocess\.exitCode\s*=\s*0\b|^before(All|Each)?\(.*\bprocess\.exit\(", Kind::WeakerCheck, "a failure no longer counts"),
    (Language::EcmaScript, r#"\bprocess\.on\(\s*["'](exit|unhandledRejection|uncaughtException)\b"#, Kind::LooserRule, "failures outside of tests are dropped"),
    (Language::EcmaScript, r"\b(global|globalThis|window)\.(expect|assert|it|test|describe)\s*=[^=]", Kind::WeakerAssertion, "assertions are replaced"),
    (Language::EcmaScript, r"^(assert|expect)(\.\w+)*\.\w+\s*=[^=>]|\bObject\.assign\(\s*(assert|expect)\b", Kind::WeakerAssertion, "assertions are replaced"),
    (Language::EcmaScript, r"^(const|let|var) (it|test|describe)\s*=.*\.(skip|todo)\b|^(const|let|var) (it|test|describe)\s*=\s*\(|^function (it|test|describe)\(", Kind::SkippedTest, "tests do not run"),
    (Language::Go, r"&testing\.T\{|\bnew\(testing\.T\)", Kind::MockedSubject, "failures go to a `testing.T` of its own"),
    (Language::Go, r#"\bflag\.Set\(\s*"test\.|\bos\.Args\s*=\s*append\(.*"-{1,2}test\."#, Kind::LooserRule, "options of the runner are changed"),
    (Language::Go, r#"\bflag\.Bool(Var)?\(.*["']-?[\w.-]*(update|golden|regenerate)[\w-]*["']\s*,\s*true\b"#, Kind::WeakerCheck, "expected output is always written anew"),
    (Language::Rust, r#"\bset_var\(\s*"(INSTA_FORCE_PASS|INSTA_UPDATE|UPDATE_EXPECT|TRYBUILD)""#, Kind::WeakerCheck, "expected output is always written anew"),
    (Language::Java, r"\bsuccessPercentage\s*=|\binvocationCount\s*=\s*0\b|^@(ExpectedToFail|NotWorking)\b|^@ExtendWith\(\w*(Skip|Disab|Ignor)", Kind::SkippedTest, "a test may fail"),
    (Language::Java, r"\bexpected(Exceptions)?\s*=\s*\{?\s*(AssertionError|Throwable|Error)\.class", Kind::SwallowedFailure, "a failed assertion is expected"),
    (Language::Java, r"^@RetryingTest\b|\bretryAnalyzer\s*=", Kind::LooserRule, "what fails is run again"),
];

/// Lines of code, apart from tests, by which it does something else when it is tested.
#[rustfmt::skip]
const OF_PRODUCTS: &[(Language, &str)] = &[
    (Language::Python, r#"\bPYTEST_(CURRENT_TEST|VERSION)\b|["'](pytest|unittest)["'] (not )?in sys\.modules"#),
    (Language::EcmaScript, r#"\bNODE_ENV\b["'\]]*\s*={2,3}\s*["']test["']|["']test["']\s*={2,3}\s*[\w.]*\bNODE_ENV\b|\b(JEST|VITEST)_(WORKER|POOL)_ID\b|\benv\.VITEST\b"#),
    (Language::Rust, r"\bcfg!\((not\()?test\b"),
    (Language::Go, r#"\btesting\.Testing\(\)|\bflag\.Lookup\("test\.|\bos\.Args\[0\], "\.test"#),
    (Language::Java, r#"\bforName\("org\.(junit|testng)\.|\bgetProperty\("surefire\."#),
];

/// Lines that check something by themselves. If one is gone, and none of its kind has come, less is checked.
#[rustfmt::skip]
const KEPT: &[(Language, &str, &str)] = &[
    (Language::Rust, r"^(const _: \(\) = .*\bassert|(static_assertions::)?(const_assert|assert_(not_)?impl|assert_eq_size|assert_obj_safe))", "a check at compile time is gone"),
    (Language::Go, r"^//\s*(?:Unordered )?[Oo]utput:", "the output of an example is no longer compared"),
    (Language::EcmaScript, r"^//\s*@ts-expect-error\b", "an expected error of types is gone"),
    (Language::Python, r#"\bwarnings\.simplefilter\(["']error"#, "warnings no longer fail"),
];

static SIGNS: LazyLock<Vec<Sign>> = LazyLock::new(|| {
    let sign = |(language, pattern, kind, meaning): &(Language, &str, Kind, &'static str)| {
        Some(Sign { language: *language, pattern: Regex::new(pattern).ok()?, kind: *kind, meaning })
    };
    TABLE.iter().filter_map(sign).collect()
});

static PRODUCTS: LazyLock<Vec<(Language, Regex)>> = LazyLock::new(|| {
    OF_PRODUCTS
        .iter()
        .filter_map(|(language, pattern)| Some((*language, Regex::new(pattern).ok()?)))
        .collect()
});

static CHECKS: LazyLock<Vec<(Language, Regex, &'static str)>> = LazyLock::new(|| {
    let check = |(language, pattern, meaning): &(Language, &str, &'static str)| {
        Some((*language, Regex::new(pattern).ok()?, *meaning))
    };
    KEPT.iter().filter_map(check).collect()
});

/// Returns the lines that checked something by themselves, and are gone although what they name is still there.
fn no_longer_checked(changes: &[Change<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let is_of = |change: &Change<'_>, language: Language| {
        Language::of(change.path) == Some(language)
            && (language == Language::Rust || Role::of(change.path) == Role::Test)
    };
    // Most changes are of no such file, and patterns take long to compile.
    if !changes.iter().any(|change| KEPT.iter().any(|(language, ..)| is_of(change, *language))) {
        return findings;
    }
    for (language, pattern, meaning) in CHECKS.iter() {
        let is_read = |change: &&Change<'_>| is_of(change, *language);
        let lines = |text: Option<&str>| -> Vec<(usize, String)> {
            let all = text.unwrap_or_default().lines().map(str::trim).enumerate();
            all.filter(|(_, line)| pattern.is_match(line))
                .map(|(at, line)| (at + 1, line.to_owned()))
                .collect()
        };
        let mut there: Vec<String> = changes
            .iter()
            .filter(is_read)
            .flat_map(|change| lines(change.after))
            .map(|(_, line)| line)
            .collect();
        let mut gone = Vec::new();
        for change in changes.iter().filter(is_read) {
            for (at, line) in lines(change.before) {
                match there.iter().position(|other| *other == line) {
                    Some(place) => drop(there.swap_remove(place)),
                    None => gone.push((change, at, line)),
                }
            }
        }
        // What is left is new, and each may say what another one said.
        for (change, at, line) in gone.into_iter().skip(there.len()) {
            let Some(after) = change.after else { continue };
            let names = line.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
            let is_about_code = *language != Language::Rust
                || names.filter(|name| name.starts_with(char::is_uppercase)).all(|name| after.contains(name));
            // An expected error that is merely ignored is still there; one whose code is gone is not.
            // What went with its test is told of that.
            let test = (*language == Language::Python)
                .then(|| test_above(change.before.unwrap_or_default(), at))
                .flatten();
            if test.is_some_and(|test| !after.contains(&format!("def {test}("))) {
                continue;
            }
            let is_ignored = *language != Language::EcmaScript
                || after.matches("@ts-ignore").count()
                    > change.before.unwrap_or_default().matches("@ts-ignore").count();
            if is_about_code && is_ignored {
                let message = format!("{meaning}: `{}`", crate::finding::short(&line));
                findings.push(Finding::new(
                    change.path,
                    at.min(after.lines().count().max(1)),
                    Kind::FewerAssertions,
                    message,
                ));
            }
        }
    }
    findings
}

/// Returns the name of the test of Python that a line stands in. Lines are counted from 1.
fn test_above(text: &str, line: usize) -> Option<&str> {
    let above: Vec<&str> = text.lines().take(line).collect();
    let name = |line: &'_ str| line.trim_start().trim_start_matches("async ").starts_with("def ");
    let own = above.into_iter().rev().find(|line| name(line))?;
    let name = own.trim_start().trim_start_matches("async ").strip_prefix("def ")?.split('(').next()?;
    name.starts_with("test").then_some(name)
}

/// Returns what new lines of the files of tests mean for all tests of the file.
pub(crate) fn compare(changes: &[Change<'_>]) -> Vec<Finding> {
    let mut findings = no_longer_checked(changes);
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in changes.iter().flat_map(|change| change.before.unwrap_or_default().lines()) {
        *known.entry(line.trim()).or_default() += 1;
    }
    let is_moved = changes.iter().any(|change| change.after.is_none() && Role::of(change.path) == Role::Test);
    let mut asked = 0;
    for change in changes.iter().filter(|change| is_steering(change.path)) {
        let Some(language) = Language::of(change.path) else { continue };
        for (at, line) in change.after.unwrap_or_default().lines().enumerate() {
            let line = line.trim();
            if let Some(count) = known.get_mut(line).filter(|count| **count > 0) {
                *count -= 1;
                continue;
            }
            let is_sign = |sign: &&Sign| sign.language == language && sign.pattern.is_match(line);
            if let Some(sign) = SIGNS.iter().find(is_sign).filter(|_| !is_comment(line)) {
                // All of the change is read for the answer.
                asked += 1;
                let text = change.after.unwrap_or_default();
                let mut below = text.lines().skip(at + 1);
                let mut is_meant = || language == Language::Go && is_asked(line, &mut below);
                if asked <= MAX_ASKED
                    && (is_own_function(line, text) || leaves_out_new(line, changes) || is_meant())
                {
                    continue;
                }
                let message = format!("{}: `{}`", sign.meaning, crate::finding::short(line));
                let finding = Finding::new(change.path, at + 1, sign.kind, message);
                // Nothing ran here before, unless it was moved from elsewhere.
                let is_new = language == Language::EcmaScript
                    && sign.kind == Kind::SkippedTest
                    && change.before.is_none()
                    && !is_moved;
                findings.push(if is_new { finding.noted("the file is new") } else { finding });
            }
        }
        findings.extend(efforts(change));
        findings.extend(no_longer_strict(change));
    }
    findings.extend(aware(changes));
    findings
}

/// Returns whether a line of `conftest.py` only keeps files from being collected that are new, or that were left out before as well, maybe
/// by a path from another folder.
fn leaves_out_new(line: &str, changes: &[Change<'_>]) -> bool {
    let is_list = |line: &str| line.trim_start().starts_with("collect_ignore");
    let names = |line: &'_ str| -> Vec<String> {
        let texts = line.split(['"', '\'']).skip(1).step_by(2);
        texts.map(|text| file_name(text).to_owned()).collect()
    };
    let is_new = |name: &String| {
        changes.iter().any(|change| change.before.is_none() && file_name(change.path) == name)
            || changes
                .iter()
                .flat_map(|change| change.before.unwrap_or_default().lines())
                .any(|line| is_list(line) && names(line).contains(name))
    };
    let own = if is_list(line) { names(line) } else { Vec::new() };
    !own.is_empty() && own.iter().all(is_new)
}

/// Returns whether a line of JavaScript defines a function that has the name of one of the runner's, in a file whose tests are made by
/// another: none of its calls begins with the name of a test.
fn is_own_function(line: &str, text: &str) -> bool {
    let start = ["function ", "const ", "let ", "var "].iter().find_map(|start| line.strip_prefix(start));
    let name = start.and_then(|rest| rest.split(['(', ' ', '=']).next());
    name.is_some_and(|name| {
        let call = format!("{name}(");
        let is_of_test = |given: &str| given.trim_start().starts_with(['"', '\'', '`']);
        matches!(name, "it" | "test" | "describe")
            && !text.split(call.as_str()).skip(1).any(is_of_test)
            && !text.contains(&format!("{name}."))
    })
}

/// Returns whether code does something else when it is tested.
pub(crate) fn is_aware(path: &str, text: &str) -> bool {
    // Most files have none of these words, and patterns take long to compile.
    ["test", "EST"].iter().any(|word| text.contains(word))
        && PRODUCTS
            .iter()
            .any(|(language, pattern)| Language::of(path) == Some(*language) && pattern.is_match(text))
}

/// Returns the new lines by which code does something else when it is tested, so that tests do not see what users do.
fn aware(changes: &[Change<'_>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for change in
        changes.iter().filter(|change| Role::of(change.path) == Role::Source && !is_steering(change.path))
    {
        let known: BTreeSet<&str> = changes
            .iter()
            .flat_map(|other| other.before.unwrap_or_default().lines())
            .map(str::trim)
            .collect();
        let Some(after) = change.after.filter(|after| is_aware(change.path, after)) else { continue };
        let is_new = |line: &str| {
            // What is written to a log is no part of what is tested.
            !known.contains(line)
                && !is_comment(line)
                && is_aware(change.path, line)
                && !["log", "Log", "silent"].iter().any(|word| line.contains(word))
        };
        let new = after.lines().map(str::trim).enumerate().filter(|(_, line)| is_new(line));
        findings.extend(new.map(|(at, line)| {
            let message =
                format!("the code does something else when it is tested: `{}`", crate::finding::short(line));
            Finding::new(change.path, at + 1, Kind::MockedSubject, message)
        }));
    }
    findings
}

/// Returns the line by which a file asks for Node's assertions in their legacy mode, which it did not before.
fn no_longer_strict(change: &Change<'_>) -> Option<Finding> {
    const LEGACY: &[&str] = &["('assert')", "(\"assert\")", "('node:assert')", "(\"node:assert\")"];
    let is_strict = |text: &str| text.contains("assert/strict") || text.contains(".strict");
    let (before, after) = (change.before?, change.after?);
    let is_asked = |line: &str| line.contains("require(") && LEGACY.iter().any(|name| line.contains(name));
    let at = after.lines().position(is_asked).filter(|_| is_strict(before) && !is_strict(after))?;
    let message = "assertions no longer compare strictly".to_owned();
    Some(Finding::new(change.path, at + 1, Kind::WeakerAssertion, message))
}

/// Returns whether the lines of a file may be for the runner.
pub(crate) fn is_steering(path: &str) -> bool {
    Role::of(path) == Role::Test
        || matches!(file_name(path), "conftest.py" | "sitecustomize.py" | "usercustomize.py")
}

fn is_comment(line: &str) -> bool {
    line.starts_with("//") || line.starts_with('*') || line.starts_with("# ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!((SIGNS.len(), CHECKS.len()), (TABLE.len(), KEPT.len()));
        assert_eq!(PRODUCTS.len(), OF_PRODUCTS.len());
    }
}
