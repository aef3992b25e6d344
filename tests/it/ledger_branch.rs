//! A ledger on a branch: what machines that share no disk spend together.
#![cfg(unix)]

use serde_json::{Value, json};

use crate::records::writers;
use crate::support::Run;
use crate::support::model::{Answer, ModelServer};
use crate::support::scene::{Scene, scene};
use crate::support::wait::wait_until;

// Each answer of the server counts 1000 tokens in (600 of them cached) and 50 out: $0.0013 by these prices.
const FILES: &[(&str, &str)] = &[
    (
        ".github/architect.yml",
        "evaluation: off\ncosts: { budget_per_day: 0.006, prices_file: prices.yml }\nllm: { stream: false }\n",
    ),
    ("prices.yml", "gpt-5: { input: 1, cached: 0.5, output: 12 }\n"),
];

const BRANCH: &str = "architect-ci-records";

impl Scene {
    fn spends(&self, answers: usize, more: &[&str]) -> (Run, usize) {
        let read = |n: usize| Answer::Calls(vec![("read_file", json!({"path": "a.txt", "end_line": n + 1}))]);
        let answers = (1..answers).map(read).chain([Answer::Text("done")]).collect();
        let server = ModelServer::start(answers);
        let event = self.event("schedule", &[]);
        let args = [&["--model", "openai::gpt-5", "--base-url", &server.url], more].concat();
        (self.run("schedule", &event, &args, &[("OPENAI_API_KEY", "k")]), server.bodies().len())
    }

    fn costs(&self, args: &[&str]) -> Value {
        let all = [&["costs", "--ledger", "branch", "--json"], args].concat();
        let output = self.sandbox.command(&all).envs(self.variables("schedule")).output().expect("it runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_on_branch_keeps_budget_over_machines() {
    scene(FILES, |scene| {
        let scene = scene.on_main();
        // Without a name, in Actions, a branch of ours keeps it.
        let (first, requests) = scene.spends(2, &["--budget-usd", "0.5"]);
        let first = first.expect_code(0);
        assert_eq!((requests, &first.report()["cost_usd"]), (2, &json!(0.0026)));
        let sum = |costs: &Value| costs["openai::gpt-5"]["usd"].as_f64().unwrap();
        let costs = scene.costs(&["--by", "model"]);
        assert_eq!((sum(&costs), &costs["openai::gpt-5"]["answers"]), (0.0026, &json!(2)), "{costs}");
        // The next one has what is left, and stops there.
        let (second, requests) = scene.spends(9, &[]);
        let report = second.expect_code(2).report();
        assert_eq!((requests, &report["stop_reason"]), (3, &json!("budget_exceeded")));
        assert!((sum(&scene.costs(&["--by", "model"])) - 0.0065).abs() < 1e-9);
        // The third does not begin.
        let (third, requests) = scene.spends(1, &[]);
        assert_eq!(requests, 0);
        assert!(third.expect_code(2).stderr.contains("is spent: $0.0065 of $0.0060"));
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_on_branch_counts_reservation_of_killed_run() {
    scene(FILES, |scene| {
        let scene = scene.on_main();
        // Its answer never comes: it is killed while it holds all that is left.
        let silent = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", silent.local_addr().expect("an address"));
        let event = scene.event("schedule", &[]);
        let out = scene.sandbox.path().join("killed");
        let args = ["--model", "openai::gpt-5", "--base-url", &url, "--budget-usd", "0.5"];
        let mut child =
            scene.job("schedule", &event, &out, &args).env("OPENAI_API_KEY", "k").spawn().expect("it runs");

        let is_reserved = || {
            let world = scene.github.world();
            world.repository.as_ref().unwrap().branch(BRANCH).is_some()
        };
        wait_until("it reserves", is_reserved);
        child.kill().expect("killed");
        child.wait().expect("ended");
        let (next, requests) = scene.spends(9, &[]);
        assert_eq!(requests, 0);
        assert!(next.expect_code(2).stderr.contains("is spent: $0.0060 of $0.0060"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_on_branch_that_cannot_be_read_refuses() {
    scene(FILES, |scene| {
        let scene = scene.on_main();
        scene.sandbox.git(&["branch", BRANCH]);
        scene.github.serve(&scene.sandbox.repo());
        let (run, requests) = scene.spends(1, &[]);
        assert_eq!(requests, 0);
        assert!(run.expect_code(3).stderr.contains("contains commits that are not records of architect-ci"));
        // GitHub does not answer.
        scene.github.forbid("GET /repos/octo/demo/git/ref");
        let (run, requests) = scene.spends(1, &[]);
        assert_eq!((requests, run.code), (0, 3), "{}", run.stderr);
        // Unless it was said that people are only told.
        let config = FILES[0].1.replace("prices.yml }", "prices.yml, unmeasured: warn }");
        scene.sandbox.write(".github/architect.yml", config);
        scene.sandbox.commit("warn");
        let head = scene.sandbox.git(&["rev-parse", "HEAD"]);
        let scene = Scene { base: head, ..scene };
        let (run, requests) = scene.spends(1, &[]);
        let run = run.expect_code(0);
        assert_eq!(requests, 1);
        assert!(run.stderr.contains("could not use the ledger on its branch"), "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_that_cannot_be_closed_does_not_hide_what_was_done() {
    const UNLIMITED: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "evaluation: off\ncosts: { prices_file: prices.yml }\nllm: { stream: false }\n",
        ),
        FILES[1],
        ("batch.yml", "name: night\ntasks: [{ id: one, task: Look }]\n"),
    ];
    scene(UNLIMITED, |scene| {
        let scene = scene.on_main();
        // Nothing is limited, so that nothing is written before the end.
        scene.github.forbid("POST /repos/octo/demo/git/trees");
        let (run, requests) = scene.spends(1, &["--ledger", "branch"]);
        let run = run.expect_code(1);
        let report = run.report();
        assert_eq!((requests, &report["status"], &report["exit_code"]), (1, &json!("failed"), &json!(1)));
        assert_eq!(report["stop_reason"], "costs_not_recorded");
        assert!(run.file("comment.md").contains("could not use the ledger on its branch"));
        assert!(run.stderr.contains("could not use the ledger on its branch"), "{}", run.stderr);
        assert!(run.stdout.contains("done"), "{}", run.stdout);
        let server = ModelServer::start(vec![Answer::Text("done")]);
        let out = scene.sandbox.path().join("night");
        let repo = scene.sandbox.repo();
        let output = scene
            .sandbox
            .command(&["batch", "batch.yml", "--model", "openai::gpt-5", "--base-url", &server.url])
            .args(["--ledger", "branch", "--expect", "any", "--workspace"])
            .args([repo.as_os_str(), "--out".as_ref(), out.as_os_str()])
            .envs(scene.variables("workflow_dispatch"))
            .env("OPENAI_API_KEY", "k")
            .current_dir(&repo)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
        let report = std::fs::read_to_string(out.join("batch.json")).expect("a report");
        let report: Value = serde_json::from_str(&report).expect("JSON");
        assert_eq!(report["tasks"][0]["end"], "success", "{report}");
        assert_eq!((&report["status"], &report["exit_code"]), (&json!("failed"), &json!(1)));
        let told = report["notices"].to_string();
        assert!(told.contains("could not use the ledger on its branch"), "{told}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_that_cannot_be_closed_is_told_beside_the_error_of_the_run() {
    scene(FILES, |scene| {
        let scene = scene.on_main();
        // What may be spent is reserved, and nothing after that can be written.
        scene.github.forbid_after(1, "POST /repos/octo/demo/git/trees");
        let server = ModelServer::start(vec![Answer::Text("done")]);
        let event = scene.event("schedule", &[]);
        let args = ["--model", "openai::mystery", "--base-url", &server.url, "--ledger", "branch"];
        let run = scene.run("schedule", &event, &args, &[("OPENAI_API_KEY", "k")]).expect_code(3);
        assert_eq!(server.bodies().len(), 0);
        assert!(run.stderr.contains("no price is known for openai::mystery"), "{}", run.stderr);
        assert!(run.stderr.contains("could not use the ledger on its branch"), "{}", run.stderr);
        // What was reserved counts as spent, as nobody could say otherwise.
        assert!(
            (scene.costs(&[]).as_object().unwrap().values().next().unwrap()["usd"].as_f64().unwrap() - 0.006)
                .abs()
                < 1e-9
        );
    })
    .await;
}

/// Runs of many machines at the same time: their reports' costs, and how many answers they got. A run without a known price has
/// no cost. No report is left behind.
fn spend_at_once(
    scene: &Scene,
    ledger: &str,
    answers: impl Fn(usize) -> usize,
    model: impl Fn(usize) -> &'static str,
) -> (f64, u64) {
    let event = scene.event("schedule", &[]);
    let start = |number: usize| {
        let read = |n: usize| Answer::Calls(vec![("read_file", json!({"path": "a.txt", "end_line": n + 1}))]);
        let server =
            ModelServer::start((1..answers(number)).map(read).chain([Answer::Text("done")]).collect());
        let out = scene.sandbox.path().join(format!("machine-{number}"));
        let args =
            ["--model", model(number), "--base-url", &server.url, "--budget-usd", "0.02", "--ledger", ledger];
        let mut command = scene.job("schedule", &event, &out, &args);
        command.env("OPENAI_API_KEY", "k").env("XDG_STATE_HOME", out.with_extension("state"));
        (command.spawn().expect("it runs"), out, server)
    };
    let running: Vec<_> = (0..writers()).map(start).collect();
    let (mut usd, mut count) = (0.0, 0);
    for (mut child, out, server) in running {
        child.wait().expect("an end");
        if let Ok(text) = std::fs::read_to_string(out.join("report.json")) {
            let report: Value = serde_json::from_str(&text).expect("JSON");
            usd += report["cost_usd"].as_f64().unwrap_or(0.0);
            std::fs::remove_dir_all(&out).expect("removed");
        }
        count += server.bodies().len() as u64;
    }
    (usd, count)
}

fn total(costs: &Value, key: &str) -> f64 {
    costs.as_object().expect("sums").values().filter_map(|sum| sum[key].as_f64()).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_on_branch_is_the_sum_of_all_reports() {
    const WARNS: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "evaluation: off\ncosts: { budget_per_month: 50, unmeasured: warn, prices_file: prices.yml }\nllm: { stream: false }\n",
        ),
        FILES[1],
    ];
    scene(WARNS, |scene| {
        let scene = scene.on_main();
        let model = |number| if number % 4 == 3 { "openai::mystery" } else { "openai::gpt-5" };
        let (usd, answers) = spend_at_once(&scene, "branch", |number| 1 + number % 3, model);
        let costs = scene.costs(&["--by", "month"]);
        assert!((total(&costs, "usd") - usd).abs() < 1e-9 && usd > 0.0, "{usd}: {costs}");
        #[expect(clippy::cast_precision_loss, reason = "a few")]
        let answers = answers as f64;
        assert!((total(&costs, "answers") - answers).abs() < 0.5, "{answers}: {costs}");
        assert!(total(&costs, "unpriced") >= 1.0 && total(&costs, "reserved") < 0.5, "{costs}");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_on_branch_is_never_above_the_cap_by_more_than_one_answer() {
    const CAPPED: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "evaluation: off\ncosts: { budget_per_day: 0.03, prices_file: prices.yml }\nllm: { stream: false }\n",
        ),
        FILES[1],
    ];
    scene(CAPPED, |scene| {
        let scene = scene.on_main();
        // Together they want more than there is.
        let (usd, answers) = spend_at_once(&scene, "branch", |_| 9, |_| "openai::gpt-5");
        let costs = scene.costs(&["--by", "day"]);
        assert!((total(&costs, "usd") - usd).abs() < 1e-9, "{usd}: {costs}");
        assert!(usd <= 0.03 + 0.0013 + 1e-9 && answers >= 9, "{usd} USD for {answers} answers");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ledger_in_a_file_is_never_above_the_cap_by_more_than_one_answer() {
    const CAPPED: &[(&str, &str)] = &[
        (
            ".github/architect.yml",
            "evaluation: off\ncosts: { budget_per_day: 0.03, prices_file: prices.yml }\nllm: { stream: false }\n",
        ),
        FILES[1],
    ];
    scene(CAPPED, |scene| {
        let scene = scene.on_main();
        let file = scene.sandbox.path().join("costs.jsonl");
        // Of the most that the answers under way could cost, hardly two would fit.
        let (usd, answers) = spend_at_once(&scene, file.to_str().unwrap(), |_| 9, |_| "openai::gpt-5");
        assert!((0.03..0.03 + 0.0013 + 1e-9).contains(&usd), "{usd} USD for {answers} answers");
        let claims = std::fs::read_dir(scene.sandbox.path().join("costs.jsonl.claims")).expect("claims");
        assert_eq!(claims.count(), 1, "the lock alone is left");
    })
    .await;
}
