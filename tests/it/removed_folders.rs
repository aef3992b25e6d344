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

/// Sessions with folders that have no files: commands and file tools of one session see the same of them. Each is a list of calls
/// with what their results contain.
fn sessions() -> Vec<Vec<(&'static str, Value, &'static str)>> {
    let run = |line: &str, says: &'static str| ("run_command", json!({ "command": line }), says);
    let bash = |line: &str, says| run(&format!("bash -c '{line}'"), says);
    let moved = |from: &str, to: &str, says| ("move_file", json!({"from": from, "to": to}), says);
    let write = |path: &str, says| ("write_file", json!({"path": path, "content": "new\n"}), says);
    let list = |says| ("list_files", json!({"recursive": true}), says);
    vec![
        vec![bash("mkdir newd", ""), moved("x.txt", "newd", "newd/x.txt"), bash("find newd", "newd/x.txt")],
        vec![
            bash("mkdir -p newd/deep", ""),
            list("newd/\nnewd/deep/\n"),
            bash("rmdir newd/deep", ""),
            list("newd/\nx.txt"),
        ],
        vec![
            bash("mkdir newd", ""),
            bash("rmdir newd", ""),
            moved("x.txt", "newd", "x.txt to newd"),
            bash("cat newd", "x"),
        ],
        vec![bash("rm -rf a", ""), write("a", "Created a"), bash("cat a", "new")],
        vec![bash("rm -rf a", ""), moved("b", "a", "Moved 2 files from b to a"), bash("find a", "a/old.txt")],
        vec![
            run("git mv a lib", ""),
            moved("b", "a", "Moved 2 files from b to a"),
            bash("find a ! -name a", "a/old.txt"),
        ],
        vec![
            bash("rm -r a; ln -s b a", ""),
            list("a -> b\nb/\n"),
            ("read_file", json!({"path": "a/old.txt"}), "old"),
        ],
        // Replaced by a folder without files, in one command and in two.
        vec![
            bash("rm -rf a && mkdir a", ""),
            bash("ls -d a", "a"),
            moved("x.txt", "a", "a/x.txt"),
            list("a/\na/x.txt\nb/"),
        ],
        vec![
            bash("rm -rf a", ""),
            bash("mkdir a", ""),
            moved("x.txt", "a", "a/x.txt"),
            bash("find a", "a/x.txt"),
        ],
        // As it was, whatever was in between.
        vec![
            bash("cp -r a keep; rm -rf a; mkdir -p a/sub; cp keep/old.txt a", ""),
            ("read_file", json!({"path": "a/old.txt"}), "old"),
            list("a/\na/old.txt\na/sub/\nb/"),
        ],
        vec![
            bash("mv a keep", ""),
            bash("mv keep a", ""),
            list("a/\na/old.txt\na/sub/\na/sub/old.txt\nb/"),
            bash("cat a/sub/old.txt", "old"),
        ],
        // A folder that a tool made, and that has lost its file.
        vec![
            write("newd/y.txt", "Created"),
            ("delete_file", json!({"path": "newd/y.txt"}), ""),
            bash("ls -d newd; rmdir newd", "newd"),
            list("b/old.txt\nb/sub/\nb/sub/old.txt\nc/"),
        ],
        vec![
            bash("find a -type f -delete; rmdir -p a/sub", ""),
            bash("test -e a || echo gone", "gone"),
            list("\nb/\n"),
            write("a", "Created a"),
        ],
    ]
}

#[test]
fn sessions_with_empty_folders_are_the_same_in_both_modes() {
    for (number, session) in sessions().into_iter().enumerate() {
        let turns: Vec<_> = session.iter().map(|(tool, args, _)| vec![(*tool, args.clone())]).collect();
        let says: Vec<&str> = session.iter().map(|(.., says)| *says).collect();
        let check = |run: &Run, way: &str| {
            assert_eq!(run.code, 0, "{number}, {way}: {}", run.stderr);
            let results = run.results();
            let is_as_expected =
                |(result, says): (&String, &&str)| result.contains(*says) && !result.starts_with("Error");
            assert!(results.iter().zip(&says).all(is_as_expected), "{number}, {way}: {results:#?}");
        };
        let sandbox = Sandbox::new(&FILES);
        let model = sandbox.script(&turns, "done");
        check(&sandbox.run(&["--model", &model, "--mode", "yolo"], &[]), "at once");
        let made = sandbox.tree();
        both(
            &FILES,
            |_| {},
            &turns,
            |method, sandbox, run| {
                check(run, method);
                std::fs::write(sandbox.path().join("plan.patch"), run.file("plan.patch")).expect("a file");
                if !run.file("plan.patch").is_empty() {
                    sandbox.git(&["apply", "../plan.patch"]);
                }
                assert_eq!(sandbox.tree(), made, "{number}, {method}");
            },
        );
    }
}
