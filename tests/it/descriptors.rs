//! Open files that a command hands to another one, which runs in the background: by them it could change what has been
//! judged already.
#![cfg(target_os = "linux")]

use std::fs;

use crate::support::{Run, Sandbox, command};
use serde_json::{Value, json};

/// Takes open files and a folder, and writes to them as soon as a gate is at work.
const TAKER: &str = r#"
import array, os, socket, time

def appears(path):
    while not os.path.exists(path):
        time.sleep(0.01)

listener = socket.socket(socket.AF_UNIX)
listener.bind("/tmp/handed")
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
_, [(_, _, data)], _, _ = connection.recvmsg(1, socket.CMSG_SPACE(64))
*files, folder = array.array("i", data)
appears("../meet/begin")
for file in files:
    os.pwrite(file, b"LATER", 0)
try:
    os.close(os.open("added", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
except OSError:
    pass
with open("../meet/new", "w") as told:
    told.write(str(len(files)))
os.rename("../meet/new", "../meet/done")
time.sleep(600)
"#;

/// Writes files, and hands them over open, with the folder that they are in.
const GIVER: &str = r#"
import array, os, socket, sys

handed = array.array("i")
for path in sys.argv[1:]:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    handed.append(os.open(path, os.O_CREAT | os.O_RDWR, 0o755))
    os.write(handed[-1], b"FIRST")
    if path.endswith("large.bin"):
        os.truncate(handed[-1], 11 << 20)
handed.append(os.open(".", os.O_RDONLY))
connection = socket.socket(socket.AF_UNIX)
connection.connect("/tmp/handed")
connection.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)])
"#;

fn background(line: &str) -> (&'static str, Value) {
    ("run_command", json!({ "command": line, "background": true }))
}

fn run(sandbox: &Sandbox, mode: &str, turns: &[Vec<(&str, Value)>]) -> Run {
    let model = sandbox.script(turns, "done");
    sandbox.run(&["--model", &model, "--mode", mode], &[])
}

#[test]
fn files_handed_to_a_background_command_are_not_those_that_are_judged_and_kept() {
    // Before the run, there is nothing to wait for. It always passes: one that fails runs again, on a new state.
    let gate = "test -e new.py || exit 0; touch ../meet/begin; until test -e ../meet/done; do sleep 0.01; done; head -qc 5 \
                new.py target/tool target/large.bin 2>/dev/null; ls added 2>/dev/null; true";
    let config = json!({
        "commands": {"dev_commands": ["python3"], "writable_paths": ["../meet"]},
        "dry_run": {"commands": "isolated"},
        "guardrails": {"max_gate_rounds": 1, "quality_gates": [{"name": "first", "command": gate}]},
    });
    for (mode, files) in
        [("yolo", vec!["new.py", "target/tool", "target/large.bin"]), ("dry-run", vec!["new.py"])]
    {
        let sandbox = Sandbox::new(&[
            (".architect.yml", &config.to_string()),
            (".gitignore", "target/\n"),
            ("taker.py", TAKER),
            ("giver.py", GIVER),
        ]);
        let meet = sandbox.path().join("meet");
        fs::create_dir(&meet).unwrap();
        let giver = format!("python3 giver.py {}", files.join(" "));
        let run = run(&sandbox, mode, &[vec![background("python3 taker.py")], vec![command(&giver)]]);
        assert!(run.results()[0].ends_with("\nready"), "{mode}: {:?}", run.results());
        assert!(run.results()[1].contains("\n[changed: new.py]"), "{mode}: {:?}", run.results());
        let written = fs::read_to_string(meet.join("done")).unwrap();
        assert_eq!(written, files.len().to_string(), "{mode}: it wrote to all of them");
        let run = run.expect_code(0);
        assert_eq!(run.report()["gates"][0]["output"], "FIRST".repeat(files.len()), "{mode}");
        if mode == "dry-run" {
            let plan = run.file("plan.patch");
            assert!(plan.contains("+FIRST") && !plan.contains("LATER"), "{plan}");
            continue;
        }
        for file in files {
            let content = fs::read(sandbox.repo().join(file)).unwrap();
            assert_eq!(&content[..5], b"FIRST", "{file}");
        }
        assert!(!sandbox.repo().join("added").exists());
    }
}

/// Two commands, of which the second sees what the first has left.
const CHANGES: [&str; 2] = [
    "rm -r old; mkdir old; echo new > old/b; rm gone; ln -s kept link; chmod 755 kept; mkdir -p target/deep; echo built > \
     target/deep/out; ln target/deep/out target/same; mkfifo pipe; mkdir -m 700 closed; mv a b; mkdir empty",
    "ls -R . | sort; cat old/b link target/same; stat -c '%n %a' kept closed target/deep/out; echo more > old/c; rm b",
];

#[test]
fn commands_come_to_the_same_while_another_runs_in_the_background() {
    let config = "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\nworkspace: { allow_delete: true }\n";
    for mode in ["yolo", "dry-run"] {
        let [alone, beside] = [false, true].map(|is_beside| {
            let sandbox = Sandbox::new(&[
                (".architect.yml", config),
                (".gitignore", "target/\n"),
                ("old/a", "a\n"),
                ("old/deep/b", "b\n"),
                ("gone", "gone\n"),
                ("kept", "kept\n"),
                ("a", "moved\n"),
                ("first.sh", CHANGES[0]),
                ("second.sh", CHANGES[1]),
            ]);
            let first = if is_beside { background("sleep 600") } else { command("true") };
            let turns = [vec![first], vec![command("bash first.sh")], vec![command("bash second.sh")]];
            let run = run(&sandbox, mode, &turns).expect_code(0);
            let results = run.results();
            assert!(!is_beside || results[0].starts_with("background command 1 is running"), "{results:?}");
            assert!(
                results[1].contains("old/deep/b") && results[2].contains("new\nkept\nbuilt"),
                "{results:?}"
            );
            let files = run.report()["files"].clone();
            let plan = if mode == "dry-run" { run.file("plan.patch") } else { String::new() };
            let lines = results[1..].iter().flat_map(|result| result.lines());
            // Except how long it took, and what is said of the command in the background.
            let apart = ["exit code 0 after ", "[running in the background and not seeing this change"];
            let told =
                lines.filter(|line| !apart.iter().any(|part| line.starts_with(part))).map(str::to_owned);
            (told.collect::<Vec<_>>(), files, plan, sandbox.tree())
        });
        assert_eq!(alone, beside, "{mode}");
    }
}
