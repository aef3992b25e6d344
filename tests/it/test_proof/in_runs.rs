//! Runs whose tests have to prove the change: what the agent is told, and what the reports say.
#![cfg(target_os = "linux")]

use crate::support::model::{Answer, ModelServer};
use crate::support::{Run, Sandbox};
use serde_json::json;

const TEST: &str = "import unittest\n\nfrom shop import total\n\n\nclass TestShop(unittest.TestCase):\n    def test_total(self):\n        \
                    self.assertEqual(total([1, 2]), 3)\n";

fn shop(tests: &str) -> Sandbox {
    let config = format!("tests:\n  prove: new\n  command: python3 -m unittest -v {{tests}}\n{tests}");
    Sandbox::new(&[
        (".architect.yml", &config),
        ("shop.py", "def total(prices):\n    return sum(prices) + 1\n"),
        ("tests/__init__.py", ""),
    ])
}

fn run(sandbox: &Sandbox, server: &ModelServer, mode: &str) -> Run {
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--task", "Do it", "--mode", mode];
    sandbox.run(&args, &[])
}

fn change(test: &str) -> Answer {
    Answer::Calls(vec![
        ("edit_file", json!({"path": "shop.py", "old_str": " + 1", "new_str": ""})),
        ("write_file", json!({"path": "tests/test_shop.py", "content": test})),
    ])
}

#[test]
fn runs_report_tests_that_prove_change() {
    for mode in ["dry-run", "yolo"] {
        let sandbox = shop("  mutate: 2\n");
        let message = "Updated `shop.py` and `README.md`.\n\nAdded the test `test_total`.";
        let server = ModelServer::start(vec![change(TEST), Answer::Text(message), Answer::Text(message)]);
        let run = run(&sandbox, &server, mode).expect_code(0);
        let report = run.report();
        assert_eq!(report["proof"]["tests"][0]["verdict"], "proves", "{mode}: {report:#}");
        let fault = &report["mutations"]["mutations"][0];
        assert_eq!(
            (&fault["path"], &fault["verdict"]),
            (&json!("shop.py"), &json!("noticed")),
            "{mode}: {report:#}"
        );
        let comment = run.file("report.md");
        assert!(
            comment.contains("✅ 1 of 1 new test proves the change · the tests notice 1 of 1 fault\n"),
            "{mode}: {comment}"
        );
        assert!(
            comment.contains(
                "**Evidence:** 2 of 3 claims that can be checked are true\n- ❌ `updated README.md`: "
            ),
            "{mode}: {comment}"
        );
        let holds: Vec<bool> =
            report["evidence"].as_array().unwrap().iter().map(|claim| claim["holds"] == true).collect();
        assert_eq!(holds, [true, false, true], "{mode}");
        assert!(run.file("junit.xml").contains("proof.tests/test_shop.py"), "{mode}");
        let page = run.file("report.html");
        assert!(page.contains("Tests of the change") && page.contains("Evidence"), "{mode}");
    }
}

#[test]
fn runs_tell_agent_once_of_tests_that_prove_nothing_and_fail_on_demand() {
    let weak = TEST.replace("total([1, 2]), 3", "1 + 1, 2");
    for (config, code) in [("", 0), ("  unproven: fail\n", 1)] {
        let sandbox = shop(config);
        let answers =
            vec![change(&weak), Answer::Text("done"), Answer::Text("it is so"), Answer::Text("checked")];
        let server = ModelServer::start(answers);
        let run = run(&sandbox, &server, "dry-run").expect_code(code);
        let bodies = server.bodies();
        let told = bodies[2]["messages"].as_array().unwrap().last().unwrap()["content"].to_string();
        assert!(
            told.contains("tests/test_shop.py:7 TestShop > test_total passes on the old code too"),
            "{told}"
        );
        let report = run.report();
        assert_eq!(report["proof"]["tests"][0]["verdict"], "passes-on-old", "{report:#}");
        assert!(report["notices"].to_string().contains("0 of 1 new test proves the change"), "{report:#}");
        assert!(run.file("report.md").contains("⚠️ 0 of 1 new test proves the change"));
    }
    // What the agent is told, it can put right.
    let sandbox = shop("  unproven: fail\n");
    let mend = Answer::Calls(vec![(
        "edit_file",
        json!({"path": "tests/test_shop.py", "old_str": "1 + 1, 2", "new_str": "total([1, 2]), 3"}),
    )]);
    let answers =
        vec![change(&weak), Answer::Text("done"), mend, Answer::Text("done"), Answer::Text("checked")];
    let server = ModelServer::start(answers);
    let run = run(&sandbox, &server, "yolo").expect_code(0);
    assert_eq!(run.report()["proof"]["tests"][0]["verdict"], "proves");
}

#[test]
fn runs_tell_that_nothing_proves_code_without_test() {
    let mend = ("edit_file", json!({"path": "shop.py", "old_str": " + 1", "new_str": ""}));
    let note = ("write_file", json!({"path": "README.md", "content": "sums\n"}));
    for (call, config, code, reason) in [
        (&mend, "", 0, "tests_unproven"),
        (&mend, "  unproven: fail\n", 1, "proof_failed"),
        (&note, "  unproven: fail\n", 0, "llm_done"),
    ] {
        let sandbox = shop(config);
        let answers = vec![
            Answer::Calls(vec![call.clone()]),
            Answer::Text("done"),
            Answer::Text("no"),
            Answer::Text("no"),
        ];
        let server = ModelServer::start(answers);
        let run = run(&sandbox, &server, "dry-run").expect_code(code);
        let report = run.report();
        assert_eq!(report["stop_reason"], reason, "{report:#}");
        let is_untested = reason != "llm_done";
        let told = |text: &str, what: &str| assert_eq!(text.contains(what), is_untested, "{what}: {text}");
        told(&run.file("report.md"), "⚠️ nothing proves the change: no test is new or changed");
        told(
            &serde_json::to_string(&server.bodies()).unwrap(),
            "Your change neither adds nor changes a test",
        );
    }
}

#[test]
fn runs_reject_proof_without_usable_command() {
    for (config, expected) in [
        ("tests: { prove: new }\n", "need `tests.command`"),
        ("tests: { mutate: 3, command: 'sh -c \"pytest {tests}\"' }\n", "is in quotes"),
    ] {
        let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
        let server = ModelServer::start(vec![Answer::Text("done")]);
        let run = run(&sandbox, &server, "dry-run").expect_code(3);
        assert!(run.stderr.contains(expected), "{}", run.stderr);
    }
}

/// What Git ignores is part of neither state, so a program that a command has put there decides what the tests show.
#[test]
fn runs_tell_of_test_programs_that_commands_have_planted() {
    let config = "commands: { dev_commands: [bash] }\ntests:\n  prove: new\n  command: dist/check {tests}\n";
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&[
            (".architect.yml", config),
            (".gitignore", "dist/\n"),
            ("shop.py", "def total(prices):\n    return sum(prices) + 1\n"),
            ("tests/__init__.py", ""),
            ("plant.sh", "mkdir -p dist; printf '#!/bin/sh\\nexit 0\\n' > dist/check; chmod +x dist/check"),
        ]);
        let plant = Answer::Calls(vec![("run_command", json!({"command": "bash plant.sh"}))]);
        let answers = vec![plant, change(TEST), Answer::Text("done"), Answer::Text("it is so")];
        let run = run(&sandbox, &ModelServer::start(answers), mode);
        let told = "the test command runs or reads files that Git ignores and that commands of this run had changed before: dist/check";
        let notices = run.report()["notices"].to_string();
        assert_eq!(notices.contains(told), mode == "yolo", "{mode}: {notices}\n{}", run.stderr);
    }
}
