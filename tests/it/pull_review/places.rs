//! Places of findings: in the text of a review as well as on lines, in files that move, below the workspace, and in the merge
//! commit that a job has checked out.

use serde_json::{Value, json};

use super::{CONFIG, commit, finding, found, push, review, reviewed};
use crate::support::model::ModelServer;
use crate::support::scene::{BEFORE, HEAD, Scene, scene};

/// Runs another review that finds nothing, after a push, and returns the first heading of the comment.
fn heading_later(scene: &mut Scene) -> String {
    commit(scene, "later.txt", &format!("{}\n", scene.head));
    review(scene, found(&[]), 0);
    let comment = scene.sticky();
    let line = comment.lines().find(|line| line.starts_with("### ")).unwrap_or_default();
    line.split(" — ").next().unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_in_the_text_of_a_review_count_until_they_are_gone_or_hidden() {
    const FILES: &[(&str, &str)] =
        &[CONFIG[0], ("**note**: x.txt", "the only line\n"), ("other.txt", "return run(other)\n")];
    scene(FILES, |mut scene| {
        commit(&mut scene, "a.txt", &HEAD.replace("TWO", "TWO!"));
        let listed = [
            finding("a.txt", 9, "In the file, not in the diff."),
            finding("other.txt", 1, "In another file."),
            finding("**note**: x.txt", 1, "In a file of an odd name."),
            finding("none.txt", 1, "About no file."),
            // Beyond the end, where nothing stands.
            finding("a.txt", 400, "About the end."),
        ];
        let (log, _) = review(&scene, found(&listed), 0);
        assert!(log.contains("findings: 5 new, 0 fixed"), "{log}");
        assert!(scene.github.world().review_comments.is_empty());
        assert_eq!(heading_later(&mut scene), "### ⚠️ review: nothing new, 5 open from before");
        // Word for word, and in other words: nothing is listed twice.
        let mut again = listed.to_vec();
        again.push(
            json!({"file": "none.txt", "line": 1, "severity": "error", "message": "Else.", "same_as": 2}),
        );
        let (log, asked) = review(&scene, found(&again), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        assert!(asked.contains("**note**: x.txt:1: error: In a file of an odd name."), "{asked}");
        // A maintainer edits the text.
        let edited =
            scene.github.world().reviews[0].replace("- `other.txt:1`", "- Not urgent.\n- `other.txt:1`");
        scene.github.world().reviews[0] = edited.replace("In the file, not in the diff.", "");
        assert_eq!(heading_later(&mut scene), "### ⚠️ review: nothing new, 5 open from before");
        // What is mended, renamed or gone with its file.
        scene.sandbox.git(&["mv", "other.txt", "renamed.txt"]);
        scene.sandbox.git(&["rm", "--quiet", "**note**: x.txt"]);
        commit(&mut scene, "a.txt", &HEAD.replace("nine", "NINE"));
        assert_eq!(heading_later(&mut scene), "### ⚠️ review: nothing new, 3 open from before");
        scene.github.world().minimised.push("PRR_0".to_owned());
        assert_eq!(heading_later(&mut scene), "### ✅ review: no findings");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn equal_lines_have_findings_of_their_own() {
    scene(CONFIG, |mut scene| {
        commit(&mut scene, "a.js", "return run(x)\n\nother()\n\nreturn run(x)\n");
        let bad = |line: u64| finding("a.js", line, "x is run unchecked: `a < b`.");
        // The last two say again what the second one does.
        let emphasized = finding("a.js", 5, "**x** is run unchecked: `a < b`");
        let (log, _) = review(&scene, found(&[bad(1), bad(5), bad(5), emphasized]), 0);
        assert!(log.contains("findings: 2 new, 0 fixed"), "{log}");
        // Another equal line, and other code in the same words.
        commit(&mut scene, "a.js", "return run(x)\n\nother()\n\nreturn run(x)\n\nreturn run(x)\n");
        let other = finding("a.js", 1, "x is run unchecked: `a > b`.");
        let (log, _) = review(&scene, found(&[bad(1), bad(5), bad(7), other]), 0);
        assert!(log.contains("findings: 2 new, 0 fixed"), "{log}");
        // One of them is mended.
        commit(&mut scene, "a.js", "return run(x)\n\nother()\n\nreturn run(x)\n\nreturn x\n");
        let (log, _) = review(&scene, found(&[bad(1)]), 0);
        assert!(log.contains("findings: 0 new, 1 fixed"), "{log}");
        // Two files change places.
        commit(&mut scene, "b.js", "return walk(y)\n");
        let (log, _) = review(&scene, found(&[finding("b.js", 1, "y is walked.")]), 0);
        assert!(log.contains("findings: 1 new"), "{log}");
        scene.sandbox.git(&["mv", "a.js", "c.js"]);
        scene.sandbox.git(&["mv", "b.js", "a.js"]);
        scene.sandbox.git(&["mv", "c.js", "b.js"]);
        scene.sandbox.commit("changed places");
        push(&mut scene);
        let swapped =
            [finding("a.js", 1, "y is walked."), finding("b.js", 1, "x is run unchecked: `a < b`.")];
        let (log, _) = review(&scene, found(&swapped), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finding_on_a_folder_stays_as_long_as_the_folder() {
    scene(CONFIG, |mut scene| {
        commit(&mut scene, "lib/a.js", "a()\n");
        let (log, _) = review(&scene, found(&[finding("lib/", 1, "Nothing tests this.")]), 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        assert_eq!(heading_later(&mut scene), "### ⚠️ review: nothing new, 1 open from before");
        scene.sandbox.git(&["rm", "--quiet", "-r", "lib"]);
        assert_eq!(heading_later(&mut scene), "### ✅ review: no findings");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn worst_findings_are_kept_whatever_their_order() {
    const FAILING: &[(&str, &str)] =
        &[(".github/architect.yml", "review: { pull_requests: true, fail_on: error }\n")];
    scene(FAILING, |mut scene| {
        review(&scene, found(&[]), 0);
        let before = reviewed(&scene);
        let lines: String = (0..70).map(|n| format!("bad line {n}\n")).collect();
        commit(&mut scene, "many.txt", &lines);
        let mut all: Vec<Value> = (1..=70).map(|line| finding("many.txt", line, "Bad.")).collect();
        for finding in &mut all[..69] {
            finding["severity"] = json!("note");
        }
        let (log, _) = review(&scene, found(&all), 2);
        assert!(log.contains("findings: 30 new") && log.contains("20 findings more did not fit"), "{log}");
        let first = scene.github.world().review_comments.values().next().unwrap().body.clone();
        assert!(first.contains("**error**"), "{first}");
        assert_eq!(reviewed(&scene), before);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_named_from_the_workspace_or_from_the_root() {
    const BELOW: &[(&str, &str)] = &[("app/.github/architect.yml", CONFIG[0].1)];
    scene(BELOW, |mut scene| {
        commit(&mut scene, "app/srv.js", "safe()\nreturn run(x)\nreturn run(y)\n");
        let workspace = scene.sandbox.repo().join("app");
        let review = |scene: &Scene, findings: &[Value]| {
            let server = ModelServer::start(found(findings));
            let event = scene.pull_event(7, "dev");
            let args = ["--model", "openai::gpt-5", "--base-url", server.url.as_str(), "--agent", "review"];
            let args = [&args[..], &["--workspace", workspace.to_str().unwrap()]].concat();
            let log =
                scene.run("pull_request", &event, &args, &[("OPENAI_API_KEY", "none")]).expect_code(0).stderr;
            (log, serde_json::to_string(&server.bodies()).unwrap())
        };
        let both = [finding("app/srv.js", 2, "x is run."), finding("srv.js", 3, "y is run.")];
        let (log, asked) = review(&scene, &both);
        assert!(log.contains("findings: 2 new, 0 fixed"), "{log}");
        assert!(asked.contains("+return run(x)") && !asked.contains("+TWO"), "files beside it: {asked}");
        {
            let world = scene.github.world();
            let lines: Vec<u64> = world.review_comments.values().map(|comment| comment.line).collect();
            assert_eq!(lines, [2, 3], "on lines, not in the review's text");
        }
        commit(&mut scene, "app/b.js", "more()\n");
        let mut again = finding("app/srv.js", 2, "In other words.");
        again["same_as"] = json!(2);
        let (log, _) = review(
            &scene,
            &[again, finding("srv.js", 2, "x is run."), finding("app/srv.js", 3, "y is run.")],
        );
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_of_the_merge_commit_are_found_at_the_head() {
    scene(CONFIG, |mut scene| {
        // The base has grown above the lines of the pull request.
        scene.sandbox.git(&["checkout", "--quiet", "main"]);
        scene.sandbox.write("a.txt", format!("zero\nzero, too\n{BEFORE}"));
        scene.base = scene.sandbox.commit("grown");
        scene.sandbox.git(&["merge", "--quiet", "--no-edit", "feature"]);
        let text = std::fs::read_to_string(scene.sandbox.repo().join("a.txt")).unwrap();
        assert!(text.starts_with("zero\nzero, too\none\nTWO\n"), "{text}");
        let all = [finding("a.txt", 4, "Two is loud."), finding("a.txt", 1, "Of the base.")];
        let (log, _) = review(&scene, found(&all), 0);
        assert!(log.contains("findings: 2 new, 0 fixed"), "{log}");
        {
            let world = scene.github.world();
            let lines: Vec<u64> = world.review_comments.values().map(|comment| comment.line).collect();
            assert_eq!(lines, [2]);
            assert!(world.reviews[0].contains("- `a.txt:1`: **error**: Of the base."), "{:?}", world.reviews);
        }
        let (log, asked) = review(&scene, found(&all), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        assert!(asked.contains("a.txt:4: error: Two is loud.") || asked.contains("2. a.txt:4"), "{asked}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn person_who_is_called_like_a_bot_is_none() {
    scene(CONFIG, |mut scene| {
        commit(&mut scene, "a.js", "safe()\nreturn run(x)\n");
        let bad = finding("a.js", 2, "x is run unchecked.");
        review(&scene, found(std::slice::from_ref(&bad)), 0);
        // The same comment, forged by an account of the bot's name.
        for comment in scene.github.world().review_comments.values_mut() {
            comment.login = "github-actions".to_owned();
        }
        let (log, asked) = review(&scene, found(&[bad]), 0);
        assert!(log.contains("findings: 1 new, 0 fixed") && !asked.contains("same_as"), "{log}");
    })
    .await;
}
