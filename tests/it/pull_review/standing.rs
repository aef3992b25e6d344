//! Findings that stand on the pull request from earlier reviews: they are not repeated in other words, they count until they
//! are gone, and only the run of the latest commit changes them.

use serde_json::{Value, json};

use super::{CONFIG, commit, finding, found, push, review, reviewed};
use crate::support::scene::{Scene, scene};

#[tokio::test(flavor = "multi_thread")]
async fn finding_in_other_words_is_the_same_if_the_reviewer_says_so() {
    scene(CONFIG, |mut scene| {
        commit(&mut scene, "a.js", "safe()\nreturn run(x)\n");
        commit(&mut scene, "b.js", "safe()\nreturn run(y)\n");
        let first = finding("a.js", 2, "x is run unchecked.\n\n1. Check it.");
        let outside = finding("a.txt", 9, "Outside of the diff.\n- And in two lines.");
        let (_, asked) = review(&scene, found(&[first, outside]), 0);
        assert!(!asked.contains("same_as"), "{asked}");
        // The reviewer is shown what stands, under numbers.
        commit(&mut scene, "c.txt", "new\n");
        let again = |file: &str, line: u64, number: Value| {
            let mut finding = finding(file, line, "The caller decides what is executed here.");
            finding["same_as"] = number;
            finding
        };
        let (log, asked) =
            review(&scene, found(&[again("a.js", 2, json!(1)), again("a.txt", 9, json!("#2"))]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        for shown in ["1. a.js:2: error: x is run unchecked.", "2. a.txt:9: error: Outside of the diff."] {
            assert!(asked.contains(shown), "{shown}: {asked}");
        }
        let comment = scene.sticky();
        assert!(comment.contains("### ⚠️ review: nothing new, 2 open from before"), "{comment}");
        assert!(
            comment.contains("The review has no new findings. Still open: 2 earlier findings."),
            "{comment}"
        );
        // It silences nothing in another file, and no number that was not shown counts.
        commit(&mut scene, "d.txt", "new\n");
        let other = [again("b.js", 2, json!(1)), again("c.txt", 1, json!(9)), again("d.txt", 1, json!(null))];
        let (log, _) = review(&scene, found(&other), 0);
        assert!(log.contains("findings: 3 new, 0 fixed"), "{log}");
        // Where the line has changed, the finding is posted on the new one, and the old one is resolved.
        commit(&mut scene, "a.js", "safe()\nreturn run(x, true)\n");
        let (log, asked) = review(&scene, found(&[again("a.js", 2, json!(3))]), 0);
        assert!(asked.contains("3. b.js:2: error") && !asked.contains("5. "), "{asked}");
        assert!(log.contains("findings: 1 new, 1 fixed"), "{log}");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn review_with_findings_says_so_first_until_they_are_gone() {
    const FAILING: &[(&str, &str)] =
        &[(".github/architect.yml", "review: { pull_requests: true, fail_on: warning }\n")];
    scene(FAILING, |mut scene| {
        std::fs::write(scene.sandbox.repo().join("logo.png"), [0x89, b'P', b'N', b'G', 0xff, 0]).unwrap();
        scene.sandbox.commit("a picture");
        commit(&mut scene, "a.js", "safe()\nreturn run(x)\n");
        let sarif = |scene: &Scene| {
            let text = std::fs::read_to_string(scene.sandbox.out().join("findings.sarif")).unwrap();
            let log: Value = serde_json::from_str(&text).unwrap();
            let results = log["runs"][0]["results"].as_array().unwrap().clone();
            let print = |result: &Value| result["partialFingerprints"]["architectCi/v1"].to_string();
            results.iter().map(print).collect::<Vec<_>>()
        };
        review(&scene, found(&[finding("a.js", 2, "x is run unchecked.")]), 2);
        let comment = scene.sticky();
        assert!(
            comment.contains("### 🟡 review: 1 error — the code review left unresolved findings"),
            "{comment}"
        );
        let first = sarif(&scene);
        assert_eq!(first.len(), 1);
        // The next push has nothing new; what stands still counts, also for code scanning.
        commit(&mut scene, "b.txt", "new\n");
        review(&scene, found(&[]), 2);
        let comment = scene.sticky();
        assert!(comment.contains("### 🟡 review: nothing new, 1 open from before — "), "{comment}");
        assert_eq!(sarif(&scene), first);
        // Nor does it get another name with its file.
        scene.sandbox.git(&["mv", "a.js", "moved.js"]);
        scene.sandbox.commit("moved");
        push(&mut scene);
        review(&scene, found(&[]), 2);
        assert_eq!(sarif(&scene).len(), 1);
        // Where it cannot be read what stands, nothing is green, and code scanning is told nothing.
        scene.github.fail("POST /graphql PostedReviews", 403, "Resource not accessible by integration");
        let (log, _) = review(&scene, found(&[]), 2);
        assert!(log.contains("it could not be read what earlier reviews have found"), "{log}");
        assert_eq!(scene.output("sarif-path").as_deref(), Some(""));
        // Mended, beside a picture, which has no lines.
        commit(&mut scene, "moved.js", "safe()\nreturn x\n");
        let (log, _) = review(&scene, found(&[]), 0);
        assert!(log.contains("findings: 0 new, 1 fixed"), "{log}");
        assert!(scene.sticky().contains("### ✅ review: no findings"), "{}", scene.sticky());
        assert!(sarif(&scene).is_empty());
        // What a person has resolved is silent, also if it is found again word for word.
        commit(&mut scene, "moved.js", "safe()\nreturn run(x)\n");
        let again = finding("moved.js", 2, "x is run unchecked!");
        review(&scene, found(std::slice::from_ref(&again)), 2);
        let thread = format!("PRRT_{}", scene.github.world().review_comments.keys().max().unwrap());
        scene.github.world().settled.push(thread);
        commit(&mut scene, "c.txt", "more\n");
        review(&scene, found(&[again]), 0);
        assert!(scene.sticky().contains("### ✅ review: no findings"), "{}", scene.sticky());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_review_resolves_nothing_of_a_newer_one() {
    scene(CONFIG, |mut scene| {
        let older = scene.head.clone();
        commit(&mut scene, "a.js", "safe()\nreturn run(x)\n");
        review(&scene, found(&[finding("a.js", 2, "x is run unchecked.")]), 0);
        let newer = std::mem::replace(&mut scene.head, older);
        scene.sandbox.git(&["checkout", "--quiet", "--detach", &scene.head]);
        let (log, _) = review(&scene, found(&[finding("a.txt", 2, "Two.")]), 0);
        assert!(log.contains("the pull request has newer commits"), "{log}");
        let world = scene.github.world();
        assert_eq!((world.review_comments.len(), world.resolved.len()), (1, 0));
        drop(world);
        assert_eq!(reviewed(&scene), Some(newer));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn review_leaves_reopened_threads_alone() {
    scene(CONFIG, |mut scene| {
        commit(&mut scene, "a.js", "safe()\nreturn run(x)\n");
        let bad = finding("a.js", 2, "x is run unchecked.");
        review(&scene, found(std::slice::from_ref(&bad)), 0);
        commit(&mut scene, "a.js", "safe()\n");
        // GitHub refuses, which is said, and the next review does it.
        scene.github.fail("POST /graphql UpdateReviewComment", 403, "Resource not accessible by integration");
        let (log, _) = review(&scene, found(&[]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        assert!(log.contains("1 thread of fixed findings could not be resolved"), "{log}");
        let (log, _) = review(&scene, found(&[]), 0);
        assert!(log.contains("findings: 0 new, 1 fixed"), "{log}");
        // Somebody reopens it: it is not resolved again, and counts once its line is back.
        let thread = scene.github.world().resolved.pop().unwrap();
        let (log, _) = review(&scene, found(&[]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        commit(&mut scene, "a.js", "safe()\nreturn run(x)\n");
        let (log, _) = review(&scene, found(std::slice::from_ref(&bad)), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        assert!(
            scene.sticky().contains("### ⚠️ review: nothing new, 1 open from before"),
            "{}",
            scene.sticky()
        );
        scene.github.world().settled.push(thread);
        let (log, _) = review(&scene, found(&[bad]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        assert!(scene.sticky().contains("### ✅ review: no findings"), "{}", scene.sticky());
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_read_as_models_write_them() {
    scene(CONFIG, |mut scene| {
        commit(&mut scene, "a.js", "safe()\nreturn run(x)\n");
        let odd = json!({"file": "a.js", "line": "2", "severity": "Critical", "confidence": "95%", "message": "x is run."});
        let (log, _) = review(&scene, found(&[odd, json!({"line": 2.0, "severity": null, "message": "About no file."})]), 0);
        assert!(log.contains("findings: 2 new, 0 fixed") && log.contains("error a.js:2 x is run."), "{log}");
        // Numbers of findings about no file silence none about another one; a worse finding is another one.
        commit(&mut scene, "b.txt", "new\n");
        let first = json!({"file": "gone.js", "line": 1, "severity": "warning", "message": "It was used."});
        review(&scene, found(std::slice::from_ref(&first)), 0);
        commit(&mut scene, "c.txt", "new\n");
        let with = |file: &str, severity: &str| {
            json!({"file": file, "line": 1, "severity": severity, "message": "Its callers are broken.", "same_as": 2})
        };
        let (log, asked) = review(&scene, found(&[with("gone.js", "warning"), with("other.js", "warning")]), 0);
        assert!(asked.contains("2. warning: gone.js: It was used."), "{asked}");
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        let (log, _) = review(&scene, found(&[with("gone.js", "error")]), 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        // On one line, a note and an error in the same words stand beside each other.
        commit(&mut scene, "d.js", "return run(y)\n");
        for severity in ["note", "error"] {
            let mut finding = finding("d.js", 1, "y is run.");
            finding["severity"] = json!(severity);
            let (log, _) = review(&scene, found(&[finding]), 0);
            assert!(log.contains("findings: 1 new, 0 fixed"), "{severity}: {log}");
        }
        commit(&mut scene, "e.txt", "new\n");
        let (log, _) = review(&scene, found(&[]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
    })
    .await;
}
