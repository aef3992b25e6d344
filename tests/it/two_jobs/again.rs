//! A job whose checkout already looks as planned, because an attempt before could not deliver or a step has made the files: what
//! counts is what the branch has.

use std::path::PathBuf;

use super::{Second, artifact, planned, write};
use crate::support::Run;
use crate::support::scene::{HEAD, Scene, scene};
use serde_json::json;

/// Plans changes of two files, and a new one, for this event.
fn plan(scene: &Scene, event: &str) -> (PathBuf, String) {
    let model = scene.sandbox.script(
        &[vec![
            ("edit_file", json!({"path": "a.txt", "old_str": "five", "new_str": "FIVE"})),
            ("write_file", json!({"path": "new.txt", "content": "new\n"})),
            ("edit_file", json!({"path": "old.txt", "old_str": "old", "new_str": "other"})),
        ]],
        "Done.",
    );
    planned(scene, event, &model).expect_code(0);
    artifact(scene)
}

fn attempt(scene: &Scene, plan: &(PathBuf, String)) -> Run {
    let (event, deliver) = ("pull_request", "branch");
    write(scene, &plan.0, &Second { event, digest: &plan.1, deliver, variables: &[] })
}

/// Delivers in this checkout, and finds all of it on the branch and in the report.
fn delivers(scene: &Scene, plan: &(PathBuf, String)) {
    let run = attempt(scene, plan).expect_code(0);
    assert_eq!(scene.branch("feature", "a.txt"), HEAD.replace("five", "FIVE"));
    assert_eq!(scene.branch("feature", "new.txt"), "new\n");
    assert_eq!(scene.branch("feature", "old.txt"), "other\n");
    let report = run.report();
    assert_eq!(report["files"].as_array().unwrap().len(), 3, "{report}");
    assert!(report["delivery"]["commit"].is_string(), "{report}");
    assert!(scene.output("commit").is_some_and(|commit| !commit.is_empty()));
    scene.github.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn repeated_step_delivers_what_an_attempt_has_left_in_the_checkout() {
    scene(&[("old.txt", "old\n")], |scene| {
        let plan = plan(&scene, "pull_request");
        scene.refuse_commits();
        let run = attempt(&scene, &plan).expect_code(4);
        scene.accept_commits();
        assert_eq!(run.report()["delivery"], json!(null));
        assert_eq!(scene.branch("feature", "a.txt"), HEAD);
        delivers(&scene, &plan);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_a_step_has_made_are_delivered_as_well() {
    scene(&[("old.txt", "old\n")], |scene| {
        let plan = plan(&scene, "pull_request");
        scene.sandbox.write("a.txt", HEAD.replace("five", "FIVE"));
        scene.sandbox.write("old.txt", "other\n");
        delivers(&scene, &plan);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commits_that_only_the_checkout_has_are_delivered_as_well() {
    scene(&[("old.txt", "old\n")], |scene| {
        let plan = plan(&scene, "pull_request");
        scene.sandbox.write("a.txt", HEAD.replace("five", "FIVE"));
        scene.sandbox.commit("not pushed");
        delivers(&scene, &plan);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_that_has_everything_is_told_as_that() {
    scene(&[("old.txt", "old\n")], |scene| {
        let scene = scene.on_main();
        let (plan, digest) = plan(&scene, "schedule");
        for has_tried in [false, true] {
            let second =
                Second { event: "schedule", digest: &digest, deliver: "pull-request", variables: &[] };
            if !has_tried {
                let checkout = |args: &[&str]| drop(scene.sandbox.git(args));
                let base = scene.sandbox.git(&["rev-parse", "HEAD"]);
                let changed = scene.sandbox.read("a.txt").replace("five", "FIVE");
                scene.sandbox.write("a.txt", changed);
                scene.sandbox.write("new.txt", "new\n");
                scene.sandbox.write("old.txt", "other\n");
                scene.sandbox.commit("the same");
                let server = scene.github.world().repository.as_ref().unwrap().path();
                checkout(&["push", "--quiet", server.to_str().unwrap(), "HEAD:refs/heads/main"]);
                checkout(&["reset", "--quiet", "--hard", &base]);
            }
            let run = write(&scene, &plan, &second).expect_code(0);
            let report = run.report();
            assert_eq!(report["delivery"], json!(null));
            let told = "Nothing was delivered: the branch already has all changes of the plan.";
            assert_eq!(report["message"], told);
            assert!(scene.github.world().pulls.values().all(|pull| !pull.head.contains("architect-ci")));
        }
    })
    .await;
}
