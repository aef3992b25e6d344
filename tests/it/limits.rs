//! Long conversations and money: what is summarised, what is stopped, and that people are told.

use crate::support::model::{Answer, ModelServer};
use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

fn notices(run: &Run) -> Vec<String> {
    let report = run.report();
    report["notices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|notice| notice["message"].as_str().unwrap().to_owned())
        .collect()
}

fn told(sandbox: &Sandbox) -> Vec<Value> {
    let text = std::fs::read_to_string(sandbox.path().join("told")).unwrap_or_default();
    text.lines()
        .filter(|line| !line.is_empty())
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

#[test]
fn long_conversation_is_summarized() {
    let config = "evaluation: off\ncontext: { max_context_tokens: 8000, summarize_after_steps: 4, keep_recent_steps: 2 }\n\
         commands: { writable_paths: ['..'] }\nhooks:\n  context_compress: [{ name: notes, command: 'cat >> ../told; echo >> ../told; echo keep the tests in mind' }]\n";
    let text = "some line of text that is read\n".repeat(190);
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", &text), ("b.txt", "one\n")]);
    let read = |n: usize| Answer::Calls(vec![("read_file", json!({"path": "a.txt", "start_line": n}))]);
    let edit =
        Answer::Calls(vec![("edit_file", json!({"path": "b.txt", "old_str": "one", "new_str": "two"}))]);
    let mut answers: Vec<Answer> = (1..=4).map(read).collect();
    answers.extend([
        edit,
        Answer::Text("SUMMARY: read a.txt four times, b.txt is two now."),
        Answer::Text("All done."),
    ]);
    let server = ModelServer::counting(answers);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--mode", "yolo", "--task", "Look"];
    let run = sandbox.run(&args, &[]).expect_code(0);
    assert_eq!((run.stdout.as_str(), sandbox.read("b.txt").as_str()), ("All done.\n", "two\n"));
    let bodies = server.bodies();
    assert_eq!(bodies.len(), 7, "{:?}", notices(&run));
    let messages = |index: usize| bodies[index]["messages"].as_array().unwrap().clone();
    let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
    assert!(text(messages(5).last().unwrap()).starts_with("The conversation is getting long"));
    let after = messages(6);
    let first = text(&after[1]);
    assert!(
        first.starts_with("Look\n\n[THIS RUN]\n")
            && first.ends_with(
                "\n\n[Summary of the work so far]\nSUMMARY: read a.txt four times, b.txt is two now.\n\n[Kept by the \
                 runner]\nFiles changed so far:\n- b.txt (+1 −1)"
            ),
        "{first}"
    );
    // The last two answers stay with their results, and the hook's words come behind.
    let roles: Vec<&str> = after.iter().map(|message| message["role"].as_str().unwrap()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "tool", "assistant", "tool", "user"]);
    assert_eq!(text(&after[6]), "keep the tests in mind");
    let told = told(&sandbox);
    assert_eq!((told.len(), &told[0]["event"]), (1, &json!("context_compress")));
    assert!(
        notices(&run).iter().any(|notice| notice.starts_with("the conversation was compacted from about "))
    );
    // Everything that was sent before the compaction stays as it was, byte for byte.
    for index in 1..5 {
        let (earlier, later) = (messages(index - 1), messages(index));
        assert_eq!(earlier[..], later[..earlier.len()], "request {index}");
    }
}

#[test]
fn context_overflow_is_summarized_once() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let read = |n: usize| Answer::Calls(vec![("read_file", json!({"path": "a.txt", "end_line": n}))]);
    let too_long = || {
        Answer::Status(
            400,
            Vec::new(),
            "{\"error\": {\"message\": \"maximum context length exceeded\", \"code\": \"context_length_exceeded\"}}",
        )
    };
    let mut answers: Vec<Answer> = (1..=6).map(read).collect();
    answers.extend([too_long(), Answer::Text("what was done"), Answer::Text("done")]);
    let server = ModelServer::start(answers);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url];
    let run = sandbox.run(&args, &[]).expect_code(0);
    assert_eq!(run.stdout, "done\n");
    // Where that does not help, it is the end.
    let server = ModelServer::start(vec![too_long()]);
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url];
    let run = sandbox.run(&args, &[]).expect_code(2);
    assert_eq!(run.report()["stop_reason"], "context_full");
}

#[test]
fn budget_warns_then_ends_run() {
    // Each answer of the server counts 1000 tokens in (600 of them cached) and 50 out: $0.0013 by these prices.
    let config = "costs: { warn_at_usd: 0.002, prices_file: prices.yml }\n\
         commands: { writable_paths: ['..'] }\nhooks:\n  budget_warning: [{ name: notes, command: 'cat >> ../told; echo >> ../told' }]\n";
    let prices = "gpt-5: { input: 1, cached: 0.5, output: 12 }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("prices.yml", prices), ("a.txt", "one\n")]);
    let read = |n: usize| Answer::Calls(vec![("read_file", json!({"path": "a.txt", "end_line": n}))]);
    let answers = || (1..=6).map(read).chain([Answer::Text("summed up")]).collect();
    let server = ModelServer::start(answers());
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url];
    let run = sandbox.run(&args, &[]).expect_code(0);
    assert_eq!(run.report()["cost_usd"], json!(0.0091));
    assert!(run.file("comment.md").contains("$0.0091"));
    assert_eq!(told(&sandbox).len(), 1, "once");
    assert!((told(&sandbox)[0]["cost_usd"].as_f64().unwrap() - 0.0026).abs() < 1e-9);
    let warning = "the run has cost $0.0026 so far (`costs.warn_at_usd`)";
    assert!(notices(&run).iter().any(|notice| notice == warning), "{:?}", notices(&run));
    let server = ModelServer::start(answers());
    let args = ["--model", "openai::gpt-5", "--base-url", &server.url, "--budget-usd", "0.012"];
    let run = sandbox.run(&args, &[]).expect_code(2);
    assert_eq!(
        (&run.report()["status"], &run.report()["stop_reason"]),
        (&json!("partial"), &json!("budget_exceeded"))
    );
    // An answer is only asked for if its possible price is left.
    assert!((1..7).contains(&server.bodies().len()), "{} requests", server.bodies().len());
    assert!(run.report()["cost_usd"].as_f64().unwrap() <= 0.012, "{}", run.report()["cost_usd"]);
    // What cannot be known is said.
    let server = ModelServer::start(vec![Answer::Text("done")]);
    let args = ["--model", "openai::mystery", "--base-url", &server.url, "--budget-usd", "0.003"];
    let run = sandbox.run(&args, &[]).expect_code(0);
    assert_eq!(run.report()["cost_usd"], Value::Null);
    assert!(notices(&run)[0].starts_with("no price is known for openai::mystery"), "{:?}", notices(&run));
    let run = sandbox.run(&["--model", "replay::x", "--budget-usd", "nothing"], &[]).expect_code(3);
    assert!(
        run.stderr.contains("invalid value \"nothing\" for `budget-usd`; use a number of USD above 0"),
        "{}",
        run.stderr
    );
}
