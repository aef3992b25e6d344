//! Gates compared with the state before the run: verdicts, single tests, pipes, time limits.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::support::model::{Answer, ModelServer};
use crate::support::tools::{path_with, tool};
use crate::support::{Run, Sandbox};

fn edit(path: &str, old: &str, new: &str) -> Answer {
    Answer::Calls(vec![("edit_file", json!({"path": path, "old_str": old, "new_str": new}))])
}

fn config(gates: &str) -> String {
    format!("evaluation: off\nguardrails:\n  max_gate_rounds: 2\n  quality_gates:\n{gates}")
}

/// A run of a model that answers so. Of `answers`, the last is said again.
fn run(sandbox: &Sandbox, mode: &str, answers: Vec<Answer>) -> (Run, Vec<Value>) {
    run_having(sandbox, mode, answers, &[])
}

fn run_having(
    sandbox: &Sandbox,
    mode: &str,
    mut answers: Vec<Answer>,
    variables: &[(&str, &str)],
) -> (Run, Vec<Value>) {
    answers.extend((0..3).map(|_| Answer::Text("done")));
    let server = ModelServer::start(answers);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--task", "Do it", "--mode", mode];
    (sandbox.run(&args, variables), server.bodies())
}

fn last_text(body: &Value) -> String {
    body["messages"]
        .as_array()
        .and_then(|all| all.last())
        .map_or(String::new(), |last| last["content"].to_string())
}

const GATE: &str = "    - { name: tests, command: sh run.sh }\n";

/// `run.sh` prints what `results.txt` says, and fails if a test in it does.
const RUNNER: &str = "cat results.txt; if grep -q FAILED results.txt; then exit 101; fi\n";

#[test]
fn gates_that_pass_without_tests_of_the_base_are_told() {
    for mode in ["yolo", "dry-run"] {
        let files = [
            (".architect.yml", config(GATE)),
            ("run.sh", RUNNER.to_owned()),
            ("results.txt", "test a::one ... ok\ntest a::two ... ok\ntest b::three ... ok\n".to_owned()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
        let sandbox = Sandbox::new(&files);
        let change =
            edit("results.txt", "test a::two ... ok\ntest b::three ... ok\n", "test a::two ... ignored\n");
        let (run, bodies) = run(&sandbox, mode, vec![change]);
        let run = run.expect_code(0);
        let asked = last_text(&bodies[2]);
        assert!(
            asked.contains("- tests: gone: b::three") && asked.contains("newly skipped: a::two"),
            "{mode}: {asked}"
        );
        let report = run.report();
        assert_eq!(report["stop_reason"], "tests_lost", "{mode}: {}", run.stderr);
        let gate = &report["gates"][0];
        assert_eq!((&gate["passed"], &gate["verdict"]), (&json!(true), &json!("passed")), "{mode}");
        let tests = json!({"ran": 1, "gone": {"count": 1, "names": ["b::three"]}, "newly_skipped": {"count": 1, "names": ["a::two"]}});
        assert_eq!(gate["tests"], tests, "{mode}");
        let warnings = report["notices"].to_string().matches("no longer run").count();
        assert_eq!(warnings, 1, "{mode}: {}", report["notices"]);
        let comment = run.file("comment.md");
        assert!(comment.starts_with("### ⚠️ ") || comment.contains("\n### ⚠️ "), "{mode}: {comment}");
        assert!(
            comment.contains("- gone: `b::three`") && comment.contains("- newly skipped: `a::two`"),
            "{mode}: {comment}"
        );
        let xml = run.file("junit.xml");
        assert!(xml.contains("tests against the base") && xml.contains("name=\"b::three\""), "{mode}: {xml}");
        assert!(run.file("report.html").contains("b::three"), "{mode}");
    }
}

#[test]
fn gates_annotate_tests_that_are_lost() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", &config(GATE)),
        ("run.sh", RUNNER),
        ("results.txt", "test a::one ... ok\ntest b::two ... ok\n"),
    ]);
    let server = ModelServer::start(vec![
        edit("results.txt", "test b::two ... ok\n", ""),
        Answer::Text("done"),
        Answer::Text("it is not needed"),
    ]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--task", "Do it"];
    let run = sandbox.run(&args, &[("GITHUB_ACTIONS", "true")]).expect_code(0);
    let all = run.stdout + &run.stderr;
    assert!(
        all.contains(
            "::warning title=Gate tests passes although 1 test that ran before the run no longer runs::1 gone: b::two"
        ),
        "{all}"
    );
}

#[test]
fn gates_that_pass_although_new_tests_fail_have_lost_none() {
    let config = config("    - { name: tests, command: cat results.txt }\n");
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("results.txt", "test a::one ... ok\n")]);
    let change = edit("results.txt", "ok\n", "ok\ntest a::two ... FAILED\n");
    let (run, bodies) = run(&sandbox, "dry-run", vec![change]);
    let report = run.report();
    assert_eq!(report["stop_reason"], "tests_lost", "{report}");
    let shown = last_text(&bodies[2]) + &report["notices"].to_string() + &run.file("comment.md");
    for told in ["The gates pass, but 1 new test fails:", "Make them pass ", "- new and failing: `a::two`"] {
        assert!(shown.contains(told) && shown.contains("the gates pass, but 1 new"), "{shown}");
    }
}

#[test]
fn gates_verdict_goes_by_tests_rather_than_exit_codes() {
    for (before, now, code, verdict, reason) in [
        (
            "test a ... FAILED\ntest b ... ok\n",
            "test a ... FAILED\ntest b ... FAILED\n",
            1,
            "newly-failing",
            "gates_failed",
        ),
        (
            "test a ... FAILED\ntest b ... ok\n",
            "test a ... FAILED\ntest b ... ok\ntest c ... ok\n",
            0,
            "failed-before",
            "failed_before",
        ),
        ("test a ... FAILED\ntest b ... ok\n", "test a ... ok\ntest b ... ok\n", 0, "mended", "llm_done"),
        // Nothing is excused by a test that failed before, if others are not as they were.
        ("test a ... FAILED\ntest b ... ok\n", "test a ... FAILED\n", 1, "newly-failing", "gates_failed"),
        (
            "test a ... FAILED\ntest b ... ok\n",
            "test a ... FAILED\ntest b ... ok\nerror: lint\n",
            1,
            "newly-failing",
            "gates_failed",
        ),
        // A test that is mended by taking it away is not.
        ("test x::a ... FAILED\ntest b ... ok\n", "test b ... ok\n", 0, "mended", "tests_lost"),
        ("test a ... ok\n", "test a ... ok\ntest b ... ok\n", 0, "passed", "llm_done"),
    ] {
        let config = config(GATE);
        let sandbox =
            Sandbox::new(&[(".architect.yml", &config), ("run.sh", RUNNER), ("results.txt", before)]);
        let (run, _) = run(&sandbox, "dry-run", vec![edit("results.txt", before, now)]);
        let run = run.expect_code(code);
        let report = run.report();
        assert_eq!(
            (report["gates"][0]["verdict"].as_str(), report["stop_reason"].as_str()),
            (Some(verdict), Some(reason)),
            "{before} {now}: {}",
            report["gates"]
        );
        if verdict == "newly-failing" && now.contains("test b ... FAILED") {
            let xml = run.file("junit.xml");
            assert!(xml.contains("name=\"b\"") && xml.contains("type=\"newly failing\""), "{xml}");
        }
    }
}

#[test]
fn gates_that_say_nothing_of_what_failed_are_not_excused() {
    for (command, now, verdict) in [
        ("false", "two", "failed"),
        ("exit 7", "two", "failed"),
        ("test $(cat a.txt) = one && exit 7 || exit 8", "two", "newly-failing"),
    ] {
        for mode in ["yolo", "dry-run"] {
            let config = config(&format!("    - {{ name: g, command: '{command}' }}\n"));
            let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
            let (run, _) = run(&sandbox, mode, vec![edit("a.txt", "one", now)]);
            let run = run.expect_code(1);
            let report = run.report();
            assert_eq!(report["gates"][0]["verdict"], verdict, "{command}, {mode}: {}", run.stderr);
            assert_eq!(report["stop_reason"], "gates_failed", "{command}, {mode}");
            assert!(!run.file("report.md").contains("Output of"), "there is none");
        }
    }
}

#[test]
fn gates_fail_with_any_part_of_a_pipe() {
    for (command, passed, ending) in [
        ("(echo one; exit 3) | tail -n 5", false, "exit code 3 in a pipe, whose parts ended with 3 | 0"),
        ("(exit 3) | cat && echo two", false, "exit code 3 in a pipe, whose parts ended with 3 | 0"),
        ("yes | head -n 1", true, "exit code 0"),
        ("grep -r nothing-like-this a.txt | wc -l", true, "exit code 0"),
        ("(exit 3) | cat || true", true, "exit code 0"),
        ("echo one | grep two", false, "exit code 1"),
    ] {
        let config = config(&format!("    - {{ name: g, command: '{command}' }}\n"));
        let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
        let (run, _) = run(&sandbox, "dry-run", vec![]);
        let gate = &run.report()["gates"][0];
        assert_eq!((&gate["passed"], gate["ending"].as_str()), (&json!(passed), Some(ending)), "{command}");
        assert!(!gate["output"].to_string().contains("pipe-status"), "{command}: {gate}");
    }
}

#[test]
fn gates_that_time_out_say_so() {
    let config = config("    - { name: g, command: sleep 300, timeout: 1 }\n")
        .replace("max_gate_rounds: 2", "max_gate_rounds: 1");
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
    let (run, _) = run(&sandbox, "dry-run", vec![]);
    let gate = &run.report()["gates"][0];
    assert_eq!(gate["ending"], "timed out after 1 s");
    let comment = run.file("comment.md");
    assert!(comment.contains("timed out after 1 s") && !comment.contains("exit -1"), "{comment}");
    assert!(!comment.contains("Output of"), "{comment}");
}

#[test]
fn gates_that_fail_and_then_pass_are_flaky() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    // What is outside of the checkout is no part of the state.
    let outside = sandbox.path().join("outside");
    std::fs::create_dir(&outside).expect("a new folder");
    let outside = outside.to_str().expect("a path of text");
    let gate = format!(
        "    - {{ name: g, command: 'grep -q one a.txt || test -e {outside}/mark || {{ touch {outside}/mark; echo error: at times; exit 1; }}' }}\n"
    );
    let config = config(&gate).replace("max_gate_rounds: 2", "max_gate_rounds: 1")
        + &format!("commands: {{ writable_paths: [{outside}] }}\n");
    sandbox.write(".architect.yml", config);
    sandbox.commit("settings");
    let (run, _) = run(&sandbox, "yolo", vec![edit("a.txt", "one", "two")]);
    let run = run.expect_code(0);
    let report = run.report();
    let gate = &report["gates"][0];
    assert_eq!(
        (&gate["verdict"], &report["stop_reason"]),
        (&json!("flaky"), &json!("gates_flaky")),
        "{}",
        run.stderr
    );
    assert!(
        run.file("comment.md").contains("⚠️ `g` failed, and passed when it ran again"),
        "{}",
        run.file("comment.md")
    );
}

#[test]
fn gates_that_pass_with_what_their_first_run_left_are_not_flaky() {
    let gate = "    - { name: g, command: 'grep -q one a.txt || test -e mark || { touch mark; echo error: no mark; exit 1; }' }\n";
    for mode in ["yolo", "dry-run"] {
        let config = config(gate).replace("max_gate_rounds: 2", "max_gate_rounds: 1");
        let files = [(".architect.yml", config.as_str()), (".gitignore", "mark\n"), ("a.txt", "one\n")];
        let sandbox = Sandbox::new(&files);
        let (run, _) = run(&sandbox, mode, vec![edit("a.txt", "one", "two")]);
        let report = run.expect_code(1).report();
        assert_eq!(report["stop_reason"], "gates_failed", "{mode}: {}", report["gates"]);
    }
}

#[test]
fn gates_are_not_excused_by_what_a_command_left_behind() {
    // Git ignores the file, so that taking back the change leaves it, and the state before would fail as well.
    let files = [
        (".architect.yml", config("    - { name: g, command: sleep 1; sh run.sh }\n")),
        ("run.sh", "if test -e local.cfg; then echo error: broken; exit 1; fi\n".to_owned()),
        (".gitignore", "local.cfg\n".to_owned()),
        ("a.txt", "one\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (*path, text.as_str())).collect();
    let sandbox = Sandbox::new(&files);
    let poison = Answer::Calls(vec![("run_command", json!({"command": "echo x > local.cfg"}))]);
    let (run, _) = run(&sandbox, "yolo", vec![poison, edit("a.txt", "one", "two")]);
    let report = run.expect_code(1).report();
    assert_eq!(report["stop_reason"], "gates_failed", "{}", report["gates"]);
}

#[test]
fn gates_that_did_not_run_say_why() {
    let gate = "    - { name: g, command: 'true' }\n";
    for (more, answers, code, reason) in [
        ("dry_run: { gates: skip }\n", vec![], 0, "`dry_run.gates: skip`"),
        (
            "agents: { build: { max_steps: 1 } }\n",
            vec![edit("a.txt", "one", "two")],
            2,
            "the run ended before it: the step limit was reached",
        ),
    ] {
        let config = config(gate) + more;
        let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
        let (run, _) = run(&sandbox, "dry-run", answers);
        let run = run.expect_code(code);
        let gate = &run.report()["gates"][0];
        assert_eq!((gate["verdict"].as_str(), gate["ending"].as_str()), (Some("not-run"), Some(reason)));
        assert!(run.file("comment.md").contains("⏭️ `g` did not run"), "{}", run.file("comment.md"));
        assert!(run.file("junit.xml").contains("type=\"did not run\""), "{}", run.file("junit.xml"));
    }
}

/// Deselects a test in ways that no grammar sees, with the real runners of this machine.
#[test]
fn gates_tell_tests_that_real_runners_no_longer_run() {
    const CARGO: &[(&str, &str)] = &[
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n\n[features]\ndefault = [\"all\"]\nall = []\n",
        ),
        (
            "src/lib.rs",
            "#[cfg(test)]\nmod one {\n    #[test]\n    fn first() {}\n}\n#[cfg(all(test, feature = \"all\"))]\nmod two {\n    #[test]\n    fn second() {}\n}\n",
        ),
    ];
    const NODE: &[(&str, &str)] = &[
        (
            "shop.test.js",
            "const test = require(\"node:test\");\nconst { cases } = require(\"./cases.js\");\nfor (const name of cases) test(name, () => {});\n",
        ),
        ("cases.js", "exports.cases = [\"first\", \"second\"];\n"),
    ];
    const PYTEST: &[(&str, &str)] = &[
        ("test_shop.py", "def test_first():\n    pass\n\ndef test_second():\n    pass\n"),
        (
            "conftest.py",
            "UNWANTED = ()\n\ndef pytest_collection_modifyitems(items):\n    items[:] = [item for item in items if item.name not in UNWANTED]\n",
        ),
    ];
    for (program, command, files, change, gone) in [
        (
            "cargo",
            "cargo test --offline",
            CARGO,
            edit("Cargo.toml", "default = [\"all\"]", "default = []"),
            "second",
        ),
        ("node", "node --test", NODE, edit("cases.js", ", \"second\"", ""), "second"),
        (
            "pytest",
            "pytest -q",
            PYTEST,
            edit("conftest.py", "UNWANTED = ()", "UNWANTED = (\"test_second\",)"),
            "test_second",
        ),
    ] {
        let Some(found) = tool(program) else { continue };
        let config = config(&format!("    - {{ name: g, command: {command} }}\n"));
        let mut all =
            vec![(".architect.yml", config.as_str()), (".gitignore", "target\nCargo.lock\n__pycache__\n")];
        all.extend(files);
        let sandbox = Sandbox::new(&all);
        let path = path_with(&found).into_string().expect("text");
        let (run, _) = run_having(&sandbox, "dry-run", vec![change], &[("PATH", &path)]);
        let run = run.expect_code(0);
        let report = run.report();
        assert_eq!(report["stop_reason"], "tests_lost", "{program}: {}", report["gates"]);
        let names = report["gates"][0]["tests"]["gone"]["names"].to_string();
        assert!(names.contains(gone), "{program}: {names}");
    }
}
