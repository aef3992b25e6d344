//! Reactions to events: what they start, who may start it, and what is answered.
#![cfg(unix)]

use crate::support::github::BOT;
use crate::support::scene::{Scene, scene};
use serde_json::json;

fn reactions(scene: &Scene, comment: u64) -> Vec<String> {
    let world = scene.github.world();
    world.reactions.iter().filter(|(id, _)| *id == comment).map(|(_, content)| content.clone()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_start_runs_or_explain() {
    scene(&[], |scene| {
        let model = scene.sandbox.script(&[], "done");
        let pull = scene.pull_event(7, "dev");
        let labelled = scene.label_event("dev", "architect");
        let other_label = scene.sandbox.path().join("other.json");
        std::fs::rename(scene.label_event("dev", "bug"), &other_label).unwrap();
        let labelled_again = scene.label_event("dev", "architect");
        assert_eq!(labelled, labelled_again);
        let of_pull = |name: &str, values: &[(&str, serde_json::Value)]| {
            let mut payload: serde_json::Value =
                serde_json::from_str(&std::fs::read_to_string(&pull).unwrap()).unwrap();
            for (place, value) in values {
                *payload.pointer_mut(place).unwrap() = value.clone();
            }
            let path = scene.sandbox.path().join(format!("{name}.json"));
            std::fs::write(&path, payload.to_string()).unwrap();
            path
        };
        let closed =
            of_pull("closed", &[("/action", json!("closed")), ("/pull_request/state", json!("closed"))]);
        let draft = of_pull("draft", &[("/action", json!("converted_to_draft"))]);
        let late_label =
            of_pull("late", &[("/action", json!("labeled")), ("/pull_request/state", json!("closed"))]);
        let queue = scene.event("merge_group.checks_requested", &[("sender.login", json!("dev"))]);
        let release = scene.event("release.published", &[("sender.login", json!("dev"))]);
        let push = scene.event("push", &[("sender.login", json!("dev"))]);
        let dispatch = scene.event("workflow_dispatch", &[]);
        let schedule = scene.event("schedule", &[]);
        let chat = scene.comment_event(7, "dev", "I like /architect run").0;
        for (name, event, status, says, comments_on) in [
            ("pull_request", &pull, "success", "comment: https://", Some(7)),
            ("pull_request_target", &pull, "success", "comment: https://", Some(7)),
            // A pull request that nobody waits for costs nothing.
            ("pull_request", &closed, "skipped", "nothing to do: the pull request was closed", None),
            ("pull_request", &draft, "skipped", "the pull request was converted to draft", None),
            ("pull_request_target", &late_label, "skipped", "the pull request is closed", None),
            ("merge_group", &queue, "success", "does not belong to a pull request or issue", None),
            ("release", &release, "success", "does not belong to a pull request or issue", None),
            ("issues", &labelled, "success", "comment: https://", Some(9)),
            (
                "issues",
                &other_label,
                "skipped",
                "the label is \"bug\", but `github.label` is \"architect\"",
                None,
            ),
            ("push", &push, "success", "does not belong to a pull request or issue", None),
            ("workflow_dispatch", &dispatch, "success", "does not belong to a pull request or issue", None),
            ("schedule", &schedule, "success", "does not belong to a pull request or issue", None),
            ("issue_comment", &chat, "skipped", "the comment does not begin with /architect", None),
        ] {
            let before = scene.github.comments_by(BOT).len();
            let _ = std::fs::remove_file(scene.sandbox.path().join("output"));
            let args = ["--model", &model, "--comment-key", name];
            let run = scene.run(name, event, &args, &[]).expect_code(0);
            assert!(
                run.stderr.contains(says) || run.stdout.contains(says),
                "{name}: {} {}",
                run.stdout,
                run.stderr
            );
            assert_eq!(scene.output("status").as_deref(), Some(status), "{name}");
            let world = scene.github.world();
            let new = world.comments.values().filter(|comment| comment.login == BOT).nth(before);
            assert_eq!(new.map(|comment| comment.issue), comments_on, "{name}");
        }
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trigger_requires_write_permission() {
    scene(&[], |scene| {
        let model = scene.sandbox.script(&[], "done");
        for (sender, args, status, says) in [
            ("dev", vec![], "success", ""),
            ("owner", vec![], "success", ""),
            ("reader", vec![], "skipped", "reader has no write permission; add the name to `allow-users`"),
            ("nobody", vec![], "skipped", "nobody has no write permission"),
            ("../../x", vec![], "skipped", "../../x has no write permission"),
            ("reader", vec!["--allow-users", "someone, Reader"], "success", ""),
            ("renovate[bot]", vec![], "skipped", "renovate[bot] is a bot; name it in `allow-bots`"),
            ("renovate[bot]", vec!["--allow-bots", "renovate"], "success", ""),
            ("renovate[bot]", vec!["--allow-bots", "*"], "success", ""),
            (BOT, vec![], "skipped", "is a bot"),
        ] {
            for event_name in ["pull_request", "issues", "issue_comment"] {
                let event = match event_name {
                    "pull_request" => scene.pull_event(7, sender),
                    "issues" => scene.label_event(sender, "architect"),
                    _ => scene.comment_event(7, sender, "/architect plan it").0,
                };
                let _ = std::fs::remove_file(scene.sandbox.path().join("output"));
                let all = [&["--model", model.as_str()][..], &args].concat();
                let run = scene.run(event_name, &event, &all, &[]).expect_code(0);
                let told = format!("{}{}", run.stdout, run.stderr);
                assert!(told.contains(says), "{event_name} {sender}: {told}");
                assert_eq!(scene.output("status").as_deref(), Some(status), "{event_name} {sender}: {told}");
            }
        }
        // A push is write permission; GitHub holds everything back from forks.
        let push = scene.event("push", &[("sender.login", json!("nobody"))]);
        scene.run("push", &push, &["--model", &model], &[]).expect_code(0);
        // Where it cannot be seen, nobody may.
        scene.github.forbid("GET /repos/octo/demo/collaborators");
        let event = scene.label_event("dev", "architect");
        let run = scene.run("issues", &event, &["--model", &model], &[]).expect_code(4);
        assert!(run.stderr.contains("could not check whether dev has write permission"), "{}", run.stderr);
        // Not one request asked about a name that is none.
        assert_eq!(scene.github.count("GET /repos/octo/demo/collaborators/.."), 0);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_commands_run_and_are_answered() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let said = |number: u64, sender: &str, body: &str, code: i32| {
            let (event, id) = scene.comment_event(number, sender, body);
            scene.sandbox.git(&["checkout", "--quiet", "--force", "feature"]);
            let run = scene.run("issue_comment", &event, &["--model", &model], &[("INPUT_MODE", "dry-run")]);
            (run.expect_code(code), id)
        };
        // A plan, with the task of the comment.
        let (run, id) = said(7, "dev", "/architect plan make it five\nand well", 0);
        assert_eq!(run.report()["mode"], "dry-run");
        assert_eq!(run.report()["task"], "make it five\nand well");
        assert_eq!(reactions(&scene, id), ["eyes", "rocket"]);
        assert!(scene.sandbox.read("a.txt").contains("five"));
        // A run changes the checkout, whatever the input says.
        let (run, id) = said(7, "dev", "/architect run", 0);
        assert_eq!(run.report()["mode"], "yolo");
        assert_eq!(run.report()["task"], "Do it");
        assert_eq!(reactions(&scene, id), ["eyes", "rocket"]);
        assert!(scene.sandbox.read("a.txt").contains("FIVE"));
        // On a fork it is a dry run all the same.
        let (run, _) = said(8, "dev", "/architect run", 0);
        assert_eq!(run.report()["mode"], "dry-run");
        assert!(run.stderr.contains("from a fork, so this is a dry run"), "{}", run.stderr);
        // Help, and what makes no sense.
        let (_, id) = said(7, "dev", "/architect help", 0);
        assert_eq!(reactions(&scene, id), ["eyes", "rocket"]);
        let (_, id) = said(7, "dev", "/architect deploy @octocat", 0);
        assert_eq!(reactions(&scene, id), ["confused"]);
        let replies = scene.github.comments_by(BOT);
        // One comment, which was updated.
        let answers: Vec<&String> =
            replies.iter().filter(|body| body.contains("`/architect apply DIGEST`")).collect();
        assert_eq!(answers.len(), 1, "{replies:?}");
        assert!(
            answers[0].contains("by [`dev`](") && answers[0].contains(")\n\nunknown command `deploy`.\n"),
            "{replies:?}"
        );
        let (_, _) = said(7, "dev", "/architect aply", 0);
        let replies = scene.github.comments_by(BOT);
        assert!(
            replies.iter().any(|body| body.contains("did you mean `/architect apply`?\n")),
            "{replies:?}"
        );
        // A stranger gets no answer, so that nobody can make the bot talk.
        let (_, id) = said(7, "reader", "/architect run rm -rf", 0);
        assert_eq!(reactions(&scene, id), ["confused"]);
        assert_eq!(scene.github.comments_by(BOT).len(), replies.len());
        // A run that cannot begin says so.
        let (event, id) = scene.comment_event(7, "dev", "/architect run");
        scene.run("issue_comment", &event, &["--model", "replay::/no/such"], &[]).expect_code(3);
        assert_eq!(reactions(&scene, id), ["eyes", "confused"]);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_commands_follow_configuration() {
    const CONFIG: &[(&str, &str)] = &[(
        ".github/architect.yml",
        "github:\n  commands: [plan, help]\n  label: robot\n  allow_users: [reader]\n",
    )];
    scene(CONFIG, |scene| {
        let model = scene.edit("five", "FIVE");
        let (event, id) = scene.comment_event(7, "reader", "/architect run it");
        let run = scene.run("issue_comment", &event, &["--model", &model], &[]).expect_code(0);
        assert!(
            run.stdout.contains("`/architect run` is not enabled in `github.commands`"),
            "{}",
            run.stdout
        );
        assert_eq!(reactions(&scene, id), ["confused"]);
        assert!(!scene.github.comments_by(BOT).concat().contains("- `/architect run"));
        let (event, _) = scene.comment_event(7, "reader", "/architect plan it");
        let run = scene.run("issue_comment", &event, &["--model", &model], &[]).expect_code(0);
        assert_eq!(run.report()["files"].as_array().unwrap().len(), 1);
        let event = scene.label_event("reader", "robot");
        scene.run("issues", &event, &["--model", &model], &[]).expect_code(0);
        assert_eq!(scene.output("status").as_deref(), Some("success"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn own_comments_and_commits_start_nothing() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let event = scene.pull_event(7, "dev");
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "branch", "--allow-bots", "*"];
        scene.run("pull_request", &event, &args, &[]).expect_code(0);
        // Its own comment, though all bots may.
        let own = scene.github.comments_by(BOT).concat();
        let (event, _) = scene.comment_event(7, BOT, &own);
        let run = scene.run("issue_comment", &event, &args, &[]).expect_code(0);
        assert!(run.stdout.contains("does not begin with /architect"), "{}", run.stdout);
        // Its own commit, as the head and as what a runner's merge commit merges.
        let path = scene.github.world().repository.as_ref().unwrap().path();
        scene.sandbox.git(&["fetch", "--quiet", path.to_str().unwrap(), "feature"]);
        scene.sandbox.git(&["checkout", "--quiet", "--force", "FETCH_HEAD"]);
        for merged in [false, true] {
            if merged {
                scene.sandbox.git(&["checkout", "--quiet", "--force", "main"]);
                scene.sandbox.git(&["merge", "--quiet", "--no-ff", "-m", "Merge", "FETCH_HEAD"]);
            }
            let event = scene.pull_event(7, "dev");
            let run = scene.run("pull_request", &event, &args, &[]).expect_code(0);
            assert!(run.stdout.contains("the latest commit was delivered by this job"), "{}", run.stdout);
        }
        // To plan on it harms nobody.
        let model = scene.edit("six", "SIX");
        let event = scene.pull_event(7, "dev");
        scene.run("pull_request", &event, &["--model", &model], &[]).expect_code(0);
        assert_eq!(scene.output("status").as_deref(), Some("success"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_event_reports_on_commit() {
    scene(&[(".architect.yml", "github: { check_run: true }\n")], |scene| {
        let model = scene.sandbox.script(&[], "done");
        let push = scene.event("push", &[("sender.login", json!("dev"))]);
        let run = scene.run("push", &push, &["--model", &model, "--comment-key", "lint"], &[]).expect_code(0);
        assert!(run.stderr.contains("check run: https://"), "{}", run.stderr);
        let world = scene.github.world();
        assert_eq!(world.checks[0]["head_sha"], json!(scene.base));
        assert_eq!(world.checks[0]["name"], "architect-ci (lint)");
        assert_eq!(world.checks[0]["conclusion"], "success");
        assert!(world.comments.is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn issue_event_becomes_task() {
    scene(&[], |scene| {
        let model = scene.sandbox.script(&[], "done");
        let event = scene.label_event("dev", "architect");
        // No task input: the command line of this test gives one, an empty one is none.
        let run = scene.run("issues", &event, &["--model", &model, "--task", ""], &[]).expect_code(0);
        assert!(
            run.report()["task"].as_str().unwrap().starts_with("Do what this issue or pull request asks for")
        );
        let (event, _) = scene.comment_event(9, "dev", "/architect plan");
        let run = scene.run("issue_comment", &event, &["--model", &model, "--task", ""], &[]);
        // An issue's comment has no pull request to complete.
        let run = run.expect_code(0);
        assert!(run.report()["task"].as_str().unwrap().starts_with("Do what this issue"), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reactions_that_are_forbidden_are_told_once() {
    scene(&[], |scene| {
        scene.github.forbid("POST /repos/octo/demo/issues/comments/");
        let model = scene.sandbox.script(&[], "done");
        let (event, _) = scene.comment_event(7, "dev", "/architect plan it");
        let run = scene.run("issue_comment", &event, &["--model", &model], &[]).expect_code(0);
        let told = run.stderr.lines().filter(|line| line.starts_with("::warning") && line.contains("react"));
        assert_eq!(told.count(), 1, "{}", run.stderr);
    })
    .await;
}
