//! Place of the journal of an apply, and trust in it: nothing that a commit or a command can write is a journal.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use workspace::{ChangeSet, DiskWorkspace, FileChange, FileState, Mode, WorkspacePath};

use super::plan_of;
use crate::support::scene::scene;
use crate::support::{Run, Sandbox, git, tree};
use architect_ci::git::Repository;
use architect_ci::plan::{JournalFolder, Step};
use serde_json::json;
use sha2::{Digest, Sha256};

fn hash(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A journal that overwrites `a.txt`, deletes `victim.txt` and plants a program, in a folder of this name.
fn planted(folder: &str) -> Vec<(String, String)> {
    let entry = |path: &str, before: Option<&str>| {
        let before = before.map(|text| json!(["100755", hash(text)]));
        json!({"path": path, "before": before, "after": null, "comes": before.is_none(), "folders": []})
    };
    let journal = json!([
        entry("a.txt", Some("evil\n")),
        entry("node_modules/.bin/server", Some("evil\n")),
        entry("victim.txt", None)
    ]);
    let file = |name: &str, text: String| (format!("{folder}/{name}"), text);
    vec![
        file("journal.json", journal.to_string()),
        file("old-0", "evil\n".to_owned()),
        file("old-1", "evil\n".to_owned()),
    ]
}

/// A run in `workspace` that does nothing.
fn run(sandbox: &Sandbox, workspace: &Path, mode: &str) -> Run {
    let model = sandbox.script(&[], "done");
    sandbox.run(&["--workspace", workspace.to_str().unwrap(), "--mode", mode, "--model", &model], &[])
}

/// A folder of a repository, a worktree, and a folder without a repository, each with these files.
fn workspaces(sandbox: &Sandbox, files: &[(String, String)]) -> Vec<PathBuf> {
    let repository = sandbox.repo();
    let folder = repository.join("app");
    let write = |root: &Path| {
        for (path, text) in files {
            let full = root.join(path);
            fs::create_dir_all(full.parent().unwrap()).unwrap();
            fs::write(full, text).unwrap();
        }
    };
    write(&folder);
    write(&repository);
    sandbox.commit("files");
    let worktree = sandbox.path().join("worktree");
    git(&repository, &["worktree", "add", "--quiet", worktree.to_str().unwrap()]);
    let plain = sandbox.path().join("plain");
    write(&plain);
    vec![folder, worktree, plain]
}

#[test]
fn journal_in_the_checkout_is_a_file_like_any_other() {
    for name in [".architect-ci-apply", "architect-ci-apply"] {
        let sandbox = Sandbox::new(&[("README.md", "x\n")]);
        let mut files = planted(name);
        for path in ["a.txt", "victim.txt"] {
            files.push((path.to_owned(), "mine\n".to_owned()));
        }
        for workspace in workspaces(&sandbox, &files) {
            let before = tree(&workspace);
            for mode in ["dry-run", "yolo"] {
                run(&sandbox, &workspace, mode).expect_code(0);
                assert_eq!(tree(&workspace), before, "{}, {mode}", workspace.display());
            }
        }
    }
}

fn journal_of(sandbox: &Sandbox, workspace: &Path) -> JournalFolder {
    let repository = Repository::find(workspace, Some(workspace)).unwrap();
    let repository = repository.or_else(|| Repository::find(workspace, Some(&sandbox.repo())).unwrap());
    let state = sandbox.path().join("state").display().to_string();
    JournalFolder::of(workspace, repository.as_ref(), &BTreeMap::from([("XDG_STATE_HOME".to_owned(), state)]))
}

/// Applies a plan that gives files these texts, and is interrupted at the last step but the removal of the journal.
fn interrupted(sandbox: &Sandbox, workspace: &Path, files: &[(&str, &str)]) -> PathBuf {
    let disk = DiskWorkspace::open(workspace).unwrap();
    let change = |(path, text): &(&str, &str)| {
        let path = WorkspacePath::parse(path).unwrap();
        let before = disk.state_of(&path).unwrap();
        let mode = before.as_ref().map_or(Mode::Regular, |before| before.mode);
        FileChange::new(path, before, Some(FileState { content: text.as_bytes().into(), mode }))
    };
    let changes = ChangeSet::new(files.iter().filter_map(change).collect());
    let plan = plan_of(&changes, None);
    let journal = journal_of(sandbox, disk.path());
    let checked = plan.check(&disk, None, |_| Ok(())).expect("it fits");
    let dies = |step: Step| assert!(step != Step::Finish, "interrupted");
    let died = catch_unwind(AssertUnwindSafe(|| checked.apply(&disk, &journal, &dies)));
    assert!(died.is_err(), "it was interrupted");
    journal.path().unwrap()
}

#[test]
fn interrupted_apply_is_rolled_back_wherever_the_workspace_is() {
    let sandbox = Sandbox::new(&[("README.md", "x\n")]);
    let files = [("a.txt".to_owned(), "one\n".to_owned())];
    for workspace in workspaces(&sandbox, &files) {
        let shown = workspace.display();
        let before = tree(&workspace);
        let journal = interrupted(&sandbox, &workspace, &[("a.txt", "two\n"), ("b.txt", "b\n")]);
        assert!(!journal.starts_with(&workspace), "{shown}: {}", journal.display());
        let half = tree(&workspace);
        assert_eq!(half["a.txt"], b"two\n", "{shown}");
        let dry = run(&sandbox, &workspace, "dry-run").expect_code(6);
        assert!(dry.stderr.contains("run `architect-ci apply` with that plan again"), "{}", dry.stderr);
        assert_eq!(tree(&workspace), half, "{shown}: a dry run changes nothing");
        let real = run(&sandbox, &workspace, "yolo").expect_code(0);
        assert!(real.stderr.contains("its files were restored"), "{}", real.stderr);
        assert_eq!(tree(&workspace), before, "{shown}");
        assert!(!journal.exists(), "{shown}");
        run(&sandbox, &workspace, "dry-run").expect_code(0);
    }
}

const HOOKED: &[(&str, &str)] = &[
    (".architect.yml", "hooks: { pre_tool_use: [{ name: h, command: sh ci/h.sh }] }\n"),
    ("ci/h.sh", "echo fine\n"),
];

/// What a rollback writes is compared with the base as well.
#[tokio::test(flavor = "multi_thread")]
async fn rollback_comes_before_programs_are_compared() {
    scene(HOOKED, |scene| {
        let repository = scene.sandbox.repo();
        fs::write(repository.join("ci/h.sh"), "echo evil\n").unwrap();
        interrupted(&scene.sandbox, &repository, &[("ci/h.sh", "echo fine\n")]);
        let event = scene.pull_event(7, "dev");
        let model = scene.sandbox.script(&[], "done");
        let args = ["--model", &model, "--mode", "yolo"];
        let run = scene.run("pull_request", &event, &args, &[]).expect_code(3);
        assert_eq!(scene.sandbox.read("ci/h.sh"), "echo evil\n");
        assert!(run.stderr.contains("the hook \"h\" is not run"), "{}", run.stderr);
    })
    .await;
}
