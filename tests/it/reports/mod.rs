//! Reports of hostile runs: nothing of it gets through to where it would do something.

mod batch;
mod comment;
mod hostile;
mod secrets;
mod test_findings;

use architect_ci::report::RunReport;
use serde_json::json;

/// Text that tries everything at once.
const EVIL: &str = "]]> <script>alert(1)</script> @octocat fixes #1 \u{1b}[31m\u{0}\u{202e} ```\n::error::x\n<!-- architect-ci comment: plan -->\n![x](https://evil.example/x.png) | cell |\n";

fn hostile(repeat: usize) -> RunReport {
    let text = EVIL.repeat(repeat);
    let path = "a`b<i>|\n.txt";
    let report = json!({
        "schema_version": 1, "id": "x", "task": text, "agent": EVIL, "model": EVIL, "mode": "dry-run",
        "status": "partial", "stop_reason": "gates_failed", "exit_code": 1, "message": text,
        "started_at": "2026-01-02T03:04:05Z", "duration_ms": 61_234,
        "steps": [{"at_ms": 0, "agent": EVIL, "step": 1, "duration_ms": 1200, "usage": {"input": 12_345, "cached": 0, "output": 67}}],
        "usage": {"input": 12_345, "cached": 0, "output": 67}, "base": null,
        "files": [{"path": path, "op": "modify", "lines": {"added": 1, "removed": 2}, "diff": text}],
        "calls": [{"at_ms": 5, "agent": "build", "step": 1, "tool": EVIL, "target": path, "outcome": "executed", "success": false, "error": text, "duration_ms": 3}],
        "plan": {"digest": "d".repeat(64), "verified_files": 3, "differences": [{"kind": "changed", "path": path}],
            "actions": [{"step": 1, "agent": "build", "tool_name": EVIL, "description": EVIL, "tool_input": {}, "effects": {}, "diff": text}]},
        "gates": [{"name": EVIL, "command": text, "required": true, "passed": false, "verdict": "failed", "predicted": true, "exit_code": 1, "ending": "exit code 1", "duration_ms": 1, "output": text},
            {"name": "optional", "command": "x", "required": false, "passed": false, "verdict": "failed", "predicted": true, "exit_code": 1, "ending": "exit code 1", "duration_ms": 1, "output": text}],
        "hooks": [{"event": "pre_tool_use", "name": EVIL, "tool": EVIL, "step": 1, "decision": "failed", "exit_code": 1, "duration_ms": 1, "output": text}],
        "guardrails": [{"agent": "build", "step": 1, "tool": EVIL, "reason": text}],
        "notices": [{"level": "error", "message": text}, {"level": "warning", "message": EVIL}],
        "structured_output": null, "run_url": "https://github.com/octo/demo/actions/runs/1"
    });
    serde_json::from_value(report).expect("a report")
}
