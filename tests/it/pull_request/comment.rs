//! The comment in all its lives: progress, recreated, one for each key, and never older than what it shows.

use std::time::{Duration, Instant};

use super::MARKER;
use crate::support::github::BOT;
use crate::support::model::{Answer, ModelServer};
use crate::support::scene::scene;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn progress_comment_updates_during_run() {
    let calls = vec![("read_file", json!({"path": "a.txt"}))];
    let model = ModelServer::start(vec![Answer::Calls(calls), Answer::Slow(Duration::from_secs(4), "Done.")]);
    scene(&[], move |scene| {
        let variables = [("OPENAI_API_KEY", "none")];
        let event = scene.pull_event(7, "dev");
        let args = ["--model", "openai::gpt-5", "--base-url", &model.url, "--task", "Look @octocat"];
        let run = scene.run("pull_request", &event, &args, &variables).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        let world = scene.github.world();
        let at = |start: &str| -> Vec<Instant> {
            world.requests.iter().filter(|(_, name)| name.starts_with(start)).map(|(at, _)| *at).collect()
        };
        let (made, changed) =
            (at("POST /repos/octo/demo/issues/7/comments"), at("PATCH /repos/octo/demo/issues/comments/"));
        assert_eq!(made.len(), 1, "one while it works");
        assert!(!changed.is_empty(), "which is changed at the end");
        // Found once, and known from then on.
        assert_eq!(at("GET /repos/octo/demo/issues/7/comments").len(), 1);
        drop(world);
        assert!(scene.sticky().contains("### ✅ plan: no changes"), "{}", scene.sticky());
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_is_recreated_once() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        // Made, and its answer lost: it is looked for before another is made.
        scene.github.lose_answer("POST /repos/octo/demo/issues/7/comments");
        scene.plan(&model, &[]).expect_code(0);
        let first = scene.sticky();
        // Deleted between finding and changing it.
        scene.github.fail("PATCH /repos/octo/demo/issues/comments/", 404, "Not Found");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        scene.sticky();
        // Deleted by hand: it is made anew.
        scene.github.world().comments.clear();
        scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.sticky().lines().nth(2), first.lines().nth(2));
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_keys_separate_jobs() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let event = scene.pull_event(7, "dev");
        let spawn = |key: &str| {
            let out = scene.sandbox.path().join(key);
            let args = ["--model", model.as_str(), "--comment-key", key];
            scene.job("pull_request", &event, &out, &args).env_remove("GITHUB_OUTPUT").spawn().unwrap()
        };
        for _ in 0..2 {
            let jobs = [spawn("docs"), spawn("tests")];
            for mut job in jobs {
                assert_eq!(job.wait().unwrap().code(), Some(0));
            }
        }
        let mut firsts: Vec<String> = scene
            .github
            .comments_by(BOT)
            .iter()
            .map(|body| body.lines().next().unwrap().to_owned())
            .collect();
        firsts.sort();
        assert_eq!(firsts, ["<!-- architect-ci comment: docs -->", "<!-- architect-ci comment: tests -->"]);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_of_previous_owner_is_minimized() {
    scene(&[], |scene| {
        let ids: Vec<u64> = {
            let mut world = scene.github.world();
            ["old-app[bot]", "dev", "stranger"]
                .map(|login| world.add_comment(7, login, &format!("{MARKER}\nfrom before")))
                .into()
        };
        let model = scene.edit("five", "FIVE");
        scene.plan(&model, &[]).expect_code(0);
        // A stranger's is nothing that was ours.
        let expected: Vec<String> = ids[..2].iter().map(|id| format!("IC_{id}")).collect();
        assert_eq!(scene.github.world().minimised, expected);
        scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.github.world().minimised, expected, "once");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_run_leaves_comment_of_newer_head() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.plan(&model, &[]).expect_code(0);
        let mark = |run: u64, head: &str| format!("<!-- architect-ci run: {run} {head} -->");
        let newer = scene.sticky().replace(&mark(4711, &scene.head), &mark(4712, &"f".repeat(40)));
        assert_ne!(newer, scene.sticky());
        let id = {
            let mut world = scene.github.world();
            let (id, comment) = world.comments.iter_mut().next().unwrap();
            comment.body.clone_from(&newer);
            *id
        };
        let run = scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.sticky(), newer);
        assert!(run.stderr.contains("a later run has written the comment"), "{}", run.stderr);
        // A run of the same commit, or a later one, has its say.
        for (run, head) in [(4712, scene.head.clone()), (4710, "f".repeat(40))] {
            let body = newer.replace(&mark(4712, &"f".repeat(40)), &mark(run, &head));
            scene.github.world().comments.get_mut(&id).unwrap().body = body;
            scene.plan(&model, &[]).expect_code(0);
            assert!(scene.sticky().contains(&mark(4711, &scene.head)), "{}", scene.sticky());
        }
        scene.github.assert_valid();
    })
    .await;
}
