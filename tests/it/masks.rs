//! Secrets of the job: commands do not see them, and nothing that a run leaves behind holds them.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use workspace::WorkspacePath;

use crate::support::{Run, Sandbox};
use architect_ci::event::Line;
use architect_ci::plan::Plan;
use architect_ci::report::RunReport;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

const TOKEN: &str = "tok/4fQ9xT2&mVb7Lk0Z";

/// Every file that the run left, by name.
fn left(run: &Run) -> Vec<(String, String)> {
    let entries = fs::read_dir(&run.out).unwrap().map(|entry| entry.unwrap().path());
    let files = entries.filter(|path| path.is_file());
    files
        .map(|path| {
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            (path.file_name().unwrap().to_string_lossy().into_owned(), text)
        })
        .chain([("stdout".to_owned(), run.stdout.clone()), ("stderr".to_owned(), run.stderr.clone())])
        .collect()
}

#[test]
fn masks_keep_format_words_that_are_secrets() {
    let words = [
        "success",
        "llm_done",
        "modify",
        "create",
        "status",
        "message",
        "content",
        "result",
        "report",
        "schema_version",
        "duration_ms",
        "planned",
        "executed",
        "dry-run",
        "details",
        "summary",
        "section",
        "testsuite",
        "classname",
        "transcript",
        "notices",
        "a.txt",
        "regular",
        "actions",
    ];
    let variables: Vec<(String, String)> = words
        .iter()
        .enumerate()
        .map(|(index, word)| (format!("WORD{index}_PASSWORD"), (*word).to_owned()))
        .chain([("MY_TOKEN".to_owned(), TOKEN.to_owned())])
        .collect();
    let variables: Vec<(&str, &str)> =
        variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    for format in ["human", "json"] {
        let sandbox = Sandbox::new(&[("a.txt", "one\n"), ("b.txt", "one\n")]);
        let turns = vec![
            vec![("edit_file", json!({"path": "b.txt", "old_str": "one", "new_str": "two"}))],
            vec![("read_file", json!({"path": "b.txt", TOKEN: TOKEN}))],
        ];
        let encoded = STANDARD.encode(format!("user:{TOKEN}"));
        let last = format!("The token is {TOKEN}, or {encoded}.");
        let model = sandbox.script(&turns, &last);
        let run = sandbox.run(&["--model", &model, "--log-format", format], &variables).expect_code(0);
        for (name, text) in left(&run) {
            assert!(!text.contains(TOKEN) && !text.contains(&encoded), "{name}: {text}");
        }
        let report: RunReport = serde_json::from_str(&run.file("report.json")).expect("a report");
        assert_eq!(report.status.to_string(), "success");
        // What stands before the secret in the encoded text stays.
        let message = report.message.trim_end_matches('.');
        assert!(message.starts_with("The token is ***, or dXNl"), "{message}");
        assert_eq!(message.matches("***").count(), 2, "{message}");
        let transcript = run.file("transcript.jsonl");
        for line in transcript.lines() {
            serde_json::from_str::<Line>(line).expect("a line of a transcript");
        }
        let plan: Plan = serde_json::from_str(&run.file("plan.json")).expect("a plan");
        assert_eq!(plan.files[0].path, WorkspacePath::parse("b.txt").unwrap());
        roxmltree::Document::parse(&run.file("junit.xml")).expect("well-formed");
        assert!(run.file("report.html").contains("</details>"));
        if format == "json" {
            for line in run.stderr.lines() {
                let line: serde_json::Value = serde_json::from_str(line).expect("a line of JSON");
                assert!(line["message"].is_string(), "{line}");
            }
        }
    }
}

#[test]
fn environment_allow_list_names_withheld_variables_in_failing_gate() {
    let config = "commands: { allowed_only: false, dev_commands: ['env'], env_passthrough: [NPM_TOKEN] }\n\
         guardrails: { quality_gates: [{ name: db, command: 'env; test -n \"$DATABASE_URL\"' }] }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config)]);
    let turns = vec![vec![("run_command", json!({"command": "env"}))]];
    let model = sandbox.script(&turns, "done");
    let path = model.trim_start_matches("replay::");
    let text = fs::read_to_string(path).unwrap();
    let last = text.lines().last().unwrap().to_owned();
    fs::write(path, format!("{text}{last}\n{last}\n{last}\n")).unwrap();
    let hidden = [
        ("DATABASE_URL", "postgres://app:of-the-database@db.example.com/app"),
        ("SENTRY_DSN", "https://of-the-dsn@example.com/1"),
        ("SLACK_WEBHOOK_URL", "https://example.com/of-the-hook"),
        ("MYSQL_PWD", "of-mysql"),
        ("COMPANY_THING", "of-nobody"),
        ("INPUT_API-KEY", "of-the-input"),
        ("ACTIONS_RUNTIME_URL", "https://example.com/of-actions"),
    ];
    let seen = [
        ("NODE_ENV", "test"),
        ("PGHOST", "db"),
        ("GITHUB_SHA", "abc"),
        ("NPM_TOKEN", "of-npm-1234"),
        ("WORKERS", "4"),
    ];
    let variables: Vec<(&str, &str)> = hidden.iter().chain(&seen).copied().collect();
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &variables).expect_code(1);
    let report = run.report();
    let output = report["gates"][0]["output"].as_str().unwrap().to_owned();
    for text in [&output, &run.results()[0]] {
        for (name, value) in hidden {
            assert!(!text.contains(&format!("{name}=")) && !text.contains(value), "{name}: {text}");
        }
    }
    for line in ["NODE_ENV=test", "PGHOST=db", "GITHUB_SHA=abc", "NPM_TOKEN=***", "WORKERS=4"] {
        assert!(run.results()[0].contains(line), "{line}: {}", run.results()[0]);
    }
    let told = "(not passed on to commands: DATABASE_URL; name the variables that they need in `commands.env_passthrough`)";
    assert!(output.ends_with(told), "{output}");
}

#[test]
fn masks_hide_model_server_password() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let url = "http://me:pw-9x@127.0.0.1:9/v1";
    let args = ["--model", "openai::gpt-5", "--base-url", url, "--verbose", "--timeout", "3"];
    let run = sandbox.run(&args, &[("OPENAI_API_KEY", "sk-of-the-model-1")]);
    assert_ne!(run.code, 0);
    let session = run.json("session.json");
    assert_eq!(session["inputs"]["base-url"], "http://127.0.0.1:9/v1");
    for (name, text) in left(&run) {
        assert!(!text.contains("pw-9x"), "{name}: {text}");
    }
}

#[test]
fn output_files_are_private() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let turns = vec![vec![("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}))]];
    let model = sandbox.script(&turns, "done");
    let repo = sandbox.repo();
    let args = ["run", "--task", "Do it", "--model", &model, "--workspace", repo.to_str().unwrap()];
    let output = sandbox.command(&args).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let is_out = |name: &str| name.starts_with("architect-ci-");
    let entries = fs::read_dir(sandbox.path()).unwrap().map(|entry| entry.unwrap());
    let out = entries.into_iter().find(|entry| is_out(&entry.file_name().to_string_lossy())).unwrap().path();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&out), 0o700);
    for name in ["plan.json", "plan.patch", "transcript.jsonl", "session.json"] {
        assert_eq!(mode(&out.join(name)), 0o600, "{name}");
    }
}

#[test]
fn invisible_characters_are_shown() {
    let hidden = "a\u{3164}b\u{fe00}c\u{2800}d\u{e0041}e\u{1d173}f";
    let sandbox =
        Sandbox::new(&[("a.txt", &format!("{hidden}\n")), ("AGENTS.md", &format!("Read {hidden}\n"))]);
    let quoted = "a⟨U+3164⟩b⟨U+FE00⟩c⟨U+2800⟩d⟨U+E0041⟩e⟨U+1D173⟩f";
    let turns = vec![
        vec![("read_file", json!({"path": "a.txt"}))],
        vec![("edit_file", json!({"path": "a.txt", "old_str": quoted, "new_str": format!("{quoted}!")}))],
    ];
    let model = sandbox.script(&turns, &format!("Found {hidden}"));
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    assert_eq!(run.results()[0], format!("1\t{quoted}\n"));
    assert_eq!(sandbox.read("a.txt"), format!("{hidden}!\n"), "the file keeps its characters");
    for name in ["comment.md", "summary.md", "report.md"] {
        let text = run.file(name);
        assert!(text.contains(quoted), "{name}: {text}");
        assert!(!text.contains(['\u{3164}', '\u{fe00}', '\u{2800}', '\u{e0041}', '\u{1d173}']), "{name}");
    }
}

#[test]
fn masks_keep_secrets_from_the_model() {
    let program = r#"
import json, sys
for line in sys.stdin:
    with open(sys.argv[1], "a") as told:
        told.write(line)
    asked = json.loads(line)
    call = {"name": "read_file", "arguments": {"path": "src/a.txt"}}
    print(json.dumps({"text": "done"} if asked["messages"][-1]["role"] == "tool" else {"calls": [call]}), flush=True)
"#;
    let guide = format!("Deploy with {TOKEN}.\n");
    let sandbox = Sandbox::new(&[
        ("model.py", program),
        ("AGENTS.md", &guide),
        ("src/AGENTS.md", &guide),
        ("src/a.txt", &guide),
        (".architect.yml", "evaluation: off\n"),
    ]);
    let notes = sandbox.path().join("notes");
    fs::create_dir(&notes).unwrap();
    let config = format!("evaluation: off\ncommands: {{ writable_paths: [{notes:?}] }}\n");
    fs::write(sandbox.path().join("config.yml"), config).unwrap();
    let model = format!("exec::python3 model.py {}/told.jsonl", notes.display());
    let task = format!("Use {TOKEN} for the deployment");
    let args = ["--mode", "yolo", "--model", &model, "--config", "../config.yml", "--task", &task];
    sandbox.run(&args, &[("DEPLOY_TOKEN", TOKEN)]).expect_code(0);
    let told = fs::read_to_string(notes.join("told.jsonl")).unwrap();
    for text in ["Use *** for the deployment", "Deploy with ***."] {
        assert!(told.contains(text), "{text}: {told}");
    }
    assert!(!told.contains(TOKEN), "{told}");
}
