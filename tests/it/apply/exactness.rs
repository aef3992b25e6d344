//! A plan is applied as it is, on the state that it was made on, with its commands and gates.

use std::fs;

use super::{CONFIG, FILES, apply, plan, session};
use crate::support::Sandbox;
use serde_json::{Value, json};

#[test]
fn apply_on_fresh_clone_matches_real_edits() {
    let (planned, real, fresh) = (Sandbox::new(&FILES), Sandbox::new(&FILES), Sandbox::new(&FILES));
    let place = plan(&planned, &session());
    let model = real.script(&session(), "done");
    real.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let digest =
        planned.run(&["--model", &planned.script(&session(), "done")], &[]).json("plan.json")["digest"]
            .as_str()
            .unwrap()
            .to_owned();
    // The checkout may have moved on elsewhere.
    fresh.write("other.txt", "moved on\n");
    fresh.commit("later");
    let run = apply(&fresh, &place, &["--digest", &digest]).expect_code(0);
    let mut expected = real.tree();
    expected.insert("other.txt".to_owned(), b"moved on\n".to_vec());
    assert_eq!(fresh.tree(), expected);
    let report = run.report();
    assert_eq!(
        (report["mode"].as_str(), report["status"].as_str(), report["stop_reason"].as_str()),
        (Some("apply"), Some("success"), Some("applied"))
    );
    let files: Vec<&str> =
        report["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(files, ["a.txt", "empty.txt", "gone.txt", "new/deep/b.txt"]);
    assert!(run.stdout.contains(&format!("Applied the plan {}: 4 files.", &digest[..12])), "{}", run.stdout);
    assert!(
        run.file("junit.xml").contains("modify a.txt") && run.file("comment.md").contains("Changes: 4 files")
    );
    assert!(!fresh.repo().join(".git/architect-ci-apply").exists());
    // Twice is once.
    let run = apply(&fresh, &place, &[]).expect_code(0);
    assert!(run.stdout.contains("is already applied"), "{}", run.stdout);
    assert_eq!(fresh.tree(), expected);
}

#[test]
fn apply_runs_commands_on_request_and_gates() {
    let config = format!(
        "{CONFIG}guardrails: {{ quality_gates: [{{ name: ran, command: test -e ran.txt }}] }}\ndry_run: {{ commands: record }}\n"
    );
    let mut files = FILES;
    files[0].1 = &config;
    let sandbox = Sandbox::new(&files);
    let mut turns = session();
    turns.push(vec![("run_command", json!({"command": "bash .s/1", "timeout": 20}))]);
    // In the dry run the gate fails, because commands are recorded alone.
    let model = sandbox.script(&turns, "done");
    let path = model.trim_start_matches("replay::");
    let text = fs::read_to_string(path).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    fs::write(path, format!("{text}{last}\n{last}\n")).unwrap();
    let run = sandbox.run(&["--model", &model], &[]).expect_code(1);
    let place = run.out.join("plan.json");
    let without = apply(&sandbox, &place, &[]).expect_code(1);
    assert_eq!(without.report()["stop_reason"], "gates_failed");
    assert_eq!(without.report()["gates"][0]["predicted"], false);
    assert_eq!(sandbox.read("a.txt"), "two\nx\n", "the files are applied all the same");
    let fresh = Sandbox::new(&files);
    let with = apply(&fresh, &place, &["--run-commands"]).expect_code(0);
    assert_eq!(fresh.read("ran.txt"), "ran\n");
    assert_eq!(with.report()["calls"][0]["target"], "bash .s/1");
    assert!(with.report()["files"].to_string().contains("ran.txt"));
    // A command that is no longer allowed does not run.
    let stricter = Sandbox::new(&files);
    stricter.write(".architect.yml", "guardrails: { blocked_commands: ['^bash'] }\n");
    let run = apply(&stricter, &place, &["--run-commands"]).expect_code(1);
    assert!(run.report()["guardrails"][0]["reason"].as_str().unwrap().contains("blocked_commands"));
    assert!(!stricter.repo().join("ran.txt").exists());
}

#[test]
fn gates_run_although_the_plan_is_here_already() {
    let config = "guardrails: { quality_gates: [{ name: check, command: '! grep -q BAD other.txt' }] }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("other.txt", "o\n")]);
    let place = plan(&sandbox, &[vec![("write_file", json!({"path": "b.txt", "content": "new\n"}))]]);
    // Somebody has made the change, and breaks the gate.
    sandbox.write("b.txt", "new\n");
    sandbox.write("other.txt", "BAD\n");
    sandbox.commit("made already");
    let run = apply(&sandbox, &place, &[]).expect_code(1);
    let report = run.report();
    assert_eq!(
        (&report["stop_reason"], &report["gates"][0]["passed"]),
        (&json!("gates_failed"), &json!(false))
    );
    assert!(run.stdout.contains("is already applied"), "{}", run.stdout);
    sandbox.write("other.txt", "o\n");
    sandbox.commit("mended");
    let report = apply(&sandbox, &place, &[]).expect_code(0).report();
    assert_eq!((&report["stop_reason"], &report["gates"][0]["passed"]), (&json!("applied"), &json!(true)));
}

#[test]
fn apply_is_not_failed_by_a_flaky_gate() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    // What is outside of the checkout is no part of the state.
    let outside = sandbox.path().join("outside");
    fs::create_dir(&outside).unwrap();
    let outside = outside.to_str().unwrap();
    let gate = format!(
        "test ! -e b.txt || test -e {outside}/mark || {{ touch {outside}/mark; echo error: at times; exit 1; }}"
    );
    let config = format!(
        "guardrails:\n  quality_gates:\n    - {{ name: g, command: '{gate}' }}\ncommands: {{ writable_paths: [{outside}] }}\n"
    );
    sandbox.write(".architect.yml", config);
    sandbox.commit("settings");
    let place = plan(&sandbox, &[vec![("write_file", json!({"path": "b.txt", "content": "new\n"}))]]);
    let _ = fs::remove_file(format!("{outside}/mark"));
    let report = apply(&sandbox, &place, &[]).expect_code(0).report();
    assert_eq!(
        (&report["stop_reason"], &report["gates"][0]["verdict"]),
        (&json!("gates_flaky"), &json!("flaky")),
        "{}",
        report["gates"]
    );
}

#[test]
fn apply_does_not_repeat_commands_whose_changes_are_planned() {
    let sandbox = Sandbox::new(&[("notes.txt", "zero\n")]);
    let append = json!({"command": "echo one >> notes.txt && ln -s notes.txt link.txt"});
    let place = plan(&sandbox, &[vec![("run_command", append)]]);
    let written: Value = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    assert_eq!(written["commands"][0]["has_run"], true);
    let run = apply(&sandbox, &place, &["--run-commands"]).expect_code(0);
    assert_eq!(sandbox.read("notes.txt"), "zero\none\n");
    assert_eq!(run.report()["calls"], json!([]), "nothing was left to run");
}

#[test]
fn apply_refuses_plan_of_unfinished_run() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let write = |path: &str| vec![("write_file", json!({"path": path, "content": "x\n"}))];
    let model = sandbox.script(&[write("b.txt"), write("c.txt"), write("d.txt")], "Done.");
    let run = sandbox.run(&["--model", &model, "--mode", "dry-run", "--max-steps", "2"], &[]).expect_code(2);
    let report = run.report();
    assert_eq!(report["plan"]["incomplete"], "the step limit was reached");
    assert!(!run.file("comment.md").contains("apply plan.json"), "{}", run.file("comment.md"));
    let refused = apply(&sandbox, &run.out.join("plan.json"), &[]).expect_code(6);
    assert!(
        refused.stderr.contains("the plan is incomplete: the step limit was reached"),
        "{}",
        refused.stderr
    );
    assert!(!sandbox.repo().join("b.txt").exists());
    // Nobody can strike it out.
    let mut plan: Value = serde_json::from_str(&run.file("plan.json")).unwrap();
    plan.as_object_mut().unwrap().remove("incomplete");
    let forged = sandbox.path().join("forged.json");
    fs::write(&forged, plan.to_string()).unwrap();
    let refused = apply(&sandbox, &forged, &[]).expect_code(6);
    assert!(refused.stderr.contains("was changed after the review"), "{}", refused.stderr);
}

#[test]
fn apply_knows_whether_checkout_was_dirty() {
    let files: Vec<(String, String)> = (0..200).map(|n| (format!("f{n}.txt"), "one\n".to_owned())).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let sandbox = Sandbox::new(&files);
    let edits: Vec<(&str, Value)> =
        (0..200).map(|n| ("write_file", json!({"path": format!("f{n}.txt"), "content": "two\n"}))).collect();
    let plan = plan(&sandbox, &[edits]);
    for dirty in [false, false, false, true] {
        sandbox.git(&["checkout", "--quiet", "--force", "."]);
        if dirty {
            sandbox.write("other.txt", "x");
            sandbox.git(&["add", "--intent-to-add", "other.txt"]);
        }
        let run = apply(&sandbox, &plan, &[]).expect_code(0);
        assert_eq!(run.report()["base"]["dirty"], dirty);
    }
}

#[test]
fn apply_undoes_no_change_of_a_mode() {
    use std::os::unix::fs::PermissionsExt;
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let file = sandbox.repo().join("a.txt");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    sandbox.commit("make it executable");
    apply(&sandbox, &place, &[]).expect_code(0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(sandbox.read("a.txt"), "two\nx\n");
    // Twice is once.
    let again = apply(&sandbox, &place, &[]).expect_code(0);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755, "{}", again.stderr);
}
