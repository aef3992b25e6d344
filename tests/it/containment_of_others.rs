//! Objects and terminals of other processes of the same user, which no rule of the kernel's tells from those of a command on a machine
//! where nothing can be mounted.
#![cfg(target_os = "linux")]

use crate::copies::{without_namespaces_beside, without_namespaces_having};
use crate::support::{Run, Sandbox, command};

const CONFIG: &str = "commands: { dev_commands: [bash work.sh], safe_commands: [bash look.sh], network: deny }\n\
                      dry_run: { commands: isolated }\n";

/// Tries what reaches others, and tells how each attempt ended.
const PROBE: &str = r#"import ctypes, fcntl, os, pty, socket, sys, termios
libc = ctypes.CDLL(None, use_errno=True)
def tell(name, result):
    print(name, "done" if result >= 0 else os.strerror(ctypes.get_errno()), flush=True)
def attempt(name, act):
    try:
        act()
        print(name, "done", flush=True)
    except OSError as error:
        print(name, error.strerror, flush=True)
tell("attach", libc.shmat(0, None, 0))
tell("mark", libc.shmctl(0, 0, 0))
tell("set", libc.semctl(0, 0, 16, 42))
tell("remove", libc.semctl(0, 0, 0, 0))
tell("send", libc.msgsnd(0, b"12345678evil", 4, 0o4000))
tell("receive", libc.msgrcv(0, ctypes.create_string_buffer(64), 32, 0, 0o4000))
tell("queue", libc.mq_open(b"/of-others", os.O_RDWR))
attempt("processor", lambda: os.sched_setaffinity(os.getppid(), os.sched_getaffinity(0)))
attempt("priority", lambda: os.setpriority(os.PRIO_USER, 0, os.getpriority(os.PRIO_USER, 0)))
attempt("group", lambda: os.setpriority(os.PRIO_PGRP, 0, os.getpriority(os.PRIO_PGRP, 0)))
attempt("datagrams", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM))
attempt("stream", lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM))
attempt("kernel", lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 2))
attempt("terminal", lambda: os.open("/dev/pts/0", os.O_RDWR | os.O_NOCTTY))
attempt("reading", lambda: os.open("/dev/pts/0", os.O_RDONLY | os.O_NOCTTY))
attempt("own", pty.openpty)
"#;

/// Runs the probe as a command that works and as one that only looks.
fn probed(others: &str) -> [String; 2] {
    let sandbox = Sandbox::new(&[
        (".architect.yml", CONFIG),
        ("probe.py", PROBE),
        ("work.sh", "python3 probe.py\n"),
        ("look.sh", "python3 probe.py\n"),
    ]);
    let turns = [vec![command("bash work.sh")], vec![command("bash look.sh")]];
    // Those of the machine may be anybody's.
    let terminals = "mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts /dev/pts";
    let others = format!("{terminals} && {others}");
    let run: Run = without_namespaces_beside(&others, &sandbox, &sandbox.repo(), &turns, &[], &[]);
    assert!(run.stderr.contains("commands run on a copy"), "{}\n{}", run.stderr, run.stdout);
    let mut results = run.results().into_iter();
    [results.next().expect("a result"), results.next().expect("a result")]
}

fn assert_ends(output: &str, expected: &[(&str, &str)]) {
    for (name, end) in expected {
        assert!(output.contains(&format!("\n{name} {end}")), "{name}: {output}");
    }
}

const REFUSED: &str = "Operation not permitted";

#[test]
fn objects_and_terminals_of_others_are_out_of_reach() {
    // A terminal stays as long as somebody has its other side open.
    let others = "ipcmk -M 64 && ipcmk -S 1 && ipcmk -Q && exec 9<>/dev/pts/ptmx && test -e /dev/pts/0";
    for output in probed(others) {
        assert_ends(
            &output,
            &[
                ("attach", REFUSED),
                ("mark", REFUSED),
                ("set", REFUSED),
                ("remove", REFUSED),
                ("send", REFUSED),
                ("receive", REFUSED),
                ("queue", REFUSED),
                ("processor", REFUSED),
                ("priority", REFUSED),
                ("group", REFUSED),
                ("stream", "done"),
                ("kernel", REFUSED),
                ("terminal", "Permission denied"),
                ("reading", "Permission denied"),
            ],
        );
        assert!(!output.contains("own done"), "its own terminal would be where the others are: {output}");
    }
}

#[test]
fn where_nobody_else_has_any_a_command_has_objects_and_terminals_of_its_own() {
    let [work, look] = probed("true");
    // There is no object with this number.
    assert_ends(&work, &[("attach", "Invalid argument"), ("set", "Invalid argument"), ("send", REFUSED)]);
    assert_ends(&look, &[("attach", REFUSED), ("set", REFUSED), ("send", REFUSED), ("datagrams", REFUSED)]);
    for output in [work, look] {
        assert_ends(&output, &[("own", "done"), ("stream", "done"), ("priority", REFUSED)]);
    }
}

/// A gate does not meet what a command that still runs has, or has left.
#[test]
fn gates_share_no_objects_with_commands() {
    let config = "commands: { dev_commands: [bash] }\nguardrails: { quality_gates: [{ name: memory, command: ipcmk -M 64 }], max_gate_rounds: 1 }\n";
    for (line, passes) in [("true", true), ("ipcmk -M 64", false)] {
        let sandbox = Sandbox::new(&[(".architect.yml", config), ("a.txt", "one\n")]);
        let turns = [vec![command(&format!("bash -c '{line}; echo two > a.txt'"))]];
        let run = without_namespaces_having(&sandbox, &sandbox.repo(), &turns, &["--mode", "yolo"], &[]);
        assert_eq!(run.report()["gates"][0]["passed"], passes, "{line}: {}", run.report()["gates"]);
    }
}
