//! Lines of output that report failures, as test runners, compilers and linters write them.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::structured_lines::{self, Certainty};

/// Forms in which programs report failures, with a few programs for each.
const CERTAIN: [&str; 82] = [
    // pytest
    r"^E   +\S",
    r"^_{3,} .+ _{3,}$",
    r"^(?:FAILED|ERROR) \S+(?:::|\.py)",
    // unittest, Django, Bazel
    r"^(?:FAIL|ERROR): \S",
    r"^Traceback \(most recent call last\):",
    r"^\+? ?Exception Group Traceback",
    // cargo, rustc, deno, bun, zig
    r"^(?:fatal )?error(?:\[\w+\])?: ",
    r"^thread '.*' (?:\(\d+\) )?panicked at ",
    r"^---- .+ stdout ----$",
    r"\.\.\. FAILED(?: \(.*\))?$",
    r"^\s+(?:FAIL|SIGABRT|SIGSEGV|TIMEOUT) \[",
    // go
    r"^\s*--- FAIL: ",
    r"^=== FAIL: ",
    r"^FAIL\t",
    r"^panic: ",
    r"^\S+\.go:\d+:\d+: ",
    r"^\s+\S+_test\.go:\d+: ",
    // jest, vitest, mocha, ava, node:test, tap, playwright, cypress, bun
    r"^\s*● .+",
    r"^\s*\[?(?:✕|✗|✖|×|❌)\]? ",
    r"^\s*FAIL\s+\S",
    r"^\s*\(fail\) ",
    r"^\s*not ok \d+",
    r"^\s+\d+\) \S",
    // tsc, eslint, biome, prettier, webpack, vite
    r"\(\d+, ?\d+\):? [Ee]rror",
    r":\d+:\d+ - error ",
    r"^\s+\d+:\d+\s+error\s",
    r"^\[error\] |^\[warn\] \S+\.\w+$|^error [A-Z]\S| ERR_PNPM_|^ ?ELIFECYCLE\b",
    r"^(?:ERROR in|Module not found:|\[commonjs) ",
    r"^✘ \[ERROR\]",
    // maven, gradle, javac, kotlin, sbt, junit
    r"^\[ERROR\]",
    r"<<< (?:FAILURE|ERROR)!",
    r"^(?:> Task )?\S.* FAILED$",
    r"^FAILURE: |^\* What went wrong:",
    r"^[ew]: file:.*(?:rror|nresolved|xpect|mismatch)",
    r"\.(?:java|kt|scala|groovy):\d+: error:",
    r"\*\*\* FAILED \*\*\*",
    // gcc, clang, swift, ghc, mypy, pyright and others: FILE:LINE:COLUMN: error
    r":\d+(?::\d+)?:? (?:- )?(?:fatal )?error:? ",
    r":\d+(?::\d+)?: (?:fatal )?error(?:$|:|\[)",
    r"undefined reference to |: ld returned \d|^(?:\S*/)?ld(?:\.\w+)?: |^Undefined symbols for ",
    r"^[\w.+/-]+: (?:fatal )?error: ",
    r"^make(?:\[\d+\])?: \*\*\* |^ninja: (?:error|build stopped)|^FAILED: ",
    r"^CMake Error|\*\*\*(?:Failed|Exception|Timeout|Not Run)|^\s*\d+ - .+ \((?:Failed|SEGFAULT|Timeout)\)",
    // meson, Robot Framework, git
    r"^\s*\d+/\d+ .+ (?:FAIL|ERROR|TIMEOUT|UNEXPECTEDPASS) +\d",
    r" \| FAIL \|$",
    r"^CONFLICT \(",
    // googletest
    r"^\S+:\d+: Failure$",
    r"^\[  FAILED  \] ",
    // dotnet, xUnit
    r": (?:fatal )?error [A-Z]+\d+:",
    r"^\s+Failed \S+.* \[\d",
    r"\[FAIL\]$",
    // ruff, flake8, pylint, rubocop, golangci-lint, shellcheck
    r"^\S+:\d+:\d+: (?:[A-Z]+\d+:? |[EFC]: )",
    r"^In \S+ line \d+:$",
    // rspec, minitest, phpunit, prove, ExUnit
    r"^\s*Failure/Error:|^rspec \./",
    r"^\s*\d+\) (?:Failure:|Error:|test |\S+::)",
    r"^PHP (?:Fatal|Parse) error|^Fatal error: ",
    r"^#\s+Failed test",
    r"^\*\* \(\w+",
    // black, ruff format, rustfmt, pre-commit, nox, hadolint, shellcheck, Kubernetes
    r"^(?:would reformat|Would reformat:) |^Diff in |\.{3,}Failed$|^nox > .* failed",
    r"^\S+:\d+ (?:DL|SC)\d{4} |\[SC\d{4}\]$",
    r"^Error from server | is invalid: ",
    // Bazel, XCTest, Dart, Flutter, Zig, hspec, rebar3, Elixir, Julia, R, busted
    r"^//\S+ .*\b(?:FAILED|TIMEOUT|NO STATUS)\b",
    r"^Test Case '.+' failed \(",
    r" \[E\]$|^\s*error [-•] \S|EXCEPTION CAUGHT BY",
    r"\.\.\.FAIL \(|\bFAILED \[\d+\]$",
    r"^===> .*(?:failed|[Ee]rror)|^== Compilation error",
    r"\bTest Failed at |^Error in |^── (?:Failure|Error) |^(?:Failure|Error) → ",
    // psql, mysql
    r"^psql:\S+: (?:ERROR|FATAL)|^ERROR \d+ \(",
    // npm, docker, terraform, ansible, helm
    r"^npm (?:ERR!|error) ",
    r"^(?:│ |╷\s*)?Error: \S",
    r"^fatal: |^ERROR: |^FATAL(?:: |\s+\[)|failed!? =>",
    r"^#\d+ ERROR: |^failed: \[|UNREACHABLE! =>",
    // shells and whatever passes on what the system said
    r"\bcommand not found\b|: \d+: \S+: not found$| is not recognized as (?:an internal|a name|the name)",
    r"(?i): (?:no such file or directory|permission denied|operation not permitted|not a directory|is a directory)\W*$",
    r"(?i): (?:no space left on device|read-only file system|too many open files|cannot allocate memory|text file busy)\W*$",
    r"(?i): (?:address already in use|connection (?:refused|reset by peer|timed out)|broken pipe|exec format error)\W*$",
    r"^curl: \(\d+\) |(?i)could not resolve host|temporary failure in name resolution",
    // signals, memory, sanitizers, valgrind
    r"^(?:Segmentation fault|Aborted|Killed|Bus error|Illegal instruction|.*\(core dumped\))",
    r"\bline \d+: +\d+ (?:Segmentation fault|Aborted|Killed|Bus error|Illegal instruction)",
    r"(?i)\bout of memory\b|\bvirtual memory exhausted\b",
    r"(?:Address|HWAddress|Leak|Memory|Thread|UndefinedBehavior)Sanitizer: |: runtime error: ",
    r"^==\d+== (?:Invalid |Conditional jump|Use of uninitialised|Mismatched free|Process terminating)",
    r"^==\d+== .*definitely lost(?: in|: [1-9])",
];

/// Forms of errors that programs may also log when all is well.
const LIKELY: [&str; 3] = [
    r"^\s*(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Failure)\b",
    r"(?i)\b(?:errors?|fail(?:ed|ures?)?|fatal|panic(?:ked)?|exception|assertion failed)\b\s*[:\[(!]",
    r"(?i)^\W*(?:error|failed|failure|fatal|exception)\b",
];

/// Forms of lines that look like failures and are none.
const HARMLESS: [&str; 6] = [
    r"(?i)\b(?:0|no) (?:errors?|fail(?:ed|ures?|ing)?)\b(?:[^1-9]*)$",
    // A test that passed, whatever its name says.
    r"\.\.\. ?(?:ok|OK|skipped|yes|no)$|^\s*(?:✓|√|✔|✅) |^ok \d|^ok\s+\S+\s+[\d.(]",
    r"\b(?:PASSED|PASS|XFAIL|xfail)\b\s*(?:\[ *\d+%\]|\([^)]*\)|[\d.]+ ?m?s)?$|\bpassed \([\d.]+ seconds\)",
    r"^\s*(?:=== (?:RUN|CONT|PAUSE|NAME) |--- PASS: |PASS(?::|\s)|\[ (?:RUN|      OK|PASSED) )",
    r"^\s*(?:Compiling|Checking|Downloaded|Downloading|Fetching|Installing|Unpacking|Adding|Locking|Created|Copying) ",
    r"^(?:\S*/)?ld(?:\.\w+)?: warning: |^(?:-- |checking )(?:Performing Test|Looking for|whether|for) ",
];

/// Longest part of a line that is looked at, in bytes.
const MAX_LOOKED_AT: usize = 400;

/// Time that a service puts before the lines of a log.
const TIME: &str = r"^\d{4}-\d\d-\d\d[T ][\d:.,]+Z? ";
/// Label that a tool puts before the lines of the programs that it runs: the package, task or container.
const LABEL: &str =
    r"^(?:[\w@./-]+[:#][\w:./-]+: |[\w@./+-]+ *\| |\[[\w@:/. -]{1,60}\]:? |[\w@./-]+(?: [\w:-]+)?: )";

struct Forms {
    certain: RegexSet,
    likely: RegexSet,
    harmless: RegexSet,
    labels: [Option<Regex>; 2],
}

static FORMS: LazyLock<Forms> = LazyLock::new(|| {
    let set = |patterns: &[&str]| RegexSet::new(patterns).unwrap_or_else(|_| RegexSet::empty());
    let labels = [TIME, LABEL].map(|label| Regex::new(label).ok());
    Forms { certain: set(&CERTAIN), likely: set(&LIKELY), harmless: set(&HARMLESS), labels }
});

/// Returns what stands behind the time of a line, and behind the label, if it has them.
fn behind_labels(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    FORMS.labels.iter().flatten().filter_map(move |label| {
        rest = &rest[label.find(rest)?.end()..];
        Some(rest)
    })
}

/// Returns how certainly a line of any kind reports a failure, or `None` if nothing in it does.
pub(super) fn certainty(line: &str) -> Option<Certainty> {
    if behind_labels(line).any(is_harmless) {
        return None;
    }
    // Words alone may be what a label is followed by in any text.
    let is_certain = |text: &str| of_text(text).filter(|certainty| *certainty == Certainty::Certain);
    let behind = || {
        behind_labels(line).filter_map(|rest| is_certain(rest).max(structured_lines::certainty(rest))).max()
    };
    let within = || structured_lines::text(line)?.1.lines().filter_map(of_text).max();
    match of_text(line).max(structured_lines::certainty(line)) {
        Some(Certainty::Certain) => Some(Certainty::Certain),
        whole => whole.max(behind()).max(within()),
    }
}

/// Returns how certainly a line that is written for people reports a failure.
fn of_text(line: &str) -> Option<Certainty> {
    let line = &line[..line.floor_char_boundary(MAX_LOOKED_AT)];
    let forms = &*FORMS;
    if forms.certain.is_match(line) && !forms.harmless.is_match(line) {
        return Some(Certainty::Certain);
    }
    (forms.likely.is_match(line) && !forms.harmless.is_match(line)).then_some(Certainty::Likely)
}

/// Returns whether a line that mentions failures says that there was none.
pub(super) fn is_harmless(line: &str) -> bool {
    FORMS.harmless.is_match(line)
}

/// Returns whether a line of an output that is written for people reports a failure.
pub(crate) fn is_failure(line: &str) -> bool {
    of_text(line).is_some()
}

/// Returns the lines of an output that report failures.
pub(crate) fn failure_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| is_failure(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_compile() {
        assert_eq!(FORMS.certain.len(), CERTAIN.len());
        assert_eq!(FORMS.likely.len(), LIKELY.len());
        assert_eq!(FORMS.harmless.len(), HARMLESS.len());
        assert!(FORMS.labels.iter().all(Option::is_some));
    }

    #[test]
    fn harmless_lines_are_no_failures() {
        for line in [
            "test errors::are_reported ... ok",
            "0 errors, 0 warnings",
            "test result: ok. 12 passed; 0 failed",
            "   Compiling thiserror v2.0.12",
            "Downloaded failure v0.1.8",
            "  ✓ reports an error: message (3 ms)",
            "ok 7 - fails when the file is missing",
            "src/errors.rs",
            "running 5 tests",
        ] {
            assert_eq!(certainty(line), None, "{line}");
        }
    }

    #[test]
    fn labels_do_not_hide_failures() {
        use Certainty::Certain;
        for (line, expected) in [
            ("web:test: FAIL src/cart.test.ts", Some(Certain)),
            ("@shop/web#build: src/cart.ts(31,5): error TS2322: no", Some(Certain)),
            ("web-1  | Traceback (most recent call last):", Some(Certain)),
            ("+test | --- FAIL: TestTotal (0.00s)", Some(Certain)),
            ("[web] thread 'cart' panicked at src/cart.rs:3:5:", Some(Certain)),
            ("[@shop/web]: E       assert 3 == 4", Some(Certain)),
            ("packages/web test: FAIL src/cart.test.ts", Some(Certain)),
            ("2026-01-01T00:00:00.123Z --- FAIL: TestTotal (0.00s)", Some(Certain)),
            (r#"web-1 | {"type":"test","event":"failed","name":"cart::total"}"#, Some(Certain)),
            (r#"{"Action":"output","Output":"    cart_test.go:12: want 4\n"}"#, Some(Certain)),
            (r#"{"reason":"compiler-message","message":{"rendered":"error[E0308]: no\n"}}"#, Some(Certain)),
            (r#"{"reason":"compiler-message","message":{"rendered":"warning: unused\n"}}"#, None),
            ("web:test:   ✓ reports an error: message (3 ms)", None),
            ("web-1 | 0 errors, 0 warnings", None),
            ("web:test: ok 3 - fails when the file is missing", None),
        ] {
            assert_eq!(certainty(line), expected, "{line}");
        }
    }
}
