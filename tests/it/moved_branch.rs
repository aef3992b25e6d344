//! A plan whose branch has moved since: it follows without a model where that is safe, and is refused where it is not.
#![cfg(unix)]

use std::fs;

use crate::support::Run;
use crate::support::github::READ_TOKEN;
use crate::support::scene::{HEAD, Scene, scene};
use serde_json::json;

/// A gate that fails on what some pushes bring.
const GATE: &str = "guardrails: { quality_gates: [{ name: whole, command: '! test -e broken' }] }\n";

/// Plans an edit of line 5, as the comment shows it.
fn planned(scene: &Scene) -> String {
    let run = scene.plan(&scene.edit("five", "FIVE"), &[]).expect_code(0);
    scene.upload("architect-ci");
    run.report()["plan"]["digest"].as_str().unwrap().to_owned()
}

/// Takes the commit that is checked out to the branch on GitHub, whatever that was.
fn push(scene: &Scene) -> String {
    let server = scene.github.world().repository.as_ref().unwrap().path();
    scene.sandbox.git(&["push", "--quiet", "--force", server.to_str().unwrap(), "HEAD:refs/heads/feature"]);
    scene.sandbox.git(&["rev-parse", "HEAD"])
}

fn order(scene: &Scene, code: i32) -> Run {
    let (event, _) = scene.comment_event(7, "dev", "/architect apply");
    scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")]).expect_code(code)
}

/// What was pushed meanwhile, and what becomes of the plan: the file on the branch, or what the refusal says.
enum Expected {
    Applied { merged: &'static [&'static str], result: String },
    Refused(i32, &'static str),
}

async fn follows(config: &'static str, moved: impl FnOnce(&Scene) + Send + 'static, expected: Expected) {
    let files: &[(&str, &str)] = vec![(".github/architect.yml", config)].leak();
    scene(files, |scene| {
        let digest = planned(&scene);
        moved(&scene);
        let head = push(&scene);
        match expected {
            Expected::Applied { merged, result } => {
                let run = order(&scene, 0);
                assert_eq!(scene.branch("feature", "a.txt"), result);
                let carried = &run.report()["carried_over"];
                let from = json!({"digest": digest, "commit": scene.head, "merged": merged});
                assert_eq!(carried["from"], from);
                let plan = run.json("plan.json");
                assert_eq!((&plan["digest"], &plan["base"]["commit"]), (&carried["digest"], &json!(head)));
                assert_ne!(carried["digest"], json!(digest));
                assert_eq!(scene.output("plan-digest").as_deref(), carried["digest"].as_str());
                // Both digests stand in the comment, and the gates ran where the branch is now.
                let comment = scene.sticky();
                for digest in [&digest, carried["digest"].as_str().unwrap()] {
                    assert!(comment.contains(&digest[..12]), "{comment}");
                }
                assert_eq!(run.report()["gates"][0]["predicted"], false);
            }
            Expected::Refused(code, told) => {
                let run = order(&scene, code);
                assert!(run.stdout.contains(told), "{told}: {}\n{}", run.stdout, run.stderr);
                let world = scene.github.world();
                assert_eq!(world.repository.as_ref().unwrap().branch("feature").unwrap(), head);
                drop(world);
                // The comment goes on to show the plan.
                assert!(scene.sticky().contains(&digest) || code == 1, "{}", scene.sticky());
            }
        }
        scene.github.assert_valid();
    })
    .await;
}

fn commits(scene: &Scene, path: &str, text: &str) {
    scene.sandbox.write(path, text);
    scene.sandbox.commit("meanwhile");
}

fn applied(result: String, merged: &'static [&'static str]) -> Expected {
    Expected::Applied { merged, result }
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_follows_commits_to_other_files() {
    follows(GATE, |scene| commits(scene, "b.txt", "b\n"), applied(HEAD.replace("five", "FIVE"), &[])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_follows_forced_push() {
    let rebased = |scene: &Scene| {
        scene.sandbox.git(&["commit", "--quiet", "--amend", "-m", "told anew"]);
    };
    follows(GATE, rebased, applied(HEAD.replace("five", "FIVE"), &[])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_is_merged_with_changes_elsewhere_in_its_file() {
    let result = HEAD.replace("five", "FIVE").replace("ten", "TEN");
    follows(GATE, |scene| commits(scene, "a.txt", &HEAD.replace("ten", "TEN")), applied(result, &["a.txt"]))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn merged_plan_is_delivered_after_an_attempt_that_could_not() {
    scene(&[], |scene| {
        planned(&scene);
        commits(&scene, "a.txt", &HEAD.replace("ten", "TEN"));
        let head = push(&scene);
        scene.refuse_commits();
        order(&scene, 4);
        scene.accept_commits();
        assert!(scene.sandbox.read("a.txt").contains("FIVE"), "the checkout has it");
        let run = order(&scene, 0);
        let merged = HEAD.replace("five", "FIVE").replace("ten", "TEN");
        assert_eq!(scene.branch("feature", "a.txt"), merged);
        let server = scene.github.world().repository.as_ref().unwrap().path();
        let parent = scene.sandbox.git(&["--git-dir", server.to_str().unwrap(), "rev-parse", "feature^"]);
        assert_eq!(parent, head);
        assert!(run.report()["delivery"]["commit"].is_string());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_is_merged_where_the_clone_lacks_its_commit() {
    let result = HEAD.replace("five", "FIVE").replace("ten", "TEN");
    let forced = |scene: &Scene| {
        let git = |args: &[&str]| drop(scene.sandbox.git(args));
        scene.sandbox.write("a.txt", HEAD.replace("ten", "TEN"));
        git(&["commit", "--quiet", "--amend", "-am", "told anew"]);
        git(&["update-ref", "-d", "refs/pull/8/head"]);
        git(&["reflog", "expire", "--expire=now", "--all"]);
        git(&["gc", "--quiet", "--prune=now"]);
    };
    follows(GATE, forced, applied(result, &["a.txt"])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plan_that_conflicts_is_refused_with_the_file() {
    let told = "a.txt has changed since the plan was made, in a way that conflicts";
    follows(
        GATE,
        |scene| commits(scene, "a.txt", &HEAD.replace("five", "cinco")),
        Expected::Refused(6, told),
    )
    .await;
    let deleted = |scene: &Scene| {
        scene.sandbox.git(&["rm", "--quiet", "a.txt"]);
        scene.sandbox.commit("meanwhile");
    };
    follows(GATE, deleted, Expected::Refused(6, told)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gates_run_again_where_the_branch_is_now() {
    follows(
        GATE,
        |scene| commits(scene, "broken", "x\n"),
        Expected::Refused(1, "It was carried over from the plan"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn following_can_be_restricted() {
    follows(
        "apply: { follow: never }\n",
        |scene| commits(scene, "b.txt", "b\n"),
        Expected::Refused(6, "the pull request has moved from `"),
    )
    .await;
    follows(
        "apply: { follow: unchanged }\n",
        |scene| commits(scene, "a.txt", &HEAD.replace("ten", "TEN")),
        Expected::Refused(6, "a.txt has changed since the plan was made, and `apply.follow` is `unchanged`"),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn approval_of_a_plan_is_none_of_a_merged_one() {
    const REQUIRES: &[(&str, &str)] =
        &[(".github/architect.yml", "apply: { requires: [{ approved: 1 }] }\n")];
    scene(REQUIRES, |scene| {
        scene.github.world().people.insert("reviewer".to_owned(), "write".to_owned());
        let approve = |commit: &str| {
            let judgement = (7, "reviewer".to_owned(), "APPROVED".to_owned(), commit.to_owned());
            scene.github.world().judgements.push(judgement);
        };
        planned(&scene);
        approve(&scene.head);
        commits(&scene, "a.txt", &HEAD.replace("ten", "TEN"));
        let head = push(&scene);
        let run = order(&scene, 6);
        assert!(run.stdout.contains("its latest commit has 0 of 1 required approvals"), "{}", run.stdout);
        approve(&head);
        order(&scene, 0);
        assert_eq!(scene.branch("feature", "a.txt"), HEAD.replace("five", "FIVE").replace("ten", "TEN"));
    })
    .await;
    scene(REQUIRES, |scene| {
        scene.github.world().people.insert("reviewer".to_owned(), "write".to_owned());
        planned(&scene);
        let judgement = (7, "reviewer".to_owned(), "APPROVED".to_owned(), scene.head.clone());
        scene.github.world().judgements.push(judgement);
        commits(&scene, "b.txt", "b\n");
        push(&scene);
        order(&scene, 0);
        assert_eq!(scene.branch("feature", "a.txt"), HEAD.replace("five", "FIVE"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_ignores_approvals_older_than_plan() {
    const REQUIRES: &[(&str, &str)] =
        &[(".github/architect.yml", "apply: { requires: [{ approved: 1 }, code-owners] }\n")];
    for moves in [false, true] {
        scene(REQUIRES, move |scene| {
            let mut world = scene.github.world();
            world.people.insert("reviewer".to_owned(), "write".to_owned());
            world.judged_at = Some("2020-01-01T00:00:00Z".to_owned());
            world.judgements.push((7, "reviewer".to_owned(), "APPROVED".to_owned(), scene.head.clone()));
            drop(world);
            planned(&scene);
            if moves {
                commits(&scene, "b.txt", "b\n");
                push(&scene);
            }
            let run = order(&scene, 6);
            let told = "its latest commit has 0 of 1 required approvals since the plan was made";
            assert!(run.stdout.contains(told), "{}", run.stdout);
            // The same words after the plan are about it.
            scene.github.world().judged_at = None;
            order(&scene, 0);
        })
        .await;
    }
}

/// Plans in a job that only reads, moves the branch, and writes in a second job.
async fn second_job(files: &'static [(&'static str, &'static str)], code: i32, told: &'static str) {
    scene(files, move |scene| {
        let event = scene.pull_event(7, "dev");
        let model = scene.edit("five", "FIVE");
        let args = ["--model", model.as_str(), "--mode", "dry-run", "--comment", "never"];
        let run = scene.run("pull_request", &event, &args, &[("GITHUB_TOKEN", READ_TOKEN)]).expect_code(0);
        let place = scene.sandbox.path().join("artifact.json");
        fs::copy(run.out.join("plan.json"), &place).unwrap();
        let digest = run.report()["plan"]["digest"].as_str().unwrap().to_owned();
        commits(&scene, "b.txt", "b\n");
        push(&scene);
        let (out, repo) = (scene.sandbox.path().join("written"), scene.sandbox.repo());
        let mut command = scene.sandbox.command(&["write", place.to_str().unwrap(), "--digest", &digest]);
        command.args(["--deliver", "branch", "--workspace", repo.to_str().unwrap()]);
        command.args(["--out", out.to_str().unwrap(), "--event", event.to_str().unwrap()]);
        command.envs(scene.variables("pull_request"));
        let run = Run::new(&command.output().expect("the binary runs"), out).expect_code(code);
        assert!(run.stdout.contains(told), "{}", run.stdout);
        let result = if code == 0 { HEAD.replace("five", "FIVE") } else { HEAD.to_owned() };
        assert_eq!(scene.branch("feature", "a.txt"), result);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn second_job_follows_only_where_no_gate_has_to_run_again() {
    const GATED: &[(&str, &str)] = &[(".github/architect.yml", GATE)];
    second_job(&[], 0, "It was carried over from the plan").await;
    second_job(GATED, 6, "does not run the plan's quality gates again").await;
}
