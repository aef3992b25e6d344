//! Output of commands: the part that the model gets, and the place of the rest.
#![cfg(target_os = "linux")]

use crate::support::processes::{is_alive, unique_seconds};
use crate::support::{Run, Sandbox, command};
use serde_json::{Value, json};

const CONFIG: &str = "commands: { dev_commands: [bash] }\n";

fn run(sandbox: &Sandbox, mode: &str, turns: &[Vec<(&str, Value)>]) -> Run {
    let model = sandbox.script(turns, "done");
    sandbox.run(&["--model", &model, "--mode", mode], &[]).expect_code(0)
}

const LONG: &str = "for n in $(seq 5000); do echo \"case $n ... ok\"; [ $n != 2500 ] || printf '    case.rs:7: \\033[31merror: got 1\\033[0m\\n'; done; exit 1\n";

#[test]
fn long_output_keeps_failures_and_names_a_file_with_all_of_it() {
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("long.sh", LONG)]);
        let kept =
            sandbox.out().canonicalize().unwrap_or_else(|_| sandbox.out()).join("command-output/1.txt");
        let kept = kept.to_str().unwrap();
        let turns = [
            vec![command("bash long.sh")],
            vec![
                ("read_file", json!({"path": kept, "start_line": 2500, "end_line": 2502})),
                ("search_code", json!({"path": kept, "pattern": "case 499\\d"})),
                command(&format!("grep -c ok {kept}")),
                ("write_file", json!({"path": kept, "content": "x"})),
                ("read_file", json!({"path": "@command-output/../a"})),
            ],
        ];
        let run = run(&sandbox, mode, &turns);
        let results = run.results();
        assert!(results[0].starts_with("Error: exit code 1 after "), "{mode}: {}", results[0]);
        assert!(results[0].contains("\n 2501:     case.rs:7: error: got 1\n"), "{mode}: {}", results[0]);
        assert!(
            results[0].ends_with(&format!("\n[all 5,001 lines: {kept}; read or search that file]")),
            "{mode}: {}",
            results[0]
        );
        assert!(results[0].len() < 20_000, "{mode}: {}", results[0].len());
        assert!(
            results[1].contains("case 2500 ... ok") && results[1].contains("error: got 1"),
            "{mode}: {}",
            results[1]
        );
        assert!(results[2].contains("case 4999 ... ok"), "{mode}: {}", results[2]);
        assert!(results[3].ends_with("\n5000"), "{mode}: {}", results[3]);
        assert!(
            results[4].contains("is outside of the workspace, where files can only be read"),
            "{mode}: {}",
            results[4]
        );
        assert!(results[5].starts_with("Error: "), "{mode}: {}", results[5]);
        assert_eq!(std::fs::read_to_string(kept).unwrap().lines().count(), 5001, "{mode}");
    }
}

#[test]
fn kept_output_holds_no_secret() {
    let script = "echo s3cr3t-value; seq 10000\n";
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("long.sh", script)]);
    let model = sandbox.script(&[vec![command("bash long.sh")]], "done");
    sandbox.run(&["--model", &model, "--mode", "yolo"], &[("MY_TOKEN", "s3cr3t-value")]).expect_code(0);
    let kept = std::fs::read_to_string(sandbox.out().join("command-output/1.txt")).unwrap();
    assert!(kept.starts_with("***\n1\n"), "{}", &kept[..40]);
}

#[test]
fn output_has_no_colours_and_failures_before_a_pipe_are_told() {
    let script = "env | grep -E '^(NO_COLOR|TERM|PAGER|CARGO_TERM_COLOR|FORCE_COLOR)=' | sort; exit 3\n";
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("plain.sh", script)]);
    let turns = [
        vec![command("bash plain.sh | tail -9")],
        vec![command("bash plain.sh | grep NOTHING")],
        vec![command("ls | head -1")],
    ];
    let model = sandbox.script(&turns, "done");
    let variables = [("TERM", "xterm-256color"), ("FORCE_COLOR", "1")];
    let run = sandbox.run(&["--model", &model, "--mode", "yolo"], &variables).expect_code(0);
    let results = run.results();
    let (first, rest) = results[0].split_once('\n').unwrap();
    assert!(
        first.starts_with("exit code 0 after ") && first.ends_with(" (exit codes in the pipe: 3 | 0)"),
        "{first}"
    );
    assert_eq!(rest, "CARGO_TERM_COLOR=never\nNO_COLOR=1\nPAGER=cat\nTERM=dumb");
    assert!(results[1].ends_with(" (exit codes in the pipe: 3 | 1)"), "{}", results[1]);
    assert!(
        results[2].starts_with("exit code 0 after ") && results[2].ends_with("\nplain.sh"),
        "{}",
        results[2]
    );
}

#[test]
fn time_limits_say_how_to_give_more() {
    let sandbox = Sandbox::new(&[(".architect.yml", CONFIG), ("wait.sh", "sleep 300\n")]);
    let turns = [
        vec![("run_command", json!({"command": "bash wait.sh", "timeout": 1}))],
        vec![("run_command", json!({"command": "ls", "timeout": 3_000}))],
        vec![("run_command", json!({"command": "ls", "timeout": 120_000}))],
    ];
    let results = run(&sandbox, "yolo", &turns).results();
    assert_eq!(
        results[0].lines().next().unwrap(),
        "Error: timed out: stopped after 1 s, with everything that it had started; `timeout` can be up to 600 (seconds), and \
         `background: true` is for servers"
    );
    assert!(results[1].starts_with("exit code 0"), "more than the most is the most: {}", results[1]);
    assert!(results[2].starts_with("exit code 0"), "what can only be milliseconds: {}", results[2]);
}

#[test]
fn extra_folders_are_read_and_not_written() {
    let config = "workspace: { extra_dirs: [../shared] }\ncommands: { dev_commands: [bash] }\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config)]);
    std::fs::create_dir(sandbox.path().join("shared")).unwrap();
    let file = sandbox.path().canonicalize().unwrap().join("shared/lib.txt");
    std::fs::write(&file, "from the library\n").unwrap();
    let full = file.to_str().unwrap();
    for mode in ["yolo", "dry-run"] {
        let turns = [vec![
            ("read_file", json!({"path": full})),
            ("read_file", json!({"path": "@shared/lib.txt"})),
            command(&format!("cat {full}")),
            ("edit_file", json!({"path": full, "old_str": "library", "new_str": "x"})),
            command(&format!("bash -c 'echo x >> {full}'")),
        ]];
        let results = run(&sandbox, mode, &turns).results();
        for result in &results[..3] {
            assert!(result.contains("from the library"), "{mode}: {result}");
        }
        assert!(results[3].contains("can only be read"), "{mode}: {}", results[3]);
        assert!(results[4].starts_with("Error"), "{mode}: {}", results[4]);
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "from the library\n", "{mode}");
    }
    std::fs::create_dir_all(sandbox.path().join("shared/deep/.git")).unwrap();
    for name in [".env", "deep/key.pem", "deep/.git/config"] {
        std::fs::write(sandbox.path().join("shared").join(name), "hunter2\n").unwrap();
    }
    let folder = file.parent().unwrap().display();
    for mode in ["yolo", "dry-run"] {
        let turns = [vec![
            ("read_file", json!({"path": "@shared/.env"})),
            command(&format!("cat {folder}/.env")),
            command(&format!("bash -c 'cat {folder}/.e* {folder}/deep/*.pem'")),
            command(&format!("cat {folder}/deep/.git/config")),
            command(&format!("grep -r hunter {folder}")),
            command(&format!("cat {folder}/lib.txt")),
        ]];
        let results = run(&sandbox, mode, &turns).results();
        assert!(results[0].starts_with("Error"), "{mode}: {}", results[0]);
        for result in &results[..5] {
            assert!(!result.contains("hunter2"), "{mode}: {result}");
        }
        assert!(results[5].contains("from the library"), "{mode}: {}", results[5]);
    }
    for (given, problem) in
        [("/proc", "contains neither the checkout"), ("..", "contains neither"), ("../none", "No such file")]
    {
        sandbox.write(".architect.yml", format!("workspace: {{ extra_dirs: ['{given}'] }}\n"));
        let model = sandbox.script(&[], "done");
        let run = sandbox.run(&["--model", &model], &[]).expect_code(3);
        assert!(
            run.stderr.contains("workspace.extra_dirs") && run.stderr.contains(problem),
            "{given}: {}",
            run.stderr
        );
    }
}

#[test]
fn background_commands_run_beside_others_and_end_with_the_run() {
    let marker = unique_seconds();
    let server = format!("echo ready; touch made-by-server; exec sleep {marker}\n");
    let background = |line: &str| ("run_command", json!({"command": line, "background": true}));
    let act = |id: u32, action: &str| ("background_command", json!({"id": id, "action": action}));
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[
            (".architect.yml", CONFIG),
            ("serve.sh", &server),
            ("fails.sh", "echo no; exit 4\n"),
        ]);
        let turns = [
            vec![background("bash serve.sh")],
            vec![command("bash -c 'test ! -e made-by-server && echo apart > seen.txt'"), act(1, "read")],
            vec![background("bash fails.sh"), act(7, "read")],
            vec![background("bash serve.sh")],
            vec![act(1, "stop")],
            vec![act(1, "read")],
        ];
        let run = run(&sandbox, mode, &turns);
        let results = run.results();
        assert!(
            results[0].contains("background command 1 is running") && results[0].ends_with("\nready"),
            "{mode}: {}",
            results[0]
        );
        assert!(results[1].contains("[changed: seen.txt]"), "{mode}: {}", results[1]);
        assert!(
            results[2].starts_with("background command 1 runs\nno new output\n[files have changed"),
            "{mode}"
        );
        assert!(
            results[3].starts_with("Error: exit code 4") && results[3].contains("It ended at once.\nno"),
            "{mode}: {}",
            results[3]
        );
        assert_eq!(results[4], "Error: there is no background command 7; there are: 1", "{mode}");
        assert!(results[5].contains("background command 2 is running"), "{mode}: {}", results[5]);
        assert_eq!(results[6], "background command 1 was stopped\nno new output", "{mode}");
        assert_eq!(results[7], "background command 1 was stopped\nno new output", "{mode}");
        assert!(!sandbox.repo().join("made-by-server").exists(), "{mode}");
        assert!(!is_alive(&marker), "{mode}: it outlived the run");
    }
}

/// A server that answers with a word, on a port of its own.
const SERVER: &str = "import http.server, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'pong from ' + sys.argv[1].encode())
    def log_message(self, *of):
        pass
server = http.server.HTTPServer(('127.0.0.1', int(sys.argv[2])), H)
print('ready', flush=True)
server.serve_forever()
";

const CLIENT: &str = "import sys, urllib.request
print(urllib.request.urlopen('http://127.0.0.1:' + sys.argv[1]).read().decode())
";

#[test]
fn servers_in_the_background_are_reached_by_other_commands_and_the_machine_is_not() {
    let machine = std::net::TcpListener::bind("127.0.0.1:0").expect("a port of the machine");
    let port = machine.local_addr().expect("an address").port();
    let background = |line: &str| ("run_command", json!({"command": line, "background": true}));
    for mode in ["yolo", "dry-run"] {
        let sandbox = Sandbox::new(&[("serve.py", SERVER), ("get.py", CLIENT)]);
        let turns = [
            vec![background("python3 serve.py one 18701")],
            vec![background("python3 serve.py two 18702")],
            vec![command("python3 get.py 18701")],
            vec![command("python3 get.py 18702")],
            vec![command("curl -sS http://127.0.0.1:18701/")],
            vec![command("git status --short && python3 get.py 18701")],
            vec![command(&format!("python3 get.py {port}"))],
            vec![("background_command", json!({"id": 1, "action": "stop"}))],
            vec![command("python3 get.py 18701")],
            vec![command("python3 get.py 18702")],
        ];
        let results = run(&sandbox, mode, &turns).results();
        for (at, expected) in
            [(2, "pong from one"), (3, "pong from two"), (5, "pong from one"), (9, "from two")]
        {
            assert!(results[at].contains(expected), "{mode} {at}: {}", results[at]);
        }
        assert!(!results[4].contains("contacts another machine"), "{mode}: {}", results[4]);
        for at in [6, 8] {
            assert!(results[at].contains("Connection refused"), "{mode} {at}: {}", results[at]);
        }
    }
}

#[test]
fn processes_that_nothing_waits_for_are_told_to_end_with_the_command() {
    let sandbox = Sandbox::new(&[]);
    let turns = [vec![command("sleep 100 & echo started"), command("sleep 0.1 & wait")]];
    let results = run(&sandbox, "yolo", &turns).results();
    assert!(results[0].contains("`background: true` keeps a server running"), "{}", results[0]);
    assert!(!results[1].contains("background"), "{}", results[1]);
}
