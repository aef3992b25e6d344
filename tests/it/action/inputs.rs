//! Inputs and outputs of the action are those of the program, of the samples, and of the README.

use std::collections::BTreeSet;

use super::{action, root};
use crate::support::Sandbox;
use architect_ci::request::{BATCH_INPUTS, INPUTS};
use serde_json::Value;

/// Inputs that are about getting the program and about GitHub, so not flags of it.
const ACTION_ONLY: [&str; 9] = [
    "command",
    "plan",
    "digest",
    "report",
    "reports",
    "github-token",
    "binary-path",
    "version",
    "releases-url",
];

/// Inputs that every reusable workflow passes on, the first one to all of its jobs.
const PASSED: [&str; 4] = ["config", "base-url", "ledger", "max-steps"];

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("a map").keys().cloned().collect()
}

#[test]
fn flags_and_action_inputs_match() {
    let action = action();
    // What makes a batch list its tasks is a command of the action.
    let batch = BATCH_INPUTS.iter().filter(|input| input.name != "matrix");
    let flags: BTreeSet<String> = INPUTS.iter().chain(batch).map(|input| input.name.to_owned()).collect();
    let mut inputs = keys(&action["inputs"]);
    for name in ACTION_ONLY {
        assert!(inputs.remove(name), "{name}");
    }
    assert_eq!(inputs, flags);
    let environment = &action["runs"]["steps"][1]["env"];
    for name in
        flags.iter().map(String::as_str).chain(["github-token", "plan", "digest", "report", "reports"])
    {
        let variable = format!("INPUT_{}", name.to_uppercase().replace('-', "_"));
        assert_eq!(environment[&variable], format!("${{{{ inputs.{name} }}}}"), "{name}");
    }
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(input["description"].as_str().is_some_and(|text| text.len() > 10), "{name} is not described");
    }
}

#[test]
fn action_outputs_match_program_outputs() {
    let sandbox = Sandbox::new(&[]);
    let model = sandbox.script(&[], "done");
    let output = sandbox.path().join("output");
    sandbox.run(&["--model", &model], &[("GITHUB_OUTPUT", output.to_str().unwrap())]).expect_code(0);
    let text = std::fs::read_to_string(&output).unwrap();
    let written: BTreeSet<String> =
        text.lines().filter_map(|line| Some(line.split_once("<<")?.0.to_owned())).collect();
    let action = action();
    let mut outputs = keys(&action["outputs"]);
    for name in ["matrix", "tasks", "manifest-path", "manifest-digest", "report-digest"] {
        assert!(outputs.remove(name), "{name} is an output of batches");
    }
    assert_eq!(outputs, written);
    for (name, output) in action["outputs"].as_object().unwrap() {
        assert_eq!(output["value"], format!("${{{{ steps.run.outputs.{name} }}}}"));
    }
}

#[test]
fn sample_workflows_use_existing_inputs_and_permissions() {
    let inputs = keys(&action()["inputs"]);
    let samples = std::fs::read_dir(root().join("samples/workflows")).unwrap();
    let reusable = ["batch.yml", "campaign.yml", "plan-and-write.yml"]
        .map(|name| root().join(".github/workflows").join(name));
    let mut steps = 0;
    for file in samples.map(|file| file.unwrap().path()).chain(reusable) {
        let text = std::fs::read_to_string(&file).unwrap();
        let workflow: Value =
            serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert_eq!(
            workflow["permissions"],
            serde_json::json!({}),
            "{}: nothing unless a job says so",
            file.display()
        );
        let is_called = workflow["on"]["workflow_call"].is_object();
        assert!(is_called || workflow["concurrency"]["group"].is_string(), "{}", file.display());
        for job in workflow["jobs"].as_object().unwrap().values() {
            if let Some(called) = job["uses"].as_str() {
                let path =
                    called.strip_prefix("architect-ci/architect-ci/").and_then(|path| path.split_once("@v"));
                let (path, _) = path.unwrap_or_else(|| panic!("{called}"));
                let text = std::fs::read_to_string(root().join(path)).unwrap();
                let reusable: Value = serde_yaml::from_str(&text).unwrap();
                // GitHub refuses a call whose jobs want more than it grants.
                for wanted in reusable["jobs"].as_object().unwrap().values() {
                    for (permission, level) in wanted["permissions"].as_object().unwrap() {
                        let given = &job["permissions"][permission];
                        assert!(given == "write" || given == level, "{}: {permission}", file.display());
                    }
                }
                let known = &reusable["on"]["workflow_call"];
                for part in ["inputs", "secrets"] {
                    let given = if part == "inputs" { &job["with"] } else { &job[part] };
                    assert!(keys(given).is_subset(&keys(&known[part])), "{}: {part}", file.display());
                }
                continue;
            }
            assert!(
                job["permissions"].is_object() && job["timeout-minutes"].is_number(),
                "{}",
                file.display()
            );
            // Where a model's key is, nothing can write.
            let has_key = job["steps"].to_string().contains("secrets.model-key");
            if is_called && has_key {
                let mut levels = job["permissions"].as_object().unwrap().values();
                assert!(levels.all(|level| level == "read"), "{}", file.display());
            }
            for step in job["steps"].as_array().unwrap() {
                let action = step["uses"].as_str().expect("an action");
                if !action.starts_with("architect-ci/") {
                    assert!(action.split_once('@').is_some_and(|(_, pin)| pin.len() == 40), "{action}");
                    continue;
                }
                steps += 1;
                // What a caller may need to say, and where it has to be said.
                let passed = if has_key { &PASSED[..] } else { &PASSED[..1] };
                for name in passed.iter().filter(|_| is_called) {
                    let passed = &step["with"][*name];
                    assert_eq!(*passed, format!("${{{{ inputs.{name} }}}}"), "{}", file.display());
                }
                let unknown: Vec<String> = keys(&step["with"]).difference(&inputs).cloned().collect();
                assert_eq!(unknown, Vec::<String>::new(), "{}", file.display());
            }
        }
    }
    assert_eq!(steps, 14);
}

#[test]
fn readme_lists_every_input_and_output() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let action = action();
    for name in keys(&action["inputs"]).iter().chain(&keys(&action["outputs"])) {
        assert!(readme.contains(&format!("`{name}`")), "README.md does not tell of {name}");
    }
}
