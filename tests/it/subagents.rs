//! Sub-agents: what they may, what their caller reads, what the report tells, and that they work side by side.

use crate::support::model::{Answer, ModelServer};
use crate::support::{Run, Sandbox};
use serde_json::{Value, json};

fn dispatch(task: &str, kind: &str) -> Value {
    json!({"name": "dispatch_subagent", "arguments": {"task": task, "agent_type": kind, "context": "it matters", "relevant_files": ["a.txt"]}})
}

fn calls(agent: &str, calls: &[Value]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| json!({"id": format!("{agent}-{index}-{}", call["arguments"]["task"]), "name": call["name"], "arguments": call["arguments"]}))
        .collect();
    json!({"type": "reply", "agent": agent, "step": 1, "calls": calls})
}

fn says(agent: &str, text: &str) -> Value {
    json!({"type": "reply", "agent": agent, "step": 2, "text": text, "usage": {"input": 10, "cached": 0, "output": 5}})
}

fn script(sandbox: &Sandbox, lines: &[Value]) -> String {
    let path = sandbox.path().join("script.jsonl");
    std::fs::write(&path, lines.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    format!("replay::{}", path.display())
}

fn results(run: &Run) -> Vec<(String, String)> {
    let transcript = run.file("transcript.jsonl");
    let lines = transcript.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .filter(|line| line["type"] == "call")
        .map(|line| (line["agent"].as_str().unwrap().to_owned(), line["result"].as_str().unwrap().to_owned()))
        .collect()
}

#[test]
fn subagents_are_read_only() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let write = json!({"name": "write_file", "arguments": {"path": "b.txt", "content": "x"}});
    let command = json!({"name": "run_command", "arguments": {"command": "cat a.txt"}});
    let nested = dispatch("deeper", "explore");
    let long = "x".repeat(5_000);
    let model = script(
        &sandbox,
        &[
            calls("build", &[dispatch("Where is it?", "explore")]),
            calls("explore-1", &[read.clone(), write.clone(), command.clone(), nested]),
            says("explore-1", &long),
            calls("build", &[dispatch("Does it work?", "test")]),
            calls("test-2", &[command, write]),
            says("test-2", "It works."),
            calls("build", &[dispatch("Is it good?", "review"), read]),
            says("review-3", "It is."),
            says("build", "All done."),
        ],
    );
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    assert_eq!(run.stdout, "All done.\n");
    let results = results(&run);
    let of = |agent: &str| -> Vec<&str> {
        results.iter().filter(|(who, _)| who == agent).map(|(_, result)| result.as_str()).collect()
    };
    assert_eq!(of("explore-1")[0], "1\tone\n");
    assert!(
        of("explore-1")[1].contains("write_file is not available to the agent explore-1"),
        "{:?}",
        of("explore-1")
    );
    assert!(of("explore-1")[2].starts_with("exit code 0"), "a command that looks: {:?}", of("explore-1"));
    assert!(of("explore-1")[3].contains("is not available to the agent explore-1"), "{:?}", of("explore-1"));
    assert!(
        of("test-2")[0].starts_with("exit code 0") && of("test-2")[1].contains("is not available"),
        "{:?}",
        of("test-2")
    );
    let told = of("build");
    assert_eq!(
        told[0],
        format!(
            "[explore-1: success]\n{} … (cut after 3000 characters; ask for less at a time)",
            "x".repeat(3_000)
        )
    );
    assert_eq!(told[1], "[test-2: success]\nIt works.");
    assert_eq!(told[2], "[review-3: success]\nIt is.");
    let report = run.report();
    let agents: Vec<(&str, usize)> = report["subagents"]
        .as_array()
        .unwrap()
        .iter()
        .map(|agent| (agent["name"].as_str().unwrap(), agent["message"].as_str().unwrap().len()))
        .collect();
    assert_eq!(agents, [("explore-1", 5_000), ("test-2", 9), ("review-3", 6)]);
    assert_eq!(report["usage"]["input"], 40, "what they use counts");
    let comment = run.file("comment.md");
    assert!(comment.contains("Sub-agent <code>test-2</code>: 2 steps, 2 calls"), "{comment}");
    assert!(comment.contains("  - `run_command` `cat a.txt`\n  - `write_file` ✗\n"), "{comment}");
    assert!(!sandbox.repo().join("b.txt").exists());
    // The transcript of a run with sub-agents is a script as well.
    let again = Sandbox::new(&[("a.txt", "one\n")]);
    let model = format!("replay::{}", run.out.join("transcript.jsonl").display());
    let run = again.run(&["--model", &model, "--mode", "yolo", "--strict-replay"], &[]).expect_code(0);
    assert_eq!(run.stdout, "All done.\n");
}

#[test]
fn subagent_steps_count_and_failures_are_data() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let read = json!({"name": "read_file", "arguments": {"path": "a.txt"}});
    let model = script(
        &sandbox,
        &[
            calls("build", &[dispatch("Look", "explore")]),
            calls("explore-1", &[read]),
            says("explore-1", "found"),
            calls("build", &[dispatch("Nobody answers this one", "review")]),
            says("build", "summed up"),
        ],
    );
    // Four steps of the agent's own and its colleague's, then the limit.
    let run = sandbox.run(&["--model", &model, "--max-steps", "4"], &[]).expect_code(2);
    assert_eq!(run.report()["stop_reason"], "max_steps");
    let model = script(&sandbox, &[calls("build", &[dispatch("Look", "explore")]), says("build", "went on")]);
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    assert_eq!(run.stdout, "went on\n");
    assert!(
        results(&run)[0].1.starts_with("Error: explore-1: replay: the transcript has no further reply"),
        "{:?}",
        results(&run)
    );
    let model = script(
        &sandbox,
        &[
            calls(
                "build",
                &[json!({"name": "dispatch_subagent", "arguments": {"task": " ", "agent_type": "spy"}})],
            ),
            says("build", "done"),
        ],
    );
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    assert!(
        results(&run)[0].1.contains("unknown variant `spy`, expected one of `explore`, `test`, `review`"),
        "{:?}",
        results(&run)
    );
}

#[test]
fn subagents_run_concurrently() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let one = || ("dispatch_subagent", json!({"task": "Look", "agent_type": "explore"}));
    let mut answers = vec![Answer::Calls(vec![one(), one(), one(), one()])];
    answers.extend((0..4).map(|_| Answer::Together(5, "found")));
    answers.push(Answer::Text("done"));
    let server = ModelServer::start(answers);
    let run = sandbox.run(&["--model", "openai::gpt-5", "--base-url", &server.url], &[]).expect_code(0);
    assert_eq!(run.report()["subagents"].as_array().unwrap().len(), 4);
    let body = server.bodies()[1].clone();
    assert!(body["messages"][0]["content"].as_str().unwrap().starts_with("You explore a checkout"));
    assert_eq!(body["tools"].as_array().unwrap().len(), 5);
}

#[test]
fn tools_command_lists_every_tool() {
    let sandbox = Sandbox::new(&[]);
    let listed = sandbox.command(&["tools", "--list"]).output().expect("the binary runs");
    let listed = String::from_utf8(listed.stdout).expect("text");
    assert!(listed.lines().any(|line| line.starts_with("read_file ") && line.len() > 30), "{listed}");
    let output = sandbox.command(&["tools"]).output().expect("the binary runs");
    let listed: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
    let server = ModelServer::start(vec![Answer::Text("done")]);
    sandbox.run(&["--model", "openai::gpt-5", "--base-url", &server.url], &[]).expect_code(0);
    let sent = server.bodies()[0]["tools"].as_array().unwrap().clone();
    let names = |tools: &[Value]| -> Vec<String> {
        tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap().to_owned()).collect()
    };
    // Those of the web and of PowerShell are there where they are wanted, or where it is.
    let optional = ["fetch_url", "web_search", "run_powershell", "delete_file"];
    let always: Vec<String> =
        names(&listed).into_iter().filter(|name| !optional.contains(&name.as_str())).collect();
    let sent_always: Vec<String> = names(&sent).into_iter().filter(|name| name != "run_powershell").collect();
    assert_eq!((always, listed.len()), (sent_always, 17));
    assert!(
        names(&sent).contains(&"run_command".to_owned())
            && names(&sent).contains(&"dispatch_subagent".to_owned())
    );
}
