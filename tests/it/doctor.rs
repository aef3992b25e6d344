//! Findings of `doctor` and `config check` before the first run.
#![cfg(unix)]

use crate::support::Sandbox;
use crate::support::github::READ_TOKEN;
use crate::support::scene::{Scene, scene};

/// Returns the exit code and what is told.
fn doctor(sandbox: &Sandbox, variables: &[(String, String)]) -> (Option<i32>, String) {
    let repo = sandbox.repo();
    let mut command = sandbox.command(&["doctor", "--workspace", repo.to_str().unwrap()]);
    let output = command.envs(variables.iter().cloned()).output().expect("the binary runs");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn doctor_finds_broken_configuration_with_every_rule() {
    for (text, told) in [
        ("llm: { modle: x }\n", "did you mean `model`?"),
        ("guardrails: { code_rules: [{ pattern: '(', message: x }] }\n", "code_rules"),
    ] {
        let sandbox = Sandbox::new(&[(".github/architect.yml", text)]);
        let (code, found) = doctor(&sandbox, &[]);
        assert!(code == Some(3) && found.contains("! config ") && found.contains(told), "{found}");
    }
    let sandbox = Sandbox::new(&[(".github/architect.yml", "llm: { stream: true }\n")]);
    let (code, found) = doctor(&sandbox, &[]);
    assert!(code == Some(0) && found.contains("✓ config     .github/architect.yml is valid"), "{found}");
    assert!(found.contains("✓ checkout   a Git repository with its history"), "{found}");
}

#[test]
fn doctor_finds_shallow_clone() {
    let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
    sandbox.write("a.txt", "two\n");
    sandbox.commit("second");
    let source = format!("file://{}", sandbox.repo().display());
    let clone = sandbox.path().join("clone");
    sandbox.git(&["clone", "--quiet", "--depth=1", &source, clone.to_str().unwrap()]);
    let output = sandbox.command(&["doctor", "--workspace", clone.to_str().unwrap()]).output().unwrap();
    let found = String::from_utf8_lossy(&output.stdout);
    assert!(found.contains("! checkout   a shallow clone") && found.contains("`fetch-depth: 0`"), "{found}");
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_wrong_event_and_missing_permission() {
    scene(&[], |scene: Scene| {
        let variables = |event: &str, payload: &std::path::Path, token: Option<&str>| {
            let mut all = scene.variables(event);
            all.push(("GITHUB_EVENT_PATH".to_owned(), payload.display().to_string()));
            all.extend(token.map(|token| ("GITHUB_TOKEN".to_owned(), token.to_owned())));
            all
        };
        let pull = scene.pull_event(7, "dev");
        let (code, found) = doctor(&scene.sandbox, &variables("pull_request", &pull, None));
        assert_eq!(code, Some(0), "{found}");
        assert!(found.contains("✓ event      pull_request starts a run"), "{found}");
        assert!(found.contains("✓ token      the token can write to the repository"), "{found}");
        let (_, found) = doctor(&scene.sandbox, &variables("pull_request", &pull, Some(READ_TOKEN)));
        assert!(found.contains("the token can only read"), "{found}");
        scene.github.forbid("GET /repos/octo/demo/actions/");
        let (_, found) = doctor(&scene.sandbox, &variables("pull_request", &pull, None));
        assert!(found.contains("! token ") && found.contains("`permissions: actions: read`"), "{found}");
        let (chatter, _) = scene.comment_event(7, "dev", "Looks good to me");
        let (_, found) = doctor(&scene.sandbox, &variables("issue_comment", &chatter, None));
        assert!(found.contains("! event      issue_comment starts nothing: "), "{found}");
        // Nothing was written anywhere.
        assert!(scene.github.requests().iter().all(|request| request.starts_with("GET ")));
        scene.github.assert_valid();
    })
    .await;
}

#[test]
fn configuration_that_would_have_no_effect_is_an_error() {
    const EMPTY: &str = "llm: {}\n";
    let gates = "guardrails:\n  quality_gates:\n  - { name: a, command: x }\n  - { name: a, command: y }\n";
    let cases: [(&[(&str, &str)], &str); 6] = [
        (&[(".github/architect.yaml", EMPTY)], "rename it to .github/architect.yml"),
        (&[(".architect.yaml", EMPTY)], "rename it to .architect.yml"),
        (&[(".architect.yml", EMPTY), (".github/architect.yml", EMPTY)], "there are two configuration files"),
        (&[(".architect.yml", gates)], "two quality gates are named `a`"),
        (
            &[(".architect.yml", "commands: { network: { allow: [pyhton] } }\n")],
            "did you mean the set `python`?",
        ),
        (
            &[(".architect.yml", "agents: { build: { allowed_tools: [read_file, editfile] } }\n")],
            "unknown tool \"editfile\" (did you mean \"edit_file\"?)",
        ),
    ];
    for (files, told) in cases {
        let sandbox = Sandbox::new(files);
        let repo = sandbox.repo();
        let check = ["config", "check", "--workspace", repo.to_str().unwrap()];
        let output = sandbox.command(&check).output().expect("the binary runs");
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(output.status.code() == Some(3) && said.contains(told), "{told}: {said}");
        let model = sandbox.script(&[], "done");
        let run = sandbox.run(&["--model", &model], &[]).expect_code(3);
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
}
