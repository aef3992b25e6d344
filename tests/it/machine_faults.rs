//! Machines that lack something: space on a disk, permission for large files, or processes. What they prevent is said, is no
//! success, and is done later.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::faults::{ends, tasks};
use crate::support::Sandbox;
use crate::support::program::program as tested_program;

const RECIPE: &str = "steps:\n- do: [{tool: write_file, with: {path: done.txt, content: done}}]\n";

/// Runs a script of the shell with a small disk at `small`: 600 kB until `grow`. `$@` is the program with its arguments.
fn on_small_disk(sandbox: &Sandbox, script: &str, args: &[&str]) -> Output {
    let small = sandbox.path().join("small");
    fs::create_dir_all(&small).unwrap();
    let script = format!(
        "small=$1; shift; mount -t tmpfs -o size=600k none \"$small\"; grow() {{ mount -o remount,size=200m \"$small\"; }}; {script}"
    );
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]).arg(&small);
    command.arg(tested_program()).args(args).current_dir(sandbox.repo());
    command
        .env_remove("GITHUB_ACTIONS")
        .env("CI", "true")
        .env("XDG_STATE_HOME", sandbox.path().join("state"));
    command.env("TMPDIR", sandbox.path()).output().expect("unshare runs")
}

#[test]
fn batch_does_later_what_a_full_disk_prevented() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), ("recipe.yml", RECIPE)]);
    let more = json!({"recipe": "recipe.yml", "mode": "yolo", "deliver": "patch"});
    sandbox.write("batch.yml", tasks("full", 30, &more));
    sandbox.commit("tasks");
    let out = sandbox.path().join("small/out");
    let kept = sandbox.path().join("kept");
    let script = format!(
        "\"$@\"; echo \"first: $?\"; cp \"$small/out/batch.json\" {kept}.first.json; grow; \
         \"$@\" --resume; echo \"second: $?\"; cp \"$small/out/batch.json\" {kept}.second.json",
        kept = kept.display()
    );
    let args = ["batch", "batch.yml", "--jobs", "2", "--out", out.to_str().unwrap()];
    let output = on_small_disk(&sandbox, &script, &args);
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(!stdout.contains("first: 0"), "{stdout}\n{stderr}");
    assert!(stderr.contains("No space left on device"), "{stderr}");
    assert!(stdout.contains("second: 0"), "{stdout}\n{stderr}");
    let report = fs::read_to_string(kept.with_extension("second.json")).expect("a report");
    let report: Value = serde_json::from_str(&report).expect("JSON");
    assert_eq!(ends(&report).get("success"), Some(&30), "{:?}", ends(&report));
    assert_eq!(sandbox.git(&["worktree", "list", "--porcelain"]).matches("worktree ").count(), 1);
}

#[test]
fn run_whose_report_does_not_fit_is_no_success() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let large = "line\n".repeat(150_000);
    let model =
        sandbox.script(&[vec![("write_file", json!({"path": "large.txt", "content": large}))]], "done");
    let out = sandbox.path().join("small/out");
    for mode in ["dry-run", "yolo"] {
        let args = ["run", "--task", "x", "--model", &model, "--mode", mode, "--out", out.to_str().unwrap()];
        let output = on_small_disk(&sandbox, "\"$@\"", &args);
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(!matches!(output.status.code(), Some(0 | 101) | None), "{mode}: {told}");
        assert!(
            told.contains("No space left on device") || told.contains("could not be written"),
            "{mode}: {told}"
        );
    }
}

#[test]
fn run_whose_files_may_not_grow_says_so() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let large = "line\n".repeat(50_000);
    let model =
        sandbox.script(&[vec![("write_file", json!({"path": "large.txt", "content": large}))]], "done");
    for mode in ["dry-run", "yolo"] {
        let mut command = Command::new("prlimit");
        command.args(["--fsize=100000", tested_program(), "run", "--task", "x", "--model"]);
        command.args([&model, "--mode", mode, "--out"]).arg(sandbox.path().join("out"));
        command.current_dir(sandbox.repo()).env_remove("GITHUB_ACTIONS").env("CI", "true");
        let output = command.output().expect("prlimit runs");
        let told = String::from_utf8_lossy(&output.stderr);
        // A plan that cannot be written is a failure; an edit that cannot be made is the agent's to deal with.
        let code = output.status.code();
        assert!(
            code.is_some_and(|code| code != 101 && (code != 0) == (mode == "dry-run")),
            "{mode}: {code:?} {told}"
        );
        assert!(told.contains("File too large"), "{mode}: {told}");
    }
}

/// The program, allowed so many processes and threads; the limit holds for no user that the kernel knows as root. It counts all
/// processes of a user, so each test has one of its own.
fn with_processes(sandbox: &Sandbox, user: u32, most: u32, program: &Path, args: &[&str]) -> Output {
    let user = user.to_string();
    let wrapper: &[&str] = if rustix::process::getuid().is_root() {
        // Another user, for whom the limit holds, who may reach what lies in folders of root's.
        const REACH: &str = "+dac_override,+dac_read_search";
        &["setpriv", "--reuid", &user, "--clear-groups", "--inh-caps", REACH, "--ambient-caps", REACH]
    } else {
        &["unshare", "--user", "--map-root-user"]
    };
    let mut command = Command::new("timeout");
    command.arg("60").args(wrapper).args(["prlimit", &format!("--nproc={most}")]).arg(program).args(args);
    command.current_dir(sandbox.path()).env_clear().env("CI", "true").env("HOME", sandbox.path());
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("TMPDIR", sandbox.path());
    command.output().expect("it runs")
}

#[test]
fn run_that_may_start_too_few_processes_says_so() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), ("recipe.yml", RECIPE)]);
    // Where another user can reach it.
    let program = sandbox.path().join("program");
    fs::copy(tested_program(), &program).unwrap();
    let opened = Command::new("chmod").args(["-R", "a+rwX"]).arg(sandbox.path()).status().unwrap();
    assert!(opened.success());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let (repo, out) = (sandbox.repo(), sandbox.out());
    let args = ["run", "--task", "x", "--model", "recipe::recipe.yml", "--workspace", repo.to_str().unwrap()];
    let args = [&args[..], &["--quiet", "--out", out.to_str().unwrap()]].concat();
    let mut codes = Vec::new();
    for most in [2, 5, 9, 12, 60] {
        let output = with_processes(&sandbox, 12_345, most, &program, &args);
        let told = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(
            code == Some(0) || code == Some(3) && told.contains("could not start threads"),
            "{most}: {code:?} {told}"
        );
        codes.push(code);
    }
    assert_eq!((codes[0], codes[4]), (Some(3), Some(0)));
}

#[test]
fn commands_for_which_there_are_too_few_processes_fail_and_nothing_hangs() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "evaluation: off\n")]);
    let program = sandbox.path().join("program");
    fs::copy(tested_program(), &program).unwrap();
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let line = ("run_command", json!({"command": "ls | sort | uniq -c | head -n 3"}));
    let search = ("search_code", json!({"pattern": "t.o"}));
    let model = sandbox.script(&[vec![edit], vec![line], vec![search]], "done");
    let opened = Command::new("chmod").args(["-R", "a+rwX"]).arg(sandbox.path()).status().unwrap();
    assert!(opened.success());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let (repo, out) = (sandbox.repo(), sandbox.out());
    let args = ["run", "--task", "x", "--model", &model, "--workspace", repo.to_str().unwrap()];
    let args = [&args[..], &["--timeout", "40", "--out", out.to_str().unwrap()]].concat();
    for most in (10..42).step_by(3).chain([60, 100]) {
        let _ = fs::remove_dir_all(&out);
        let output = with_processes(&sandbox, 12_346, most, &program, &args);
        let told = String::from_utf8_lossy(&output.stderr);
        // A hang ends with 124, by `timeout`, and a panic with 101.
        let code = output.status.code();
        assert!(!told.contains("internal error"), "{most}: {told}");
        assert!(matches!(code, Some(0..=3)), "{most}: {code:?} {told}");
        assert_eq!(code == Some(3), told.contains("could not start threads"), "{most}: {code:?} {told}");
    }
}

#[test]
fn run_with_little_address_space_neither_hangs_nor_panics() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), ("recipe.yml", RECIPE)]);
    let out = sandbox.out();
    for megabytes in [100, 200, 250, 300, 350, 500, 700, 1_000, 2_000] {
        let _ = fs::remove_dir_all(&out);
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", "60", "prlimit", &format!("--as={}", megabytes << 20)]);
        command.args([
            env!("CARGO_BIN_EXE_architect-ci"),
            "run",
            "--task",
            "x",
            "--model",
            "recipe::recipe.yml",
        ]);
        command
            .arg("--out")
            .arg(&out)
            .current_dir(sandbox.repo())
            .env_remove("GITHUB_ACTIONS")
            .env("CI", "true");
        let output = command.output().expect("prlimit runs");
        let told = String::from_utf8_lossy(&output.stderr);
        let code = output.status.code();
        assert!(!told.contains("internal error"), "{megabytes}: {told}");
        let is_killed = output.status.signal() == Some(9) || code == Some(137);
        assert!(!is_killed, "{megabytes}: it hangs: {told}");
        assert_eq!(code == Some(3), told.contains("could not start threads"), "{megabytes}: {code:?} {told}");
    }
}
