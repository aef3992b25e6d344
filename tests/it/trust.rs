//! What a pull request, or an earlier step of the job, may do to the repository to be obeyed: nothing of it is.
//! Each trap is shown to work on plain `git` first, where it is one for `git`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::scene::{BEFORE, Scene, scene};
use crate::support::{Run, Sandbox, git};
use architect_ci::git::Repository;
use serde_json::json;

/// A configuration that is told from others by the comment's key.
fn keyed(key: &str) -> String {
    format!("github:\n  comment_key: {key}\n")
}

const BY_BASE: &str = "github:\n  comment_key: by-base\n";

impl Scene {
    /// A program that leaves a mark, with its environment, if anybody starts it.
    fn trap(&self) -> (PathBuf, PathBuf) {
        let (program, mark) = (self.sandbox.path().join("trap.sh"), self.sandbox.path().join("mark"));
        fs::write(&program, format!("#!/bin/sh\nenv >> {}\ncat\n", mark.display())).unwrap();
        fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        (program, mark)
    }

    /// Puts the trap into a repository of `folder`, as the filter of all files.
    fn arm(&self, git_dir: &Path, folder: &Path) -> PathBuf {
        let (program, mark) = self.trap();
        let config = git_dir.join("config");
        let text = fs::read_to_string(&config).unwrap();
        let program = program.display();
        fs::write(
            &config,
            format!("{text}\n[filter \"x\"]\n\tclean = {program}\n\tsmudge = {program}\n\tprocess = {program}\n[core]\n\tfsmonitor = {program}\n"),
        )
        .unwrap();
        fs::write(folder.join(".gitattributes"), "* filter=x\n").unwrap();
        mark
    }

    /// A run on the pull request.
    fn pull(&self, args: &[&str]) -> Run {
        let model = self.sandbox.script(&[], "done");
        let event = self.pull_event(7, "dev");
        self.run("pull_request", &event, &[&["--model", &model][..], args].concat(), &[])
    }

    /// The key of the configuration that was obeyed.
    #[track_caller]
    fn key(&self, args: &[&str]) -> String {
        let run = self.pull(args).expect_code(0);
        let line = run.file("comment.md").lines().next().unwrap().to_owned();
        line.trim_start_matches("<!-- architect-ci comment: ").trim_end_matches(" -->").to_owned()
    }

    fn at(&self, path: &str) -> String {
        self.sandbox.repo().join(path).display().to_string()
    }

    /// The pull request commits what stands there.
    fn propose(&mut self) {
        self.head = self.sandbox.commit("the pull request goes on");
    }
}

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

#[tokio::test(flavor = "multi_thread")]
async fn trust_files_beside_workspace_come_from_base() {
    let files: &[(&str, &str)] =
        &[("ci/a.yml", BY_BASE), ("ci/t.md", "The task of the base\n"), ("app/a.txt", "a\n")];
    scene(files, |mut scene| {
        scene.sandbox.write("ci/a.yml", keyed("by-head"));
        scene.sandbox.write("ci/t.md", "---\nmode: yolo\n---\nThe task of the head\n");
        scene.sandbox.write("ci/new.yml", keyed("by-head"));
        scene.propose();
        let (app, config, task) = (scene.at("app"), scene.at("ci/a.yml"), scene.at("ci/t.md"));
        for config in [config.as_str(), "../ci/a.yml"] {
            assert_eq!(scene.key(&["--workspace", &app, "--config", config]), "by-base", "{config}");
        }
        let run = scene.pull(&["--workspace", &app, "--task-file", &task]).expect_code(0);
        assert_eq!(run.report()["task"], "The task of the base\n");
        assert_eq!(run.report()["mode"], "dry-run");
        // What the base does not have is not there.
        let run = scene.pull(&["--workspace", &app, "--config", &scene.at("ci/new.yml")]).expect_code(3);
        assert!(run.stderr.contains("ci/new.yml"), "{}", run.stderr);
        // What lies outside of the repository is whoever's who named it.
        let outside = scene.sandbox.path().join("outside.yml");
        fs::write(&outside, keyed("outside")).unwrap();
        assert_eq!(scene.key(&["--workspace", &app, "--config", outside.to_str().unwrap()]), "outside");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_configuration_path_refuses_links() {
    let files: &[(&str, &str)] =
        &[("ci/a.yml", BY_BASE), ("samples/a.yml", "github:\n  comment_key: sample\n")];
    scene(files, |mut scene| {
        let repo = scene.sandbox.repo();
        fs::remove_dir_all(repo.join("ci")).unwrap();
        symlink("samples", repo.join("ci")).unwrap();
        scene.propose();
        assert_eq!(scene.key(&["--config", &scene.at("ci/a.yml")]), "by-base");
        assert_eq!(scene.key(&["--config", "ci/a.yml"]), "by-base");
        // A link from outside is no way around.
        symlink(repo.join("ci"), scene.sandbox.path().join("into")).unwrap();
        let into = scene.sandbox.path().join("into/a.yml");
        let run = scene.pull(&["--config", into.to_str().unwrap()]).expect_code(3);
        assert!(run.stderr.contains("leads into the repository through a link"), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_base_links_stay_inside() {
    scene(&[("docs/guide.yml", BY_BASE)], |mut scene| {
        let repo = scene.sandbox.repo();
        symlink("docs/guide.yml", repo.join("good.yml")).unwrap();
        symlink("../outside.yml", repo.join("bad.yml")).unwrap();
        symlink("circle.yml", repo.join("circle.yml")).unwrap();
        fs::write(scene.sandbox.path().join("outside.yml"), keyed("outside")).unwrap();
        scene.base = scene.sandbox.commit("links of the base");
        scene.sandbox.write("docs/guide.yml", keyed("by-head"));
        scene.propose();
        assert_eq!(scene.key(&["--config", &scene.at("good.yml")]), "by-base");
        for bad in ["bad.yml", "circle.yml"] {
            let run = scene.pull(&["--config", &scene.at(bad)]).expect_code(3);
            assert!(run.stderr.contains("is a link that leads out of the repository"), "{}", run.stderr);
        }
    })
    .await;
}

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

/// A configuration of the base whose hook is `ci/h.sh`, which loads `ci/util.sh`.
const HOOK: &[(&str, &str)] = &[
    (".architect.yml", "hooks:\n  session_start:\n  - { name: greet, command: 'cd ci && sh ./h.sh' }\n"),
    ("ci/h.sh", ". ./util.sh\n"),
    ("ci/util.sh", "echo hello\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn trust_hooks_come_from_base() {
    scene(HOOK, |mut scene| {
        // Another part of the repository may change.
        scene.pull(&[]).expect_code(0);
        let mark = scene.sandbox.path().join("mark");
        let evil = format!("touch {}\n", mark.display());
        for changed in ["ci/h.sh", "ci/util.sh", "ci/new.sh"] {
            scene.sandbox.write(changed, &evil);
            scene.propose();
            let run = scene.pull(&[]).expect_code(3);
            let told = format!("the hook \"greet\" is not run: {changed} differs from the base commit");
            assert!(run.stderr.contains(&told), "{}", run.stderr);
            assert!(!mark.exists());
            scene.sandbox.git(&["reset", "--quiet", "--hard", "HEAD^"]);
        }
        // Content is not all: a mode counts, and a link in place of the folder.
        let script = scene.sandbox.repo().join("ci/util.sh");
        fs::set_permissions(&script, PermissionsExt::from_mode(0o755)).unwrap();
        scene.pull(&[]).expect_code(3);
        scene.sandbox.git(&["reset", "--quiet", "--hard"]);
        fs::rename(scene.sandbox.repo().join("ci"), scene.sandbox.path().join("moved")).unwrap();
        symlink("../moved", scene.sandbox.repo().join("ci")).unwrap();
        scene.pull(&[]).expect_code(3);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_mcp_server_of_head_gets_no_token() {
    const CONFIG: &str = "mcp:\n  servers:\n  - { name: tracker, command: python3, args: [ci/mcp.py], token_env: TRACKER, timeout: 3 }\n";
    scene(&[(".architect.yml", CONFIG), ("ci/mcp.py", "pass\n")], |mut scene| {
        let mark = scene.sandbox.path().join("mark");
        scene.sandbox.write("ci/mcp.py", format!("open({:?}, 'w').write('x')\n", mark.display().to_string()));
        scene.propose();
        let model = scene.sandbox.script(&[], "done");
        let event = scene.pull_event(8, "dev");
        let variables = [("TRACKER", "the-tracker-token")];
        let run = scene.run("pull_request", &event, &["--model", &model], &variables).expect_code(0);
        let told = "the MCP server tracker is left out: ci/mcp.py differs from the base commit";
        assert!(run.file("report.json").contains(told), "{}", run.stderr);
        assert!(!mark.exists());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_exec_model_of_head_gets_no_key() {
    const CONFIG: &str = "llm:\n  model: 'exec::python3 ci/model.py'\n  api_key_env: MODEL_KEY\n";
    const MODEL: &str = "import sys, json\nsys.stdin.readline()\n";
    scene(&[(".architect.yml", CONFIG), ("ci/model.py", MODEL), ("model.py", MODEL)], |mut scene| {
        let mark = scene.sandbox.path().join("mark");
        let evil = format!("open({:?}, 'w').write('x')\n", mark.display().to_string());
        scene.sandbox.write("ci/json.py", &evil);
        scene.propose();
        let event = scene.pull_event(8, "dev");
        let key = [("MODEL_KEY", "the-model-key")];
        let run = scene.run("pull_request", &event, &[], &key).expect_code(3);
        assert!(run.stderr.contains("ci/json.py differs from the base commit"), "{}", run.stderr);
        // In the root a program could load anything.
        let args = ["--model", "exec::python3 model.py"];
        let run = scene.run("pull_request", &event, &args, &key).expect_code(3);
        assert!(run.stderr.contains("move it to a folder of its own"), "{}", run.stderr);
        assert!(!mark.exists());
        // Those who trust the head have it run.
        let run = scene.run("pull_request", &event, &["--trust-head-config"], &key);
        assert!(!run.stderr.contains("is not started"), "{}", run.stderr);
        assert!(run.out.join("report.json").exists(), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_workflow_run_is_dry_run_of_default_branch() {
    scene(&[(".architect.yml", BY_BASE)], |mut scene| {
        scene
            .sandbox
            .write(".architect.yml", "hooks:\n  session_start:\n  - { name: evil, command: 'exit 2' }\n");
        scene.propose();
        let event = scene.event("workflow_run.completed", &[("sender.login", json!("dev"))]);
        let model = scene.edit("five", "FIVE");
        let args = ["--model", &model, "--mode", "yolo"];
        let run = scene.run("workflow_run", &event, &args, &[]).expect_code(0);
        assert_eq!(run.report()["mode"], "dry-run");
        assert_eq!(run.file("comment.md").lines().next(), Some("<!-- architect-ci comment: by-base -->"));
        assert!(run.stderr.contains("so this is a dry run"), "{}", run.stderr);
        let run =
            scene.run("workflow_run", &event, &["--model", &model], &[("GITHUB_SHA", "")]).expect_code(3);
        assert!(run.stderr.contains("does not name a commit (`GITHUB_SHA`)"), "{}", run.stderr);
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
