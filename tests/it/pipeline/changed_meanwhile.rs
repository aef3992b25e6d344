//! A checkout that somebody else changes while a run works on it.

use super::write;
use crate::support::wait::wait_until;
use crate::support::{Run, Sandbox};
use serde_json::json;

type Spoil = fn(&std::path::Path) -> std::io::Result<()>;

/// Runs a task in which a hook waits until somebody else, whom no sandbox keeps from the checkout, has spoiled it.
fn run_while_spoiled(sandbox: &Sandbox, mode: &str, spoil: Spoil) -> Run {
    let model = sandbox.script(&[vec![("read_file", json!({"path": ".gitignore"}))]], "done");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            wait_until("the hook waits", || sandbox.path().join("waiting").exists());
            spoil(&sandbox.repo()).expect("the file is changed");
            std::fs::write(sandbox.path().join("spoiled"), "").expect("a file");
        });
        sandbox.run(&["--model", &model, "--mode", mode], &[])
    })
}

const HOOK_THAT_WAITS: &str = "commands: { writable_paths: ['..'] }\nhooks:\n  pre_tool_use:\n    - { name: waits, command: 'touch ../waiting; until test -e ../spoiled; do sleep 0.01; done', timeout: 60 }\n";

#[test]
fn dry_run_reports_checkout_change() {
    let cases: [(Spoil, &str); 5] = [
        (|repo| std::fs::write(repo.join("a.txt"), "one\nmore\n"), "changed a.txt"),
        (|repo| std::fs::remove_file(repo.join("a.txt")), "removed a.txt"),
        (|repo| std::fs::write(repo.join("ignored/new"), ""), "added ignored/new"),
        (|repo| std::fs::write(repo.join(".git/HEAD"), "x"), "changed .git/HEAD"),
        (|repo| std::fs::write(repo.join("a.txt"), "two\n"), "changed a.txt"),
    ];
    for (spoil, difference) in cases {
        let sandbox = Sandbox::new(&[
            (".architect.yml", HOOK_THAT_WAITS),
            ("a.txt", "one\n"),
            (".gitignore", "ignored/\n"),
        ]);
        sandbox.write("ignored/old", "x");
        let run = run_while_spoiled(&sandbox, "dry-run", spoil).expect_code(1);
        assert_eq!(run.report()["stop_reason"], "checkout_changed", "{difference}");
        let says = format!("the checkout changed during a dry run: {difference}; hooks that ran: waits");
        assert!(run.stderr.contains(&says), "{difference}: {}", run.stderr);
        assert!(run.file("comment.md").contains("The checkout changed during this dry run"));
    }
}

#[cfg(unix)]
#[test]
fn protected_file_that_cannot_be_restored_fails_the_run() {
    let cases: [(Spoil, &str, bool); 4] = [
        (
            |repo| std::fs::write(repo.join(".github/workflows/ci.yml"), "on: evil\n"),
            "workflows/ci.yml",
            true,
        ),
        (|repo| std::fs::remove_dir_all(repo.join(".github")), "workflows/ci.yml", true),
        (|repo| std::fs::write(repo.join(".git/hooks/pre-push"), "evil"), ".git/hooks/pre-push", true),
        // What would be written there would be written elsewhere.
        (
            |repo| {
                std::fs::rename(repo.join(".git"), repo.join("../elsewhere"))?;
                std::os::unix::fs::symlink("../elsewhere", repo.join(".git"))
            },
            ".git",
            false,
        ),
    ];
    for (spoil, path, is_restored) in cases {
        let workflow = (".github/workflows/ci.yml", "on: push\n");
        let sandbox = Sandbox::new(&[(".architect.yml", HOOK_THAT_WAITS), workflow, (".gitignore", "")]);
        let run = run_while_spoiled(&sandbox, "yolo", spoil).expect_code(i32::from(!is_restored));
        let (status, reason, done) = if is_restored {
            ("success", "llm_done", "it was restored")
        } else {
            ("failed", "checkout_changed", "it could not be restored; do not use this checkout")
        };
        let report = run.report();
        assert_eq!(
            (report["status"].as_str(), report["stop_reason"].as_str()),
            (Some(status), Some(reason)),
            "{path}"
        );
        let says = format!("{path}, which is protected; {done}");
        assert!(
            run.stderr.contains(&says) && report["notices"].to_string().contains(&says),
            "{path}: {}",
            run.stderr
        );
        assert_eq!(sandbox.read(".github/workflows/ci.yml"), "on: push\n", "{path}");
        assert!(!sandbox.repo().join(".git/hooks/pre-push").exists());
    }
}

#[test]
fn edit_detects_concurrent_change() {
    let config = "hooks:\n  pre_tool_use:\n    - { name: meddles, command: 'echo changed > a.txt', matcher: find_files }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
    let read = ("read_file", json!({"path": "a.txt"}));
    let meddle = ("find_files", json!({"pattern": "*"}));
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let turns = [
        vec![read.clone()],
        vec![meddle],
        vec![edit],
        vec![write("a.txt", "two\n")],
        vec![read],
        vec![write("a.txt", "two\n")],
    ];
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let results = run.results();
    assert_eq!(
        results[2],
        "Error: old_str not found, and nothing like it\nthe file has changed since it was last read; read it again"
    );
    assert_eq!(
        results[3],
        "Error: a.txt has changed since it was last read; read it again before replacing it"
    );
    assert_eq!(results[5], "Updated a.txt (+1 −1 at line 1)");
    assert_eq!(sandbox.read("a.txt"), "two\n");
}
