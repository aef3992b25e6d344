//! Rules on what calls do and on what really changes, in both modes.
#![cfg(unix)]

use crate::support::{Run, Sandbox, command, git};
use serde_json::{Value, json};

type Call = (&'static str, Value);

fn write(path: &str, content: &str) -> Call {
    ("write_file", json!({"path": path, "content": content}))
}

/// Runs the calls one after the other, planned and for real; what the model is told has to be the same.
fn both(config: &str, files: &[(&str, &str)], calls: &[Call], check: impl Fn(&Run, &Sandbox, bool)) {
    for mode in ["dry-run", "yolo"] {
        let all: Vec<(&str, &str)> =
            [(".architect.yml", config)].into_iter().chain(files.iter().copied()).collect();
        let sandbox = Sandbox::new(&all);
        let turns: Vec<Vec<Call>> = calls.iter().cloned().map(|call| vec![call]).collect();
        let model = sandbox.script(&turns, "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]);
        check(&run, &sandbox, mode == "dry-run");
    }
}

fn reasons(run: &Run) -> Vec<String> {
    let report = run.report();
    report["guardrails"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["reason"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn guardrail_limits_ignore_refused_calls() {
    let config = "guardrails: { max_files_modified: 2, max_lines_changed: 6, max_commands_executed: 2 }\n";
    let calls = [
        write("a.txt", "1\n2\n"),
        write("b.txt", "1\n"),
        write("c.txt", "one file too many\n"),
        write("a.txt", "1\n2\n3\n4\n5\n6\n7\n"),
        write("b.txt", "1\n2\n3\n4\n"),
        write("b.txt", "1\n2\n3\n4\n5\n"),
        command("ls"),
        command("curl evil.example"),
        command("ls -a"),
        command("ls -l"),
    ];
    both(config, &[], &calls, |run, sandbox, dry_run| {
        assert_eq!(run.code, 0, "{}", run.stderr);
        assert_eq!(
            reasons(run),
            [
                "3 files would be modified, but the limit is 2 (max_files_modified)",
                "8 lines would be changed, but the limit is 6 (max_lines_changed)",
                "7 lines would be changed, but the limit is 6 (max_lines_changed)",
                "Command classified as 'dangerous' and allowed_only=true: 'curl' contacts another machine. Use the tool `fetch_url`, or let a step of the workflow fetch it before the run.",
                "the limit of 2 commands was reached (max_commands_executed)",
            ]
        );
        let results = run.results();
        assert!(
            results[4].contains(if dry_run {
                "[DRY-RUN] Would execute: write_file"
            } else {
                "Updated b.txt (+3 −0 at line 2)"
            }),
            "{}",
            results[4]
        );
        assert_eq!(
            results[2],
            "Error: Guardrail: 3 files would be modified, but the limit is 2 (max_files_modified)"
        );
        let files: Vec<String> = run.report()["files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| format!("{} {}", file["path"].as_str().unwrap(), file["lines"]["added"]))
            .collect();
        assert_eq!(files, ["a.txt 2", "b.txt 4"]);
        if !dry_run {
            assert_eq!(
                (sandbox.read("a.txt").as_str(), sandbox.read("b.txt").as_str()),
                ("1\n2\n", "1\n2\n3\n4\n")
            );
            assert!(!sandbox.repo().join("c.txt").exists());
        }
        for file in ["comment.md", "junit.xml"] {
            assert!(run.file(file).contains("max_files_modified"), "{file}");
        }
    });
}

#[test]
fn guardrail_code_rules_apply_to_every_tool() {
    let config = "workspace: { allow_delete: true }\nguardrails:\n  code_rules:\n    - { pattern: '\\beval\\(', message: do not use eval, severity: block }\n    - { pattern: 'TODO|FIXME$', message: no loose ends }\n";
    let files = [("old.js", "eval(1) // was there before\nlet a = 1\n")];
    let patch = "@@ -2 +2 @@\n-let a = 1\n+let a = eval(2)\n";
    let calls = [
        write("new.js", "let b = eval(3)\n"),
        ("edit_file", json!({"path": "old.js", "old_str": "let a = 1", "new_str": "let a = eval(1)"})),
        ("apply_patch", json!({"path": "old.js", "patch": patch})),
        ("edit_file", json!({"path": "old.js", "old_str": "let a = 1", "new_str": "let a = 2 // TODO"})),
        ("edit_file", json!({"path": "old.js", "old_str": "eval(1) // was there before\n", "new_str": ""})),
        write("old.js", "let c = 'evaluate(1)'\n"),
        command("echo 'eval(9)' > made.js"),
    ];
    both(config, &files, &calls, |run, sandbox, dry_run| {
        assert_eq!(run.code, 0, "{}", run.stderr);
        let results = run.results();
        for (result, path) in results[..3].iter().zip(["new.js", "old.js", "old.js"]) {
            assert_eq!(
                *result,
                format!("Error: Guardrail: {path}: do not use eval (code_rules: \\beval\\()")
            );
        }
        assert!(
            results[3].contains("[Guardrail warning: old.js: no loose ends (code_rules: TODO|FIXME$)]"),
            "{}",
            results[3]
        );
        // What goes, and what only looks like it, is no reason.
        assert!(
            !results[4].starts_with("Error") && !results[5].starts_with("Error"),
            "{} {}",
            results[4],
            results[5]
        );
        if dry_run {
            assert_eq!(sandbox.tree().len(), 2);
        } else {
            assert!(results[6].starts_with("Error: Guardrail: made.js: do not use eval"), "{}", results[6]);
            assert!(results[6].contains("none of the changes of the command were kept"), "{}", results[6]);
            assert!(!sandbox.repo().join("made.js").exists());
            assert_eq!(sandbox.read("old.js"), "let c = 'evaluate(1)'\n");
        }
    });
}

#[test]
fn guardrail_reminds_once_of_missing_tests() {
    let config = "guardrails: { require_test_after_edit: true }\nevaluation: off\n";
    for (calls, asked) in [
        (vec![write("a.txt", "x\n")], true),
        (vec![write("a.txt", "x\n"), command("pytest -q || true")], false),
        (vec![command("pytest -q || true"), write("a.txt", "x\n")], true),
        (vec![write("a.txt", "x\n"), command("git status")], true),
        (vec![("read_file", json!({"path": ".architect.yml"}))], false),
        (vec![write(".git/x", "refused")], false),
    ] {
        let sandbox = Sandbox::new(&[(".architect.yml", config)]);
        let turns: Vec<Vec<Call>> = calls.iter().cloned().map(|call| vec![call]).collect();
        let model = sandbox.script(&turns, "done");
        // What is said when asked; left over where nobody asks.
        let path = model.trim_start_matches("replay::");
        let more = json!({"type": "reply", "agent": "build", "step": 9, "text": "there are no tests"});
        std::fs::write(path, format!("{}{more}\n", std::fs::read_to_string(path).unwrap())).unwrap();
        let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
        let expected = if asked { "there are no tests\n" } else { "done\n" };
        assert_eq!(run.stdout, expected, "{calls:?}");
    }
}

#[test]
fn guardrail_invalid_rules_are_named() {
    for (config, says) in [
        (
            "guardrails: { blocked_commands: ['('] }\n",
            "`guardrails.blocked_commands`: invalid regular expression \"(\"",
        ),
        (
            "guardrails: { code_rules: [{ pattern: '[', message: x }] }\n",
            "`guardrails.code_rules`: invalid regular expression \"[\"",
        ),
        ("guardrails: { code_rules: [{ pattern: x, message: x, severity: fatal }] }\n", "severity"),
        ("guardrails: { max_files_modified: 0 }\n", "use a number from 1 to"),
        ("commands: { default_timeout: 601 }\n", "use a number from 1 to 600"),
        ("hooks: { pre_tool_used: [] }\n", "pre_tool_used"),
    ] {
        let sandbox = Sandbox::new(&[(".architect.yml", config)]);
        let model = sandbox.script(&[], "done");
        let run = sandbox.run(&["--model", &model], &[]).expect_code(3);
        assert!(run.stderr.contains(says), "{config}: {}", run.stderr);
    }
}

#[test]
fn guardrails_protect_the_repository_whatever_folder_is_the_workspace() {
    let config = "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\nguardrails:\n  protected_files: \
                  ['infra/**']\n  sensitive_files: ['infra/prod/secret.txt', 'pkg/key.txt']\n";
    let files = [
        (".github/architect.yml", config),
        (".github/workflows/ci.yml", "on: push\n"),
        (".github/actions/build/index.js", "build()\n"),
        ("infra/prod/main.tf", "one\n"),
        ("infra/prod/secret.txt", "S3CRET\n"),
        ("pkg/key.txt", "S3CRET\n"),
    ];
    let cases = [
        (".github", write("workflows/evil.yml", "on: push\n"), "always protected"),
        (".github", write("architect.yml", "hooks: {}\n"), "it configures this tool"),
        (".github", command("echo x >> workflows/ci.yml"), "always protected"),
        (".github/actions/build", write("index.js", "evil()\n"), "always protected"),
        ("infra/prod", write("main.tf", "two\n"), "protected_files: infra/**"),
        (
            "infra/prod",
            ("read_file", json!({"path": "secret.txt"})),
            "sensitive_files: infra/prod/secret.txt",
        ),
        ("pkg", command("cat key.txt"), "sensitive_files: pkg/key.txt"),
        ("pkg", command("bash -c 'cat k*.txt; git show HEAD:pkg/key.txt'"), ""),
        ("pkg", write("main.tf", "two\n"), ""),
    ];
    for mode in ["dry-run", "yolo"] {
        for (workspace, call, reason) in &cases {
            let sandbox = Sandbox::new(&files);
            let model = sandbox.script(&[vec![call.clone()]], "done");
            let config = sandbox.repo().join(".github/architect.yml");
            let folder = sandbox.repo().join(workspace);
            let args = ["--model", &model, "--mode", mode, "--config", config.to_str().unwrap()];
            let run = sandbox.run(&[&args[..], &["--workspace", folder.to_str().unwrap()]].concat(), &[]);
            let result = &run.results()[0];
            assert!(result.contains(reason), "{mode} {workspace}: {result}");
            assert!(reason.is_empty() || !reasons(&run).is_empty(), "{mode} {workspace}: {result}");
            assert!(
                call.0 == "run_command" || result.starts_with("Error") != reason.is_empty(),
                "{mode} {workspace}: {result}"
            );
            assert!(!result.contains("S3CRET"), "{mode} {workspace}: {result}");
            for (file, content) in files {
                assert_eq!(sandbox.read(file), content, "{mode} {workspace}: {file}");
            }
            assert!(!sandbox.repo().join(".github/workflows/evil.yml").exists(), "{mode}");
        }
    }
}

/// A workspace may hold several checkouts, as `actions/checkout` with `path` makes them, and linked worktrees.
#[test]
fn guardrails_protect_the_workflows_of_nested_checkouts() {
    let files = [
        (".architect.yml", "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\n"),
        (".gitignore", "/app\n/tree\n"),
        ("f.txt", "one\n"),
    ];
    let script = "printf evil > app/.github/workflows/ci.yml; mkdir -p tree/.github/actions/x; echo e > tree/.github/actions/x/action.yml";
    let calls = [
        write("app/.github/workflows/evil.yml", "on: push\n"),
        write("tree/.architect.yml", "hooks: {}\n"),
        command(&format!("bash -c '{script}'")),
        write("app/src/main.rs", "fn main() {}\n"),
    ];
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&files);
        let repo = sandbox.repo();
        git(&repo, &["init", "-q", "app"]);
        std::fs::create_dir_all(repo.join("app/.github/workflows")).unwrap();
        std::fs::write(repo.join("app/.github/workflows/ci.yml"), "on: push\n").unwrap();
        git(&repo, &["worktree", "add", "-q", "--detach", "tree"]);
        let model = sandbox.script(&[calls.to_vec()], "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]);
        let results = run.results();
        assert!(results[0].contains("workflows run with the repository's rights"), "{mode}: {}", results[0]);
        assert!(results[1].contains("it configures this tool"), "{mode}: {}", results[1]);
        assert!(results[2].contains("app/.github/workflows/ci.yml"), "{mode}: {}", results[2]);
        assert!(!results[3].starts_with("Error"), "{mode}: {}", results[3]);
        assert_eq!(sandbox.read("app/.github/workflows/ci.yml"), "on: push\n", "{mode}");
        assert!(!repo.join("app/.github/workflows/evil.yml").exists(), "{mode}");
        assert!(!repo.join("tree/.github").exists(), "{mode}");
        assert_eq!(sandbox.read("tree/.architect.yml"), files[0].1, "{mode}");
    }
}

/// A checkout is used on systems where names in other cases, or with other forms of the same letters, are one.
#[test]
fn guardrail_patterns_hold_for_every_spelling_of_a_name() {
    let config = "commands: { dev_commands: [bash] }\nguardrails: { protected_files: ['deploy/**', 'caf\u{e9}.txt'], sensitive_files: ['*.Secret'] }\n";
    let script =
        "mkdir -p Deploy; echo x > Deploy/a.sh; mkdir -p .GitHub/Workflows; echo x > .GitHub/Workflows/x.yml";
    let calls = [
        write("Deploy/prod.sh", "x\n"),
        write("deploy/Prod.sh", "x\n"),
        write("CAFE\u{301}.txt", "x\n"),
        write("a.SECRET", "x\n"),
        write(".GitHub/workflows/x.yml", "on: push\n"),
        write("deployed/a.sh", "x\n"),
        command("bash make.sh"),
    ];
    both(config, &[("make.sh", script)], &calls, |run, sandbox, _| {
        let results = run.results();
        for (at, told) in [
            (0, "deploy/**"),
            (1, "deploy/**"),
            (2, "caf\u{e9}.txt"),
            (3, "*.Secret"),
            (4, "workflows run with the repository's rights"),
            (6, "Deploy/a.sh"),
            (6, ".GitHub/Workflows/x.yml"),
        ] {
            assert!(results[at].contains(told), "{told}: {}", results[at]);
        }
        assert!(!results[5].contains("protected"), "{}", results[5]);
        assert!(!sandbox.repo().join("Deploy").exists() && !sandbox.repo().join(".GitHub").exists());
    });
}

#[test]
fn refused_call_about_many_files_says_how_the_others_are_changed() {
    let files = [(".github/workflows/ci.yml", "on: push # old\n"), ("a.txt", "old\n"), ("b.txt", "old\n")];
    let replace =
        |more: &str| ("replace_text", json!({"pattern": "old", "replacement": "new", "file_pattern": more}));
    both("{}\n", &files, &[replace("*"), replace("*,!.github/workflows/ci.yml")], |run, _, _| {
        let results = run.results();
        assert!(results[0].contains("add `!` and its path to file_pattern"), "{}", results[0]);
        assert!(results[1].contains("Replaced 2 places in 2 files"), "{}", results[1]);
    });
}
