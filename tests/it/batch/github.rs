//! Posts of a batch: a branch and a pull request for each task, one comment for all.

use std::fs;
use std::path::Path;

use super::program;
use crate::support::scene::scene;

const NIGHTLY: &[(&str, &str)] = &[
    (
        "batch.yml",
        "name: nightly\ndefaults: {mode: yolo, deliver: pull-request}\ntasks:\n- {id: 'fix {n}', recipe: 'r{n}.yml', for_each: {n: {values: ['1', '2']}}}\n",
    ),
    ("b.txt", "five\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn batch_task_keeps_branch_and_pull_request() {
    scene(NIGHTLY, |scene| {
        let scene = scene.on_main();
        for (n, file) in [(1, "a.txt"), (2, "b.txt")] {
            let recipe = format!("description: Shout in {file}\nsteps:\n- files: [{file}]\n  do: [{{replace: {{pattern: five, with: FIVE}}}}]\n");
            scene.sandbox.write(&format!("r{n}.yml"), recipe);
        }
        // The recipes are on the commit that the batch is about, and on GitHub.
        scene.sandbox.commit("recipes");
        scene.github.serve(&scene.sandbox.repo());
        let event = scene.event("schedule", &[]);
        let variables: Vec<(String, String)> = scene.variables("schedule");
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let night = || {
            let args = ["batch", "batch.yml", "--event", event.to_str().unwrap(), "--out", scene.sandbox.out().to_str().unwrap()].map(str::to_owned);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            program(&scene.sandbox, &args, &variables).expect_code(0)
        };
        let report = night().json("batch.json");
        let branch = |n: usize| report["tasks"][n]["delivery"]["branch"].as_str().unwrap().to_owned();
        let titles: Vec<String> = scene.github.world().pulls.values().map(|pull| pull.title.clone()).collect();
        assert!(titles.contains(&"Shout in a.txt (fix-1)".to_owned()) && titles.contains(&"Shout in b.txt (fix-2)".to_owned()), "{titles:?}");
        assert_eq!((branch(0).as_str(), branch(1).as_str()), ("architect-ci/nightly-fix-1", "architect-ci/nightly-fix-2"));
        let tips = |scene: &crate::support::scene::Scene| {
            let world = scene.github.world();
            let repository = world.repository.as_ref().unwrap();
            [repository.branch("architect-ci/nightly-fix-1"), repository.branch("architect-ci/nightly-fix-2")]
        };
        let first = tips(&scene);
        assert!(first.iter().all(Option::is_some));
        night();
        assert_eq!(tips(&scene), first);
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 2);
        // A comment starts no batch.
        let (event, _) = scene.comment_event(7, "dev", "/architect run");
        let variables: Vec<(String, String)> = scene.variables("issue_comment");
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let run = program(&scene.sandbox, &["batch", "batch.yml", "--event", event.to_str().unwrap()], &variables).expect_code(3);
        assert!(run.stderr.contains("the event issue_comment, which anybody can cause, cannot start a batch"), "{}", run.stderr);
    })
    .await;
}

const ON_PULL: &[(&str, &str)] = &[
    ("batch.yml", "name: pull\ntasks:\n- {id: one, recipe: r.yml}\n- {id: two, recipe: none.yml}\n"),
    ("r.yml", "steps:\n- do: [{tool: write_file, with: {path: new.txt, content: x}}]\n"),
];

#[tokio::test(flavor = "multi_thread")]
async fn batch_posts_one_comment_and_ignores_strangers() {
    scene(ON_PULL, |scene| {
        let run = |event: &Path, name: &str, args: &[&str]| {
            let variables: Vec<(String, String)> = scene.variables(name);
            let variables: Vec<(&str, &str)> =
                variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let out = scene.sandbox.out();
            let all = [args, &["--event", event.to_str().unwrap(), "--out", out.to_str().unwrap()]].concat();
            program(&scene.sandbox, &all, &variables)
        };
        let event = scene.pull_event(7, "dev");
        for _ in 0..2 {
            let done = run(&event, "pull_request", &["batch", "batch.yml"]).expect_code(1);
            assert!(done.file("comment.md").contains("1 of 2 tasks done, 1 failed"));
        }
        // A merge brings the same comment up to date; a shard has none.
        let copy = scene.sandbox.path().join("artifacts/one");
        fs::create_dir_all(&copy).unwrap();
        fs::copy(scene.sandbox.out().join("batch.json"), copy.join("batch.json")).unwrap();
        let artifacts = scene.sandbox.path().join("artifacts");
        run(&event, "pull_request", &["report", "merge", artifacts.to_str().unwrap()]).expect_code(1);
        run(&event, "pull_request", &["batch", "batch.yml", "--shard", "1/2", "--comment-key", "part"]);
        {
            let world = scene.github.world();
            let ours: Vec<&String> = world
                .comments
                .values()
                .map(|comment| &comment.body)
                .filter(|body| body.contains("architect-ci comment:"))
                .collect();
            assert_eq!(ours.len(), 1, "{ours:?}");
            assert!(ours[0].starts_with("<!-- architect-ci comment: pull -->"));
        }
        let event = scene.pull_event(7, "stranger");
        let refused = run(&event, "pull_request_target", &["batch", "batch.yml"]).expect_code(3);
        assert!(refused.stderr.contains("stranger has no write permission"), "{}", refused.stderr);
    })
    .await;
}
