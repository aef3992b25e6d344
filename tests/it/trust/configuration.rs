//! Configuration, hooks, servers and models come from the base.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::{BY_BASE, keyed};
use crate::support::scene::scene;
use serde_json::json;

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
        // It is the base's, which ends at once.
        let report = run.file("report.json");
        assert!(report.contains("the MCP server tracker is left out"), "{}", run.stderr);
        assert!(!report.contains("differs from the base commit") && !mark.exists(), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_exec_model_of_head_gets_no_key() {
    const CONFIG: &str = "llm:\n  model: 'exec::python3 ci/model.py'\n  api_key_env: MODEL_KEY\n";
    const MODEL: &str = "import sys, json\nsys.stdin.readline()\nprint(json.dumps({'text': 'of the base'}), flush=True)\nsys.stdin.readline()\n";
    const EVIL: &str = "print('{\"text\": \"of the head\"}', flush=True)\nimport sys\nsys.stdin.readline()\n";
    scene(&[(".architect.yml", CONFIG), ("ci/model.py", MODEL), ("model.py", MODEL)], |mut scene| {
        for path in ["ci/json.py", "json.py", "ci/model.py", "model.py"] {
            scene.sandbox.write(path, EVIL);
        }
        scene.propose();
        let event = scene.pull_event(8, "dev");
        let key = [("MODEL_KEY", "the-model-key")];
        for args in [&[][..], &["--model", "exec::python3 model.py"]] {
            let run = scene.run("pull_request", &event, args, &key).expect_code(0);
            assert_eq!(run.report()["message"], "of the base");
        }
        // Those who trust the head have it run.
        let run = scene.run("pull_request", &event, &["--trust-head-config"], &key).expect_code(0);
        assert_eq!(run.report()["message"], "of the head");
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
