//! The workspace and the repository around it: links, submodules, other owners, every form of a repository.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use super::{BY_BASE, keyed};
use crate::support::scene::scene;
use crate::support::{Sandbox, git};
use architect_ci::git::Repository;

#[tokio::test(flavor = "multi_thread")]
async fn trust_workspace_link_is_refused() {
    scene(&[(".architect.yml", "workspace:\n  root: app\n"), ("app/a.txt", "a\n")], |mut scene| {
        let (repo, secret) = (scene.sandbox.repo(), scene.sandbox.path().join("secret"));
        fs::create_dir(&secret).unwrap();
        fs::write(secret.join("key"), "OUTSIDE\n").unwrap();
        fs::remove_dir_all(repo.join("app")).unwrap();
        symlink(&secret, repo.join("app")).unwrap();
        scene.propose();
        for args in [&["--workspace", &scene.at("app")][..], &[]] {
            let run = scene.pull(args).expect_code(3);
            assert!(
                run.stderr.contains("is a link, which the repository could point anywhere"),
                "{}",
                run.stderr
            );
        }
        // So is an output folder.
        let out = scene.at("app/out");
        let event = scene.pull_event(7, "dev");
        let args =
            ["run", "--task", "x", "--model", "replay::x", "--event", event.to_str().unwrap(), "--out", &out];
        let output = scene.sandbox.command(&args).current_dir(&repo).output().unwrap();
        assert_eq!(output.status.code(), Some(3));
        assert!(!secret.join("out").exists());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_submodule_is_no_workspace() {
    scene(&[], |mut scene| {
        let repo = scene.sandbox.repo();
        let nested = repo.join("app");
        fs::create_dir(&nested).unwrap();
        git(&nested, &["init", "--quiet"]);
        fs::write(nested.join(".architect.yml"), keyed("evil")).unwrap();
        git(&nested, &["add", "--all"]);
        git(&nested, &["commit", "--quiet", "--message", "nested"]);
        // Beside the checkout it is another checkout, and fine.
        scene.pull(&["--workspace", &scene.at("app"), "--trust-head-config"]).expect_code(0);
        scene.propose();
        let run = scene.pull(&["--workspace", &scene.at("app")]).expect_code(3);
        assert!(run.stderr.contains("is a repository inside"), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_push_carries_reported_files_only() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let repo = scene.sandbox.repo();
        scene.sandbox.write(".github/workflows/evil.yml", "on: push\n");
        git(&repo, &["add", "--all"]);
        let tree = git(&repo, &["write-tree"]);
        let commit = git(&repo, &["commit-tree", &tree, "-m", "evil"]);
        git(&repo, &["reset", "--quiet", "--hard"]);
        git(&repo, &["replace", &scene.base, &commit]);
        assert!(git(&repo, &["ls-tree", "-r", &scene.base]).contains("evil.yml"));
        scene.github.forbid("POST /repos/octo/demo/git/");
        let model = scene.edit("five", "FIVE");
        let event = scene.event("schedule", &[]);
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "branch"];
        scene.run("schedule", &event, &args, &[]).expect_code(0);
        let world = scene.github.world();
        let server = world.repository.as_ref().unwrap();
        assert!(server.show("architect-ci/changes", "a.txt").is_some());
        assert!(server.show("architect-ci/changes", ".github/workflows/evil.yml").is_none());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_report_path_refuses_links() {
    scene(&[(".architect.yml", "report:\n  json: reports/r.json\n")], |scene| {
        let (out, other) = (scene.sandbox.out(), scene.sandbox.path().join("other"));
        fs::create_dir_all(&out).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("r.json"), "theirs").unwrap();
        symlink(&other, out.join("reports")).unwrap();
        let run = scene.pull(&[]).expect_code(3);
        assert!(run.stderr.contains("is a link or a file"), "{}", run.stderr);
        assert_eq!(fs::read_to_string(other.join("r.json")).unwrap(), "theirs");
        fs::remove_file(out.join("reports")).unwrap();
        scene.pull(&[]).expect_code(0).json("reports/r.json");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_checkout_with_other_owner_is_read() {
    if !rustix::process::getuid().is_root() {
        // Only root can give a checkout away.
        return;
    }
    scene(&[(".architect.yml", BY_BASE)], |scene| {
        let given =
            Command::new("chown").args(["-R", "12345:12345"]).arg(scene.sandbox.repo()).status().unwrap();
        assert!(given.success());
        assert_eq!(scene.key(&[]), "by-base");
        let run = scene.pull(&[]).expect_code(0);
        assert_eq!(run.json("plan.json")["base"]["dirty"], false);
        fs::write(scene.sandbox.repo().join("a.txt"), "another size\n").unwrap();
        let run = scene.pull(&[]).expect_code(0);
        assert_eq!(run.json("plan.json")["base"]["dirty"], true);
    })
    .await;
}

#[test]
fn trust_swapped_repository_is_refused() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n"), ("sub/b.txt", "b\n")]);
    let (repo, head) = (sandbox.repo(), sandbox.git(&["rev-parse", "HEAD"]));
    let held = Repository::find(&repo.join("sub"), None).unwrap().unwrap();
    assert_eq!((held.prefix().as_str(), held.head()), ("sub/", Some(head.clone())));
    assert_eq!(held.files_of(&head).unwrap(), [("b.txt".to_owned(), 2)]);
    fs::rename(repo.join(".git"), repo.join("evil")).unwrap();
    for swap in ["folder", "file", "link"] {
        match swap {
            "folder" => drop(sandbox.git(&["init", "--quiet", "--initial-branch=main"])),
            "file" => fs::write(repo.join(".git"), "gitdir: evil\n").unwrap(),
            _ => symlink("evil", repo.join(".git")).unwrap(),
        }
        assert!(held.head().is_none() && held.base().is_none() && !held.has_commit("HEAD"), "{swap}");
        let error = held.indexed(&["a.txt"]).unwrap_err().to_string();
        assert!(error.contains("was replaced by another folder during the run"), "{error}");
        if swap == "link" {
            let error = Repository::find(&repo, None).unwrap_err().to_string();
            assert!(error.contains("links are not followed"), "{error}");
        }
        fs::remove_dir_all(repo.join(".git")).or_else(|_| fs::remove_file(repo.join(".git"))).unwrap();
    }
    // Put back, it is the same again.
    fs::rename(repo.join("evil"), repo.join(".git")).unwrap();
    assert_eq!(held.head(), Some(head));
}

#[test]
fn trust_reads_every_repository_form() {
    let sandbox = Sandbox::without_git(&[("a.txt", "a\n"), ("sub/b.txt", "b\n")]);
    sandbox.git(&["init", "--quiet", "--initial-branch=main", "--object-format=sha256"]);
    let head = sandbox.commit("before");
    assert_eq!(head.len(), 64);
    sandbox.git(&["worktree", "add", "--quiet", "--detach", "../tree"]);
    let check = |folder: &Path, branch: Option<&str>| {
        let held = Repository::find(folder, None).unwrap().unwrap();
        let base = held.base().unwrap();
        assert_eq!(
            (base.commit.as_str(), base.branch.as_deref(), base.dirty),
            (head.as_str(), branch, false)
        );
        assert_eq!(held.read_at(&head, "sub/b.txt").unwrap().unwrap(), b"b\n");
        assert_eq!(held.read_at(&head, "sub/c.txt").unwrap(), None);
        assert_eq!(held.same_as_index(&["a.txt".to_owned(), "none".to_owned()]), ["a.txt"]);
        assert!(held.is_at_trailer("before") && !held.is_at_trailer("after") && held.stands_on(&head));
        fs::write(folder.join("a.txt"), "changed\n").unwrap();
        assert!(held.base().unwrap().dirty);
        fs::write(folder.join("a.txt"), "a\n").unwrap();
    };
    check(&sandbox.repo(), Some("main"));
    check(&sandbox.path().join("tree"), None);
    // Everything in one pack, and references in one list.
    sandbox.git(&["gc", "--quiet", "--aggressive", "--prune=now"]);
    sandbox.git(&["pack-refs", "--all"]);
    check(&sandbox.repo(), Some("main"));
    check(&sandbox.path().join("tree"), None);
}
