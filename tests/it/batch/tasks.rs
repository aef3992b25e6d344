//! Tasks of a batch: each by itself, in its own folder and worktree, with literal values.

use std::fs;

use super::{RECIPE, ends, program, worktrees};
use crate::support::Sandbox;
use crate::support::model::{Answer, ModelServer};
use serde_json::{Value, json};

#[test]
fn batch_continues_after_task_failure() {
    let file = r#"
name: mixed
defaults: { mode: yolo, agent: build }
tasks:
  - { id: recipe, recipe: recipe.yml }
  - { id: planned, recipe: recipe.yml, mode: dry-run }
  - { id: model, task: "Greet {{nobody}}", model: "replay::greet.jsonl" }
  - { id: "pack {folder}", recipe: recipe.yml, folder: "{folder}", for_each: { folder: { folders_with: [setup.cfg] } } }
  - { id: missing, recipe: none.yml }
  - { id: gate, recipe: recipe.yml, gates: [{ name: never, command: "false" }] }
  - { id: blocked, recipe: evil.yml }
"#;
    let greet = [
        json!({"type": "reply", "agent": "build", "step": 1, "calls": [{"id": "1", "name": "write_file", "arguments": {"path": "hello.txt", "content": "hello\n"}}]}),
        json!({"type": "reply", "agent": "build", "step": 2, "text": "Greeted."}),
    ];
    let greet: String = greet.iter().map(|line| format!("{line}\n")).collect();
    let evil = "steps:\n- do: [{tool: write_file, with: {path: ../../../escaped, content: x}}]\n";
    let sandbox = Sandbox::new(&[
        ("batch.yml", file),
        ("recipe.yml", RECIPE),
        ("evil.yml", evil),
        ("greet.jsonl", &greet),
        ("a.py", "old\n"),
        ("one/setup.cfg", ""),
        ("one/b.py", "old\n"),
        ("two/setup.cfg", ""),
        ("two/c.py", "nothing\n"),
    ]);
    let before = sandbox.tree();
    let run = sandbox.batch(&[]).expect_code(1);
    assert_eq!(sandbox.tree(), before);
    assert_eq!(worktrees(&sandbox), 0);
    let report = run.json("batch.json");
    let expected = [
        ("blocked", "failed"),
        ("gate", "failed"),
        ("missing", "failed"),
        ("model", "success"),
        ("pack-one", "success"),
        ("pack-two", "success"),
        ("planned", "success"),
        ("recipe", "success"),
    ];
    assert_eq!(ends(&report), expected.map(|(id, end)| (id.to_owned(), end.to_owned())).into());
    assert!(run.stdout.starts_with("❌ mixed: 5 of 8 tasks done, 3 failed\n"), "{}", run.stdout);
    // Each patch is of its own task alone, and applies.
    for (id, files) in [
        ("recipe", "a.py one/b.py"),
        ("planned", "a.py one/b.py"),
        ("model", "hello.txt"),
        ("pack-one", "one/b.py"),
    ] {
        let patch = run.out.join("tasks").join(id).join("plan.patch");
        let stat = sandbox.git(&["apply", "--numstat", patch.to_str().unwrap()]);
        let names: Vec<&str> = stat.lines().filter_map(|line| line.split('\t').nth(2)).collect();
        assert_eq!(names.join(" "), files, "{id}");
        sandbox.git(&["apply", "--check", patch.to_str().unwrap()]);
    }
    assert!(run.file("tasks/model/log.txt").contains("write_file hello.txt"));
    assert_eq!(run.json("tasks/model/report.json")["task"], "Greet {nobody}");
    let comment = run.file("comment.md");
    assert!(comment.contains("2 files changed by more than one task"), "{comment}");
    let xml = run.file("junit.xml");
    let xml = roxmltree::Document::parse(&xml).expect("XML");
    let suite = xml.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!((suite.attribute("tests"), suite.attribute("failures")), (Some("8"), Some("3")));
    // The page's links lead to pages.
    let html = run.file("batch.html");
    let links: Vec<&str> = html.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    assert_eq!(links.len(), 7);
    assert!(links.iter().all(|link| run.out.join(link).is_file()), "{links:?}");
}

#[test]
fn batch_runs_many_tasks_concurrently() {
    let sandbox = Sandbox::new(&[]);
    sandbox.write("recipe.yml", RECIPE);
    let values: Vec<String> = (0..150).map(|n| n.to_string()).collect();
    let file = json!({"name": "many", "jobs": 24, "tasks": [{"id": "t{n}", "recipe": "recipe.yml", "for_each": {"n": {"values": values}}}]});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let run = sandbox.batch(&[]).expect_code(0);
    assert!(ends(&run.json("batch.json")).values().all(|end| end == "success"));
    assert_eq!(worktrees(&sandbox), 0);
}

#[test]
fn batch_hostile_values_stay_literal() {
    let names = [
        "a; touch pwned.py",
        "$(touch pwned).py",
        "::error::x.py",
        "-rf.py",
        "ünï\u{202e}.py",
        "a'b.py",
        "`touch pwned`.py",
    ];
    let file = "name: n\ntasks:\n- id: 'x {file}'\n  task: 'See {file}'\n  model: 'exec::sh model.sh {file}'\n  mode: yolo\n  \
                for_each: {file: {files: ['*.py']}}\n  gates: [{name: 'there {file}', command: 'test -f ./{file}'}]\n";
    let model = "read -r x; test -f \"./$1\" || exit 1; echo '{\"text\": \"::set-output name=x::y\"}'\n";
    let sandbox = Sandbox::new(&[("batch.yml", file), ("model.sh", model)]);
    for name in names {
        sandbox.write(name, "x\n");
    }
    sandbox.commit("names");
    let run = program(
        &sandbox,
        &["batch", "batch.yml", "--out", sandbox.out().to_str().unwrap()],
        &[("GITHUB_ACTIONS", "true")],
    )
    .expect_code(0);
    let report = run.json("batch.json");
    assert_eq!(report["tasks"].as_array().unwrap().len(), names.len());
    assert!(!sandbox.repo().join("pwned").exists() && !sandbox.path().join("pwned").exists());
    // One that fails is an annotation.
    fs::remove_file(sandbox.repo().join("model.sh")).unwrap();
    sandbox.commit("without the model");
    let failed = program(
        &sandbox,
        &["batch", "batch.yml", "--out", sandbox.path().join("failed").to_str().unwrap()],
        &[("GITHUB_ACTIONS", "true")],
    )
    .expect_code(1);
    let annotations: Vec<&str> = failed.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
    assert_eq!(annotations.len(), names.len(), "{}", failed.stderr);
    assert!(annotations.iter().all(|line| line.starts_with("::error title=Task x-")), "{annotations:?}");
    for line in run.stderr.lines().filter(|line| line.trim_start().starts_with("::")) {
        assert!(line.starts_with("::group::") || line == "::endgroup::", "{line}");
    }
    assert!(run.stderr.contains("::group::[1/7]"), "{}", run.stderr);
    let shown = run.file("batch.md") + &run.file("tasks/x-n-py/report.md");
    assert!(!shown.contains('\u{202e}'));
}

#[test]
fn batch_takes_the_longest_list_that_a_command_may_print() {
    let sandbox = Sandbox::new(&[("recipe.yml", RECIPE)]);
    let list = |count: usize| {
        let lines = format!("seq --format packages/services/payments/%06.0f {count}");
        let task = json!({"id": "{n}", "recipe": "recipe.yml", "for_each": {"n": {"lines": lines}}});
        sandbox.write("batch.yml", json!({"name": "n", "tasks": [task]}).to_string());
        sandbox.commit("tasks");
        sandbox.batch(&["--matrix", "--shards", "256"])
    };
    let listed = list(100_000).expect_code(0).json("manifest.json");
    assert_eq!(listed["tasks"].as_array().expect("tasks").len(), 100_000);
    let refused = list(100_001).expect_code(3);
    assert!(refused.stderr.contains("100000"), "{}", refused.stderr);
}

#[test]
fn batch_rejects_invalid_input_before_start() {
    let sandbox = Sandbox::new(&[("recipe.yml", RECIPE)]);
    for (file, told) in [
        ("name: n\ntasks: [{id: a}]\n", "batch.yml: tasks[0]: nothing to do; set `task`"),
        ("name: n\ntasks: [{id: '{x}', task: y, for_each: {x: {lines: 'exit 3'}}}]\n", "`exit 3` failed"),
        (
            "name: n\ntasks: [{id: '{x}', task: y, for_each: {x: {lines: 'yes | head -c 40000000'}}}]\n",
            "prints more than 32 MiB",
        ),
        // It is ended at once, and not after five minutes.
        (
            "name: n\ntasks: [{id: '{x}', task: y, for_each: {x: {lines: 'yes'}}}]\n",
            "`yes` prints more than 32 MiB",
        ),
        ("name: n\n", "missing field `tasks`"),
        ("name: n\nname: m\ntasks: []\n", "duplicate"),
    ] {
        sandbox.write("batch.yml", file);
        let run = sandbox.batch(&[]).expect_code(3);
        assert!(run.stderr.contains(told), "{file}\n{}", run.stderr);
    }
    sandbox.write("batch.yml", "name: n\ntasks: []\n");
    assert!(sandbox.batch(&[]).expect_code(0).stdout.starts_with("✅ n: 0 of 0 tasks done"));
    for (args, told) in [
        (vec!["--shard", "3/2"], "I/N"),
        (vec!["--manifest", "m.json"], "remove one of them"),
        (vec!["--jobs", "0"], "a whole number from 1 to 64"),
    ] {
        let run = sandbox.batch(&args).expect_code(3);
        assert!(run.stderr.contains(told), "{args:?}\n{}", run.stderr);
    }
    // As a log of JSON, a line for each task; and nobody is asked anything.
    sandbox.write(
        "batch.yml",
        "name: n\ntasks: [{id: a, recipe: recipe.yml}, {id: b, recipe: recipe.yml, mode: confirm-all}]\n",
    );
    let run = sandbox.batch(&["--log-format", "json"]).expect_code(1);
    let lines: Vec<Value> =
        run.stderr.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let tasks: Vec<&str> = lines.iter().filter_map(|line| line["task"].as_str()).collect();
    assert_eq!(tasks.len(), 2, "{}", run.stderr);
    assert!(run.stderr.contains("`mode` is `confirm-all`"), "{}", run.stderr);
    let run = program(&sandbox, &["batch", "none.yml"], &[]).expect_code(3);
    assert!(run.stderr.contains("the batch file none.yml does not exist"), "{}", run.stderr);
    // A list that somebody has tampered with.
    let task = |id: &str| json!({"id": id, "size": 1, "entry": {"recipe": "recipe.yml"}});
    for ids in [vec!["../x"], vec!["a", "a"], vec![""]] {
        let tasks: Vec<Value> = ids.iter().map(|id| task(id)).collect();
        let list = json!({"schema_version": 1, "name": "n", "commit": "a".repeat(40), "file_sha256": "", "budget_usd": null, "timeout": null, "tasks": tasks});
        sandbox.write("m.json", list.to_string());
        let run = program(&sandbox, &["batch", "--manifest", "m.json"], &[]).expect_code(3);
        assert!(run.stderr.contains("invalid or duplicate id"), "{}", run.stderr);
    }
    let elsewhere = Sandbox::without_git(&[("batch.yml", "name: n\ntasks: []\n")]);
    let run = elsewhere.batch(&[]).expect_code(3);
    assert!(run.stderr.contains("a batch needs a Git repository"), "{}", run.stderr);
}

#[test]
fn batch_tells_files_of_different_folders_apart() {
    let file = "name: folders\ndefaults: {mode: dry-run}\ntasks:\n- id: 'f {file_dir}'\n  recipe: recipe.yml\n  folder: '{file_dir}'\n  for_each: {file: {files: ['*/mod.py']}}\n";
    let recipe = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: one, with: two}}]\n";
    let sandbox = Sandbox::new(&[
        ("recipe.yml", recipe),
        ("batch.yml", file),
        ("pkg0/mod.py", "one\n"),
        ("pkg1/mod.py", "one\n"),
    ]);
    let run = sandbox.batch(&[]).expect_code(0);
    let report = run.json("batch.json");
    assert_eq!(report["tasks"][0]["files"][0]["path"], "pkg0/mod.py");
    assert_eq!(report["tasks"][1]["files"][0]["path"], "pkg1/mod.py");
    assert!(!run.file("batch.md").contains("changed by more than one task"), "{}", run.file("batch.md"));
}

#[test]
fn batch_counts_the_tasks_of_a_file_that_it_does_not_name() {
    let file = "name: same\ndefaults: {mode: dry-run, recipe: recipe.yml}\ntasks:\n- id: 't {n}'\n  for_each: {n: {values: [a, b, c, d, e, f, \
                g, h, i, j, k, l]}}\n";
    let recipe = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: one, with: two}}]\n";
    let sandbox = Sandbox::new(&[("recipe.yml", recipe), ("batch.yml", file), ("a.py", "one\n")]);
    let run = sandbox.batch(&[]).expect_code(0);
    let told = run.file("batch.md");
    assert!(told.contains("`t-i`, `t-j` and 2 more\n"), "{told}");
    // Whoever looks for the report finds the page as well.
    assert!(run.stdout.contains("batch.json\n") && run.stdout.ends_with("batch.html\n"), "{}", run.stdout);
}

#[test]
fn batch_gives_agents_the_guides_down_to_their_folder() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", "evaluation: off\n"),
        ("AGENTS.md", "For all.\n"),
        ("app/CLAUDE.md", "For app.\n"),
        ("app/web/AGENTS.md", "For web.\n"),
        ("other/AGENTS.md", "For other.\n"),
    ]);
    let task = json!({"id": "t", "task": "Look", "folder": "app/web"});
    sandbox.write("batch.yml", json!({"name": "n", "tasks": [task]}).to_string());
    sandbox.commit("tasks");
    let server = ModelServer::start(vec![Answer::Text("done")]);
    sandbox.batch(&["--model", "openai::gpt-5", "--base-url", &server.url]).expect_code(0);
    let told = server.bodies().remove(0).to_string();
    let places: Vec<Option<usize>> =
        ["For all.", "For app.", "For web."].iter().map(|text| told.find(text)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{told}");
    assert!(!told.contains("For other."), "{told}");
}

#[test]
fn batch_protects_files_whatever_folder_a_task_has() {
    let file = "name: actions\ndefaults: {mode: dry-run}\ntasks:\n- id: 'p {folder}'\n  recipe: recipe.yml\n  folder: '{folder}'\n  for_each: {folder: {folders_with: [package.json]}}\n";
    let recipe = "steps:\n- files: ['*.js']\n  do: [{replace: {pattern: one, with: two}}]\n";
    let sandbox = Sandbox::new(&[
        ("recipe.yml", recipe),
        ("batch.yml", file),
        (".github/actions/build/package.json", "{}\n"),
        (".github/actions/build/index.js", "one\n"),
        ("web/package.json", "{}\n"),
        ("web/index.js", "one\n"),
    ]);
    let run = sandbox.batch(&[]);
    let report = run.json("batch.json");
    let tasks = report["tasks"].as_array().unwrap();
    let files = tasks.iter().filter_map(|task| task["files"].as_array()).flatten();
    let changed: Vec<&serde_json::Value> = files.map(|file| &file["path"]).collect();
    assert_eq!(changed, ["web/index.js"], "{report}");
    let transcript = |task: &serde_json::Value| {
        let id = task["id"].as_str().unwrap();
        run.file(&format!("tasks/{id}/transcript.jsonl"))
    };
    let refused: String = tasks.iter().map(transcript).collect();
    assert!(refused.contains("always protected"), "{refused}");
}
