//! Suggestions on lines of the diff.

use crate::support::scene::{HEAD, Scene, scene};
use serde_json::json;

const SUGGEST: &[(&str, &str)] =
    &[(".github/architect.yml", "github: { inline_suggestions: true, check_run: true }\n")];

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_cover_planned_hunks_on_diff() {
    scene(SUGGEST, |scene| {
        // On lines of the diff (1 to 5), across them and beyond, and nowhere near.
        let edits = |new: &str| {
            vec![
                ("edit_file", json!({"path": "a.txt", "old_str": "one\n", "new_str": format!("{new}\n```\n@octocat\n")})),
                ("edit_file", json!({"path": "a.txt", "old_str": "four\nfive\n", "new_str": "45\n"})),
                ("edit_file", json!({"path": "a.txt", "old_str": "nine", "new_str": "NINE"})),
                ("write_file", json!({"path": "b.txt", "content": "new\n"})),
            ]
        };
        let model = scene.sandbox.script(&[edits("uno")], "done");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 2 new, 0 known, 0 resolved, 0 omitted"), "{}", run.stderr);
        {
            let world = scene.github.world();
            let found: Vec<(Option<u64>, u64)> =
                world.review_comments.values().map(|comment| (comment.start_line, comment.line)).collect();
            assert_eq!(found, [(None, 1), (Some(4), 5)]);
            let body = &world.review_comments.values().next().unwrap().body;
            assert!(body.contains("\n````suggestion\nuno\n```\n@octocat\n````\n"), "{body}");
            assert_eq!(world.reviews.len(), 1);
        }
        // The same plan again says nothing new; another one closes what it does not make.
        scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.github.world().review_comments.len(), 2);
        let model = scene.sandbox.script(&[edits("eins")], "done");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 1 new, 1 known, 1 resolved, 0 omitted"), "{}", run.stderr);
        let resolved = scene.github.world().resolved.clone();
        assert_eq!(resolved.len(), 1);
        // One that a person has settled does not come back; one that is outdated does.
        {
            let mut world = scene.github.world();
            let ids: Vec<u64> = world.review_comments.keys().copied().collect();
            world.settled.push(format!("PRRT_{}", ids[2]));
            world.review_comments.get_mut(&ids[1]).unwrap().outdated = true;
        }
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 1 new, 1 known, 1 resolved, 0 omitted"), "{}", run.stderr);
        // What a plan makes again after one that did not is there again.
        let model = scene.sandbox.script(&[edits("uno")], "done");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 1 new, 1 known, 0 resolved, 0 omitted"), "{}", run.stderr);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn suggestions_require_file_of_head() {
    scene(SUGGEST, |scene| {
        // The checkout differs from the head, as a merge commit may.
        scene.sandbox.write("a.txt", format!("zero\n{HEAD}"));
        let model = scene.edit("one", "uno");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 0 new"), "{}", run.stderr);
        scene.sandbox.write("a.txt", HEAD);
        // GitHub takes no review: one by one, those that it takes.
        scene.github.fail("POST /repos/octo/demo/pulls/7/reviews", 422, "Unprocessable Entity");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 1 new"), "{}", run.stderr);
        // Not more than thirty at once.
        let many: String = (0..40).map(|line| format!("line {line}\nkept {line}\n")).collect();
        scene.sandbox.write("many.txt", &many);
        let head = scene.sandbox.commit("many");
        let path = scene.github.world().repository.as_ref().unwrap().path();
        scene.sandbox.git(&["push", "--quiet", path.to_str().unwrap(), "feature"]);
        let scene = Scene { head, ..scene };
        let edits = (0..40)
            .map(|line| ("edit_file", json!({"path": "many.txt", "old_str": format!("line {line}\n"), "new_str": format!("LINE {line}\n")})));
        let model = scene.sandbox.script(&[edits.collect()], "done");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("suggestions: 30 new, 0 known, 1 resolved, 10 omitted"), "{}", run.stderr);
        scene.github.assert_valid();
    })
    .await;
}
