//! Deliveries of a batch: with few requests, later where GitHub refuses more, and never twice.
#![cfg(unix)]

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::Run;
use crate::support::scene::{Scene, scene};

const TASKS: usize = 5;

const FILES: &[(&str, &str)] = &[
    ("recipe.yml", "steps:\n- files: ['n*.txt']\n  do: [{replace: {pattern: 'old', with: 'new'}}]\n"),
    ("n0/n.txt", "old\n"),
    ("n1/n.txt", "old\n"),
    ("n2/n.txt", "old\n"),
    ("n3/n.txt", "old\n"),
    ("n4/n.txt", "old\n"),
    ("top.txt", "top\n"),
    ("shared/lib/a.txt", "shared\n"),
];

/// A limit that lasts longer than any run.
const USED_UP: [(&str, &str); 3] =
    [("x-ratelimit-remaining", "0"), ("x-ratelimit-reset", "99999999999"), ("x-ratelimit-resource", "core")];

impl Scene {
    /// Commits a batch of tasks that each change a file of their own.
    fn with_tasks(self, more: &Value) -> Self {
        let scene = self.on_main();
        let mut entry = json!({
            "id": "t{n}", "recipe": "recipe.yml", "folder": "n{n}", "mode": "yolo", "deliver": "pull-request",
            "for_each": {"n": {"values": (0..TASKS).map(|n| n.to_string()).collect::<Vec<_>>()}},
        });
        entry.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        scene.sandbox.write("batch.yml", json!({"name": "nightly", "tasks": [entry]}).to_string());
        scene.sandbox.commit("tasks");
        scene.github.serve(&scene.sandbox.repo());
        scene.github.world().repository.as_ref().unwrap().set("refs/pull/8/head", &scene.head);
        scene
    }

    /// Pushes what is checked out to the default branch.
    fn push_main(&self) {
        let origin = self.github.world().repository.as_ref().unwrap().path();
        self.sandbox.git(&["push", "--quiet", origin.to_str().unwrap(), "HEAD:main"]);
    }

    /// Starts `batch` with these arguments, on a schedule.
    fn batch(&self, args: &[&str], out: &str) -> Run {
        let event = self.event("schedule", &[]).display().to_string();
        let (out, repo) = (self.sandbox.path().join(out), self.sandbox.repo().display().to_string());
        let mut command = self.sandbox.command(&["batch"]);
        command.args(args).args(["--event", &event, "--workspace", &repo, "--out", out.to_str().unwrap()]);
        command.envs(self.variables("schedule")).env("GITHUB_SHA", self.sandbox.git(&["rev-parse", "HEAD"]));
        Run::new(&command.output().expect("the binary runs"), out)
    }

    /// Numbers of pull requests by title.
    fn pulls(&self) -> Vec<String> {
        let world = self.github.world();
        let ours = world.pulls.iter().filter(|(number, _)| **number >= 100);
        ours.map(|(_, pull)| pull.head.trim_start_matches("refs/heads/").to_owned()).collect()
    }
}

fn held(report: &Value) -> usize {
    report["tasks"].as_array().unwrap().iter().filter(|task| !task["held"].is_null()).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_of_batch_takes_few_requests() {
    scene(FILES, |scene| {
        let scene = scene.with_tasks(&json!({}));
        let sent = |work: &dyn Fn() -> Run| {
            let before = scene.github.requests().len();
            let run = work();
            (run, scene.github.requests().split_off(before))
        };
        let (_, requests) = sent(&|| scene.batch(&["batch.yml"], "first").expect_code(0));
        assert_eq!(scene.pulls().len(), TASKS);
        assert_eq!(requests.len(), 4 * TASKS + 1, "four for each task, and one query for all: {requests:#?}");
        // What became of them is told by task; pull requests of people are none of ours.
        let outcomes = |by: &str| -> Value {
            let mut command = scene.sandbox.command(&["outcomes", "--json", "--by", by]);
            let output = command.envs(scene.variables("schedule")).output().expect("the binary runs");
            serde_json::from_slice(&output.stdout).expect("JSON")
        };
        let told = outcomes("task");
        let expected: Vec<String> = (0..TASKS).map(|n| format!("nightly-t{n}")).collect();
        assert_eq!(told.as_object().unwrap().keys().cloned().collect::<Vec<_>>(), expected, "{told}");
        assert_eq!((&told["nightly-t0"]["open"], &told["nightly-t0"]["merged"]), (&json!(1), &json!(0)));
        for (by, name) in [("recipe", "recipe.yml"), ("model", "recipe::recipe.yml"), ("agent", "build")] {
            let told = outcomes(by);
            assert_eq!(told[name]["open"], TASKS, "{by}: {told}");
        }
        // Nothing new.
        let (run, requests) = sent(&|| scene.batch(&["batch.yml"], "second").expect_code(0));
        assert_eq!(requests, ["POST /graphql"], "{requests:#?}");
        let delivery = &run.json("batch.json")["tasks"][0]["delivery"];
        assert_eq!(
            (&delivery["commit"], &delivery["pull_request"]["number"].is_u64()),
            (&Value::Null, &true)
        );
        // Something new: the branch is made anew, and its pull request brought up to date.
        scene.sandbox.write("n0/n.txt", "old and older\n");
        scene.sandbox.commit("more to do");
        scene.push_main();
        let (_, requests) = sent(&|| scene.batch(&["batch.yml"], "third").expect_code(0));
        assert!(requests.len() <= 4 * TASKS + 1, "{requests:#?}");
        assert_eq!(scene.pulls().len(), TASKS);
        // A branch with a commit of somebody else is left alone.
        let tip = {
            let world = scene.github.world();
            world.repository.as_ref().unwrap().push(
                "architect-ci/nightly-t1",
                &[("n1/n.txt", "mine\n")],
                "mine",
            )
        };
        scene.sandbox.write("n1/n.txt", "old, old\n");
        scene.sandbox.commit("more to do");
        scene.push_main();
        let run = scene.batch(&["batch.yml"], "fourth").expect_code(1);
        assert!(
            run.file("batch.json").contains("contains commits that this job did not make"),
            "{}",
            run.stderr
        );
        let world = scene.github.world();
        assert_eq!(world.repository.as_ref().unwrap().branch("architect-ci/nightly-t1"), Some(tip));
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_delivers_later_what_limit_held_up() {
    scene(FILES, |scene| {
        let scene = scene.with_tasks(&json!({"retry": {"times": 2, "wait": 0, "on": ["failed"]}}));
        scene.github.fail_with("POST /repos/octo/demo/git/refs", 403, "API rate limit exceeded", &USED_UP);
        let run = scene.batch(&["batch.yml", "--jobs", "1"], "out").expect_code(1);
        let report = run.json("batch.json");
        assert_eq!((held(&report), scene.pulls().len()), (TASKS, 0), "{report:#}");
        assert_eq!(report["tasks"][0]["attempts"], 1, "the work is done, and not done again");
        assert!(
            report["notices"].to_string().contains("5 tasks are done, but were not delivered"),
            "{report:#}"
        );
        // One was told of the limit; of the others, nobody asked.
        assert_eq!(scene.github.count("POST /repos/octo/demo/git/refs"), 1);
        assert_eq!(scene.github.count("POST /repos/octo/demo/git/trees"), 1);
        // A plan that somebody else has written is not delivered, nor is one that was changed.
        let plan = |n: usize| run.out.join(format!("tasks/t{n}/plan.json"));
        let honest = fs::read_to_string(plan(3)).unwrap();
        let changed = honest.replace("+new", "+bad");
        assert_ne!(honest, changed);
        fs::write(plan(3), changed).unwrap();
        // Later the limit is over, but for the last one.
        scene.github.fail_with("POST /repos/octo/demo/pulls", 502, "Bad Gateway", &[]);
        let later = scene.batch(&["deliver", "--jobs", "1"], "out").expect_code(1);
        let report = later.json("batch.json");
        let ends: Vec<&str> =
            report["tasks"].as_array().unwrap().iter().map(|task| task["end"].as_str().unwrap()).collect();
        assert_eq!(ends, ["success", "success", "success", "failed", "success"], "{report:#}");
        assert_eq!(report["tasks"][0]["delivery"]["branch"], "architect-ci/nightly-t0");
        assert_eq!(scene.pulls().len(), 4);
        // What was found changed is held no more. The work can be done again, and nothing is delivered twice.
        fs::write(plan(3), honest).unwrap();
        scene.batch(&["deliver"], "out").expect_code(1);
        assert_eq!(scene.pulls().len(), TASKS - 1);
        scene.batch(&["batch.yml", "--resume", "--retry", "failed"], "out").expect_code(0);
        assert_eq!(scene.pulls().len(), TASKS);
        let before = scene.github.requests().len();
        scene.batch(&["deliver"], "out").expect_code(0);
        assert_eq!(scene.github.requests().len(), before, "there is nothing to deliver");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_resumed_delivers_what_it_holds() {
    scene(FILES, |scene| {
        let scene = scene.with_tasks(&json!({}));
        scene.github.fail_with("POST /graphql", 403, "API rate limit exceeded", &[("retry-after", "100000")]);
        let first = scene.batch(&["batch.yml"], "out").expect_code(1);
        assert_eq!(held(&first.json("batch.json")), TASKS);
        // The task would do something else by now: what was done is what is delivered.
        fs::write(scene.sandbox.repo().join("recipe.yml"), "steps: []\n").unwrap();
        let resumed = scene.batch(&["batch.yml", "--resume"], "out").expect_code(0);
        assert_eq!((held(&resumed.json("batch.json")), scene.pulls().len()), (0, TASKS));
        let world = scene.github.world();
        let content = world.repository.as_ref().unwrap().show("architect-ci/nightly-t2", "n2/n.txt");
        assert_eq!(content.as_deref(), Some(&b"new\n"[..]));
        drop(world);
        // There is nothing to deliver where no batch was.
        let empty = scene.batch(&["deliver"], "empty");
        assert_eq!(empty.code, 3);
        assert!(empty.stderr.contains("contains no batch of this user"), "{}", empty.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn batch_settles_what_people_closed_until_it_changes() {
    scene(FILES, |scene| {
        let scene = scene.with_tasks(&json!({}));
        // One more, which is never done in time.
        let edit = |old: &str, new: &str| {
            vec![("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}))]
        };
        let model = scene.sandbox.script(&[edit("five", "FIVE"), edit("six", "SIX")], "done");
        let text = fs::read_to_string(scene.sandbox.repo().join("batch.yml")).expect("a batch");
        let mut batch: Value = serde_json::from_str(&text).expect("JSON");
        let part = json!({
            "id": "part", "task": "Do it", "model": model, "max_steps": 1, "mode": "yolo", "deliver": "pull-request",
        });
        batch["tasks"].as_array_mut().expect("tasks").push(part);
        scene.sandbox.write("batch.yml", batch.to_string());
        scene.sandbox.write(".github/architect.yml", "deliver: { partial: draft }\nevaluation: off\n");
        scene.sandbox.commit("one more");
        scene.push_main();
        let set = |branch: &str, is_open: bool| {
            let mut world = scene.github.world();
            let pull = world.pulls.values_mut().find(|pull| pull.head.ends_with(branch)).expect("a pull request");
            pull.open = is_open;
        };
        // What each task came to, and why it was settled.
        let night = |before: &str, now: &str, code: i32| -> Vec<(String, String)> {
            let before = scene.sandbox.path().join(before).join("batch.json").display().to_string();
            let run = scene.batch(&["batch.yml", "--previous", &before], now).expect_code(code);
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let tasks = run.json("batch.json")["tasks"].as_array().expect("tasks").clone();
            tasks.iter().map(|task| (text(&task["end"]), text(&task["settled_because"]))).collect()
        };
        night("none", "first", 2);
        let opened = scene.pulls().len();
        set("nightly-t0", false);
        set("nightly-part", false);
        let before = scene.github.requests().len();
        let told = night("first", "second", 0);
        assert_eq!(scene.github.requests().split_off(before), ["POST /graphql"]);
        let is_closed = |(end, why): &(String, String)| {
            assert!(end == "settled" && ["closed", "unchanged"].contains(&why.as_str()), "{end}: {why}");
            why == "closed"
        };
        assert_eq!(told.iter().map(is_closed).collect::<Vec<_>>(), [true, false, false, false, false, true]);
        // The reason stays as long as it is true, and GitHub is not needed for that.
        scene.github.fail("POST /graphql ClosedPulls", 403, "Resource not accessible by integration");
        let told = night("second", "third", 0);
        assert!(is_closed(&told[0]) && !is_closed(&told[1]), "{told:?}");
        scene.github.world().clear_faults();
        // One that GitHub does not have hides none of the others.
        let number = |(number, pull): (&u64, &crate::support::github::Pull)| pull.head.ends_with("nightly-t1").then_some(*number);
        let number = scene.github.world().pulls.iter().find_map(number).expect("a pull request");
        let gone = scene.github.world().pulls.remove(&number).expect("a pull request");
        let told = night("first", "gone", 0);
        assert!(is_closed(&told[0]) && !is_closed(&told[1]), "{told:?}");
        scene.github.world().pulls.insert(number, gone);
        // Opened again by somebody, or changed: done again.
        set("nightly-t0", true);
        set("nightly-part", true);
        let told = night("third", "fourth", 2);
        assert_eq!((told[0].0.as_str(), told[5].0.as_str()), ("success", "partial"), "{told:?}");
        assert_eq!(scene.pulls().len(), opened);
        scene.github.assert_valid();
    })
    .await;
}

/// What another job delivers later may be closed by people as well.
#[test]
fn batch_that_delivers_nothing_tells_what_its_plans_depend_on() {
    let sandbox = crate::support::Sandbox::new(&[
        (
            "batch.yml",
            "name: b\ntasks:\n- { id: weaker, recipe: weaker.yml }\n- { id: none, recipe: none.yml }\n",
        ),
        (
            "weaker.yml",
            "steps:\n- files: [test_a.py]\n  do: [{ replace: { pattern: '    assert two.*\\n', with: '' } }]\n",
        ),
        ("test_a.py", "def test_a():\n    assert one() == 1\n    assert two() == 2\n"),
    ]);
    let run = crate::faults::batch(&sandbox, &["--mode", "dry-run", "--deliver", "none"]);
    let tasks = run.json("batch.json")["tasks"].clone();
    // It is done, and does not show all that was asked of it: the tests demand less than before.
    assert_eq!(
        (&tasks[0]["end"], &tasks[0]["stop_reason"]),
        (&json!("success"), &json!("tests_demand_less"))
    );
    assert!(tasks[0]["key"].is_object(), "{tasks:#}");
    assert!(tasks[1]["key"].is_null(), "{tasks:#}");
}

#[test]
fn batch_works_in_sparse_worktrees() {
    let sandbox = crate::support::Sandbox::new(FILES);
    let gate = |command: &str| json!([{"name": "sees", "command": command}]);
    let task = |id: &str, more: Value| {
        let mut task = json!({"id": id, "recipe": "recipe.yml", "folder": "n0"});
        task.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        task
    };
    let tasks = [
        task("whole", json!({"gates": gate("test -e ../n1/n.txt && test -e ../shared/lib/a.txt")})),
        task(
            "sparse",
            json!({"sparse": [], "gates": gate("test -e ../top.txt && ! test -e ../n1 && ! test -e ../shared")}),
        ),
        task(
            "more",
            json!({"sparse": ["shared/lib"], "gates": gate("test -e ../shared/lib/a.txt && ! test -e ../n1")}),
        ),
        json!({"id": "everywhere", "recipe": "recipe.yml", "sparse": [], "gates": gate("test -e n1/n.txt")}),
    ];
    sandbox.write(
        "batch.yml",
        json!({"name": "sparse", "defaults": {"mode": "yolo", "deliver": "patch"}, "tasks": tasks})
            .to_string(),
    );
    sandbox.commit("tasks");
    let config = fs::read(sandbox.repo().join(".git/config")).unwrap();
    let run = crate::faults::batch(&sandbox, &[]).expect_code(0);
    let patch = |id: &str| fs::read_to_string(run.out.join(format!("tasks/{id}/plan.patch"))).unwrap();
    assert_eq!(patch("sparse"), patch("whole"));
    assert!(patch("sparse").contains("n0/n.txt") && !patch("sparse").contains("n1"), "{}", patch("sparse"));
    assert_eq!(
        fs::read(sandbox.repo().join(".git/config")).unwrap(),
        config,
        "the clone's settings stay as they are"
    );
    assert_eq!(PathBuf::from(sandbox.git(&["status", "--porcelain"])), PathBuf::new());
    sandbox.write(
        "batch.yml",
        json!({"name": "s", "tasks": [task("bad", json!({"sparse": ["../other"]}))]}).to_string(),
    );
    sandbox.commit("outside");
    let refused = crate::faults::batch(&sandbox, &[]);
    assert!(refused.code == 3 && refused.stderr.contains("../other"), "{}", refused.stderr);
}
