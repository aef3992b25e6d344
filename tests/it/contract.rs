//! Ends of runs: every way, with everything that can be expected of it, against a table of its own.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::support::model::{Answer, ModelServer};
use crate::support::scene::scene;
use crate::support::{Run, Sandbox};

const EXPECTED: [&str; 3] = ["changes", "no-changes", "any"];

#[derive(Deserialize)]
pub(crate) struct Table {
    pub(crate) reasons: BTreeMap<String, (String, String, i32, String, String, String)>,
    ways: BTreeMap<String, Reasons>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Reasons {
    One(String),
    ByExpectation([String; 3]),
}

impl Table {
    pub(crate) fn read() -> Self {
        serde_yaml::from_str(include_str!("../cases/outcomes.yml")).expect("the table")
    }

    /// Checks everything that a run has said of its end.
    #[track_caller]
    pub(crate) fn check(&self, name: &str, run: &Run, reason: &str, expected: &str) {
        let (sign, status, exit, junit, _, sentence) = &self.reasons[reason];
        let report = run.report();
        let told = (
            report["stop_reason"].as_str(),
            report["status"].as_str(),
            report["exit_code"].as_i64(),
            report["expected"].as_str(),
        );
        let wanted = (Some(reason), Some(status.as_str()), Some(i64::from(*exit)), Some(expected));
        assert_eq!(told, wanted, "{name}: {}", run.stderr);
        assert_eq!(run.code, *exit, "{name}: {}", run.stderr);
        let comment = run.file("comment.md");
        let heading = comment.lines().find(|line| line.starts_with("### ")).expect("a heading");
        assert!(heading.starts_with(&format!("### {sign} ")), "{name}: {heading}");
        assert_eq!(heading.ends_with(sentence.as_str()), reason != "llm_done", "{name}: {heading}");
        let next = report["next_step"].as_str().unwrap_or_default();
        assert_eq!(next.is_empty(), sign == "✅", "{name}: whatever is not green says what to do next");
        assert_eq!(comment.contains("**Next:** "), !next.is_empty(), "{name}");
        let xml = run.file("junit.xml");
        let case = xml.split("<testcase name=\"run\"").nth(1).expect("a case for the run");
        let case = &case[..case.find("</testcase>").unwrap_or(case.len())];
        let found = match (case.contains("<failure"), case.contains("<skipped")) {
            (true, _) => "failed",
            (_, true) => "skipped",
            _ => "passed",
        };
        assert_eq!(found, junit, "{name}: {case}");
    }
}

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}))
}

fn gate(command: &str) -> String {
    format!(
        "guardrails:\n  max_gate_rounds: 1\n  quality_gates:\n    - {{ name: gate, command: '{command}' }}\n"
    )
}

const TEST: &str = "def test_a():\n    assert len([1]) + 1 == 2\n";

/// Has the tests of the change prove it.
const PROVE: &str = "tests:\n  prove: new\n  command: python3 -m unittest -v {tests}\n";

/// A call that weakens the test.
fn skip() -> (&'static str, Value) {
    let skipped = "import pytest\n\n\n@pytest.mark.skip\ndef test_a():";
    ("edit_file", json!({"path": "tests/test_a.py", "old_str": "def test_a():", "new_str": skipped}))
}

/// What a model's server answers; nothing where a script is the model.
fn answers(way: &str) -> Vec<Answer> {
    match way {
        "answer_is_cut" => vec![Answer::Finish("length", "half of")],
        "answer_is_filtered" => vec![Answer::Finish("content_filter", "I cannot")],
        "self_check_doubts" => vec![
            Answer::Calls(vec![edit("one", "two")]),
            Answer::Text("Done."),
            Answer::Text("{\"completed\": false, \"issues\": [\"no test\"]}"),
        ],
        "self_check_is_unreadable" | "review_is_unreadable" => {
            vec![
                Answer::Calls(vec![edit("one", "two")]),
                Answer::Text("Done."),
                Answer::Text("fine, I think"),
            ]
        }
        "review_finds" => vec![
            Answer::Calls(vec![edit("one", "two")]),
            Answer::Text("Done."),
            Answer::Text(
                "{\"findings\": [{\"file\": \"a.txt\", \"line\": 1, \"severity\": \"error\", \"message\": \"no\"}]}",
            ),
        ],
        "steps_are_used_up" | "budget_is_used_up" => {
            vec![Answer::Calls(vec![edit("one", "two")]), Answer::Text("so far")]
        }
        "time_is_up" => vec![Answer::Silence(Duration::from_secs(3))],
        "context_is_full" => vec![Answer::Text("full")],
        "repeats_itself" => vec![Answer::Calls(vec![("list_files", json!({}))])],
        "provider_fails" => vec![Answer::Status(400, Vec::new(), "no")],
        "stream_is_cut" => vec![Answer::Cut],
        "key_is_refused" => vec![Answer::Status(401, Vec::new(), "no")],
        "model_is_unknown" => vec![Answer::Status(404, Vec::new(), "no")],
        _ => Vec::new(),
    }
}

/// Brings a run to its end in a way, and returns it, with the folder where its files lie.
pub(crate) fn end(way: &str, expected: &str, mode: &str) -> (Sandbox, Run) {
    let config = match way {
        "only_edit_is_refused" => "guardrails: { protected_files: [a.txt] }\n".to_owned(),
        "gate_is_newly_red" => gate("! grep two a.txt"),
        "gate_was_red_before" => gate("echo error: never good; exit 3"),
        "gate_is_mended" => gate("grep -q two a.txt || { echo error: no two; exit 1; }"),
        "self_check_doubts" | "self_check_is_unreadable" => "evaluation: basic\n".to_owned(),
        "review_finds" | "review_is_unreadable" => {
            "evaluation: off\nreview: { enabled: true, fail_on: error, max_fix_passes: 0 }\n".to_owned()
        }
        "budget_is_used_up" => "costs: { budget_usd: 0.0001, prices_file: prices.yml }\n".to_owned(),
        "context_is_full" => "context: { max_context_tokens: 3000, refresh_files: [big.txt] }\n".to_owned(),
        "test_proves_nothing" => PROVE.to_owned(),
        "test_proves_nothing_and_that_is_refused" => format!("{PROVE}  unproven: fail\n"),
        "tests_are_skipped_and_that_is_refused" => "tests: { integrity: refuse }\n".to_owned(),
        "hook_stops" => "hooks: { pre_llm_call: [{ name: stops, command: 'exit 2' }] }\n".to_owned(),
        _ => "evaluation: off\nllm: { retries: 0 }\n".to_owned(),
    };
    let sandbox = Sandbox::new(&[
        (".architect.yml", &config),
        ("a.txt", "one\n"),
        ("tests/test_a.py", TEST),
        ("big.txt", &"a line of words\n".repeat(1_000)),
        ("prices.yml", "gpt-5: { input: 1, cached: 0.5, output: 12 }\n"),
        (
            "recipe.yml",
            "description: Fails\nsteps:\n  - do:\n      - { tool: read_file, with: { path: none.txt } }\n",
        ),
    ]);
    let answers = answers(way);
    let server = (!answers.is_empty()).then(|| ModelServer::start(answers));
    let script = |turns: &[Vec<(&str, Value)>], last: &str| sandbox.script(turns, last);
    let model = match way {
        _ if server.is_some() => "openai::gpt-5".to_owned(),
        "edits" | "gate_is_newly_red" | "gate_was_red_before" | "gate_is_mended" => {
            script(&[vec![edit("one", "two")]], "Done.")
        }
        "tests_are_skipped" | "tests_are_skipped_and_that_is_refused" => script(&[vec![skip()]], "Done."),
        "test_proves_nothing" | "test_proves_nothing_and_that_is_refused" => {
            let content = "import unittest\n\n\nclass TestB(unittest.TestCase):\n    def test_b(self):\n        self.assertEqual(1, 1)\n";
            let write = ("write_file", json!({"path": "tests/test_b.py", "content": content}));
            script(&[vec![write]], "Done.")
        }
        "talks" | "hook_stops" => script(&[], "Done."),
        "answer_does_not_fit" => {
            let model = script(&[], "no JSON");
            let path = model.trim_start_matches("replay::");
            let line = std::fs::read_to_string(path).expect("the script");
            std::fs::write(path, line.repeat(3)).expect("the script");
            model
        }
        "reads" => script(&[vec![("read_file", json!({"path": "a.txt"}))]], "Done."),
        "reads_and_fails_to_edit" => {
            script(&[vec![("read_file", json!({"path": "a.txt"}))], vec![edit("absent", "two")]], "Done.")
        }
        "command_changes_too_much" => {
            let line = ("run_command", json!({"command": "truncate -s 11M large.bin && echo more > b.txt"}));
            script(&[vec![edit("one", "two")], vec![line]], "Done.")
        }
        "only_edit_is_refused" => script(&[vec![edit("one", "two")]], "Done."),
        "says_nothing" | "edits_and_says_nothing" => {
            let turns = if way == "says_nothing" { vec![] } else { vec![vec![edit("one", "two")]] };
            let model = script(&turns, "");
            let path = model.trim_start_matches("replay::");
            let text = std::fs::read_to_string(path).expect("the script");
            let last = text.lines().last().expect("an answer");
            std::fs::write(path, format!("{text}{last}\n")).expect("the script");
            model
        }
        "recipe_fails" => "recipe::recipe.yml".to_owned(),
        other => panic!("there is no way {other}"),
    };
    let mut args = vec!["--model", &model, "--mode", mode, "--expect", expected];
    if let Some(server) = &server {
        args.extend(["--base-url", server.url.as_str()]);
    }
    match way {
        "steps_are_used_up" => args.extend(["--max-steps", "1"]),
        "time_is_up" => args.extend(["--timeout", "1"]),
        "answer_does_not_fit" => args.extend(["--output-schema", "{\"type\": \"object\"}"]),
        _ => {}
    }
    let run = sandbox.run(&args, &[]);
    (sandbox, run)
}

#[test]
fn contract_holds_for_every_way_and_expectation() {
    let table = Table::read();
    let mut left: Vec<(&str, usize, &str)> = Vec::new();
    for way in table.ways.keys() {
        for (index, _) in EXPECTED.iter().enumerate() {
            for mode in ["dry-run", "yolo"] {
                // One mode is enough where time itself is what ends the run.
                if way != "time_is_up" || mode == "yolo" {
                    left.push((way, index, mode));
                }
            }
        }
    }
    assert!(left.len() >= 120, "{}", left.len());
    let left = Mutex::new(left);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    let Some((way, index, mode)) = left.lock().expect("the list").pop() else { break };
                    let reason = match &table.ways[way] {
                        Reasons::One(reason) => reason,
                        Reasons::ByExpectation(reasons) => &reasons[index],
                    };
                    let (_sandbox, run) = end(way, EXPECTED[index], mode);
                    table.check(
                        &format!("{way}, {}, {mode}", EXPECTED[index]),
                        &run,
                        reason,
                        EXPECTED[index],
                    );
                }
            });
        }
    });
}

#[test]
fn contract_of_skipped_gates_is_not_green() {
    let table = Table::read();
    let config = format!("{}dry_run: {{ gates: skip }}\nevaluation: off\n", gate("false"));
    for (expected, reason) in
        [("changes", "gates_skipped"), ("no-changes", "unwanted_changes"), ("any", "gates_skipped")]
    {
        let sandbox = Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n")]);
        let model = sandbox.script(&[vec![edit("one", "two")]], "Done.");
        let run = sandbox.run(&["--model", &model, "--expect", expected], &[]);
        table.check(expected, &run, reason, expected);
    }
}

#[test]
fn expectation_comes_from_flag_task_configuration_agent_and_delivery() {
    let talks = |sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]| {
        let model = sandbox.script(&[], "Done.");
        let run = sandbox.run(&[&["--model", model.as_str()], args].concat(), variables);
        let report = run.report();
        let text = |key: &str| report[key].as_str().expect("a text").to_owned();
        (text("expected"), text("stop_reason"))
    };
    let pair = |expected: &str, reason: &str| (expected.to_owned(), reason.to_owned());
    let sandbox = Sandbox::new(&[("task.md", "---\nexpect: changes\n---\nDo it\n")]);
    let task = sandbox.repo().join("task.md").display().to_string();
    assert_eq!(talks(&sandbox, &[], &[]), pair("any", "llm_done"));
    assert_eq!(talks(&sandbox, &["--deliver", "patch"], &[]), pair("changes", "nothing_changed"));
    assert_eq!(
        talks(&sandbox, &["--deliver", "patch", "--mode", "yolo"], &[]),
        pair("changes", "nothing_changed")
    );
    assert_eq!(talks(&sandbox, &["--task-file", &task], &[]), pair("changes", "nothing_changed"));
    assert_eq!(
        talks(&sandbox, &["--task-file", &task], &[("INPUT_EXPECT", "no-changes")]),
        pair("no-changes", "llm_done")
    );
    let wrong = sandbox.run(&["--model", "replay::x", "--expect", "miracles"], &[]).expect_code(3);
    assert!(wrong.stderr.contains("use changes, no-changes or any"), "{}", wrong.stderr);
    let sandbox = Sandbox::new(&[(".architect.yml", "expect: changes\n")]);
    assert_eq!(talks(&sandbox, &[], &[]), pair("changes", "nothing_changed"));
    assert_eq!(talks(&sandbox, &["--expect", "any"], &[]), pair("any", "llm_done"));
    // Agents that only read answer.
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let model = sandbox.script(&[], "Looks good.");
    let path = model.trim_start_matches("replay::");
    let text = std::fs::read_to_string(path).expect("the script").replace("\"build\"", "\"review\"");
    std::fs::write(path, text).expect("the script");
    let run =
        sandbox.run(&["--model", &model, "--agent", "review", "--deliver", "patch"], &[]).expect_code(0);
    assert_eq!(run.report()["expected"], "no-changes");
}

/// An agent that ends without what is asked is told so, once, and can still do it.
#[test]
fn expectation_is_told_to_the_agent_once() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "evaluation: off\n")]);
    let server = ModelServer::start(vec![
        Answer::Text("Done."),
        Answer::Calls(vec![edit("one", "two")]),
        Answer::Text("Now it is done."),
    ]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--expect", "changes"];
    let run = sandbox.run(&args, &[]).expect_code(0);
    assert_eq!(run.report()["stop_reason"], "llm_done");
    assert!(server.bodies()[1]["messages"].to_string().contains("expected to change files"));
    let server = ModelServer::start(vec![Answer::Text("Done.")]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--expect", "changes"];
    let run = sandbox.run(&args, &[]).expect_code(1);
    assert_eq!((run.report()["stop_reason"].as_str(), server.bodies().len()), (Some("nothing_changed"), 2));
}

/// What GitHub is told, and what comes of it where it is not told.
#[tokio::test(flavor = "multi_thread")]
async fn contract_holds_on_github() {
    const FILES: &[(&str, &str)] = &[(
        ".github/architect.yml",
        "evaluation: off\ngithub: { check_run: true }\nguardrails:\n  max_gate_rounds: 1\n  quality_gates:\n    - { name: gate, command: 'test -f good || { echo error: never good; exit 3; }' }\n    - { name: new, command: '! grep -q RED a.txt' }\n",
    )];
    scene(FILES, |scene| {
        let table = Table::read();
        let talks = scene.sandbox.script(&[], "Done.");
        let good = scene.sandbox.path().join("good.jsonl");
        std::fs::copy(talks.trim_start_matches("replay::"), &good).expect("a copy");
        let talks = format!("replay::{}", good.display());
        let event = scene.pull_event(7, "dev");
        let check = |args: &[&str], expected: &str, reason: &str| {
            let run = scene.run("pull_request", &event, &[args, &["--expect", expected]].concat(), &[]);
            table.check(reason, &run, reason, expected);
            let (sign, .., conclusion, _) = &table.reasons[reason];
            let world = scene.github.world();
            let told = world.checks.last().expect("a check run");
            assert_eq!(told["conclusion"].as_str(), Some(conclusion.as_str()), "{reason}");
            assert!(
                told["output"]["title"].as_str().expect("a title").starts_with(sign.as_str()),
                "{reason}"
            );
            run
        };
        // A gate that is red on the base as well leaves no run green, and fails none.
        check(&["--model", &talks], "any", "failed_before");
        check(&["--model", &talks], "changes", "nothing_changed");
        check(&["--model", &scene.edit("five", "RED")], "changes", "gates_failed");
        check(&["--model", &scene.edit("five", "FIVE")], "no-changes", "unwanted_changes");
        check(&["--model", &scene.edit("absent", "FIVE"), "--mode", "yolo"], "changes", "edits_failed");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn contract_covers_reports_that_could_not_be_posted() {
    const COMMENTS: &str = "POST /repos/octo/demo/issues/7/comments";
    scene(&[(".github/architect.yml", "evaluation: off\n")], |scene| {
        let table = Table::read();
        let model = scene.edit("five", "FIVE");
        let event = scene.pull_event(7, "dev");
        let run = |more: &[&str]| {
            scene.run("pull_request", &event, &[&["--model", model.as_str()], more].concat(), &[])
        };
        scene.github.forbid(COMMENTS);
        table.check("not posted", &run(&[]), "report_not_posted", "any");
        scene.github.forbid(COMMENTS);
        table.check("not posted", &run(&["--expect", "no-changes"]), "unwanted_changes", "no-changes");
        let required = scene.sandbox.path().join("required.yml");
        std::fs::write(&required, "evaluation: off\ngithub: { required: true }\n").expect("a configuration");
        let required = ["--config", required.to_str().expect("a path")];
        scene.github.forbid(COMMENTS);
        table.check("required", &run(&required), "not_permitted", "any");
        scene.github.fail(COMMENTS, 422, "no");
        table.check("required", &run(&required), "not_published", "any");
    })
    .await;
}
