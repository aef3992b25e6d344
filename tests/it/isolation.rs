//! Commands and gates of a dry run on the planned state: on an overlay where one can be mounted, on a copy
//! elsewhere. Both have to say the same, and neither may touch the checkout.
#![cfg(target_os = "linux")]

use std::fs;
use std::process::{Command, Stdio};

use crate::support::program::program;
use crate::support::wait::wait_until;
use crate::support::{Run, Sandbox, command};
use serde_json::{Value, json};

pub const CONFIG: &str = "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\n";

/// Where no namespace can be made, as on GitHub's runners: no overlay, so a copy.
pub const NO_NAMESPACES: &str = "echo 0 > /proc/sys/user/max_user_namespaces && echo 0 > /proc/sys/user/max_mnt_namespaces && exec setpriv --no-new-privs --bounding-set=-sys_admin -- \"$@\"";

/// Runs the session twice: with an overlay and with a copy.
pub fn both(
    files: &[(&str, &str)],
    prepare: impl Fn(&Sandbox),
    turns: &[Vec<(&str, Value)>],
    check: impl Fn(&str, &Sandbox, &Run),
) {
    for method in ["overlay", "copy"] {
        let sandbox = Sandbox::new(files);
        prepare(&sandbox);
        let model = sandbox.script(turns, "done");
        let before = sandbox.tree();
        let mut command = sandbox.run_command(&["--model", &model, "--verbose"]);
        if method == "copy" {
            let binary = program();
            let home = sandbox.path().join("home");
            fs::create_dir(&home).expect("a folder");
            let identity = "[user]\nname = T\nemail = t@localhost\n";
            fs::write(home.join(".gitconfig"), identity).expect("a file");
            let mut wrapped = Command::new("unshare");
            wrapped
                .args(["--user", "--map-root-user", "--mount", "sh", "-c", NO_NAMESPACES, "sh", binary])
                .args(command.get_args())
                .current_dir(sandbox.path())
                .env("CI", "true")
                .env("TMPDIR", sandbox.path())
                // Without mounts, what is in the caches of a home is copied for each run.
                .envs(["HOME", "CARGO_HOME"].map(|name| (name, &home)))
                .stdin(Stdio::null());
            command = wrapped;
        }
        let run = Run::new(&command.output().expect("the binary runs"), sandbox.out());
        assert!(
            run.stderr.contains(&format!(
                "commands run on a{}",
                if method == "overlay" { "n overlay" } else { " copy" }
            )),
            "{method}: {}\n{}",
            run.stderr,
            run.stdout
        );
        assert_eq!(sandbox.tree(), before, "{method}: the checkout is as it was");
        assert!(run.report()["plan"]["differences"].as_array().unwrap().is_empty());
        let left: Vec<_> =
            fs::read_dir(sandbox.path()).unwrap().flatten().map(|entry| entry.file_name()).collect();
        assert!(!left.iter().any(|name| name.to_string_lossy().contains("isolated")), "{method}: {left:?}");
        check(method, &sandbox, &run);
    }
}

/// A configuration with gates that are not required, and commands that run on the isolated state.
pub fn with_gates(gates: &[(&str, &str)]) -> Value {
    let gates: Vec<Value> = gates
        .iter()
        .map(|(name, command)| json!({"name": name, "command": command, "required": false}))
        .collect();
    json!({
        "commands": {"dev_commands": ["bash"]},
        "dry_run": {"commands": "isolated"},
        "guardrails": {"max_gate_rounds": 1, "quality_gates": gates},
    })
}

fn planned(run: &Run) -> Vec<String> {
    let plan = run.json("plan.json");
    let files = plan["files"].as_array().unwrap().iter();
    files
        .map(|file| {
            format!(
                "{} {} {}",
                file["op"].as_str().unwrap(),
                file["path"].as_str().unwrap(),
                file["mode"].as_str().unwrap()
            )
        })
        .collect()
}

#[test]
fn isolation_commands_see_and_extend_plan() {
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let write = ("write_file", json!({"path": "new/e.txt", "content": "e\n"}));
    let script = "cat a.txt new/e.txt; rm gone.txt; rm -r dir; mkdir dir; echo f > dir/f.txt; rm -r old; rm file; mkdir file; echo g > file/g.txt; \
                  printf 'h\\0' > h.bin; ln -s a.txt link; echo run > tool.sh; chmod +x tool.sh; mkdir -p build; echo x > build/x.o; rm new/e.txt; : > empty; echo $PWD";
    let files = [
        (".architect.yml", CONFIG),
        (".gitignore", "build/\n"),
        ("a.txt", "one\n"),
        ("gone.txt", "x\n"),
        ("dir/b.txt", "b\n"),
        ("dir/c.txt", "c\n"),
        ("old/deep/d.txt", "d\n"),
        ("file", "a file\n"),
        (".s/1", script),
    ];
    let turns = [
        vec![edit, write],
        vec![command("bash .s/1"), command("cat build/x.o dir/f.txt; ls dir new")],
        vec![
            ("read_file", json!({"path": "dir/f.txt"})),
            ("read_file", json!({"path": "gone.txt"})),
            ("read_file", json!({"path": "link"})),
        ],
        vec![
            ("edit_file", json!({"path": "dir/f.txt", "old_str": "f", "new_str": "F"})),
            command("cat dir/f.txt"),
        ],
    ];
    both(
        &files,
        |_| {},
        &turns,
        |method, sandbox, run| {
            assert_eq!(run.code, 0, "{method}: {}", run.stderr);
            let results = run.results();
            assert!(results[2].contains("\ntwo\ne\n"), "{method}: {}", results[2]);
            if method == "overlay" {
                assert!(
                    results[2].contains(sandbox.repo().canonicalize().unwrap().to_str().unwrap()),
                    "it runs in the checkout's very place: {}",
                    results[2]
                );
            }
            assert!(results[3].contains("\nx\nf\ndir:\nf.txt\n\nnew:"), "{method}: {}", results[3]);
            assert_eq!(results[4], "1\tf\n", "{method}");
            assert_eq!(results[5], "Error: gone.txt does not exist", "{method}");
            assert_eq!(results[6], "1\ttwo\n", "{method}");
            assert!(results[8].ends_with("\nF\n") || results[8].ends_with("\nF"), "{method}: {}", results[8]);
            assert_eq!(
                planned(run),
                [
                    "modify a.txt 100644",
                    "delete dir/b.txt 100644",
                    "delete dir/c.txt 100644",
                    "add dir/f.txt 100644",
                    "add empty 100644",
                    "delete file 100644",
                    "add file/g.txt 100644",
                    "delete gone.txt 100644",
                    "add h.bin 100644",
                    "add link 120000",
                    "delete old/deep/d.txt 100644",
                    "add tool.sh 100755",
                ],
                "{method}"
            );
            // The patch says the same as the plan.
            let patch = run.out.join("plan.patch");
            sandbox.git(&["apply", patch.to_str().unwrap()]);
            assert_eq!(sandbox.read("dir/f.txt"), "F\n");
            assert_eq!(fs::read_link(sandbox.repo().join("link")).unwrap().to_str(), Some("a.txt"));
            assert!(!sandbox.repo().join("old").exists() && sandbox.repo().join("file/g.txt").exists());
        },
    );
}

#[test]
fn isolation_gates_run_on_planned_state() {
    let config = "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\nguardrails:\n  quality_gates:\n    - { name: writes, command: 'cat a.txt; echo spoiled > a.txt; echo more > gate.txt; test ! -e b.txt' }\n    - { name: meets it, command: 'cat a.txt; test -e a.txt', required: false }\n";
    let turns = [
        vec![
            ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"})),
            ("write_file", json!({"path": "b.txt", "content": "b\n"})),
        ],
        // The gate fails because of b.txt; the agent removes it.
    ];
    let files = [(".architect.yml", config), ("a.txt", "one\n"), (".s/1", "rm b.txt; cat a.txt; ls\n")];
    for fixed in [true, false] {
        let sandbox = Sandbox::new(&files);
        let model = sandbox.script(&turns, "done");
        if fixed {
            let path = model.trim_start_matches("replay::");
            let mut text = fs::read_to_string(path).unwrap();
            text += &format!(
                "{}\n",
                json!({"type": "reply", "agent": "build", "step": 3, "calls": [{"id": "c9", "name": "run_command", "arguments": {"command": "bash .s/1"}}]})
            );
            text += &format!("{}\n", json!({"type": "reply", "agent": "build", "step": 4, "text": "fixed"}));
            fs::write(path, text).unwrap();
        } else {
            let path = model.trim_start_matches("replay::");
            let last =
                format!("{}\n", json!({"type": "reply", "agent": "build", "step": 3, "text": "still done"}));
            let text = fs::read_to_string(path).unwrap() + &last + &last;
            fs::write(path, text).unwrap();
        }
        let before = sandbox.tree();
        let run = sandbox.run(&["--model", &model], &[]);
        assert_eq!(sandbox.tree(), before);
        let report = run.report();
        let gate = &report["gates"][0];
        assert_eq!(
            (gate["predicted"].as_bool(), gate["passed"].as_bool()),
            (Some(true), Some(fixed)),
            "{}",
            run.stderr
        );
        if fixed {
            assert_eq!(
                (run.code, gate["round"].as_u64(), report["message"].as_str()),
                (0, Some(2), Some("fixed"))
            );
            assert_eq!(planned(&run), ["modify a.txt 100644"], "what the gate wrote is not planned");
            assert!(
                run.results()[2].contains("\ntwo\na.txt\n"),
                "nor seen by a command: {}",
                run.results()[2]
            );
        } else {
            // Nothing changed in between, so they did not run again.
            assert_eq!((run.code, gate["round"].as_u64()), (1, Some(1)));
            assert_eq!(
                (report["status"].as_str(), report["stop_reason"].as_str()),
                (Some("partial"), Some("gates_failed"))
            );
            assert!(run.file("comment.md").contains("❌"));
        }
    }
}

#[test]
fn isolation_restores_protected_files() {
    let config = "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\nguardrails: { protected_files: [\"*.lock\"], max_files_modified: 2 }\n";
    let files = [
        (".architect.yml", config),
        ("a.lock", "1\n"),
        ("a.txt", "one\n"),
        (".s/1", "echo 2 > a.lock; echo two > a.txt\n"),
        (".s/2", "for i in 1 2 3; do echo $i > n$i; done\n"),
    ];
    let turns = [
        vec![command("bash .s/1")],
        vec![
            ("read_file", json!({"path": "a.lock"})),
            ("read_file", json!({"path": "a.txt"})),
            command("cat a.lock"),
        ],
        vec![command("bash .s/2"), command("ls; cat a.txt")],
    ];
    both(
        &files,
        |_| {},
        &turns,
        |method, _, run| {
            assert_eq!(run.code, 0, "{method}: {}", run.stderr);
            let results = run.results();
            assert!(results[0].contains("Guardrail: a.lock is a protected file (protected_files: *.lock); none of the changes of the command were kept"), "{method}: {}", results[0]);
            assert_eq!((results[1].as_str(), results[2].as_str()), ("1\t1\n", "1\tone\n"), "{method}");
            assert!(results[3].contains("\n1"), "{method}: {}", results[3]);
            assert!(
                results[4].contains(
                    "Guardrail: 3 files would be modified, but the limit is 2 (max_files_modified)"
                ),
                "{method}: {}",
                results[4]
            );
            assert!(results[5].contains("\na.lock\na.txt\none"), "{method}: {}", results[5]);
            assert!(planned(run).is_empty(), "{method}: {:?}", planned(run));
        },
    );
}

#[test]
fn isolation_oversized_change_fails_its_command() {
    let files = [
        (".architect.yml", CONFIG),
        (".s/1", "truncate -s 1G huge.bin; echo x > small.txt\n"),
        (".s/2", "ls; echo y > other.txt\n"),
    ];
    let turns = [vec![command("bash .s/1")], vec![command("bash .s/2")]];
    both(
        &files,
        |_| {},
        &turns,
        |method, _, run| {
            let results = run.results();
            assert!(
                results[0].contains("Error: huge.bin is larger than 10 MiB, which no plan or report can show; write what is no part of the project where Git ignores it; none of the changes of the command were kept"),
                "{method}: {}",
                results[0]
            );
            assert!(!results[1].contains("huge.bin"), "{method}: {}", results[1]);
            assert_eq!(planned(run), ["add other.txt 100644"], "{method}");
            assert!(run.stderr.contains("isolated runs used "), "{method}: {}", run.stderr);
        },
    );
}

#[test]
fn isolation_sweeps_leftovers_of_killed_run() {
    let files = [(".architect.yml", CONFIG), ("a.txt", "one\n"), (".s/1", "touch started; sleep 300\n")];
    let sandbox = Sandbox::new(&files);
    let model = sandbox.script(&[vec![command("bash .s/1")]], "done");
    let mut runner = sandbox.run_command(&["--model", &model]);
    let mut runner = runner.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary runs");
    let scratch = || -> Vec<_> {
        let entries = fs::read_dir(sandbox.path()).unwrap().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("isolated")).collect()
    };
    wait_until("the command starts", || scratch().iter().any(|path| path.join("upper/started").exists()));
    runner.kill().expect("SIGKILL");
    runner.wait().expect("the end");
    assert!(!scratch().is_empty(), "nobody was there to remove them");
    let model = sandbox.script(&[vec![command("echo two > a.txt")]], "done");
    sandbox.run(&["--model", &model], &[]).expect_code(0);
    assert!(scratch().is_empty(), "{:?}", scratch());
}

#[test]
fn names_that_no_plan_can_hold_are_seen_by_no_gate() {
    let gates = [("finds one", "ls | grep -a odd; ls kept | grep -a odd")];
    let config = with_gates(&gates).to_string();
    let script = "touch $'odd\\xff' $'kept/odd\\xff'; mkdir $'odd\\xfe'; touch $'odd\\xfe/in'; echo two > a.txt; echo o > build/o";
    let files = [
        (".architect.yml", config.as_str()),
        (".gitignore", "build/\n"),
        ("a.txt", "one\n"),
        ("kept/b.txt", "b\n"),
        ("build/.keep", ""),
        (".s/1", script),
    ];
    let turns = [vec![command("bash .s/1"), command("bash -c 'ls -b . kept; cat a.txt'")]];
    both(
        &files,
        |_| {},
        &turns,
        |method, _, run| {
            let results = run.results();
            assert!(
                results[0].contains("[not kept: 3 with names that are not UTF-8]"),
                "{method}: {results:?}"
            );
            assert!(
                results[1].contains("b.txt\ntwo") && !results[1].contains("odd"),
                "{method}: {results:?}"
            );
            assert_eq!(run.report()["gates"][0]["passed"], json!(false), "{method}: {}", run.stderr);
            assert_eq!(planned(run), ["modify a.txt 100644"], "{method}");
        },
    );
}
