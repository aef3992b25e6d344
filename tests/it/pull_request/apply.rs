//! A plan that is applied by a comment.

use serde_json::json;

use crate::support::github::BOT;
use crate::support::scene::{HEAD, Scene, scene};

#[tokio::test(flavor = "multi_thread")]
async fn apply_comment_applies_reviewed_plan() {
    const CONFIG: &[(&str, &str)] = &[(
        ".github/architect.yml",
        // Runs deliver elsewhere; an order to apply means the pull request's own branch.
        "deliver: { to: pull-request, branch: elsewhere }\nguardrails:\n  quality_gates:\n    - { name: count, command: 'grep -c FIVE a.txt' }\n",
    )];
    scene(CONFIG, |scene| {
        let model = scene.edit("five", "FIVE");
        let run = scene.plan(&model, &[]).expect_code(0);
        let digest = run.report()["plan"]["digest"].as_str().unwrap().to_owned();
        scene.upload("architect-ci");
        let mark = format!("<!-- architect-ci plan: {digest} 4711 {} -->", scene.head);
        assert_eq!(scene.sticky().lines().nth(1), Some(mark.as_str()));
        let order = |body: &str, code: i32| {
            let (event, id) = scene.comment_event(7, "dev", body);
            let run = scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")]).expect_code(code);
            let world = scene.github.world();
            let reactions: Vec<String> = world
                .reactions
                .iter()
                .filter(|(of, _)| *of == id)
                .map(|(_, content)| content.clone())
                .collect();
            drop(world);
            (run, reactions)
        };
        // Another digest than the one that stands there.
        let (run, reactions) = order("/architect apply 0123456789", 6);
        assert!(
            run.stdout.contains("no comment now shows a plan with that digest; what is shown now is"),
            "{}",
            run.stdout
        );
        assert_eq!(reactions, ["eyes", "confused"]);
        // A permission is missing: the comment goes on to show the plan, for another try.
        scene.refuse_commits();
        let (run, reactions) = order("/architect apply", 4);
        assert!(run.stderr.contains("`permissions: contents: write`"), "{}", run.stderr);
        assert_eq!(reactions, ["eyes", "confused"]);
        assert_eq!(scene.sticky().lines().nth(1), Some(mark.as_str()));
        scene.accept_commits();
        // By its beginning; the checkout is as the attempt has left it.
        let (run, reactions) = order(&format!("/architect apply {}", &digest[..12]), 0);
        assert_eq!(reactions, ["eyes", "rocket"]);
        assert_eq!(scene.branch("feature", "a.txt"), HEAD.replace("five", "FIVE"));
        assert!(run.report()["delivery"]["commit"].is_string());
        assert_eq!(run.report()["gates"][0]["passed"], true);
        assert_eq!(run.report()["mode"], "apply");
        assert!(scene.sticky().contains("**Delivered** as "), "{}", scene.sticky());
        // The comment shows no plan now.
        let (run, _) = order("/architect apply", 6);
        assert!(run.stdout.contains("no comment on this pull request shows a plan"), "{}", run.stdout);
        // One that is shown, and not offered to be applied, with the reason.
        scene.sandbox.git(&["checkout", "--quiet", "--force", "feature"]);
        scene.plan(&scene.edit("six", "SIX"), &["--max-steps", "1"]).expect_code(2);
        let (run, _) = order("/architect apply", 6);
        assert!(
            run.stdout.contains("the plan that is shown cannot be applied: it is incomplete: the step limit"),
            "{}",
            run.stdout
        );
        // All refusals are one comment, which says what was ordered, by whom, and is updated.
        let answers = scene.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(
            answers[0].contains("> [`/architect apply`](") && answers[0].contains("by [`dev`]("),
            "{answers:?}"
        );
        assert!(answers[0].contains("The plan was not applied: the plan that"), "{answers:?}");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gate_that_fails_as_the_plan_says_does_not_stop_its_application() {
    const CONFIG: &[(&str, &str)] = &[(
        ".github/architect.yml",
        "guardrails:\n  quality_gates:\n    - { name: old, command: \"echo 'b.c:1:1: error: old'; exit 1\" }\n",
    )];
    scene(CONFIG, |scene| {
        let run = scene.plan(&scene.edit("five", "FIVE"), &[]).expect_code(0);
        assert_eq!(run.report()["stop_reason"], "failed_before");
        scene.upload("architect-ci");
        let order = |code: i32| {
            let (event, _) = scene.comment_event(7, "dev", "/architect apply");
            scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")]).expect_code(code)
        };
        // The second attempt finds the change in the checkout, and compares with the state without it.
        scene.refuse_commits();
        order(4);
        scene.accept_commits();
        let report = order(0).report();
        assert_eq!((&report["stop_reason"], &report["status"]), (&"failed_before".into(), &"success".into()));
        assert_eq!(report["gates"][0]["verdict"], "failed-before");
        assert_eq!(scene.branch("feature", "a.txt"), HEAD.replace("five", "FIVE"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_that_an_apply_would_refuse_is_not_offered() {
    scene(&[], |scene| {
        // A name that other systems cannot have.
        let write = ("write_file", json!({"path": "n?.txt", "content": "x\n"}));
        scene.plan(&scene.sandbox.script(&[vec![write]], "done"), &[]).expect_code(0);
        let comment = scene.sticky();
        let why = "**This plan cannot be applied**: the name n?.txt is another one on some systems";
        assert!(comment.contains(why) && !comment.contains("To apply exactly this plan"), "{comment}");
        let (event, _) = scene.comment_event(7, "dev", "/architect apply");
        let run = scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")]).expect_code(6);
        assert!(run.stdout.contains("cannot be applied: the name n?.txt is"), "{}", run.stdout);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_comment_refuses_mismatched_plan() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let run = scene.plan(&model, &[]).expect_code(0);
        let order = |number: u64, sender: &str| {
            let (event, _) = scene.comment_event(number, sender, "/architect apply");
            scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")])
        };
        // No artifact, then one that holds something else under that name.
        let refused = order(7, "dev").expect_code(6);
        assert!(refused.stdout.contains("has no artifact with this plan"), "{}", refused.stdout);
        scene.github.world().artifacts.insert(899, ("architect-ci".to_owned(), 4711, Vec::new()));
        assert!(order(7, "dev").expect_code(6).stdout.contains("the artifacts of the run 4711 have expired"));
        scene.github.world().artifacts.clear();
        let plan = run.out.join("plan.json");
        let original = std::fs::read_to_string(&plan).unwrap();
        std::fs::create_dir_all(scene.sandbox.out()).unwrap();
        std::fs::write(&plan, original.replace("+FIVE", "+evil")).unwrap();
        scene.upload("architect-ci");
        assert!(order(7, "dev").expect_code(6).stdout.contains("has no artifact with this plan"));
        std::fs::write(&plan, &original).unwrap();
        scene.upload("architect-ci-again");
        // Somebody else, a fork, an issue.
        assert!(order(7, "reader").expect_code(0).stdout.contains("no write permission"));
        assert!(order(8, "dev").expect_code(6).stdout.contains("is from a fork"));
        assert!(order(9, "dev").expect_code(6).stdout.contains("no pull request to apply it to"));
        // A checkout of something else.
        scene.sandbox.git(&["checkout", "--quiet", "main"]);
        let refused = order(7, "dev").expect_code(6);
        assert!(refused.stdout.contains("`ref: refs/pull/7/head`"), "{}", refused.stdout);
        scene.sandbox.git(&["checkout", "--quiet", "feature"]);
        // A comment that looks like ours, by somebody else.
        let forged = scene.sticky().replace(&scene.head, &"0".repeat(40));
        scene.github.world().add_comment(7, "reader", &forged);
        // The head moves between our look and our commit.
        scene.github.move_on("GET /repos/octo/demo/actions/runs/", "feature");
        let refused = order(7, "dev").expect_code(1);
        assert!(refused.stderr.contains("feature has moved since the plan was made"), "{}", refused.stderr);
        scene.sandbox.git(&["checkout", "--quiet", "--force", "feature"]);
        // The head has moved.
        scene.github.world().repository.as_ref().unwrap().push("feature", &[("b.txt", "b\n")], "more");
        let refused = order(7, "dev").expect_code(6);
        // A plan could follow it, but not in this checkout.
        assert!(refused.stdout.contains("`ref: refs/pull/7/head`"), "{}", refused.stdout);
        assert_eq!(scene.branch("feature", "a.txt"), HEAD);
        assert_eq!(scene.github.count("POST /repos/octo/demo/git/"), 0);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_with_digest_finds_comment_of_any_key() {
    scene(&[], |scene| {
        let digest = |scene: &Scene, key: &str, model: &str| {
            let run = scene.plan(model, &["--comment-key", key]).expect_code(0);
            scene.upload(&format!("architect-ci-{key}"));
            run.report()["plan"]["digest"].as_str().unwrap().to_owned()
        };
        let docs = digest(&scene, "docs", &scene.edit("five", "FIVE"));
        let tests = digest(&scene, "tests", &scene.edit("six", "SIX"));
        // People can tell them apart, and copy the order.
        for (key, digest) in [("docs", &docs), ("tests", &tests)] {
            let all = scene.github.comments_by(BOT);
            let own =
                all.iter().find(|body| body.starts_with(&format!("<!-- architect-ci comment: {key} -->")));
            let own = own.expect("a comment of this key");
            assert!(own.contains(&format!("· {key}\n")), "{own}");
            assert!(own.contains(&format!("\n/architect apply {}\n", &digest[..16])), "{own}");
        }
        let order = |body: &str, code: i32| {
            let (event, _) = scene.comment_event(7, "dev", body);
            scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")]).expect_code(code)
        };
        // The listening workflow has a key of its own, whose comment shows no plan.
        let refused = order("/architect apply", 6);
        for digest in [&docs, &tests] {
            assert!(
                refused.stdout.contains(&format!("`/architect apply {}`", &digest[..16])),
                "{}",
                refused.stdout
            );
        }
        assert!(order("/architect apply 0123", 6).stdout.contains("at least 8 characters"));
        order(&format!("/architect apply {}", &tests[..8]), 0);
        assert_eq!(scene.branch("feature", "a.txt"), HEAD.replace("six", "SIX"));
        let all = scene.github.comments_by(BOT);
        let told = all.iter().find(|body| body.starts_with("<!-- architect-ci comment: tests -->")).unwrap();
        assert!(told.contains("**Delivered** as "), "{told}");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_order_is_answered() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.plan(&model, &[]).expect_code(0);
        scene.upload("architect-ci");
        scene.github.forbid("GET /repos/octo/demo/actions/runs/");
        let (event, _) = scene.comment_event(7, "dev", "/architect apply");
        scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")]).expect_code(4);
        let answers = scene.answers();
        assert!(answers[0].contains("The command was not carried out: "), "{answers:?}");
        assert!(answers[0].contains("`permissions: actions: read`"), "{answers:?}");
        assert_eq!(scene.output("status").as_deref(), Some("failed"));
        assert_eq!(scene.output("exit-code").as_deref(), Some("4"));
        assert_eq!(scene.output("out-path").as_deref(), Some(""));
    })
    .await;
}
