//! Branches that others have, move or forbid: a delivery overwrites nothing and says what it could not do.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::OWN;
use crate::support::scene::{BEFORE, HEAD, scene};
use crate::support::wait::wait_while_running;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn delivery_keeps_others_files_on_name_clash() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let push = |files: &[(&str, &str)]| {
            scene.github.world().repository.as_ref().unwrap().push("main", files, "meanwhile");
        };
        push(&[("tools/run.sh", "x\n"), ("notes", "x\n")]);
        for (path, in_the_way) in [("tools", "tools"), ("notes/today.txt", "notes/today.txt")] {
            scene.sandbox.git(&["checkout", "--quiet", "--force", &scene.base]);
            scene.sandbox.git(&["clean", "-fdxq"]);
            let write = ("write_file", json!({"path": path, "content": "ours\n"}));
            let model = scene.sandbox.script(&[vec![write]], "done");
            let run = scene.nightly(&model, "branch", &[]).expect_code(1);
            let told = format!("changes there conflict with {in_the_way};");
            assert!(run.stderr.contains(&told), "{}", run.stderr);
        }
        assert_eq!(scene.tip(OWN), None);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_signal_ends_push() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let server = scene.github.world().repository.as_ref().unwrap().path();
        let (hook, reached) = (server.join("hooks/pre-receive"), server.join("reached"));
        std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\nsleep 120\nexit 1\n", reached.display()))
            .unwrap();
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
        scene.github.forbid("POST /repos/octo/demo/git/");
        let model = scene.edit("five", "FIVE");
        let event = scene.event("schedule", &[]);
        let args = ["--model", model.as_str(), "--mode", "yolo", "--deliver", "branch"];
        let mut job = scene.job("schedule", &event, &scene.sandbox.out(), &args).spawn().unwrap();
        wait_while_running(&mut job, || "a push".to_owned(), || reached.exists());
        let signalled = Instant::now();
        let id = rustix::process::Pid::from_child(&job);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        assert_eq!(job.wait().unwrap().code(), Some(1));
        assert!(signalled.elapsed() < Duration::from_mins(1), "{:?}", signalled.elapsed());
        let report = std::fs::read_to_string(scene.sandbox.out().join("report.json")).unwrap();
        assert!(report.contains("the changes were not delivered: GitHub did not answer in time"), "{report}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_never_overwrites_foreign_commits() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        let theirs = scene.github.world().repository.as_ref().unwrap().push(
            OWN,
            &[("c.txt", "c\n")],
            "A person's fix",
        );
        scene.check_out();
        let model = scene.edit("six", "SIX");
        let run = scene.nightly(&model, "pull-request", &[]).expect_code(1);
        assert!(
            run.stderr.contains("contains commits that this job did not make (\"A person's fix\")"),
            "{}",
            run.stderr
        );
        assert_eq!(scene.tip(OWN).unwrap(), theirs);
        // Nor is a branch that somebody else's job has made.
        scene.check_out();
        let run = scene.nightly(&model, "branch", &["--comment-key", "other"]).expect_code(0);
        assert_eq!(run.report()["delivery"]["branch"], "architect-ci/other");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_without_changes_leaves_no_trace() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let event = scene.event("schedule", &[]);
        let idle = scene.sandbox.script(&[], "nothing to do");
        let run = scene.nightly(&idle, "pull-request", &[]).expect_code(1);
        assert_eq!(run.report()["stop_reason"], "nothing_changed", "changes are expected to be delivered");
        scene.nightly(&idle, "pull-request", &["--expect", "any"]).expect_code(0);
        // A dry run delivers its patch alone.
        let model = scene.edit("five", "FIVE");
        let run = scene.run("schedule", &event, &["--model", &model, "--deliver", "pull-request"], &[]);
        let run = run.expect_code(0);
        assert!(run.file("plan.patch").contains("+FIVE"));
        // A patch is a file.
        let run = scene.nightly(&model, "patch", &[]).expect_code(0);
        assert!(run.file("plan.patch").contains("+FIVE"));
        assert_eq!(scene.output("patch-path"), run.out.join("plan.patch").to_str().map(str::to_owned));
        assert!(scene.github.requests().is_empty(), "{:?}", scene.github.requests());
        // What failed is not delivered.
        scene.check_out();
        scene.sandbox.write(
            ".architect.yml",
            "guardrails:\n  max_gate_rounds: 1\n  quality_gates:\n    - { name: bad, command: 'exit 1' }\n",
        );
        let run = scene.nightly(&model, "pull-request", &[]).expect_code(1);
        assert!(
            run.report()["notices"].to_string().contains("not delivered, because the run ended as partial"),
            "{}",
            run.stderr
        );
        assert_eq!(scene.tip(OWN), None);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_retries_when_branch_moves() {
    scene(&[], |scene| {
        let (event, _) = scene.comment_event(7, "dev", "/architect run");
        let model = scene.edit("five", "FIVE");
        // The commit goes on top of the pull request's own branch.
        scene.github.fail(
            "PATCH /repos/octo/demo/git/refs/heads/feature",
            422,
            "Update is not a fast forward",
        );
        let run = scene.run("issue_comment", &event, &["--model", &model, "--deliver", "branch"], &[]);
        run.expect_code(0);
        let tip = scene.tip("feature").unwrap();
        assert_eq!(scene.parents(&tip), std::slice::from_ref(&scene.head));
        assert_eq!(scene.shown("feature", "a.txt").unwrap(), HEAD.replace("five", "FIVE"));
        assert_eq!(scene.github.count("PATCH /repos/octo/demo/git/refs"), 2);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_falls_back_to_git_push() {
    scene(&[("sub/b.txt", "b\n")], |scene| {
        let scene = scene.on_main();
        scene.github.forbid("POST /repos/octo/demo/git/");
        let model = scene.edit("five", "FIVE");
        let status = scene.sandbox.git(&["status", "--porcelain"]);
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("five", "FIVE"));
        assert_eq!(scene.github.world().pulls[&102].head, format!("refs/heads/{OWN}"));
        // The checkout's index is as it was.
        assert_eq!(
            (status.as_str(), scene.sandbox.git(&["status", "--porcelain"]).as_str()),
            ("", " M a.txt")
        );
        // Again, with something else: our own branch is moved. The checkout lacks the newest commit of main.
        scene.check_out();
        scene.github.world().repository.as_ref().unwrap().push("main", &[("b.txt", "b\n")], "newer");
        let model = scene.edit("six", "SIX");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("six", "SIX"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_names_missing_permissions() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        // Neither way works.
        scene.github.forbid("POST /repos/octo/demo/git/");
        let variables = [("GITHUB_SERVER_URL", "file:///nowhere")];
        let event = scene.event("schedule", &[]);
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "branch"];
        let run = scene.run("schedule", &event, &args, &variables).expect_code(4);
        assert!(run.stderr.contains("add `permissions: contents: write` to the job"), "{}", run.stderr);
        assert_eq!(run.report()["exit_code"], 4);
    })
    .await;
}
