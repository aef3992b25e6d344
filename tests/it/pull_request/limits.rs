//! `apply.max_comments`: no job writes more comments, and what was not posted is not lost.

use std::time::Duration;

use serde_json::json;

use crate::pull_review::{commit, review};
use crate::support::github::BOT;
use crate::support::model::Answer;
use crate::support::scene::{Scene, scene};

const FOUND: &str = r#"{"findings": [{"file": "a.txt", "line": 2, "severity": "error", "confidence": 90, "message": "Two is loud."}]}"#;
const NOTHING: &str = r#"{"findings": []}"#;

fn mark_of(scene: &Scene) -> String {
    format!("<!-- architect-ci reviewed: {} ", scene.head)
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_that_may_not_be_posted_are_looked_for_again() {
    const ONE: &[(&str, &str)] =
        &[(".github/architect.yml", "review: { pull_requests: true }\napply: { max_comments: 1 }\n")];
    scene(ONE, |mut scene| {
        review(&scene, vec![Answer::Text(FOUND)], 0);
        assert!(scene.sticky().contains("Two is loud."), "{}", scene.sticky());
        assert!(!scene.sticky().contains("<!-- architect-ci reviewed: "), "{}", scene.sticky());
        // The next push replaces the comment, and with it the only place where the finding was.
        commit(&mut scene, "b.txt", "new\n");
        let (_, asked) = review(&scene, vec![Answer::Text(FOUND)], 0);
        assert!(asked.contains("+TWO") && asked.contains("+new"), "{asked}");
        assert!(scene.sticky().contains("Two is loud."), "{}", scene.sticky());
        // Where nothing is found, there is nothing to lose.
        commit(&mut scene, "b.txt", "newer\n");
        review(&scene, vec![Answer::Text(NOTHING)], 0);
        assert!(scene.sticky().contains(&mark_of(&scene)), "{}", scene.sticky());
        let world = scene.github.world();
        assert_eq!((world.review_comments.len(), world.reviews.len(), world.comments.len()), (0, 0, 1));
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn job_without_comments_writes_none_while_it_works_either() {
    const NONE: &[(&str, &str)] = &[(
        ".github/architect.yml",
        "review: { pull_requests: true }\ngithub: { inline_suggestions: true }\napply: { max_comments: 0 }\n",
    )];
    scene(NONE, |scene| {
        // Long enough for a progress comment.
        review(&scene, vec![Answer::Slow(Duration::from_secs(3), FOUND)], 0);
        let model = scene.edit("one", "uno");
        scene.plan(&model, &[]);
        assert_eq!(scene.github.comments_by(BOT), Vec::<String>::new());
        let world = scene.github.world();
        assert_eq!((world.review_comments.len(), world.reviews.len()), (0, 0));
        let is_read = |request: &str| request.starts_with("GET ") || request.ends_with("/graphql");
        let written = world.requests.iter().filter(|(_, request)| !is_read(request));
        assert_eq!(written.map(|(_, request)| request.clone()).collect::<Vec<_>>(), Vec::<String>::new());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_count_as_comments() {
    const TWO: &[(&str, &str)] =
        &[(".github/architect.yml", "github: { inline_suggestions: true }\napply: { max_comments: 2 }\n")];
    scene(TWO, |scene| {
        let edit =
            |old: &str, new: &str| ("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}));
        let model = scene.sandbox.script(&[vec![edit("one", "uno"), edit("five", "cinque")]], "done");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 1 new, 0 known, 0 resolved, 1 omitted"), "{}", run.stderr);
        let world = scene.github.world();
        assert_eq!((world.review_comments.len(), world.comments.len()), (1, 1));
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}
