//! The end of a run's time: within two seconds nothing of the run is left, whatever is under way, and the report says what changed.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::{Duration, Instant};

use crate::support::processes::{is_alive, unique_seconds};
use crate::support::{Run, Sandbox, command};
use serde_json::{Value, json};

/// What a run may take after its time is up, in a debug build beside other tests; a release build takes less than two seconds.
const MOST: Duration = Duration::from_secs(10);

/// Runs these turns within so many seconds, and says how long it went on after them.
fn run_within(sandbox: &Sandbox, seconds: u64, mode: &str, turns: &[Vec<(&str, Value)>]) -> (Run, Duration) {
    let (model, limit) = (sandbox.script(turns, "done"), seconds.to_string());
    let began = Instant::now();
    let run = sandbox.run(
        &["--model", &model, "--mode", mode, "--timeout", &limit],
        // A plan is searched for it.
        &[("DEPLOY_TOKEN", "hunter2-hunter2-hunter2")],
    );
    (run, began.elapsed().saturating_sub(Duration::from_secs(seconds)))
}

fn files(run: &Run) -> Vec<(String, String)> {
    let report = run.report();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let files = report["files"].as_array().expect("files").iter();
    files.map(|file| (text(&file["path"]), text(&file["diff"]))).collect()
}

/// Lines of a program that makes four files of 10 MB of text, all different.
const LARGE: &str = "yes 'a line of text that is neither long nor short' | head -c 10000000 > text\n\
     for n in $(seq 10 13); do (echo \"$n\"; cat text) > \"large.$n\"; done\n\
     rm text\n";

#[test]
fn time_out_ends_large_changes_and_keeps_all_or_none() {
    for mode in ["yolo", "dry-run"] {
        let sandbox =
            Sandbox::new(&[("a.txt", "one\n"), ("large.sh", LARGE), (".architect.yml", "evaluation: off\n")]);
        let edit = ("write_file", json!({"path": "a.txt", "content": "two\n"}));
        let line = "bash large.sh; touch made; sleep 300";
        let (run, late) = run_within(&sandbox, 5, mode, &[vec![edit], vec![command(line)]]);
        let run = run.expect_code(5);
        assert!(late < MOST, "{mode}: {late:?}");
        let names: Vec<String> = files(&run).into_iter().map(|(path, _)| path).collect();
        assert_eq!(names[0], "a.txt", "{mode}");
        let kept = (10..14).filter(|n| sandbox.repo().join(format!("large.{n}")).exists()).count();
        let is_kept = names.len() > 1;
        assert_eq!(names.len(), if is_kept { 6 } else { 1 }, "{mode}: {names:?}");
        assert_eq!(kept, if is_kept && mode == "yolo" { 4 } else { 0 }, "{mode}");
        assert_eq!(run.report()["stop_reason"], "timeout", "{mode}");
    }
}

#[test]
fn time_out_names_what_there_is_no_time_to_compare() {
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[("large.sh", LARGE), (".architect.yml", "evaluation: off\n")]);
        let (run, late) =
            run_within(&sandbox, 30, mode, &[vec![command("bash large.sh")], vec![command("sleep 300")]]);
        let run = run.expect_code(5);
        assert!(late < MOST, "{mode}: {late:?}");
        let files = files(&run);
        assert_eq!(files.len(), 4, "{mode}: {files:?}\n{}", run.stderr);
        if files.iter().any(|(_, diff)| diff.contains("not compared")) {
            assert!(run.stderr.contains("could only be named"), "{mode}: {}", run.stderr);
            assert!(!sandbox.out().join("plan.json").exists(), "{mode}: it would lack some of the changes");
            assert!(!sandbox.out().join("plan.patch").exists(), "{mode}");
        }
    }
}

#[test]
fn commands_that_change_too_much_keep_nothing_in_both_modes() {
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "evaluation: off\n")]);
        let turns = [
            vec![command("for n in $(seq 28); do truncate -s 10M large.$n; done")],
            vec![command("ls; echo two > a.txt")],
            vec![command("truncate -s 11M large.bin")],
        ];
        let (run, _) = run_within(&sandbox, 60, mode, &turns);
        let run = run.expect_code(2);
        let results = run.results();
        let told = "the command changed 28 files that Git does not ignore, of 280 MiB in all before and after it, but at most 256 MiB \
                    of one command can be kept; change fewer of them";
        assert!(results[0].contains(told), "{mode}: {}", results[0]);
        assert!(!results[1].contains("large"), "{mode}: {}", results[1]);
        assert!(results[2].contains("large.bin is larger than 10 MiB"), "{mode}: {}", results[2]);
        let names: Vec<String> = files(&run).into_iter().map(|(path, _)| path).collect();
        assert_eq!(names, ["a.txt"], "{mode}");
        assert!(!sandbox.repo().join("large.1").exists(), "{mode}");
        let report = run.report();
        assert_eq!(report["stop_reason"], "changes_lost", "{mode}");
        assert_eq!(report["guardrails"].as_array().map(Vec::len), Some(0), "{mode}: no rule refused it");
        let comment = fs::read_to_string(sandbox.out().join("comment.md")).expect("a comment");
        assert!(comment.contains("changes of a command could not be kept"), "{mode}: {comment}");
        assert!(run.stderr.contains("28 files (large.1, large.10,"), "{mode}: {}", run.stderr);
    }
}

#[test]
fn changes_that_are_made_again_are_not_lost() {
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "evaluation: off\n")]);
        let turns = [
            vec![command("truncate -s 11M large.bin; echo two > a.txt")],
            vec![command("truncate -s 1M large.bin; echo two > a.txt")],
        ];
        let (run, _) = run_within(&sandbox, 60, mode, &turns);
        let run = run.expect_code(0);
        assert!(run.results()[0].contains("large.bin is larger than 10 MiB"), "{mode}: {:?}", run.results());
        assert!(
            run.stderr.contains("what a command changed could not be kept: large.bin"),
            "{mode}: {}",
            run.stderr
        );
    }
}

#[test]
fn time_out_ends_slow_code_rules() {
    let rule =
        "evaluation: off\nguardrails: { code_rules: [{ pattern: 'a[ab]{1000}[^ab]', message: slow }] }\n";
    let write = "import random\nrandom.seed(1)\nopen('slow.txt', 'w').write(''.join(random.choices('ab', k=9_000_000)) + '\\n')\n";
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), ("write.py", write), (".architect.yml", rule)]);
        let (run, late) = run_within(&sandbox, 12, mode, &[vec![command("python3 write.py")]]);
        let run = run.expect_code(5);
        assert!(late < MOST, "{mode}: {late:?}");
        assert_eq!(files(&run), [], "{mode}: {}", run.stderr);
        assert!(!sandbox.repo().join("slow.txt").exists(), "{mode}");
    }
}

#[test]
fn time_out_ends_children_that_ignore_sigterm() {
    let marker = unique_seconds();
    let stubborn = format!("trap '' TERM INT HUP; sleep {marker}");
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/mcp_server.py");
    let config = format!(
        "evaluation: off\n\
         mcp:\n  servers:\n    - {{ name: test, command: bash, args: [-c, \"trap '' TERM INT HUP; python3 -I {server} stdio; sleep {marker}\"] }}\n\
         hooks:\n  session_end:\n    - {{ name: last, command: \"{stubborn}\", timeout: 300 }}\n  \
         post_edit:\n    - {{ name: slow, command: \"{stubborn}\", timeout: 300, async: true }}\n"
    );
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", &config)]);
    let background = ("run_command", json!({"command": format!("echo up; {stubborn}"), "background": true}));
    let edit = ("write_file", json!({"path": "a.txt", "content": "two\n"}));
    for mode in ["yolo", "dry-run"] {
        let turns = [vec![edit.clone()], vec![background.clone()], vec![command(&stubborn)]];
        let (run, late) = run_within(&sandbox, 6, mode, &turns);
        let run = run.expect_code(5);
        assert!(late < MOST, "{mode}: {late:?}\n{}", run.stderr);
        assert!(!is_alive(&marker), "{mode}");
        assert_eq!(files(&run).len(), 1, "{mode}: what was changed before is told");
        sandbox.write("a.txt", "one\n");
    }
}

#[test]
fn time_out_ends_gates_that_ignore_sigterm() {
    let marker = unique_seconds();
    let config = format!(
        "evaluation: off\nguardrails:\n  quality_gates:\n    - {{ name: stubborn, command: \"trap '' TERM INT HUP; sleep {marker}\", timeout: 300 }}\n"
    );
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", &config)]);
    let edit = ("write_file", json!({"path": "a.txt", "content": "two\n"}));
    let (run, late) = run_within(&sandbox, 5, "yolo", &[vec![edit]]);
    let run = run.expect_code(5);
    assert!(late < MOST, "{late:?}\n{}", run.stderr);
    assert!(!is_alive(&marker));
    assert_eq!(files(&run).len(), 1);
    let gate = &run.report()["gates"][0];
    assert_eq!((&gate["verdict"], &gate["output"]), (&json!("not-run"), &json!("")), "{gate}");
    assert_eq!(gate["ending"], "the time limit of the run was reached");
    let junit = run.file("junit.xml");
    assert!(junit.contains("<skipped") && !junit.contains("<failure"), "{junit}");
}
