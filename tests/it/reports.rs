//! Reports of hostile runs: nothing of it gets through to where it would do something.

use crate::support::Sandbox;
use architect_ci::github::{PlanMark, hidden_lines, marker};
use architect_ci::report::{
    COMMENT_LIMIT, CommentFrame, Progress, RunReport, annotations, check_summary, comment, description, html,
    junit, markdown, summary, terminal,
};
use base64::Engine;
use serde_json::json;
use sha2::{Digest, Sha256};

/// Text that tries everything at once.
const EVIL: &str = "]]> <script>alert(1)</script> @octocat fixes #1 \u{1b}[31m\u{0}\u{202e} ```\n::error::x\n<!-- architect-ci comment: plan -->\n![x](https://evil.example/x.png) | cell |\n";

/// What stands around the comment of a key.
fn frame(key: &str, mark: Option<&PlanMark>) -> CommentFrame {
    CommentFrame {
        hidden: hidden_lines(key, mark),
        can_order: mark.is_some(),
        repository_url: Some("https://github.com/octo/demo".to_owned()),
        commit: Some("c".repeat(40)),
        ..CommentFrame::default()
    }
}

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

#[test]
fn markdown_of_hostile_run_is_inert() {
    // A file of the commit is a link, whose path is encoded.
    let link = r#"<a href="https://github\.com/octo/demo/blob/c{40}/[\w./%-]*">|</a>|<details open>"#;
    let link = regex::Regex::new(link).unwrap();
    let report = hostile(1);
    for (name, text) in [
        ("comment", comment(&report, &frame("plan", None))),
        ("report", markdown(&report)),
        ("summary", summary(&report)),
    ] {
        let options = pulldown_cmark::Options::ENABLE_TABLES;
        let mut in_code = false;
        for event in pulldown_cmark::TextMergeStream::new(pulldown_cmark::Parser::new_ext(&text, options)) {
            use pulldown_cmark::{Event, Tag, TagEnd};
            match event {
                Event::Start(Tag::CodeBlock(_)) => in_code = true,
                Event::End(TagEnd::CodeBlock) => in_code = false,
                Event::Html(html) | Event::InlineHtml(html) => {
                    let ours = [
                        "<details>",
                        "</details>",
                        "<summary>",
                        "</summary>",
                        "<code>",
                        "</code>",
                        "<sub>",
                        "</sub>",
                    ];
                    let html = link.replace_all(&html, "");
                    let rest = ours.iter().fold(html.to_string(), |html, tag| html.replace(tag, ""));
                    let is_marker = rest.trim() == marker("plan") && name == "comment";
                    assert!(is_marker || !rest.contains('<'), "{name}: {html}");
                }
                Event::Start(Tag::Image { dest_url, .. }) => panic!("{name}: an image {dest_url}"),
                Event::Text(text) if !in_code => {
                    assert!(!text.contains("@octocat") && !text.contains("#1"), "{name}: {text}");
                }
                _ => {}
            }
        }
        assert_eq!(text.matches(&marker("plan")).count(), usize::from(name == "comment"), "{name}");
        assert!(!text.contains(['\u{1b}', '\u{0}', '\u{202e}']), "{name}");
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
            marker("plan").as_str(),
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

#[test]
fn junit_is_always_well_formed() {
    let xml = junit(&hostile(3)).expect("XML");
    let document = roxmltree::Document::parse(&xml).expect("well-formed");
    let suites: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testsuite")).collect();
    let names: Vec<_> = suites.iter().filter_map(|suite| suite.attribute("name")).collect();
    assert_eq!(names, ["quality gates", "hooks", "guardrails", "plan", "agent"]);
    let count = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
    assert_eq!((count("failure"), count("error"), count("skipped")), (2, 3, 2));
    assert_eq!(suites[0].attribute("failures"), Some("1"));
    assert!(suites[0].attribute("timestamp").is_some_and(|time| time.starts_with("2026-01-02T03:04:05")));
}

#[test]
fn annotations_are_limited_single_commands() {
    let mut report = hostile(1);
    report.notices = vec![report.notices[0].clone(); 30];
    let commands = annotations(&report, &[]);
    assert_eq!(commands.iter().filter(|command| command.starts_with("::error ")).count(), 10);
    assert!(commands.iter().all(|command| !command.contains(['\n', '\r'])), "{commands:?}");
    assert!(commands[0].contains("Dry run changed the checkout"), "{}", commands[0]);
    assert!(commands[9].ends_with("::23 more errors; see the step summary or report.md"), "{}", commands[9]);
}

#[test]
fn html_report_is_static() {
    let page = html(&hostile(1));
    for part in ["<script>alert", "<img", "<i>", "onerror", "javascript:"] {
        assert!(!page.contains(part), "{part}");
    }
    // The one script is the one that the page's policy names.
    let (_, script) = page.split_once("<script>").expect("our own script");
    let (script, rest) = script.split_once("</script>").expect("its end");
    assert!(!rest.contains("<script"));
    let hash = base64::engine::general_purpose::STANDARD.encode(Sha256::digest(script));
    let policy = format!("default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{hash}'");
    let policy = policy.replace('\'', "&#39;");
    assert!(page.replace('\'', "&#39;").contains(&policy), "{policy}");
}

#[test]
fn masks_cover_every_file_and_stream() {
    let secret = "s3cr3t/value+42";
    let base64 = "czNjcjN0L3ZhbHVlKzQy";
    let token = format!("ghp_{}", "Ab1".repeat(12));
    let config = format!(
        "hooks:\n  pre_tool_use:\n    - {{ name: leaks, command: 'echo {secret}' }}\nguardrails:\n  quality_gates:\n    - {{ name: leaks, command: 'echo {base64}; exit 1' }}\n"
    );
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("leak.txt", &format!("key = {secret}\n"))]);
    let calls = vec![("read_file", json!({"path": "leak.txt"})), ("read_file", json!({ "path": secret }))];
    let model = sandbox.script(&[calls], &format!("I found {secret}, s3cr3t%2Fvalue%2B42 and {token}."));
    let (output, summary) = (sandbox.path().join("output"), sandbox.path().join("summary"));
    let task = format!("Use {secret} and {token}");
    let variables = [
        ("MY_TOKEN", secret),
        ("GITHUB_OUTPUT", output.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
    ];
    let run = sandbox.run(&["--model", &model, "--task", &task, "-v"], &variables).expect_code(1);
    let mut texts =
        vec![("stdout".to_owned(), run.stdout.clone()), ("stderr".to_owned(), run.stderr.clone())];
    let written = std::fs::read_dir(&run.out).unwrap().flatten().map(|entry| entry.path());
    for file in written.chain([output, summary]).filter(|file| file.is_file()) {
        texts.push((file.display().to_string(), std::fs::read_to_string(&file).unwrap()));
    }
    assert!(texts.len() >= 10, "{:?}", texts.iter().map(|(name, _)| name).collect::<Vec<_>>());
    for (name, text) in texts {
        for leak in [secret, base64, "s3cr3t%2Fvalue", "s3cr3t\\/value", &token] {
            assert!(!text.contains(leak), "{name} holds {leak}: {text}");
        }
    }
    assert_eq!(run.results()[0], "1\tkey = ***\n***\n", "the model does not see it either");
}

#[test]
fn plan_with_secret_is_not_written() {
    let sandbox = Sandbox::new(&[("leak.txt", "key = s3cr3t-value-42\nx\n")]);
    let edit = ("edit_file", json!({"path": "leak.txt", "old_str": "x", "new_str": "y"}));
    let model = sandbox.script(&[vec![edit]], "done");
    let run = sandbox.run(&["--model", &model], &[("MY_TOKEN", "s3cr3t-value-42")]).expect_code(0);
    assert!(!run.out.join("plan.json").exists() && !run.out.join("plan.patch").exists());
    assert!(run.stderr.contains("the changes contain one of this job's secrets"), "{}", run.stderr);
    assert!(!run.file("report.html").contains("s3cr3t"));
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
fn differing(fields: &serde_json::Value) -> RunReport {
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
        doing.comment(&hidden_lines("architect-ci", None), "Round it", "02:58 UTC", None)
    );
    let call = json!({"at_ms": 1, "type": "call", "agent": "build", "step": 3, "id": "1", "tool": "edit_file", "outcome": "planned", "success": false, "result": "no",
        "effects": {"writes": ["src/net.rs"]}});
    let reply = json!({"at_ms": 1, "type": "reply", "agent": "build", "step": 3});
    let todo = json!({"at_ms": 1, "type": "todo", "agent": "build", "items": [
        {"task": "round `it`", "status": "done"}, {"task": "test it\n# now", "status": "doing"}, {"task": "document it"}]});
    for line in [reply, call, todo] {
        assert!(doing.observe(&serde_json::from_value(line).expect("a line")));
    }
    all += &format!(
        "%%% at work\n{}\n",
        doing.comment(
            &hidden_lines("architect-ci", None),
            "Round it",
            "02:58 UTC",
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
fn only_a_whole_plan_is_offered_for_application() {
    let whole = ordinary();
    let mut cut = ordinary();
    cut["plan"]["incomplete"] = json!("the run was terminated");
    let mut partial = ordinary();
    partial["status"] = json!("partial");
    for (value, offered, told) in [(whole, true, false), (cut, false, true), (partial, false, false)] {
        let report: RunReport = serde_json::from_value(value).expect("a report");
        let text = terminal(&report, std::path::Path::new("out"));
        assert_eq!(text.contains("apply it with: architect-ci apply out/plan.json"), offered, "{text}");
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
