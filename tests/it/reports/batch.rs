//! The report of a batch: what people look for first is one click away.

use architect_ci::report::{BatchReport, TaskReport, batch_html, batch_markdown};
use serde_json::json;

use super::comment::differing;

#[test]
fn batch_report_links_reports_and_shows_why_gates_failed() {
    let printed: String = (1..=30).map(|line| format!("line {line} <b>\n")).collect();
    let gate = |name: &str, passed: bool| {
        json!({"name": name, "command": name, "required": true, "passed": passed, "predicted": true, "duration_ms": 900,
            "verdict": if passed { "passed" } else { "failed" }, "exit_code": 1, "ending": "exit code 1", "output": printed})
    };
    let run = differing(&json!({
        "status": "partial", "stop_reason": "gates_failed", "exit_code": 1,
        "gates": [gate("lint", true), gate("tests", false)],
        "delivery": {"branch": "b", "commit": "c", "pull_request": {"number": 12, "url": "https://github.com/octo/demo/pull/12"}},
    }));
    let task = TaskReport::of_run("one", &run, "tasks/one");
    let report = json!({
        "schema_version": 1, "batch": "nightly", "manifest": "m", "commit": "0123456789", "status": "failed", "exit_code": 1,
        "started_at": "2026-01-02T03:04:05Z", "duration_ms": 1, "tasks": [task], "usage": {"input": 1, "cached": 0, "output": 1},
        "notices": [], "run_url": "https://github.com/octo/demo/actions/runs/4711",
    });
    let report: BatchReport = serde_json::from_value(report).expect("a report");
    let page = batch_html(&report);
    for part in [
        "<a href=\"https://github.com/octo/demo/actions/runs/4711\">run</a>",
        "<a href=\"tasks/one/report.html\">",
        "<summary>Output of <code>tests</code></summary>",
        "line 30 &lt;b&gt;</pre>",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("line 10 ") && !page.contains("Output of <code>lint</code>"), "{page}");
    let text = batch_markdown(&report);
    assert!(
        text.contains("[`one`](tasks/one/report.md) [#12](https://github.com/octo/demo/pull/12)"),
        "{text}"
    );
}
