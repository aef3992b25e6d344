//! Plans that do not fit, or that somebody has forged, write nothing.

use std::fs;
use std::path::Path;

use super::{CONFIG, FILES, apply, plan, plan_of, session};
use crate::support::Sandbox;
use architect_ci::plan::Plan;
use serde_json::{Value, json};
use workspace::{ChangeSet, FileChange, FileState, Mode, WorkspacePath};

type Change<'a> = &'a dyn Fn(&Sandbox, &mut Value);

#[test]
fn apply_refuses_mismatched_plan_without_writing() {
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let original: Value = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    let digest = original["digest"].as_str().unwrap().to_owned();
    let cases: [(&str, Change<'_>, &str); 9] = [
        (
            "a file changed",
            &|sandbox, _| sandbox.write("a.txt", "one\ny\n"),
            "the plan is stale; make a new plan: a.txt (it has changed)",
        ),
        (
            "a file is gone",
            &|sandbox, _| fs::remove_file(sandbox.repo().join("a.txt")).unwrap(),
            "make a new plan, or name the checkout that it was made for with `--workspace`: a.txt (it no longer exists)",
        ),
        (
            "a file is there",
            &|sandbox, _| sandbox.write("empty.txt", "not empty"),
            "empty.txt (it already exists)",
        ),
        (
            "a folder is in the way",
            &|sandbox, _| sandbox.write("empty.txt/x", "x"),
            "empty.txt/x (it is in the way of a planned file)",
        ),
        (
            "a folder is now a link",
            &|sandbox, _| std::os::unix::fs::symlink("..", sandbox.repo().join("new")).unwrap(),
            "new/deep/b.txt (a folder above it is now a link)",
        ),
        (
            "the content was changed",
            &|_, plan| plan["files"][0]["patch"] = json!("diff"),
            "it was changed after the review",
        ),
        (
            "the digest was changed",
            &|_, plan| plan["digest"] = json!("0".repeat(64)),
            "but the plan says 0000",
        ),
        (
            "another version",
            &|_, plan| plan["schema_version"] = json!(2),
            "its schema_version is 2, but this program supports 1",
        ),
        (
            "a path leads out",
            &|_, plan| plan["files"][0]["path"] = json!("../x"),
            "ACCESS DENIED: path escapes the workspace: ../x",
        ),
    ];
    for (name, change, says) in cases {
        let fresh = Sandbox::new(&FILES);
        let mut changed = original.clone();
        change(&fresh, &mut changed);
        fs::write(&place, changed.to_string()).unwrap();
        let before = fresh.tree();
        let run = apply(&fresh, &place, &[]);
        assert!(run.stderr.contains(says), "{name}: {}", run.stderr);
        let input = ["another version", "a path leads out"].contains(&name);
        assert_eq!(run.code, if input { 3 } else { 6 }, "{name}: {}", run.stderr);
        assert_eq!(fresh.tree(), before, "{name}");
    }
    fs::write(&place, original.to_string()).unwrap();
    let run = apply(&sandbox, &place, &["--digest", &"1".repeat(64)]).expect_code(6);
    assert!(run.stderr.contains(&format!("the plan has the digest {digest}, not 1111")), "{}", run.stderr);
    assert_eq!(run.report()["stop_reason"], "not_applied");
    // Another plan with the same beginning is easily made.
    for length in [0, 8, 31] {
        let run = apply(&sandbox, &place, &["--digest", &digest[..length]]);
        let says = format!("`digest` has {length} characters, and at least 32 are needed");
        assert!(run.code != 0 && (length == 0 || run.stderr.contains(&says)), "{}", run.stderr);
    }
    // Rules of the checkout hold for plans as well.
    let strict = Sandbox::new(&FILES);
    strict.write(".architect.yml", "guardrails: { protected_files: [a.txt] }\n");
    let before = strict.tree();
    let run = apply(&strict, &place, &[]).expect_code(6);
    assert!(run.stderr.contains("a.txt is a protected file"), "{}", run.stderr);
    assert_eq!(strict.tree(), before);
    apply(&sandbox, Path::new("/no/such/plan.json"), &[]).expect_code(3);
}

#[test]
fn forged_plan_cannot_write_protected_files() {
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let original: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    for (path, says) in [
        (".git/hooks/pre-commit", "is in Git's own folder"),
        ("sub/.GIT/config", "is in Git's own folder"),
        (".github/workflows/ci.yml", "always protected"),
        (".architect.yml", "always protected"),
    ] {
        let mut forged = original.clone();
        let added = forged.files.iter().position(|file| file.path.as_str() == "empty.txt").unwrap();
        forged.files[added].path = WorkspacePath::parse(path).unwrap();
        forged.digest = forged.computed_digest();
        fs::write(&place, serde_json::to_string(&forged).unwrap()).unwrap();
        let before = sandbox.tree();
        let run = apply(&sandbox, &place, &[]).expect_code(6);
        assert!(run.stderr.contains(says), "{path}: {}", run.stderr);
        assert_eq!(sandbox.tree(), before, "{path}");
        assert!(!sandbox.repo().join(".git/hooks/pre-commit").exists());
    }
}

#[test]
fn forged_plan_stays_inside_workspace_and_is_shown_in_full() {
    let sandbox = Sandbox::new(&FILES);
    let mut turns = session();
    turns.push(vec![("run_command", json!({"command": "bash .s/1"}))]);
    let place = plan(&sandbox, &turns);
    let original: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    let forge = |change: &dyn Fn(&mut Plan)| {
        let mut forged = original.clone();
        change(&mut forged);
        forged.digest = forged.computed_digest();
        fs::write(&place, serde_json::to_string(&forged).unwrap()).unwrap();
    };
    // Folders of the checkout that are links themselves.
    std::os::unix::fs::symlink("..", sandbox.repo().join("way")).unwrap();
    std::os::unix::fs::symlink(".git", sandbox.repo().join("git")).unwrap();
    let before = sandbox.tree();
    let refused = |says: &str| {
        let run = apply(&sandbox, &place, &["--run-commands"]).expect_code(6);
        assert!(run.stderr.contains(says), "{says}: {}", run.stderr);
        assert_eq!(sandbox.tree(), before, "{says}");
    };
    forge(&|plan| plan.commands[0].input["command"] = json!("bash .s/1; bash .s/2"));
    refused("the plan shows the command `bash .s/1`, but its input runs a different one");
    forge(&|plan| plan.commands[0].command = "ls".to_owned());
    refused("the plan shows the command `ls`");
    forge(&|plan| plan.files.push(plan.files[0].clone()));
    refused("the plan has two entries for a.txt");
    for (path, target) in [
        ("link", "/etc/passwd"),
        ("link", "../x"),
        ("new/link", "../../x"),
        ("link", "a/../../x"),
        ("link", "other.txt/../../x"),
        ("new/link", "../.git/config"),
        ("link", "way/x"),
        ("new/link", "../way"),
        ("link", "git/config"),
    ] {
        let content = FileState { content: target.as_bytes().into(), mode: Mode::Link };
        let change = FileChange::new(WorkspacePath::parse(path).unwrap(), None, Some(content));
        let changes = ChangeSet::new(change.into_iter().collect());
        let plan = plan_of(&changes, original.base.clone());
        fs::write(&place, serde_json::to_string(&plan).unwrap()).unwrap();
        refused("a link that may lead outside of the workspace");
    }
    let content = FileState { content: b"../other.txt".as_slice().into(), mode: Mode::Link };
    let change = FileChange::new(WorkspacePath::parse("new/link").unwrap(), None, Some(content));
    let changes = ChangeSet::new(change.into_iter().collect());
    let plan = plan_of(&changes, original.base.clone());
    fs::write(&place, serde_json::to_string(&plan).unwrap()).unwrap();
    apply(&sandbox, &place, &[]).expect_code(0);
    assert_eq!(sandbox.read("new/link"), "o\n");
}

/// What sets variables decides what a command does, so whoever reads a plan sees it, and nothing else is run.
#[test]
fn plan_shows_and_compares_variables_of_commands() {
    let mut files = FILES;
    let config = format!("{CONFIG}dry_run: {{ commands: record }}\n");
    files[0].1 = &config;
    let sandbox = Sandbox::new(&files);
    let env = json!({"MAKEFILES": ".s/evil.mk", "NOTE": "it's; touch b"});
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let turns = [vec![edit, ("run_command", json!({"command": "bash .s/1", "env": env}))]];
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let shown = "export MAKEFILES=.s/evil.mk NOTE=\"it's; touch b\"; bash .s/1";
    for file in ["comment.md", "report.md"] {
        assert!(run.file(file).contains(shown), "{file}: {}", run.file(file));
    }
    assert!(run.file("report.html").contains("export MAKEFILES=.s/evil.mk"), "{}", run.file("report.html"));
    let place = run.out.join("plan.json");
    let original: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    assert_eq!(original.commands[0].command, shown);
    let before = sandbox.tree();
    let hidden: [&dyn Fn(&mut Plan); 4] = [
        &|plan| plan.commands[0].command = "bash .s/1".to_owned(),
        &|plan| plan.commands[0].input["env"]["PYTEST_ADDOPTS"] = json!("-p evil"),
        &|plan| plan.commands[0].input["env"] = json!({}),
        // What else the tool takes for its variables.
        &|plan| {
            plan.commands[0].command = "bash .s/1".to_owned();
            plan.commands[0].input =
                json!({"command": "bash .s/1", "env_vars": {"MAKEFLAGS": "-f .s/evil.mk"}});
        },
    ];
    for (index, hide) in hidden.iter().enumerate() {
        let mut forged = original.clone();
        hide(&mut forged);
        forged.digest = forged.computed_digest();
        let forged_place = sandbox.path().join("forged.json");
        fs::write(&forged_place, serde_json::to_string(&forged).unwrap()).unwrap();
        let refused = apply(&sandbox, &forged_place, &["--run-commands"]).expect_code(6);
        assert!(refused.stderr.contains("the plan shows the command"), "{index}: {}", refused.stderr);
        assert_eq!(sandbox.tree(), before, "{index}");
    }
    let applied = apply(&sandbox, &place, &["--run-commands"]).expect_code(0);
    assert_eq!(applied.report()["calls"][0]["target"], shown);
    assert_eq!(sandbox.read("ran.txt"), "ran\n");
}

/// A plan whose content was forged together with its digest still has to lead where it says.
#[test]
fn apply_detects_damaged_patch_by_result_hash() {
    let sandbox = Sandbox::new(&FILES);
    let place = plan(&sandbox, &session());
    let mut forged: Plan = serde_json::from_str(&fs::read_to_string(&place).unwrap()).unwrap();
    forged.files[0].after_sha256 = Some("0".repeat(64));
    forged.digest = forged.computed_digest();
    fs::write(&place, serde_json::to_string(&forged).unwrap()).unwrap();
    let before = sandbox.tree();
    let run = apply(&sandbox, &place, &[]).expect_code(6);
    assert!(run.stderr.contains("the result for a.txt does not match the plan"), "{}", run.stderr);
    assert_eq!(sandbox.tree(), before);
}
