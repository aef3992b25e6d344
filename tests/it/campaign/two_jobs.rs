//! One job that plans without a token that writes, another that delivers without a model.

use std::fs;

use super::{Scene, WAVES};
use crate::support::Sandbox;
use crate::support::github::READ_TOKEN;
use crate::support::github::fleet::{HOME, TOKEN};
use serde_json::json;

/// The variables of a scheduled workflow run in the campaign's repository.
pub fn actions(sandbox: &Sandbox) -> [(&'static str, String); 7] {
    let sha = sandbox.git(&["rev-parse", "HEAD"]);
    let event = sandbox.path().join("event.json");
    fs::write(&event, json!({"repository": {"full_name": HOME, "default_branch": "main"}}).to_string())
        .expect("an event");
    [
        ("GITHUB_ACTIONS", "true".to_owned()),
        ("GITHUB_SHA", sha),
        ("GITHUB_REF", "refs/heads/main".to_owned()),
        ("GITHUB_EVENT_NAME", "schedule".to_owned()),
        ("GITHUB_EVENT_PATH", event.display().to_string()),
        ("GITHUB_RUN_ID", "4711".to_owned()),
        ("GITHUB_OUTPUT", sandbox.path().join("output").display().to_string()),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_is_planned_without_a_token_that_writes_and_delivered_without_a_model() {
    let mut scene = Scene::new(WAVES).await;
    scene.plain(3);
    let actions = actions(&scene.sandbox);
    let actions: Vec<(&str, &str)> = actions.iter().map(|(name, value)| (*name, value.as_str())).collect();
    scene.run_as(&["plan", "--shard", "1/1"], READ_TOKEN, &actions).expect_code(0);
    assert_eq!(scene.fleet.state().refused_writes, Vec::<String>::new(), "it does not even try");
    let output = fs::read_to_string(scene.sandbox.path().join("output")).expect("outputs");
    let digest = crate::support::outputs(&output)["report-digest"].clone();
    let plans = scene.out();
    let folder = plans.to_str().unwrap().to_owned();
    scene.on_another_machine();
    let run = scene.run_as(&["run", "--plans", &folder], TOKEN, &actions).expect_code(3);
    assert!(run.stderr.contains("`report-digests` is missing"), "{}", run.stderr);
    let other = json!({"shard-1": "0".repeat(64)}).to_string();
    let run = scene
        .run_as(&["run", "--plans", &folder, "--report-digests", &other], TOKEN, &actions)
        .expect_code(3);
    assert!(run.stderr.contains("was not produced by a job of this workflow run"), "{}", run.stderr);
    // What another job may have left there does not keep the rest from being delivered.
    fs::create_dir_all(plans.join("stray")).expect("a folder");
    fs::write(plans.join("stray/campaign-plans.json"), "{}").expect("a file");
    // A plan that was changed on the way is refused, and its target told as failed.
    let digests = json!({ "shard-1": digest }).to_string();
    let mut changed = None;
    for place in 0..3 {
        let path = plans.join(format!("targets/octo/r{place:03}/_/plan.json"));
        if changed.is_none() && path.is_file() {
            let text = fs::read_to_string(&path).expect("a plan").replace("+new", "+evil");
            fs::write(&path, text).expect("a plan");
            changed = Some(format!("octo/r{place:03}"));
        }
    }
    let run = scene.run_as(&["run", "--plans", &folder, "--report-digests", &digests], TOKEN, &actions);
    assert!(
        run.stdout.contains("left out: ") && run.stdout.contains("stray/campaign-plans.json"),
        "{}",
        run.stdout
    );
    let state = scene.fleet.state();
    assert_eq!(state.count("OPEN"), 1, "the other one of the canary");
    assert!(state.places[&changed.expect("a plan")].pulls.is_empty());
    drop(state);
    scene.assert_valid();
}
