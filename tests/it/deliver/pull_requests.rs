//! Pull requests of deliveries: opened, updated, linked to an issue, and drafts of what is not whole.

use super::OWN;
use crate::support::scene::{BEFORE, HEAD, scene};
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn delivery_opens_and_updates_pull_request() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        let run = scene.nightly(&model, "pull-request", &["--task", "Shout, @octocat. Fixes #3\nand more"]);
        let run = run.expect_code(0);
        let first = scene.tip(OWN).expect("the branch");
        assert_eq!(scene.parents(&first), std::slice::from_ref(&scene.base));
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("five", "FIVE"));
        {
            let world = scene.github.world();
            let message = world.repository.as_ref().unwrap().message(&first);
            assert_eq!(
                message,
                "Shout, @ octocat. Fixes # 3\n\nDone, @ octocat. Fixes # 1.\n\n\
                 Architect-CI-Agent: build\nArchitect-CI-Model: replay::script.jsonl\nArchitect-CI: architect-ci"
            );
            let pull = &world.pulls[&102];
            assert_eq!((pull.title.as_str(), pull.base.as_str()), ("Shout, @ octocat. Fixes # 3", "main"));
            assert!(pull.body.contains("Done, `@octocat`. Fixes `#1`."), "{}", pull.body);
        }
        assert_eq!(scene.output("branch").as_deref(), Some(OWN));
        assert_eq!(scene.output("commit").as_deref(), Some(first.as_str()));
        assert_eq!(
            scene.output("pull-request-url").as_deref(),
            Some("https://github.com/octo/demo/pull/102")
        );
        assert_eq!(run.report()["delivery"]["pull_request"]["number"], 102);
        // The same again: neither commit nor pull request, but the text is brought up to date.
        scene.check_out();
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert_eq!(scene.tip(OWN).as_ref(), Some(&first));
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 1);
        assert_eq!(scene.github.world().pulls[&102].title, "Do it");
        assert_eq!(scene.output("commit").as_deref(), Some(first.as_str()));
        // Something else on a newer base: the branch is made anew.
        let newer = scene.github.world().repository.as_ref().unwrap().push("main", &[("b.txt", "b\n")], "b");
        scene.check_out();
        let model = scene.edit("six", "SIX");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        let second = scene.tip(OWN).unwrap();
        assert_eq!(scene.parents(&second), [newer]);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("six", "SIX"));
        assert_eq!(scene.github.world().pulls.len(), 3);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_merges_or_reports_moved_base() {
    scene(&[("b.txt", "b\n"), ("gone.txt", "x\n")], |scene| {
        let scene = scene.on_main();
        let push = |files: &[(&str, &str)]| {
            scene.github.world().repository.as_ref().unwrap().push("main", files, "meanwhile")
        };
        let tip = push(&[("a.txt", &BEFORE.replace("nine", "NINE"))]);
        let edits = vec![
            ("edit_file", json!({"path": "a.txt", "old_str": "two", "new_str": "TWO"})),
            ("edit_file", json!({"path": "b.txt", "old_str": "b", "new_str": "B"})),
        ];
        let model = scene.sandbox.script(&[edits], "done");
        let run = scene.nightly(&model, "branch", &[]).expect_code(0);
        let ours = scene.tip(OWN).unwrap();
        assert_eq!(scene.parents(&ours), [tip]);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), HEAD.replace("nine", "NINE"));
        assert_eq!(scene.shown(OWN, "b.txt").unwrap(), "B\n");
        assert_eq!(run.report()["delivery"]["merged"], json!(["a.txt"]));
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 0);
        // The same lines: nothing is overwritten, and the run fails, for its changes went nowhere.
        push(&[("a.txt", &BEFORE.replace("two", "zwei"))]);
        scene.sandbox.git(&["checkout", "--quiet", "--force", &scene.base]);
        let run = scene.nightly(&model, "branch", &[]).expect_code(1);
        assert!(
            run.stderr.contains("main has moved since the checkout, and changes there conflict with a.txt"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("they are in ") && run.out.join("plan.patch").exists(), "{}", run.stderr);
        assert_eq!(run.report()["stop_reason"], "not_published");
        assert_eq!(scene.tip(OWN).unwrap(), ours);
        assert!(run.file("junit.xml").contains("were not delivered"), "the files tell of it");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_reports_pull_request_that_actions_cannot_open() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        let message = "GitHub Actions is not permitted to create or approve pull requests.";
        scene.github.fail("POST /repos/octo/demo/pulls", 403, message);
        let run = scene.nightly(&model, "pull-request", &[]).expect_code(1);
        assert!(
            run.stderr.contains(
                "error: the branch architect-ci/changes is pushed, but its pull request could not be opened"
            ),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains(message) && run.stderr.contains("Settings, Actions, General"),
            "{}",
            run.stderr
        );
        assert!(!run.stderr.contains("were not delivered"), "they were: {}", run.stderr);
        assert!(scene.tip(OWN).is_some());
        assert_eq!(
            scene.github.count("POST /repos/octo/demo/git/commits"),
            1,
            "the commit was not the trouble"
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_target_is_validated_before_start() {
    const CONFIG: &[(&str, &str)] = &[(
        ".architect.yml",
        "deliver:\n  to: pull-request\n  branch: bot/{agent}-{task}\n  title: chore\n  draft: true\n  labels: [bot]\n",
    )];
    scene(CONFIG, |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        let event = scene.event("schedule", &[]);
        let run = |more: &[&str]| {
            let args = [&["--model", model.as_str(), "--mode", "yolo", "--task", "Make it Loud!"][..], more]
                .concat();
            scene.run("schedule", &event, &args, &[])
        };
        let wrong = run(&["--deliver", "moon"]).expect_code(3);
        assert!(
            wrong
                .stderr
                .contains("invalid value \"moon\" for `deliver`; use none, patch, branch or pull-request")
        );
        run(&[]).expect_code(0);
        let world = scene.github.world();
        let pull = &world.pulls[&102];
        assert_eq!(
            (pull.head.as_str(), pull.title.as_str(), pull.draft),
            ("refs/heads/bot/build-make-it-loud", "chore", true)
        );
        assert_eq!(world.labels, [(102, "bot".to_owned())]);
        drop(world);
        // Outside of GitHub there is no branch to go to.
        let outside = scene.sandbox.run(&["--mode", "yolo", "--model", &model], &[]).expect_code(3);
        assert!(outside.stderr.contains("a branch can be delivered only to GitHub"), "{}", outside.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_for_issue_opens_closing_pull_request() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("one", "uno");
        let event = scene.label_event("dev", "architect");
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "pull-request", "--task", ""];
        scene.run("issues", &event, &args, &[]).expect_code(0);
        let world = scene.github.world();
        let pull = &world.pulls[&102];
        assert_eq!(pull.head, "refs/heads/architect-ci/changes-9");
        assert_eq!(pull.title, "Rename it");
        assert!(pull.body.contains("\nCloses #9\n"), "{}", pull.body);
        let comment = world.comments.values().find(|comment| comment.issue == 9).expect("the issue is told");
        assert!(
            comment.body.contains("**Delivered** as ") && comment.body.contains("pull request #102"),
            "{}",
            comment.body
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_tells_of_a_draft_that_github_does_not_mark_as_ready() {
    for (status, message, told) in [
        (403, "Resource not accessible by integration", "add `permissions: pull-requests: write` to the job"),
        (
            422,
            "Draft state cannot be changed",
            "GitHub refused to mark the pull request as ready: Draft state",
        ),
    ] {
        const CONFIG: &str = "deliver: { partial: draft }\nevaluation: off\n";
        scene(&[(".github/architect.yml", CONFIG)], move |scene| {
            let scene = scene.on_main();
            let edit = |old: &str, new: &str| {
                vec![("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}))]
            };
            let model = scene.sandbox.script(&[edit("five", "FIVE"), edit("six", "SIX")], "done");
            scene.nightly(&model, "pull-request", &["--max-steps", "1"]).expect_code(2);
            scene.check_out();
            scene.github.fail("POST /graphql MarkReady", status, message);
            let run = scene.nightly(&model, "pull-request", &[]).expect_code(0);
            let notices = run.report()["notices"].to_string();
            let is_told = ["has everything now, but is still a draft", told, "as ready for review yourself"];
            assert!(is_told.iter().all(|part| notices.contains(part)), "{notices}");
            assert!(run.file("comment.md").contains("is still a draft"), "{}", run.file("comment.md"));
            let world = scene.github.world();
            let pull = world.pulls.values().find(|pull| pull.head.ends_with(OWN)).expect("a pull request");
            assert!(pull.draft && !pull.body.contains("only part"), "{}", pull.body);
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_of_partial_result_is_draft_that_says_what_is_missing() {
    const CONFIG: &str = "deliver: { partial: draft }\nevaluation: off\n";
    scene(&[(".github/architect.yml", CONFIG)], |scene| {
        let scene = scene.on_main();
        let edit = |old: &str, new: &str| {
            vec![("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}))]
        };
        let model = scene.sandbox.script(&[edit("five", "FIVE"), edit("six", "SIX")], "done");
        let run = scene.nightly(&model, "pull-request", &["--max-steps", "1"]).expect_code(2);
        assert_eq!(run.report()["stop_reason"], "max_steps");
        assert_eq!(run.report()["delivery"]["branch"], OWN);
        {
            let world = scene.github.world();
            let pull = world.pulls.values().find(|pull| pull.head.ends_with(OWN)).expect("a pull request");
            let told = "> [!WARNING]\n> This is only part of what was requested: the step limit was reached. Next step: ";
            assert!(pull.draft && pull.body.starts_with(told), "{}", pull.body);
        }
        // The rest makes it whole, and another part does not undo that.
        scene.check_out();
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        let state = || {
            let world = scene.github.world();
            let pull = world.pulls.values().find(|pull| pull.head.ends_with(OWN)).expect("a pull request");
            (pull.draft, pull.body.contains("only part"), world.head_of(pull))
        };
        let whole = state();
        assert!(!whole.0 && !whole.1, "{whole:?}");
        scene.check_out();
        let run = scene.nightly(&model, "pull-request", &["--max-steps", "1"]).expect_code(2);
        assert!(run.stderr.contains("has everything that was requested"), "{}", run.stderr);
        assert_eq!((state(), &run.report()["delivery"]), (whole, &serde_json::Value::Null));
        // A branch alone would not say it.
        scene.check_out();
        let run = scene.nightly(&model, "branch", &["--max-steps", "1"]).expect_code(2);
        assert!(run.report()["notices"].to_string().contains("were not delivered"), "{}", run.stderr);
        scene.github.assert_valid();
    })
    .await;
}
