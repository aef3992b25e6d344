//! Problem matcher: extracts `file:line: message` diagnostics from the output of tools.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use sanitize::untrusted::visible;
use workspace::WorkspacePath;

use super::{RunReport, test_findings};
use crate::base::text::shortened;
use crate::event::{GateRecord, Severity};

/// Maximum number of remarks from one gate; more would be noise.
const MAX_REMARKS: usize = 50;

/// Maximum length of a remark, in characters.
const MAX_MESSAGE: usize = 1_000;

/// The forms in which tools name a line: `path:line:col: message` (most), `path(line,col): message`
/// (TypeScript, MSVC), `--> path:line:col` (Rust), `File "path", line 1` (Python),
/// `at name (path:line:col)` (JavaScript).
static PLACES: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(
        r#"(?x) ^ \s* (?:
            (?: (?:ERROR|error|E|FAILED) [:\s]+ )?
            (?P<a>[^\s:()"'][^:()"'\n]*?) : (?P<al>\d+) (?: : \d+ )? (?: - (?:\d+) )? \s* : \s+ (?P<am>\S.*)
          | (?P<b>[^\s:()"'][^:()"'\n]*?) \( (?P<bl>\d+) (?: , \d+ )? \) \s* : \s+ (?P<bm>\S.*)
          | --> \s* (?P<c>[^\s:][^:\n]*?) : (?P<cl>\d+) : \d+ \s*
          | File \s+ "(?P<d>[^"\n]+)" , \s+ line \s+ (?P<dl>\d+) .*
          | at \s+ .* \( (?P<e>[^():\n]+) : (?P<el>\d+) : \d+ \)
        ) $"#,
    )
    .expect("the pattern is valid")
});

/// The message that rustc prints before the location.
static HEADLINE: LazyLock<Regex> = LazyLock::new(|| {
    #[expect(clippy::expect_used, reason = "a constant pattern, compiled in a test")]
    Regex::new(r"^(?:error|warning)(?:\[[A-Z]\d+\])?: (.+)$").expect("the pattern is valid")
});

/// A remark about a line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The path of the file, relative to the repository.
    pub path: String,
    /// The line, from 1.
    pub line: u32,
    /// Whether it is an error rather than a warning.
    pub error: bool,
    /// The source of the remark, such as the name of a gate.
    pub title: String,
    /// The remark itself, as plain text.
    pub message: String,
}

/// Returns what the judgement of tests, guardrails, the code review and failed gates report about files. `workspace` is the
/// absolute path that tools may print, `prefix` the path from the repository's root to the workspace, and
/// `exists` tells which paths of the workspace are files.
pub fn diagnostics(
    report: &RunReport,
    workspace: &Path,
    prefix: &str,
    exists: &dyn Fn(&str) -> bool,
) -> Vec<Diagnostic> {
    let mut remarks: Vec<Diagnostic> = of_tests(report, prefix).collect();
    of_guardrails_and_review(report, prefix, exists, &mut remarks);
    of_gates(&report.gates, workspace, prefix, exists, &mut remarks);
    remarks
}

/// Returns weakened tests; of a file that is gone, the line that it had.
fn of_tests(report: &RunReport, prefix: &str) -> impl Iterator<Item = Diagnostic> {
    test_findings::weakened(&report.test_findings).map(move |finding| Diagnostic {
        path: format!("{prefix}{}", finding.path),
        line: u32::try_from(finding.line).unwrap_or(u32::MAX).max(1),
        error: finding.severity == Severity::Error,
        title: visible(&format!("Test integrity ({})", finding.kind)),
        message: visible(&finding.message),
    })
}

fn of_guardrails_and_review(
    report: &RunReport,
    prefix: &str,
    exists: &dyn Fn(&str) -> bool,
    remarks: &mut Vec<Diagnostic>,
) {
    for block in &report.guardrails {
        // The file may never have been created: the remark is about its name.
        remarks.extend(block.path.as_ref().map(|path| Diagnostic {
            path: format!("{prefix}{path}"),
            line: 1,
            error: false,
            title: visible(&format!("Guardrail stopped {}", block.tool)),
            message: visible(&block.reason),
        }));
    }
    let found = report.review.iter().flat_map(|review| &review.findings);
    remarks.extend(found.filter_map(|finding| {
        let path = finding.file.as_ref().filter(|path| exists(path.as_str()))?;
        Some(Diagnostic {
            path: format!("{prefix}{path}"),
            line: finding.line,
            error: finding.severity == Severity::Error,
            title: format!("Review ({})", finding.severity),
            message: visible(&finding.message),
        })
    }));
}

/// Adds what failed gates report about files; see [`diagnostics`].
pub fn of_gates(
    gates: &[GateRecord],
    workspace: &Path,
    prefix: &str,
    exists: &dyn Fn(&str) -> bool,
    remarks: &mut Vec<Diagnostic>,
) {
    for gate in gates.iter().filter(|gate| !gate.passed) {
        let of_gate = places(&gate.output).into_iter().filter_map(|place| {
            let path = inside(&place.path, workspace)?;
            exists(&path).then(|| Diagnostic {
                path: format!("{prefix}{path}"),
                line: place.line,
                error: gate.fails_run(),
                title: visible(&format!("Gate {}", gate.name)),
                message: visible(&place.message),
            })
        });
        for remark in of_gate.take(MAX_REMARKS) {
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
}

/// Converts a path as a tool wrote it, absolute or relative, into one relative to the workspace; `None` if
/// it lies outside.
fn inside(path: &str, workspace: &Path) -> Option<String> {
    let path = Path::new(path).strip_prefix(workspace).unwrap_or(Path::new(path));
    WorkspacePath::parse(path.to_str()?).ok().map(|path| path.to_string())
}

/// A line of a file that a tool's output names, with the message about it.
struct NamedLine {
    path: String,
    line: u32,
    message: String,
}

/// Finds all diagnostics in the output of a tool, in order.
fn places(output: &str) -> Vec<NamedLine> {
    let mut places = Vec::new();
    let mut headline: Option<&str> = None;
    for line in output.lines() {
        if let Some(found) = HEADLINE.captures(line) {
            headline = found.get(1).map(|found| found.as_str());
            continue;
        }
        let Some(found) = PLACES.captures(line) else { continue };
        let group = |name: &str| found.name(name).map(|found| found.as_str());
        let forms = ["a", "b", "c", "d", "e"];
        let Some(form) = forms.into_iter().find(|form| group(form).is_some()) else { continue };
        let (Some(path), Some(Ok(line_number))) =
            (group(form), group(&format!("{form}l")).map(str::parse::<u32>))
        else {
            continue;
        };
        let said = group(&format!("{form}m")).or_else(|| headline.take()).unwrap_or_else(|| line.trim());
        let message = shortened(said, MAX_MESSAGE);
        if line_number > 0 {
            places.push(NamedLine { path: path.trim().to_owned(), line: line_number, message });
        }
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_the_usual_tools_are_found() {
        for (output, expected) in [
            ("src/a.c:3:7: error: expected ';'", vec![("src/a.c", 3, "error: expected ';'")]),
            (
                "src/a.py:12: error: Incompatible types  [arg]",
                vec![("src/a.py", 12, "error: Incompatible types  [arg]")],
            ),
            ("./x/main.go:9:2: undefined: y", vec![("./x/main.go", 9, "undefined: y")]),
            (
                "src/a.ts(4,10): error TS2304: Cannot find name 'x'.",
                vec![("src/a.ts", 4, "error TS2304: Cannot find name 'x'.")],
            ),
            (
                "error[E0308]: mismatched types\n  --> src/lib.rs:10:5\n   |",
                vec![("src/lib.rs", 10, "mismatched types")],
            ),
            (
                "  File \"tests/a.py\", line 5, in test_a",
                vec![("tests/a.py", 5, "File \"tests/a.py\", line 5, in test_a")],
            ),
            ("tests/test_a.py:7: AssertionError", vec![("tests/test_a.py", 7, "AssertionError")]),
            (
                "    at Object.<anonymous> (test/a.test.js:8:3)",
                vec![("test/a.test.js", 8, "at Object.<anonymous> (test/a.test.js:8:3)")],
            ),
            ("lib/my file.sh:2:1: warning: quote", vec![("lib/my file.sh", 2, "warning: quote")]),
            ("all good: 3 of 3\nhttp://localhost:80: up\na.c:0: x", vec![]),
        ] {
            let found = places(output);
            let found: Vec<(&str, u32, &str)> =
                found.iter().map(|place| (place.path.as_str(), place.line, place.message.as_str())).collect();
            assert_eq!(found, expected, "{output}");
        }
    }

    #[test]
    fn places_outside_are_nobodys() {
        let root = Path::new("/work/repo");
        assert_eq!(inside("/work/repo/src/a.rs", root).as_deref(), Some("src/a.rs"));
        assert_eq!(inside("./src/a.rs", root).as_deref(), Some("src/a.rs"));
        assert_eq!(inside("../secret", root), None);
        assert_eq!(inside("/etc/passwd", root), None);
    }
}
