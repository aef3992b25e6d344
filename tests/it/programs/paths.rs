//! Paths of a configuration: what stands there, whose it is, and how it is shown.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::scene::scene;
use crate::support::{Run, Sandbox};
use serde_json::json;

const BY_BASE: &str = "github:\n  comment_key: by-base\n";

#[tokio::test(flavor = "multi_thread")]
async fn trust_needs_checkout_at_commit_of_event() {
    scene(&[(".architect.yml", BY_BASE)], |mut scene| {
        scene.sandbox.write(".architect.yml", "github:\n  comment_key: by-head\n");
        scene.head = scene.sandbox.commit("the configuration of the fork");
        let model = scene.sandbox.script(&[], "done");
        let event = scene.event("schedule", &[]);
        let key = |run: &Run| run.file("comment.md").lines().next().unwrap().to_owned();
        for name in ["schedule", "push", "workflow_dispatch", "repository_dispatch", "anything"] {
            let run = scene.run(name, &event, &["--model", &model], &[]);
            assert_eq!(run.code, 0, "{name}: {}", run.stderr);
            assert_eq!(key(&run), "<!-- architect-ci comment: by-base -->", "{name}");
            assert!(run.file("report.json").contains("the checkout is at"), "{name}");
        }
        let args = ["--model", &model, "--trust-head-config"];
        let run = scene.run("schedule", &event, &args, &[]).expect_code(0);
        assert_eq!(key(&run), "<!-- architect-ci comment: by-head -->");
        // Where the event's commit is checked out, the files on disk count.
        let sha = scene.head.clone();
        let run = scene.run("schedule", &event, &["--model", &model], &[("GITHUB_SHA", &sha)]).expect_code(0);
        assert_eq!(key(&run), "<!-- architect-ci comment: by-head -->");
        // A commit that is nowhere, and none at all.
        let run = scene.run("schedule", &event, &["--model", &model], &[("GITHUB_SHA", &"1".repeat(40))]);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("is read from the commit 1111"), "{}", run.stderr);
        let run = scene.run("schedule", &event, &["--model", &model], &[("GITHUB_SHA", "")]);
        assert_eq!(run.code, 3, "{}", run.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn trust_replayed_transcript_comes_from_base() {
    const CONFIG: &str = "llm:\n  model: replay::ci/model.jsonl\n";
    const DONE: &str = "{\"type\":\"reply\",\"agent\":\"build\",\"step\":1,\"text\":\"done\"}\n";
    scene(&[(".architect.yml", CONFIG), ("ci/model.jsonl", DONE)], |scene| {
        let event = scene.pull_event(8, "dev");
        scene.run("pull_request", &event, &[], &[]).expect_code(0);
        scene.sandbox.write("ci/model.jsonl", DONE.replace("done", "of the head"));
        scene.sandbox.commit("another transcript");
        let run = scene.run("pull_request", &event, &[], &[]).expect_code(3);
        assert!(run.stderr.contains("ci/model.jsonl differs from the base commit"), "{}", run.stderr);
    })
    .await;
}

#[test]
fn configuration_paths_open_nothing_outside_of_checkout() {
    // A link that leads out, a folder, a pipe, a device, a file without end.
    let sandbox = Sandbox::new(&[("a.txt", "a\n")]);
    let (repo, config) = (sandbox.repo(), sandbox.repo().join(".architect.yml"));
    fs::write(sandbox.path().join("outside.yml"), "github:\n  comment_key: outside\n").unwrap();
    let refused = |what: &str| {
        for args in [&["config", "check"][..], &["explain", "ls"]] {
            let output = sandbox.command(args).current_dir(&repo).output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(3), "{what}, {args:?}: {told}");
            assert!(told.contains(".architect.yml"), "{what}, {args:?}: {told}");
        }
        let run = sandbox.run(&["--model", "replay::x"], &[]);
        assert_eq!(run.code, 3, "{what}: {}", run.stderr);
        let _ = fs::remove_file(&config).or_else(|_| fs::remove_dir(&config));
    };
    symlink("../outside.yml", &config).unwrap();
    refused("link");
    symlink("/dev/zero", &config).unwrap();
    refused("device");
    fs::create_dir(&config).unwrap();
    refused("folder");
    let made = std::process::Command::new("mkfifo").arg(&config).status().unwrap();
    assert!(made.success());
    refused("pipe");
    fs::File::create(&config).unwrap().set_len(1 << 40).unwrap();
    refused("large file");
    // A link to a file that nobody has committed is not the checkout's own, one to a file of the commit is.
    let real = "github:\n  comment_key: inside\n";
    fs::write(repo.join("real.yml"), real).unwrap();
    symlink("real.yml", &config).unwrap();
    refused("link to an uncommitted file");
    sandbox.git(&["add", "real.yml"]);
    sandbox.commit("settings");
    symlink("real.yml", &config).unwrap();
    let output = sandbox.command(&["config", "check"]).current_dir(&repo).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn opened_paths_are_no_links_of_the_repository() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n")]);
    symlink(sandbox.path(), sandbox.repo().join("data")).unwrap();
    for key in ["readable_paths", "writable_paths"] {
        for path in ["data", "data/below", "./data"] {
            sandbox.write(".architect.yml", format!("commands:\n  {key}: [{path}]\n"));
            let run = sandbox.run(&["--model", "replay::x"], &[]);
            assert_eq!(run.code, 3, "{key} {path}: {}", run.stderr);
            assert!(
                run.stderr.contains(&format!("`commands.{key}`")) && run.stderr.contains("is a link"),
                "{}",
                run.stderr
            );
        }
    }
}

#[test]
fn outputs_of_commands_that_look_are_neutralized() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n")]);
    let line = "cat \"a\n::set-output name=x::y\u{202e}\"";
    let output = sandbox.command(&["explain", line]).current_dir(sandbox.repo()).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
}

#[test]
fn changed_files_with_characters_that_break_lines_or_are_unseen_are_quoted() {
    let sandbox = Sandbox::new(&[("a.txt", "a\n")]);
    let outputs = sandbox.path().join("outputs");
    let line = "touch $'x\\ny' plain 'a\u{202e}b' 'z\u{e0041}' $'\\x7f' 'gr\u{fc}n \u{1f600}'";
    let message = "done\u{202e}\u{200b}";
    let model = sandbox.script(&[vec![("run_command", json!({ "command": line }))]], message);
    let variables = [("GITHUB_OUTPUT", outputs.to_str().unwrap())];
    sandbox.run(&["--model", &model, "--mode", "yolo"], &variables).expect_code(0);
    let found = crate::support::outputs(&fs::read_to_string(&outputs).unwrap());
    assert_eq!(
        found["changed-files"],
        "\"a\\u202eb\"\ngr\u{fc}n \u{1f600}\nplain\n\"x\\ny\"\n\"z\\udb40\\udc41\"\n\"\\u007f\""
    );
    for line in found["changed-files"].lines().filter(|line| line.starts_with('"')) {
        let name: String = serde_json::from_str(line).expect("a string of JSON");
        assert!(sandbox.repo().join(&name).exists(), "{line}");
    }
    assert_eq!(found["summary"], "done\u{27e8}U+202E\u{27e9}\u{27e8}U+200B\u{27e9}");
}
