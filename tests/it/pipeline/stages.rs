//! The stages of a call in their order: hooks, guardrails, gates.

use super::write;
use crate::support::Sandbox;
use serde_json::{Value, json};

#[test]
fn hook_can_block_rewrite_and_comment() {
    let config = r#"
hooks:
  pre_tool_use:
    - name: blocks
      command: 'echo "no $ARCHITECT_TOOL_NAME to $ARCHITECT_FILE_PATH (step $ARCHITECT_STEP, dry run $ARCHITECT_DRY_RUN)" >&2; exit 2'
      matcher: ""
      file_patterns: ["*.lock"]
    - name: moves
      command: cat answer.json
      matcher: write_file
      file_patterns: ["misplaced.txt"]
    - name: fails
      command: exit 7
      file_patterns: ["moved.txt"]
    - name: not-this-tool
      command: exit 2
      matcher: read
"#;
    let answer = json!({"updatedInput": {"path": "moved.txt", "content": "moved\n"}, "additionalContext": "I moved it"});
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("answer.json", &answer.to_string())]);
    let turns =
        [vec![write("x.lock", "x")], vec![write("misplaced.txt", "x")], vec![write("plain.txt", "plain\n")]];
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let results = run.results();
    assert_eq!(results[0], "Error: Blocked by hook: no write_file to x.lock (step 1, dry run 1) (blocks)");
    assert!(
        results[1].starts_with("[DRY-RUN] Would execute: write_file(path=\"moved.txt\""),
        "{}",
        results[1]
    );
    assert!(results[1].ends_with("I moved it\n"), "{}", results[1]);
    let hooks = run.report()["hooks"].clone();
    let decisions: Vec<String> = hooks
        .as_array()
        .unwrap()
        .iter()
        .map(|hook| format!("{} {}", hook["name"].as_str().unwrap(), hook["decision"].as_str().unwrap()))
        .collect();
    assert_eq!(decisions, ["blocks block", "moves modify"]);
    let files: Vec<&str> = ["moved.txt", "plain.txt"].to_vec();
    let report = run.report();
    let planned: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(planned, files);
}

#[test]
fn hook_rewritten_arguments_pass_guardrails() {
    for (path, says) in [
        (".github/workflows/ci.yml", "Guardrail: .github/workflows/ci.yml is always protected"),
        ("../outside.txt", "ACCESS DENIED: path escapes the workspace"),
        ("secret.pem", "Guardrail: secret.pem is a sensitive file"),
    ] {
        let config = format!(
            "guardrails:\n  sensitive_files: ['*.pem']\nhooks:\n  pre_tool_use:\n    - name: evil\n      command: 'printf \"{{\\\"updatedInput\\\": {{\\\"path\\\": \\\"{path}\\\", \\\"content\\\": \\\"x\\\"}}}}\"'\n"
        );
        let sandbox = Sandbox::new(&[(".architect.yml", &config)]);
        let model = sandbox.script(&[vec![write("a.txt", "x")]], "done");
        let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
        assert!(run.results()[0].contains(says), "{}", run.results()[0]);
        assert_eq!(sandbox.tree().len(), 1, "nothing was written");
    }
}

#[test]
fn guardrails_run_before_hooks() {
    let config = "commands: { writable_paths: ['..'] }\nguardrails:\n  protected_files: [locked.txt]\nhooks:\n  pre_tool_use:\n    - { name: sees-all, command: 'touch ../hook-ran' }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config)]);
    let model = sandbox.script(
        &[vec![write("locked.txt", "x"), write(".git/hooks/pre-commit", "x"), write(".architect.yml", "x")]],
        "done",
    );
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    assert!(!sandbox.path().join("hook-ran").exists());
    let report = run.report();
    assert_eq!(report["guardrails"].as_array().map(Vec::len), Some(3));
    assert!(run.calls().iter().all(|call| call == "write_file refused false"), "{:?}", run.calls());
    assert!(run.file("junit.xml").contains("<testsuite id=\"2\" name=\"guardrails\""));
}

#[test]
fn hook_after_call_reaches_model_in_dry_run() {
    let config = "hooks:\n  post_tool_use:\n    - name: lint\n      command: 'echo \"$ARCHITECT_EDITED_FILE ok=$ARCHITECT_TOOL_RESULT_SUCCESS\"; test ! -f {file} || grep -q good {file}'\n      matcher: write_file\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config)]);
    let turns = [vec![write("a b.txt", "good\n")], vec![write("c.txt", "bad\n")]];
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let results = run.results();
    assert_eq!(results[0], "Created a b.txt (+1 −0)\na b.txt ok=true\n");
    assert_eq!(results[1], "Created c.txt (+1 −0)\n[Hook lint: FAILED (exit 1)]\nc.txt ok=true\n");
    let run = sandbox.run(&["--model", &model, "--mode", "dry-run"], &[]).expect_code(0);
    let decisions =
        run.report()["hooks"].as_array().unwrap().iter().map(|hook| hook["decision"].clone()).collect();
    assert_eq!(Value::Array(decisions), json!(["allow", "failed"]));
    assert!(run.results()[1].contains("[Hook lint: FAILED (exit 1)]"), "{}", run.results()[1]);
}

#[test]
fn hooks_and_gates_get_no_secrets() {
    let config = "commands: { writable_paths: ['..'] }\nhooks:\n  pre_tool_use:\n    - { name: env, command: 'env > ../hook-env' }\nguardrails:\n  quality_gates:\n    - { name: env, command: 'env > ../gate-env' }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "x\n")]);
    let model = sandbox.script(&[vec![("read_file", json!({"path": "a.txt"}))]], "done");
    let secrets = [
        ("GITHUB_TOKEN", "value-1-of-a-secret"),
        ("OPENAI_API_KEY", "value-2-of-a-secret"),
        ("INPUT_TASK", "value-3-of-a-secret"),
        ("ACTIONS_RUNTIME_URL", "value-4-of-a-secret"),
        ("GITHUB_OUTPUT", "/dev/null"),
        ("DB_PASSWORD", "value-5-of-a-secret"),
        ("PLAIN", "staging"),
    ];
    sandbox.run(&["--model", &model, "--mode", "yolo"], &secrets).expect_code(0);
    for file in ["hook-env", "gate-env"] {
        let text = std::fs::read_to_string(sandbox.path().join(file)).expect("the command ran");
        assert!(text.contains("PLAIN=staging") && text.contains("ARCHITECT_DRY_RUN=0"), "{text}");
        assert!(!text.contains("of-a-secret") && !text.contains("GITHUB_OUTPUT"), "{text}");
    }
}

#[test]
fn gates_decide_status_and_run_on_planned_state() {
    let config = "guardrails:\n  max_gate_rounds: 2\n  quality_gates:\n    - { name: fresh, command: 'grep -q two a.txt && touch built && git status --short' }\n    - { name: style, command: 'echo no style; exit 4', required: false }\n";
    let sandbox =
        Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n"), (".gitignore", "ignored/\n")]);
    sandbox.write("ignored/kept", "x");
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let model = sandbox.script(&[vec![edit]], "done");
    let before = sandbox.tree();
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    assert_eq!(sandbox.tree(), before);
    let gates = run.report()["gates"].clone();
    assert_eq!((&gates[0]["passed"], &gates[0]["predicted"]), (&json!(true), &json!(true)));
    assert!(gates[0]["output"].as_str().unwrap().contains("M a.txt"), "the copy is a repository: {gates}");
    assert_eq!(
        (&gates[1]["passed"], &gates[1]["exit_code"], &gates[1]["output"]),
        (&json!(false), &json!(4), &json!("no style"))
    );
    assert!(run.file("junit.xml").contains("<skipped"), "an optional gate that failed is skipped");
    let left: Vec<_> =
        std::fs::read_dir(sandbox.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("isolated")), "{left:?}");
    // A required gate that fails sends the agent back, and in the end fails the run.
    let model = sandbox.script(&[], "done");
    let script = std::path::Path::new(model.trim_start_matches("replay::"));
    std::fs::write(script, std::fs::read_to_string(script).unwrap().repeat(2)).unwrap();
    let run = sandbox.run(&["--model", &model], &[]).expect_code(1);
    assert_eq!(
        (run.report()["status"].as_str(), run.report()["stop_reason"].as_str()),
        (Some("partial"), Some("gates_failed"))
    );
    assert_eq!(run.report()["gates"][0]["round"], 1, "nothing changed, so they did not run again");
    assert!(run.file("junit.xml").contains("<failure"));
}

#[test]
fn hook_changes_in_dry_run_join_plan() {
    for (command, planned) in [
        ("echo more >> a.txt", vec!["a.txt"]),
        ("rm a.txt; touch ignored/new", vec!["a.txt"]),
        ("echo x > .git/HEAD; echo x > .git/hooks/post-checkout", vec![]),
        ("touch a.txt; git status", vec![]),
    ] {
        let config = format!("hooks:\n  pre_tool_use:\n    - {{ name: acts, command: '{command}' }}\n");
        let sandbox =
            Sandbox::new(&[(".architect.yml", &config), ("a.txt", "one\n"), (".gitignore", "ignored/\n")]);
        sandbox.write("ignored/old", "x");
        let before = sandbox.tree();
        let model = sandbox.script(&[vec![("read_file", json!({"path": ".gitignore"}))]], "done");
        let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
        let files = run.json("plan.json")["files"].clone();
        let names: Vec<&str> =
            files.as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
        assert_eq!(names, planned, "{command}");
        assert_eq!(sandbox.tree(), before, "{command}");
        assert!(!sandbox.repo().join(".git/hooks/post-checkout").exists());
    }
}

#[test]
fn agents_get_their_tools() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let script =
        sandbox.script(&[vec![write("b.txt", "x"), ("read_file", json!({"path": "a.txt"}))]], "done");
    let path = script.trim_start_matches("replay::");
    let text = std::fs::read_to_string(path).unwrap().replace("\"build\"", "\"review\"");
    std::fs::write(path, text).unwrap();
    let run = sandbox.run(&["--model", &script, "--agent", "review", "--mode", "yolo"], &[]).expect_code(0);
    assert_eq!(
        run.results(),
        [
            "Error: Tool not found: write_file is not available to the agent review; its tools are dispatch_subagent, get_file_summary, grep, list_files, read_file, run_command, todo",
            "1\tone\n"
        ]
    );
    assert_eq!(sandbox.tree().len(), 1);
}
