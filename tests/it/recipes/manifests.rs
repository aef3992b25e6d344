//! Steps that edit manifests.

use crate::support::{Sandbox, tree};
use serde_json::json;

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
        ("{\n  \"a\": 1,\n  \"a\": 1\n}\n", "steps[0].do[0]: a.json: line 3: duplicate key `a`"),
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
