//! Shards on machines of their own that share the rate limit of one model and those of GitHub, and know nothing of each other.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::faults::{ends, tasks};
use crate::support::Sandbox;
use crate::support::limited_server::{LimitedServer, reads};
use crate::support::scene::{Scene, scene};

const MACHINES: usize = 16;

/// Requests of a task to its model, and requests that write for its pull request.
const TURNS: usize = 2;
const WRITES: usize = 4;

/// Where GitHub counts requests that write: half as many as the model's pace would make.
const WINDOW: Duration = Duration::from_secs(2);

const FILES: &[(&str, &str)] =
    &[("a.txt", "one\ntwo\nthree\n"), (".github/architect.yml", "llm: { stream: false }\nevaluation: off\n")];

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Shards of a batch at work, each on a machine with a checkout and a home of its own.
struct Shards(Vec<(Child, Sandbox)>);

impl Shards {
    /// Starts them on the batch that the origin has.
    fn start(origin: &Sandbox, server: &LimitedServer, variables: &[(String, String)]) -> Self {
        let commit = origin.git(&["rev-parse", "HEAD"]);
        let list = origin.path().join("list");
        let args = ["batch", "batch.yml", "--matrix", "--out", list.to_str().unwrap()];
        let listed = origin.command(&args).current_dir(origin.repo()).output().expect("the binary runs");
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let start = |shard| {
            let machine = Sandbox::clone_of(origin);
            let (manifest, out) = (list.join("manifest.json"), machine.out());
            let mut command = machine.command(&["batch", "--manifest", manifest.to_str().unwrap()]);
            command.args(["--shard", &format!("{shard}/{MACHINES}"), "--out", out.to_str().unwrap()]);
            command.args(["--jobs", "4", "--model", "openai::gpt-5", "--base-url", &server.url]);
            command.envs(variables.iter().cloned()).env("GITHUB_SHA", &commit);
            command.env("GITHUB_OUTPUT", machine.path().join("output"));
            let log = fs::File::create(machine.path().join("log")).expect("a log");
            command.current_dir(machine.repo()).stdout(Stdio::null()).stderr(log);
            (command.spawn().expect("the binary runs"), machine)
        };
        Self((1..=MACHINES).map(start).collect())
    }

    /// Returns how many tasks ended how.
    fn end(self) -> BTreeMap<String, usize> {
        let mut all = BTreeMap::new();
        for (mut child, machine) in self.0 {
            let log = || fs::read_to_string(machine.path().join("log")).unwrap_or_default();
            assert!(child.wait().expect("an end").success(), "{}", log());
            let report = fs::read_to_string(machine.out().join("batch.json")).expect("a report");
            for (end, count) in ends(&serde_json::from_str(&report).expect("JSON")) {
                *all.entry(end).or_default() += count;
            }
        }
        all
    }
}

/// Commits a batch of so many tasks, for a model that allows so many requests in a second.
fn commit_batch(origin: &Sandbox, count: usize, per_second: usize, more: &Value) {
    let mut file: Value = serde_json::from_str(&tasks("paced", count, more)).expect("JSON");
    file["requests_per_minute"] = json!(60 * per_second);
    origin.write("batch.yml", file.to_string());
    origin.commit("tasks");
}

#[test]
fn shards_share_the_requests_that_a_model_allows() {
    let (count, per_second) = (number("PACE_TASKS", 48), number("PACE_PER_SECOND", 8));
    let sandbox = Sandbox::new(FILES);
    let server = LimitedServer::start(per_second, TURNS, reads);
    commit_batch(&sandbox, count, per_second, &json!({"task": "Read {n}", "mode": "dry-run"}));
    let began = Instant::now();
    let done = Shards::start(&sandbox, &server, &[]).end();
    let took = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let ideal = (count * TURNS) as f64 / per_second as f64;
    let (refused, most) = server.refusals();
    eprintln!(
        "{count} tasks in {took:.1} s, ideal {ideal:.1} s; {refused} refused, one {most} times at most"
    );
    assert_eq!(done, BTreeMap::from([("success".to_owned(), count)]));
    // Fewer than every second request; how long it takes depends on the machine as well.
    assert!(refused < count * TURNS / 2, "{refused} requests were refused");
    if let Some(most) = std::env::var("PACE_WITHIN").ok().and_then(|most| most.parse::<f64>().ok()) {
        assert!(took <= most * ideal, "{took} s, ideal {ideal} s");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn shards_share_what_a_github_with_secondary_limits_allows() {
    scene(FILES, |scene| {
        let scene: Scene = scene.on_main();
        let (count, per_second) = (number("PACE_TASKS", 16), number("PACE_PER_SECOND", 4));
        let server = LimitedServer::start(per_second, TURNS, |request, _| {
            // Each edit is another one, or their requests to GitHub could not be told apart.
            let text = request.to_string();
            let task = text.split_once("Edit for ").expect("a task").1;
            let name: String = task.chars().take_while(char::is_ascii_alphanumeric).collect();
            ("edit_file", json!({"path": "a.txt", "old_str": "two", "new_str": name}))
        });
        scene.github.limit_writes(per_second * WRITES / TURNS, WINDOW);
        let task = json!({"task": "Edit for {n}", "mode": "yolo", "deliver": "pull-request"});
        commit_batch(&scene.sandbox, count, per_second, &task);
        scene.github.serve(&scene.sandbox.repo());
        scene.github.world().repository.as_ref().unwrap().set("refs/pull/8/head", &scene.head);
        let mut variables = scene.variables("schedule");
        let event = scene.event("schedule", &[]).display().to_string();
        variables.push(("GITHUB_EVENT_PATH".to_owned(), event));
        let began = Instant::now();
        let done = Shards::start(&scene.sandbox, &server, &variables).end();
        let (refused, often) = scene.github.refusals();
        let took = began.elapsed();
        eprintln!("{count} tasks in {took:.0?}: GitHub refused {refused} requests, one {often} times at most; {done:?}");
        assert_eq!(done, BTreeMap::from([("success".to_owned(), count)]));
        assert!(refused < count * WRITES, "{refused} requests were refused");
        let ours = scene.github.world().pulls.keys().filter(|number| **number >= 100).count();
        assert_eq!(ours, count, "each has its pull request");
        scene.github.assert_valid();
    })
    .await;
}
