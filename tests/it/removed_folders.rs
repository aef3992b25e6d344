//! Folders that a command removed: what was in them stays away when files are written below their paths.
#![cfg(target_os = "linux")]

use serde_json::{Value, json};

use crate::isolation::both;
use crate::support::{Run, Sandbox, command};

const CONFIG: &str = "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\nworkspace: { allow_delete: true }\n";

const FILES: [(&str, &str); 11] = [
    (".architect.yml", CONFIG),
    (".gitignore", "*.o\n"),
    ("a/old.txt", "old\n"),
    ("a/sub/old.txt", "old\n"),
    ("b/old.txt", "old\n"),
    ("b/sub/old.txt", "old\n"),
    ("c/old.txt", "old\n"),
    ("d/built.o", "built\n"),
    ("d/old.txt", "old\n"),
    ("d/other.txt", "old\n"),
    ("x.txt", "x\n"),
];

/// Removes folders in all the ways that there are, and writes below each in another way.
fn turns() -> Vec<Vec<(&'static str, Value)>> {
    let patch = "--- /dev/null\n+++ b/b/sub/new.txt\n@@ -0,0 +1 @@\n+new\n";
    let list = || command("bash -c 'find a b c d moved ! -type d | sort'");
    vec![
        vec![command("bash -c 'rm -rf a d; git rm -rq b; mv c moved'")],
        vec![
            ("write_file", json!({"path": "a/new.txt", "content": "new\n"})),
            ("write_file", json!({"path": "a/taken-back.txt", "content": "new\n"})),
            ("apply_patch", json!({"patch": patch})),
            ("move_file", json!({"from": "x.txt", "to": "c/x.txt"})),
            // As it was.
            ("write_file", json!({"path": "d/old.txt", "content": "old\n"})),
        ],
        vec![list(), ("delete_file", json!({"path": "a/taken-back.txt"}))],
        vec![list()],
    ]
}

fn check(run: &Run, way: &str) {
    assert_eq!(run.code, 0, "{way}: {}", run.stderr);
    let results = run.results();
    let (first, last) = (&results[6], &results[8]);
    let rest = "b/sub/new.txt\nc/x.txt\nd/old.txt\nmoved/old.txt";
    assert!(first.contains(&format!("\na/new.txt\na/taken-back.txt\n{rest}")), "{way}: {results:#?}");
    assert!(last.contains(&format!("\na/new.txt\n{rest}")), "{way}: {results:#?}");
}

#[test]
fn removed_folders_stay_removed_below_new_files() {
    let sandbox = Sandbox::new(&FILES);
    let model = sandbox.script(&turns(), "done");
    check(&sandbox.run(&["--model", &model, "--mode", "yolo"], &[]), "at once");
    both(
        &FILES,
        |_| {},
        &turns(),
        |method, _, run| {
            check(run, method);
            let plan = run.json("plan.json");
            let files = plan["files"].as_array().unwrap().iter();
            let planned: Vec<_> = files.map(|file| (file["op"].as_str(), file["path"].as_str())).collect();
            let expected = [
                ("add", "a/new.txt"),
                ("delete", "a/old.txt"),
                ("delete", "a/sub/old.txt"),
                ("delete", "b/old.txt"),
                ("add", "b/sub/new.txt"),
                ("delete", "b/sub/old.txt"),
                ("delete", "c/old.txt"),
                ("add", "c/x.txt"),
                ("delete", "d/other.txt"),
                ("add", "moved/old.txt"),
                ("delete", "x.txt"),
            ];
            assert_eq!(planned, expected.map(|(op, path)| (Some(op), Some(path))), "{method}");
        },
    );
}
