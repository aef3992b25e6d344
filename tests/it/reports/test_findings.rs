//! Weakened tests, wherever people look at the end of a run.

use std::path::Path;

use architect_ci::report::{RunReport, annotations, diagnostics, html, terminal};
use serde_json::{Value, json};

use super::comment::{at_terminal, differing};

fn finding(line: usize, severity: &str) -> Value {
    json!({"path": "tests/test_a.py", "line": line, "kind": "skipped-test", "severity": severity,
        "message": "the test `<a>` is\nskipped\u{202e}"})
}

fn weakened(findings: &[Value]) -> RunReport {
    differing(&json!({"stop_reason": "tests_demand_less", "gates": [], "test_findings": findings}))
}

fn position(text: &str, part: &str) -> usize {
    text.find(part).unwrap_or_else(|| panic!("{part}: {text}"))
}

#[test]
fn weakened_tests_stand_first_on_page() {
    for severity in ["error", "warning"] {
        let page = html(&weakened(&[finding(4, severity)]));
        let section = position(&page, "<section id=\"weakened-tests-and-checks\">");
        assert!(section < position(&page, "<section id=\"task\">"), "{page}");
        assert!(
            page.contains("<a href=\"#weakened-tests-and-checks\">Weakened tests and checks 1</a>"),
            "{page}"
        );
        assert!(page.contains("<code>tests/test_a.py:4</code>") && page.contains("&lt;a&gt;"), "{page}");
        assert!(page.contains("⟨U+202E⟩") && !page.contains('\u{202e}'), "{page}");
    }
    // A note is nothing to begin with.
    let page = html(&weakened(&[finding(4, "note")]));
    let section = position(&page, "<section id=\"tests-and-checks\">");
    assert!(section > position(&page, "<section id=\"task\">"), "{page}");
    assert!(!html(&weakened(&[])).contains("tests-and-checks"));
}

#[test]
fn weakened_tests_are_listed_at_terminal_up_to_a_limit() {
    let text = terminal(
        &weakened(&[finding(4, "error"), finding(7, "warning"), finding(9, "note")]),
        at_terminal(false),
    );
    let line = "✗ tests, error: tests/test_a.py:4 (skipped-test): the test `<a>` is⏎skipped⟨U+202E⟩\n";
    assert!(text.contains(line) && text.contains("\n! tests, warning: tests/test_a.py:7 "), "{text}");
    assert!(!text.contains("test_a.py:9"), "{text}");
    let many: Vec<Value> = (1..=30).map(|line| finding(line, "error")).collect();
    let review: Vec<Value> = (1..=21)
        .map(
            |line| json!({"file": "a.rs", "line": line, "severity": "warning", "message": "x".repeat(5_000)}),
        )
        .collect();
    let refused: Vec<Value> = (1..=50)
        .map(|step| json!({"agent": "build", "step": step, "tool": "write_file", "path": ".env", "reason": "sensitive"}))
        .collect();
    let mut report = differing(&json!({"guardrails": refused, "test_findings": many,
        "review": {"pass": 1, "model": "m", "findings": review, "duration_ms": 1}}));
    report.files.clear();
    let text = terminal(&report, at_terminal(false));
    for more in [
        "\n  … and 30 more refused calls\n",
        "\n  … and 10 more findings about tests\n",
        "\n  … and 1 more finding of the review\n",
    ] {
        assert!(text.contains(more), "{more}: {text}");
    }
    assert!(text.lines().count() < 75 && text.lines().all(|line| line.chars().count() < 500), "{text}");
}

#[test]
fn weakened_tests_are_annotated_at_their_lines() {
    let report = weakened(&[finding(4, "error"), finding(0, "warning"), finding(9, "note")]);
    // The file of a test that is gone is not there.
    let remarks = diagnostics(&report, Path::new("/work"), "app/", &|_| false);
    let found: Vec<_> =
        remarks.iter().map(|remark| (remark.path.as_str(), remark.line, remark.error)).collect();
    assert_eq!(found, [("app/tests/test_a.py", 4, true), ("app/tests/test_a.py", 1, false)]);
    let lines = annotations(&report, &remarks);
    assert_eq!(
        lines[0],
        "::error file=app/tests/test_a.py,line=4,title=Test integrity (skipped-test)::the test `<a>` is%0Askipped⟨U+202E⟩"
    );
    assert!(lines[1].starts_with("::warning file=app/tests/test_a.py,line=1,"), "{lines:?}");
}
