//! A dry run plans what `yolo` does: sessions of edits and commands, with a formatter as hook and a gate, leave in
//! `yolo` what the plan of the same session in a dry run makes of another copy, byte for byte, with modes and links.
//!
//! `EVERYDAY_SESSIONS=500` plays more of them; `EVERYDAY_SEED=7` plays others.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestCaseError, TestRunner};
use serde_json::{Value, json};

use super::checkout::{Checkout, Effects};
use super::number;
use super::play::{self, Mode};

/// The formatter takes blanks from the ends of lines; the gate looks, and leaves a log that Git ignores.
const CONFIG: &str = "
dry_run: { commands: isolated }
hooks:
  post_edit:
    - name: formatter
      file_patterns: ['**/*.txt']
      command: sed -i 's/ *$//' {file}
guardrails:
  quality_gates:
    - name: look
      command: mkdir -p build && find . -path ./.git -prune -o -type f -print > build/gate.log
";

/// Names that get in each other's way: files where others need folders, links, odd and ignored names.
const PATHS: [&str; 16] = [
    "a.txt",
    "dir/b.txt",
    "dir/sub/c.txt",
    "dir",
    "dir/sub",
    "run.sh",
    "data.bin",
    "link",
    "new/deep/d.txt",
    "new",
    "sp ace ü.txt",
    "-dash",
    "debug.log",
    "build/out.o",
    "hollow",
    "hollow/inner",
];

#[derive(Clone, Debug)]
enum Step {
    Write { path: &'static str, text: String },
    Append { path: &'static str, text: String },
    Edit { path: &'static str, old: &'static str, new: String },
    Delete { path: &'static str },
    Command { line: String },
}

impl Step {
    fn call(&self) -> (&'static str, Value) {
        match self {
            Self::Write { path, text } => ("write_file", json!({"path": path, "content": text})),
            Self::Append { path, text } => {
                ("write_file", json!({"path": path, "content": text, "mode": "append"}))
            }
            Self::Edit { path, old, new } => {
                ("edit_file", json!({"path": path, "old_str": old, "new_str": new}))
            }
            Self::Delete { path } => ("delete_file", json!({ "path": path })),
            Self::Command { line } => ("run_command", json!({ "command": line })),
        }
    }
}

/// Returns a path as a word of the shell that is no option.
fn word(path: &str) -> String {
    format!("'./{path}'")
}

fn is_ignored(path: &str) -> bool {
    matches!(path, "debug.log" | "build/out.o")
}

fn path() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&PATHS[..])
}

fn text() -> impl Strategy<Value = String> {
    "([a-c]{0,3} {0,2}\n){0,5}[a-c ]{0,2}"
}

/// Returns a command line that changes files; what it does to names that do not fit is bash's to say, twice.
fn command() -> impl Strategy<Value = String> {
    let one = prop::sample::select(vec![
        "rm -f",
        "rm -rf",
        "mkdir -p",
        "rmdir",
        "truncate -s 11M",
        "touch",
        "chmod +x",
        "chmod -x",
        "sed -i s/a/b/g",
        "truncate -s 3",
        "printf 'x\\0\\377\\n' >",
        "echo more >>",
        "git rm -rq",
        "sort -o /tmp/sorted",
        "cat",
    ]);
    let two = prop::sample::select(vec!["mv", "mv -T", "cp -r", "cp -p", "ln -sfn", "git mv", "cp -rT"]);
    prop_oneof![
        4 => (one, path()).prop_map(|(program, path)| format!("{program} {}", word(path))),
        4 => (two, path(), path()).prop_map(|(program, from, to)| {
            let source = if program.starts_with("ln") { format!("'{from}'") } else { word(from) };
            // Into no folder: an ignored file in one that becomes a file is in the way of a plan, and may be.
            let place = if is_ignored(from) && !program.ends_with('T') { "-T " } else { "" };
            format!("{program} {place}{source} {}", word(to))
        }),
        1 => (path(), path()).prop_map(|(from, to)| {
            format!("for f in {}/*; do cp \"$f\" \"$f.copy\"; done; rm -rf {}", word(from), word(to))
        }),
        1 => (path(), path()).prop_map(|(one, other)| {
            format!("t=$(mktemp -d) && mv {} \"$t/x\" && mv {} {}; mv \"$t/x\" {}", word(one), word(other), word(one), word(other))
        }),
        1 => Just("tar cf build.tar dir && rm -r dir && tar xf build.tar && rm build.tar".to_owned()),
        1 => Just("echo '*.copy' >> .gitignore".to_owned()),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (path(), text()).prop_map(|(path, text)| Step::Write { path, text }),
        1 => (path(), text()).prop_map(|(path, text)| Step::Append { path, text }),
        2 => (path(), prop::sample::select(vec!["a", "b", "one", "\n"]), text())
            .prop_map(|(path, old, new)| Step::Edit { path, old, new }),
        1 => path().prop_map(|path| Step::Delete { path }),
        6 => command().prop_map(|line| Step::Command { line }),
    ]
}

/// Makes the repository that every session starts from.
fn template() -> Checkout {
    let checkout = Checkout::empty();
    let repo = checkout.repo();
    for folder in ["dir/sub", "build", "hollow/inner"] {
        fs::create_dir_all(repo.join(folder)).expect("a folder");
    }
    let files: [(&str, &[u8]); 10] = [
        (".architect.yml", CONFIG.as_bytes()),
        (".gitignore", b"*.log\n/build/\n"),
        ("a.txt", b"one\na\nb\n"),
        ("dir/b.txt", b"b\r\na\r\n"),
        ("dir/sub/c.txt", b"no line end"),
        ("run.sh", b"#!/bin/sh\necho a\n"),
        ("data.bin", b"\0\x01a\xff\n\0"),
        ("sp ace \u{fc}.txt", b""),
        ("debug.log", b"ignored\n"),
        ("build/out.o", b"\x7fELF\0"),
    ];
    for (name, content) in files {
        fs::write(repo.join(name), content).expect("a file");
    }
    fs::set_permissions(repo.join("run.sh"), fs::Permissions::from_mode(0o755)).expect("a mode");
    symlink("dir", repo.join("link")).expect("a link");
    checkout.commit();
    checkout
}

/// Plays a session in both modes and compares what each call came to and what is there afterwards.
fn same(template: &Checkout, steps: &[Step]) -> Result<(), TestCaseError> {
    let calls: Vec<(&str, Value)> = steps.iter().map(Step::call).collect();
    let (real, planned) = (Checkout::copy_of(template), Checkout::copy_of(template));
    let before = planned.tree();
    let yolo = play::session(&real, Mode::Yolo, &calls);
    let dry = play::session(&planned, Mode::DryRun, &calls);
    prop_assert_eq!(yolo.code, dry.code, "yolo: {}\ndry run: {}", yolo.log, dry.log);
    let came_to = |session: &play::Session| -> Vec<(bool, Option<i64>)> {
        session.answers.iter().map(|answer| (answer.refused, answer.exit)).collect()
    };
    prop_assert_eq!(came_to(&yolo), came_to(&dry), "yolo: {}\ndry run: {}", yolo.log, dry.log);
    let unknown = yolo.answers.iter().find(|answer| answer.text.contains("classified as"));
    prop_assert!(unknown.is_none(), "a line of the grammar is not let run: {unknown:?}");
    prop_assert_eq!(planned.tree(), before, "the dry run changed its checkout");
    let (ours, repository) = (real.repository(), template.repository());
    prop_assert!(ours == repository, "Git's own folder changed: {}", yolo.log);
    // What could not be kept is missing from the plan, which is not applied then.
    if dry.log.contains("changes made by commands were lost") {
        prop_assert!(dry.code == Some(2) && play::apply(&planned, &dry).is_err(), "{}", dry.log);
        return Ok(());
    }
    if let Err(error) = play::apply(&planned, &dry) {
        return Err(TestCaseError::fail(format!("the plan does not apply: {error}\n{}", dry.log)));
    }
    let difference = Effects::between(&real.tree(), &planned.tree());
    prop_assert!(
        difference.is_none(),
        "from yolo to plan: {difference:?}\nyolo: {}\ndry run: {}",
        yolo.log,
        dry.log
    );
    let (ours, theirs) = (real.folders_without_files(), planned.folders_without_files());
    prop_assert_eq!(ours, theirs, "yolo: {}\ndry run: {}", yolo.log, dry.log);
    Ok(())
}

#[test]
fn same_tree_in_dry_run_and_yolo() {
    let template = template();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: number("EVERYDAY_SESSIONS", 10),
        rng_seed: RngSeed::Fixed(number("EVERYDAY_SEED", 1)),
        max_shrink_iters: 60,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let sessions = prop::collection::vec(step(), 1..10);
    runner.run(&sessions, |steps| same(&template, &steps)).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn same_tree_with_empty_folders_and_large_files() {
    let run = |line: &str| Step::Command { line: line.to_owned() };
    let write = |path| Step::Write { path, text: "a\n".to_owned() };
    let sessions: [&[Step]; 10] = [
        &[run("mkdir -p new/deep"), run("cd new/deep && pwd")],
        &[run("mkdir -p new/deep"), write("new/deep/d.txt"), Step::Delete { path: "new/deep/d.txt" }],
        &[run("rm dir/sub/c.txt"), run("ls dir/sub")],
        &[Step::Delete { path: "dir/sub/c.txt" }],
        &[run("rmdir hollow/inner hollow"), run("ls hollow")],
        &[run("rmdir hollow/inner"), run("mkdir hollow/inner"), run("rm -r hollow && echo a > hollow")],
        &[run("mv hollow dir/sub/moved && rm -r dir/sub")],
        &[run("mv hollow moved && mv dir/sub/c.txt hollow && mv moved dir/sub/c.txt")],
        &[run("head -c 11000000 /dev/zero > new"), run("ls new"), write("a.txt")],
        &[run("for n in $(seq 30); do truncate -s 9M large.$n; done"), run("ls large.1")],
    ];
    let template = template();
    for steps in sessions {
        same(&template, steps).unwrap_or_else(|error| panic!("{steps:?}: {error}"));
    }
}

#[test]
fn same_tree_with_formatter_and_gate() {
    let template = template();
    let calls = [
        ("write_file", json!({"path": "a.txt", "content": "blanks   \nend  \n"})),
        (
            "run_command",
            json!({"command": "git mv a.txt dir/moved.txt && chmod +x dir/moved.txt && rm -r dir/sub"}),
        ),
        ("edit_file", json!({"path": "dir/moved.txt", "old_str": "end", "new_str": "END  "})),
    ];
    for mode in [Mode::Yolo, Mode::DryRun] {
        let checkout = Checkout::copy_of(&template);
        let before = checkout.tree();
        let session = play::session(&checkout, mode, &calls);
        assert_eq!(session.code, Some(0), "{mode:?}: {}", session.log);
        assert_eq!(checkout.repo().join("build/gate.log").exists(), mode == Mode::Yolo, "{mode:?}");
        if mode == Mode::DryRun {
            play::apply(&checkout, &session).unwrap_or_else(|error| panic!("{error}"));
        }
        let effects = Effects::between(&before, &checkout.tree());
        let expected = Effects {
            created: ["dir/moved.txt".to_owned()].into(),
            removed: ["a.txt".to_owned(), "dir/sub/c.txt".to_owned()].into(),
            ..Effects::default()
        };
        assert_eq!(effects, expected, "{mode:?}: {}", session.log);
        let text = fs::read_to_string(checkout.repo().join("dir/moved.txt")).expect("a file");
        assert_eq!(text, "blanks\nEND\n", "{mode:?}: the formatter ran after each edit");
        let mode_bits =
            fs::metadata(checkout.repo().join("dir/moved.txt")).expect("a file").permissions().mode();
        assert_eq!(mode_bits & 0o111, 0o111, "{mode:?}");
    }
}
