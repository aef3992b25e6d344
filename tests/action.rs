//! action.yml: it says what the program takes and gives, and its scripts do what they say.
#![cfg(unix)]
#![allow(missing_docs, clippy::expect_used, clippy::unwrap_used)]

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use architect_ci::inputs::INPUTS;
use serde_json::Value;
use sha2::{Digest, Sha256};
use support::Sandbox;
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

/// Inputs that are about getting the program and about GitHub, so not flags of it.
const ACTION_ONLY: [&str; 8] =
    ["command", "plan", "digest", "report", "github-token", "binary-path", "version", "releases-url"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn action() -> Value {
    let text = std::fs::read_to_string(root().join("action.yml")).expect("action.yml");
    serde_yaml::from_str(&text).expect("YAML")
}

fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("a map").keys().cloned().collect()
}

#[test]
fn every_flag_is_an_input_and_every_input_reaches_the_program() {
    let action = action();
    let flags: BTreeSet<String> = INPUTS.iter().map(|input| input.name.to_owned()).collect();
    let mut inputs = keys(&action["inputs"]);
    for name in ACTION_ONLY {
        assert!(inputs.remove(name), "{name}");
    }
    assert_eq!(inputs, flags);
    let environment = &action["runs"]["steps"][1]["env"];
    for name in flags.iter().map(String::as_str).chain(["github-token", "plan", "digest", "report"]) {
        let variable = format!("INPUT_{}", name.to_uppercase().replace('-', "_"));
        assert_eq!(environment[&variable], format!("${{{{ inputs.{name} }}}}"), "{name}");
    }
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(input["description"].as_str().is_some_and(|text| text.len() > 10), "{name} is not described");
    }
}

#[test]
fn no_input_is_spliced_into_a_script() {
    for step in action()["runs"]["steps"].as_array().unwrap() {
        let script = step["run"].as_str().expect("a script");
        assert!(!script.contains("${{"), "{script}");
        assert_eq!(step["shell"], "bash");
    }
}

#[test]
fn the_outputs_are_those_that_the_program_writes() {
    let sandbox = Sandbox::new(&[]);
    let model = sandbox.script(&[], "done");
    let output = sandbox.path().join("output");
    sandbox.run(&["--model", &model], &[("GITHUB_OUTPUT", output.to_str().unwrap())]).expect_code(0);
    let text = std::fs::read_to_string(&output).unwrap();
    let written: BTreeSet<String> =
        text.lines().filter_map(|line| Some(line.split_once("<<")?.0.to_owned())).collect();
    let action = action();
    assert_eq!(keys(&action["outputs"]), written);
    for (name, output) in action["outputs"].as_object().unwrap() {
        assert_eq!(output["value"], format!("${{{{ steps.run.outputs.{name} }}}}"));
    }
}

/// Runs a script of the action as the runner does.
fn script(sandbox: &Sandbox, script: &str, variables: &[(&str, &str)]) -> (Output, String) {
    let output_file = sandbox.path().join("step-output");
    let _ = std::fs::remove_file(&output_file);
    let output = Command::new("bash")
        .args(["--noprofile", "--norc", "-eo", "pipefail", "-c", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").expect("a PATH"))
        .env("ACTION_PATH", root())
        .env("GITHUB_OUTPUT", &output_file)
        .env("RUNNER_TEMP", sandbox.path())
        .envs(variables.iter().copied())
        .output()
        .expect("bash runs");
    (output, std::fs::read_to_string(output_file).unwrap_or_default())
}

#[test]
fn both_steps_run_the_program_with_its_inputs() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    let steps = action()["runs"]["steps"].clone();
    let binary = env!("CARGO_BIN_EXE_architect-ci");
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

#[tokio::test(flavor = "multi_thread")]
async fn a_release_is_downloaded_and_run_only_if_its_hash_is_right() {
    let server = MockServer::start().await;
    let release = tempfile::tempdir().unwrap();
    std::fs::write(release.path().join("architect-ci"), "#!/bin/sh\necho the release\n").unwrap();
    let made = Command::new("sh")
        .args(["-c", "chmod +x architect-ci && tar -czf archive.tar.gz architect-ci"])
        .current_dir(release.path())
        .status();
    assert!(made.is_ok_and(|status| status.success()));
    let archive = std::fs::read(release.path().join("archive.tar.gz")).unwrap();
    let hash: String = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
    let name = "architect-ci-x86_64-unknown-linux-musl.tar.gz";
    let serve = async |version: &str, sums: String| {
        for (file, body) in [(name, archive.clone()), ("SHA256SUMS", sums.into_bytes())] {
            let path = format!("/{version}/{file}");
            Mock::given(matchers::path(path))
                .respond_with(ResponseTemplate::new(200).set_body_bytes(body))
                .mount(&server)
                .await;
        }
    };
    serve("v0.1.0", format!("{hash}  {name}\n{}  other.tar.gz\n", "0".repeat(64))).await;
    serve("v0.1.1", format!("{}  {name}\n", "0".repeat(64))).await;
    serve("v0.1.2", format!("{hash}  other.tar.gz\n")).await;
    let url = server.uri();
    tokio::task::spawn_blocking(move || {
        let sandbox = Sandbox::new(&[]);
        let steps = action()["runs"]["steps"].clone();
        let get = |version: &str, os: &str| {
            let variables = [
                ("VERSION", version),
                ("RELEASES_URL", url.as_str()),
                ("RUNNER_OS", os),
                ("RUNNER_ARCH", "X64"),
            ];
            script(&sandbox, steps[0]["run"].as_str().unwrap(), &variables)
        };
        let (ran, output) = get("v0.1.0", "Linux");
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let binary = output.trim().strip_prefix("binary=").expect("the output");
        assert_eq!(Command::new(binary).output().expect("it runs").stdout, b"the release\n");
        for (version, os, says) in [
            ("v0.1.1", "Linux", "is not the one in SHA256SUMS; nothing was run"),
            ("v0.1.2", "Linux", "is not the one in SHA256SUMS; nothing was run"),
            ("v9.9.9", "Linux", "the download of architect-ci-x86_64-unknown-linux-musl.tar.gz failed"),
            ("../../x", "Linux", "version has to look like v0.1.0"),
            ("v0.1.0", "Plan9", "there is no release for this runner (Plan9 X64)"),
        ] {
            let (ran, output) = get(version, os);
            let stderr = String::from_utf8_lossy(&ran.stderr);
            assert_eq!(ran.status.code(), Some(3), "{version} {os}: {stderr}");
            assert!(
                stderr.contains("::error title=architect-ci::") && stderr.contains(says),
                "{version} {os}: {stderr}"
            );
            assert_eq!(output, "", "{version} {os}");
        }
        let (ran, _) =
            script(&sandbox, steps[0]["run"].as_str().unwrap(), &[("BINARY_PATH", "/no/such/program")]);
        assert_eq!(ran.status.code(), Some(3));
    })
    .await
    .expect("no panic");
}

#[test]
fn the_documentation_lists_every_input_and_output() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let action = action();
    for name in keys(&action["inputs"]).iter().chain(&keys(&action["outputs"])) {
        assert!(readme.contains(&format!("`{name}`")), "README.md does not tell of {name}");
    }
}
