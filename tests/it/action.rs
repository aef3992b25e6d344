//! action.yml: it says what the program takes and gives, and its scripts do what they say.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

use crate::support::Sandbox;
use crate::support::github::BOT;
use crate::support::scene::{Scene, scene};
use architect_ci::request::{BATCH_INPUTS, INPUTS};
use serde_json::Value;
use sha2::{Digest, Sha256};
use wiremock::{Mock, MockServer, ResponseTemplate, matchers};

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
fn action_scripts_do_not_interpolate_inputs() {
    for step in action()["runs"]["steps"].as_array().unwrap() {
        let script = step["run"].as_str().expect("a script");
        assert!(!script.contains("${{"), "{script}");
        assert_eq!(step["shell"], "bash");
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
fn action_steps_pass_inputs_to_program() {
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
        let binary = env!("CARGO_BIN_EXE_architect-ci");
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
                assert_eq!(job["permissions"], serde_json::json!({"contents": "read"}), "{}", file.display());
            }
            for step in job["steps"].as_array().unwrap() {
                let action = step["uses"].as_str().expect("an action");
                if !action.starts_with("architect-ci/") {
                    assert!(action.split_once('@').is_some_and(|(_, pin)| pin.len() == 40), "{action}");
                    continue;
                }
                steps += 1;
                let unknown: Vec<String> = keys(&step["with"]).difference(&inputs).cloned().collect();
                assert_eq!(unknown, Vec::<String>::new(), "{}", file.display());
            }
        }
    }
    assert_eq!(steps, 13);
}

#[tokio::test(flavor = "multi_thread")]
async fn release_download_requires_matching_hash() {
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
            ("v9.9.9", "Linux", "could not download architect-ci-x86_64-unknown-linux-musl.tar.gz"),
            ("../../x", "Linux", "invalid value for `version`; use a release such as v0.1.0"),
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

/// Archives of a program, as a release has them.
fn release(dir: &Path, says: &str) -> std::path::PathBuf {
    let programs = dir.join("programs");
    for (target, name) in
        [("x86_64-unknown-linux-musl", "architect-ci"), ("x86_64-pc-windows-msvc", "architect-ci.exe")]
    {
        std::fs::create_dir_all(programs.join(target)).unwrap();
        std::fs::write(programs.join(target).join(name), format!("#!/bin/sh\necho {says}\n")).unwrap();
    }
    let out = dir.join("dist");
    let packed = Command::new("bash")
        .arg(root().join(".github/scripts/package.sh"))
        .args([&programs, &out])
        .output()
        .expect("bash runs");
    assert!(packed.status.success(), "{}", String::from_utf8_lossy(&packed.stderr));
    out
}

#[test]
fn release_archives_are_reproducible() {
    let dirs = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let [one, two] = dirs
        .each_ref()
        .map(|dir| std::fs::read_to_string(release(dir.path(), "x").join("SHA256SUMS")).unwrap());
    assert_eq!(one, two);
    assert_eq!(one.lines().count(), 2);
    assert!(one.contains("  architect-ci-x86_64-unknown-linux-musl.tar.gz\n"), "{one}");
    let listed = Command::new("tar")
        .arg("-tzf")
        .arg(dirs[0].path().join("dist/architect-ci-x86_64-pc-windows-msvc.tar.gz"))
        .output()
        .unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed, "./\n./CHANGELOG.md\n./LICENSE\n./README.md\n./architect-ci.exe\n");
    let empty = tempfile::tempdir().unwrap();
    let failed = Command::new("bash")
        .arg(root().join(".github/scripts/package.sh"))
        .args([empty.path(), &empty.path().join("out")])
        .output()
        .unwrap();
    assert!(!failed.status.success());
}

#[tokio::test(flavor = "multi_thread")]
async fn tool_cache_keeps_only_verified_downloads() {
    let server = MockServer::start().await;
    let dir = tempfile::tempdir().unwrap();
    let dist = release(dir.path(), "packed");
    let name = "architect-ci-x86_64-unknown-linux-musl.tar.gz";
    let archive = std::fs::read(dist.join(name)).unwrap();
    let sums = std::fs::read(dist.join("SHA256SUMS")).unwrap();
    let serve = async |path: String, body: Vec<u8>| {
        let answer = ResponseTemplate::new(200).set_body_bytes(body);
        Mock::given(matchers::path(path)).respond_with(answer).mount(&server).await;
    };
    serve(format!("/v1.0.0/{name}"), archive.clone()).await;
    serve("/v1.0.0/SHA256SUMS".to_owned(), sums.clone()).await;
    // Without checksums; and with an archive that is not what they say.
    serve(format!("/v1.0.1/{name}"), archive.clone()).await;
    serve(format!("/v1.0.2/{name}"), [&archive[..], b"x"].concat()).await;
    serve("/v1.0.2/SHA256SUMS".to_owned(), sums).await;
    let url = server.uri();
    let before = tokio::task::spawn_blocking(move || {
        let sandbox = Sandbox::new(&[]);
        let cache = sandbox.path().join("tools");
        let steps = action()["runs"]["steps"].clone();
        let get = |version: &str, url: &str| {
            let variables = [
                ("VERSION", version),
                ("RELEASES_URL", url),
                ("RUNNER_OS", "Linux"),
                ("RUNNER_ARCH", "X64"),
                ("RUNNER_TOOL_CACHE", cache.to_str().unwrap()),
            ];
            script(&sandbox, steps[0]["run"].as_str().unwrap(), &variables)
        };
        for (version, says) in [
            ("v1.0.1", "could not download SHA256SUMS"),
            ("v1.0.2", "is not the one in SHA256SUMS; nothing was run"),
        ] {
            let (ran, output) = get(version, &url);
            let stderr = String::from_utf8_lossy(&ran.stderr).into_owned();
            assert!(
                ran.status.code() == Some(3) && stderr.contains(says) && output.is_empty(),
                "{version}: {stderr}"
            );
            assert!(!cache.join("architect-ci").join(&version[1..]).exists());
        }
        let (ran, first) = get("v1.0.0", &url);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let binary = first.trim().strip_prefix("binary=").expect("the output").to_owned();
        assert!(binary.starts_with(cache.to_str().unwrap()), "{binary}");
        assert_eq!(Command::new(&binary).output().expect("it runs").stdout, b"packed\n");
        // Once more, with nobody to download from.
        let (ran, second) = get("v1.0.0", "http://127.0.0.1:1");
        assert!(ran.status.success() && second == first, "{}", String::from_utf8_lossy(&ran.stderr));
        // One that was cut off while it was put there is not taken.
        std::fs::remove_file(cache.join("architect-ci/1.0.0/x86_64-unknown-linux-musl.complete")).unwrap();
        std::fs::write(&binary, "").unwrap();
        let (ran, _) = get("v1.0.0", &url);
        assert!(ran.status.success());
        assert_eq!(Command::new(&binary).output().expect("it runs").stdout, b"packed\n");
        let (ran, _) = get("v1.0.0", "file:///etc");
        assert_eq!(ran.status.code(), Some(3));
        // What is in the temporary folder is gone.
        let left = std::fs::read_dir(sandbox.path()).unwrap().flatten();
        left.filter(|entry| entry.file_name().to_string_lossy().starts_with("architect-ci-")).count()
    })
    .await
    .expect("no panic");
    assert_eq!(before, 0);
}

#[test]
fn readme_lists_every_input_and_output() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("README.md");
    let action = action();
    for name in keys(&action["inputs"]).iter().chain(&keys(&action["outputs"])) {
        assert!(readme.contains(&format!("`{name}`")), "README.md does not tell of {name}");
    }
}
