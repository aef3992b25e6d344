//! The agent that writes recipes, and batches in which a model does what a recipe cannot.
#![cfg(unix)]

use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use crate::faults::{batch, ends, request, respond};
use crate::support::Sandbox;
use crate::support::model::{Answer, ModelServer};
use serde_json::{Value, json};

const CONFIG: &str = "llm: { stream: false }\nevaluation: off\n";

/// A recipe whose test expects `after`.
fn recipe(after: &str) -> String {
    format!(
        "description: Clocks know their time zone\nsteps:\n  - files: [\"**/*.py\"]\n    do:\n      - rewrite:\n          rule: {{ pattern: \
         datetime.utcnow() }}\n          fix: datetime.now(UTC)\n          imports: {{ add: [from datetime import UTC] }}\ntests:\n  \
         - name: a naive clock becomes aware\n    before:\n      a.py: |\n        from datetime import datetime\n        x = \
         datetime.utcnow()\n      b.py: |\n        y = other.utcnow()\n    after:\n      a.py: |\n        from datetime import \
         datetime, UTC\n        x = {after}\n"
    )
}

fn write(path: &str, content: &str) -> Answer {
    Answer::Calls(vec![("write_file", json!({"path": path, "content": content}))])
}

fn writer(sandbox: &Sandbox, server: &ModelServer) -> crate::support::Run {
    sandbox.run(
        &[
            "--agent",
            "recipe",
            "--task",
            "Make clocks know their time zone; a.py, b.py and c.py are examples",
            "--model",
            "openai::gpt-5",
            "--base-url",
            &server.url,
        ],
        &[],
    )
}

fn clocks() -> Sandbox {
    let clock = "from datetime import datetime\nx = datetime.utcnow()\n";
    Sandbox::new(&[("a.py", clock), ("b.py", clock), ("c.py", clock), (".architect.yml", CONFIG)])
}

#[test]
fn recipe_writer_is_sent_back_by_the_tests_of_its_recipe() {
    let sandbox = clocks();
    let no_tests = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: a, with: b}}]\n";
    let server = ModelServer::start(vec![
        write("recipes/clock.yml", no_tests),
        Answer::Text("done"),
        write("recipes/clock.yml", &recipe("datetime.utcnow(UTC)")),
        Answer::Text("done"),
        write("recipes/clock.yml", &recipe("datetime.now(UTC)")),
        Answer::Text("The recipe changes naive clocks."),
    ]);
    let run = writer(&sandbox, &server).expect_code(0);
    let told = |request: usize| server.bodies()[request].to_string();
    assert!(told(0).contains("You deliver one file"), "{}", told(0));
    assert!(told(2).contains("no test shows what the recipe changes"), "{}", told(2));
    assert!(
        told(4).contains("a.py is not as expected") && told(4).contains("+x = datetime.now(UTC)"),
        "{}",
        told(4)
    );
    let report = run.report();
    assert_eq!(report["message"], "The recipe changes naive clocks.");
    let gate = &report["gates"][0];
    assert_eq!(
        (&gate["name"], &gate["passed"], &gate["round"]),
        (&json!("recipe test"), &json!(true), &json!(3))
    );
    assert_eq!(gate["command"], "architect-ci recipe test recipes/clock.yml");
    // What it delivers does what it was asked for, without a model.
    let patch = sandbox.out().join("plan.patch");
    sandbox.git(&["apply", patch.to_str().unwrap()]);
    sandbox.run(&["--mode", "yolo", "--model", "recipe::recipes/clock.yml"], &[]).expect_code(0);
    for file in ["a.py", "b.py", "c.py"] {
        assert_eq!(sandbox.read(file), "from datetime import datetime, UTC\nx = datetime.now(UTC)\n");
    }
}

#[test]
fn recipe_writer_that_delivers_something_else_fails() {
    let good = recipe("datetime.now(UTC)");
    let finds_nothing =
        good.replace("datetime.utcnow()", "clock.utcnow()").replace("datetime.now", "clock.now");
    let breaks = "steps:\n- files: ['*.py']\n  do: [{replace: {pattern: 'x = ', with: 'x = = '}}]\ntests:\n- name: n\n  before: {a.py: 'x = 1', \
                  b.py: y}\n  after: {a.py: 'x = = 1'}\n  repeats: true\n";
    for (answers, told, code) in [
        (vec![], "Deliver one recipe with tests", 1),
        (
            vec![write("a.py", "x = 1\n"), write("recipes/clock.yml", &good)],
            "Restore what else has changed: a.py",
            1,
        ),
        (vec![write("clock.yml", &good)], "Restore what else has changed: clock.yml", 1),
        (vec![write("recipes/a.yml", &good), write("recipes/b.yml", &good)], "There are 2.", 1),
        (vec![write("recipes/clock.yml", "steps: [")], "recipes/clock.yml", 1),
        (vec![write("recipes/clock.yml", breaks)], "a.py no longer parses, from line 1", 1),
        // Somebody else's checkout may have the places.
        (vec![write("recipes/clock.yml", &finds_nothing)], "changes nothing in this checkout", 0),
    ] {
        let sandbox = clocks();
        let server = ModelServer::start([answers, vec![Answer::Text("done"); 5]].concat());
        let run = writer(&sandbox, &server);
        let bodies = serde_json::to_string(&server.bodies()).unwrap();
        assert!(bodies.contains(told), "{told}: {bodies}");
        assert_eq!(run.code, code, "{told}: {}", run.stderr);
        if code == 1 {
            assert_eq!(run.report()["stop_reason"], "gates_failed", "{told}");
        }
    }
}

/// A model that mends what the recipe does not find, and keeps what it was asked.
fn mender() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
    let asked = Arc::<Mutex<Vec<String>>>::default();
    let all = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let asked = Arc::clone(&asked);
            std::thread::spawn(move || {
                while let Some(body) = request(&stream) {
                    let messages = body["messages"].as_array().unwrap();
                    let is_last = messages.iter().any(|message| message["role"] == "tool");
                    let edit = json!({"path": "a.py", "old_str": "getattr(datetime, 'utcnow')()", "new_str": "datetime.now(UTC)"});
                    let call = json!({"id": "c", "type": "function", "function": {"name": "edit_file", "arguments": edit.to_string()}});
                    let (message, finish) = if is_last {
                        (json!({"role": "assistant", "content": "mended"}), "stop")
                    } else {
                        let task = messages.iter().find(|message| message["role"] == "user").unwrap();
                        asked.lock().unwrap().push(task["content"].to_string());
                        (json!({"role": "assistant", "content": "", "tool_calls": [call]}), "tool_calls")
                    };
                    let answer = json!({"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5",
                        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}});
                    respond(&stream, "200 OK", "", &answer);
                }
            });
        }
    });
    (url, all)
}

#[test]
fn batch_gives_a_model_only_what_its_recipe_could_not_do() {
    // As many as one likes, to see how it grows.
    let count: usize = std::env::var("RECIPE_FILES").ok().and_then(|count| count.parse().ok()).unwrap_or(24);
    let step = (count / 12).max(8);
    let resists = |n: usize| n % step == 1 && n / step < 12;
    let resisting = (0..count).filter(|n| resists(*n)).count();
    let sandbox =
        Sandbox::new(&[(".architect.yml", CONFIG), ("recipes/clock.yml", &recipe("datetime.now(UTC)"))]);
    for n in 0..count {
        let call = if resists(n) { "getattr(datetime, 'utcnow')()" } else { "datetime.utcnow()" };
        sandbox.write(&format!("pkg/p{n}/a.py"), format!("from datetime import datetime\nx = {call}\n"));
    }
    let names: Vec<String> = (0..count).map(|n| format!("p{n}")).collect();
    let retry = json!({"times": 1, "on": ["failed", "partial"], "with": ["output", "neighbours"], "models": ["openai::gpt-5"]});
    let entry = json!({"id": "{p}", "for_each": {"p": {"values": names}}, "folder": "pkg/{p}", "recipe": "recipes/clock.yml",
        "task": "Make the clocks of a.py know their time zone", "mode": "dry-run", "expect": "changes", "retry": retry});
    sandbox.write("batch.yml", json!({"name": "clocks", "jobs": 1, "tasks": [entry]}).to_string());
    sandbox.commit("tasks");
    let (url, asked) = mender();
    let run = batch(&sandbox, &["--base-url", &url]).expect_code(0);
    let report = run.json("batch.json");
    assert_eq!(ends(&report)["success"], count);
    let by_model = |task: &&Value| task["model"] == "openai::gpt-5";
    assert_eq!(report["tasks"].as_array().unwrap().iter().filter(by_model).count(), resisting);
    let asked = asked.lock().unwrap();
    assert_eq!(asked.len(), resisting);
    assert!(asked.iter().all(|task| task.contains("[EARLIER ATTEMPT]")), "{asked:?}");
    assert!(
        !asked[0].contains("Changes that other files needed")
            && asked[1].contains("Changes that other files needed"),
        "{asked:?}"
    );
    assert!(asked[1].contains("+x = datetime.now(UTC)"), "{}", asked[1]);
    // The recipe gets it back as tests, which say what a further rule has to do.
    let notice = report["notices"][0]["message"].as_str().unwrap();
    assert!(
        notice.starts_with(&format!("a model completed {resisting} tasks that recipes/clock.yml could not")),
        "{notice}"
    );
    let offered = run.file("recipes/recipes/clock.yml");
    assert!(offered.starts_with(recipe("datetime.now(UTC)").trim_end()), "{offered}");
    let tested = |text: &str| {
        sandbox.write("offered.yml", text);
        let test = sandbox.command(&["recipe", "test", "offered.yml"]).current_dir(sandbox.repo()).output();
        let test = test.expect("the binary runs");
        (test.status.code(), String::from_utf8_lossy(&test.stdout).into_owned())
    };
    let (code, told) = tested(&offered);
    assert_eq!(code, Some(1), "{told}");
    assert!(told.ends_with(&format!("1 passed, {resisting} failed\n")), "{told}");
    let rule = "\n      - rewrite:\n          rule: { pattern: \"getattr(datetime, 'utcnow')()\" }\n          fix: datetime.now(UTC)\ntests:";
    let (code, told) = tested(&offered.replace("\ntests:", rule));
    assert_eq!(code, Some(0), "{told}");
}
