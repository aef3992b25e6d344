//! Two jobs: one plans with the model's key and a token that only reads, the other writes without a key and executes
//! nothing. Whatever else than the plan of the job before arrives there is refused.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::Run;
use crate::support::github::{BOT, READ_TOKEN};
use crate::support::scene::{HEAD, Scene, scene};
use serde_json::{Value, json};

const WORKFLOW: &str = "octo/demo/.github/workflows/nightly.yml@refs/heads/main";
const OWN: &str = "architect-ci/changes";

/// A configuration that would execute something at every opportunity.
const CONFIG: &str = "hooks:\n  session_start: [{ name: start, command: 'true' }]\n  session_end: \
                      [{ name: end, command: 'true' }]\nguardrails:\n  quality_gates: [{ name: tests, \
                      command: 'grep -q uno a.txt' }]\n";

/// A recorded session whose only edit replaces a text.
fn planned(scene: &Scene, event: &str, model: &str) -> Run {
    let payload = if event == "schedule" { scene.event("schedule", &[]) } else { scene.pull_event(7, "dev") };
    let args = ["--model", model, "--mode", "dry-run", "--comment", "never"];
    let variables = [("GITHUB_TOKEN", READ_TOKEN), ("GITHUB_WORKFLOW_REF", WORKFLOW)];
    scene.run(event, &payload, &args, &variables)
}

/// Keeps the plan, as an artifact does, and returns its path and digest.
fn artifact(scene: &Scene) -> (PathBuf, String) {
    let place = scene.sandbox.path().join("artifact.json");
    fs::copy(scene.sandbox.out().join("plan.json"), &place).unwrap();
    let plan: Value = serde_json::from_slice(&fs::read(&place).unwrap()).unwrap();
    (place, plan["digest"].as_str().unwrap().to_owned())
}

struct Second<'a> {
    event: &'a str,
    digest: &'a str,
    deliver: &'a str,
    variables: &'a [(&'a str, &'a str)],
}

/// Runs the second job.
fn write(scene: &Scene, plan: &Path, second: &Second<'_>) -> Run {
    let Second { event, digest, deliver, variables } = second;
    let payload =
        if *event == "schedule" { scene.event("schedule", &[]) } else { scene.pull_event(7, "dev") };
    let out = scene.sandbox.path().join("written");
    let (repo, plan) = (scene.sandbox.repo(), plan.to_str().unwrap());
    let args =
        ["write", plan, "--digest", digest, "--deliver", deliver, "--workspace", repo.to_str().unwrap()];
    let mut command = scene.sandbox.command(&args);
    command.args(["--out", out.to_str().unwrap(), "--event", payload.to_str().unwrap()]);
    command.envs(scene.variables(event)).env("GITHUB_WORKFLOW_REF", WORKFLOW);
    command.envs(variables.iter().copied());
    Run::new(&command.output().expect("the binary runs"), out)
}

#[tokio::test(flavor = "multi_thread")]
async fn two_jobs_deliver_what_the_first_has_planned() {
    scene(&[(".github/architect.yml", CONFIG)], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("one", "uno");
        planned(&scene, "schedule", &model).expect_code(0);
        // The job with the key has not even tried to write, and could not have.
        assert_eq!(scene.github.world().refused_writes, Vec::<String>::new());
        assert!(scene.github.requests().iter().all(|request| request.starts_with("GET ")));
        let (plan, digest) = artifact(&scene);
        let second = Second { event: "schedule", digest: &digest, deliver: "pull-request", variables: &[] };
        let run = write(&scene, &plan, &second).expect_code(0);
        let world = scene.github.world();
        assert_eq!(world.pulls[&102].head, format!("refs/heads/{OWN}"));
        assert!(world.pulls[&102].body.contains("tests"), "{}", world.pulls[&102].body);
        drop(world);
        // Neither hooks nor gates have run; the report shows the gates of the plan.
        let report = run.report();
        assert_eq!(
            (report["hooks"].as_array().unwrap().len(), &report["gates"][0]["predicted"]),
            (0, &json!(true))
        );
        scene.github.assert_valid();
    })
    .await;
}

/// Gives a plan the digest of its content, as whoever forges one would.
fn with_digest(plan: &Value) -> (Value, String) {
    let mut plan: architect_ci::plan::Plan = serde_json::from_value(plan.clone()).unwrap();
    plan.digest = plan.computed_digest();
    (serde_json::to_value(&plan).unwrap(), plan.digest)
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
        let file = |path: &str, text: &str| {
            use base64::Engine;
            use sha2::Digest;
            let hash: String = sha2::Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
            let base64 = base64::engine::general_purpose::STANDARD.encode(text);
            json!({"path": path, "op": "add", "mode": "100644", "before_sha256": null, "after_sha256": hash,
                   "base64": base64, "lines": {"added": 1, "removed": 0}})
        };
        let forged: [(Forge, bool, &str); 11] = [
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
            (vec![file("Cargo.lock", "x\n")], "without cargo.toml"),
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
        let people = ["reviewer", "author", "third"].map(|login| (login.to_owned(), "write".to_owned()));
        scene.github.world().people.extend(people);
        refused("0 of 2 required approvals");
        // Of the author, of whoever asks, of people who may not write, and of an earlier commit.
        for (login, commit) in [
            ("author", &scene.head),
            ("dev", &scene.head),
            ("reader", &scene.head),
            ("reviewer", &scene.base),
        ] {
            judge(login, "APPROVED", commit);
        }
        refused("0 of 2 required approvals");
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
        check("write", "in_progress", None, "https://github.com/octo/demo/actions/runs/4711/job/1");
        refused("no check has run on its latest commit");
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
async fn pull_request_that_moves_between_the_jobs_is_left_alone() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        planned(&scene, "pull_request", &model).expect_code(0);
        let (plan, digest) = artifact(&scene);
        let repository =
            |scene: &Scene| scene.github.world().repository.as_ref().unwrap().branch("feature").unwrap();
        scene.github.world().repository.as_ref().unwrap().push("feature", &[("new.txt", "x\n")], "pushed");
        let moved = repository(&scene);
        let second = Second { event: "pull_request", digest: &digest, deliver: "branch", variables: &[] };
        let run = write(&scene, &plan, &second).expect_code(1);
        assert!(run.stderr.contains("moved"), "{}", run.stderr);
        assert_eq!(repository(&scene), moved);
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

const BATCH: &[(&str, &str)] = &[
    (".github/architect.yml", "apply: { max_pull_requests: 1 }\n"),
    (
        "batch.yml",
        "name: nightly\ndefaults: {mode: yolo, deliver: pull-request}\ntasks:\n- {id: one, recipe: r1.yml}\n- {id: two, recipe: \
         r2.yml}\n- {id: none, recipe: none.yml}\n- {id: three, recipe: r3.yml}\n",
    ),
    ("r1.yml", "steps:\n- do: [{tool: write_file, with: {path: one.txt, content: x}}]\n"),
    ("r2.yml", "steps:\n- do: [{tool: write_file, with: {path: two.txt, content: x}}]\n"),
    ("r3.yml", "steps:\n- files: [a.txt]\n  do: [{replace: {pattern: nowhere, with: x}}]\n"),
];

/// What the job that lists the tasks puts out.
fn manifest_digest(manifest: &str) -> String {
    architect_ci::batch::Manifest::read(Path::new(manifest)).unwrap().digest()
}

fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn task<'a>(report: &'a Value, id: &str) -> &'a Value {
    let tasks = report["tasks"].as_array().unwrap();
    tasks.iter().find(|task| task["id"] == id).unwrap_or_else(|| panic!("{id}"))
}

/// What the jobs of two shards put out, as the workflow gathers it.
fn report_digests(plans: &str) -> String {
    let of = |at: u32| sha256(&fs::read(format!("{plans}/architect-ci-shard-{at}/batch.json")).unwrap());
    json!({"shard-1": of(0), "shard-2": of(1), "shard-3": ""}).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_writes_only_what_its_shards_have_put_out() {
    scene(BATCH, |scene| {
        let scene = scene.on_main();
        let event = scene.event("schedule", &[]).display().to_string();
        let variables = scene.variables("schedule");
        let place = |name: &str| scene.sandbox.path().join(name).display().to_string();
        let repo = scene.sandbox.repo().display().to_string();
        let put_out = PathBuf::from(place("put-out"));
        let batch = |args: &[&str], out: &str| {
            let mut command = scene.sandbox.command(&["batch", "--event", &event, "--workspace", &repo]);
            command.args(args).args(["--out", out]).envs(variables.iter().cloned());
            command.env("GITHUB_WORKFLOW_REF", WORKFLOW).env("GITHUB_OUTPUT", &put_out);
            Run::new(&command.output().expect("the binary runs"), PathBuf::from(out))
        };
        let outputs = || -> std::collections::BTreeMap<String, String> {
            let text = fs::read_to_string(&put_out).unwrap();
            fs::remove_file(&put_out).unwrap();
            crate::support::outputs(&text).into_iter().collect()
        };
        let (list, plans) = (place("list"), place("plans"));
        fs::write(&put_out, "").unwrap();
        batch(&["batch.yml", "--matrix", "--shards", "2"], &list).expect_code(0);
        let manifest = format!("{list}/manifest.json");
        let listed = outputs()["manifest-digest"].clone();
        assert_eq!(listed, manifest_digest(&manifest));
        let mut digests = Vec::new();
        for (at, shard) in ["1/2", "2/2"].into_iter().enumerate() {
            fs::write(&put_out, "").unwrap();
            let args = ["--manifest", &manifest, "--shard", shard, "--mode", "dry-run", "--deliver", "none"];
            batch(&args, &format!("{plans}/architect-ci-shard-{at}"));
            digests.push(outputs()["report-digest"].clone());
        }
        let digests = json!({"shard-1": digests[0], "shard-2": digests[1], "shard-3": ""}).to_string();
        assert_eq!(digests, report_digests(&plans));
        let write = |extra: &[&str], out: &str| {
            let args =
                ["--manifest", &manifest, "--plans", &plans, "--deliver", "pull-request", "--jobs", "1"];
            batch(&[&args[..], extra].concat(), &place(out))
        };
        let refused = |extra: &[&str], told: &str| {
            let run = write(extra, "refused");
            let said = format!("{}{}", run.stdout, run.stderr);
            assert!(run.code != 0 && said.contains(told), "{told}: {said}");
        };
        let given = ["--manifest-digest", &listed, "--report-digests", &digests];
        refused(&given[2..], "`plans` needs `manifest-digest`");
        refused(&given[..2], "`plans` needs `report-digests`");
        refused(&["--manifest-digest", &"0".repeat(64), given[2], given[3]], "(`manifest-digest`)");
        refused(&[given[0], given[1], "--report-digests", "{"], "invalid value for `report-digests`");
        let first = format!("{plans}/architect-ci-shard-0");
        let report = format!("{first}/batch.json");
        let honest = fs::read_to_string(&report).unwrap();
        let mut forged: Value = serde_json::from_str(&honest).unwrap();
        forged["tasks"][0]["message"] = json!("another");
        // A shard that says more than it was asked for, even if its job has put that out.
        let mut more = forged["tasks"][0].clone();
        more["id"] = json!("else");
        forged["tasks"].as_array_mut().unwrap().push(more);
        fs::write(&report, forged.to_string()).unwrap();
        let of_forged = report_digests(&plans);
        refused(&[given[0], given[1], given[2], &of_forged], "reports the task \"else\"");
        // What no job has put out is left out, in the place of a report as well.
        fs::write(&report, forged.to_string()).unwrap();
        let told = write(&given, "without-one").json("batch.json");
        let notices = told["notices"].to_string();
        for part in [
            "is not the report that the job of the shard 1 produced",
            "contains the report whose digest is the output shard-1",
        ] {
            assert!(notices.contains(part), "{part}: {notices}");
        }
        assert_eq!(task(&told, "one")["end"], "lost", "{told:#}");
        fs::write(&report, &honest).unwrap();
        // Anybody can add artifacts: a copy without plans, another report of the shard, one of nobody's, one of a run, and
        // what is no report. All that was put out is written.
        let more = |name: &str, file: &str, text: &str| {
            let folder = format!("{plans}/{name}");
            fs::create_dir(&folder).unwrap();
            fs::write(format!("{folder}/{file}"), text).unwrap();
        };
        more("architect-ci-shard--1", "batch.json", &honest);
        more("architect-ci-shard--2", "batch.json", &forged.to_string());
        more("architect-ci-shard--3", "batch.json", "{");
        more("architect-ci-shard--4\u{202e}", "report.json", "{}");
        let told = write(&given, "written").json("batch.json");
        assert_eq!(task(&told, "one")["delivery"]["branch"], "architect-ci/nightly-one", "{told:#}");
        let notices = told["notices"].as_array().unwrap().iter();
        let left_out =
            notices.filter(|notice| notice["message"].as_str().unwrap().contains(" is left out: ")).count();
        assert_eq!(left_out, 3, "{told:#}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_is_planned_in_shards_and_written_by_another_job() {
    scene(BATCH, |scene| {
        let scene = scene.on_main();
        let event = scene.event("schedule", &[]);
        let variables = scene.variables("schedule");
        let place = |name: &str| scene.sandbox.path().join(name).display().to_string();
        let (event, repo) = (event.display().to_string(), scene.sandbox.repo().display().to_string());
        let batch = |args: &[&str], token: Option<&str>| {
            let mut command = scene.sandbox.command(&["batch", "--event", &event, "--workspace", &repo]);
            command.args(args).envs(variables.iter().cloned()).env("GITHUB_WORKFLOW_REF", WORKFLOW);
            command.envs(token.map(|token| ("GITHUB_TOKEN", token)));
            let out = args.iter().position(|arg| *arg == "--out").map(|at| PathBuf::from(args[at + 1]));
            Run::new(&command.output().expect("the binary runs"), out.unwrap())
        };
        let (list, plans, written) = (place("list"), place("plans"), place("written"));
        batch(&["batch.yml", "--matrix", "--shards", "2", "--out", &list], Some(READ_TOKEN)).expect_code(0);
        let manifest = format!("{list}/manifest.json");
        for (at, shard) in ["1/2", "2/2"].into_iter().enumerate() {
            let out = format!("{plans}/architect-ci-shard-{at}");
            let args = ["--manifest", &manifest, "--shard", shard, "--mode", "dry-run", "--deliver", "none"];
            batch(&[&args[..], &["--out", &out]].concat(), Some(READ_TOKEN));
        }
        assert_eq!(scene.github.world().refused_writes, Vec::<String>::new());
        let (listed, planned) = (manifest_digest(&manifest), report_digests(&plans));
        let args = ["--manifest", &manifest, "--plans", &plans, "--deliver", "pull-request", "--jobs", "1"];
        let digests = ["--manifest-digest", &listed, "--report-digests", &planned];
        let args = [&args[..], &digests, &["--out", &written]].concat();
        let report = batch(&args, None).json("batch.json");
        let task = |id: &str| {
            let tasks = report["tasks"].as_array().unwrap();
            tasks.iter().find(|task| task["id"] == id).unwrap_or_else(|| panic!("{id}")).clone()
        };
        // One pull request is permitted; what failed or changed nothing in its shard stays as it is.
        let delivered = |id: &str| task(id)["delivery"]["branch"].as_str().map(str::to_owned);
        assert_eq!(delivered("one").as_deref(), Some("architect-ci/nightly-one"), "{report:#}");
        assert_eq!((delivered("two"), &task("two")["end"]), (None, &json!("failed")));
        assert!(task("two").to_string().contains("apply.max_pull_requests"), "{report:#}");
        assert_eq!((&task("none")["end"], &task("three")["end"]), (&json!("failed"), &json!("success")));
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 1);
        // A plan of another night is none of this run's.
        let foreign = [("GITHUB_RUN_ID", "4712")];
        let mut command = scene.sandbox.command(&["batch", "--event", &event, "--workspace", &repo]);
        let again = place("again");
        command.args([
            "--manifest",
            &manifest,
            "--plans",
            &plans,
            "--deliver",
            "pull-request",
            "--manifest-digest",
            &listed,
            "--report-digests",
            &planned,
            "--out",
            &again,
        ]);
        command.envs(variables.iter().cloned()).env("GITHUB_WORKFLOW_REF", WORKFLOW).envs(foreign);
        let run = Run::new(&command.output().expect("the binary runs"), PathBuf::from(&again)).expect_code(1);
        assert!(
            run.file("batch.json").contains("for the run 4711, but this is 4712"),
            "{}",
            run.file("batch.json")
        );
        scene.github.assert_valid();
    })
    .await;
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
