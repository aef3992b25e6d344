//! Rules of the repository: what they forbid is neither tried again nor pushed past them.

use super::OWN;
use crate::support::github::{PERSONS_TOKEN, Rule};
use crate::support::scene::{HEAD, Scene, scene};

/// Orders a change on the pull request's own branch, which its rules are against.
fn refused(scene: &Scene, model: &str, variables: &[(&str, &str)], told: &[&str]) {
    let commits = scene.github.count("POST /repos/octo/demo/git/commits");
    let (event, _) = scene.comment_event(7, "dev", "/architect run it");
    let run = scene.run("issue_comment", &event, &["--model", model, "--deliver", "branch"], variables);
    let run = run.expect_code(1);
    for part in told {
        assert!(run.stderr.contains(part), "{part}: {}", run.stderr);
    }
    assert_eq!(run.report()["stop_reason"], "not_published");
    assert_eq!(scene.github.count("POST /repos/octo/demo/git/commits") - commits, 1, "tried again");
    assert!(!scene.github.has_refused_push(), "pushed past the API");
    assert_eq!(scene.shown("feature", "a.txt").unwrap(), HEAD);
    // What people read says neither that something changed, nor where a folder of the runner is.
    let comment = scene.github.comments_by(crate::support::github::BOT).join("\n");
    assert!(
        comment.contains("### ❌ 1 file, +1 −1 — the result could not be published on GitHub"),
        "{comment}"
    );
    assert!(comment.contains("they are in `plan.patch` of this run's output folder"), "{comment}");
    assert!(!comment.contains(scene.sandbox.path().to_str().unwrap()), "{comment}");
    scene.sandbox.git(&["checkout", "--quiet", "--force", "feature"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_are_told_and_not_circumvented() {
    for (rule, token, told) in [
        (
            Rule::PullRequest,
            None,
            "Changes must be made through a pull request. (422); deliver to a branch of its own instead",
        ),
        (
            Rule::MergeQueue,
            None,
            "Changes must be made through the merge queue (422); deliver to a branch of its own instead",
        ),
        (
            Rule::Check("ci"),
            None,
            "Required status check \"ci\" is expected. (422); deliver to a branch of its own instead",
        ),
        (
            Rule::Protection("At least 1 approving review is required by reviewers with write access."),
            None,
            "reviewers with write access. (422); deliver to a branch of its own instead",
        ),
        (Rule::Signatures, Some(PERSONS_TOKEN), "GitHub signs the commits of a job's own token or an app's"),
    ] {
        scene(&[], move |scene| {
            scene.github.demand("feature", rule);
            let model = scene.edit("five", "FIVE");
            let variables: Vec<(&str, &str)> = token.iter().map(|token| ("GITHUB_TOKEN", *token)).collect();
            refused(
                &scene,
                &model,
                &variables,
                &["a rule of the repository does not allow this commit on feature", told],
            );
            scene.github.assert_valid();
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_proceeds_if_requirements_are_met() {
    scene(&[], |scene| {
        // GitHub signs what the job's own token commits; the rules of `main` are none of a branch of ours.
        scene.github.demand("feature", Rule::Signatures);
        scene.github.demand("main", Rule::PullRequest);
        scene.github.demand("main", Rule::MergeQueue);
        let model = scene.edit("five", "FIVE");
        let (event, _) = scene.comment_event(7, "dev", "/architect run it");
        scene.run("issue_comment", &event, &["--model", &model, "--deliver", "branch"], &[]).expect_code(0);
        assert_eq!(scene.shown("feature", "a.txt").unwrap(), HEAD.replace("five", "FIVE"));
        scene.sandbox.git(&["checkout", "--quiet", "--force", "feature"]);
        let scene = scene.on_main();
        let model = scene.edit("six", "SIX");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert!(scene.tip(OWN).is_some());
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nights_follow_what_a_merge_queue_has_merged() {
    scene(&[], |scene| {
        scene.github.demand("main", Rule::MergeQueue);
        let model = scene.edit("five", "FIVE");
        let (event, _) = scene.comment_event(7, "dev", "/architect run it");
        scene.run("issue_comment", &event, &["--model", &model, "--deliver", "branch"], &[]).expect_code(0);
        scene.sandbox.git(&["checkout", "--quiet", "--force", "feature"]);
        let scene = scene.on_main();
        let model = scene.edit("six", "SIX");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        let own = *scene.github.world().pulls.keys().max().unwrap();
        // The first is merged, and conflicts with the second, which stays open.
        assert_eq!(scene.github.merge_queue(&[7, own]), [7]);
        let merged = HEAD.replace("five", "FIVE");
        assert_eq!(scene.shown("main", "a.txt").unwrap(), merged);
        // The next night starts from there, on the same branch.
        scene.check_out();
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert_eq!(scene.github.world().pulls.keys().max(), Some(&own));
        assert_eq!(scene.github.merge_queue(&[own]), [own]);
        assert_eq!(scene.shown("main", "a.txt").unwrap(), merged.replace("six", "SIX"));
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn push_past_the_api_is_told_and_stops_at_rules() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        // The API takes no commit, for a reason that is no rule.
        scene.github.forbid("POST /repos/octo/demo/git/");
        let run = scene.nightly(&model, "branch", &[]).expect_code(0);
        assert!(run.report()["notices"].to_string().contains("GitHub has not signed it"), "{}", run.stderr);
        scene.github.demand(OWN, Rule::Signatures);
        scene.check_out();
        let model = scene.edit("six", "SIX");
        let run = scene.nightly(&model, "branch", &[]).expect_code(1);
        assert!(scene.github.has_refused_push());
        let told = "a rule of the repository does not allow this commit on architect-ci/changes";
        assert!(run.stderr.contains(told) && run.stderr.contains("GH013"), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn branch_that_was_deleted_is_named() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let (event, _) = scene.comment_event(7, "dev", "/architect run it");
        scene.github.delete_with("GET /repos/octo/demo/git/ref/heads/feature", "feature");
        let run = scene.run("issue_comment", &event, &["--model", &model, "--deliver", "branch"], &[]);
        let run = run.expect_code(1);
        assert!(run.stderr.contains("the pull request's branch feature was deleted"), "{}", run.stderr);
    })
    .await;
}
