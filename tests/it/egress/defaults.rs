//! Defaults: the sets of hosts that the manifests of the base name.

/// Runs one command of the agent's in CI, on a commit with these files, and returns the notices of the report and the
/// detailed log.
fn told(files: &[(&str, &str)]) -> (Vec<String>, String) {
    let sandbox = crate::support::Sandbox::new(files);
    let call = ("run_command", serde_json::json!({ "command": "echo done > out.txt" }));
    let model = sandbox.script(&[vec![call]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo", "--verbose"], &[]).expect_code(0);
    let notices = run.report()["notices"].as_array().expect("notices").clone();
    let message = |notice: &serde_json::Value| notice["message"].as_str().expect("a message").to_owned();
    (notices.iter().map(message).collect(), run.stderr)
}

#[test]
fn egress_defaults_to_the_sets_that_manifests_name() {
    for (file, told) in [
        ("package.json", "the hosts of `node`, according to the checkout's manifests"),
        ("pyproject.toml", "the hosts of `python`, according to the checkout's manifests"),
    ] {
        let (notices, _) = self::told(&[(file, "{}")]);
        assert!(notices.iter().any(|notice| notice.contains(told)), "{file}: {notices:?}");
    }
    // What every run without manifests would say first is a detail.
    let (notices, log) = told(&[("README.md", "{}")]);
    assert!(!notices.iter().any(|notice| notice.contains("can reach")), "{notices:?}");
    assert!(log.contains("commands of the agent can reach no host: no manifest"), "{log}");
    let (notices, _) = told(&[("package.json", "{}"), (".architect.yml", "commands: { network: allow }\n")]);
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
