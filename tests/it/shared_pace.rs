//! Shards on machines of their own that share the rate limit of one model, and know nothing of each other.
#![cfg(unix)]

use std::process::Stdio;
use std::time::Instant;

use serde_json::{Value, json};

use crate::faults::{LimitedServer, ends, tasks};
use crate::support::Sandbox;

const MACHINES: usize = 16;

/// Requests of a task.
const TURNS: usize = 2;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

#[test]
fn shards_share_the_requests_that_a_model_allows() {
    let (count, per_second) = (number("PACE_TASKS", 48), number("PACE_PER_SECOND", 8));
    let config = "llm: { stream: false }\nevaluation: off\n";
    let sandbox = Sandbox::new(&[("a.txt", "one\ntwo\nthree\n"), (".architect.yml", config)]);
    let mut file: Value =
        serde_json::from_str(&tasks("paced", count, &json!({"task": "Read {n}", "mode": "dry-run"})))
            .unwrap();
    file["requests_per_minute"] = json!(60 * per_second);
    sandbox.write("batch.yml", file.to_string());
    sandbox.commit("tasks");
    let server = LimitedServer::start(per_second, TURNS);
    let list = sandbox.path().join("list");
    let args = ["batch", "batch.yml", "--matrix", "--out", list.to_str().unwrap()];
    assert!(sandbox.command(&args).current_dir(sandbox.repo()).output().unwrap().status.success());
    let began = Instant::now();
    let shards: Vec<_> = (1..=MACHINES)
        .map(|shard| {
            // Each with a checkout and a home of its own.
            let machine = Sandbox::clone_of(&sandbox);
            let (manifest, out) = (list.join("manifest.json"), machine.out());
            let mut command = machine.command(&["batch", "--manifest", manifest.to_str().unwrap()]);
            command.args(["--shard", &format!("{shard}/{MACHINES}"), "--out", out.to_str().unwrap()]);
            command.args(["--jobs", "4", "--model", "openai::gpt-5", "--base-url", &server.url]);
            command.current_dir(machine.repo()).stdout(Stdio::null()).stderr(Stdio::null());
            (command.spawn().expect("the binary runs"), machine)
        })
        .collect();
    let mut done = 0;
    for (mut child, machine) in shards {
        assert!(child.wait().expect("an end").success());
        let report = std::fs::read_to_string(machine.out().join("batch.json")).expect("a report");
        done += ends(&serde_json::from_str(&report).expect("JSON"))["success"];
    }
    let took = began.elapsed().as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let ideal = (count * TURNS) as f64 / per_second as f64;
    let (refused, most) = server.refusals();
    eprintln!(
        "{count} tasks in {took:.1} s, ideal {ideal:.1} s; {refused} refused, one {most} times at most"
    );
    assert_eq!(done, count);
    // Fewer than every second request; how long it takes depends on the machine as well.
    assert!(refused < count * TURNS / 2, "{refused} requests were refused");
    if let Some(most) = std::env::var("PACE_WITHIN").ok().and_then(|most| most.parse::<f64>().ok()) {
        assert!(took <= most * ideal, "{took} s, ideal {ideal} s");
    }
}
