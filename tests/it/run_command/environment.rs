//! Environment of a command: the workspace, and no secrets.

use std::fs;

use super::{CONFIG, timeless, yolo};
use crate::support::{Sandbox, command};
use serde_json::{Value, json};

#[test]
fn command_environment_excludes_secrets_and_code_loaders() {
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("probe.sh", "env | sort\n")]);
    let call = |env: Value| ("run_command", json!({"command": "bash probe.sh", "env": env}));
    let turns = [
        vec![call(json!({"DEBUG": "1"}))],
        vec![call(json!({"LD_PRELOAD": "x.so"}))],
        vec![call(json!({"A B": "x"}))],
        vec![("run_command", json!({"command": "export LD_PRELOAD=x.so; bash probe.sh"}))],
    ];
    let model = sandbox.script(&turns, "done");
    let secret = [
        ("GITHUB_TOKEN", "ghs_one"),
        ("INPUT_API-KEY", "two"),
        ("ACTIONS_RUNTIME_TOKEN", "three"),
        ("MY_PASSWORD", "four"),
        ("GITHUB_ENV", "/five"),
        ("AWS_SECRET_ACCESS_KEY", "six"),
    ];
    let variables = [&secret[..], &[("PLAIN", "staging"), ("GITHUB_SHA", "abc")]].concat();
    let path = format!(".:{}::node_modules/.bin", std::env::var("PATH").unwrap());
    let variables = [&variables[..], &[("PATH", &path)]].concat();
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &variables).expect_code(0);
    let results = run.results();
    let line = results[0].lines().find(|line| line.starts_with("PATH=")).expect("a PATH");
    assert!(line.split([':', '=']).skip(1).all(|folder| folder.starts_with('/')), "{line}");
    for (name, value) in secret {
        assert!(!results[0].contains(name) && !results[0].contains(value), "{name}: {}", results[0]);
    }
    for line in ["PLAIN=staging", "GITHUB_SHA=abc", "DEBUG=1"] {
        assert!(results[0].contains(line), "{line}: {}", results[0]);
    }
    // It reaches the command, and nothing that starts it.
    // The first line says how long it took.
    let printed = |index: usize| results[index].split_once('\n').expect("an output").1;
    assert_eq!(printed(1), printed(3));
    assert!(results[1].contains("LD_PRELOAD=x.so"), "{}", results[1]);
    assert_eq!(results[2], "Error: Invalid arguments: env: invalid variable name \"A B\"");
}

#[test]
fn checkout_credentials_are_masked_with_warning() {
    let sandbox = Sandbox::new(&[("a.txt", "x\n")]);
    sandbox.git(&[
        "config",
        "http.https://github.com/.extraheader",
        "AUTHORIZATION: basic eC1hY2Nlc3MtdG9rZW46b2YtdGhlLWhlYWRlcg==",
    ]);
    let run = yolo(&sandbox, vec![command("grep -rn AUTHORIZATION ."), command("cat .git/config")]);
    let results = run.results();
    assert!(results[0].starts_with("Error: exit code 1"), "commands do not see it: {}", results[0]);
    assert!(!run.file("transcript.jsonl").contains("eC1hY2Nlc3M"));
    assert!(results[1].contains("is in Git's own folder"), "{}", results[1]);
    assert!(run.stderr.contains("check it out with `persist-credentials: false`"), "{}", run.stderr);
}

#[test]
fn reports_do_not_follow_planted_links() {
    // The output folder lies where the configuration lets commands write.
    let config = "commands: { dev_commands: [bash probe.sh], writable_paths: ['..'] }\n";
    let script = "ln -s ../victim ../out/report.json && echo planted\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("probe.sh", script)]);
    fs::write(sandbox.path().join("victim"), "mine").unwrap();
    let run = yolo(&sandbox, vec![command("bash probe.sh")]);
    assert!(run.results()[0].contains("planted"), "{}", run.results()[0]);
    assert_eq!(fs::read_to_string(sandbox.path().join("victim")).unwrap(), "mine");
    assert_eq!(run.report()["status"], "success");
    // The folder itself.
    let script = "mv ../out ../away; mkdir ../other; ln -s other ../out\n";
    sandbox.write("probe.sh", script);
    let model = sandbox.script(&[vec![command("bash probe.sh")]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
    assert!(run.stderr.contains("its folder was replaced by a link"), "{}", run.stderr);
    assert_eq!(fs::read_dir(sandbox.path().join("other")).unwrap().count(), 0);
}

#[test]
fn commands_stay_in_workspace_and_can_be_disabled() {
    let sandbox = Sandbox::new(&[("sub/a.txt", "x\n")]);
    let at = |cwd: &str| ("run_command", json!({"command": "ls", "cwd": cwd}));
    let run =
        yolo(&sandbox, vec![at("sub"), at(".."), at("/"), at("sub/a.txt"), at("nowhere"), command("  ")]);
    let results = run.results();
    assert_eq!(timeless(&results[0]), "exit code 0|a.txt");
    for (result, part) in results[1..].iter().zip([
        "ACCESS DENIED: path escapes the workspace: ..",
        "ACCESS DENIED: path escapes the workspace: /",
        "sub/a.txt is not a directory",
        "nowhere does not exist",
        "Invalid arguments: command: must not be empty",
    ]) {
        assert!(result.contains(part), "{part}: {result}");
    }
    sandbox.write(".architect.yml", "commands: { enabled: false }\n");
    let run = yolo(&sandbox, vec![command("ls")]);
    assert!(run.results()[0].contains("Tool not found: run_command"), "{}", run.results()[0]);
}

#[test]
fn commands_work_without_a_repository() {
    let sandbox = Sandbox::without_git(&[
        (".architect.yml", CONFIG),
        ("probe.sh", "echo new > a.txt\n"),
        ("a.txt", "old\n"),
    ]);
    let run = yolo(&sandbox, vec![command("bash probe.sh")]);
    assert_eq!(run.report()["files"][0]["diff"], "@@ -1 +1 @@\n-old\n+new\n");
}
