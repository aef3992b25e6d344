//! Programs of the checkout that a configuration names: those of a stranger's head are not started, in whatever spelling
//! they are named, and no run rewrites those that judge it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use crate::support::scene::{Scene, scene};
use crate::support::{Run, Sandbox};
use serde_json::json;

fn executable(path: &Path) {
    fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

impl Scene {
    /// The base gets this configuration; the checkout is the pull request's head again.
    fn configured(&mut self, configuration: &str) {
        self.sandbox.git(&["checkout", "--quiet", "main"]);
        self.sandbox.write(".architect.yml", configuration);
        self.base = self.sandbox.commit("the configuration");
        self.sandbox.git(&["checkout", "--quiet", "-B", "feature"]);
        self.sandbox.write("a.txt", "of the pull request\n");
        self.head = self.sandbox.commit("the pull request");
    }

    /// A run on the pull request whose head has `file` changed.
    fn proposed(&self, file: &str, content: &str, variables: &[(&str, &str)]) -> Run {
        self.sandbox.write(file, content);
        if content.starts_with("#!") {
            executable(&self.sandbox.repo().join(file));
        }
        self.sandbox.git(&["add", "--all", "--force"]);
        self.sandbox.git(&["commit", "--quiet", "--message", "changed"]);
        let event = self.pull_event(8, "dev");
        let model = self.sandbox.script(&[], "done");
        let named = self.sandbox.read(".architect.yml").contains("model:");
        let args: &[&str] = if named { &[] } else { &["--model", &model] };
        let run = self.run("pull_request", &event, args, variables);
        self.sandbox.git(&["reset", "--quiet", "--hard", "HEAD^"]);
        self.sandbox.git(&["clean", "-qfdx"]);
        run
    }
}

const FILES: &[(&str, &str)] = &[
    ("ci/h.sh", "echo fine\n"),
    ("ci/h", "echo fine\n"),
    ("ci/index.js", "1\n"),
    ("ci/pkg/__init__.py", ""),
    ("ci/pkg/__main__.py", "print(1)\n"),
    ("pkg/__main__.py", "import pkg.helper\n"),
    ("pkg/helper.py", ""),
    ("xtask/src/main.rs", "fn main() {}\n"),
    ("Makefile", "lint:\n\tsh ci/h.sh\n"),
    ("ci/Makefile", "lint:\n\ttrue\n"),
    ("justfile", "lint:\n  true\n"),
    ("package.json", "{\"scripts\": {\"lint\": \"node ci/index.js\"}}\n"),
    ("other/data.txt", "data\n"),
    ("lonely.py", "import rules\n"),
];

/// Command lines, and a file of the head that each of them would run.
const SPELLINGS: &[(&str, &str)] = &[
    ("./ci/h.sh", "ci/h.sh"),
    ("sh ci/h", "ci/h"),
    ("sh -c 'sh ci/h'", "ci/h"),
    ("env X=1 sh ci/h", "ci/h"),
    ("sh < ci/h", "ci/h"),
    ("cat ci/h | sh", "ci/h"),
    ("D=ci; sh $D/h", "ci/h"),
    ("sh \"$GITHUB_WORKSPACE/ci/h\"", "ci/h"),
    ("sh ./ci/*.sh", "ci/h.sh"),
    ("for f in ci/*; do sh $f; done", "ci/h"),
    ("sh ci/{x,h}", "ci/h"),
    ("sh $X", "ci/h"),
    (". ./ci/h", "ci/h"),
    ("eval \"$(cat ci/h)\"", "ci/h"),
    ("PATH=\"$PWD/ci:$PATH\" h.sh", "ci/h.sh"),
    ("cd ci && sh h", "ci/h"),
    ("python3 -um pkg", "pkg/__main__.py"),
    ("python3 -mpkg", "pkg/helper.py"),
    ("python3 -m ci.pkg", "ci/pkg/__init__.py"),
    ("python3 pkg", "pkg/helper.py"),
    ("node ci", "ci/index.js"),
    ("node ci/index", "ci/index.js"),
    ("node -r ./ci/index -e 1", "ci/index.js"),
    ("python3 -m lonely", "json.py"),
    ("python3 -m lonely", "rules.py"),
    ("python3 lonely.py", "re/__init__.py"),
    ("PYTHONPATH=other python3 -m lonely", "other/json.py"),
    ("make lint", "Makefile"),
    ("make lint", "ci/h.sh"),
    ("make lint", "GNUmakefile"),
    ("make -Cci lint", "ci/Makefile"),
    ("make -sfci/Makefile", "ci/Makefile"),
    ("just lint", "justfile"),
    ("npm run lint", "package.json"),
    ("npm run lint", "ci/index.js"),
    ("cargo xtask lint", "xtask/src/main.rs"),
    ("cargo xtask lint", ".cargo/config.toml"),
    ("uv run ci/h", "ci/h"),
    ("xargs -a /dev/null sh ci/h", "ci/h"),
];

#[tokio::test(flavor = "multi_thread")]
async fn programs_of_head_are_refused_in_every_spelling() {
    scene(FILES, |mut scene| {
        for (line, file) in SPELLINGS {
            scene.configured(&format!(
                "hooks:\n  session_start:\n  - {{ name: greet, command: {} }}\n",
                json!(line)
            ));
            let run = scene.proposed(file, "#!/bin/sh\necho of the head\n", &[]);
            assert_eq!(run.code, 3, "{line} with {file}: {}", run.stderr);
            assert!(run.stderr.contains("the hook \"greet\" is not run"), "{line}: {}", run.stderr);
        }
        // What a hook looks at may change.
        for line in ["cat other/data.txt > /dev/null", "ls -d other *.txt", "test -n \"$ARCHITECT_EVENT\""] {
            scene.configured(&format!(
                "hooks:\n  session_start:\n  - {{ name: greet, command: {} }}\n",
                json!(line)
            ));
            let run = scene.proposed("more.txt", "of the head\n", &[]);
            assert_eq!(run.code, 0, "{line}: {}", run.stderr);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_that_are_unclear_get_no_secret() {
    scene(FILES, |mut scene| {
        for (line, file) in [
            ("python3 -m server", "json.py"),
            ("python3 -c 'import x'", "x.py"),
            ("sh ci/h \"$UNKNOWN\"", "other/data.txt"),
            ("make model", "other/data.txt"),
            ("npm run model", "other/data.txt"),
            ("cargo run", "other/data.txt"),
            ("uv run model", "other/data.txt"),
            ("sh ci/link", "other/data.txt"),
        ] {
            scene.sandbox.git(&["checkout", "--quiet", "main"]);
            if !scene.sandbox.repo().join("ci/link").is_symlink() {
                symlink("../other/data.txt", scene.sandbox.repo().join("ci/link")).unwrap();
            }
            scene.configured(&format!(
                "llm:\n  model: {}\n  api_key_env: MODEL_KEY\n",
                json!(format!("exec::{line}"))
            ));
            let run = scene.proposed(file, "of the head\n", &[("MODEL_KEY", "the-model-key")]);
            assert_eq!(run.code, 3, "{line}: {}", run.stderr);
            assert!(run.stderr.contains("is not started"), "{line}: {}", run.stderr);
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_compared_where_they_are_started() {
    const FILES: &[(&str, &str)] = &[
        (".architect.yml", "hooks:\n  session_start:\n  - { name: greet, command: sh ci/h.sh }\n"),
        ("ci/h.sh", "echo of the root\n"),
        ("app/ci/h.sh", "echo of the folder\n"),
        ("batch.yml", "name: b\ntasks: [{id: t, task: x, folder: app}]\n"),
    ];
    scene(FILES, |scene| {
        let batch = |scene: &Scene| {
            let event = scene.pull_event(7, "dev");
            let (model, out) = (scene.sandbox.script(&[], "done"), scene.sandbox.out());
            let args = ["batch", "batch.yml", "--model", &model, "--out", out.to_str().unwrap()];
            let mut command =
                scene.sandbox.command(&[&args[..], &["--event", event.to_str().unwrap()]].concat());
            command.envs(scene.variables("pull_request")).current_dir(scene.sandbox.repo());
            Run::new(&command.output().unwrap(), out)
        };
        // Another file of the same name may change.
        scene.sandbox.write("ci/h.sh", "echo of the head\n");
        scene.sandbox.commit("the other one");
        assert_eq!(batch(&scene).code, 0);
        scene.sandbox.git(&["reset", "--quiet", "--hard", "HEAD^"]);
        scene.sandbox.write("app/ci/h.sh", "echo of the head\n");
        scene.sandbox.commit("the one that is started");
        let run = batch(&scene);
        assert_eq!(run.code, 1, "{}", run.stderr);
        assert!(run.stderr.contains("app/ci/h.sh differs from the base commit"), "{}", run.stderr);
    })
    .await;
}

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

#[test]
fn programs_that_judge_a_run_are_not_rewritten_by_it() {
    const CONFIG: &str = "hooks:\n  agent_complete:\n  - { name: judge, command: 'sh ci/h.sh && python3 -m pkg && make -C make' }\ndry_run:\n  commands: isolated\n";
    let files = [
        (".architect.yml", CONFIG),
        ("real/h.sh", "cat ci/u.sh\n"),
        ("real/u.sh", "echo fine\n"),
        ("pkg/__main__.py", "print('fine')\n"),
        ("make/Makefile", "all:\n\t@true\n"),
        ("real/README.md", "read me\n"),
    ];
    let evil = "echo evil";
    for mode in ["dry-run", "yolo"] {
        let sandbox = Sandbox::new(&files);
        symlink("real", sandbox.repo().join("ci")).unwrap();
        sandbox.commit("a link");
        let before = sandbox.tree();
        let write = |path: &str| ("write_file", json!({"path": path, "content": evil}));
        let command = |line: &str| ("run_command", json!({"command": line}));
        let calls = [
            write("ci/h.sh"),
            write("real/h.sh"),
            write("real/u.sh"),
            write("ci/new.py"),
            write("pkg/__main__.py"),
            write("pkg/json.py"),
            write("make/Makefile"),
            write("make/GNUmakefile"),
            command("echo evil > real/h.sh"),
            command("ln real/h.sh x; echo evil > x"),
            command("ln -s real/h.sh x; echo evil > x"),
            command("rm ci; mkdir ci; echo evil > ci/h.sh"),
            command("mv real old"),
            command("rm real/h.sh"),
            command("sed -i s/fine/evil/ real/u.sh"),
            command("cp a.txt make/makefile || echo x > make/makefile"),
        ];
        let model = sandbox.script(&calls.map(|call| vec![call]), "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]);
        assert_eq!(run.code, 0, "{}", run.stderr);
        for (index, result) in run.results().iter().enumerate() {
            assert!(result.contains("is always protected: a hook"), "{mode}, call {index}: {result}");
        }
        assert_eq!(sandbox.tree(), before, "{mode}");
        assert_eq!(run.report()["files"].as_array().unwrap().len(), 0, "{mode}");
        let hook = run.report()["hooks"][0].clone();
        assert!(hook["output"].as_str().unwrap().contains("fine"), "{hook}");
        assert!(!hook["output"].as_str().unwrap().contains("evil"), "{hook}");
        // What is no program stays everybody's.
        let model = sandbox.script(&[vec![write("real/README.md")], vec![write("src/x.py")]], "done");
        let run = sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0);
        assert_eq!(run.report()["files"].as_array().unwrap().len(), 2, "{mode}: {:?}", run.results());
    }
}

/// Configurations, files of the checkout, what must not be written, and what stays everybody's.
type Loaded<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a [&'a str], &'a [&'a str]);

const LOADED: &[Loaded<'_>] = &[
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: python3 -m guardmod }\n",
        &[
            ("guardmod.py", "import json, rules\nfrom lib import words\n"),
            ("rules.py", ""),
            ("lib/words.py", ""),
        ],
        &[
            "json.py",
            "json/__init__.py",
            "sitecustomize.py",
            "__pycache__/json.cpython-312.pyc",
            "rules.py",
            "lib/words.py",
        ],
        &["other.py", "src/json.py", "lib/more.py", "test/test_json.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: python3 check.py }\n",
        &[("check.py", "import requests\n")],
        &["re.py", "requests.py", "requests/__init__.py"],
        &["other.py", "src/requests.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: python3 ci/check.py }\n",
        &[("ci/check.py", "import json\n"), ("pkg/__init__.py", ""), ("calendar/__init__.py", "")],
        &["ci/json.py", "ci/other.py"],
        &["json.py", "pkg/__init__.py", "pkg/new.py", "calendar/__init__.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: 'PYTHONPATH=tools python3 ci/check.py' }\n",
        &[("ci/check.py", "import near\n"), ("tools/near.py", "")],
        &["tools/json.py", "tools/near.py"],
        &["json.py", "tools/other.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: 'python3 -Im guardmod' }\n",
        &[("a.txt", "")],
        &[],
        &["json.py"],
    ),
    (
        "hooks:\n  agent_complete:\n  - { name: judge, command: npx guard }\n",
        &[
            (".gitignore", "node_modules\n"),
            ("node_modules/guard/index.js", ""),
            ("node_modules/.bin/guard", ""),
        ],
        &[".yarnrc.yml", "node_modules/.bin/guard", "node_modules/guard/index.js"],
        &["package.json", "node_modules/other/index.js"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: npx, args: [--no-install, our-mcp], token_env: MODEL_KEY }\n",
        &[(".gitignore", "node_modules\n")],
        &["node_modules/.bin/our-mcp", "node_modules/our-mcp/index.js", ".yarnrc.yml"],
        &["package.json", "node_modules/other/index.js", "node_modules/.bin/other"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: npx, args: ['@a/our-mcp@1.2.3'], token_env: MODEL_KEY }\n",
        &[(".gitignore", "node_modules\n"), ("node_modules/@a/our-mcp/index.js", "")],
        &["node_modules/.bin/our-mcp", "node_modules/@a/our-mcp/index.js", "node_modules/its-own/index.js"],
        &["package.json"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: node, args: [tools/server.js], token_env: MODEL_KEY }\n",
        &[(".gitignore", "node_modules\n"), ("tools/server.js", "")],
        &["node_modules/x/index.js", "tools/near.js"],
        &["index.js", "package.json"],
    ),
    (
        "mcp:\n  servers:\n  - { name: t, command: python3, args: [server.py], token_env: MODEL_KEY }\n",
        &[("server.py", ""), ("pkg/__init__.py", ""), ("src/a.txt", "")],
        &["json.py", "anything.py", "pkg/new.py", "new/__init__.py"],
        &["src/new.py", "README.md"],
    ),
];

#[test]
fn what_programs_load_is_not_rewritten_by_a_run() {
    for (configuration, files, closed, open) in LOADED {
        let mut all = files.to_vec();
        all.push((".architect.yml", configuration));
        let sandbox = Sandbox::new(&all);
        let paths = || closed.iter().chain(open.iter());
        let write = |path: &&str| vec![("write_file", json!({"path": path, "content": "evil\n"}))];
        let command = |path: &&str| {
            let line = format!("mkdir -p \"$(dirname {path})\" && echo more > {path}");
            vec![("run_command", json!({ "command": line }))]
        };
        let calls: Vec<_> = paths().map(command).chain(paths().map(write)).collect();
        let model = sandbox.script(&calls, "done");
        let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[("MODEL_KEY", "the-model-key")]);
        assert_eq!(run.code, 0, "{configuration}: {}", run.stderr);
        let results = run.results();
        let each = closed.len() + open.len();
        for (index, path) in paths().enumerate() {
            for result in [&results[index], &results[each + index]] {
                let is_refused = result.contains("is always protected: a hook");
                assert_eq!(is_refused, index < closed.len(), "{configuration}{path}: {result}");
            }
        }
        for path in *open {
            assert_eq!(sandbox.read(path), "evil\n", "{configuration}{path}");
        }
    }
}

#[test]
fn a_hook_blocks_though_what_it_leaves_behind_is_refused() {
    let config =
        "hooks:\n  pre_tool_use:\n  - { name: guard, command: python3 -m guardpkg, matcher: move_file }\n";
    // Python leaves `__pycache__` in the package, which is protected.
    let main = "import guardpkg.rules, sys\nprint('not this way', file=sys.stderr)\nsys.exit(2)\n";
    let sandbox = Sandbox::new(&[
        (".architect.yml", config),
        ("guardpkg/__init__.py", ""),
        ("guardpkg/__main__.py", main),
        ("guardpkg/rules.py", ""),
        ("a.txt", "a\n"),
    ]);
    let model = sandbox.script(&[vec![("move_file", json!({"from": "a.txt", "to": "b.txt"}))]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
    assert!(run.results()[0].contains("not this way"), "{:?}", run.results());
    assert_eq!(sandbox.read("a.txt"), "a\n");
}

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
