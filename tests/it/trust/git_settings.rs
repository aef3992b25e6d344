//! Settings, objects and indexes of the checkout that would make Git run or show something else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{BY_BASE, keyed};
use crate::support::git;
use crate::support::scene::{BEFORE, scene};

/// Plain `git` falls into the trap, so that it is one.
#[track_caller]
fn springs(folder: &Path, mark: &Path) {
    let asked = Command::new("git").args(["status"]).current_dir(folder).output().unwrap();
    assert!(mark.exists(), "{}", String::from_utf8_lossy(&asked.stderr));
    fs::remove_file(mark).unwrap();
}

/// The file of a loose object.
fn loose(repo: &Path, id: &str) -> PathBuf {
    repo.join(".git/objects").join(&id[..2]).join(&id[2..])
}

/// Puts the content of one object behind the name of another.
fn forge(repo: &Path, id: &str, other: &str) {
    let (from, to) = (loose(repo, other), loose(repo, id));
    fs::remove_file(&to).unwrap();
    fs::copy(from, to).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_ignores_folder_that_looks_like_repository() {
    scene(&[("app/a.txt", "a\n"), ("app/.architect.yml", BY_BASE)], |mut scene| {
        let app = scene.sandbox.repo().join("app");
        git(&app, &["init", "--quiet"]);
        git(&app, &["add", "a.txt"]);
        let mark = scene.arm(&app.join(".git"), &app);
        for name in ["HEAD", "config", "index", "objects", "refs"] {
            fs::rename(app.join(".git").join(name), app.join(name)).unwrap();
        }
        fs::remove_dir_all(app.join(".git")).unwrap();
        fs::create_dir_all(app.join("refs/heads")).unwrap();
        fs::write(app.join("refs/heads/keep"), "0").unwrap();
        let config = fs::read_to_string(app.join("config")).unwrap();
        let worktree = format!("[core]\n\tbare = false\n\tworktree = {}\n{config}", app.display());
        fs::write(app.join("config"), worktree).unwrap();
        fs::write(app.join("a.txt"), "changed\n").unwrap();
        springs(&app, &mark);
        scene.sandbox.write("app/.architect.yml", keyed("by-head"));
        scene.propose();
        for mode in ["dry-run", "yolo"] {
            assert_eq!(scene.key(&["--workspace", &scene.at("app"), "--mode", mode]), "by-base");
            assert!(!mark.exists(), "{mode}: {}", fs::read_to_string(&mark).unwrap());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_checkout_git_configuration_runs_nothing() {
    scene(&[("b.txt", "b\n")], |scene| {
        let scene = scene.on_main();
        let repo = scene.sandbox.repo();
        let mark = scene.arm(&repo.join(".git"), &repo);
        for hook in ["pre-push", "reference-transaction", "post-index-change", "post-checkout"] {
            let hook = repo.join(".git/hooks").join(hook);
            fs::copy(scene.sandbox.path().join("trap.sh"), &hook).unwrap();
        }
        fs::write(repo.join("b.txt"), "touched\n").unwrap();
        springs(&repo, &mark);
        // Delivered by a push, since the API takes no commit.
        fs::write(repo.join(".gitattributes"), "b.txt filter=x\n").unwrap();
        scene.github.forbid("POST /repos/octo/demo/git/");
        let model = scene.edit("five", "FIVE");
        let event = scene.event("schedule", &[]);
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "branch"];
        scene.run("schedule", &event, &args, &[]).expect_code(0);
        assert!(!mark.exists(), "{}", fs::read_to_string(&mark).unwrap());
        let world = scene.github.world();
        let server = world.repository.as_ref().unwrap();
        let shown = server.show("architect-ci/changes", "a.txt").unwrap();
        assert_eq!(String::from_utf8(shown).unwrap(), BEFORE.replace("five", "FIVE"));
        assert_eq!(server.show("architect-ci/changes", "b.txt").unwrap(), b"b\n");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_nested_repository_runs_nothing() {
    scene(&[], |scene| {
        let repo = scene.sandbox.repo();
        let nested = repo.join("sub");
        fs::create_dir(&nested).unwrap();
        git(&nested, &["init", "--quiet"]);
        fs::write(nested.join("f"), "one\n").unwrap();
        git(&nested, &["add", "--all"]);
        git(&nested, &["commit", "--quiet", "--message", "nested"]);
        let head = git(&nested, &["rev-parse", "HEAD"]);
        let mark = scene.arm(&nested.join(".git"), &nested);
        fs::write(nested.join("f"), "two\n").unwrap();
        git(&repo, &["update-index", "--add", "--cacheinfo", &format!("160000,{head},sub")]);
        springs(&repo, &mark);
        for mode in ["dry-run", "yolo"] {
            scene.pull(&["--mode", mode]).expect_code(0);
            assert!(!mark.exists(), "{mode}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_refuses_replaced_objects() {
    scene(&[(".architect.yml", BY_BASE)], |scene| {
        let repo = scene.sandbox.repo();
        let id = |name: &str| git(&repo, &["rev-parse", name]);
        fs::write(repo.join(".architect.yml"), keyed("evil")).unwrap();
        let evil = git(&repo, &["hash-object", "-w", ".architect.yml"]);
        git(&repo, &["add", "--all"]);
        let tree = git(&repo, &["write-tree"]);
        let commit = git(&repo, &["commit-tree", &tree, "-m", "evil"]);
        let (blob, base_tree) =
            (id(&format!("{}:.architect.yml", scene.base)), id(&format!("{}^{{tree}}", scene.base)));
        for (replaced, by) in [(&scene.base, &commit), (&base_tree, &tree), (&blob, &evil)] {
            git(&repo, &["replace", replaced, by]);
            assert!(git(&repo, &["show", &format!("{}:.architect.yml", scene.base)]).contains("evil"));
            assert_eq!(scene.key(&[]), "by-base");
            git(&repo, &["replace", "-d", replaced]);
        }
        fs::write(repo.join(".git/info/grafts"), format!("{} {commit}\n", scene.head)).unwrap();
        assert_eq!(scene.key(&[]), "by-base");
        for (forged, by) in [(&blob, &evil), (&base_tree, &tree), (&scene.base, &commit)] {
            let before = fs::read(loose(&repo, forged)).unwrap();
            forge(&repo, forged, by);
            // The server has the true one.
            assert_eq!(scene.key(&[]), "by-base", "{forged}");
            fs::remove_file(loose(&repo, forged)).unwrap();
            fs::write(loose(&repo, forged), before).unwrap();
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_refuses_forged_alternate_object() {
    scene(&[(".architect.yml", BY_BASE)], |scene| {
        let repo = scene.sandbox.repo();
        let blob = git(&repo, &["rev-parse", &format!("{}:.architect.yml", scene.base)]);
        fs::write(repo.join("evil.yml"), keyed("evil")).unwrap();
        let evil = git(&repo, &["hash-object", "-w", "evil.yml"]);
        let other = scene.sandbox.path().join("alternate");
        fs::create_dir_all(other.join(&blob[..2])).unwrap();
        fs::copy(loose(&repo, &evil), other.join(&blob[..2]).join(&blob[2..])).unwrap();
        fs::remove_file(loose(&repo, &blob)).unwrap();
        fs::write(repo.join(".git/objects/info/alternates"), format!("{}\n", other.display())).unwrap();
        assert_eq!(scene.key(&[]), "by-base");
        scene.github.forbid("GET /repos/octo/demo/contents/");
        let model = scene.sandbox.script(&[], "done");
        let event = scene.pull_event(7, "dev");
        let nowhere = [("GITHUB_SERVER_URL", "file:///nowhere")];
        let run = scene.run("pull_request", &event, &["--model", &model], &nowhere).expect_code(3);
        assert!(run.stderr.contains("is read from the commit"), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_ignores_index() {
    scene(&[(".architect.yml", BY_BASE)], |scene| {
        let repo = scene.sandbox.repo();
        fs::write(repo.join(".architect.yml"), keyed("evil")).unwrap();
        git(&repo, &["add", "--all"]);
        git(&repo, &["update-index", "--assume-unchanged", ".architect.yml"]);
        assert_eq!(scene.key(&[]), "by-base");
        fs::write(repo.join(".git/index"), b"DIRC garbage").unwrap();
        assert_eq!(scene.key(&[]), "by-base");
    })
    .await;
}
