//! Runs that make tests demand less: what the agent is told, what is refused, and what people permit.
#![cfg(unix)]

use std::fs;

use serde_json::{Value, json};

use crate::support::model::{Answer, ModelServer};
use crate::support::{Run, Sandbox};

const TEST: &str = "def test_a():\n    assert len([1]) + 1 == 2\n";

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}))
}

/// A call that weakens the test.
fn skip() -> (&'static str, Value) {
    let skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_a():";
    ("edit_file", json!({"path": "tests/test_a.py", "old_str": "def test_a():", "new_str": skipped}))
}

/// The agent is told once, can put it right, and cannot permit it by itself.
#[test]
fn test_integrity_is_told_refused_and_permitted() {
    let files =
        |config: &'static str| [(".architect.yml", config), ("tests/test_a.py", TEST), ("a.txt", "one\n")];
    let restore =
        ("edit_file", json!({"path": "tests/test_a.py", "old_str": "@pytest.mark.skip\n", "new_str": ""}));
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&files("evaluation: off\ntests: { integrity: refuse }\n"));
        let run = |answers: Vec<Answer>| {
            let server = ModelServer::start(answers);
            let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--mode", mode];
            let run = sandbox.run(&args, &[]);
            (run, server.bodies())
        };
        let both = || Answer::Calls(vec![skip(), edit("one", "two")]);
        let (mended, bodies) = run(vec![
            both(),
            Answer::Text("Done."),
            Answer::Calls(vec![restore.clone()]),
            Answer::Text("Restored."),
        ]);
        let report = mended.report();
        assert_eq!((report["stop_reason"].as_str(), mended.code), (Some("llm_done"), 0), "{}", mended.stderr);
        assert!(report["test_findings"].is_null(), "{report}");
        assert!(bodies[2]["messages"].to_string().contains("tests/test_a.py:4"), "{}", bodies[2]["messages"]);
        sandbox.git(&["checkout", "--quiet", "."]);
        let (refused, bodies) = run(vec![both(), Answer::Text("Done.")]);
        let report = refused.report();
        assert_eq!(
            (report["stop_reason"].as_str(), refused.code, bodies.len()),
            (Some("tests_weakened"), 1, 3)
        );
        assert_eq!(report["test_findings"][0]["kind"], "skipped-test");
        assert!(
            refused.stderr.contains("\ntests, error: tests/test_a.py:4 (skipped-test): "),
            "{}",
            refused.stderr
        );
        assert!(refused.file("comment.md").contains("#### Weakened tests and checks: 1 finding"));
        assert!(refused.file("junit.xml").contains("skipped-test tests/test_a.py:4"));
        sandbox.git(&["checkout", "--quiet", "."]);
    }
    // The run's own model permits nothing; the configuration does.
    for (config, reason) in [
        ("evaluation: off\ntests: { integrity: refuse, allow: ['tests/**'] }\n", "llm_done"),
        ("evaluation: off\ntests: { integrity: off }\n", "llm_done"),
        ("evaluation: off\ntests: { integrity: refuse, allow: ['src/**'] }\n", "tests_weakened"),
    ] {
        let sandbox = Sandbox::new(&files(config));
        let permit =
            ("write_file", json!({"path": ".architect.yml", "content": "tests: { integrity: off }\n"}));
        let model = sandbox.script(&[vec![permit, skip()]], "Done.");
        let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
        assert_eq!(run.report()["stop_reason"], reason, "{config}: {}", run.stderr);
    }
    let sandbox = Sandbox::new(&files("tests: { allow: ['a['] }\n"));
    let model = sandbox.script(&[], "Done.");
    sandbox.run(&["--model", &model], &[]).expect_code(3);
}

fn repository(config: &str) -> Sandbox {
    Sandbox::new(&[(".architect.yml", config), ("tests/test_a.py", TEST), ("a.txt", "one\n")])
}

/// The binary on the repository, with reports in the sandbox's output folder.
fn program(sandbox: &Sandbox, args: &[&str]) -> Run {
    let out = sandbox.out();
    let mut command = sandbox.command(args);
    command.args(["--out", out.to_str().unwrap()]).current_dir(sandbox.repo());
    Run::new(&command.output().expect("the binary runs"), out)
}

#[test]
fn test_integrity_holds_when_plan_is_applied() {
    let planner = repository("evaluation: off\n");
    let script = planner.script(&[vec![skip(), edit("one", "two")]], "Done.");
    let planned = planner.run(&["--model", &script], &[]).expect_code(0);
    assert_eq!(planned.report()["stop_reason"], "tests_demand_less");
    let plan = planner.path().join("plan.json");
    fs::copy(planned.out.join("plan.json"), &plan).unwrap();
    for (config, reason, code) in [
        ("tests: { integrity: refuse }\n", "tests_weakened", 1),
        ("tests: { integrity: refuse, allow: [tests] }\n", "applied", 0),
        ("tests: { integrity: off }\n", "applied", 0),
        ("", "tests_demand_less", 0),
    ] {
        let sandbox = repository(config);
        let before = sandbox.tree();
        let run = program(&sandbox, &["apply", plan.to_str().unwrap()]).expect_code(code);
        assert_eq!(run.report()["stop_reason"], reason, "{config}: {}", run.stderr);
        assert_eq!(sandbox.tree() == before, code != 0, "{config}: refused before anything is written");
    }
}

#[test]
fn test_integrity_holds_for_each_task_of_a_batch() {
    let recipe =
        "steps:\n- do: [{tool: edit_file, with: {path: tests/test_a.py, old_str: '== 2', new_str: ''}}]\n";
    let other = "steps:\n- do: [{tool: edit_file, with: {path: a.txt, old_str: one, new_str: two}}]\n";
    for mode in ["yolo", "dry-run"] {
        let sandbox = repository("tests: { integrity: refuse }\n");
        let file = json!({"name": "n", "defaults": {"mode": mode}, "tasks": [
            {"id": "weak", "recipe": "weak.yml"}, {"id": "other", "recipe": "other.yml"}]});
        sandbox.write("batch.yml", file.to_string());
        sandbox.write("weak.yml", recipe);
        sandbox.write("other.yml", other);
        sandbox.commit("tasks");
        let run = program(&sandbox, &["batch", "batch.yml"]).expect_code(1);
        let report = run.json("batch.json");
        let ends: Vec<_> =
            report["tasks"].as_array().unwrap().iter().map(|task| &task["stop_reason"]).collect();
        assert_eq!(ends, ["tests_weakened", "llm_done"], "{mode}: {report:#}");
    }
}

/// A run that ends without its agent's last word is judged all the same.
#[test]
fn test_integrity_is_refused_however_the_run_ends() {
    for (args, config, reason) in [
        (["--max-steps", "1"], "refuse", "tests_weakened"),
        (["--max-steps", "1"], "warn", "max_steps"),
        (["--expect", "no-changes"], "warn", "unwanted_changes"),
    ] {
        let sandbox = repository(&format!("evaluation: off\ntests: {{ integrity: {config} }}\n"));
        let script = sandbox.script(&[vec![skip()], vec![edit("one", "two")]], "Done.");
        let run = sandbox.run(&[&["--model", script.as_str()], &args[..]].concat(), &[]);
        let report = run.report();
        assert_eq!(report["stop_reason"], reason, "{config}: {}", run.stderr);
        assert_eq!(report["test_findings"][0]["kind"], "skipped-test", "{report:#}");
    }
}

/// What is not text of a test any more counts as gone.
#[test]
fn test_integrity_sees_files_that_become_unreadable() {
    let sandbox = repository("evaluation: off\ntests: { integrity: refuse }\n");
    for command in
        ["head -c 2200000 /dev/zero | tr '\\0' '#' >> tests/test_a.py", "ln -sf ../a.txt tests/test_a.py"]
    {
        let script = sandbox.script(&[vec![("run_command", json!({"command": command}))]], "Done.");
        let run = sandbox.run(&["--model", &script, "--mode", "yolo"], &[]);
        assert_eq!(
            run.report()["test_findings"][0]["kind"],
            "vanished-test",
            "{command}: {:#}",
            run.report()
        );
        assert_eq!(run.report()["stop_reason"], "tests_weakened", "{command}");
        sandbox.git(&["checkout", "--quiet", "."]);
    }
}

#[test]
fn expectation_holds_for_each_task_of_a_batch() {
    let edit = "steps:\n- do: [{tool: edit_file, with: {path: a.txt, old_str: one, new_str: two}}]\n";
    let look = "steps:\n- do: [{tool: read_file, with: {path: a.txt}}]\n";
    for mode in ["yolo", "dry-run"] {
        for (expected, ends) in [
            ("changes", ["llm_done", "nothing_changed"]),
            ("no-changes", ["unwanted_changes", "llm_done"]),
            ("any", ["llm_done", "llm_done"]),
        ] {
            let sandbox = repository("");
            let file = json!({"name": "n", "defaults": {"mode": mode, "expect": expected}, "tasks": [
                {"id": "edit", "recipe": "edit.yml"}, {"id": "look", "recipe": "look.yml"}]});
            sandbox.write("batch.yml", file.to_string());
            sandbox.write("edit.yml", edit);
            sandbox.write("look.yml", look);
            sandbox.commit("tasks");
            let code = i32::from(expected != "any");
            let run = program(&sandbox, &["batch", "batch.yml"]).expect_code(code);
            let report = run.json("batch.json");
            let found: Vec<_> =
                report["tasks"].as_array().unwrap().iter().map(|task| &task["stop_reason"]).collect();
            assert_eq!(found, ends, "{mode}, {expected}: {report:#}");
        }
    }
}
