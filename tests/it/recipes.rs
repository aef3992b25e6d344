//! Recipes and programs as models: no model, the same pipeline.

use crate::support::{Sandbox, tree};
use serde_json::{Value, json};

const RECIPE: &str = r#"
description: Clocks know their time zone
steps:
  - files: ["**/*.py"]
    exclude: ["legacy/**"]
    containing: 'utcnow\(\)'
    do:
      - replace: { pattern: 'datetime\.utcnow\(\)', with: 'datetime.now(UTC)' }
      - tool: edit_file
        with: { path: "{file}", old_str: "import datetime", new_str: "import UTC, datetime" }
        optional: true
  - do:
      - tool: write_file
        with: { path: CHANGES.md, content: "Clocks know their zone; {file} and {{file}} are no names here.\n" }
"#;

fn files() -> Vec<(&'static str, &'static str)> {
    vec![
        ("a.py", "from datetime import datetime\nx = datetime.utcnow()\ny = datetime.utcnow()\n"),
        ("b c/$(touch x).py", "from datetime import datetime\nz = datetime.utcnow()\n"),
        ("d.py", "import datetime as dt, datetime\nimport datetime\nx = datetime.utcnow()\n"),
        ("legacy/a.py", "x = datetime.utcnow()\n"),
        ("other.py", "x = 1\n"),
        ("secret/.env.py", "x = datetime.utcnow()\n"),
        (".github/architect.yml", "guardrails:\n  sensitive_files: ['secret/**']\n"),
        ("recipe.yml", RECIPE),
    ]
}

#[test]
fn recipe_changes_matching_files_in_both_modes() {
    let [planned, done] = ["dry-run", "yolo"].map(|mode| {
        let sandbox = Sandbox::new(&files());
        let before = sandbox.tree();
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
    let sandbox = Sandbox::new(&[(
        "recipe.yml",
        "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: a, with: b}}]\n",
    )]);
    for n in 0..1_100 {
        let rest: String = (0..100).map(|line| format!("{line}\n")).collect();
        sandbox.write(&format!("{n}.txt"), format!("a\n{rest}a\n"));
    }
    let run = sandbox.run(&["--model", "recipe::recipe.yml"], &[]).expect_code(0);
    assert_eq!(run.report()["steps"].as_array().unwrap().len(), 2);
    assert_eq!(run.report()["files"].as_array().unwrap().len(), 1_100);
}

/// A model in Python: writes a file, then says what it was told.
const PROGRAM: &str = r#"
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    print("asked by", asked["agent"], file=sys.stderr)
    last = asked["messages"][-1]
    if last["role"] == "user":
        reply = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "hello\n"}}],
                 "usage": {"input": 10, "output": 2}}
    else:
        key = os.environ.get("MY_KEY", "no key")
        assert not [name for name in os.environ if name.startswith("GITHUB_TOKEN")]
        reply = {"text": f"{last['name']} {last['success']} {len(asked['tools']) > 10} {len(key)}"}
    print(json.dumps(reply), flush=True)
"#;

#[test]
fn exec_model_speaks_json_lines() {
    let sandbox = Sandbox::new(&[("model.py", PROGRAM), (".architect.yml", "evaluation: off\n")]);
    let run = sandbox
        .run(
            &["--mode", "yolo", "--model", "exec::python3 model.py", "--api-key-env", "MY_KEY"],
            &[("MY_KEY", "k-1234567890"), ("GITHUB_TOKEN", "ghs_abcdefghijklmnopqrstuvwxyz0123456789")],
        )
        .expect_code(0);
    assert_eq!(run.stdout.trim(), "write_file True True 12");
    assert_eq!(sandbox.read("a.txt"), "hello\n");
    assert_eq!(run.report()["usage"]["input"], 10);
}

#[test]
#[cfg(target_os = "linux")]
fn exec_model_cannot_write_to_the_checkout() {
    let program = r#"read -r x; echo theirs > b.txt; echo theirs > sub/.git/config; echo '{"text": "done"}'"#;
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "evaluation: off\n")]);
    sandbox.write("sub/.git/config", "[core]\n");
    sandbox.run(&["--mode", "yolo", "--model", &format!("exec::{program}")], &[]).expect_code(0);
    assert!(!sandbox.repo().join("b.txt").exists());
    assert_eq!(sandbox.read("sub/.git/config"), "[core]\n");
}

#[test]
fn exec_model_failures_end_run_with_reason() {
    let config = "llm: {retries: 1, timeout: 1}\n";
    for (program, told) in [
        ("exit 3", "it exited before it answered"),
        ("echo oh no >&2; exit 1", "its output: oh no"),
        ("while read -r x; do echo nonsense; done", "could not read the model's answer"),
        ("while read -r x; do echo '{\"error\": \"out of ideas\"}'; done", "out of ideas"),
        ("while read -r x; do echo '{\"txet\": \"\"}'; done", "unknown field `txet`"),
        ("exec sleep 60", "no answer within 1 s"),
        ("cat /dev/zero", "its answer is longer than"),
        ("printf '\\377\\n'; cat >/dev/null", "not UTF-8"),
        ("definitely-not-a-program", "not found"),
    ] {
        let sandbox = Sandbox::new(&[(".architect.yml", config)]);
        let run = sandbox.run(&["--model", &format!("exec::{program}")], &[]).expect_code(1);
        let notices: Vec<Value> = run.report()["notices"].as_array().unwrap().clone();
        let all =
            notices.iter().map(|notice| notice["message"].as_str().unwrap()).collect::<Vec<_>>().join("\n");
        assert!(all.contains(told), "{program}: {all}");
    }
}

#[test]
fn recipe_errors_are_found_before_start() {
    let sandbox = Sandbox::new(&[("recipe.yml", "steps:\n- do: [{tol: x}]\n")]);
    let run = sandbox.run(&["--model", "recipe::recipe.yml"], &[]).expect_code(3);
    assert!(run.stderr.contains("did you mean `tool`?"), "{}", run.stderr);
    let run = sandbox.run(&["--model", "recipe::other.yml"], &[]).expect_code(3);
    assert!(run.stderr.contains("other.yml"), "{}", run.stderr);
}

const STRUCTURAL: &str = r##"
description: Clocks know their time zone
steps:
  - files: ["**/*.py"]
    do:
      - rewrite:
          rule: { pattern: datetime.utcnow() }
          fix: datetime.now(UTC)
          imports: { add: [from datetime import UTC] }
tests:
  - name: a naive clock becomes aware
    before: { a.py: "from datetime import datetime\nx = datetime.utcnow()\n", b.py: "# datetime.utcnow()\n" }
    after: { a.py: "from datetime import datetime, UTC\nx = datetime.now(UTC)\n" }
  - name: text is left alone
    before: { a.py: "x = 'datetime.utcnow()'\n" }
"##;

#[test]
fn recipe_rewrites_by_structure_in_both_modes() {
    let files = [
        ("a.py", "from datetime import datetime\nx = datetime.utcnow()  # datetime.utcnow()\n"),
        ("sub/b.py", "import datetime\n'datetime.utcnow()'\n"),
        ("c.txt", "datetime.utcnow()\n"),
        ("recipe.yml", STRUCTURAL),
    ];
    let [planned, done] = ["dry-run", "yolo"].map(|mode| {
        let sandbox = Sandbox::new(&files);
        let run = sandbox.run(&["--mode", mode, "--model", "recipe::recipe.yml"], &[]).expect_code(0);
        let message = run.report()["message"].as_str().unwrap().to_owned();
        assert!(message.starts_with("Completed: 2 files, 1 call, 1 match."), "{message}");
        if mode == "dry-run" {
            let patch = sandbox.out().join("plan.patch");
            crate::support::git(&sandbox.repo(), &["apply", patch.to_str().unwrap()]);
        }
        (tree(&sandbox.repo()), run.file("plan.patch"))
    });
    assert_eq!(planned, done);
    let text = String::from_utf8(done.0["a.py"].clone()).unwrap();
    assert_eq!(text, "from datetime import datetime, UTC\nx = datetime.now(UTC)  # datetime.utcnow()\n");
    assert_eq!(done.0["c.txt"], b"datetime.utcnow()\n");
}

#[test]
fn recipe_rewrite_that_breaks_a_file_changes_nothing() {
    let recipe = |optional: bool| {
        format!(
            "steps:\n- files: ['*.py']\n  do: [{{rewrite: {{rule: {{pattern: f($A)}}, fix: 'g($A'}}, optional: {optional}}}]\n"
        )
    };
    for optional in [false, true] {
        let recipe = recipe(optional);
        let sandbox = Sandbox::new(&[("a.py", "f(1)\n"), ("recipe.yml", &recipe)]);
        let run = sandbox.run(&["--mode", "yolo", "--model", "recipe::recipe.yml"], &[]);
        assert_eq!(std::fs::read_to_string(sandbox.repo().join("a.py")).unwrap(), "f(1)\n");
        let told = if optional { run.report()["message"].to_string() } else { run.stderr.clone() };
        assert!(told.contains("a.py: the result would no longer parse, from line 1: `g(1`"), "{told}");
        assert_eq!(run.code == 0, optional, "{told}");
    }
}

#[test]
fn recipe_test_names_every_fault() {
    let sandbox = Sandbox::new(&[("good.yml", STRUCTURAL)]);
    let test = |file: &str, text: &str| {
        sandbox.write(file, text);
        let output = sandbox
            .command(&["recipe", "test", file])
            .current_dir(sandbox.repo())
            .output()
            .expect("the binary runs");
        (
            output.status.code(),
            String::from_utf8(output.stdout).unwrap() + &String::from_utf8(output.stderr).unwrap(),
        )
    };
    let (code, told) = test("good.yml", STRUCTURAL);
    assert_eq!(code, Some(0), "{told}");
    assert!(told.ends_with("2 passed, 0 failed\n"), "{told}");

    let replace = |with: &str, tests: &str| {
        format!(
            "steps:\n- files: ['*.py']\n  do: [{{replace: {{pattern: old, with: '{with}'}}}}]\ntests:\n{tests}"
        )
    };
    for (text, code, faults) in [
        (
            replace("new", "- {name: n, before: {a.py: 'old()'}, after: {a.py: 'newer()'}}\n"),
            1,
            vec!["a.py is not as expected", "-newer()", "+new()", "0 passed, 1 failed"],
        ),
        (
            replace("old old", "- {name: n, before: {a.txt: x, a.py: '# old'}, after: {a.py: '# old old'}}\n"),
            1,
            vec!["a.py changes again when the recipe runs a second time"],
        ),
        (
            replace("(", "- {name: n, before: {a.py: 'old'}, after: {a.py: '('}}\n"),
            1,
            vec!["a.py no longer parses, from line 1"],
        ),
        (
            "steps:\n- do: [{tool: delete_file, with: {path: a.py}}]\n\
             tests: [{name: n, before: {a.py: x}, deleted: [a.py]}]\n"
                .to_owned(),
            1,
            vec!["the recipe failed: the second time: ", "a.py"],
        ),
        (
            "steps:\n- do: [{tool: run_command, with: {command: 'touch pwned'}}]\ntests: [{name: n, before: {a.py: x}}]\n"
                .to_owned(),
            0,
            vec!["(not run: run_command)", "1 passed, 0 failed"],
        ),
        ("steps:\n- do: [{tool: grep}]\n".to_owned(), 3, vec!["has no tests"]),
        ("steps:\n- do: [{tool: edit_fle}]\n".to_owned(), 3, vec!["unknown tool `edit_fle`; did you mean `edit_file`?"]),
        ("steps: [\n".to_owned(), 3, vec!["bad.yml"]),
    ] {
        let (found, told) = test("bad.yml", &text);
        assert_eq!(found, Some(code), "{text}\n{told}");
        for fault in faults {
            assert!(told.contains(fault), "{text}\n{told}");
        }
    }
    assert!(!sandbox.repo().join("pwned").exists());
}

#[test]
fn batch_refuses_recipe_that_fails_its_tests() {
    let recipe = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: old, with: new}}]\n\
                  tests: [{name: as it was, before: {a.py: old}, after: {a.py: older}}]\n";
    let sandbox = Sandbox::new(&[
        ("a.py", "old\n"),
        ("recipe.yml", recipe),
        ("batch.yml", "name: b\ntasks: [{id: a, recipe: recipe.yml}]\n"),
    ]);
    let run = |sandbox: &Sandbox| {
        let output = sandbox
            .command(&["batch", "batch.yml"])
            .args(["--workspace".as_ref(), sandbox.repo().as_os_str()])
            .args(["--out".as_ref(), sandbox.out().as_os_str()])
            .current_dir(sandbox.repo())
            .output()
            .expect("the binary runs");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (code, told) = run(&sandbox);
    assert_eq!(code, Some(3), "{told}");
    assert!(told.contains("recipe.yml fails its test \"as it was\""), "{told}");
    assert!(!sandbox.out().join("tasks").exists());
}

const MANIFESTS: &str = r#"
description: From requests to httpx
steps:
  - files: [pyproject.toml]
    do:
      - manifest: { path: 'project.dependencies[~"^requests($|[^-\\w])"]', set: "httpx>=0.28" }
      - manifest: { path: tool.old, rename: new }
  - files: ["**/package.json"]
    do:
      - manifest: { path: devDependencies.jest, set: ^29.0.0, when: { version: "<29" } }
  - files: [ci.yml]
    do:
      - manifest: { path: 'jobs.*.steps[uses~^actions/checkout@].uses', set: actions/checkout@v4, when: { version: "<4" } }
      - replace: { pattern: '(?m)^x: (=.*)$', with: "x: '$1'" }
"#;

#[test]
fn recipe_edits_manifests_in_both_modes_and_tables_what_it_did() {
    let files = [
        (
            "pyproject.toml",
            "[project] # it\ndependencies = [\n  \"requests>=2\", # http\n]\n\n# mine\n[tool.old]\nx = 1\n",
        ),
        ("app/package.json", "{\n  // tests\n  \"devDependencies\": { \"jest\": \"^28.1.0\" }\n}\n"),
        ("other/package.json", "{\"devDependencies\": {\"jest\": \"29.7.0\"}}\n"),
        ("ci.yml", "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v3 # code\nx: =1+1\n"),
        ("recipe.yml", MANIFESTS),
    ];
    let [planned, done] = ["dry-run", "yolo"].map(|mode| {
        let sandbox = Sandbox::new(&files);
        let run = sandbox.run(&["--mode", mode, "--model", "recipe::recipe.yml"], &[]).expect_code(0);
        let report = run.report();
        let message = report["message"].as_str().unwrap();
        assert!(message.starts_with("Completed: 4 files, 5 calls, 5 matches."), "{message}");
        let matches = &report["matches"];
        assert_eq!((&matches["total"], matches["listed"].as_array().unwrap().len()), (&json!(5), 5));
        assert_eq!(
            matches["listed"][0],
            json!({
                "action": "steps[0].do[0]", "path": "pyproject.toml", "line": 3, "key": "project.dependencies[0]",
                "before": "\"requests>=2\", # http", "after": "\"httpx>=0.28\", # http"
            })
        );
        assert_eq!(
            matches["listed"][4],
            json!({"action": "steps[2].do[1]", "path": "ci.yml", "line": 5, "column": 1, "before": "x: =1+1", "after": "x: '=1+1'"})
        );
        let table = run.file("matches.csv");
        let rows: Vec<&str> = table.lines().collect();
        assert_eq!(rows[0], r#""action","path","line","column","key","before","after""#);
        assert_eq!(rows.len(), 6, "{table}");
        assert_eq!(rows[1], r#""steps[0].do[0]","pyproject.toml","3","","project.dependencies[0]","""requests>=2"", # http","""httpx>=0.28"", # http""#);
        if mode == "dry-run" {
            let patch = sandbox.out().join("plan.patch");
            crate::support::git(&sandbox.repo(), &["apply", patch.to_str().unwrap()]);
        }
        (tree(&sandbox.repo()), table)
    });
    assert_eq!(planned, done);
    for (path, text) in [
        (
            "pyproject.toml",
            "[project] # it\ndependencies = [\n  \"httpx>=0.28\", # http\n]\n\n# mine\n[tool.new]\nx = 1\n",
        ),
        ("app/package.json", "{\n  // tests\n  \"devDependencies\": { \"jest\": \"^29.0.0\" }\n}\n"),
        ("other/package.json", "{\"devDependencies\": {\"jest\": \"29.7.0\"}}\n"),
        ("ci.yml", "jobs:\n  a:\n    steps:\n      - uses: actions/checkout@v4 # code\nx: '=1+1'\n"),
    ] {
        assert_eq!(String::from_utf8_lossy(&done.0[path]), text);
    }
}

#[test]
fn recipe_manifest_errors_name_file_and_line() {
    let recipe = "steps:\n- files: ['*.json']\n  do: [{manifest: {path: a, set: 2}}]\n";
    for (text, told) in [
        ("{\n  \"a\": 1,\n  \"a\": 1\n}\n", "steps[0].do[0]: a.json: line 3: the key `a` is there twice"),
        ("{\n  \"a\": {}\n}\n", "steps[0].do[0]: a.json: `a` is a mapping, not a number"),
        ("{\n", "steps[0].do[0]: a.json: line 1: "),
    ] {
        let sandbox = Sandbox::new(&[("a.json", text), ("recipe.yml", recipe)]);
        let run = sandbox.run(&["--mode", "yolo", "--model", "recipe::recipe.yml"], &[]).expect_code(1);
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert_eq!(sandbox.read("a.json"), text);
        assert!(!sandbox.out().join("matches.csv").exists());
    }
}

#[test]
fn table_of_matches_is_inert_in_spreadsheets_and_joins_those_of_a_batch() {
    let recipe = "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: '(?s).+', with: '@x'}}]\n";
    let sandbox = Sandbox::new(&[
        ("one/a.txt", "=HYPERLINK(\"http://x\")\n\u{202e}b"),
        ("two/a.txt", "plain, \"text\""),
        ("recipe.yml", recipe),
        (
            "batch.yml",
            "name: b\ntasks:\n- {id: 'x-{dir}', recipe: recipe.yml, folder: '{dir}', for_each: {dir: {values: [one, two]}}}\n",
        ),
    ]);
    let output = sandbox
        .command(&["batch", "batch.yml"])
        .args(["--workspace".as_ref(), sandbox.repo().as_os_str()])
        .args(["--out".as_ref(), sandbox.out().as_os_str()])
        .current_dir(sandbox.repo())
        .output()
        .expect("the binary runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let table = std::fs::read_to_string(sandbox.out().join("matches.csv")).expect("a table");
    let rows: Vec<&str> = table.split_terminator("\r\n").collect();
    assert_eq!(
        rows,
        [
            r#""task","action","path","line","column","key","before","after""#,
            r#""x-one","steps[0].do[0]","one/a.txt","1","1","","'=HYPERLINK(""http://x"")\n⟨U+202E⟩b","'@x""#,
            r#""x-two","steps[0].do[0]","two/a.txt","1","1","","plain, ""text""","'@x""#,
        ]
    );
}

#[test]
fn recipes_of_the_samples_pass_their_tests() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/recipes");
    let mut files = Vec::new();
    for language in std::fs::read_dir(&folder).expect("the samples").flatten() {
        for file in std::fs::read_dir(language.path()).expect("a folder").flatten() {
            files.push(file.path());
        }
    }
    assert!(files.len() >= 20, "{}", files.len());
    let sandbox = Sandbox::new(&[]);
    let output = sandbox.command(&["recipe", "test"]).args(&files).output().expect("the binary runs");
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}\n{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(unix)]
#[test]
fn table_of_a_batch_takes_rows_from_files_alone() {
    let recipe = "steps:\n- files: ['*.txt']\n  do: [{replace: {pattern: a, with: b}}]\n";
    let sandbox = Sandbox::new(&[
        ("one/a.txt", "a"),
        ("two/a.txt", "a"),
        ("three/a.txt", "a"),
        ("recipe.yml", recipe),
        ("secret.txt", "topsecret,x\ny,z\n"),
        (
            "batch.yml",
            "name: b\ntasks:\n- {id: 'x-{dir}', recipe: recipe.yml, folder: '{dir}', for_each: {dir: {values: [one, two, three]}}}\n",
        ),
    ]);
    let out = sandbox.out();
    let resumed = |more: &[&str]| {
        let mut command = sandbox.command(&["batch", "batch.yml"]);
        command.args(["--workspace".as_ref(), sandbox.repo().as_os_str(), "--out".as_ref(), out.as_os_str()]);
        let output = command.args(more).current_dir(sandbox.repo()).output().expect("the binary runs");
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::read_to_string(out.join("matches.csv")).expect("a table")
    };
    assert_eq!(resumed(&[]).lines().count(), 4);
    // As what a task starts could leave it, before the batch goes on.
    let table = |task: &str| out.join(format!("tasks/x-{task}/matches.csv"));
    for task in ["one", "two"] {
        std::fs::remove_file(table(task)).expect("a table");
    }
    std::os::unix::fs::symlink(sandbox.repo().join("secret.txt"), table("one")).expect("a link");
    let made = std::process::Command::new("mkfifo").arg(table("two")).status().expect("a program");
    assert!(made.success());
    let rows = resumed(&["--resume"]);
    assert!(!rows.contains("topsecret") && rows.lines().count() == 2 && rows.contains("x-three"), "{rows}");
}

#[test]
fn recipe_test_refuses_what_a_run_refuses_and_reads_no_endless_file() {
    let tested = |recipe: &str| {
        let sandbox = Sandbox::new(&[]);
        let file = sandbox.path().join("r.yml");
        std::fs::write(&file, recipe).expect("a recipe");
        let output = sandbox.command(&["recipe", "test"]).arg(&file).output().expect("the binary runs");
        let text =
            format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        (output.status.code(), text)
    };
    for path in [".env", ".git/hooks/x", ".github/architect.yml"] {
        let recipe = format!(
            "steps: [{{ do: [{{ tool: write_file, with: {{ path: '{path}', content: x }} }}] }}]\n\
             tests: [{{ name: writes, before: {{ a: b }}, after: {{ 'c': x }} }}]\n"
        );
        let (code, told) = tested(&recipe);
        assert!(code == Some(1) && told.contains("the recipe failed") && told.contains(path), "{told}");
    }
    #[cfg(unix)]
    {
        let sandbox = Sandbox::new(&[]);
        let output = sandbox.command(&["recipe", "test", "/dev/zero"]).output().expect("the binary runs");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(3) && told.contains("more than 10000000 bytes"), "{told}");
    }
}
