//! Every kind and number of files arrives as it is, except what must not leave the machine.

use std::os::unix::fs::PermissionsExt;

use super::OWN;
use crate::support::scene::scene;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn delivery_handles_every_kind_of_file() {
    const FILES: &[(&str, &str)] = &[
        ("tool.sh", "#!/bin/sh\n"),
        ("old.txt", "old\n"),
        ("dir/gone.txt", "x\n"),
        ("swap", "a file\n"),
        (".architect.yml", "workspace: { allow_delete: true }\ncommands: { dev_commands: [bash make.sh] }\n"),
        (
            "make.sh",
            "chmod +x tool.sh && ln -s a.txt link && rm swap && mkdir swap && printf 'in\\n' > swap/in.txt \
             && printf '\\000\\001\\377' > bin.dat && printf 'caf\\303\\251\\n' > 'ü n.txt'",
        ),
    ];
    scene(FILES, |scene| {
        let scene = scene.on_main();
        let calls = vec![
            vec![("run_command", json!({"command": "bash make.sh"}))],
            vec![
                ("delete_file", json!({"path": "old.txt"})),
                ("delete_file", json!({"path": "dir/gone.txt"})),
            ],
        ];
        let model = scene.sandbox.script(&calls, "done");
        let run = scene.nightly(&model, "branch", &[]).expect_code(0);
        assert!(run.calls().iter().all(|call| !call.contains("refused")), "{:?}", run.results());
        let world = scene.github.world();
        let git = world.repository.as_ref().unwrap();
        let tree = git.tree_of(OWN);
        let listed: Vec<String> = git
            .entries(&tree, true)
            .iter()
            .filter(|entry| entry.mode != "040000")
            .map(|entry| format!("{} {}", entry.mode, entry.path))
            .collect();
        assert_eq!(
            listed,
            [
                "100644 .architect.yml",
                "100644 a.txt",
                "100644 bin.dat",
                "120000 link",
                "100644 make.sh",
                "100644 swap/in.txt",
                "100755 tool.sh",
                "100644 ü n.txt"
            ]
        );
        assert_eq!(git.show(OWN, "bin.dat").unwrap(), b"\0\x01\xff");
        assert_eq!(git.show(OWN, "link").unwrap(), b"a.txt");
        assert_eq!(
            scene.sandbox.repo().join("tool.sh").metadata().unwrap().permissions().mode() & 0o100,
            0o100
        );
        drop(world);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_of_thousand_files_takes_few_requests() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let write = |index| {
            let path = format!("many/{index:04}.txt");
            ("write_file", json!({"path": path, "content": format!("line {index}\n")}))
        };
        let model = scene.sandbox.script(&[(0..1_000).map(write).collect()], "done");
        let run = scene.nightly(&model, "branch", &[]).expect_code(0);
        assert_eq!(run.report()["files"].as_array().unwrap().len(), 1_000, "{:?}", run.results());
        let listed = {
            let world = scene.github.world();
            let git = world.repository.as_ref().unwrap();
            git.entries(&git.tree_of(OWN), true)
                .into_iter()
                .filter(|entry| entry.path.starts_with("many/"))
                .count()
        };
        assert_eq!(listed, 1_000);
        assert!(scene.github.requests().len() <= 12, "{:?}", scene.github.requests());
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_withholds_files_with_secrets() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "hunter2hunter2");
        let event = scene.event("schedule", &[]);
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "branch"];
        let run = scene.run("schedule", &event, &args, &[("MY_TOKEN", "hunter2hunter2")]).expect_code(1);
        assert!(run.stderr.contains("they contain one of this job's secrets"), "{}", run.stderr);
        assert!(!run.out.join("plan.patch").exists());
        assert!(scene.github.requests().is_empty());
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_skips_files_with_git_filters() {
    scene(
        &[(".gitattributes", "*.bin filter=lfs diff=lfs\n*.txt -filter\n"), ("big.bin", "pointer\n")],
        |scene| {
            let scene = scene.on_main();
            let write = ("write_file", json!({"path": "big.bin", "content": "content\n"}));
            let edit = ("edit_file", json!({"path": "a.txt", "old_str": "five", "new_str": "FIVE"}));
            let model = scene.sandbox.script(&[vec![write, edit]], "done");
            let run = scene.nightly(&model, "branch", &[]).expect_code(1);
            assert!(run.stderr.contains("big.bin has a Git filter (such as LFS), which"), "{}", run.stderr);
            assert!(scene.github.requests().is_empty());
        },
    )
    .await;
}
