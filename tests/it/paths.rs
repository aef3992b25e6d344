//! Checkouts with other things than plain files, and hostile checkouts.
#![cfg(unix)]

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::Sandbox;
use crate::support::program::program;
use serde_json::{Value, json};

fn read(path: &str) -> (&'static str, Value) {
    ("read_file", json!({ "path": path }))
}

fn write(path: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": "new\n"}))
}

#[test]
fn paths_links_stay_inside() {
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::without_git(&[("inside.txt", "inside\n"), ("dir/a.txt", "a\n")]);
        let outside = sandbox.path().join("outside");
        std::fs::create_dir(&outside).unwrap();
        std::fs::write(outside.join("secret.txt"), "secret\n").unwrap();
        let repo = sandbox.repo();
        symlink("../outside/secret.txt", repo.join("file-out")).unwrap();
        symlink("../outside", repo.join("dir-out")).unwrap();
        symlink(outside.join("secret.txt"), repo.join("absolute")).unwrap();
        symlink("file-out", repo.join("chain")).unwrap();
        symlink("nowhere", repo.join("dangling")).unwrap();
        symlink("loop", repo.join("loop")).unwrap();
        symlink("inside.txt", repo.join("good")).unwrap();
        symlink("../inside.txt", repo.join("dir/up")).unwrap();
        symlink("/proc/self/environ", repo.join("proc")).unwrap();
        let calls = vec![
            read("file-out"),
            read("dir-out/secret.txt"),
            read("absolute"),
            read("chain"),
            read("proc"),
            read("loop"),
            read("dangling"),
            read("good"),
            read("dir/up"),
            ("grep", json!({"pattern": "secret"})),
            ("list_files", json!({"recursive": true})),
            ("list_files", json!({"path": "dir-out"})),
            write("file-out"),
            write("dir-out/new.txt"),
            write("dangling"),
            write("good"),
        ];
        let model = sandbox.script(&[calls], "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        let results = run.results();
        for index in [0, 1, 2, 3, 4, 11, 12, 13] {
            assert!(
                results[index].starts_with("Error: ACCESS DENIED: path escapes the workspace"),
                "{index}: {}",
                results[index]
            );
        }
        assert!(results[5].contains("too many symbolic links"), "{}", results[5]);
        assert_eq!(results[6], "Error: nowhere does not exist");
        assert_eq!((results[7].as_str(), results[8].as_str()), ("1\tinside\n", "1\tinside\n"));
        assert_eq!(results[9], "No matches found\n");
        assert_eq!(results[10], "dir/\ndir/a.txt\ndir/up -> inside.txt\ngood -> inside.txt\ninside.txt\n");
        let planned =
            |path: &str| run.report()["files"].as_array().unwrap().iter().any(|file| file["path"] == path);
        assert!(planned("nowhere") && planned("inside.txt"), "a write goes where the link leads");
        assert_eq!(std::fs::read_to_string(outside.join("secret.txt")).unwrap(), "secret\n");
        assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
        assert!(repo.join("good").symlink_metadata().unwrap().is_symlink(), "the link itself stays");
        assert_eq!(sandbox.read("inside.txt"), if mode == "yolo" { "new\n" } else { "inside\n" });
    }
}

#[test]
fn paths_special_files_are_never_opened() {
    let sandbox = Sandbox::without_git(&[("a.txt", "a\n")]);
    let repo = sandbox.repo();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        repo.join("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from(0o644),
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(repo.join("socket")).unwrap();
    let calls = vec![
        read("pipe"),
        write("pipe"),
        read("socket"),
        ("grep", json!({"pattern": "a"})),
        ("grep", json!({"pattern": "a", "path": "pipe"})),
    ];
    let model = sandbox.script(&[calls], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let results = run.results();
    for index in [0, 1, 2] {
        assert!(results[index].contains("is not a regular file"), "{}", results[index]);
    }
    assert_eq!(results[3], "a.txt:1:a\n");
}

#[test]
fn paths_non_utf8_names_survive() {
    let sandbox = Sandbox::new(&[("a.txt", "needle\n")]);
    let odd = std::ffi::OsStr::from_bytes(b"caf\xe9.txt");
    std::fs::write(sandbox.repo().join(odd), "needle\n").unwrap();
    sandbox.commit("an odd name");
    let calls = vec![("list_files", json!({})), ("grep", json!({"pattern": "needle"})), write("b.txt")];
    let model = sandbox.script(&[calls], "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let results = run.results();
    assert_eq!(results[0], "a.txt\n(1 entry skipped: unreadable or not named in UTF-8)\n");
    assert!(results[1].contains("(1 file could not be read)"), "{}", results[1]);
    assert!(run.stderr.contains("✓ checkout unchanged"), "{}", run.stderr);
}

#[test]
fn paths_modes_and_hard_links_survive() {
    let sandbox = Sandbox::new(&[("run.sh", "one\n"), ("other.txt", "one\n")]);
    let repo = sandbox.repo();
    std::fs::set_permissions(repo.join("run.sh"), std::fs::Permissions::from_mode(0o751)).unwrap();
    std::fs::hard_link(repo.join("other.txt"), sandbox.path().join("twin.txt")).unwrap();
    let edit = |path: &str| ("edit_file", json!({"path": path, "old_str": "one", "new_str": "two"}));
    let model = sandbox.script(&[vec![edit("run.sh"), edit("other.txt")]], "done");
    sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let mode = repo.join("run.sh").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o751);
    assert_eq!(sandbox.read("other.txt"), "two\n");
    assert_eq!(
        std::fs::read_to_string(sandbox.path().join("twin.txt")).unwrap(),
        "one\n",
        "a write replaces the name"
    );
    let left: Vec<_> = std::fs::read_dir(&repo).unwrap().flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left.len(), 3, "no temporary file is left: {left:?}");
}

#[test]
fn paths_read_only_workspace_allows_dry_run() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let model = sandbox.script(&[vec![edit]], "done");
    let repo = sandbox.repo();
    // Modes do not bind root, a read-only mount binds everybody: in a mount namespace of its own.
    let run = |mode: &str| {
        let script = "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro \"$1\" && shift && exec \"$@\"";
        let binary = program();
        let out = sandbox.out();
        let mut command = std::process::Command::new("unshare");
        command
            .args(["--map-root-user", "--mount", "sh", "-c", script, "sh"])
            .arg(&repo)
            .arg(binary)
            .arg("run");
        command
            .arg("--workspace")
            .arg(&repo)
            .arg("--out")
            .arg(&out)
            .args(["--task", "x", "--mode", mode, "--model", &model]);
        let output = command
            .env("CI", "true")
            .env_remove("GITHUB_ACTIONS")
            .stdin(std::process::Stdio::null())
            .output();
        crate::support::Run::new(&output.expect("unshare runs"), out)
    };
    let planned = run("dry-run").expect_code(0);
    assert!(planned.file("plan.patch").contains("+two"));
    let refused = run("yolo").expect_code(0);
    assert!(refused.results()[0].contains("a.txt: Read-only file system"), "{}", refused.results()[0]);
    assert_eq!(sandbox.read("a.txt"), "one\n");
}

#[test]
fn paths_deep_trees_are_walked() {
    let sandbox = Sandbox::without_git(&[]);
    let repo = sandbox.repo();
    // Longer than a path may be at once, so it is made level by level.
    let levels = 5_000;
    let mut dir = cap_std::fs::Dir::open_ambient_dir(&repo, cap_std::ambient_authority()).unwrap();
    for _ in 0..levels {
        dir.create_dir("d").unwrap();
        dir = dir.open_dir("d").unwrap();
    }
    dir.write("deep.txt", "deep\n").unwrap();
    drop(dir);
    let path = format!("{}deep.txt", "d/".repeat(levels));
    let edit = ("edit_file", json!({"path": path, "old_str": "deep", "new_str": "deeper"}));
    let model = sandbox.script(&[vec![read(&path), edit, read(&path)]], "done");
    let started = std::time::Instant::now();
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let results = run.results();
    assert_eq!((results[0].as_str(), results[2].as_str()), ("1\tdeep\n", "1\tdeeper\n"));
    assert!(started.elapsed().as_secs() < 120, "{:?}", started.elapsed());
    // The standard library cannot remove what it cannot name.
    std::process::Command::new("rm").arg("-rf").arg(&repo).status().expect("rm");
}
