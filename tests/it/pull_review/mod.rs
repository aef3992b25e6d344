//! Reviews of pull requests: the first looks at everything, later ones at what is new; nothing is said twice, and nothing is
//! lost.
#![cfg(unix)]

mod places;
mod standing;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::support::model::{Answer, ModelServer};
use crate::support::scene::{HEAD, Scene, scene};

const CONFIG: &[(&str, &str)] = &[(".github/architect.yml", "review: { pull_requests: true }\n")];

fn finding(file: &str, line: u64, message: &str) -> Value {
    json!({"file": file, "line": line, "severity": "error", "confidence": 90, "message": message})
}

/// Reviews the pull request as it is; returns the log, and what the model was asked.
pub(crate) fn review(scene: &Scene, answers: Vec<Answer>, code: i32) -> (String, String) {
    let server = ModelServer::start(answers);
    let event = scene.pull_event(7, "dev");
    let args = ["--model", "openai::gpt-5", "--base-url", server.url.as_str(), "--agent", "review"];
    let run = scene.run("pull_request", &event, &args, &[("OPENAI_API_KEY", "none")]).expect_code(code);
    let asked: Vec<String> = server.bodies().iter().map(ToString::to_string).collect();
    (run.stderr, asked.concat())
}

fn found(findings: &[Value]) -> Vec<Answer> {
    let text = json!({ "findings": findings }).to_string();
    vec![Answer::Text(Box::leak(text.into_boxed_str()))]
}

/// Takes what is checked out to the branch on GitHub.
fn push(scene: &mut Scene) {
    let server = scene.github.world().repository.as_ref().unwrap().path();
    scene.sandbox.git(&["push", "--quiet", "--force", server.to_str().unwrap(), "HEAD:refs/heads/feature"]);
    scene.head = scene.sandbox.git(&["rev-parse", "HEAD"]);
}

pub(crate) fn commit(scene: &mut Scene, path: &str, text: &str) {
    scene.sandbox.write(path, text);
    scene.sandbox.commit("more");
    push(scene);
}

fn reviewed(scene: &Scene) -> Option<String> {
    let comment = scene.sticky();
    let line = comment.lines().find_map(|line| line.strip_prefix("<!-- architect-ci reviewed: "));
    line.and_then(|rest| rest.split(' ').next()).map(str::to_owned)
}

#[tokio::test(flavor = "multi_thread")]
async fn later_reviews_look_at_what_is_new_and_repeat_nothing() {
    scene(CONFIG, |mut scene| {
        let first = finding("a.txt", 2, "Two is @octocat's; fixes #1.");
        let (log, asked) = review(&scene, found(std::slice::from_ref(&first)), 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        assert!(asked.contains("-two\\\\n+TWO") || asked.contains("+TWO"), "{asked}");
        assert_eq!(reviewed(&scene).as_deref(), Some(scene.head.as_str()));
        {
            let world = scene.github.world();
            assert_eq!(world.reviews, ["architect-ci: 1 finding"]);
            let comment = world.review_comments.values().next().unwrap();
            assert_eq!(comment.line, 2);
            assert!(comment.body.contains("**error**: Two is `@octocat`"), "{}", comment.body);
        }
        // A push: only the new commit is asked about; what is found again stays silent.
        commit(&mut scene, "b.txt", "new\n");
        let second = finding("b.txt", 1, "New is old.");
        let (log, asked) = review(&scene, found(&[first.clone(), second.clone()]), 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        assert!(asked.contains("+new") && !asked.contains("+TWO"), "{asked}");
        assert!(asked.contains("have been reviewed before"), "{asked}");
        // Resolved by a person, told anew by a forced push, indented, and moved to another folder: silent, and not lost.
        let thread = format!("PRRT_{}", scene.github.world().review_comments.keys().next().unwrap());
        scene.github.world().settled.push(thread);
        scene.sandbox.git(&["commit", "--quiet", "--amend", "-m", "told anew"]);
        push(&mut scene);
        let (log, _) = review(&scene, found(&[first.clone(), second.clone()]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        scene.sandbox.git(&["rm", "--quiet", "b.txt"]);
        commit(&mut scene, "folder/b.txt", "zero\n  new\n");
        let moved = finding("folder/b.txt", 2, "New is old.");
        let (log, _) = review(&scene, found(&[moved]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        // Mended: ticked off.
        commit(&mut scene, "folder/b.txt", "zero\nbetter\n");
        let (log, _) = review(&scene, found(&[]), 0);
        assert!(log.contains("findings: 0 new, 1 fixed"), "{log}");
        let world = scene.github.world();
        assert_eq!((world.review_comments.len(), world.reviews.len(), world.resolved.len()), (2, 2, 1));
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finding_is_silenced_by_no_other_one() {
    scene(CONFIG, |mut scene| {
        commit(&mut scene, "a/index.js", "safe()\nreturn run(x)\n");
        let harmless = finding("a/index.js", 2, "x could be checked.");
        let outside = finding("a.txt", 9, "Outside of the diff.");
        let nowhere = finding("nowhere.txt", 1, "About nothing.");
        let (log, _) = review(&scene, found(&[harmless, outside.clone(), nowhere.clone()]), 0);
        assert!(log.contains("findings: 3 new, 0 fixed"), "{log}");
        // The same text of a line, in a file of the same name, and on the same line.
        commit(&mut scene, "b/index.js", "db(secret)\nreturn run(x)\n");
        let severe = finding("b/index.js", 2, "x comes from the request, and is run.");
        let same_line = finding("a/index.js", 2, "x comes from the request, and is run.");
        let (log, _) = review(&scene, found(&[severe, same_line, outside, nowhere]), 0);
        assert!(log.contains("findings: 2 new, 0 fixed"), "{log}");
        // A line that is longer than anybody would quote is still there.
        let long = format!("evil({}1){}; x = {}", " ".repeat(150), " ".repeat(100), "y".repeat(200));
        commit(&mut scene, "long.js", &format!("a\n{long}\n"));
        let (log, _) = review(&scene, found(&[finding("long.js", 2, "Evil.")]), 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        // Nor is it gone for being in a file of another name.
        scene.sandbox.git(&["mv", "long.js", "renamed.js"]);
        scene.sandbox.commit("renamed");
        push(&mut scene);
        let (log, _) = review(&scene, found(&[finding("renamed.js", 2, "Evil!")]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn findings_that_do_not_fit_come_with_the_next_review() {
    scene(CONFIG, |mut scene| {
        review(&scene, found(&[]), 0);
        let before = reviewed(&scene);
        let lines: String = (0..40).map(|n| format!("bad line {n}\n")).collect();
        commit(&mut scene, "many.txt", &lines);
        let all: Vec<Value> = (1..=40).map(|line| finding("many.txt", line, "Bad.")).collect();
        let (log, _) = review(&scene, found(&all), 0);
        assert!(log.contains("findings: 30 new") && log.contains("10 findings did not fit"), "{log}");
        let text = scene.github.world().reviews.last().unwrap().clone();
        assert!(text.contains("10 more did not fit") && text.contains("`many.txt:40`"), "{text}");
        assert_eq!(reviewed(&scene), before);
        let (log, asked) = review(&scene, found(&all), 0);
        assert!(log.contains("findings: 10 new") && asked.contains("+bad line 7"), "{log}");
        assert_eq!(reviewed(&scene).as_deref(), Some(scene.head.as_str()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn review_resumes_after_failure() {
    scene(CONFIG, |mut scene| {
        review(&scene, found(&[]), 0);
        let before = reviewed(&scene);
        commit(&mut scene, "b.txt", "lost\n");
        // The provider refuses the key; the comment tells of that, and keeps what has been reviewed.
        review(&scene, vec![Answer::Status(401, vec![], "{}")], 4);
        assert_eq!(reviewed(&scene), before);
        commit(&mut scene, "c.txt", "more\n");
        let (_, asked) = review(&scene, found(&[]), 0);
        assert!(asked.contains("+lost") && asked.contains("+more") && !asked.contains("+TWO"), "{asked}");
        assert_eq!(reviewed(&scene).as_deref(), Some(scene.head.as_str()));
        // An answer of another form goes back; one that never has it reviews nothing.
        commit(&mut scene, "d.txt", "end\n");
        let before = reviewed(&scene);
        review(&scene, vec![Answer::Text("Looks good to me.")], 1);
        assert_eq!(reviewed(&scene), before);
        // A mark in a comment of somebody else's counts for nothing.
        let forged = scene.sticky().replace(before.as_deref().unwrap(), &scene.head);
        scene.github.world().add_comment(7, "reader", &forged);
        let (_, asked) = review(&scene, found(&[finding("a.txt", 9, "Outside of the diff.")]), 0);
        assert!(asked.contains("+end"), "{asked}");
        // What has no line in the diff stands in the text of the review.
        let reviews = scene.github.world().reviews.clone();
        assert!(
            reviews.last().unwrap().contains("- `a.txt:9`: **error**: Outside of the diff."),
            "{reviews:?}"
        );
        // It is remembered there, as those at lines of the diff are.
        commit(&mut scene, "e.txt", "again\n");
        let outside = finding("a.txt", 9, "Outside of the diff.");
        let nowhere = finding("none.txt", 1, "About no file.");
        let (log, _) = review(&scene, found(&[outside.clone(), nowhere.clone()]), 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        commit(&mut scene, "f.txt", "and again\n");
        let (log, _) = review(&scene, found(&[outside, nowhere]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_changes_are_reviewed_in_parts() {
    scene(CONFIG, |mut scene| {
        let filler = |from: usize, to: usize| -> String {
            (from..to)
                .map(|n| format!("line {n} of a file that is long enough to hide something in it\n"))
                .collect()
        };
        commit(&mut scene, "long.txt", &format!("{}evil()\n{}", filler(1, 1_300), filler(1_300, 2_600)));
        let early = finding("long.txt", 3, "The third line is wrong.");
        let hidden = finding("long.txt", 1_300, "This is evil.");
        let answers = [vec![early], vec![hidden], vec![]].iter().flat_map(|part| found(part)).collect();
        let (log, asked) = review(&scene, answers, 0);
        assert!(log.contains("findings: 2 new, 0 fixed"), "{log}");
        assert!(asked.contains("+evil()") && asked.contains("Part 3 of 3"), "{log}");
        assert!(asked.contains("+++ b/long.txt\\n@@ -0,0 +"), "parts say where they go on");
        assert_eq!(reviewed(&scene).as_deref(), Some(scene.head.as_str()));
        // What is longer than a review can be is told, and is not taken for reviewed.
        commit(&mut scene, "longer.txt", &filler(1, 12_000));
        let before = reviewed(&scene);
        let mut answers = found(&[finding("longer.txt", 7, "The seventh line is wrong.")]);
        answers.extend((1..10).flat_map(|_| found(&[])));
        let (log, _) = review(&scene, answers, 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        assert!(log.contains("the change is too large for one review: the last"), "{log}");
        assert_ne!(before.as_deref(), Some(scene.head.as_str()));
        assert_eq!(reviewed(&scene), before);
        assert!(scene.sticky().contains("were not shown to the model"), "{}", scene.sticky());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_shown_whatever_they_are_called_or_named_in_the_report() {
    scene(CONFIG, |mut scene| {
        let shown = ["~/tilde.js", "\\lead.js", ":(glob)x.js", "-dash.js"];
        for (number, path) in shown.iter().enumerate() {
            scene.sandbox.write(path, format!("mark_{number}\n"));
        }
        for path in [".npmrc", "deploy.pem"] {
            scene.sandbox.write(path, "registry=https://hidden.example\n");
        }
        std::fs::write(scene.sandbox.repo().join(OsStr::from_bytes(b"bad\xff.js")), "hidden.example\n")
            .unwrap();
        scene.sandbox.git(&["add", "--force", "--all"]);
        std::fs::create_dir_all(scene.sandbox.repo().join("vendor/sub")).unwrap();
        let submodule = format!("160000,{},vendor/sub", "ab".repeat(20));
        scene.sandbox.git(&["update-index", "--add", "--cacheinfo", &submodule]);
        commit(&mut scene, "b.txt", "new\n");
        let (log, asked) = review(&scene, found(&[]), 0);
        for (number, path) in shown.iter().enumerate() {
            assert!(asked.contains(&format!("+mark_{number}")), "{path}");
        }
        assert!(asked.contains("+Subproject commit abab"), "{asked}");
        assert!(!asked.contains("hidden.example"), "{asked}");
        for named in [
            ".npmrc: a sensitive file",
            "deploy.pem: a sensitive file",
            "bad\u{fffd}.js: a name that is not UTF-8",
        ] {
            assert!(log.contains(named), "{named}: {log}");
            assert!(asked.contains(named), "{named}: {asked}");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pull_request_against_another_base_is_reviewed_whole() {
    scene(CONFIG, |mut scene| {
        // Another branch has what the pull request is built on.
        let main = scene.base.clone();
        commit(&mut scene, "evil.js", "evil()\n");
        scene.base.clone_from(&scene.head);
        commit(&mut scene, "small.js", "small()\n");
        let (_, asked) = review(&scene, found(&[]), 0);
        assert!(asked.contains("+small()") && !asked.contains("+evil()"), "{asked}");
        assert_eq!(reviewed(&scene).as_deref(), Some(scene.head.as_str()));
        scene.base = main;
        let (_, asked) = review(&scene, found(&[]), 0);
        assert!(asked.contains("+small()") && asked.contains("+evil()"), "{asked}");
        // A rebase onto a later commit of the same base leaves what has been reviewed.
        scene.sandbox.git(&["checkout", "--quiet", "main"]);
        scene.base = {
            scene.sandbox.write("other.txt", "other\n");
            scene.sandbox.commit("on main")
        };
        scene.sandbox.git(&["checkout", "--quiet", "feature"]);
        scene.sandbox.git(&["rebase", "--quiet", "main"]);
        commit(&mut scene, "later.js", "later()\n");
        let (_, asked) = review(&scene, found(&[]), 0);
        assert!(asked.contains("+later()") && !asked.contains("+evil()"), "{asked}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn finding_that_comes_back_is_posted_again() {
    scene(CONFIG, |mut scene| {
        let evil = finding("evil.js", 1, "Evil.");
        commit(&mut scene, "evil.js", "evil()\n");
        review(&scene, found(std::slice::from_ref(&evil)), 0);
        commit(&mut scene, "evil.js", "good()\n");
        let (log, _) = review(&scene, found(&[]), 0);
        assert!(log.contains("findings: 0 new, 1 fixed"), "{log}");
        commit(&mut scene, "evil.js", "evil()\n");
        let (log, _) = review(&scene, found(std::slice::from_ref(&evil)), 0);
        assert!(log.contains("findings: 1 new, 0 fixed"), "{log}");
        commit(&mut scene, "b.txt", "new\n");
        let (log, _) = review(&scene, found(&[evil]), 0);
        assert!(log.contains("findings: 0 new, 0 fixed"), "{log}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_push_costs_a_fifth_of_the_first() {
    scene(CONFIG, |mut scene| {
        let long: String = (0..4_000).map(|n| format!("line {n} of a long file\n")).collect();
        commit(&mut scene, "long.txt", &long);
        let (_, first) = review(&scene, found(&[]), 0);
        for push in 1..10 {
            commit(&mut scene, "a.txt", &HEAD.replace("ten", &format!("ten {push}")));
            let (_, asked) = review(&scene, found(&[]), 0);
            assert!(asked.len() * 5 <= first.len(), "{push}: {} of {}", asked.len(), first.len());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reviews_are_as_they_were_where_nobody_asks_for_findings() {
    scene(&[], |scene| {
        let (log, asked) = review(&scene, vec![Answer::Text("Looks good to me.")], 0);
        assert!(!log.contains("findings: ") && !asked.contains("Review the pull request."), "{log}");
        assert_eq!(reviewed(&scene), None);
        assert!(scene.sticky().contains("Looks good to me."));
    })
    .await;
}
