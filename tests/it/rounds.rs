//! Work in rounds, and reviews of what was done.
#![cfg(unix)]

use crate::support::Sandbox;
use serde_json::{Value, json};

/// A transcript with these replies, each of an agent.
pub(crate) fn script(sandbox: &Sandbox, name: &str, replies: &[(&str, Value)]) -> String {
    let mut lines = String::new();
    for (index, (agent, reply)) in replies.iter().enumerate() {
        let mut line = json!({"type": "reply", "agent": agent, "step": index + 1});
        line.as_object_mut().unwrap().extend(reply.as_object().unwrap().clone());
        lines += &format!("{line}\n");
    }
    let path = sandbox.path().join(name);
    std::fs::write(&path, lines).expect("a script");
    format!("replay::{}", path.display())
}

pub(crate) fn write(number: u32, path: &str, content: &str) -> Value {
    json!({"calls": [{"id": format!("c{number}"), "name": "write_file", "arguments": {"path": path, "content": content}}]})
}

pub(crate) fn say(text: &str) -> Value {
    json!({ "text": text })
}

fn notices(report: &Value) -> Vec<String> {
    let all = report["notices"].as_array().unwrap();
    all.iter().map(|notice| notice["message"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn rounds_restart_until_gates_pass() {
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[]);
        let model = script(
            &sandbox,
            "s.jsonl",
            &[
                ("build", write(1, "a.txt", "one\n")),
                ("build", say("I wrote a.txt. ghp_abcdefghijklmnopqrstuvwxyz0123456789")),
                ("build", write(2, "b.txt", "two\n")),
                ("build", say("I wrote b.txt.")),
            ],
        );
        let args =
            ["--mode", mode, "--model", &model, "--until", "test -f a.txt", "--until", "grep two b.txt"];
        let run = sandbox.run(&args, &[]).expect_code(0);
        let report = run.report();
        let steps: Vec<u64> =
            report["steps"].as_array().unwrap().iter().map(|step| step["step"].as_u64().unwrap()).collect();
        assert_eq!(steps, [1, 2, 3, 4]);
        assert_eq!(report["gates"].as_array().unwrap().len(), 2);
        assert_eq!(report["gates"][0]["round"], 2);
        let told = "round 1 of at most 10 ended; failing: grep two b.txt".to_owned();
        assert!(notices(&report).contains(&told), "{:?}", notices(&report));
        assert_eq!(report["files"].as_array().unwrap().len(), 2);
    }
}

/// A model that writes down what it is told, and does nothing.
const SCRIBE: &str = r#"
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    with open(sys.argv[1], "a") as told:
        told.write(asked["messages"][0]["content"] + "\n=====\n")
    assert len(asked["messages"]) == 1, asked["messages"]
    print(json.dumps({"text": "Notes " + str(len(asked["messages"][0]["content"]))}), flush=True)
"#;

#[test]
fn round_prompt_has_state_failures_and_notes() {
    let sandbox = Sandbox::new(&[("scribe.py", SCRIBE)]);
    // A model cannot write to the checkout.
    let notes = sandbox.path().join("notes");
    std::fs::create_dir(&notes).unwrap();
    let config = format!("commands: {{ writable_paths: [{notes:?}] }}\n");
    std::fs::write(sandbox.path().join("config.yml"), config).unwrap();
    let model = format!("exec::python3 scribe.py {}/told.txt", notes.display());
    let run = sandbox
        .run(
            &[
                "--mode",
                "yolo",
                "--model",
                &model,
                "--config",
                "../config.yml",
                "--until",
                "echo it fails; false",
                "--max-rounds",
                "3",
            ],
            &[],
        )
        .expect_code(1);
    let report = run.report();
    assert_eq!((&report["status"], &report["stop_reason"]), (&json!("partial"), &json!("gates_failed")));
    assert!(notices(&report).iter().any(|told| told.contains("all 3 rounds are used up")), "{report}");
    let told = std::fs::read_to_string(notes.join("told.txt")).unwrap();
    let rounds: Vec<&str> = told.split("\n=====\n").collect();
    assert_eq!(rounds.len(), 4);
    assert!(
        rounds[0]
            .starts_with("Do it\n\nThe work is done when these commands succeed:\n- `echo it fails; false`")
    );
    assert!(rounds[2].starts_with("Do it\n\n[ROUND 3 of at most 3]"), "{}", rounds[2]);
    for part in ["it fails\n", "exit code 1", "- Round 1: Notes ", "- Round 2: Notes ", "Changes so far:"] {
        assert!(rounds[2].contains(part), "{part}: {}", rounds[2]);
    }
}

#[test]
fn rounds_never_skip_checks() {
    let sandbox = Sandbox::new(&[(".architect.yml", "dry_run: {gates: skip}\n")]);
    let model = script(&sandbox, "s.jsonl", &[("build", say("Done."))]);
    let run = sandbox.run(&["--model", &model, "--until", "false", "--max-rounds", "1"], &[]).expect_code(1);
    assert_eq!(run.report()["stop_reason"], "gates_failed");
    assert_eq!(run.report()["gates"][0]["passed"], false);
}

#[test]
fn round_without_steps_left_starts_next() {
    let sandbox = Sandbox::new(&[]);
    let mut replies: Vec<(&str, Value)> = Vec::new();
    for round in 0..3 {
        for step in 0..2 {
            replies.push(("build", write(round * 10 + step, &format!("f{round}{step}.txt"), "x\n")));
        }
        replies.push(("build", say("Out of steps.")));
    }
    let model = script(&sandbox, "s.jsonl", &replies);
    let args = ["--mode", "yolo", "--model", &model, "--max-steps", "2", "--until", "test -f f21.txt"];
    let run = sandbox.run(&args, &[]).expect_code(0);
    assert_eq!(run.report()["status"], "success");
    // And the time of all rounds together is one.
    let sandbox = Sandbox::new(&[]);
    let args =
        ["--mode", "yolo", "--model", "exec::while read -r x; do sleep 0.3; echo '{\"text\": \"no\"}'; done"];
    let run = sandbox
        .run(&[&args[..], &["--until", "false", "--max-rounds", "1000", "--timeout", "1"]].concat(), &[]);
    run.expect_code(5);
}

const REVIEWED: &str = "review: {enabled: true, fail_on: error}\nevaluation: off\n";

pub(crate) fn findings(items: &[Value]) -> Value {
    json!({"text": format!("Here it is:\n```json\n{}\n```", json!({"findings": items}))})
}

#[test]
fn code_review_findings_return_once_and_are_reported() {
    let sandbox = Sandbox::new(&[(".architect.yml", REVIEWED)]);
    let fault =
        json!({"file": "a.txt", "line": 2, "severity": "error", "message": "Breaks @octocat; fixes #1."});
    let note = json!({"file": "../../etc/passwd", "severity": "note", "message": "Look there."});
    let model = script(
        &sandbox,
        "s.jsonl",
        &[
            ("build", write(1, "a.txt", "one\n")),
            ("build", say("Done.")),
            ("reviewer", say("no JSON at all")),
            ("reviewer", findings(std::slice::from_ref(&fault))),
            ("build", write(2, "a.txt", "one\ntwo\n")),
            ("build", say("Mended.")),
            (
                "reviewer",
                json!({"calls": [{"id": "r1", "name": "read_file", "arguments": {"path": "a.txt"}},
                {"id": "r2", "name": "write_file", "arguments": {"path": "evil.txt", "content": "x"}}]}),
            ),
            ("reviewer", findings(&[note, fault])),
        ],
    );
    let run =
        sandbox.run(&["--mode", "yolo", "--model", &model], &[("GITHUB_ACTIONS", "true")]).expect_code(2);
    let report = run.report();
    assert_eq!(report["stop_reason"], "findings_left");
    assert_eq!(report["review"]["pass"], 2);
    assert_eq!(report["review"]["findings"].as_array().unwrap().len(), 2);
    assert_eq!(report["review"]["findings"][0]["file"], "a.txt");
    assert!(report["review"]["findings"][1]["file"].is_null());
    assert!(!sandbox.repo().join("evil.txt").exists());
    let transcript = run.file("transcript.jsonl");
    assert_eq!(transcript.matches("\"type\":\"review\"").count(), 2);
    let comment = run.file("comment.md");
    assert!(
        comment.contains("#### Review: 2 findings\n\n- ❌ `a.txt:2`: Breaks `@octocat`; fixes `#1`."),
        "{comment}"
    );
    assert!(run.stderr.contains("::error file=a.txt,line=2,title=Review (error)::Breaks"), "{}", run.stderr);
    let xml = run.file("junit.xml");
    assert!(
        xml.contains("testsuite") && xml.contains("error a.txt:2") && xml.contains("name=\"review\""),
        "{xml}"
    );
    assert!(!xml.contains("<failure"), "the run has not failed: {xml}");
    assert!(run.file("report.html").contains("<h2>Review</h2>"));
}

#[test]
fn code_review_uses_own_model_and_warns_on_failure() {
    let sandbox = Sandbox::new(&[]);
    let model =
        script(&sandbox, "s.jsonl", &[("build", write(1, "a.txt", "one\n")), ("build", say("Done."))]);
    let other = script(&sandbox, "r.jsonl", &[("reviewer", findings(&[]))]);
    sandbox.write(".architect.yml", format!("review: {{enabled: true, model: '{other}'}}\n"));
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    assert_eq!(run.report()["review"]["findings"], json!([]));
    assert!(run.file("junit.xml").contains("no findings"));
    // A reviewer that has nothing to say, or nothing to review.
    sandbox.write(".architect.yml", "review: {enabled: true}\n");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(2);
    assert_eq!(run.report()["stop_reason"], "not_checked");
    let is_told = |run: &crate::support::Run| {
        notices(&run.report()).iter().any(|notice| notice.starts_with("the change was not reviewed: "))
    };
    assert!(is_told(&run), "{:?}", notices(&run.report()));
    let idle = script(&sandbox, "i.jsonl", &[("build", say("Nothing to do."))]);
    let run = sandbox.run(&["--model", &idle], &[]).expect_code(0);
    assert!(run.report()["review"].is_null() && !is_told(&run));
    sandbox.write(".architect.yml", "review: {enabled: true, model: 'openai::gpt-5'}\n");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(4);
    assert!(run.stderr.contains("OPENAI_API_KEY"), "{}", run.stderr);
}
