//! Ignored folders that the tasks of a batch share with its checkout.
#![cfg(target_os = "linux")]

use std::fs;

use serde_json::{Value, json};

use super::ends;
use crate::support::{Run, Sandbox};

const FILES: &[(&str, &str)] = &[
    (".gitignore", "node_modules/\nbuild/\n"),
    (".architect.yml", "evaluation: off\ncommands: { enabled: true }\n"),
    ("recipe.yml", "steps:\n- files: ['n.txt']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n"),
    ("n0/n.txt", "old\n"),
    ("lib/tool.sh", "echo of the commit\n"),
];

/// What was installed in the checkout of the batch.
const INSTALLED: [(&str, &str); 4] = [
    ("node_modules/tool/run.sh", "echo installed\n"),
    ("node_modules/tool/.git/config", "[remote]\nurl = https://x:secret@example.com\n"),
    ("n0/build/out.txt", "built\n"),
    ("n0/build/.env", "TOKEN=abc\n"),
];

fn checkout() -> Sandbox {
    let sandbox = Sandbox::new(FILES);
    for (path, content) in INSTALLED {
        sandbox.write(path, content);
    }
    sandbox
}

fn batch(sandbox: &Sandbox, tasks: &[Value]) -> Run {
    let file = json!({"name": "shared", "defaults": {"mode": "yolo", "deliver": "patch"}, "tasks": tasks});
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    sandbox.batch(&[])
}

#[test]
fn batch_shares_ignored_folders_with_its_tasks() {
    let sandbox = checkout();
    let gates = |lines: &[&str]| -> Value {
        lines.iter().map(|line| json!({"name": line, "command": line})).collect()
    };
    let task = |id: &str, shared: Value, gates: Value| json!({"id": id, "recipe": "recipe.yml", "folder": "n0", "shared": shared, "gates": gates});
    let sees = [
        "sh ../node_modules/tool/run.sh | grep -x installed",
        "grep -x built build/out.txt",
        // Neither credentials of other repositories nor sensitive files.
        "! cat ../node_modules/tool/.git/config && ! test -s build/.env",
        // What one gate leaves there is met by no other.
        "echo echo changed > ../node_modules/tool/run.sh && touch build/new && rm build/out.txt",
        "sh ../node_modules/tool/run.sh | grep -x installed && ! test -e build/new && cat build/out.txt",
    ];
    let model = sandbox.script(
        &[
            vec![("run_command", json!({"command": "echo of the agent > build/out.txt; echo x > n.txt"}))],
            // The agent itself meets what it left there.
            vec![("run_command", json!({"command": "sh ../node_modules/tool/run.sh && cat build/out.txt"}))],
        ],
        "done",
    );
    let agent = json!({"id": "agent", "task": "x", "model": model, "folder": "n0", "shared": ["node_modules", "n0/build"],
        "gates": gates(&[sees[0], sees[1]])});
    let mut tasks = [
        task("sees", json!(["node_modules", "n0/build"]), gates(&sees)),
        task("sparse", json!(["node_modules"]), gates(&sees[..1])),
        task("alone", json!([]), gates(&["! test -e ../node_modules && ! test -e build"])),
        agent,
    ];
    tasks[1]["sparse"] = json!([]);
    let run = batch(&sandbox, &tasks);
    let report = run.json("batch.json");
    assert!(ends(&report).values().all(|end| end == "success"), "{report:#}");
    let transcript = run.file("tasks/agent/transcript.jsonl");
    assert!(transcript.contains("installed\\nof the agent"), "{transcript}");
    for id in ["sees", "sparse", "alone", "agent"] {
        let patch = run.file(&format!("tasks/{id}/plan.patch"));
        assert_eq!(patch.matches("diff --git").count(), 1, "{patch}");
    }
    for (path, content) in INSTALLED {
        assert_eq!(sandbox.read(path), content, "nobody changes what is shared");
    }
    assert!(!sandbox.repo().join("n0/build/new").exists());
}

#[test]
fn batch_refuses_to_share_what_is_not_ignored_or_not_there() {
    let sandbox = checkout();
    std::os::unix::fs::symlink("node_modules", sandbox.repo().join("modules")).unwrap();
    fs::write(sandbox.repo().join("file"), "").unwrap();
    for (folder, told) in [
        ("lib", "the commit contains lib/tool.sh, and only folders that Git ignores can be shared"),
        ("n0", "the commit contains n0/n.txt"),
        ("vendor", "it is not a folder of the checkout; install what it contains before the batch starts"),
        ("file", "it is not a folder of the checkout"),
        ("modules/tool", "the link modules leads to it"),
        ("../other", "../other"),
    ] {
        let run = batch(&sandbox, &[json!({"id": "a", "recipe": "recipe.yml", "shared": [folder]})]);
        assert!(run.stderr.contains(told), "{folder}: {}", run.stderr);
        assert_eq!(run.code, 3, "{folder}");
    }
}
