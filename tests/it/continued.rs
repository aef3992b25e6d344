//! `/architect continue`: an interrupted session goes on from the artifact of its workflow run.
#![cfg(unix)]

use std::fs;
use std::io::{Cursor, Write as _};

use serde_json::json;
use zip::write::SimpleFileOptions;

use crate::support::github::FORKS_RUN;
use crate::support::scene::{Scene, scene};
use crate::support::sealed::{KEY, OTHER_KEY};
use crate::support::{Run, Sandbox};

/// Keeps a file as the sealed session of a workflow run.
fn upload(scene: &Scene, sealed: &[u8], run: u64) {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    archive.start_file("out/session.sealed", SimpleFileOptions::default()).unwrap();
    archive.write_all(sealed).unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    let mut world = scene.github.world();
    let id = world.artifacts.keys().max().map_or(900, |last| last + 1);
    world.artifacts.insert(id, ("architect-ci".to_owned(), run, bytes));
}

/// Two edits, of which the first start makes one.
fn script(scene: &Scene) -> String {
    let edit = |old: &str, new: &str| ("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}));
    scene.sandbox.script(&[vec![edit("five", "FIVE")], vec![edit("one", "ONE")]], "Both.")
}

/// A run on the pull request that ends after one step; returns its sealed session.
fn interrupted(scene: &Scene, model: &str) -> Vec<u8> {
    let event = scene.pull_event(7, "dev");
    let args = ["--model", model, "--max-steps", "1"];
    let run = scene.run("pull_request", &event, &args, &[KEY]).expect_code(2);
    fs::read(run.out.join("session.sealed")).expect("a sealed session")
}

/// A comment that asks for it, on another machine.
fn ask(scene: &Scene, number: u64, comment: &str, key: (&str, &str), model: &str) -> Run {
    let state = scene.sandbox.path().join("another-home");
    let (event, _) = scene.comment_event(number, "dev", comment);
    let _ = fs::remove_dir_all(scene.sandbox.out());
    let variables = [("INPUT_TASK", ""), ("XDG_STATE_HOME", state.to_str().unwrap()), key];
    scene.run("issue_comment", &event, &["--model", model], &variables)
}

#[tokio::test(flavor = "multi_thread")]
async fn continue_comment_goes_on_with_the_sealed_session_of_a_run() {
    scene(&[(".github/architect.yml", "evaluation: off\n")], |scene| {
        let model = script(&scene);
        let sealed = interrupted(&scene, &model);
        let refused = |number: u64, comment: &str, key, told: &str| {
            let run = ask(&scene, number, comment, key, &model).expect_code(3);
            assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
            assert_eq!(scene.github.count("PATCH /repos/octo/demo/git/refs"), 0);
        };
        refused(7, "/architect continue", KEY, "there is no artifact with a sealed session");
        upload(&scene, &sealed, 4711);
        refused(7, "/architect continue", OTHER_KEY, "its seal is invalid");
        refused(9, "/architect continue", KEY, "it belongs to number 7, not to 9");
        // An artifact of another run cannot pass for that of this one.
        upload(&scene, &sealed, 4712);
        refused(7, "/architect continue 4712", KEY, "it belongs to the workflow run 4711, not to 4712");
        let run = ask(&scene, 7, "/architect continue 4711", KEY, &model).expect_code(0);
        let report = run.report();
        assert_eq!(report["calls"].as_array().unwrap().len(), 2, "{report:#}");
        let patch = run.file("plan.patch");
        assert!(patch.contains("+FIVE") && patch.contains("+ONE"), "{patch}");
        assert_eq!(report["mode"], "dry-run", "as the session was started");
        let run = ask(&scene, 7, "/architect continue", KEY, &model).expect_code(0);
        assert!(run.file("plan.patch").contains("+FIVE"), "the latest one of this pull request");
        // Nor for the latest one, nor do those of a fork hide it.
        let own = scene.github.world().artifacts.remove(&900).unwrap();
        upload(&scene, &sealed, FORKS_RUN);
        refused(7, "/architect continue", KEY, "it belongs to the workflow run 4711, not to");
        scene.github.world().artifacts.insert(900, own);
        for _ in 0..150 {
            upload(&scene, b"no session", FORKS_RUN);
        }
        let run = ask(&scene, 7, "/architect continue", KEY, &model).expect_code(0);
        assert!(run.file("plan.patch").contains("+FIVE"), "it is the latest one of this repository");
        scene.github.world().artifacts.retain(|_, (_, run, _)| *run != FORKS_RUN);
        // However many artifacts there are, and even if one goes while it is looked for.
        for id in 10_000..10_230 {
            let name = if id < 10_030 { "architect-ci-of-others" } else { "coverage" };
            scene.github.world().artifacts.insert(id, (name.to_owned(), 1, b"no archive".to_vec()));
        }
        scene.github.fail_with("GET /repos/octo/demo/actions/artifacts/", 410, "Artifact has expired", &[]);
        let run = ask(&scene, 7, "/architect continue", KEY, &model).expect_code(0);
        assert!(run.file("plan.patch").contains("+FIVE"), "it is on the third page");
        scene.github.world().artifacts.values_mut().for_each(|(_, _, bytes)| bytes.clear());
        refused(7, "/architect continue 4711", KEY, "have expired");
        let run = ask(&scene, 7, "/architect continue soon", KEY, &model).expect_code(3);
        assert!(run.stdout.contains("takes the id of a workflow run"), "{}", run.stdout);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn session_of_a_workflow_run_is_resumed_by_its_id() {
    scene(&[(".github/architect.yml", "evaluation: off\n")], |scene| {
        let model = script(&scene);
        let sealed = interrupted(&scene, &model);
        let resume = |name: &str, number: usize, key: (&str, &str)| {
            let machine = Sandbox::clone_of(&scene.sandbox);
            machine.git(&["checkout", "--quiet", &scene.head]);
            let out = scene.sandbox.path().join(format!("resumed-{number}"));
            let repo = machine.repo();
            let args = [
                "sessions",
                "resume",
                name,
                "--model",
                &model,
                "--workspace",
                repo.to_str().unwrap(),
                "--out",
            ];
            let mut command = machine.command(&[&args[..], &[out.to_str().unwrap()]].concat());
            command.envs(scene.github.variables()).env(key.0, key.1).env_remove("GITHUB_EVENT_NAME");
            (Run::new(&command.output().expect("the binary runs"), out), machine)
        };
        let refused = |name: &str, key, told: &str| {
            let (run, machine) = resume(name, 0, key);
            let run = run.expect_code(3);
            assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
            assert!(!run.out.exists() && machine.git(&["status", "--porcelain"]).is_empty());
        };
        refused("run:4711", KEY, "there is no artifact with a sealed session");
        refused("run:soon", KEY, "run:soon");
        upload(&scene, b"nothing that is sealed", 4711);
        upload(&scene, &sealed, 4711);
        upload(&scene, &sealed, 4712);
        refused("run:4711", OTHER_KEY, "its seal is invalid");
        refused("run:4712", KEY, "it belongs to the workflow run 4711, not to 4712");
        refused("run:4713", KEY, "there is no artifact with a sealed session");
        let (run, _machine) = resume("run:4711", 1, KEY);
        let run = run.expect_code(0);
        assert_eq!(run.report()["calls"].as_array().unwrap().len(), 2, "{:#}", run.report());
        let patch = run.file("plan.patch");
        assert!(patch.contains("+FIVE") && patch.contains("+ONE"), "{patch}");
        scene.github.assert_valid();
    })
    .await;
}
