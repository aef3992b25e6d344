//! Files that a command may not see or change, and what is kept of its changes.

use std::fs;

use super::{CONFIG, probe, yolo};
use crate::support::{Sandbox, command};
use serde_json::json;

#[test]
fn command_cannot_change_git_configuration_or_hooks() {
    let script = "git config core.fsmonitor ./evil.sh\nprintf '#!/bin/sh\\n' > .git/hooks/pre-commit\nchmod +x .git/hooks/pre-commit\nrm -f .git/hooks/*.sample\n\
                  git init -q nested; git commit -q --allow-empty -m x; echo done\n";
    let (run, sandbox, result) = probe(script);
    assert!(result.contains("done"), "{result}");
    assert!(!sandbox.repo().join(".git/hooks/pre-commit").exists());
    assert!(sandbox.repo().join(".git/hooks/pre-push.sample").exists());
    assert!(!sandbox.read(".git/config").contains("fsmonitor"));
    assert!(!sandbox.repo().join("nested").join(".git").exists());
    assert_eq!(sandbox.git(&["log", "--format=%s"]).trim(), "before");
    assert!(result.contains("[not kept: nested/.git: a separate repository]"), "{result}");
    assert!(run.report()["files"].as_array().unwrap().is_empty());
}

#[test]
fn files_that_git_settings_name_are_always_protected() {
    let files = [
        (".architect.yml", "dry_run: { commands: isolated }\n"),
        (".gitconfig", "[alias]\n\tst = status\n"),
        (
            "again.sh",
            "cp .husky/_/pre-commit x; cat x > .husky/_/pre-commit; rm x; echo built > .husky/pre-push\n",
        ),
    ];
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&files);
        sandbox.write(".husky/_/.gitignore", "*\n");
        sandbox.write(".husky/_/pre-commit", "#!/bin/sh\nexit 0\n");
        sandbox.git(&["config", "core.hooksPath", ".husky/_"]);
        sandbox.git(&["config", "include.path", "../.gitconfig"]);
        let before = sandbox.tree();
        let calls = [
            ("write_file", json!({"path": ".husky/_/pre-commit", "content": "id"})),
            ("write_file", json!({"path": ".gitconfig", "content": "[core]\n\tfsmonitor = id\n"})),
            command("echo id > .husky/_/pre-commit"),
            command("echo id > .husky/_/post-checkout"),
            command("mv .husky/_ old"),
            command("echo '[core] fsmonitor = id' >> .gitconfig"),
        ];
        let model = sandbox.script(&calls.map(|call| vec![call]), "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        for (index, result) in run.results().iter().enumerate() {
            assert!(
                result.contains("the settings of the repository name it"),
                "{mode}, call {index}: {result}"
            );
        }
        assert_eq!(sandbox.tree(), before, "{mode}");
        // What is written anew as it was, as `npm install` does, keeps nothing else from being kept.
        let model = sandbox.script(&[vec![command("sh again.sh")]], "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        assert_eq!(run.report()["files"][0]["path"], ".husky/pre-push", "{mode}: {:?}", run.results());
    }
}

#[test]
fn command_touching_protected_file_keeps_nothing() {
    let config = format!("{CONFIG}guardrails: {{ protected_files: [\"*.lock\"] }}\n");
    let script = "echo x > a.lock; echo y > b.txt; mkdir -p .github/workflows; echo z > .github/workflows/ci.yml\necho '{}' > .architect.yml\n\
                  printf '.github\\n*.lock\\n' > .gitignore; cp .gitignore .git/info/exclude; git update-index --assume-unchanged a.lock; rm -r .git\n";
    let sandbox = Sandbox::new(&[
        (".architect.yml", &config),
        ("probe.sh", script),
        ("a.lock", "1\n"),
        ("b.txt", "1\n"),
    ]);
    let run = yolo(&sandbox, vec![command("bash probe.sh"), command("rm b.txt")]);
    let result = run.results().remove(0);
    for part in [
        ".architect.yml is always protected: it configures this tool; none of the changes of the command were kept",
        "a.lock is a protected file",
        ".github/workflows/ci.yml is always protected",
    ] {
        assert!(result.contains(part), "{part}: {result}");
    }
    assert_eq!(sandbox.read("a.lock"), "1\n");
    assert_eq!(sandbox.read(".architect.yml"), config);
    assert!(!sandbox.repo().join(".github").exists() && !sandbox.repo().join("b.txt").exists());
    assert_eq!(run.report()["guardrails"].as_array().unwrap().len(), 3);
    let files = run.report()["files"].as_array().unwrap().clone();
    assert_eq!(files.iter().map(|file| file["path"].as_str().unwrap()).collect::<Vec<_>>(), ["b.txt"]);
}

#[test]
fn command_cannot_see_sensitive_files() {
    let config = format!("{CONFIG}guardrails: {{ sensitive_files: [\".env*\", keys] }}\n");
    let script =
        "ls -A; cat .env keys/a.pem; git status --short; echo mine > .env.local; echo stolen > .env\n";
    let sandbox = Sandbox::new(&[
        (".architect.yml", &config),
        ("probe.sh", script),
        (".env", "KEY=of-the-checkout\n"),
        ("keys/a.pem", "of-the-checkout\n"),
        (".gitignore", ".env.local\n"),
    ]);
    let run = yolo(&sandbox, vec![command("bash probe.sh"), command("rm probe.sh")]);
    let result = run.results().remove(0);
    assert!(!result.contains("of-the-checkout") && result.contains("No such file"), "{result}");
    assert!(
        result.contains(".env is a sensitive file (sensitive_files: .env*); none of the changes"),
        "{result}"
    );
    assert!(result.contains("[not kept: .env.local: a sensitive file]"), "{result}");
    assert_eq!(sandbox.read(".env"), "KEY=of-the-checkout\n");
    assert!(!sandbox.repo().join(".env.local").exists() && !sandbox.repo().join("probe.sh").exists());
}

#[test]
fn sensitive_files_by_default_are_refused_and_hidden_only_where_git_does_not_track_them() {
    let config = format!(
        "{CONFIG}guardrails:\n  quality_gates: [{{ name: fixture, command: 'grep -q public tests/cert.pem && ! test -e .env' }}]\n"
    );
    let sandbox = Sandbox::new(&[
        (".architect.yml", &config),
        ("probe.sh", "cat tests/cert.pem; cat .env secrets/a.key\n"),
        ("tests/cert.pem", "public fixture\n"),
        (".env.example", "KEY=put yours here\n"),
        (".gitignore", ".env\nsecrets/\n"),
    ]);
    fs::write(sandbox.repo().join(".env"), "KEY=of-the-developer\n").unwrap();
    fs::create_dir(sandbox.repo().join("secrets")).unwrap();
    fs::write(sandbox.repo().join("secrets/a.key"), "of-the-developer\n").unwrap();
    let read = |path: &str| ("read_file", json!({"path": path}));
    let edit = ("write_file", json!({"path": ".npmrc", "content": "x"}));
    let search = ("grep", json!({"pattern": "developer|fixture", "path": "."}));
    let calls = vec![
        command("bash probe.sh"),
        command("cat .env"),
        read(".env"),
        read("tests/cert.pem"),
        read(".env.example"),
        edit,
        search,
    ];
    let results = yolo(&sandbox, calls).results();
    assert!(results[0].contains("public fixture") && results[0].contains("No such file"), "{}", results[0]);
    for (index, name) in [(1, ".env"), (2, ".env"), (3, "tests/cert.pem"), (5, ".npmrc")] {
        let expected = format!("Guardrail: {name} is a sensitive file (by default: ");
        assert!(results[index].contains(&expected), "{}", results[index]);
    }
    assert!(results[4].contains("put yours here"), "{}", results[4]);
    assert!(!results.concat().contains("of-the-developer"), "{results:?}");
    assert!(!results[6].contains("public fixture"), "{}", results[6]);

    let off = format!("{CONFIG}guardrails: {{ sensitive_files: [] }}\n");
    let sandbox = Sandbox::new(&[(".architect.yml", &off), (".env", "KEY=1\n")]);
    let results = yolo(&sandbox, vec![read(".env"), command("cat .env")]).results();
    assert!(results.iter().all(|result| result.contains("KEY=1")), "{results:?}");
}

#[test]
fn command_changes_to_ignored_files_are_kept_however_huge() {
    let script = "echo built > built.log; truncate -s 3G huge.log; printf x > $'caf\\xe9'; mkdir -p target/deep; echo o > target/deep/o; chmod 4755 built.log\n";
    let sandbox =
        Sandbox::new(&[(".architect.yml", CONFIG), ("probe.sh", script), (".gitignore", "target/\n*.log\n")]);
    let run = yolo(&sandbox, vec![command("bash probe.sh"), command("cat target/deep/o; rm -r target")]);
    let results = run.results();
    assert!(results[0].contains("[not kept: 1 with names that are not UTF-8]"), "{}", results[0]);
    assert_eq!(sandbox.read("built.log"), "built\n");
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &fs::metadata(sandbox.repo().join("built.log")).unwrap().permissions(),
    );
    assert_eq!(mode & 0o6000, 0, "nobody runs it as somebody else");
    assert_eq!(fs::metadata(sandbox.repo().join("huge.log")).unwrap().len(), 3 << 30);
    assert!(results[1].contains("\no"), "{}", results[1]);
    assert!(!sandbox.repo().join("target").exists());
    assert_eq!(run.report()["files"], serde_json::json!([]));
}
