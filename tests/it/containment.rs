//! Two steps with a change in between: what one command leaves in the place of something must not lead the next step, or
//! this program itself, elsewhere.
#![cfg(target_os = "linux")]

use std::fs;

use crate::isolation::{both, with_gates};
use crate::support::{Sandbox, command};
use serde_json::{Value, json};

const IGNORED: &str = "build/\nbuild\nnode_modules/\n.venv/\n";

fn configuration(gates: &[(&str, &str)]) -> String {
    with_gates(gates).to_string()
}

/// Creates a folder beside the checkout that nobody may read or change.
fn outside(sandbox: &Sandbox) {
    fs::create_dir_all(sandbox.path().join("outside/deep")).unwrap();
    for file in ["outside/a.txt", "outside/deep/b.txt"] {
        fs::write(sandbox.path().join(file), "OUTSIDE").unwrap();
    }
}

fn is_whole(sandbox: &Sandbox) -> bool {
    ["outside/a.txt", "outside/deep/b.txt"]
        .iter()
        .all(|file| fs::read_to_string(sandbox.path().join(file)).is_ok_and(|text| text == "OUTSIDE"))
}

#[test]
fn links_that_a_command_leaves_lead_no_later_step_elsewhere() {
    let outside_path = "$(cat .place)/outside";
    for plant in [
        // Rules for Git's own folder, and for a folder of build outputs.
        "rm -rf .git; ln -s / .git".to_owned(),
        format!("rm -rf .git; ln -s {outside_path} .git"),
        format!("mkdir -p build; touch build/a.txt; rm -r build; ln -s {outside_path} build"),
        // What is planned at a path is removed again where that leads.
        format!("rm -r docs; ln -s {outside_path} docs"),
        format!("mv docs kept; ln -s {outside_path}/deep docs"),
        format!(
            "rm -r docs; ln -s {outside_path} link; mv link docs; mkdir -p build; cp README.md build/a.txt"
        ),
    ] {
        let steal = format!(
            "cat {outside_path}/a.txt build/a.txt docs/a.txt .git/a.txt; echo x > docs/a.txt; rm -f docs/deep/b.txt docs/b.txt"
        );
        let files = [
            (".architect.yml", configuration(&[("steal", &steal)])),
            (".gitignore", IGNORED.to_owned()),
            ("README.md", "x\n".to_owned()),
            ("docs/a.txt", "one\n".to_owned()),
            ("docs/b.txt", "two\n".to_owned()),
            ("docs/deep/b.txt", "three\n".to_owned()),
        ];
        let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
        let prepare = |sandbox: &Sandbox| {
            outside(sandbox);
            sandbox.write(".place", sandbox.path().display().to_string());
            sandbox.write("plant.sh", &plant);
            sandbox.write("steal.sh", &steal);
            sandbox.commit("all");
        };
        let turns = [
            vec![command(
                "bash -c 'mkdir -p build/deep; echo x > build/deep/a.txt; echo y > docs/a.txt; rm docs/b.txt'",
            )],
            vec![command("bash plant.sh")],
            vec![command("bash steal.sh")],
            vec![command("git mv docs/deep moved; cat moved/b.txt")],
            vec![command("bash -c 'rm -rf docs build; mkdir docs; echo x > docs/a.txt'")],
            vec![command("bash steal.sh")],
        ];
        both(&files, prepare, &turns, |method, sandbox, run| {
            assert!(is_whole(sandbox), "{method}: {plant}");
            let told = run.results().join("\n") + &run.report()["gates"].to_string();
            assert!(!told.contains("OUTSIDE"), "{method}: {plant}\n{told}");
        });
    }
}

#[test]
fn build_outputs_are_carried_through_no_link() {
    let sandbox =
        Sandbox::new(&[(".architect.yml", &configuration(&[])), (".gitignore", IGNORED), ("a.txt", "one\n")]);
    outside(&sandbox);
    sandbox.write(
        "first.sh",
        "mkdir -p build/x; echo 1 > build/x/a.txt; echo 1 > build/x/environ; truncate -s 1T build/sparse",
    );
    let place = sandbox.path().join("outside");
    sandbox.write("second.sh", format!("rm -r build/x; ln -s {} build/x; rm build/sparse", place.display()));
    sandbox.write("third.sh", "rm build/x; mkdir build/x; echo 3 > build/x/a.txt");
    sandbox.commit("all");
    let turns = ["first", "second", "third"].map(|name| vec![command(&format!("bash {name}.sh"))]);
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
    assert_eq!(run.report()["status"], "success", "{}", run.stderr);
    assert!(is_whole(&sandbox));
    assert_eq!(fs::read_to_string(sandbox.repo().join("build/x/a.txt")).unwrap(), "3\n");
    assert!(
        !sandbox.repo().join("build/x/environ").exists() && !sandbox.repo().join("build/sparse").exists()
    );
}

#[test]
fn special_files_and_endless_folders_are_told_and_keep_nobody_waiting() {
    let gates = [("reads", "cat a.txt build/pipe < /dev/null; test ! -e a.pipe && test -f a.txt")];
    let files = [
        (".architect.yml", configuration(&gates)),
        (".gitignore", IGNORED.to_owned()),
        ("a.txt", "one\n".to_owned()),
        ("b.txt", "two\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let deep = "python3 -c 'import os\nfor i in range(4000): os.mkdir(\"d\"); os.chdir(\"d\")'";
    let turns = [
        vec![command(
            "bash -c 'mkdir -p build; mkfifo a.pipe build/pipe; rm b.txt; mkfifo b.txt; touch -d 2001-01-01 a.txt'",
        )],
        vec![command(
            "bash -c 'test -e a.pipe || test -e build/pipe || echo gone; test -e b.txt || echo removed'",
        )],
        vec![command(&format!("bash -c \"$(cat <<'E'\n{deep}\nE\n)\""))],
        vec![command("bash -c 'echo still here; ls'")],
    ];
    both(
        &files,
        |_| (),
        &turns,
        |method, _, run| {
            let results = run.results();
            assert!(results[0].contains("a.pipe: a pipe, socket or device"), "{method}: {}", results[0]);
            assert!(
                results[1].contains("gone") && results[1].contains("removed"),
                "{method}: {}",
                results[1]
            );
            assert!(results[2].contains("levels deep"), "{method}: {}", results[2]);
            assert!(
                results[3].contains("still here") && !results[3].contains("\nd\n"),
                "{method}: {}",
                results[3]
            );
            assert_eq!(run.report()["gates"][0]["exit_code"], 0, "{method}: {}", run.report()["gates"]);
        },
    );
}

#[test]
fn gates_tell_of_programs_that_commands_have_changed_and_share_nothing() {
    let gates = [
        ("poisoned", "node_modules/.bin/lint"),
        ("named", "PATH=\"$PWD/.venv/bin:$PATH\" check"),
        ("leaves", "mkdir -p ~/bin && echo 'exit 0' > ~/bin/x && touch \"$TMPDIR/x\""),
        ("finds", "ls -a ~; test ! -e ~/bin/x && test ! -e \"$TMPDIR/x\""),
        ("plain", "cat a.txt"),
    ];
    let files = [
        (".architect.yml", configuration(&gates)),
        (".gitignore", IGNORED.to_owned()),
        ("a.txt", "one\n".to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let prepare = |sandbox: &Sandbox| {
        for program in ["node_modules/.bin/lint", ".venv/bin/check"] {
            sandbox.write(program, "#!/bin/sh\nexit 1\n");
        }
    };
    let poison = "for f in node_modules/.bin/lint .venv/bin/check; do printf '#!/bin/sh\\nexit 0\\n' > $f; chmod +x $f; done";
    both(
        &files,
        prepare,
        &[vec![command(&format!("bash -c \"{poison}\"").replace("$f", "\\$f"))]],
        |method, _, run| {
            let report = run.report();
            let gates = report["gates"].as_array().unwrap();
            assert_eq!(gates[0]["passed"], true, "{method}: {:#}", gates[0]);
            assert_eq!(gates[0]["doubt"], json!(["node_modules/.bin/lint"]), "{method}");
            assert_eq!(gates[1]["doubt"], json!([".venv/bin/check"]), "{method}");
            assert_eq!(gates[3]["passed"], true, "{method}: {:#}", gates[3]);
            assert!(gates[4]["doubt"].is_null(), "{method}");
            let comment = run.file("comment.md");
            assert!(comment.contains("had changed before: `node_modules/.bin/lint`"), "{method}: {comment}");
            let junit = run.file("junit.xml");
            assert!(junit.contains("had changed: .venv/bin/check"), "{method}: {junit}");
        },
    );
}

/// A gate runs tests of the agent's, which can do what a command can. One that installs the same tools again says nothing new.
#[test]
fn gates_tell_of_tools_that_earlier_gates_have_replaced() {
    let config = configuration(&[("tests", "sh check.sh"), ("lint", ".venv/bin/lint")]);
    let again = "cp .venv/bin/lint lint.new && mv lint.new .venv/bin/lint\n";
    let evil =
        "rm .venv/bin/lint; printf '#!/bin/sh\\nexit 0\\n' > .venv/bin/lint; chmod +x .venv/bin/lint\n";
    for mode in ["yolo", "dry-run"] {
        for (path, content, doubt) in [
            ("a.txt", "two\n", Value::Null),
            ("check.sh", evil, json!([".venv/bin/lint (by the gate tests)"])),
        ] {
            let files = [
                (".architect.yml", config.as_str()),
                (".gitignore", IGNORED),
                ("a.txt", "one\n"),
                ("check.sh", again),
            ];
            let sandbox = Sandbox::new(&files);
            sandbox.write(".venv/bin/lint", "#!/bin/sh\nexit 1\n");
            let tool = sandbox.repo().join(".venv/bin/lint");
            fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
            let write = ("write_file", json!({"path": path, "content": content}));
            let model = sandbox.script(&[vec![write]], "done");
            let report = sandbox.run(&["--model", &model, "--mode", mode], &[]).report();
            let lint = &report["gates"][1];
            assert_eq!(lint["doubt"], doubt, "{mode}: {path}: {:#}", report["gates"]);
            assert_eq!(lint["passed"], path == "check.sh", "{mode}: {path}");
            let told = report["notices"].to_string().contains(
                "the gate tests changed tools that Git ignores, which stay in the checkout: .venv/bin/lint",
            );
            assert_eq!(told, mode == "yolo" && path == "check.sh", "{mode}: {:#}", report["notices"]);
        }
    }
}

#[test]
fn ignore_rules_that_a_run_writes_hide_nothing_from_its_report() {
    let rules = "commands: { dev_commands: [bash] }\ndry_run: { commands: isolated }\nguardrails: { max_files_modified: 3 }\n";
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[(".architect.yml", rules), ("a.txt", "one\n")]);
        sandbox.write("first.sh", "printf '*.py\\nnode_modules/\\n' > .gitignore");
        sandbox.write(
            "second.sh",
            "mkdir -p node_modules; echo x > node_modules/a.py; echo 'x = 1' > conftest.py",
        );
        sandbox.write("third.sh", "for n in 1 2 3 4 5 6; do echo x > e$n.py; done");
        sandbox.commit("all");
        let turns = ["first", "second", "third"].map(|name| vec![command(&format!("bash {name}.sh"))]);
        let model = sandbox.script(&turns, "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]);
        let report = run.report();
        let files = report["files"].as_array().unwrap().iter();
        let mut named: Vec<&str> = files.filter_map(|file| file["path"].as_str()).collect();
        named.sort_unstable();
        assert_eq!(named, [".gitignore", "conftest.py"], "{mode}: {}", run.stderr);
        let results = run.results();
        assert!(results[2].contains("max_files_modified"), "{mode}: {results:?}");
        assert!(!sandbox.repo().join("e1.py").exists());
    }
}

/// What holds tokens or stands outside of the sandbox is never started from the checkout, wherever `PATH` leads.
#[test]
fn programs_of_the_checkout_do_not_stand_in_for_those_of_the_machine() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".gitignore", "bin/\n")]);
    let planted = sandbox.path().join("planted");
    for name in ["git", "sudo", "bash", "sh"] {
        let script =
            format!("#!/bin/sh\necho {name} >> {}\nexec /usr/bin/{name} \"$@\"\n", planted.display());
        sandbox.write(&format!("bin/{name}"), script);
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(sandbox.repo().join("bin").join(name), mode).unwrap();
    }
    let path = format!("{}:{}", sandbox.repo().join("bin").display(), std::env::var("PATH").unwrap());
    let model = sandbox.script(&[vec![("run_command", json!({"command": "ls"}))]], "done");
    for mode in ["dry-run", "yolo"] {
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[("PATH", &path)]).expect_code(0);
        assert!(run.results()[0].contains("a.txt"), "{}", run.results()[0]);
        assert!(!planted.exists(), "{mode}: {:?}", fs::read_to_string(&planted));
    }
}
