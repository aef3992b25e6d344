//! Defaults: the sets of hosts that the manifests of the base name.

/// Runs one command of the agent's in CI, on a commit with these files, and returns the notices of the report.
fn notices(files: &[(&str, &str)]) -> Vec<String> {
    let sandbox = crate::support::Sandbox::new(files);
    let call = ("run_command", serde_json::json!({ "command": "echo done > out.txt" }));
    let model = sandbox.script(&[vec![call]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]).expect_code(0);
    let notices = run.report()["notices"].as_array().expect("notices").clone();
    notices.iter().map(|notice| notice["message"].as_str().expect("a message").to_owned()).collect()
}

#[test]
fn egress_defaults_to_the_sets_that_manifests_name() {
    for (file, told) in [
        ("package.json", "the hosts of `node`, according to the checkout's manifests"),
        ("pyproject.toml", "the hosts of `python`, according to the checkout's manifests"),
        ("README.md", "no host, because no manifest of the checkout names a set of hosts"),
    ] {
        let notices = notices(&[(file, "{}")]);
        assert!(notices.iter().any(|notice| notice.contains(told)), "{file}: {notices:?}");
    }
    let notices = notices(&[("package.json", "{}"), (".architect.yml", "commands: { network: allow }\n")]);
    assert!(!notices.iter().any(|notice| notice.contains("can reach")), "{notices:?}");
}

#[tokio::test]
async fn egress_defaults_come_from_manifests_of_the_base() {
    crate::support::scene::scene(&[("Cargo.toml", "")], |scene| {
        scene.sandbox.write("package.json", "{}");
        scene.sandbox.write("Gemfile", "");
        let call = ("run_command", serde_json::json!({ "command": "echo done > out.txt" }));
        let model = scene.sandbox.script(&[vec![call]], "done");
        let event = scene.pull_event(7, "dev");
        let run = scene.run("pull_request", &event, &["--model", &model], &[]).expect_code(0);
        assert!(
            run.stderr.contains("the hosts of `rust`, according to the checkout's manifests"),
            "{}",
            run.stderr
        );
    })
    .await;
}
