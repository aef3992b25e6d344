//! Repositories that are larger than they look, and what of Git's own folder commands see.
#![cfg(unix)]

use std::fs;
use std::io::Write;
use std::process::{Command, Stdio};

use crate::support::Sandbox;
use architect_ci::git::{RemoteRepository, Repository};
use serde_json::json;

/// Sensitive files are nobody's to see, in history either.
const RULES: (&str, &str) = (".architect.yml", "guardrails:\n  sensitive_files: ['.env*']\n");

/// Writes an object, and returns its id.
fn object(sandbox: &Sandbox, kind: &str, content: &[u8]) -> String {
    let args = ["hash-object", "-t", kind, "-w", "--stdin", "--literally"];
    let mut child = Command::new("git")
        .args(args)
        .current_dir(sandbox.repo())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("git");
    child.stdin.take().expect("its input").write_all(content).expect("written");
    let output = child.wait_with_output().expect("an id");
    String::from_utf8(output.stdout).expect("text").trim().to_owned()
}

fn id_bytes(id: &str) -> Vec<u8> {
    (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).expect("hex")).collect()
}

/// A tree in which ten folders are the same one, `depth` times.
fn bomb(sandbox: &Sandbox, depth: usize) -> String {
    let mut below = object(sandbox, "blob", b"x\n");
    let mut mode = "100644";
    for _ in 0..depth {
        let mut tree = Vec::new();
        for name in 0..10 {
            tree.extend(format!("{mode} d{name}\0").bytes());
            tree.extend(id_bytes(&below));
        }
        (below, mode) = (object(sandbox, "tree", &tree), "40000");
    }
    below
}

fn commit_of(sandbox: &Sandbox, tree: &str) -> String {
    sandbox.git(&["commit-tree", tree, "-p", "HEAD", "-m", "a bomb"])
}

#[test]
fn git_refuses_what_is_larger_than_it_looks() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n"), (".env", "the-secret\n"), RULES]);
    let bomb = bomb(&sandbox, 12);
    let commit = commit_of(&sandbox, &bomb);
    let held = Repository::find(&sandbox.repo(), None).unwrap().unwrap();
    let error = held.files_of(&commit).unwrap_err().to_string();
    assert!(error.contains("is at more than 20000 paths, which is more than this program reads"), "{error}");
    // A history that holds it shows no sensitive file, and ends.
    sandbox.git(&["tag", "bomb", &commit]);
    let model = sandbox.script(
        &[vec![("run_command", json!({"command": "git log -p -3 | head -n 1000; echo done"}))]],
        "done",
    );
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    assert!(!run.results()[0].contains("the-secret"), "{}", run.results()[0]);
    assert!(run.file("report.json").contains("cannot be shown without them"), "{}", run.stderr);
}

#[test]
fn git_objects_have_a_greatest_size() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n")]);
    // Nothing but zeros takes no room on disk.
    let large = sandbox.path().join("large");
    fs::File::create(&large).unwrap().set_len(300 << 20).unwrap();
    fs::rename(&large, sandbox.repo().join(".architect.yml")).unwrap();
    let head = sandbox.commit("a large file");
    let held = Repository::find(&sandbox.repo(), None).unwrap().unwrap();
    let error = held.read_at(&head, ".architect.yml").unwrap_err().to_string();
    assert!(error.contains("has 314572800 bytes, which is more than this program reads"), "{error}");
    assert_eq!(held.read_at(&head, "a.txt").unwrap().unwrap(), b"a\n");
}

#[test]
fn git_tags_of_folders_and_of_tags_show_nothing_sensitive() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n"), RULES]);
    // A folder that no commit holds, behind two tags.
    let blob = object(&sandbox, "blob", b"the-secret\n");
    let mut tree = b"100644 .env\0".to_vec();
    tree.extend(id_bytes(&blob));
    let tree = object(&sandbox, "tree", &tree);
    sandbox.git(&["tag", "--annotate", "inner", &tree, "--message", "x"]);
    sandbox.git(&["tag", "--annotate", "outer", "inner", "--message", "x"]);
    assert!(sandbox.git(&["show", "outer:.env"]).contains("the-secret"));
    for line in ["git show outer:.env", "git cat-file -p inner:.env", &format!("git cat-file blob {blob}")] {
        let model = sandbox.script(&[vec![("run_command", json!({"command": line}))]], "done");
        let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
        assert!(!run.results()[0].contains("the-secret"), "{line}: {}", run.results()[0]);
    }
    // A chain of tags ends, and hides the repository rather than show what it leads to.
    let mut id = tree;
    for index in 0..30 {
        let kind = if index == 0 { "tree" } else { "tag" };
        let text = format!("object {id}\ntype {kind}\ntag t\ntagger x <x@x> 0 +0000\n\nx\n");
        id = object(&sandbox, "tag", text.as_bytes());
    }
    sandbox.git(&["update-ref", "refs/tags/chain", &id]);
    sandbox.write(".env", "the-secret\n");
    let model =
        sandbox.script(&[vec![("run_command", json!({"command": "git show chain; git log"}))]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    assert!(!run.results()[0].contains("the-secret"), "{}", run.results()[0]);
    assert!(run.file("report.json").contains("cannot be shown without them"), "{}", run.stderr);
}

#[test]
fn git_folder_shows_what_git_needs_alone() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n")]);
    let repo = sandbox.repo();
    fs::create_dir_all(repo.join("sub")).unwrap();
    crate::support::git(&repo.join("sub"), &["init", "--quiet"]);
    sandbox.git(&["worktree", "add", "--quiet", "../tree"]);
    let secrets = [
        ".git/git-crypt/keys/default",
        ".git/rr-cache/0/preimage",
        ".git/lfs/cache/locks",
        ".git/annex/creds/remote",
        ".git/my-tool/token.json",
        ".git/info/token",
        ".git/worktrees/tree/token",
        "sub/.git/git-crypt/keys/default",
        "sub/.git/token",
    ];
    for path in secrets {
        fs::create_dir_all(repo.join(path).parent().unwrap()).unwrap();
        fs::write(repo.join(path), "the-secret\n").unwrap();
    }
    let address = "https://me:the-secret@example.com/x";
    fs::write(repo.join(".git/FETCH_HEAD"), format!("{}\t\tbranch 'x' of {address}\n", "1".repeat(40)))
        .unwrap();
    for config in [".git/config", "sub/.git/config", ".git/worktrees/tree/config.worktree"] {
        let text = fs::read_to_string(repo.join(config)).unwrap_or_default();
        fs::write(repo.join(config), format!("{text}[remote \"origin\"]\n\turl = {address}\n")).unwrap();
    }
    for mode in ["yolo", "dry-run"] {
        sandbox.write(".architect.yml", "dry_run:\n  commands: isolated\n");
        let lines = [
            "(git rev-parse --absolute-git-dir; git -C sub rev-parse --absolute-git-dir) | xargs grep -r the-secret; echo sought",
            "git status --short && git log --oneline && git stash list && git -C sub status",
        ];
        let model =
            sandbox.script(&lines.map(|line| vec![("run_command", json!({"command": line}))]), "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        let results = run.results();
        assert!(
            results[0].contains("sought") && !results[0].contains("the-secret"),
            "{mode}: {}",
            results[0]
        );
        assert!(results[1].contains("before") && !results[1].contains("fatal"), "{mode}: {}", results[1]);
        sandbox.git(&["checkout", "--quiet", "--", "."]);
    }
}

#[test]
fn commits_that_were_fetched_one_by_one_are_there_together() {
    let origin = Sandbox::new(&[("a.txt", "0\n")]);
    let commits: Vec<String> = (1..=8)
        .map(|number| {
            origin.write("a.txt", format!("{number}\n"));
            origin.commit("more")
        })
        .collect();
    let clone = Sandbox::without_git(&[]);
    let url = format!("file://{}", origin.repo().display());
    crate::support::git(clone.path(), &["clone", "--quiet", "--depth=1", &url, "repo"]);
    let repository = Repository::find(&clone.repo(), None).unwrap().unwrap();
    let place = RemoteRepository { url: &url, server: "file://", token: None, limit: None };
    for commit in commits.iter().rev().filter(|commit| !repository.has_commit(commit)) {
        repository.fetch(place, commit).unwrap();
    }
    for (commit, number) in commits.iter().zip(1..) {
        assert_eq!(repository.read_at(commit, "a.txt").unwrap(), Some(format!("{number}\n").into_bytes()));
        // Git's own program reads them as well.
        let diff = repository.diff_to_head(commit, &["a.txt"]);
        assert_eq!(diff.is_some_and(|diff| diff.contains("+8")), number < 8, "{number}");
    }
}
