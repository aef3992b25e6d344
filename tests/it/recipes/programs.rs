//! Programs as models.

use crate::support::Sandbox;
use serde_json::Value;

/// A model in Python: writes a file, then says what it was told.
const PROGRAM: &str = r#"
import json, os, sys
for line in sys.stdin:
    asked = json.loads(line)
    print("asked by", asked["agent"], file=sys.stderr)
    last = asked["messages"][-1]
    if last["role"] == "user":
        reply = {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "hello\n"}}],
                 "usage": {"input": 10, "output": 2}}
    else:
        key = os.environ.get("MY_KEY", "no key")
        assert not [name for name in os.environ if name.startswith("GITHUB_TOKEN")]
        reply = {"text": f"{last['name']} {last['success']} {len(asked['tools']) > 10} {len(key)}"}
    print(json.dumps(reply), flush=True)
"#;

#[test]
fn exec_model_speaks_json_lines() {
    let sandbox = Sandbox::new(&[("model.py", PROGRAM), (".architect.yml", "evaluation: off\n")]);
    let run = sandbox
        .run(
            &["--mode", "yolo", "--model", "exec::python3 model.py", "--api-key-env", "MY_KEY"],
            &[("MY_KEY", "k-1234567890"), ("GITHUB_TOKEN", "ghs_abcdefghijklmnopqrstuvwxyz0123456789")],
        )
        .expect_code(0);
    assert_eq!(run.stdout.trim(), "write_file True True 12");
    assert_eq!(sandbox.read("a.txt"), "hello\n");
    assert_eq!(run.report()["usage"]["input"], 10);
}

#[test]
#[cfg(target_os = "linux")]
fn exec_model_cannot_write_to_the_checkout() {
    let program = r#"read -r x; echo theirs > b.txt; echo theirs > sub/.git/config; echo '{"text": "done"}'"#;
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), (".architect.yml", "evaluation: off\n")]);
    sandbox.write("sub/.git/config", "[core]\n");
    sandbox.run(&["--mode", "yolo", "--model", &format!("exec::{program}")], &[]).expect_code(0);
    assert!(!sandbox.repo().join("b.txt").exists());
    assert_eq!(sandbox.read("sub/.git/config"), "[core]\n");
}

#[test]
fn exec_model_failures_end_run_with_reason() {
    let config = "llm: {retries: 1, timeout: 1}\n";
    for (program, told) in [
        ("exit 3", "it exited before it answered"),
        ("echo oh no >&2; exit 1", "its output: oh no"),
        ("while read -r x; do echo nonsense; done", "could not read the model's answer"),
        ("while read -r x; do echo '{\"error\": \"out of ideas\"}'; done", "out of ideas"),
        ("while read -r x; do echo '{\"txet\": \"\"}'; done", "unknown field `txet`"),
        ("exec sleep 60", "no answer within 1 s"),
        ("cat /dev/zero", "its answer is longer than"),
        ("printf '\\377\\n'; cat >/dev/null", "not UTF-8"),
        ("definitely-not-a-program", "not found"),
    ] {
        let sandbox = Sandbox::new(&[(".architect.yml", config)]);
        // A program that is not there is a mistake of the configuration.
        let code = if told == "not found" { 3 } else { 1 };
        let run = sandbox.run(&["--model", &format!("exec::{program}")], &[]).expect_code(code);
        let notices: Vec<Value> = run.report()["notices"].as_array().unwrap().clone();
        let all =
            notices.iter().map(|notice| notice["message"].as_str().unwrap()).collect::<Vec<_>>().join("\n");
        assert!(all.contains(told), "{program}: {all}");
    }
}
