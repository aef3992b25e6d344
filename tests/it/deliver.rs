//! Changes go to branches and pull requests: verified commits, reruns, moved bases, everything a file can be.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use crate::support::Run;
use crate::support::scene::{BEFORE, HEAD, Scene, scene};
use serde_json::json;

const OWN: &str = "architect-ci/changes";

impl Scene {
    /// A scheduled run in yolo that delivers.
    fn nightly(&self, model: &str, to: &str, more: &[&str]) -> Run {
        let event = self.event("schedule", &[]);
        let args = [&["--model", model, "--mode", "yolo", "--deliver", to][..], more].concat();
        self.run("schedule", &event, &args, &[])
    }

    /// A fresh checkout of `main`, as the next job has it.
    fn check_out(&self) {
        let path = self.github.world().repository.as_ref().unwrap().path();
        self.sandbox.git(&["fetch", "--quiet", path.to_str().unwrap(), "main"]);
        self.sandbox.git(&["checkout", "--quiet", "--force", "--detach", "FETCH_HEAD"]);
        self.sandbox.git(&["clean", "-fdxq"]);
    }

    fn shown(&self, branch: &str, path: &str) -> Option<String> {
        let world = self.github.world();
        let content = world.repository.as_ref().unwrap().show(branch, path)?;
        Some(String::from_utf8(content).unwrap())
    }

    fn tip(&self, branch: &str) -> Option<String> {
        self.github.world().repository.as_ref().unwrap().branch(branch)
    }

    fn parents(&self, commit: &str) -> Vec<String> {
        self.github.world().repository.as_ref().unwrap().parents(commit)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_opens_and_updates_pull_request() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        let run = scene.nightly(&model, "pull-request", &["--task", "Shout, @octocat. Fixes #3\nand more"]);
        let run = run.expect_code(0);
        let first = scene.tip(OWN).expect("the branch");
        assert_eq!(scene.parents(&first), std::slice::from_ref(&scene.base));
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("five", "FIVE"));
        {
            let world = scene.github.world();
            let message = world.repository.as_ref().unwrap().message(&first);
            assert_eq!(
                message,
                "Shout, @ octocat. Fixes # 3\n\nDone, @ octocat. Fixes # 1.\n\nArchitect-CI: architect-ci"
            );
            let pull = &world.pulls[&102];
            assert_eq!((pull.title.as_str(), pull.base.as_str()), ("Shout, @ octocat. Fixes # 3", "main"));
            assert!(pull.body.contains("Done, `@octocat`. Fixes `#1`."), "{}", pull.body);
        }
        assert_eq!(scene.output("branch").as_deref(), Some(OWN));
        assert_eq!(scene.output("commit").as_deref(), Some(first.as_str()));
        assert_eq!(
            scene.output("pull-request-url").as_deref(),
            Some("https://github.com/octo/demo/pull/102")
        );
        assert_eq!(run.report()["delivery"]["pull_request"]["number"], 102);
        // The same again: neither commit nor pull request, but the text is brought up to date.
        scene.check_out();
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert_eq!(scene.tip(OWN).as_ref(), Some(&first));
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 1);
        assert_eq!(scene.github.world().pulls[&102].title, "Do it");
        assert_eq!(scene.output("commit").as_deref(), Some(first.as_str()));
        // Something else on a newer base: the branch is made anew.
        let newer = scene.github.world().repository.as_ref().unwrap().push("main", &[("b.txt", "b\n")], "b");
        scene.check_out();
        let model = scene.edit("six", "SIX");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        let second = scene.tip(OWN).unwrap();
        assert_eq!(scene.parents(&second), [newer]);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("six", "SIX"));
        assert_eq!(scene.github.world().pulls.len(), 3);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_merges_or_reports_moved_base() {
    scene(&[("b.txt", "b\n"), ("gone.txt", "x\n")], |scene| {
        let scene = scene.on_main();
        let push = |files: &[(&str, &str)]| {
            scene.github.world().repository.as_ref().unwrap().push("main", files, "meanwhile")
        };
        let tip = push(&[("a.txt", &BEFORE.replace("nine", "NINE"))]);
        let edits = vec![
            ("edit_file", json!({"path": "a.txt", "old_str": "two", "new_str": "TWO"})),
            ("edit_file", json!({"path": "b.txt", "old_str": "b", "new_str": "B"})),
        ];
        let model = scene.sandbox.script(&[edits], "done");
        let run = scene.nightly(&model, "branch", &[]).expect_code(0);
        let ours = scene.tip(OWN).unwrap();
        assert_eq!(scene.parents(&ours), [tip]);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), HEAD.replace("nine", "NINE"));
        assert_eq!(scene.shown(OWN, "b.txt").unwrap(), "B\n");
        assert_eq!(run.report()["delivery"]["merged"], json!(["a.txt"]));
        assert_eq!(scene.github.count("POST /repos/octo/demo/pulls"), 0);
        // The same lines: nothing is overwritten, and the run fails, for its changes went nowhere.
        push(&[("a.txt", &BEFORE.replace("two", "zwei"))]);
        scene.sandbox.git(&["checkout", "--quiet", "--force", &scene.base]);
        let run = scene.nightly(&model, "branch", &[]).expect_code(1);
        assert!(
            run.stderr.contains("main has moved since the checkout, and changes there conflict with a.txt"),
            "{}",
            run.stderr
        );
        assert!(run.stderr.contains("they are in ") && run.out.join("plan.patch").exists(), "{}", run.stderr);
        assert_eq!(run.report()["stop_reason"], "not_published");
        assert_eq!(scene.tip(OWN).unwrap(), ours);
        assert!(run.file("junit.xml").contains("were not delivered"), "the files tell of it");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_keeps_others_files_on_name_clash() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let push = |files: &[(&str, &str)]| {
            scene.github.world().repository.as_ref().unwrap().push("main", files, "meanwhile");
        };
        push(&[("tools/run.sh", "x\n"), ("notes", "x\n")]);
        for (path, in_the_way) in [("tools", "tools"), ("notes/today.txt", "notes/today.txt")] {
            scene.sandbox.git(&["checkout", "--quiet", "--force", &scene.base]);
            scene.sandbox.git(&["clean", "-fdxq"]);
            let write = ("write_file", json!({"path": path, "content": "ours\n"}));
            let model = scene.sandbox.script(&[vec![write]], "done");
            let run = scene.nightly(&model, "branch", &[]).expect_code(1);
            let told = format!("changes there conflict with {in_the_way};");
            assert!(run.stderr.contains(&told), "{}", run.stderr);
        }
        assert_eq!(scene.tip(OWN), None);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_signal_ends_push() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let server = scene.github.world().repository.as_ref().unwrap().path();
        let (hook, reached) = (server.join("hooks/pre-receive"), server.join("reached"));
        std::fs::write(&hook, format!("#!/bin/sh\ntouch {}\nsleep 120\nexit 1\n", reached.display()))
            .unwrap();
        std::fs::set_permissions(&hook, PermissionsExt::from_mode(0o755)).unwrap();
        scene.github.forbid("POST /repos/octo/demo/git/");
        let model = scene.edit("five", "FIVE");
        let event = scene.event("schedule", &[]);
        let args = ["--model", model.as_str(), "--mode", "yolo", "--deliver", "branch"];
        let mut job = scene.job("schedule", &event, &scene.sandbox.out(), &args).spawn().unwrap();
        let deadline = Instant::now() + Duration::from_mins(1);
        while !reached.exists() {
            assert!(Instant::now() < deadline && job.try_wait().unwrap().is_none(), "nothing was pushed");
            std::thread::sleep(Duration::from_millis(5));
        }
        let signalled = Instant::now();
        let id = rustix::process::Pid::from_child(&job);
        rustix::process::kill_process(id, rustix::process::Signal::INT).unwrap();
        assert_eq!(job.wait().unwrap().code(), Some(1));
        assert!(signalled.elapsed() < Duration::from_mins(1), "{:?}", signalled.elapsed());
        let report = std::fs::read_to_string(scene.sandbox.out().join("report.json")).unwrap();
        assert!(report.contains("the changes were not delivered: GitHub did not answer in time"), "{report}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_never_overwrites_foreign_commits() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        let theirs = scene.github.world().repository.as_ref().unwrap().push(
            OWN,
            &[("c.txt", "c\n")],
            "A person's fix",
        );
        scene.check_out();
        let model = scene.edit("six", "SIX");
        let run = scene.nightly(&model, "pull-request", &[]).expect_code(1);
        assert!(
            run.stderr.contains("contains commits that this job did not make (\"A person's fix\")"),
            "{}",
            run.stderr
        );
        assert_eq!(scene.tip(OWN).unwrap(), theirs);
        // Nor is a branch that somebody else's job has made.
        scene.check_out();
        let run = scene.nightly(&model, "branch", &["--comment-key", "other"]).expect_code(0);
        assert_eq!(run.report()["delivery"]["branch"], "architect-ci/other");
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_without_changes_leaves_no_trace() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let event = scene.event("schedule", &[]);
        let idle = scene.sandbox.script(&[], "nothing to do");
        let run = scene.nightly(&idle, "pull-request", &[]).expect_code(1);
        assert_eq!(run.report()["stop_reason"], "nothing_changed", "changes are expected to be delivered");
        scene.nightly(&idle, "pull-request", &["--expect", "any"]).expect_code(0);
        // A dry run delivers its patch alone.
        let model = scene.edit("five", "FIVE");
        let run = scene.run("schedule", &event, &["--model", &model, "--deliver", "pull-request"], &[]);
        let run = run.expect_code(0);
        assert!(run.file("plan.patch").contains("+FIVE"));
        // A patch is a file.
        let run = scene.nightly(&model, "patch", &[]).expect_code(0);
        assert!(run.file("plan.patch").contains("+FIVE"));
        assert_eq!(scene.output("patch-path"), run.out.join("plan.patch").to_str().map(str::to_owned));
        assert!(scene.github.requests().is_empty(), "{:?}", scene.github.requests());
        // What failed is not delivered.
        scene.check_out();
        scene.sandbox.write(
            ".architect.yml",
            "guardrails:\n  max_gate_rounds: 1\n  quality_gates:\n    - { name: bad, command: 'exit 1' }\n",
        );
        let run = scene.nightly(&model, "pull-request", &[]).expect_code(1);
        assert!(
            run.report()["notices"].to_string().contains("not delivered, because the run ended as partial"),
            "{}",
            run.stderr
        );
        assert_eq!(scene.tip(OWN), None);
    })
    .await;
}

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
async fn delivery_retries_when_branch_moves() {
    scene(&[], |scene| {
        let (event, _) = scene.comment_event(7, "dev", "/architect run");
        let model = scene.edit("five", "FIVE");
        // The commit goes on top of the pull request's own branch.
        scene.github.fail(
            "PATCH /repos/octo/demo/git/refs/heads/feature",
            422,
            "Update is not a fast forward",
        );
        let run = scene.run("issue_comment", &event, &["--model", &model, "--deliver", "branch"], &[]);
        run.expect_code(0);
        let tip = scene.tip("feature").unwrap();
        assert_eq!(scene.parents(&tip), std::slice::from_ref(&scene.head));
        assert_eq!(scene.shown("feature", "a.txt").unwrap(), HEAD.replace("five", "FIVE"));
        assert_eq!(scene.github.count("PATCH /repos/octo/demo/git/refs"), 2);
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_falls_back_to_git_push() {
    scene(&[("sub/b.txt", "b\n")], |scene| {
        let scene = scene.on_main();
        scene.github.forbid("POST /repos/octo/demo/git/");
        let model = scene.edit("five", "FIVE");
        let status = scene.sandbox.git(&["status", "--porcelain"]);
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("five", "FIVE"));
        assert_eq!(scene.github.world().pulls[&102].head, format!("refs/heads/{OWN}"));
        // The checkout's index is as it was.
        assert_eq!(
            (status.as_str(), scene.sandbox.git(&["status", "--porcelain"]).as_str()),
            ("", " M a.txt")
        );
        // Again, with something else: our own branch is moved. The checkout lacks the newest commit of main.
        scene.check_out();
        scene.github.world().repository.as_ref().unwrap().push("main", &[("b.txt", "b\n")], "newer");
        let model = scene.edit("six", "SIX");
        scene.nightly(&model, "pull-request", &[]).expect_code(0);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("six", "SIX"));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_names_missing_permissions() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        // Neither way works.
        scene.github.forbid("POST /repos/octo/demo/git/");
        let variables = [("GITHUB_SERVER_URL", "file:///nowhere")];
        let event = scene.event("schedule", &[]);
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "branch"];
        let run = scene.run("schedule", &event, &args, &variables).expect_code(4);
        assert!(run.stderr.contains("add `permissions: contents: write` to the job"), "{}", run.stderr);
        assert_eq!(run.report()["exit_code"], 4);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_reports_pull_request_that_actions_cannot_open() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        let message = "GitHub Actions is not permitted to create or approve pull requests.";
        scene.github.fail("POST /repos/octo/demo/pulls", 403, message);
        let run = scene.nightly(&model, "pull-request", &[]).expect_code(1);
        assert!(
            run.stderr.contains(
                "the changes are on architect-ci/changes, but the pull request could not be opened"
            ),
            "{}",
            run.stderr
        );
        assert!(
            run.stderr.contains(message) && run.stderr.contains("Settings, Actions, General"),
            "{}",
            run.stderr
        );
        assert!(scene.tip(OWN).is_some());
        assert_eq!(
            scene.github.count("POST /repos/octo/demo/git/commits"),
            1,
            "the commit was not the trouble"
        );
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

#[tokio::test(flavor = "multi_thread")]
async fn delivery_target_is_validated_before_start() {
    const CONFIG: &[(&str, &str)] = &[(
        ".architect.yml",
        "deliver:\n  to: pull-request\n  branch: bot/{agent}-{task}\n  title: chore\n  draft: true\n  labels: [bot]\n",
    )];
    scene(CONFIG, |scene| {
        let scene = scene.on_main();
        let model = scene.edit("five", "FIVE");
        let event = scene.event("schedule", &[]);
        let run = |more: &[&str]| {
            let args = [&["--model", model.as_str(), "--mode", "yolo", "--task", "Make it Loud!"][..], more]
                .concat();
            scene.run("schedule", &event, &args, &[])
        };
        let wrong = run(&["--deliver", "moon"]).expect_code(3);
        assert!(
            wrong
                .stderr
                .contains("invalid value \"moon\" for `deliver`; use none, patch, branch or pull-request")
        );
        run(&[]).expect_code(0);
        let world = scene.github.world();
        let pull = &world.pulls[&102];
        assert_eq!(
            (pull.head.as_str(), pull.title.as_str(), pull.draft),
            ("refs/heads/bot/build-make-it-loud", "chore", true)
        );
        assert_eq!(world.labels, [(102, "bot".to_owned())]);
        drop(world);
        // Outside of GitHub there is no branch to go to.
        let outside = scene.sandbox.run(&["--mode", "yolo", "--model", &model], &[]).expect_code(3);
        assert!(outside.stderr.contains("a branch can be delivered only to GitHub"), "{}", outside.stderr);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_for_issue_opens_closing_pull_request() {
    scene(&[], |scene| {
        let scene = scene.on_main();
        let model = scene.edit("one", "uno");
        let event = scene.label_event("dev", "architect");
        let args = ["--model", &model, "--mode", "yolo", "--deliver", "pull-request", "--task", ""];
        scene.run("issues", &event, &args, &[]).expect_code(0);
        let world = scene.github.world();
        let pull = &world.pulls[&102];
        assert_eq!(pull.head, "refs/heads/architect-ci/changes-9");
        assert_eq!(pull.title, "Rename it");
        assert!(pull.body.contains("\nCloses #9\n"), "{}", pull.body);
        let comment = world.comments.values().find(|comment| comment.issue == 9).expect("the issue is told");
        assert!(
            comment.body.contains("**Delivered** as ") && comment.body.contains("pull request #102"),
            "{}",
            comment.body
        );
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_of_partial_result_is_draft_that_says_what_is_missing() {
    const CONFIG: &str = "deliver: { partial: draft }\nevaluation: off\n";
    scene(&[(".github/architect.yml", CONFIG)], |scene| {
        let scene = scene.on_main();
        let edit = |old: &str, new: &str| {
            vec![("edit_file", json!({"path": "a.txt", "old_str": old, "new_str": new}))]
        };
        let model = scene.sandbox.script(&[edit("five", "FIVE"), edit("six", "SIX")], "done");
        let run = scene.nightly(&model, "pull-request", &["--max-steps", "1"]).expect_code(2);
        assert_eq!(run.report()["stop_reason"], "max_steps");
        assert_eq!(run.report()["delivery"]["branch"], OWN);
        {
            let world = scene.github.world();
            let pull = world.pulls.values().find(|pull| pull.head.ends_with(OWN)).expect("a pull request");
            let told = "> [!WARNING]\n> This is only part of what was requested: the step limit was reached. Next step: ";
            assert!(pull.draft && pull.body.starts_with(told), "{}", pull.body);
        }
        // A branch alone would not say it.
        scene.check_out();
        let run = scene.nightly(&model, "branch", &["--max-steps", "1"]).expect_code(2);
        assert!(run.report()["notices"].to_string().contains("were not delivered"), "{}", run.stderr);
        scene.github.assert_valid();
    })
    .await;
}
