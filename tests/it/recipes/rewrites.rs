//! Steps that rewrite code by its structure.

use super::STRUCTURAL;
use crate::support::{Sandbox, tree};

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
fn recipe_with_slow_rule_obeys_time_limit() {
    let recipe = "steps:\n- files: ['*.py']\n  do:\n  - rewrite:\n      rule:\n        pattern: f($A)\n        not: { follows: { pattern: g($Z), stopBy: end } }\n      fix: h($A)\n";
    let text = format!("x = [{}]\n", "f(1), ".repeat(150_000));
    let sandbox = Sandbox::new(&[("recipe.yml", recipe), ("a.py", &text)]);
    let began = std::time::Instant::now();
    let args = ["--mode", "yolo", "--model", "recipe::recipe.yml", "--timeout", "3"];
    let run = sandbox.run(&args, &[]).expect_code(5);
    assert!(began.elapsed() < std::time::Duration::from_secs(20), "{:?}", began.elapsed());
    assert_eq!(run.report()["stop_reason"], "timeout");
    assert_eq!(sandbox.read("a.py"), text);
}

#[test]
fn recipe_skips_files_by_a_rule_for_all_actions_of_a_step() {
    let recipe = "steps:\n- files: ['*.py', '*.txt']\n  unless: { rule: { pattern: g($A) } }\n  do:\n  \
                  - rewrite: { rule: { pattern: g }, fix: h }\n  \
                  - replace: { pattern: f, with: g }\n  \
                  - rewrite: { rule: { pattern: g($A) }, fix: h($A) }\n";
    let files = [
        ("a.py", "f(1)  # g(1)\n"),
        ("b.py", "f(1)\ng(2)\n"),
        ("c.txt", "f g(2)\n"),
        ("d.py", "f(\n"),
        ("recipe.yml", recipe),
    ];
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&files);
        let run = sandbox.run(&["--mode", mode, "--model", "recipe::recipe.yml"], &[]).expect_code(0);
        let message = run.report()["message"].as_str().unwrap().to_owned();
        assert!(message.contains("1 file skipped because of `unless`: b.py."), "{message}");
        if mode == "dry-run" {
            let patch = sandbox.out().join("plan.patch");
            crate::support::git(&sandbox.repo(), &["apply", patch.to_str().unwrap()]);
        }
        let texts = ["a.py", "b.py", "c.txt", "d.py"].map(|name| sandbox.read(name));
        assert_eq!(texts, ["h(1)  # g(1)\n", "f(1)\ng(2)\n", "g g(2)\n", "g(\n"], "{mode}");
    }
}
