//! The second job refuses every other plan, and what the first should have failed for.

use std::fs;

use super::{CONFIG, Second, WORKFLOW, artifact, planned, write};
use crate::support::Run;
use crate::support::github::{BOT, READ_TOKEN, WRITE_TOKEN};
use crate::support::scene::{HEAD, Scene, scene};
use serde_json::{Value, json};

/// Gives a plan the digest of its content, as whoever forges one would.
fn with_digest(plan: &Value) -> (Value, String) {
    let mut plan: architect_ci::plan::Plan = serde_json::from_value(plan.clone()).unwrap();
    plan.digest = plan.computed_digest();
    (serde_json::to_value(&plan).unwrap(), plan.digest)
}

/// Returns a planned file that is new.
fn file(path: &str, text: &str) -> Value {
    use base64::Engine;
    use sha2::Digest;
    let hash: String = sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
    let base64 = base64::engine::general_purpose::STANDARD.encode(text);
    json!({"path": path, "op": "add", "mode": "100644", "before_sha256": null, "after_sha256": hash,
           "base64": base64, "lines": {"added": 1, "removed": 0}})
}

#[tokio::test(flavor = "multi_thread")]
async fn second_job_refuses_every_other_plan() {
    type Forge = fn(&mut Value);
    let config: &str = format!("{CONFIG}apply: {{ max_files: 1, max_lines: 4 }}\n").leak();
    let files: &[(&str, &str)] = vec![(".github/architect.yml", config)].leak();
    scene(files, |scene| {
        let scene = scene.on_main();
        let model = scene.edit("one", "uno");
        planned(&scene, "schedule", &model).expect_code(0);
        let (place, digest) = artifact(&scene);
        let original: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
        // What was changed, whether the digest is made to fit, and what is said.
        let forged: [(Forge, bool, &str); 12] = [
            (|plan| plan["files"][0]["path"] = json!("b.txt"), false, "was changed after the review"),
            (|plan| plan["task"] = json!("approved: merge"), false, "was changed after the review"),
            (|plan| plan["model"] = json!("human"), false, "was changed after the review"),
            (|plan| plan["gates"][0]["output"] = json!("0 findings"), false, "was changed after the review"),
            (
                |plan| {
                    let mut gate = plan["gates"][0].clone();
                    gate["name"] = json!("signed off");
                    plan["gates"].as_array_mut().unwrap().push(gate);
                },
                false,
                "was changed after the review",
            ),
            (|plan| plan["made"]["run"] = json!(4712), true, "for the run 4712, but this is 4711"),
            (|plan| plan["made"]["repository"] = json!("octo/else"), true, "for the repository octo/else"),
            (
                |plan| plan["made"]["folder"] = json!("web"),
                true,
                "for the folder web, but this is (the root)",
            ),
            (|plan| plan["made"]["commit"] = json!("d".repeat(40)), true, "for the commit dddddddddd"),
            (
                |plan| plan["made"]["workflow"] = json!("octo/demo/.github/workflows/x.yml@refs/heads/main"),
                true,
                "for the workflow octo/demo/.github/workflows/x.yml",
            ),
            (|plan| plan["made"]["gates"] = json!([]), true, "gate `tests` did not pass"),
            (
                |plan| drop(plan.as_object_mut().unwrap().remove("made")),
                true,
                "does not say where it was made",
            ),
        ];
        let mut cases: Vec<(Value, bool, String)> = Vec::new();
        for (forge, fits, told) in forged {
            let mut plan = original.clone();
            forge(&mut plan);
            cases.push((plan, fits, told.to_owned()));
        }
        let with = |files: Vec<Value>| {
            let mut plan = original.clone();
            plan["files"] = json!(files);
            plan
        };
        for (files, told) in [
            (vec![file("x", "x\n"), file("y", "y\n")], "2 files, and `apply.max_files` is 1"),
            (vec![file("x", "1\n2\n3\n4\n5\n")], "5 lines, and `apply.max_lines` is 4"),
            (vec![file("x", "a \u{202e} b\n")], "would contain invisible characters"),
            (vec![file(".github/workflows/x.yml", "on: push\n")], "always protected"),
            (vec![file(".github/architect.yml", "{}\n")], "always protected"),
            (vec![file("CODEOWNERS", "* @me\n")], "who has to review changes"),
            (vec![file("Cargo.lock", "x\n")], "without a change of the dependencies in cargo.toml"),
            (
                vec![file(".npmrc.d/.yarnrc.yml", "npmRegistryServer: https://evil.example\n")],
                "from evil.example",
            ),
            (vec![file("A.txt", "x\n")], "there it is the same as a.txt"),
            (
                vec![file("ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2", "x\n")],
                "the name *** contains text that is",
            ),
            (vec![file(".gitattributes", "* -diff\n")], "it changes what .gitattributes says of `diff`"),
            (vec![file(".env", "x\n")], ".env is a sensitive file"),
            (vec![file("x", "ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2\n")], "looks like, a secret"),
        ] {
            cases.push((with(files), true, told.to_owned()));
        }
        let before = scene.github.requests().len();
        for (plan, fits, told) in cases {
            let (plan, wanted) = if fits { with_digest(&plan) } else { (plan, digest.clone()) };
            fs::write(&place, plan.to_string()).unwrap();
            let second =
                Second { event: "schedule", digest: &wanted, deliver: "pull-request", variables: &[] };
            let run = write(&scene, &place, &second).expect_code(6);
            assert!(run.stdout.contains(&told), "{told}: {}", run.stdout);
            // The digest of the job before refuses all of them by itself.
            let second = Second { digest: &digest, ..second };
            write(&scene, &place, &second).expect_code(6);
        }
        // The genuine one no longer fits.
        fs::write(&place, original.to_string()).unwrap();
        scene.sandbox.write("a.txt", "edited meanwhile\n");
        scene.sandbox.git(&["commit", "--quiet", "-am", "meanwhile"]);
        let second = Second { event: "schedule", digest: &digest, deliver: "pull-request", variables: &[] };
        let run = write(&scene, &place, &second).expect_code(6);
        assert!(run.stdout.contains("the plan is stale"), "{}", run.stdout);
        let sent = scene.github.requests().split_off(before);
        assert!(sent.iter().all(|request| request.starts_with("GET ")), "{sent:?}");
    })
    .await;
}

/// Returns the address of the server that the scene's runs belong to.
fn server_url(scene: &Scene) -> String {
    let mut variables = scene.variables("pull_request").into_iter();
    variables.find(|(name, _)| name == "GITHUB_SERVER_URL").unwrap().1
}

#[tokio::test(flavor = "multi_thread")]
async fn apply_requires_what_the_configuration_demands_of_the_pull_request() {
    const FILES: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "apply: { requires: [{ approved: 2 }, code-owners, mergeable, up-to-date, checks] }\n",
        ),
        (".github/CODEOWNERS", "*.txt @owner\n"),
    ];
    scene(FILES, |scene| {
        let model = scene.edit("five", "FIVE");
        planned(&scene, "pull_request", &model).expect_code(0);
        let (plan, digest) = artifact(&scene);
        let second = Second { event: "pull_request", digest: &digest, deliver: "branch", variables: &[] };
        let refused = |told: &str| {
            let run = write(&scene, &plan, &second).expect_code(6);
            assert!(run.stdout.contains(told), "{told}: {}", run.stdout);
        };
        let judge = |login: &str, state: &str, commit: &str| {
            let judgement = (7, login.to_owned(), state.to_owned(), commit.to_owned());
            scene.github.world().judgements.push(judgement);
        };
        let people = ["reviewer", "author", "third", "again", "helper[bot]"]
            .map(|login| (login.to_owned(), "write".to_owned()));
        scene.github.world().people.extend(people);
        refused("0 of 2 required approvals");
        // What the job's token may not find out is not taken for granted.
        let variables = [("GITHUB_TOKEN", WRITE_TOKEN)];
        let run = write(&scene, &plan, &Second { variables: &variables, ..second }).expect_code(6);
        assert!(run.stdout.contains("add `permissions: actions: read` to the job"), "{}", run.stdout);
        // Of the author, of whoever asks, of people who may not write, and of an earlier commit.
        for (login, commit) in [
            ("author", &scene.head),
            ("dev", &scene.head),
            ("reader", &scene.head),
            ("helper[bot]", &scene.head),
            ("reviewer", &scene.base),
        ] {
            judge(login, "APPROVED", commit);
        }
        refused("0 of 2 required approvals");
        // Nor of whoever has started this run again.
        judge("again", "APPROVED", &scene.head);
        refused("1 of 2 required approvals");
        let variables = [("GITHUB_TRIGGERING_ACTOR", "Again")];
        let run = write(&scene, &plan, &Second { variables: &variables, ..second }).expect_code(6);
        assert!(run.stdout.contains("0 of 2 required approvals"), "{}", run.stdout);
        judge("again", "DISMISSED", &scene.head);
        judge("reviewer", "APPROVED", &scene.head);
        judge("third", "APPROVED", &scene.head);
        judge("reader", "CHANGES_REQUESTED", &scene.head);
        refused("no owner of a.txt (@owner) has approved");
        judge("third", "CHANGES_REQUESTED", &scene.head);
        refused("third has requested changes");
        judge("third", "COMMENTED", &scene.head);
        refused("third has requested changes");
        judge("third", "DISMISSED", &scene.head);
        judge("owner", "APPROVED", &scene.head);
        refused("no check has run on its latest commit");
        // The checks of this very run do not count.
        let check = |name: &str, status: &str, conclusion: Option<&str>, url: &str| {
            let run = (name.to_owned(), status.to_owned(), conclusion.map(str::to_owned), url.to_owned());
            scene.github.world().check_runs.push(run);
        };
        let url = format!("{}/octo/demo/actions/runs/4711/job/1", server_url(&scene));
        check("write", "in_progress", None, &url);
        refused("no check has run on its latest commit");
        // One that was skipped, or has no opinion, has looked at nothing.
        for conclusion in ["skipped", "neutral"] {
            check("docs", "completed", Some(conclusion), "https://docs.example");
            refused("no check has succeeded on its latest commit; all were skipped or neutral");
            scene.github.world().check_runs.pop();
        }
        // Others may name this run in their URLs.
        check("lint [app]", "completed", Some("failure"), &url);
        refused("its check `lint [app]` ended as failure");
        scene.github.world().check_runs.pop();
        check("lint", "completed", Some("failure"), &format!("https://lint.example/?for={url}"));
        refused("its check `lint` ended as failure");
        scene.github.world().check_runs.pop();
        check("build", "in_progress", None, "https://github.com/octo/demo/actions/runs/9/job/1");
        refused("its check `build` has not ended");
        scene.github.world().check_runs[1].1 = "completed".to_owned();
        scene.github.world().check_runs[1].2 = Some("failure".to_owned());
        refused("its check `build` ended as failure");
        scene.github.world().check_runs[1].2 = Some("success".to_owned());
        scene.github.world().hidden_checks = 5_000;
        refused("its latest commit has 5002 checks, of which only");
        scene.github.world().hidden_checks = 0;
        scene.github.world().status = Some("pending".to_owned());
        refused("the status of its latest commit is pending");
        scene.github.world().status = Some("success".to_owned());
        scene.github.world().conflicts = true;
        refused("it conflicts with its base branch");
        scene.github.world().conflicts = false;
        let old = scene.github.world().repository.as_ref().unwrap().branch("main").unwrap();
        scene.github.world().repository.as_ref().unwrap().push("main", &[("new.txt", "x\n")], "on main");
        refused("it lacks 1 of the commits of `main`");
        scene.github.world().repository.as_ref().unwrap().set("refs/heads/main", &old);
        write(&scene, &plan, &second).expect_code(0);
        let world = scene.github.world();
        let written = world.repository.as_ref().unwrap().show("feature", "a.txt").unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), HEAD.replace("five", "FIVE"));
        assert!(world.comments.values().any(|comment| comment.login == BOT));
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_who_has_started_the_run_approves_under_any_name() {
    const FILES: &[(&str, &str)] = &[(".github/architect.yml", "apply: { requires: [{ approved: 1 }] }\n")];
    scene(FILES, |scene| {
        let model = scene.edit("five", "FIVE");
        planned(&scene, "pull_request", &model).expect_code(0);
        let (plan, digest) = artifact(&scene);
        let second = Second { event: "pull_request", digest: &digest, deliver: "branch", variables: &[] };
        let judgement = |login: &str| (7, login.to_owned(), "APPROVED".to_owned(), scene.head.clone());
        let people = ["ann", "bob", "carl", "moved"].map(|login| (login.to_owned(), "write".to_owned()));
        scene.github.world().people.extend(people);
        let told = |approver: &str, attempt: &str, variables: &[(&str, &str)], says: &str| {
            scene.github.world().judgements = vec![judgement(approver)];
            let attempt = [("GITHUB_RUN_ATTEMPT", attempt), ("GITHUB_TRIGGERING_ACTOR", "bob")];
            let variables = [&attempt, variables].concat();
            let run = write(&scene, &plan, &Second { variables: &variables, ..second }).expect_code(6);
            assert!(run.stdout.contains(says), "{approver}: {}", run.stdout);
        };
        let none = "0 of 1 required approvals";
        // What cannot be looked up is not taken for granted, nor is what would take too many questions.
        told("carl", "2", &[], "GitHub refused to look up who has started this run");
        told("carl", "31", &[], "was started so often");
        let attempts = [(1, "dev", "dev"), (2, "dev", "ann"), (3, "dev", "bob")];
        let attempts = attempts.map(|(number, one, two)| (number, (one.to_owned(), two.to_owned())));
        scene.github.world().attempts.extend(attempts);
        // Who has started it in between, and whoever has another name by now.
        told("ann", "3", &[], none);
        told("bob", "3", &[], none);
        let id = |login: &str, id: u64| scene.github.world().ids.insert(login.to_owned(), id);
        id("ann", 77);
        id("moved", 77);
        told("moved", "3", &[], none);
        id("moved", 78);
        told("moved", "1", &[("GITHUB_ACTOR_ID", "78"), ("GITHUB_ACTOR", "earlier")], none);
        // The account that the event names as its sender.
        id("moved", 21_031_067);
        told("moved", "1", &[], none);
        scene.github.world().judgements = vec![judgement("carl")];
        let variables = [("GITHUB_RUN_ATTEMPT", "3"), ("GITHUB_TRIGGERING_ACTOR", "bob")];
        write(&scene, &plan, &Second { variables: &variables, ..second }).expect_code(0);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn plans_cannot_say_that_they_are_older_than_their_job() {
    const FILES: &[(&str, &str)] = &[(".github/architect.yml", "apply: { requires: [{ approved: 1 }] }\n")];
    scene(FILES, |scene| {
        let model = scene.edit("five", "FIVE");
        planned(&scene, "pull_request", &model).expect_code(0);
        let (place, _) = artifact(&scene);
        let mut plan: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
        plan["made"]["at"] = json!("2001-01-01T00:00:00Z");
        let (plan, digest) = with_digest(&plan);
        fs::write(&place, plan.to_string()).unwrap();
        let second = Second { event: "pull_request", digest: &digest, deliver: "branch", variables: &[] };
        let mut world = scene.github.world();
        world.people.insert("reviewer".to_owned(), "write".to_owned());
        world.judgements.push((7, "reviewer".to_owned(), "APPROVED".to_owned(), scene.head.clone()));
        world.judged_at = Some("2026-01-01T00:00:00Z".to_owned());
        world.ran_at = Some("2026-01-01T00:00:01Z".to_owned());
        drop(world);
        let run = write(&scene, &place, &second).expect_code(6);
        let none = "0 of 1 required approvals since the plan was made";
        assert!(run.stdout.contains(none), "{}", run.stdout);
        // Nor that they come from an earlier commit, which somebody has approved.
        let mut carried = plan.clone();
        carried["carried_over"] = json!({"digest": "0".repeat(64), "commit": scene.base, "merged": []});
        let (carried, of_carried) = with_digest(&carried);
        fs::write(&place, carried.to_string()).unwrap();
        scene.github.world().judged_at = None;
        scene.github.world().judgements[0].3 = scene.base.clone();
        let run = write(&scene, &place, &Second { digest: &of_carried, ..second }).expect_code(6);
        assert!(run.stdout.contains(none), "{}", run.stdout);
        fs::write(&place, plan.to_string()).unwrap();
        scene.github.world().judgements[0].3 = scene.head.clone();
        scene.github.world().judged_at = Some("2026-01-01T00:00:02Z".to_owned());
        write(&scene, &place, &second).expect_code(0);
        scene.github.assert_valid();
    })
    .await;
}

#[test]
fn second_job_needs_a_workflow_run_and_a_digest() {
    let sandbox = crate::support::Sandbox::new(&[("a.txt", "one\n")]);
    let model = sandbox.script(&[vec![("write_file", json!({"path": "b.txt", "content": "x\n"}))]], "done");
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    let plan = run.out.join("plan.json");
    let write = |more: &[&str]| {
        let (repo, out) = (sandbox.repo(), sandbox.path().join("written"));
        let args = ["write", plan.to_str().unwrap(), "--workspace", repo.to_str().unwrap(), "--out"];
        let output = sandbox.command(&args).arg(&out).args(more).output().expect("the binary runs");
        Run::new(&output, out).expect_code(3)
    };
    assert!(write(&[]).stderr.contains("no digest is set"));
    assert!(write(&["--digest", "0123456789"]).stderr.contains("this is not a workflow run"));
}

/// What the first job's run failed for is not written, whatever the plan says of it: the second job judges tests itself.
#[tokio::test(flavor = "multi_thread")]
async fn second_job_writes_nothing_that_expectations_or_test_integrity_refuse() {
    const FILES: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "evaluation: off\nworkspace: { allow_delete: true }\ntests: { integrity: refuse }\n",
        ),
        ("tests/test_a.py", "def test_a():\n    assert 1 + 1 == 2\n"),
    ];
    scene(FILES, |scene| {
        let scene = scene.on_main();
        for (expect, reason) in [("any", "tests_weakened"), ("no-changes", "unwanted_changes")] {
            let delete = json!({"path": "tests/test_a.py"});
            let model = &match expect {
                "any" => scene.sandbox.script(&[vec![("delete_file", delete)]], "The test is not needed."),
                _ => scene.edit("one", "uno"),
            };
            let payload = scene.event("schedule", &[]);
            let args = ["--model", model, "--mode", "dry-run", "--comment", "never", "--expect", expect];
            let variables = [("GITHUB_TOKEN", READ_TOKEN), ("GITHUB_WORKFLOW_REF", WORKFLOW)];
            let run = scene.run("schedule", &payload, &args, &variables).expect_code(1);
            assert_eq!(run.report()["stop_reason"], reason, "{}", run.stderr);
            let (place, digest) = artifact(&scene);
            let second = |digest: &str| {
                write(
                    &scene,
                    &place,
                    &Second { event: "schedule", digest, deliver: "pull-request", variables: &[] },
                )
            };
            let refused = second(&digest);
            assert_eq!(refused.report()["stop_reason"], "not_applied", "{reason}: {}", refused.stderr);
            assert!(!scene.github.world().pulls.contains_key(&102), "{reason}");
            if reason != "tests_weakened" {
                continue;
            }
            // A plan that claims success is judged all the same.
            let mut plan: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
            plan["made"]["status"] = json!("success");
            plan.as_object_mut().unwrap().remove("incomplete");
            let (plan, digest) = with_digest(&plan);
            fs::write(&place, plan.to_string()).unwrap();
            let refused = second(&digest).expect_code(1);
            assert_eq!(refused.report()["stop_reason"], "tests_weakened", "{}", refused.stderr);
            assert!(!scene.github.world().pulls.contains_key(&102));
        }
    })
    .await;
}
