//! Files that rules about contents must not miss: what only other tools than Git ignore, what is too large to be read, and
//! links among what Git ignores.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{Run, Sandbox, command};

const RULES: &str = "commands: { dev_commands: [bash, python3] }\nguardrails:\n  code_rules:\n    - { pattern: 'eval\\(', \
                     message: no eval, severity: block }\n";

fn run(sandbox: &Sandbox, mode: &str, line: &str) -> Run {
    let model = sandbox.script(&[vec![command(line)]], "done");
    sandbox.run(&["--model", &model, "--mode", mode], &[])
}

#[test]
fn rules_are_about_every_file_that_git_would_take() {
    for (ignore_file, rule) in
        [(".ignore", "src/\n"), (".gitignore", "{src,doc}\n"), (".gitignore", "[src\nsrc\\\n")]
    {
        let sandbox = Sandbox::new(&[(".architect.yml", RULES), (ignore_file, rule), ("a.txt", "one\n")]);
        for mode in ["yolo", "dry-run"] {
            let run = run(&sandbox, mode, "bash -c 'mkdir -p src/deep && echo \"eval(1)\" > src/deep/a.py'");
            assert!(
                run.results()[0].contains("src/deep/a.py: no eval"),
                "{rule:?}, {mode}: {:?}",
                run.results()
            );
            assert!(!sandbox.repo().join("src/deep/a.py").exists(), "{rule:?}, {mode}");
        }
    }
}

#[test]
fn files_too_large_to_be_read_are_refused() {
    let line = "python3 -c 'open(\"large.py\", \"w\").write(\"eval(1)\" + \"#\" * 11_000_000)'";
    for (config, mode) in [RULES, "commands: { dev_commands: [python3] }\n"]
        .into_iter()
        .flat_map(|config| [(config, "yolo"), (config, "dry-run")])
    {
        let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
        let run = run(&sandbox, mode, line);
        assert!(run.results()[0].contains("large.py is larger than 10 MiB"), "{mode}: {:?}", run.results());
        assert!(!sandbox.repo().join("large.py").exists(), "{mode}: {:?}", run.results());
    }
}

#[test]
fn links_among_ignored_files_that_lead_outside_are_told_of() {
    let files = [(".architect.yml", RULES), (".gitignore", "*.log\nnode_modules/\n"), ("a.txt", "one\n")];
    let sandbox = Sandbox::new(&files);
    let line = "bash -c 'mkdir -p node_modules && ln -s /etc node_modules/x && ln -s ../.. up.log && ln -s a.txt in.log'";
    assert_eq!(links_told_of(&run(&sandbox, "yolo", line)), ["up.log"]);
    // What a gate runs may be a pull request's, and later steps of the job meet what it has left.
    let gate = "commands: { dev_commands: [bash] }\nguardrails:\n  quality_gates:\n    - { name: check, command: bash check.sh }\n";
    let sandbox = Sandbox::new(&[
        (".architect.yml", gate),
        (".gitignore", "*.log\n"),
        ("check.sh", "ln -sfn /etc/passwd gate.log; ln -sfn a.txt in.log\n"),
    ]);
    assert_eq!(links_told_of(&run(&sandbox, "yolo", "bash -c 'echo one > a.txt'")), ["gate.log"]);
}

#[test]
fn what_hooks_leave_at_the_end_is_judged_like_the_rest() {
    const TEST: &str = "def test_a():\n    assert len([1]) + 1 == 2\n";
    let script = "ln -sfn /etc/passwd hook.log; echo import pytest > new; echo @pytest.mark.skip >> new; cat test_a.py >> new; \
                  mv new test_a.py\n";
    let config = "evaluation: off\nhooks: { session_end: [{ name: last, command: bash last.sh }] }\n";
    let files = [
        (".architect.yml", config),
        (".gitignore", "*.log\n"),
        ("last.sh", script),
        ("test_a.py", TEST),
        ("a.txt", "one\n"),
    ];
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&files);
        let run = run(&sandbox, mode, "echo two > a.txt");
        let report = run.report();
        assert_eq!(report["stop_reason"], "tests_demand_less", "{mode}: {}", run.stderr);
        let told = "1 file changed while the session ended, after its gates and other checks: test_a.py";
        assert!(run.stderr.contains(told), "{mode}: {}", run.stderr);
        assert_eq!(links_told_of(&run), if mode == "yolo" { vec!["hook.log"] } else { vec![] }, "{mode}");
    }
}

/// Returns the links that a report says may lead outside.
fn links_told_of(run: &Run) -> Vec<String> {
    let report = run.report();
    let notices = report["notices"].as_array().expect("notices").iter();
    let told = notices.filter_map(|notice| notice["message"].as_str());
    let lists = told.filter(|message| message.contains("outside of the workspace"));
    lists.filter_map(|message| message.rsplit_once(": ")).map(|(_, links)| links.to_owned()).collect()
}

#[test]
fn outputs_of_commands_are_not_written_through_links_of_a_pull_request() {
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
        let outside = sandbox.path().join("outside");
        fs::create_dir_all(sandbox.repo().join("reports/command-output")).expect("a folder");
        symlink(&outside, sandbox.repo().join("reports/command-output/1.txt")).expect("a link");
        sandbox.commit("a link");
        let model = sandbox.script(&[vec![command("seq 1 100000")]], "done");
        let out = sandbox.repo().join("reports");
        let args = ["run", "--task", "x", "--model", &model, "--mode", mode, "--workspace", "repo", "--out"];
        let output = sandbox.command(&args).arg(&out).output().expect("the binary runs");
        let run = Run::new(&output, out);
        assert!(!outside.exists(), "{mode}");
        assert!(run.results()[0].contains("command-output/2.txt"), "{mode}: {:?}", run.results());
    }
}
