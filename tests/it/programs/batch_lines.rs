//! Lines of a batch that list or set up tasks: those of the base alone are run, and they leave nothing behind.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::scene::scene;
use crate::support::{Run, Sandbox};

#[tokio::test(flavor = "multi_thread")]
async fn batch_lines_of_head_are_not_run() {
    const FILES: &[(&str, &str)] = &[
        ("ci/list.sh", "echo a\n"),
        ("batch.yml", "name: b\ntasks: [{id: 't {l}', task: x, for_each: {l: {lines: sh ci/list.sh}}}]\n"),
    ];
    scene(FILES, |scene| {
        let mark = scene.sandbox.path().join("mark");
        scene.sandbox.write("ci/list.sh", format!("touch {}; echo b\n", mark.display()));
        scene.sandbox.commit("the list of the head");
        let (event, out) = (scene.pull_event(7, "dev"), scene.sandbox.out());
        let args = ["batch", "batch.yml", "--matrix", "--model", "replay::x", "--out", out.to_str().unwrap()];
        let mut command = scene.sandbox.command(&[&args[..], &["--event", event.to_str().unwrap()]].concat());
        command.envs(scene.variables("pull_request")).current_dir(scene.sandbox.repo());
        let run = Run::new(&command.output().unwrap(), out.clone());
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("(`lines`) is not run: ci/list.sh differs"), "{}", run.stderr);
        assert!(!mark.exists());
        // Nor is a list of tasks believed that the head holds.
        scene.sandbox.write("manifest.json", "{}");
        let args = ["batch", "--manifest", "manifest.json", "--event", event.to_str().unwrap()];
        let mut command = scene.sandbox.command(&args);
        command.envs(scene.variables("pull_request")).current_dir(scene.sandbox.repo());
        let run = Run::new(&command.output().unwrap(), out);
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains("is a file of the checkout"), "{}", run.stderr);
    })
    .await;
}

#[test]
fn batch_lines_leave_no_trace_in_checkout() {
    let batch =
        "name: b\ntasks: [{id: 't {l}', task: x, for_each: {l: {lines: 'echo x > made; cat a.txt'}}}]\n";
    let sandbox = Sandbox::new(&[("a.txt", "one\ntwo\n"), ("batch.yml", batch)]);
    let (before, out) = (sandbox.tree(), sandbox.out());
    let args = ["batch", "batch.yml", "--matrix", "--model", "replay::x", "--out", out.to_str().unwrap()];
    let run = Run::new(&sandbox.command(&args).current_dir(sandbox.repo()).output().unwrap(), out);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_eq!(run.json("manifest.json")["tasks"].as_array().unwrap().len(), 2);
    assert_eq!(sandbox.tree(), before);
}

#[test]
fn batch_removes_nothing_that_is_not_its_own() {
    let batch = "name: b\ntasks: [{id: t, task: x}]\n";
    for (file, told) in [
        ("tasks/mine.txt", "tasks/mine.txt does not belong to a batch"),
        (".worktrees/x/mine", ".worktrees/x"),
    ] {
        let sandbox = Sandbox::new(&[("batch.yml", batch), (file, "mine\n")]);
        let model = sandbox.script(&[], "done");
        let args = ["batch", "batch.yml", "--model", &model, "--out", "."];
        let run =
            Run::new(&sandbox.command(&args).current_dir(sandbox.repo()).output().unwrap(), sandbox.out());
        assert_eq!(run.code, 3, "{}", run.stderr);
        assert!(run.stderr.contains(told), "{}", run.stderr);
        assert_eq!(sandbox.read(file), "mine\n");
    }
    // A link in the journal's place is not written through.
    let sandbox = Sandbox::new(&[("batch.yml", batch)]);
    let other = sandbox.path().join("other");
    fs::write(&other, "theirs\n").unwrap();
    symlink(&other, sandbox.repo().join("journal.jsonl")).unwrap();
    let args = ["batch", "batch.yml", "--model", "replay::x", "--out", "."];
    let run = Run::new(&sandbox.command(&args).current_dir(sandbox.repo()).output().unwrap(), sandbox.out());
    assert_eq!((run.code, fs::read_to_string(&other).unwrap().as_str()), (3, "theirs\n"), "{}", run.stderr);
}
