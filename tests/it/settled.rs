//! Settled tasks: what has to stay the same so that an earlier night's result still holds.
#![cfg(unix)]

use std::collections::BTreeSet;

use crate::faults::batch;
use crate::support::{Run, Sandbox, command};
use serde_json::{Value, json};

/// Returns the ids of tasks that were done, and not settled.
fn done(report: &Value) -> BTreeSet<&str> {
    let tasks = report["tasks"].as_array().unwrap().iter();
    tasks.filter(|task| task["end"] == "success").map(|task| task["id"].as_str().unwrap()).collect()
}

/// Returns a model that makes one call and is done; its name distinguishes it from others.
fn one_call(sandbox: &Sandbox, name: &str, call: (&str, Value)) -> String {
    let script = sandbox.script(&[vec![call]], "done");
    let path = sandbox.path().join(format!("{name}.jsonl"));
    std::fs::rename(script.trim_start_matches("replay::"), &path).unwrap();
    format!("replay::{}", path.display())
}

/// Returns a copy of the report of a night, for the next one.
fn kept(sandbox: &Sandbox, night: &Run) -> String {
    let path = sandbox.path().join("last.json");
    std::fs::copy(night.out.join("batch.json"), &path).unwrap();
    path.display().to_string()
}

#[test]
fn settled_tasks_depend_on_guides_and_on_what_commands_see() {
    let sandbox = Sandbox::new(&[
        (".architect.yml", "evaluation: off\n"),
        ("a.txt", "old\n"),
        ("app/m.py", "old\n"),
        ("pkg/p.txt", "old\n"),
        ("lib/l.txt", "old\n"),
        ("other/o.txt", "old\n"),
        ("docs/agents.md", "old\n"),
    ]);
    std::os::unix::fs::symlink("docs/agents.md", sandbox.repo().join("AGENTS.md")).unwrap();
    let read = |path: &str| one_call(&sandbox, &path.replace('/', "-"), ("read_file", json!({"path": path})));
    let look = one_call(&sandbox, "look", command("cat p.txt"));
    let tasks = json!([
        {"id": "plain", "task": "Look", "model": read("a.txt")},
        {"id": "nested", "task": "Look", "model": read("app/m.py")},
        {"id": "until", "task": "Look", "model": read("a.txt"), "until": ["true"]},
        {"id": "gate", "task": "Look", "model": read("a.txt"), "gates": [{"name": "g", "command": "true"}]},
        {"id": "command", "task": "Look", "model": look, "folder": "pkg"},
        {"id": "sparse", "task": "Look", "model": look, "folder": "pkg", "sparse": ["lib"]},
    ]);
    sandbox.write("batch.yml", json!({"name": "n", "tasks": tasks}).to_string());
    let base = sandbox.commit("tasks");
    let first = batch(&sandbox, &["--jobs", "2"]).expect_code(0);
    let all = ["command", "gate", "nested", "plain", "sparse", "until"];
    assert_eq!(done(&first.json("batch.json")), all.into());
    let previous = kept(&sandbox, &first);
    for (path, again) in [
        ("CLAUDE.md", &all[..]),
        (".architect.md", &all[..]),
        // The guide leads there.
        ("docs/agents.md", &all[..]),
        ("app/CLAUDE.md", &["command", "gate", "nested", "until"]),
        ("other/o.txt", &["command", "gate", "until"]),
        ("lib/l.txt", &["command", "gate", "sparse", "until"]),
        ("new.txt", &["command", "gate", "sparse", "until"]),
        ("a.txt", &["command", "gate", "plain", "sparse", "until"]),
    ] {
        sandbox.git(&["reset", "--quiet", "--hard", base.trim()]);
        sandbox.write(path, "changed\n");
        sandbox.commit("a change");
        // Flags that say nothing of the work count for nothing.
        let flags = ["--jobs", "2", "--previous", &previous, "-v", "--timeout", "900", "--comment", "never"];
        let report = batch(&sandbox, &flags).expect_code(0).json("batch.json");
        assert_eq!(done(&report), again.iter().copied().collect(), "{path}");
    }
    // Whether a file can be executed counts as well.
    sandbox.git(&["reset", "--quiet", "--hard", base.trim()]);
    sandbox.git(&["update-index", "--chmod=+x", "other/o.txt"]);
    sandbox.git(&["commit", "--quiet", "--message", "a mode"]);
    sandbox.git(&["reset", "--quiet", "--hard"]);
    let report = batch(&sandbox, &["--jobs", "2", "--previous", &previous]).expect_code(0).json("batch.json");
    assert_eq!(done(&report), ["command", "gate", "until"].into());
}

#[test]
fn settled_tasks_depend_on_what_hooks_see() {
    let sandbox = Sandbox::new(&[("a.txt", "old\n"), ("other.txt", "old\n")]);
    let extra = sandbox.path().join("extra");
    std::fs::create_dir(&extra).unwrap();
    std::fs::write(extra.join("e.txt"), "old\n").unwrap();
    let read = |path: &str| one_call(&sandbox, &path.replace('/', "-"), ("read_file", json!({"path": path})));
    let tasks = json!([
        {"id": "inside", "task": "Look", "model": read("a.txt")},
        {"id": "outside", "task": "Look", "model": read("@extra/e.txt")},
        {"id": "command", "task": "Look", "model": one_call(&sandbox, "look", command("cat a.txt"))},
    ]);
    sandbox.write("batch.yml", json!({"name": "n", "tasks": tasks}).to_string());
    let hook = json!({"session_start": [{"name": "look", "command": "cat other.txt"}]});
    // Without the folder, what it is asked for does not exist, which settles nothing.
    for (rules, again) in [
        (json!({"workspace": {"extra_dirs": [extra]}}), &["command"][..]),
        (json!({"hooks": hook}), &["command", "inside", "outside"]),
    ] {
        let mut config = json!({"evaluation": "off"});
        config.as_object_mut().unwrap().extend(rules.as_object().unwrap().clone());
        sandbox.write(".architect.yml", config.to_string());
        sandbox.commit("rules");
        let first = batch(&sandbox, &[]).expect_code(0);
        let previous = kept(&sandbox, &first);
        sandbox.write("other.txt", config.to_string());
        sandbox.commit("a change");
        let second = batch(&sandbox, &["--previous", &previous]).json("batch.json");
        assert_eq!(done(&second), again.iter().copied().collect(), "{rules}: {second}");
    }
}

#[test]
fn settled_tasks_depend_on_folders_outside_as_far_as_they_can_be_measured() {
    let sandbox = Sandbox::new(&[("a.txt", "old\n"), ("pkg/p.txt", "old\n")]);
    let extra = sandbox.repo().join("../extra");
    let reset = || {
        let _ = std::fs::remove_dir_all(&extra);
        std::fs::create_dir_all(extra.join(".git")).unwrap();
        for name in ["e.txt", ".env", ".git/config"] {
            std::fs::write(extra.join(name), "old\n").unwrap();
        }
    };
    reset();
    let read = |path: &str| one_call(&sandbox, &path.replace('/', "-"), ("read_file", json!({"path": path})));
    let look = one_call(&sandbox, "look", command("cat p.txt"));
    let gates = json!([{"name": "g", "command": "true"}]);
    let tasks = json!([
        {"id": "inside", "task": "Look", "model": read("a.txt")},
        {"id": "outside", "task": "Look", "model": read("@extra/e.txt")},
        {"id": "command", "task": "Look", "model": look, "folder": "pkg"},
        {"id": "gate", "task": "Look", "model": read("a.txt"), "gates": gates},
    ]);
    sandbox.write("batch.yml", json!({"name": "n", "tasks": tasks}).to_string());
    // From the folder of a task, the same path leads to a folder of the repository.
    let config = json!({"evaluation": "off", "workspace": {"extra_dirs": ["../extra"]}});
    sandbox.write(".architect.yml", config.to_string());
    sandbox.write("extra/in-repository.txt", "old\n");
    sandbox.commit("tasks");
    let flags = ["--jobs", "2", "--previous", "none.json"];
    let first = batch(&sandbox, &flags).expect_code(0);
    let report = first.json("batch.json");
    assert_eq!(done(&report), ["command", "gate", "inside", "outside"].into());
    assert!(!report["notices"].to_string().contains("whatever stays the same"), "{report}");
    let previous = kept(&sandbox, &first);
    let both = &["gate", "outside"][..];
    for (path, size, again) in [
        ("e.txt", 0, &[][..]),
        (".env", 1, &[]),
        (".git/config", 1, &[]),
        ("e.txt", 1, both),
        ("new.txt", 1, both),
        ("large.bin", 300_000_000, both),
    ] {
        reset();
        if size > 0 {
            std::fs::File::create(extra.join(path)).unwrap().set_len(size).unwrap();
        }
        let flags = ["--jobs", "2", "--previous", &previous];
        let second = batch(&sandbox, &flags).expect_code(0);
        let report = second.json("batch.json");
        assert_eq!(done(&report), again.iter().copied().collect(), "{path}: {report}");
        let why = "`@extra` (`workspace.extra_dirs`) could be read, but its contents are not known: its files have more than 256 MiB";
        let told =
            format!("the next night does 2 tasks again, whatever stays the same: {why} (outside, gate)");
        let is_told = report["notices"].to_string().contains(&told);
        assert_eq!(is_told, size > 1, "{path}: {}", report["notices"]);
        let unsettled =
            report["tasks"].as_array().unwrap().iter().filter(|task| task["unsettled"] == why).count();
        assert_eq!(unsettled, if size > 1 { 2 } else { 0 }, "{path}: {report}");
        assert_eq!(second.file("batch.md").contains("whatever stays the same"), size > 1, "{path}");
    }
}
