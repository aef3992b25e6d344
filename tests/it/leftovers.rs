//! Leftovers of commands that no diff shows: ignored files that steer programs, files of a refused command, links, and paths
//! that are too long for most programs.
#![cfg(target_os = "linux")]

use std::os::unix::net::UnixListener;

use crate::isolation::{CONFIG, both, with_gates};
use crate::support::{Run, Sandbox, command};
use serde_json::{Value, json};

const MODES: [&str; 2] = ["yolo", "dry-run"];

fn configuration(gates: &[(&str, &str)]) -> String {
    let mut configuration = with_gates(gates);
    configuration["commands"]["dev_commands"] = json!(["bash", "python3"]);
    configuration["guardrails"]["protected_files"] = json!(["locked.txt"]);
    configuration.to_string()
}

fn run(sandbox: &Sandbox, mode: &str, lines: &[&str]) -> Run {
    let turns: Vec<Vec<(&str, Value)>> = lines.iter().map(|line| vec![command(line)]).collect();
    let model = sandbox.script(&turns, "done");
    sandbox.run(&["--model", &model, "--mode", mode], &[])
}

/// Plants bytecode that claims to be that of `code.py`, and answers otherwise.
const PLANT_BYTECODE: &str = "import importlib.util as u, marshal, os, struct\n\
    source = 'code.py'\n\
    kept = u.cache_from_source(source)\n\
    os.makedirs(os.path.dirname(kept), exist_ok=True)\n\
    body = marshal.dumps(compile('def answer(): return 42', source, 'exec'))\n\
    open(kept, 'wb').write(u.MAGIC_NUMBER + struct.pack('<I', 1) + b'12345678' + body)\n";

#[test]
fn gates_do_not_believe_bytecode_that_commands_have_planted() {
    let gate = [("tests", "python3 -c 'import code_of_project; assert code_of_project.answer() == 42'")];
    let config = configuration(&gate);
    let plant = PLANT_BYTECODE.replace("code.py", "code_of_project.py");
    let files = [
        (".architect.yml", config.as_str()),
        (".gitignore", "__pycache__/\n"),
        ("code_of_project.py", "def answer(): return 41\n"),
        ("plant.py", plant.as_str()),
    ];
    let check = "python3 -c 'import code_of_project as c; print(\"answer\", c.answer())'";
    let turns = [vec![command("python3 plant.py")], vec![command(check)]];
    both(
        &files,
        |_| (),
        &turns,
        |method, _, run| {
            let report = run.report();
            assert_eq!(report["gates"][0]["passed"], false, "{method}: {:#}", report["gates"]);
            assert!(run.results()[1].contains("answer 41"), "{method}: {:?}", run.results());
        },
    );
    let sandbox = Sandbox::new(&files);
    let run = run(&sandbox, "yolo", &["python3 plant.py", check]);
    assert_eq!(run.report()["gates"][0]["passed"], false, "{:#}", run.report()["gates"]);
    assert!(run.results()[1].contains("answer 41"), "{:?}", run.results());
}

/// Folders of the project with the name of one of tools, links in the place of bytecode, and extensions in the place of sources.
#[test]
fn bytecode_and_extensions_steer_no_gate_unseen_wherever_they_lie() {
    let gate = |module: &str| format!("python3 -c 'import {module} as m; assert m.answer() == 42'");
    let (vendored, linked) = (gate("app.vendor.helper"), gate("app.core"));
    let config = configuration(&[("vendored", &vendored), ("linked", &linked)]);
    let source = "def answer(): return 41\n";
    let vendored = PLANT_BYTECODE.replace("code.py", "app/vendor/helper.py");
    let linked = format!(
        "import os\nos.makedirs('target/c')\nos.symlink('../target/c', 'app/__pycache__')\n{}",
        PLANT_BYTECODE.replace("code.py", "app/core.py")
    );
    let files = [
        (".architect.yml", config.as_str()),
        (".gitignore", "__pycache__\ntarget/\n*.so\n"),
        ("app/__init__.py", ""),
        ("app/core.py", source),
        ("app/vendor/__init__.py", ""),
        ("app/vendor/helper.py", source),
        ("plant_vendored.py", vendored.as_str()),
        ("plant_linked.py", linked.as_str()),
    ];
    for mode in MODES {
        let sandbox = Sandbox::new(&files);
        let lines = ["python3 plant_vendored.py", "python3 plant_linked.py", "bash -c 'echo x > calc.so'"];
        let run = run(&sandbox, mode, &lines);
        let gates = run.report()["gates"].clone();
        for gate in gates.as_array().expect("gates") {
            assert_eq!(gate["passed"], false, "{mode}: {gate:#}");
            let doubt = gate["doubt"].to_string();
            assert!(doubt.contains("\"calc.so\"") && doubt.contains("\"target/c/core."), "{mode}: {doubt}");
        }
        assert!(std::fs::symlink_metadata(sandbox.repo().join("app/__pycache__")).is_err(), "{mode}");
    }
}

#[test]
fn folders_take_no_place_of_protected_files() {
    let mut config = with_gates(&[]);
    config["guardrails"]["protected_files"] = json!(["infra/**"]);
    let config = config.to_string();
    let refused = [".github/architect.yml", ".github/actions/x", ".github/workflows/y", "infra/prod"];
    for mode in MODES {
        let sandbox = Sandbox::new(&[(".architect.yml", config.as_str()), (".github/keep.txt", "")]);
        for (index, folder) in refused.iter().enumerate() {
            sandbox.write(&format!("make{index}.sh"), format!("mkdir -p {folder}\n"));
        }
        sandbox.write("make_kept.sh", "mkdir -p docs/empty .github/templates\n");
        sandbox.commit("scripts");
        let lines: Vec<String> = (0..refused.len()).map(|index| format!("bash make{index}.sh")).collect();
        let mut turns: Vec<Vec<(&str, Value)>> = lines.iter().map(|line| vec![command(line)]).collect();
        turns.push(vec![command("bash make_kept.sh")]);
        turns.push(vec![command("bash -c 'ls -d docs/empty .github/templates'")]);
        let model = sandbox.script(&turns, "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]);
        let results = run.results();
        for (index, folder) in refused.iter().enumerate() {
            assert!(results[index].contains("protected"), "{mode}: {folder}: {results:?}");
            assert!(!sandbox.repo().join(folder).exists(), "{mode}: {folder}");
        }
        assert!(results[refused.len() + 1].contains("docs/empty"), "{mode}: {results:?}");
    }
}

#[test]
fn ignored_files_that_programs_obey_are_told_of_and_doubt_the_gates() {
    let config = configuration(&[("tests", "cat a.txt")]);
    let files = [
        (".architect.yml", config.as_str()),
        (".gitignore", "conftest.py\nsetup.cfg\nbuilt/\n"),
        ("a.txt", "one\n"),
    ];
    for mode in MODES {
        let sandbox = Sandbox::new(&files);
        let line = "mkdir -p built && echo x > built/a.bin && echo x > setup.cfg && echo x > conftest.py";
        let run =
            run(&sandbox, mode, &[&format!("bash -c \"{line}\""), "bash -c 'cat a.txt'"]).expect_code(0);
        let report = run.report();
        assert_eq!(
            report["gates"][0]["doubt"],
            json!(["conftest.py", "setup.cfg"]),
            "{mode}: {:#}",
            report["gates"]
        );
        let told = report["notices"].as_array().expect("notices").iter().any(|notice| {
            let text = notice["message"].as_str().expect("a message");
            text.contains("Git ignores (3 in all)")
                && text.contains("2 of them by name: conftest.py, setup.cfg")
        });
        assert!(told, "{mode}: {:#}", report["notices"]);
        let results = run.results();
        assert!(results[0].contains("programs read files of this name"), "{mode}: {results:?}");
        assert!(!results[1].contains("programs read files"), "{mode}: {results:?}");
    }
}

#[test]
fn nothing_of_a_refused_command_is_met_by_later_ones_and_all_else_is() {
    let config = configuration(&[]);
    let files = [(".architect.yml", config.as_str()), (".gitignore", "built/\n"), ("locked.txt", "one\n")];
    let lines = [
        "bash -c 'mkdir -p built kept/empty && echo kept > built/a'",
        "bash -c 'echo two > locked.txt; echo planted > built/b; mkdir -p new/empty built/more; echo x > new/c'",
        "bash -c 'cat built/a locked.txt; find . -name .git -prune -o -print | sort | tr \"\\n\" \" \"'",
    ];
    for mode in MODES {
        let sandbox = Sandbox::new(&files);
        let results = run(&sandbox, mode, &lines).results();
        assert!(results[1].contains("locked.txt"), "{mode}: {results:?}");
        assert!(results[2].contains("kept\none\n"), "{mode}: {results:?}");
        assert!(
            results[2].contains(
                ". ./.architect.yml ./.gitignore ./built ./built/a ./kept ./kept/empty ./locked.txt"
            ),
            "{mode}: {results:?}"
        );
    }
}

#[test]
fn links_that_a_plan_could_not_make_are_refused_when_they_are_made() {
    let config = configuration(&[]);
    let files = [(".architect.yml", config.as_str()), ("dir/a.txt", "one\n")];
    for target in ["/etc", "../../outside", "dir/../../outside"] {
        for mode in MODES {
            let sandbox = Sandbox::new(&files);
            let line = format!("bash -c 'ln -s {target} link; echo two > dir/a.txt'");
            let run = run(&sandbox, mode, &[&line, "bash -c 'test -L link || echo no link; cat dir/a.txt'"]);
            let results = run.results();
            assert!(
                results[0].contains("link would be a link that may lead outside"),
                "{mode}: {target}: {results:?}"
            );
            assert!(results[1].contains("no link\none"), "{mode}: {target}: {results:?}");
            assert_eq!(run.report()["files"], json!([]), "{mode}: {target}");
        }
    }
    // What is not refused applies.
    let sandbox = Sandbox::new(&files);
    let lines = ["bash -c 'ln -s dir/a.txt link; cd dir && ln -s ../link back'"];
    let run = run(&sandbox, "dry-run", &lines).expect_code(0);
    assert_eq!(run.report()["files"].as_array().map(Vec::len), Some(2));
    let plan = sandbox.out().join("plan.json");
    let repo = sandbox.repo();
    let applied = sandbox
        .command(&["apply", "--workspace", repo.to_str().expect("a path"), plan.to_str().expect("a path")])
        .output()
        .expect("the binary runs");
    assert!(applied.status.success(), "{}", String::from_utf8_lossy(&applied.stderr));
    assert_eq!(std::fs::read_to_string(repo.join("dir/back")).expect("a file"), "one\n");
}

#[test]
fn paths_that_are_too_long_for_the_kernel_are_kept_whole_or_refused() {
    let config = configuration(&[]);
    let files = [(".architect.yml", config.as_str()), (".gitignore", "built/\n"), ("a.txt", "one\n")];
    // Folders whose path is longer than 4096 bytes, made step by step.
    let deep = |top: &str| {
        format!(
            "import os\nos.mkdir('{top}'); os.chdir('{top}')\nfor _ in range(30):\n    os.mkdir('d' * 200); os.chdir('d' * 200)\n\
             open('file.txt', 'w').write('deep')\n"
        )
    };
    for mode in MODES {
        let sandbox = Sandbox::new(&files);
        sandbox.write("in_project.py", deep("project"));
        sandbox.write("in_built.py", deep("built"));
        sandbox.commit("programs");
        let look = "bash -c 'find . -name file.txt -printf \"%d levels\\n\"; cat a.txt'";
        let run = run(&sandbox, mode, &["python3 in_project.py", "python3 in_built.py", look]);
        let results = run.results();
        let report = run.report();
        let named = report["files"].as_array().expect("files").iter().any(|file| {
            file["path"].as_str().is_some_and(|path| path.len() > 6000 && path.starts_with("project/"))
        });
        let refused = results[0].contains("refused") || results[0].contains("could not");
        assert!(named != refused, "{mode}: {results:?}");
        assert!(results[2].contains("one"), "{mode}: {results:?}");
        let left: Vec<String> = std::fs::read_dir(sandbox.path())
            .expect("a folder")
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        assert!(!left.iter().any(|name| name.contains("isolated")), "{mode}: {left:?}");
    }
}

#[test]
fn sockets_of_the_checkout_lead_commands_to_no_daemon() {
    let config = configuration(&[]);
    for mode in MODES {
        let sandbox = Sandbox::new(&[(".architect.yml", config.as_str()), (".gitignore", "*.sock\n")]);
        let daemon = UnixListener::bind(sandbox.repo().join("daemon.sock")).expect("a socket");
        daemon.set_nonblocking(true).expect("a switch");
        let connect = "python3 -c 'import socket as s; s.socket(s.AF_UNIX).connect(\"daemon.sock\"); print(\"reached\")'";
        let run = run(&sandbox, mode, &[connect]);
        assert!(daemon.accept().is_err(), "{mode}: {:?}", run.results());
        assert!(!run.results()[0].contains("\nreached"), "{mode}: {:?}", run.results());
    }
}

#[test]
fn other_names_of_sensitive_files_do_not_exist_for_commands() {
    let files = [(".architect.yml", CONFIG), (".gitignore", ".env\nlinked/\n"), ("a.txt", "a\n")];
    let turns = [vec![command("bash -c 'ls -A . linked; cat notes.txt linked/deep/notes.txt'")]];
    both(
        &files,
        |sandbox| {
            std::fs::create_dir_all(sandbox.repo().join("linked/deep")).unwrap();
            std::fs::write(sandbox.repo().join(".env"), "TOKEN=hidden-by-another-name\n").unwrap();
            for name in ["notes.txt", "linked/deep/notes.txt"] {
                std::fs::hard_link(sandbox.repo().join(".env"), sandbox.repo().join(name)).unwrap();
            }
        },
        &turns,
        |method, _, run| {
            let result = &run.results()[0];
            assert!(result.contains("a.txt") && !result.contains("hidden-by"), "{method}: {result}");
        },
    );
}
