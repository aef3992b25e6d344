//! The sandbox around commands, hooks and gates, on this kernel, for real.
#![cfg(target_os = "linux")]

use std::net::TcpListener;
use std::path::PathBuf;

use crate::support::{Run, Sandbox, command};
use serde_json::json;

/// A home folder that lies outside of all that may be written.
struct Outside(tempfile::TempDir);

impl Outside {
    fn new() -> Self {
        let home = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder");
        std::fs::create_dir_all(home.path().join(".cache")).unwrap();
        std::fs::create_dir_all(home.path().join("mine")).unwrap();
        Self(home)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Runs a script as a hook, as a gate and as a command of the agent's, all in the same sandbox.
fn probe(script: &str, commands: &str, home: &Outside) -> (Run, Sandbox) {
    let config = format!(
        "commands:\n  dev_commands: [bash probe.sh]\n{commands}\nhooks:\n  pre_tool_use:\n    - {{ name: probe, command: bash probe.sh, matcher: read_file }}\nguardrails:\n  quality_gates:\n    - {{ name: probe, command: bash probe.sh }}\n"
    );
    let sandbox = Sandbox::new(&[(".architect.yml", &config), ("probe.sh", script), ("a.txt", "x\n")]);
    let read = ("read_file", json!({"path": "a.txt"}));
    let command = ("run_command", json!({"command": "bash probe.sh"}));
    let model = sandbox.script(&[vec![read], vec![command]], "done");
    let home = home.0.path().to_str().unwrap();
    let run = sandbox
        .run(&["--model", &model, "--mode", "yolo"], &[("HOME", home), ("TOKEN_OF_RUNNER", "of-the-runner")]);
    (run, sandbox)
}

/// What the script printed as hook, gate and command.
fn outputs(run: &Run) -> [String; 3] {
    let report = run.report();
    let told = |list: &str| report[list][0]["output"].as_str().expect("an output").to_owned();
    // Without the line about exit code and time, and that about changes.
    let result = run.results().remove(1);
    let lines = result.lines().skip(1).filter(|line| !line.starts_with("[changed"));
    [told("hooks"), told("gates"), lines.collect::<Vec<_>>().join("\n")]
}

const TRY_WRITES: &str = r#"
try() { if (echo x > "$1") 2>/dev/null; then echo "wrote $2"; else echo "refused $2"; fi; }
try inside.txt workspace
try "$TMPDIR/probe-temp" temp
try "$HOME/.cache/x" cache
try "$HOME/mine/x" mine
try "$HOME/.bashrc" home
try /etc/architect-probe etc
try /dev/null null
ln -s "$HOME" out 2>/dev/null; try out/.profile link
rm -rf "$HOME/victim" 2>/dev/null; if [ -e "$HOME/victim" ]; then echo "kept victim"; fi
"#;

#[test]
fn sandbox_discards_writes_outside_workspace() {
    let home = Outside::new();
    std::fs::write(home.path("victim"), "x").unwrap();
    std::fs::write(home.path(".cache/old"), "x").unwrap();
    let script = format!(
        "{TRY_WRITES}\nls \"$HOME/victim\" 2>&1; chmod 777 /etc/passwd 2>/dev/null && echo changed modes; rm -f \"$HOME/.cache/old\""
    );
    let (run, sandbox) = probe(&script, "  sandbox: required", &home);
    let run = run.expect_code(0);
    for output in outputs(&run) {
        for part in
            ["wrote workspace", "wrote temp", "wrote cache", "refused etc", "wrote null", "No such file"]
        {
            assert!(output.contains(part), "{part}: {output}");
        }
        assert!(!output.contains("changed modes"), "{output}");
    }
    for file in [".bashrc", ".profile", ".cache/x", "mine/x"] {
        assert!(!home.path(file).exists(), "{file}");
    }
    assert!(home.path("victim").exists() && home.path(".cache/old").exists());
    assert!(!sandbox.path().join("probe-temp").exists());
}

#[test]
fn sandbox_paths_can_be_added_and_sandbox_disabled() {
    let home = Outside::new();
    let (run, _sandbox) = probe(TRY_WRITES, "  writable_paths: ['~/mine']", &home);
    assert!(outputs(&run.expect_code(0))[0].contains("wrote mine"));
    assert!(home.path("mine/x").exists() && !home.path(".bashrc").exists());
    std::fs::write(home.path("mine/seen"), "of mine").unwrap();
    let script = "cat \"$HOME/mine/seen\" 2>/dev/null || echo not there";
    for (commands, expected) in
        [("  readable_paths: ['~/mine']", "of mine"), ("  network: allow", "not there")]
    {
        let (run, _sandbox) = probe(script, commands, &home);
        assert_eq!(outputs(&run.expect_code(0)), [expected; 3]);
    }
    let script = "echo x > \"$HOME/.bashrc\" && echo wrote home";
    let (run, _sandbox) = probe(script, "  sandbox: off", &home);
    assert_eq!(outputs(&run.expect_code(0)), ["wrote home"; 3]);
    assert!(home.path(".bashrc").exists());
}

/// A job on GitHub has its outputs among the runner's files, and a batch its worktrees; these are often in the home folder.
#[test]
fn sandbox_stands_with_outputs_and_checkout_among_the_files_of_the_runner() {
    let config = "commands: { sandbox: required, network: { allow: [python] }, dev_commands: [bash], safe_commands: [bash look.sh] }\n";
    let home = Outside::new();
    let temp = home.path("work/_temp");
    std::fs::create_dir_all(temp.join("out")).unwrap();
    std::fs::write(temp.join("secret.txt"), "of the runner").unwrap();
    let look = format!("cat {0}/secret.txt; cat {0}/out/command-output/* | tail -n 1\n", temp.display());
    let sandbox = Sandbox::new(&[(".architect.yml", config), ("look.sh", &look)]);
    let lines = ["bash -c 'seq 90000; echo more > made.txt'", "bash look.sh", "bash ./look.sh"];
    let turns: Vec<_> = lines.iter().map(|line| vec![command(line)]).collect();
    let model = sandbox.script(&turns, "done");
    let out = temp.join("out");
    let moved = temp.join("worktrees/1");
    std::fs::create_dir_all(moved.parent().unwrap()).unwrap();
    let checkout = sandbox.repo();
    for workspace in [&checkout, &moved] {
        if *workspace == moved {
            crate::support::git(&checkout, &["clone", "--quiet", ".", moved.to_str().unwrap()]);
        }
        let places = [workspace, &out].map(|place| place.to_str().unwrap());
        let args = ["run", "--task", "x", "--mode", "yolo", "--model", &model, "--workspace", places[0]];
        let mut run = sandbox.command(&[&args[..], &["--out", places[1]]].concat());
        run.env("HOME", home.0.path()).env("RUNNER_TEMP", &temp);
        let run = Run::new(&run.output().expect("the binary runs"), out.clone()).expect_code(0);
        assert!(!run.stderr.contains("run on a copy"), "{}", run.stderr);
        for result in &run.results()[1..] {
            assert!(result.contains("90000") && !result.contains("of the runner"), "{result}");
        }
        assert!(workspace.join("made.txt").exists());
    }
}

#[test]
fn sandbox_protects_runner_process() {
    // Every process above, whichever of them is the runner.
    let script = r#"
pid=$PPID
while [ "$pid" -gt 1 ]; do
  grep -q of-the-runner "/proc/$pid/environ" 2>/dev/null && echo "read the environment"
  tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q 'architect-ci run ' && seen=yes && {
    head -c 1 "/proc/$pid/mem" 2>/dev/null && echo "read the memory"
    readlink "/proc/$pid/fd/1" "/proc/$pid/exe" "/proc/$pid/cwd" 2>/dev/null && echo "saw its files"
  }
  tr '\0' ' ' < "/proc/$pid/cmdline" | grep -q architect-ci && kill -9 "$pid" 2>/dev/null && echo "killed it"
  pid=$(cut -d ' ' -f 4 "/proc/$pid/stat")
done
echo "runner met: ${seen:-no}"
mknod disk b 7 0 2>/dev/null && echo "made a disk"
grep NoNewPrivs /proc/self/status
sleep 30 & kill $! && echo "own children can be ended"
"#;
    let (run, _sandbox) = probe(script, "  sandbox: required", &Outside::new());
    let expected = "runner met: no\nNoNewPrivs:\t1\nown children can be ended";
    assert_eq!(outputs(&run.expect_code(0)), [expected; 3]);
}

#[test]
fn sandbox_blocks_abstract_sockets() {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener};
    let name = format!("architect-ci-test-{}", std::process::id());
    let address = SocketAddr::from_abstract_name(&name).expect("a name");
    let _listener = UnixListener::bind_addr(&address).expect("a socket");
    let connect = format!("python3 -c \"import socket; socket.socket(socket.AF_UNIX).connect('\\0{name}')\"");
    let script = format!("{connect} 2>/dev/null && echo connected || echo refused");
    for (sandbox, expected) in [("off", "connected"), ("required", "refused")] {
        let (run, _sandbox) = probe(&script, &format!("  sandbox: {sandbox}"), &Outside::new());
        assert_eq!(outputs(&run.expect_code(0)), [expected; 3]);
    }
}

#[test]
fn sandbox_denies_network() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().unwrap().port();
    let script = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo connected || echo refused");
    for (network, expected) in [("allow", "connected"), ("deny", "refused")] {
        let (run, _sandbox) = probe(&script, &format!("  network: {network}"), &Outside::new());
        assert_eq!(outputs(&run.expect_code(0)), [expected; 3]);
    }
    let (run, _sandbox) = probe(&script, "  network: deny\n  sandbox: off", &Outside::new());
    assert!(run.expect_code(3).stderr.contains("requires a sandbox, but `commands.sandbox` is off"));
}

#[test]
fn sandbox_invalid_settings_are_errors() {
    let (run, _sandbox) = probe("true", "  shell: /no/such/shell", &Outside::new());
    let run = run.expect_code(1);
    assert!(run.report()["gates"][0]["output"].as_str().unwrap().contains("/no/such/shell"));
    assert!(run.results()[1].starts_with("Error: "), "{:?}", run.results());
    let sandbox = Sandbox::new(&[]);
    let output = sandbox.command(&["__sandbox", "{}", "true"]).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(126));
}

#[test]
fn doctor_reports_active_sandbox() {
    let sandbox = Sandbox::new(&[]);
    let output = sandbox.command(&["doctor"]).output().expect("the binary runs");
    let text = String::from_utf8_lossy(&output.stdout);
    for part in [
        "✓ sandbox    active",
        "✓ files      commands have their own file system",
        "✓ hosts      a list in `commands.network` is enforced: commands have their own network",
        "✓ network",
        "✓ git        git version",
        "✓ github     not on GitHub",
    ] {
        assert!(text.contains(part), "{text}");
    }
}

/// Runs scripts one after the other as the agent's commands, with a home folder.
fn commands(scripts: &[&str], files: &[(&str, &str)], home: &Outside, path: Option<&str>) -> (Run, Sandbox) {
    let sandbox = Sandbox::new(files);
    let mut turns = Vec::new();
    for (index, script) in scripts.iter().enumerate() {
        sandbox.write(&format!(".s/{index}"), script);
        turns.push(vec![("run_command", json!({"command": format!("bash .s/{index}")}))]);
    }
    sandbox.commit("scripts");
    let model = sandbox.script(&turns, "done");
    let mut variables = vec![("HOME", home.0.path().to_str().unwrap())];
    variables.extend(path.map(|path| ("PATH", path)));
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &variables);
    (run, sandbox)
}

#[test]
fn sandbox_links_in_home_are_not_followed() {
    let home = Outside::new();
    for folder in [".cargo/registry", ".m2/repository", ".config/git"] {
        std::fs::create_dir_all(home.path(folder)).unwrap();
    }
    std::fs::write(home.path(".config/git/config"), "[user]\nname = me\n").unwrap();
    let plant = "mv ~/.cargo ~/y; mv ~/.m2 ~/x; rm -rf ~/.config/git ~/.config 2>/dev/null\n\
                 ln -s \"$PWD/.github/workflows\" ~/.cargo; ln -s /etc ~/.m2; ln -s \"$PWD/.git\" ~/.config; echo planted\n";
    let files = [(".github/workflows/ci.yml", "on: push\n")];
    let (run, sandbox) = commands(&[plant, "echo went on"], &files, &home, None);
    let results = run.expect_code(0).results();
    assert!(results[0].contains("planted") && results[1].contains("went on"), "{results:?}");
    let workflows = std::fs::read_dir(sandbox.repo().join(".github/workflows")).unwrap();
    assert_eq!(workflows.count(), 1);
    assert!(!sandbox.repo().join(".git/git").exists());
}

#[test]
fn sandbox_commands_share_caches_and_nothing_that_is_mounted_for_one() {
    let home = Outside::new();
    std::fs::create_dir_all(home.path(".cargo/registry")).unwrap();
    std::fs::write(home.path(".cargo/registry/known"), "of the machine\n").unwrap();
    let script = "echo \"shm: $(ls /dev/shm)\"; cat ~/.cache/seen ~/.cargo/registry/known; ls ~/.cargo/registry\n\
                  echo x > /dev/shm/mine; echo \"$(basename $0)\" >> ~/.cache/seen\n\
                  echo \"processes: $(ls /proc | grep -c '^[0-9]')\"; grep -c ' /dev/shm ' /proc/self/mountinfo\n\
                  (sleep 60 &) ; { > /dev/mine; } 2>/dev/null && echo wrote to /dev\n";
    // Its mount point goes along with a folder that a command renames.
    let moves = format!("{script} mv ~/.cargo ~/away; mv ~/away/registry ~/here 2>/dev/null; echo moved\n");
    let (run, _sandbox) = commands(&[script, &moves, script, script], &[], &home, None);
    let results = run.expect_code(0).results();
    for (index, result) in results.iter().enumerate() {
        let seen: Vec<String> = (0..index).map(|before| before.to_string()).collect();
        let lines: Vec<&str> = result.lines().skip(1).collect();
        let expected =
            [vec!["shm: "], seen.iter().map(String::as_str).collect(), vec!["of the machine", "known"]];
        let expected: Vec<&str> = expected.concat().into_iter().filter(|line| !line.is_empty()).collect();
        let found: Vec<&str> = lines.iter().copied().filter(|line| !line.contains("No such file")).collect();
        assert_eq!(found[..expected.len()], expected, "{index}: {result}");
        assert!(!result.contains("wrote to /dev"), "{index}: {result}");
        let processes = result.lines().find_map(|line| line.strip_prefix("processes: ")).expect("a number");
        assert!(processes.parse::<u32>().expect("a number") < 7, "{index}: {result}");
    }
    assert!(results[1].contains("moved"), "{results:?}");
}

/// A model that reads a file, then prints and changes it by a command, and answers with it.
const TWO_CALLS: &str = r#"
import json, sys
calls = [("read_file", {"path": "a.txt"}), ("run_command", {"command": "cat a.txt; echo more >> a.txt"})]
for line in sys.stdin:
    done = sum(message["role"] == "tool" for message in json.loads(line)["messages"])
    left = [{"name": name, "arguments": arguments} for name, arguments in calls[done:done + 1]]
    print(json.dumps({"calls": left} if left else {"text": open("a.txt").read()}), flush=True)
"#;

#[test]
fn sandbox_children_see_a_checkout_in_shared_memory() {
    let config = "hooks:\n  pre_tool_use:\n    - { name: hook, command: cat a.txt, matcher: read_file }\n\
                  guardrails:\n  quality_gates:\n    - { name: gate, command: cat a.txt && ls -A /dev/shm }\n\
                  evaluation: off\n";
    let files = [(".architect.yml", config), ("model.py", TWO_CALLS), ("a.txt", "before\n")];
    let sandbox = Sandbox::new_in("/dev/shm".as_ref(), &files);
    for (mode, expected) in [("dry-run", "before\n"), ("yolo", "before\nmore\n")] {
        let run = sandbox.run(&["--model", "exec::python3 model.py", "--mode", mode], &[]).expect_code(0);
        let results = run.results();
        assert!(results[0].contains("before") && results[1].contains("before"), "{mode}: {results:?}");
        let report = run.report();
        for list in ["hooks", "gates"] {
            let output = report[list][0]["output"].as_str().unwrap_or_default();
            assert!(output.contains("before"), "{mode}: {list}: {report}");
        }
        // Of the machine's shared memory, nothing else is seen.
        let gate = report["gates"][0]["output"].as_str().unwrap().lines().last().unwrap().to_owned();
        assert!(sandbox.path().ends_with(&gate), "{mode}: {gate}");
        assert!(!run.stderr.contains("cannot give a command its own network"), "{}", run.stderr);
        assert_eq!(sandbox.read("a.txt"), expected, "{mode}");
    }
}

#[test]
fn sandbox_look_writes_nothing_to_home_below_tmp() {
    let home = Outside(tempfile::tempdir_in("/tmp").unwrap());
    for folder in [".cache/tool", ".npm"] {
        std::fs::create_dir_all(home.path(folder)).unwrap();
    }
    std::fs::write(home.path(".cache/tool/object"), "old\n").unwrap();
    let look = "for f in ~/.cache/tool/object ~/.cache/new ~/.npm/new; do { echo x > $f; } 2>/dev/null && echo wrote $f; done; cat ~/.cache/tool/object";
    let rules = "commands: { safe_commands: ['bash look.sh'] }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", rules), ("look.sh", look)]);
    let model = sandbox.script(&[vec![("run_command", json!({"command": "bash look.sh"}))]], "done");
    let run =
        sandbox.run(&["--model", &model, "--mode", "yolo"], &[("HOME", home.0.path().to_str().unwrap())]);
    let results = run.expect_code(0).results();
    assert!(results[0].contains("old") && !results[0].contains("wrote"), "{results:?}");
    assert_eq!(std::fs::read_to_string(home.path(".cache/tool/object")).unwrap(), "old\n");
    assert!(!home.path(".cache/new").exists() && !home.path(".npm/new").exists());
}

#[test]
fn sandbox_hard_links_do_not_leak_changes() {
    let first = "mkdir target; echo one > target/a; ln target/a .git/a; head -c 9000000 /dev/zero > big; ln big .git/b";
    let second = "echo evil > .git/a; echo evil > .git/b; echo hi > .github/workflows/ci.yml";
    let files = [(".gitignore", "target/\n"), (".github/workflows/ci.yml", "on: push\n")];
    let (run, sandbox) = commands(&[first, second], &files, &Outside::new(), None);
    let run = run.expect_code(0);
    assert!(run.results()[1].contains("none of the changes of the command were kept"), "{:?}", run.results());
    assert_eq!(sandbox.read("target/a"), "one\n");
    assert_eq!(std::fs::metadata(sandbox.repo().join("big")).unwrap().len(), 9_000_000);
}

#[test]
fn sandbox_gates_ignore_command_home() {
    let home = Outside::new();
    let path = format!("{}:{}", home.path(".local/bin").display(), std::env::var("PATH").unwrap());
    let plant = "mkdir -p ~/.local/bin; printf '#!/bin/sh\\nexit 0\\n' > ~/.local/bin/judge; chmod +x ~/.local/bin/judge; judge && echo fooled myself";
    let rules = "guardrails:\n  max_gate_rounds: 1\n  quality_gates: [{ name: judge, command: judge }]\n";
    let (run, _sandbox) = commands(&[plant], &[(".architect.yml", rules)], &home, Some(&path));
    assert!(run.results()[0].contains("fooled myself"), "{:?}", run.results());
    assert_eq!(run.report()["gates"][0]["passed"], false);
}

#[test]
fn sandbox_hides_secrets_beside_subfolder_workspace() {
    let rules = "guardrails: { sensitive_files: ['.env'] }\n";
    let sandbox = Sandbox::new(&[
        ("app/.architect.yml", rules),
        ("app/a.txt", "a\n"),
        (".env", "KEY=beside-the-workspace\n"),
        ("lib/b.txt", "b\n"),
        (
            "app/.s",
            "cat ../.env; cat ../.git/config; cat ../lib/b.txt; git log --format=%s -1; git status --short",
        ),
    ]);
    sandbox.git(&[
        "config",
        "http.https://github.com/.extraheader",
        "AUTHORIZATION: basic b2YtdGhlLWhlYWRlcg==",
    ]);
    let model = sandbox.script(&[vec![("run_command", json!({"command": "bash .s"}))]], "done");
    let app = sandbox.repo().join("app");
    let args = ["--model", &model, "--mode", "yolo", "--workspace", app.to_str().unwrap()];
    let result = sandbox.run(&args, &[]).expect_code(0).results().remove(0);
    assert!(!result.contains("beside-the-workspace") && !result.contains("AUTHORIZATION"), "{result}");
    assert!(result.contains("\nb\n") && result.contains("before"), "{result}");
}
