//! Steps of the action, run as the runner does.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;

use super::{action, root, script};
use crate::support::Sandbox;
use crate::support::github::BOT;
use crate::support::program::program;
use crate::support::scene::{Scene, scene};
use serde_json::Value;

#[test]
fn action_scripts_do_not_interpolate_inputs() {
    for step in action()["runs"]["steps"].as_array().unwrap() {
        let script = step["run"].as_str().expect("a script");
        assert!(!script.contains("${{"), "{script}");
        assert_eq!(step["shell"], "bash");
    }
}

#[test]
fn action_steps_pass_inputs_to_program() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let steps = action()["runs"]["steps"].clone();
    let binary = program();
    let (_, output) = script(&sandbox, steps[0]["run"].as_str().unwrap(), &[("BINARY_PATH", binary)]);
    let found = output.trim().strip_prefix("binary=").expect("the output").to_owned();
    let model = sandbox.script(&[], "done; $(touch hacked) `touch hacked`");
    let repo = sandbox.repo();
    let evil = "Do it'; touch hacked; echo \"$(touch hacked)";
    let variables = [
        ("BINARY", found.as_str()),
        ("COMMAND", "run"),
        ("CI", "true"),
        ("INPUT_TASK", evil),
        ("INPUT_TASK_FILE", ""),
        ("INPUT_MODE", "dry-run"),
        ("INPUT_MODEL", &model),
        ("INPUT_MAX_STEPS", "3"),
        ("INPUT_STRICT_REPLAY", "false"),
        ("INPUT_WORKSPACE", repo.to_str().unwrap()),
    ];
    let (ran, output) = script(&sandbox, steps[1]["run"].as_str().unwrap(), &variables);
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    assert!(output.contains("status<<"), "{output}");
    let report =
        std::fs::read_to_string(sandbox.path().join("architect-ci/report.json")).expect("in RUNNER_TEMP");
    assert_eq!(serde_json::from_str::<Value>(&report).unwrap()["task"], evil);
    assert!(!repo.join("hacked").exists() && !Path::new("hacked").exists());
}

/// The value of an expression of the action's.
fn evaluate(text: &str, given: &[(&str, &str)], outputs: &BTreeMap<String, String>) -> String {
    let Some(expression) = text.strip_prefix("${{ ").and_then(|text| text.strip_suffix(" }}")) else {
        return text.to_owned();
    };
    if let Some(name) = expression.strip_prefix("inputs.") {
        let default = || action()["inputs"][name]["default"].as_str().unwrap_or_default().to_owned();
        let found = given.iter().find(|(input, _)| *input == name).map(|(_, value)| (*value).to_owned());
        return evaluate(&found.unwrap_or_else(default), given, outputs);
    }
    match expression {
        "github.action_path" => root().display().to_string(),
        "github.token" => "ghs_0123456789".to_owned(),
        // What a step has not put out is empty.
        step if step.starts_with("steps.") => outputs.get(step).cloned().unwrap_or_default(),
        other => panic!("{other} is nothing that is known"),
    }
}

/// Runs the whole action, step by step: outputs of the action, its step summary, and how the last step ended.
fn run_action(
    scene: &Scene,
    given: &[(&str, &str)],
    variables: &[(String, String)],
) -> (BTreeMap<String, String>, String, Output) {
    let mut outputs = BTreeMap::new();
    let summary = scene.sandbox.path().join("step-summary");
    let mut last = None;
    for step in action()["runs"]["steps"].as_array().unwrap() {
        let mut environment: Vec<(String, String)> = variables.to_vec();
        for (name, value) in step["env"].as_object().unwrap() {
            environment.push((name.clone(), evaluate(value.as_str().unwrap(), given, &outputs)));
        }
        environment.push(("GITHUB_STEP_SUMMARY".into(), summary.display().to_string()));
        let environment: Vec<(&str, &str)> = environment
            .iter()
            .filter(|(name, _)| !["GITHUB_OUTPUT", "GITHUB_TOKEN"].contains(&name.as_str()))
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        let (output, text) = script(&scene.sandbox, step["run"].as_str().unwrap(), &environment);
        let id = step["id"].as_str().unwrap();
        for (name, value) in crate::support::outputs(&text) {
            outputs.insert(format!("steps.{id}.outputs.{name}"), value);
        }
        last = Some(output);
    }
    let of_action = action()["outputs"].as_object().unwrap().clone();
    let outputs = of_action
        .iter()
        .map(|(name, output)| (name.clone(), evaluate(output["value"].as_str().unwrap(), &[], &outputs)))
        .collect();
    (outputs, std::fs::read_to_string(summary).unwrap_or_default(), last.expect("a step"))
}

#[tokio::test(flavor = "multi_thread")]
async fn action_runs_on_pull_request() {
    scene(&[], |scene| {
        let model = scene.edit("five", "FIVE");
        let mut variables = scene.variables("pull_request");
        let event = scene.pull_event(7, "dev").display().to_string();
        let workspace = scene.sandbox.repo().display().to_string();
        for (name, value) in
            [("GITHUB_EVENT_PATH", event), ("GITHUB_WORKSPACE", workspace), ("CI", "true".into())]
        {
            variables.push((name.to_owned(), value));
        }
        let binary = program();
        let given = [
            ("binary-path", binary),
            ("task", "Shout"),
            ("model", model.as_str()),
            ("comment-key", "shout-it-out"),
        ];
        let (outputs, summary, ended) = run_action(&scene, &given, &variables);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        let get = |name: &str| outputs[name].as_str();
        assert_eq!((get("status"), get("exit-code"), get("changed-files")), ("success", "0", "a.txt"));
        assert_eq!(get("comment-url"), "https://github.com/octo/demo/pull/7#issuecomment-1");
        assert_eq!(get("out-path"), scene.sandbox.path().join("architect-ci").to_str().unwrap());
        assert!(Path::new(get("plan-path")).exists() && Path::new(get("junit-path")).exists());
        assert!(
            summary.starts_with("## ✅ plan: 1 file, +1 −1") && summary.contains("```mermaid"),
            "{summary}"
        );
        let comment = scene.github.comments_by(BOT).concat();
        assert!(
            comment.starts_with("<!-- architect-ci comment: shout-it-out -->")
                && comment.contains(get("plan-digest")),
            "{comment}"
        );
        // The plan that the first job has left is applied by another, without a comment that asks for it.
        let (plan, digest) = (get("plan-path").to_owned(), get("plan-digest").to_owned());
        let given = [
            ("binary-path", binary),
            ("command", "apply"),
            ("plan", &plan),
            ("digest", &digest),
            ("deliver", "branch"),
        ];
        let out = scene.sandbox.path().join("applied").display().to_string();
        let given = [&given[..], &[("out", out.as_str())]].concat();
        let (outputs, _, ended) = run_action(&scene, &given, &variables);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!((outputs["status"].as_str(), outputs["branch"].as_str()), ("success", "feature"));
        // Its name sounds like a secret; it is none.
        assert!(!String::from_utf8_lossy(&ended.stderr).contains("add-mask::shout"));
        // And a report is posted.
        let report = format!("{out}/report.json");
        let given =
            [("binary-path", binary), ("command", "post"), ("report", &report), ("comment-key", "post")];
        let (outputs, _, ended) = run_action(&scene, &given, &variables);
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        assert_eq!(scene.github.comments_by(BOT).len(), 3);
        assert_eq!(outputs["comment-url"], "https://github.com/octo/demo/pull/7#issuecomment-3");
        let (_, _, ended) =
            run_action(&scene, &[("binary-path", binary), ("command", "x; rm -rf /")], &variables);
        assert_eq!(ended.status.code(), Some(3));
        scene.github.assert_valid();
    })
    .await;
}
