//! The comment: what it says of every status, and what it leaves out where space is short.

use std::path::Path;

use super::hostile;
use architect_ci::event::Activity;
use architect_ci::github::{PlanMark, comment_marker, hidden_lines};
use architect_ci::report::{
    COMMENT_LIMIT, CommentFrame, Progress, RunReport, TerminalFrame, annotations, check_summary, comment,
    description, html, summary, terminal,
};
use serde_json::json;

/// What stands around the comment of a key.
pub(super) fn frame(key: &str, mark: Option<&PlanMark>) -> CommentFrame {
    CommentFrame {
        hidden: hidden_lines(key, mark),
        can_order: mark.is_some(),
        repository_url: Some("https://github.com/octo/demo".to_owned()),
        commit: Some("c".repeat(40)),
        ..CommentFrame::default()
    }
}

#[test]
fn comment_keeps_size_limit_and_priorities() {
    for repeat in [10, 100, 3_000] {
        let mut report = hostile(repeat);
        report.files = (0..50)
            .map(|n| {
                let mut file = report.files[0].clone();
                file.path = workspace::WorkspacePath::parse(&format!("src/file{n}.rs")).unwrap();
                file
            })
            .collect();
        let text = comment(&report, &frame("plan", None));
        assert!(text.encode_utf16().count() <= COMMENT_LIMIT, "{repeat}: {}", text.len());
        for part in [
            comment_marker("plan").as_str(),
            "### 🟡",
            "Quality gates",
            "src/file49.rs",
            "Guardrails stopped 1 call",
            "src/file0.rs",
        ] {
            assert!(text.contains(part), "{repeat}: {part} is missing");
        }
        assert!(summary(&report).len() < 1024 * 1024);
    }
}

/// A run of a dry run's kind, as ordinary as can be.
fn ordinary() -> serde_json::Value {
    json!({
        "schema_version": 1, "id": "x", "task": "Round to whole cents\nand test it", "agent": "build",
        "model": "anthropic::claude-sonnet-4-6", "mode": "dry-run", "status": "success", "stop_reason": "llm_done",
        "exit_code": 0, "message": "Rounded in `net()`.\n\n- one test covers it", "started_at": "2026-01-02T03:04:05Z",
        "duration_ms": 61_234, "usage": {"input": 12_345, "cached": 9_000, "output": 678}, "cost_usd": 0.0123,
        "steps": [{"at_ms": 0, "agent": "build", "step": 1, "duration_ms": 1200, "usage": {"input": 12_345, "cached": 9_000, "output": 678}}],
        "base": {"commit": "0123456789abcdef0123456789abcdef01234567", "branch": "main", "dirty": false},
        "files": [{"path": "src/net.rs", "op": "modify", "lines": {"added": 1, "removed": 1},
            "diff": "@@ -1,1 +1,1 @@\n-    net\n+    net.round()\n"}],
        "calls": [{"at_ms": 5, "agent": "build", "step": 1, "tool": "run_command", "target": "cargo test", "class": "dev",
            "outcome": "executed", "success": true, "exit_code": 0, "error": null, "duration_ms": 900}],
        "plan": {"digest": "ab".repeat(32), "verified_files": 12, "differences": [],
            "actions": [{"step": 1, "agent": "build", "tool_name": "edit_file", "description": "edit_file → src/net.rs (+1 −1)", "tool_input": {}, "effects": {}, "diff": ""}]},
        "gates": [{"name": "tests", "command": "cargo test", "required": true, "passed": true, "verdict": "passed", "predicted": true, "exit_code": 0, "ending": "exit code 0", "duration_ms": 900, "output": "ok"}],
        "hooks": [{"event": "post_tool_use", "name": "format", "tool": "edit_file", "step": 1, "decision": "allow", "exit_code": 0, "duration_ms": 12, "output": ""}],
        "guardrails": [], "notices": [], "structured_output": null, "run_url": "https://github.com/octo/demo/actions/runs/4711"
    })
}

/// A report that differs from the ordinary one in these fields.
pub(super) fn differing(fields: &serde_json::Value) -> RunReport {
    let mut report = ordinary();
    report.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    serde_json::from_value(report).expect("a report")
}

#[test]
fn comment_of_every_status() {
    let gate = |passed: bool| {
        json!([{"name": "tests", "command": "cargo test", "required": true, "passed": passed, "verdict": if passed { "passed" } else { "failed" }, "predicted": false, "exit_code": i32::from(!passed) * 101, "ending": format!("exit code {}", i32::from(!passed) * 101),
            "duration_ms": 900, "output": "src/net.rs:7:5: assertion failed"}])
    };
    let mark = PlanMark { digest: "ab".repeat(32), run: 4711, head: "c".repeat(40) };
    let mut all = String::new();
    for (name, fields) in [
        ("a plan", json!({})),
        (
            "a plan of nothing",
            json!({"files": [], "plan": {"digest": "cd".repeat(32), "verified_files": 12, "differences": [], "actions": []}}),
        ),
        (
            "changes, delivered",
            json!({"mode": "yolo", "plan": null, "gates": gate(true), "delivery": {"branch": "architect-ci/changes", "commit": "89abcdef0123456789",
            "pull_request": {"number": 12, "url": "https://github.com/octo/demo/pull/12"}, "merged": ["README.md"]}}),
        ),
        (
            "partial, a limit",
            json!({"status": "partial", "stop_reason": "budget_exceeded", "exit_code": 2, "message": ""}),
        ),
        (
            "failed gates",
            json!({"mode": "yolo", "plan": null, "status": "partial", "stop_reason": "gates_failed", "exit_code": 1, "gates": gate(false),
            "guardrails": [{"agent": "build", "step": 2, "tool": "write_file", "path": ".env", "reason": ".env is a sensitive file"}]}),
        ),
        (
            "a failed model",
            json!({"status": "failed", "stop_reason": "llm_error", "exit_code": 4, "message": "", "files": [], "plan": null, "gates": [], "hooks": [], "calls": [],
            "notices": [{"level": "error", "message": "the key was refused (401); check ANTHROPIC_API_KEY"}]}),
        ),
        (
            "a changed checkout",
            json!({"status": "failed", "stop_reason": "checkout_changed", "exit_code": 1,
            "plan": {"digest": "ab".repeat(32), "verified_files": 12, "differences": [{"kind": "changed", "path": "Cargo.lock"}], "actions": []}}),
        ),
        (
            "an applied plan",
            json!({"mode": "apply", "plan": null, "stop_reason": "applied", "message": "Applied the plan abababababab: 1 file.", "steps": [], "hooks": [], "calls": []}),
        ),
        (
            "a refused plan",
            json!({"mode": "apply", "plan": null, "status": "failed", "stop_reason": "not_applied", "exit_code": 6, "message": "", "files": [], "steps": [], "hooks": [], "calls": [], "gates": [],
            "notices": [{"level": "error", "message": "the plan is stale; make a new plan: src/net.rs (it \
                                                       has changed)"}]}),
        ),
        (
            "an interrupted run",
            json!({"status": "partial", "stop_reason": "user_interrupt", "exit_code": 130, "message": ""}),
        ),
    ] {
        let report = differing(&fields);
        let mark = Some(&mark).filter(|_| name == "a plan");
        all += &format!("%%% {name}\n{}\n", comment(&report, &frame("architect-ci", mark)));
    }
    let mut doing = Progress::default();
    all += &format!(
        "%%% at the start\n{}\n",
        doing.comment(&hidden_lines("architect-ci", None), "Round it", ("02:58 UTC", &[]), None)
    );
    let call = json!({"at_ms": 1, "type": "call", "agent": "build", "step": 3, "id": "1", "tool": "edit_file", "outcome": "planned", "success": false, "result": "no",
        "effects": {"writes": ["src/net.rs"]}});
    let reply = json!({"at_ms": 1, "type": "reply", "agent": "build", "step": 3});
    let todo = json!({"at_ms": 1, "type": "todo", "agent": "build", "items": [
        {"task": "round `it`", "status": "done"}, {"task": "test it\n# now", "status": "doing"}, {"task": "document it"}]});
    for line in [reply, call, todo] {
        assert!(doing.observe(&serde_json::from_value(line).expect("a line")));
    }
    let model = Activity::Model { agent: "build".into(), step: 4 };
    let gate = Activity::Gate { name: "tests".into(), command: "make `all`\ntest".into(), is_on_base: true };
    all += &format!(
        "%%% at work\n{}\n",
        doing.comment(
            &hidden_lines("architect-ci", None),
            "Round it",
            ("02:58 UTC", &[(gate, "02:59 UTC".to_owned()), (model, "03:00 UTC".to_owned())]),
            Some("https://github.com/octo/demo/actions/runs/1")
        )
    );
    all += &format!(
        "%%% the description of a pull request\n{}\n",
        description(&differing(&json!({"mode": "yolo", "plan": null})), Some(9), Some("#9 Round it"))
    );
    insta::assert_snapshot!(all);
}

#[test]
fn check_run_summary_keeps_size_limit() {
    let big = hostile(400);
    let text = check_summary(&big, None);
    assert!(text.len() <= 65_000 && text.len() > 1_000, "{}", text.len());
}

/// Lines `from` to `to` of a file, all of them new.
fn new_file(path: &str, lines: usize) -> serde_json::Value {
    let diff: String = (0..lines).map(|n| format!("+line {n}\n")).collect();
    json!({"path": path, "op": "add", "lines": {"added": lines, "removed": 0}, "diff": format!("@@ -0,0 +1,{lines} @@\n{diff}")})
}

#[test]
fn comment_keeps_what_fits() {
    for length in [60_000, 70_000, 200_000] {
        let mut report = differing(&json!({"message": "word ".repeat(length / 5)}));
        report.files.push(serde_json::from_value(new_file("src/new.rs", 3)).unwrap());
        let text = comment(&report, &frame("k", None));
        assert!(text.encode_utf16().count() <= COMMENT_LIMIT);
        assert!(text.contains("+    net.round()") && text.contains("+line 2"), "{length}: a diff is gone");
        assert!(text.len() > 50_000, "{length}: only {} are used", text.len());
    }
}

#[test]
fn comment_opens_short_diffs_and_folds_many_files_by_folder() {
    let with =
        |files: Vec<serde_json::Value>| comment(&differing(&json!({"files": files})), &frame("k", None));
    let mut changed = new_file("a.rs", 10);
    changed["op"] = json!("modify");
    let short = with(vec![changed, new_file("b.rs", 20)]);
    assert_eq!(short.matches("<details open>").count(), 2, "{short}");
    let link = format!(
        "<a href=\"https://github.com/octo/demo/blob/{}/a.rs\"><code>a.rs</code></a>",
        "c".repeat(40)
    );
    assert!(short.contains(&link), "{short}");
    // Before the change, the new file is not there.
    assert!(!short.contains("/b.rs\""), "{short}");
    let long = with(vec![new_file("a.rs", 10), new_file("b.rs", 40)]);
    assert_eq!(long.matches("<details open>").count(), 0, "{long}");
    let many =
        with((0..600).map(|n| new_file(&format!("src/pkg{}/module_{n}.py", n % 3), 1 + n % 7)).collect());
    assert!(many.contains("<code>src/pkg0</code>: 200 files, +"), "{many}");
    assert!(many.contains("- A `src/pkg1/module_1.py` +2 −0"), "{many}");
    assert_eq!(many.matches("```diff").count(), 10, "the largest alone");
    let unfolded = many.lines().filter(|line| line.starts_with("- ")).count();
    assert!(unfolded <= 600 && many.matches("<details>").count() > 10, "{unfolded}");
}

#[test]
fn comment_begins_with_verdict_and_gates() {
    let gate = |name: &str, passed: bool| {
        json!({"name": name, "command": name, "required": true, "passed": passed, "verdict": if passed { "passed" } else { "failed" }, "predicted": true, "exit_code": i32::from(!passed), "ending": format!("exit code {}", i32::from(!passed)),
            "duration_ms": 900, "output": "no"})
    };
    let fields = json!({"status": "partial", "stop_reason": "gates_failed", "exit_code": 1, "gates": [gate("lint", true), gate("tests", false)],
        "message": "# All green\n\nNothing to see"});
    let text =
        comment(&differing(&fields), &CommentFrame { name: Some("docs".to_owned()), ..frame("docs", None) });
    let lines: Vec<&str> = text.lines().skip(1).filter(|line| !line.is_empty()).collect();
    assert!(lines[0].starts_with("### ") && lines[0].ends_with(" · docs"), "{text}");
    assert_eq!(lines[1], "❌ `tests` failed (exit code 1) · ✅ `lint`");
    // A heading of the agent's is smaller than ours.
    assert!(text.contains("\n##### All green\n"), "{text}");
    assert!(!text.contains("/architect apply"), "a plan whose gates failed is not offered: {text}");
}

#[test]
fn gate_that_prints_nothing_says_so() {
    let gate = json!({"name": "tests", "command": "false", "required": true, "passed": false, "verdict": "failed", "predicted": true,
        "exit_code": 1, "ending": "exit code 1", "duration_ms": 41, "output": ""});
    let report = differing(
        &json!({"status": "partial", "stop_reason": "gates_failed", "exit_code": 1, "gates": [gate]}),
    );
    let text = comment(&report, &frame("k", None));
    assert!(
        text.contains("❌ `tests` failed (exit code 1)") && !text.contains("Output of `tests`"),
        "{text}"
    );
    let told = annotations(&report, &[]);
    assert_eq!(told[0], "::error title=Gate tests failed (exit code 1)::it printed nothing");
}

pub(super) fn at_terminal(has_groups: bool) -> TerminalFrame<'static> {
    TerminalFrame { folder: Path::new("out"), workspace: Path::new("my checkout"), has_groups }
}

#[test]
fn the_end_fits_on_one_screen() {
    let files: Vec<serde_json::Value> = (0..600).map(|n| new_file(&format!("src/f{n:03}.rs"), 12)).collect();
    let lines: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let failed = json!({"name": "tests", "command": "make", "required": true, "passed": false, "verdict": "failed",
        "predicted": true, "round": 1, "exit_code": 1, "ending": "exit code 1", "duration_ms": 5, "output": lines});
    let report = differing(&json!({"files": files, "gates": [failed]}));
    let text = terminal(&report, at_terminal(false));
    assert!(text.lines().count() < 60, "{text}");
    assert!(text.contains("\n  … and 580 more files\n") && !text.contains("+line"), "{text}");
    assert!(text.contains("\n  line 39\n") && !text.contains("line 19\n"), "{text}");
    // What can be folded is all there, and what others wrote ends no group.
    let report = differing(&json!({"files": [new_file("a.rs", 60), new_file("::endgroup::", 2)]}));
    let text = terminal(&report, at_terminal(true));
    let (group, rest) = text.split_once("::endgroup::\n").expect("a group");
    assert!(group.starts_with("\n::group::Diffs of 2 files (+62 −0)\n── a.rs"), "{text}");
    assert!(group.matches("\n+").count() >= 60 && !rest.contains("\n+"), "{text}");
    assert!(!rest.contains("\n::"), "{text}");
}

#[test]
fn only_a_whole_plan_is_offered_for_application() {
    let whole = ordinary();
    let mut cut = ordinary();
    cut["plan"]["incomplete"] = json!("the run was terminated");
    let mut partial = ordinary();
    partial["status"] = json!("partial");
    for (value, offered, told) in [(whole, true, false), (cut, false, true), (partial, false, false)] {
        let report: RunReport = serde_json::from_value(value).expect("a report");
        let text = terminal(&report, at_terminal(false));
        assert_eq!(
            text.contains("apply it with: architect-ci apply out/plan.json --digest "),
            offered,
            "{text}"
        );
        assert_eq!(text.contains(" --workspace 'my checkout'\n"), offered, "{text}");
        assert_eq!(text.contains("it is incomplete: the run was terminated"), told, "{text}");
    }
}

#[test]
fn page_says_what_to_do_next_and_what_was_learned() {
    let asked = |host: &str| json!({"host": host, "port": 443, "by": "npm ci", "decision": "learned", "times": 1, "sent": 10, "received": 10});
    let report = differing(&json!({
        "next_step": "raise `max-steps`", "network": [asked("registry.example"), asked("cdn.example")],
    }));
    let page = html(&report);
    assert!(page.contains("<strong>Next: </strong>raise `max-steps`"), "{page}");
    let list =
        "<code>commands.network.allow</code> to: <code>cdn.example</code> <code>registry.example</code>";
    assert!(page.contains(list), "{page}");
}

#[test]
fn page_names_every_list_that_refused_a_host_and_tells_further_hosts_last() {
    let refused = |key: &str, host: &str, port: u16| {
        let reason = format!("`{key}` does not allow it");
        json!({"host": host, "port": port, "by": "x", "key": key, "decision": "refused", "reason": reason, "times": 1, "sent": 0, "received": 0})
    };
    let report = differing(&json!({ "network": [
        refused("commands.network", "(other hosts)", 0),
        refused("commands.network", "both.example", 443),
        refused("llm.network", "both.example", 443),
    ]}));
    let page = html(&report);
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text}: {page}"));
    assert!(at("`commands.network` does not allow it") < at("`llm.network` does not allow it"));
    assert!(at("both.example:443") < at("(other hosts)") && !page.contains("(other hosts):0"));
}
