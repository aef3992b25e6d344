//! Steps that change files and run commands, in both modes.

use super::files;
use crate::support::{Run, Sandbox, tree};
use serde_json::json;

#[test]
fn recipe_changes_matching_files_in_both_modes() {
    let [planned, done] = ["dry-run", "yolo"].map(|mode| {
        let sandbox = Sandbox::new(&files());
        let before = sandbox.tree();
        // Without a task, which the recipe's description stands for.
        let run = sandbox
            .command(&["run", "--mode", mode, "--model", "recipe::recipe.yml"])
            .args([
                "--workspace".as_ref(),
                sandbox.repo().as_os_str(),
                "--out".as_ref(),
                sandbox.out().as_os_str(),
            ])
            .output()
            .expect("the binary runs");
        let run = crate::support::Run::new(&run, sandbox.out()).expect_code(0);
        if mode == "dry-run" {
            assert_eq!(sandbox.tree(), before);
            crate::support::git(
                &sandbox.repo(),
                &["apply", sandbox.out().join("plan.patch").to_str().unwrap()],
            );
        }
        let report = run.report();
        assert_eq!(report["task"], "Clocks know their time zone");
        assert_eq!(report["model"], "recipe::recipe.yml");
        assert!(
            report["message"].as_str().unwrap().starts_with("Completed: 3 files, 7 calls, 4 matches."),
            "{report}"
        );
        assert!(
            report["message"].as_str().unwrap().contains("edit_file on d.py: Error: old_str is not unique")
        );
        (tree(&sandbox.repo()), run.file("plan.patch"))
    });
    assert_eq!(planned, done);
    let text = |name: &str| String::from_utf8(done.0[name].clone()).unwrap();
    assert_eq!(
        text("a.py"),
        "from datetime import UTC, datetime\nx = datetime.now(UTC)\ny = datetime.now(UTC)\n"
    );
    assert_eq!(text("b c/$(touch x).py"), "from datetime import UTC, datetime\nz = datetime.now(UTC)\n");
    assert_eq!(text("legacy/a.py"), "x = datetime.utcnow()\n");
    assert_eq!(text("secret/.env.py"), "x = datetime.utcnow()\n");
    assert_eq!(text("CHANGES.md"), "Clocks know their zone; {file} and {file} are no names here.\n");
}

#[test]
fn recipe_commands_quote_file_names() {
    let recipe = "steps:\n- files: ['*.sh', '**/*.sh']\n  do: [{tool: run_command, with: {command: 'wc -l {file}'}}]\n";
    let name = "it's; touch pwned $(touch pwned) `touch pwned`.sh";
    let sandbox = Sandbox::new(&[(name, "a\nb\n"), ("-rf.sh", "a\n"), ("recipe.yml", recipe)]);
    let run = sandbox.run(&["--mode", "yolo", "--model", "recipe::recipe.yml"], &[]);
    // A name that looks like an option is a file as well.
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!sandbox.repo().join("pwned").exists());
    assert_eq!(run.calls(), ["run_command executed true", "run_command executed true"]);
    assert!(run.results()[1].contains(&format!("2 {name}")), "{:?}", run.results());
}

#[test]
fn recipe_obeys_guardrails_and_gates() {
    let recipe = "steps:\n- do: [{tool: write_file, with: {path: .github/workflows/x.yml, content: x}}]\n";
    let sandbox = Sandbox::new(&[("recipe.yml", recipe)]);
    let run = sandbox.run(&["--mode", "yolo", "--model", "recipe::recipe.yml"], &[]).expect_code(1);
    assert_eq!(run.report()["guardrails"].as_array().unwrap().len(), 1);
    assert_eq!(run.report()["stop_reason"], "recipe_failed");

    let recipe = "steps:\n- do: [{tool: write_file, with: {path: a.txt, content: wrong}}]\n";
    let gates = "guardrails:\n  quality_gates: [{name: right, command: grep right a.txt}]\n";
    let sandbox = Sandbox::new(&[("recipe.yml", recipe), (".architect.yml", gates)]);
    let run = sandbox.run(&["--model", "recipe::recipe.yml"], &[]).expect_code(1);
    let report = run.report();
    assert_eq!((&report["stop_reason"], &report["gates"][0]["round"]), (&json!("gates_failed"), &json!(1)));
}

#[test]
fn recipe_of_many_files_takes_step_per_action() {
    let sandbox = Sandbox::new(&[
        ("recipe.yml", "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: a, with: b}}]\n"),
        // A replay remembers all of it.
        (".architect.yml", "context: { max_context_tokens: 1000000 }\n"),
    ]);
    for n in 0..1_100 {
        let rest: String = (0..100).map(|line| format!("{line}\n")).collect();
        sandbox.write(&format!("{n}.txt"), format!("a\n{rest}a\n"));
    }
    let run = sandbox.run(&["--model", "recipe::recipe.yml"], &[]).expect_code(0);
    let report = run.report();
    assert_eq!(report["steps"].as_array().unwrap().len(), 2);
    assert_eq!(report["files"].as_array().unwrap().len(), 1_100);
    assert_eq!(report["plan"]["actions"].as_array().unwrap().len(), 1_100);
    // Pages list what somebody could read.
    assert!(run.file("report.html").contains("… and 100 more files, which are in report.json"));
    // The turn is handed out in parts, which a replay puts together again.
    let transcript = run.file("transcript.jsonl");
    let replies: Vec<serde_json::Value> = transcript
        .lines()
        .filter(|line| line.contains("\"type\":\"reply\""))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let goes_on: Vec<bool> = replies.iter().map(|reply| reply["continues"] == true).collect();
    assert_eq!(goes_on, [&[true; 10][..], &[false; 2]].concat());
    let copy = sandbox.path().join("copy.jsonl");
    std::fs::write(&copy, transcript).unwrap();
    let model = format!("replay::{}", copy.display());
    let again = sandbox.run(&["--model", &model, "--max-steps", "2"], &[]).expect_code(0).report();
    assert_eq!(again["steps"].as_array().unwrap().len(), 2);
    assert_eq!(again["files"], report["files"]);
}

#[test]
fn recipe_of_much_text_is_told_in_part_and_planned_as_a_whole() {
    let sandbox = Sandbox::new(&[(
        "recipe.yml",
        "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: a, with: b}}]\n",
    )]);
    // Every line of 300 kB changes.
    let text: String = (0..100).map(|line| format!("{line:0>500} a\n")).collect();
    for n in 0..6 {
        sandbox.write(&format!("{n}.txt"), &text);
    }
    sandbox.commit("texts");
    let run = sandbox.run(&["--model", "recipe::recipe.yml"], &[]).expect_code(0);
    let (report, plan) = (run.report(), run.json("plan.json"));
    let cut = "(in plan.patch)\n";
    for list in [&report["files"], &report["plan"]["actions"], &plan["actions"]] {
        let diffs: Vec<&str> =
            list.as_array().unwrap().iter().map(|one| one["diff"].as_str().unwrap()).collect();
        assert_eq!(diffs.len(), 6);
        assert_eq!((diffs[0] == cut, diffs[5]), (false, cut));
    }
    assert_eq!(plan["actions"][5]["tool_input"]["content"], cut);
    assert!(plan["files"][5]["patch"].as_str().unwrap().len() > 100_000);
    let digest = plan["digest"].as_str().unwrap();
    sandbox.git(&["apply", "--check", &run.out.join("plan.patch").display().to_string()]);
    let path = run.out.join("plan.json").display().to_string();
    let out = sandbox.path().join("applied");
    let mut apply = sandbox.command(&["apply", &path, "--digest", digest, "--out", out.to_str().unwrap()]);
    Run::new(&apply.current_dir(sandbox.repo()).output().unwrap(), out).expect_code(0);
    assert_eq!(sandbox.read("5.txt"), text.replace(" a\n", " b\n"));
}

#[test]
fn recipe_errors_are_found_before_start() {
    let sandbox = Sandbox::new(&[("recipe.yml", "steps:\n- do: [{tol: x}]\n")]);
    let run = sandbox.run(&["--model", "recipe::recipe.yml"], &[]).expect_code(3);
    assert!(run.stderr.contains("did you mean `tool`?"), "{}", run.stderr);
    let run = sandbox.run(&["--model", "recipe::other.yml"], &[]).expect_code(3);
    assert!(run.stderr.contains("other.yml"), "{}", run.stderr);
}

#[test]
fn recipe_runs_same_command_for_many_files() {
    let recipe = "steps:\n- files: ['*.txt']\n  do:\n  - replace: { pattern: old, with: new }\n  - { tool: run_command, with: { command: 'true' } }\n";
    let sandbox = Sandbox::new(&[("recipe.yml", recipe)]);
    for n in 0..8 {
        sandbox.write(&format!("{n}.txt"), "old\n");
    }
    let run = sandbox.run(&["--mode", "yolo", "--model", "recipe::recipe.yml"], &[]).expect_code(0);
    assert_eq!(
        run.calls().iter().filter(|call| call.contains("run_command")).count(),
        8,
        "{:?}",
        run.calls()
    );
    assert_eq!(sandbox.read("7.txt"), "new\n");
}

#[test]
fn recipe_edits_write_what_they_make_byte_for_byte() {
    // What is forgiven a model, which quotes from memory, would be wrong here.
    let rows = [
        ("lf.txt", "a\r\nb\r\n", ("\\r\\n", "\n"), "a\nb\n"),
        ("crlf.txt", "a\nb\n", ("\\n", "\r\n"), "a\r\nb\r\n"),
        ("fence.cfg", "```\nold\n```\n", ("old", "new"), "```\nnew\n```\n"),
        (
            "words.yml",
            "Here is the file:\n```yaml\nold\n```\n",
            ("old", "new"),
            "Here is the file:\n```yaml\nnew\n```\n",
        ),
        (
            "rest.js",
            "old()\n// ... rest of the code unchanged ...\n",
            ("old", "run"),
            "run()\n// ... rest of the code unchanged ...\n",
        ),
        ("added.js", "old()\n", ("old.*", "// ... existing code ..."), "// ... existing code ...\n"),
        ("numbers.cfg", "1 | a\n2 | old\n", ("old", "new"), "1 | a\n2 | new\n"),
        (
            "patch.txt",
            "*** Begin Patch\n*** Delete File: old\n*** End Patch\n",
            ("old", "new"),
            "*** Begin Patch\n*** Delete File: new\n*** End Patch\n",
        ),
        ("escaped.py", "old\n", ("old", "a = 1\\nb = &lt;2&gt;"), "a = 1\\nb = &lt;2&gt;\n"),
        ("mark.txt", "\u{feff}old\n", ("old", "new"), "\u{feff}new\n"),
        ("invisible.txt", "a\u{200b}old\n", ("old", "\\u200b"), "a\u{200b}\\u200b\n"),
        ("end.txt", "old\n\n\n", ("old\\s*", "new"), "new"),
    ];
    let steps = rows.map(|(name, _, (pattern, with), _)| {
        json!({"files": [name], "do": [{"replace": {"pattern": pattern, "with": with}}]})
    });
    let recipe = json!({ "steps": steps }).to_string();
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&[]);
        for (name, before, ..) in rows {
            sandbox.write(name, before);
        }
        sandbox.write("recipe.yml", &recipe);
        sandbox.commit("files");
        sandbox.run(&["--mode", mode, "--model", "recipe::recipe.yml"], &[]).expect_code(0);
        if mode == "dry-run" {
            let patch = sandbox.out().join("plan.patch");
            crate::support::git(&sandbox.repo(), &["apply", patch.to_str().unwrap()]);
        }
        for (name, _, _, after) in rows {
            assert_eq!(sandbox.read(name), after, "{mode}: {name}");
        }
    }
}
