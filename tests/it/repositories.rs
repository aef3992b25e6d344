//! Git's own folders as commands see them, and as gates and hooks do: the first without secrets, the second without what the
//! first did.
#![cfg(target_os = "linux")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::isolation::{CONFIG, both};
use crate::support::{Sandbox, command, git};

/// Plants what deceives Git, or has it run a program, wherever it can.
const PLANT: &str = "echo two > a.txt; echo new > new.txt; echo x > untracked.txt\n\
    printf '#!/bin/sh\\ntouch ran\\ncat\\n' > evil.sh; chmod +x evil.sh\n\
    git config core.fsmonitor \"$PWD/evil.sh\"; git config alias.x '!touch ran'; git config filter.evil.clean \"$PWD/evil.sh\"\n\
    git add new.txt; git commit -qm moved; git update-index --assume-unchanged a.txt\n\
    mkdir -p .git/info; echo '*' >> .git/info/exclude; echo '* filter=evil' > .git/info/attributes\n\
    cp evil.sh .git/hooks/post-index-change; git tag planted\n\
    git replace $(git rev-parse HEAD~1:a.txt) $(git hash-object -w a.txt)\n\
    git init -q made; git -C made config core.fsmonitor \"$PWD/evil.sh\"\n\
    git -C lib config core.fsmonitor \"$PWD/evil.sh\"; git -C lib tag planted; echo two > lib/l.txt\n\
    git -C lib update-index --assume-unchanged l.txt\n\
    mkdir -p bare/objects bare/refs; echo 'ref: refs/heads/x' > bare/HEAD\n\
    printf '[core]\\n\\tbare = false\\n\\tworktree = ..\\n\\tfsmonitor = %s/evil.sh\\n' \"$PWD\" > bare/config\n\
    rm -f ran; git stash list; git log --format=%s -1\n";

/// What each gate asks; each succeeds if nobody deceives it.
const ASKED: [&str; 12] = [
    "! git diff --quiet HEAD -- a.txt",
    "git status --porcelain | grep 'M a.txt'",
    "git ls-files --others --exclude-standard | grep -x untracked.txt",
    "test \"$(git log --format=%s -1)\" = before",
    "test -z \"$(git config core.fsmonitor)$(git config alias.x)$(git tag)\"",
    "test \"$(git show HEAD:a.txt)\" = one",
    "test ! -e made/.git",
    "git -C lib diff --quiet HEAD -- l.txt; test $? = 1 && test -z \"$(git -C lib tag)\"",
    "cd bare && ! git status && test ! -e ../ran",
    "git config user.name planted && git tag gate && rm -r .git/hooks && ln -s /tmp .git/hooks && rm -r lib/.git",
    "test -z \"$(git config --local user.name)$(git tag)\" && test -d .git/hooks && test ! -L .git/hooks && git -C lib log",
    "test ! -e ran",
];

fn gates(lines: &[&str]) -> Value {
    let gates = lines.iter().enumerate();
    gates.map(|(number, line)| json!({"name": format!("g{number}"), "command": line})).collect()
}

/// A repository within the checkout, which the checkout's own ignores.
fn nested(sandbox: &Sandbox, place: &str, files: &[(&str, &str)]) {
    for (name, text) in files {
        sandbox.write(&format!("{place}/{name}"), text);
    }
    let folder = sandbox.repo().join(place);
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message", "within"]);
}

#[test]
fn gates_see_no_repository_that_a_command_has_touched() {
    let config = json!({
        "commands": {"dev_commands": ["bash"]},
        "dry_run": {"commands": "isolated"},
        "guardrails": {"max_gate_rounds": 1, "quality_gates": gates(&ASKED)},
    });
    let files = [
        (".architect.yml", config.to_string()),
        ("a.txt", "one\n".to_owned()),
        (".s/plant", PLANT.to_owned()),
    ];
    let files: Vec<(&str, &str)> = files.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let prepare = |sandbox: &Sandbox| nested(sandbox, "lib", &[("l.txt", "one\n")]);
    let turns = [vec![command("bash .s/plant")], vec![command("git log --format=%s -1; git tag")]];
    both(&files, prepare, &turns, |method, _, run| {
        let results = run.results();
        assert!(
            results[0].ends_with("moved\n") || results[0].contains("\nmoved\n"),
            "{method}: {}",
            results[0]
        );
        assert!(results[1].contains("moved\nplanted"), "the agent's own stays: {method}: {}", results[1]);
        let report = run.report();
        for gate in report["gates"].as_array().unwrap() {
            assert_eq!(gate["passed"], true, "{method}: {gate:#}");
        }
        assert_eq!(report["gates"].as_array().unwrap().len(), ASKED.len(), "{method}");
    });
}

#[test]
fn hooks_see_no_repository_that_a_command_has_touched_and_leave_none_to_it() {
    let waits = "test \"$(git log --format=%s -1)\" = before && test -z \"$(git tag)\" && git tag hook && git add -A && echo fine >> \"$0.txt\"";
    for (hook, method) in [(waits, "yolo"), (waits, "dry-run")] {
        let config = json!({
            "commands": {"dev_commands": ["bash"]},
            "dry_run": {"commands": "isolated"},
            "hooks": {"post_tool_use": [{"name": "look", "command": hook.replace("$0", "seen")}]},
        });
        let sandbox = Sandbox::new(&[(".architect.yml", &config.to_string()), ("a.txt", "one\n")]);
        sandbox.write(
            ".s",
            "git commit -q --allow-empty -m moved; git tag planted; git tag; git status --short",
        );
        sandbox.commit("before");
        let calls = vec![vec![command("bash .s")], vec![command("bash .s")]];
        let model = sandbox.script(&calls, "done");
        let run = sandbox.run(&["--model", &model, "--mode", method], &[]);
        let hooks: Vec<Value> = run.report()["hooks"].as_array().unwrap().clone();
        assert_eq!(hooks.len(), 2, "{method}");
        assert!(hooks.iter().all(|hook| hook["exit_code"] == 0), "{method}: {hooks:#?}");
        let result = run.results().remove(1);
        assert!(result.contains("planted") && !result.contains("hook\n"), "{method}: {result}");
        assert!(result.contains("?? seen.txt"), "nothing of the hook's is in the index: {method}: {result}");
        assert_eq!(sandbox.git(&["tag"]), "");
    }
}

#[test]
fn a_hook_that_nobody_waits_for_sees_no_repository_that_a_command_has_touched() {
    let config = json!({
        "commands": {"dev_commands": ["bash"]},
        "hooks": {"post_tool_use": [{"name": "look", "command": "git log --format=%s -1; git tag; git -C lib tag", "async": true}]},
    });
    let sandbox = Sandbox::new(&[(".architect.yml", &config.to_string()), ("a.txt", "one\n")]);
    nested(&sandbox, "lib", &[("l.txt", "one\n")]);
    sandbox.write(
        ".s",
        "git commit -q --allow-empty -m moved; git tag planted; git -C lib tag planted; rm -rf .git/refs",
    );
    let model = sandbox.script(&[vec![command("bash .s")], vec![command("bash .s")]], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
    let hooks = run.report()["hooks"].as_array().unwrap().clone();
    assert_eq!(hooks.len(), 2, "{}", run.stderr);
    assert!(hooks.iter().all(|hook| hook["output"] == "before"), "{hooks:#?}");
}

#[test]
fn credentials_of_no_repository_in_the_checkout_are_seen() {
    let files = [
        (".architect.yml", CONFIG),
        ("a.txt", "x\n"),
        (".s", "grep -rn 'SECRET' . ; git -C lib remote -v; git -C lib log --format=%s"),
    ];
    let prepare = |sandbox: &Sandbox| {
        for place in ["lib", "deep/down/lib"] {
            nested(sandbox, place, &[("l.txt", "x\n")]);
            let at = |name: &str| sandbox.repo().join(place).join(".git").join(name);
            let folder = sandbox.repo().join(place);
            git(&folder, &["config", "http.https://host/.extraheader", "AUTHORIZATION: basic SECRET"]);
            git(&folder, &["remote", "add", "origin", "https://me:SECRET@host/o/r"]);
            git(&folder, &["config", "http.proxy", "me:SECRET@proxy:80"]);
            let config = fs::read(at("config")).unwrap();
            // What is no text hides nothing.
            fs::write(at("config"), [&config[..], b"# \xff\n"].concat()).unwrap();
            fs::write(at("FETCH_HEAD"), "0\t\tbranch 'x' of https://me:SECRET@host/o/r\n").unwrap();
            fs::write(at("config.worktree"), "[include]\n\tpath = SECRET\n").unwrap();
        }
        fs::write(sandbox.repo().join(".git/credentials"), "https://me:SECRET@host\n").unwrap();
        fs::create_dir_all(sandbox.repo().join(".git/lfs/logs")).unwrap();
        fs::write(sandbox.repo().join(".git/lfs/logs/1.log"), "Endpoint=https://me:SECRET@host\n").unwrap();
    };
    both(&files, prepare, &[vec![command("bash .s")]], |method, _, run| {
        let result = run.results().remove(0);
        assert!(!result.contains("SECRET\n") && !result.contains(".git/"), "{method}: {result}");
        assert!(
            result.contains("https://host/o/r (fetch)") && result.contains("within"),
            "{method}: {result}"
        );
    });
}

/// Looks for what a sensitive file held in every object, and at what honest people do.
const HISTORY: &str = "cd \"$1\"; git cat-file --batch-all-objects --batch --buffer | grep -a 'K[E]Y=' && echo LEAKED\n\
    git log -p --format=%s | grep 'K[E]Y=' && echo LEAKED; git show HEAD:.env; set -e\n\
    git log --stat --format=%s; git status --short; echo more >> code.txt; git stash -q; git stash pop -q\n\
    git commit -qam work; git checkout -q HEAD~1; git checkout -q -; git diff --stat HEAD~1; echo \"honest work in $1\"\n";

#[test]
fn committed_secrets_are_in_no_store_and_honest_work_goes_on() {
    let config = format!("{CONFIG}guardrails: {{ sensitive_files: ['.env'] }}\n");
    let files =
        [(".architect.yml", config.as_str()), (".s", HISTORY), ("code.txt", "x\n"), (".gitignore", "/lib\n")];
    let secret = |folder: &Path| {
        fs::write(folder.join(".env"), "KEY=of-history\n").unwrap();
        fs::write(folder.join("code.txt"), "x\ny\n").unwrap();
        git(folder, &["add", "-f", ".env", "code.txt"]);
        git(folder, &["commit", "-q", "-m", "a secret"]);
        fs::write(folder.join(".env"), "KEY=of-today\n").unwrap();
        git(folder, &["commit", "-q", "-a", "-m", "another"]);
    };
    let prepare = |sandbox: &Sandbox| {
        let module = Sandbox::new(&[("code.txt", "x\n")]);
        secret(&module.repo());
        let from = module.repo().display().to_string();
        sandbox.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"]);
        nested(sandbox, "lib", &[("code.txt", "x\n")]);
        secret(&sandbox.repo().join("lib"));
        secret(&sandbox.repo());
        for place in ["", "lib", "sub"] {
            let folder = sandbox.repo().join(place);
            git(&folder, &["config", "user.name", "me"]);
            git(&folder, &["config", "user.email", "me@host"]);
        }
    };
    let turns: Vec<_> = [".", "lib", "sub"].map(|place| vec![command(&format!("bash .s {place}"))]).into();
    both(&files, prepare, &turns, |method, _, run| {
        for (result, place) in run.results().iter().zip([".", "lib", "sub"]) {
            assert!(!result.contains("LEAKED") && !result.contains("KEY="), "{method} {place}: {result}");
            assert!(result.contains(&format!("honest work in {place}")), "{method} {place}: {result}");
            assert!(!result.contains(".env "), "{method} {place}: {result}");
        }
    });
}

#[test]
fn committed_secrets_are_not_seen_from_worktrees_and_folders_of_a_repository() {
    let rules = "guardrails: { sensitive_files: ['.env'] }\n";
    for kind in ["worktree", "folder"] {
        let script = HISTORY.replace("cd \"$1\"; ", "");
        let sandbox = Sandbox::new(&[
            ("app/.architect.yml", rules),
            ("app/.s", &script),
            ("app/code.txt", "x\n"),
            ("app/.env", "KEY=1\n"),
        ]);
        sandbox.write("app/.env", "KEY=2\n");
        sandbox.write("app/code.txt", "x\ny\n");
        sandbox.commit("another");
        sandbox.git(&["config", "user.name", "me"]);
        sandbox.git(&["config", "user.email", "me@host"]);
        let workspace = if kind == "worktree" {
            sandbox.git(&["worktree", "add", "-q", "../tree"]);
            fs::rename(
                sandbox.path().join("tree/app/.architect.yml"),
                sandbox.path().join("tree/.architect.yml"),
            )
            .unwrap();
            fs::rename(sandbox.path().join("tree/app/.s"), sandbox.path().join("tree/.s")).unwrap();
            fs::write(sandbox.path().join("tree/code.txt"), "x\n").unwrap();
            git(&sandbox.path().join("tree"), &["add", "-A"]);
            git(&sandbox.path().join("tree"), &["commit", "-qm", "moved"]);
            sandbox.path().join("tree")
        } else {
            sandbox.repo().join("app")
        };
        let model = sandbox.script(&[vec![command("bash .s")]], "done");
        let args = ["--model", &model, "--mode", "yolo", "--workspace", workspace.to_str().unwrap()];
        let result = sandbox.run(&args, &[]).results().remove(0);
        assert!(!result.contains("LEAKED") && !result.contains("KEY="), "{kind}: {result}");
        assert!(result.contains("honest work in"), "{kind}: {result}");
    }
}

#[test]
fn what_a_refused_command_took_away_is_there_for_the_next() {
    let config = format!("{CONFIG}guardrails: {{ protected_files: ['keep/*.lock'] }}\n");
    let files = [(".architect.yml", config.as_str()), ("keep/a.lock", "1\n"), ("keep/b.txt", "1\n")];
    let turns = [vec![command("rm -r keep")], vec![command("cat keep/a.lock keep/b.txt && ls -A")]];
    both(
        &files,
        |_| {},
        &turns,
        |method, _, run| {
            let results = run.results();
            assert!(results[0].contains("protected"), "{method}: {}", results[0]);
            assert!(results[1].contains("1\n1\n"), "{method}: {}", results[1]);
        },
    );
}

#[test]
fn repository_folder_replaced_by_link_is_not_followed() {
    let elsewhere = tempfile::tempdir().unwrap();
    fs::create_dir(elsewhere.path().join(".git")).unwrap();
    fs::write(elsewhere.path().join(".git/config"), "mine\n").unwrap();
    let line = format!("mv lib gone; ln -s {} lib", elsewhere.path().display());
    let prepare = |sandbox: &Sandbox| nested(sandbox, "lib", &[("l.txt", "x\n")]);
    let turns = [vec![command(&line)], vec![command("echo on")]];
    both(&[(".architect.yml", CONFIG), ("a.txt", "x\n")], prepare, &turns, |method, _, _| {
        let kept = fs::read_to_string(elsewhere.path().join(".git/config")).unwrap_or_default();
        assert_eq!(kept, "mine\n", "{method}");
    });
}

#[test]
fn run_outside_of_a_repository_says_that_nothing_can_be_undone() {
    let sandbox = crate::support::Sandbox::without_git(&[("a.txt", "one\n")]);
    let model = sandbox.script(&[], "done");
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &[]);
    assert!(run.report()["notices"].to_string().contains("cannot be undone with Git"), "{}", run.stderr);
    let run = sandbox.run(&["--model", &model], &[]).expect_code(0);
    assert!(!run.report()["notices"].to_string().contains("cannot be undone"), "a dry run changes nothing");
}
