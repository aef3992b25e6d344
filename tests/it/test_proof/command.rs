//! The command: what it writes, refuses, and leaves behind.

use std::process::Command;

use super::{Proved, prove_with, python};
use crate::support::Sandbox;
use crate::support::tools::tool;

fn prove(sandbox: &Sandbox, args: &[&str]) -> Proved {
    prove_with(sandbox, None, args)
}

#[test]
fn tests_prove_stops_command_at_time_limit() {
    let sandbox = Sandbox::new(&[("shop.py", "TOTAL = 1\n")]);
    sandbox.commit("shop");
    sandbox.write("tests/test_shop.py", "def test_total():\n    assert shop.TOTAL == 2\n");
    let proved = prove(&sandbox, &["--command-timeout", "1", "--", "sleep", "300.18181"]);
    assert_eq!(proved.code, Some(1), "{}", proved.error);
    assert!(proved.text.contains("the command was stopped at its time limit"), "{}", proved.text);
}

#[test]
fn tests_prove_without_new_tests_runs_nothing() {
    let sandbox = python();
    sandbox.git(&["checkout", "--quiet", "tests"]);
    sandbox.git(&["clean", "-fdq", "tests"]);
    let proved = prove(&sandbox, &["--", "sh", "-c", "touch ran"]);
    let told = "nothing proves the change: no test is new or changed\n";
    assert_eq!((proved.code, proved.text.as_str()), (Some(0), told));
    let json = prove(&sandbox, &["--json", "--", "sh", "-c", "touch ran"]).text;
    assert!(json.contains("\"untested\": true"), "{json}");
    sandbox.git(&["checkout", "--quiet", "."]);
    sandbox.write("README.md", "more\n");
    let proved = prove(&sandbox, &["--", "sh", "-c", "touch ran"]);
    assert_eq!((proved.code, proved.text.as_str()), (Some(0), "no test is new or changed\n"));
}

#[test]
fn tests_prove_writes_lines_and_junit() {
    let sandbox = python();
    let file = sandbox.repo().join("../proof.xml");
    let proved = prove(
        &sandbox,
        &["--junit", file.to_str().expect("a path"), "--", "python3", "-m", "unittest", "-v", "{tests}"],
    );
    assert_eq!(proved.code, Some(1));
    let lines: Vec<&str> = proved.text.lines().collect();
    assert_eq!(lines.len(), 8, "{}", proved.text);
    assert_eq!(
        lines[0],
        "✓ tests/test_discount.py:7 `TestDiscount > test_half` proves the change: it needs something that the old code does not have: \
         ImportError: cannot import name 'discount' from 'shop' (REPO/shop.py)"
            .replace("REPO", &sandbox.repo().canonicalize().expect("a path").display().to_string())
    );
    assert_eq!(lines[4], "✗ tests/test_shop.py:13 `TestShop > test_empty` passes on the old code too");
    assert!(lines[7].starts_with("2 of 7 new tests prove the change ("), "{}", lines[7]);
    let xml = std::fs::read_to_string(&file).expect("a file");
    let document = roxmltree::Document::parse(&xml).expect("XML");
    let count = |tag: &str| document.descendants().filter(|node| node.has_tag_name(tag)).count();
    assert_eq!((count("testcase"), count("failure"), count("error")), (7, 3, 2), "{xml}");
}

#[test]
fn tests_prove_rejects_what_it_cannot_use() {
    let sandbox = python();
    for (args, expected) in [
        (&["--", "pytest '{tests}'"][..], "is in quotes"),
        (&["--", "pytest", "'{tests}'"], "is in quotes"),
        (&["--config", "none.yml", "--", "pytest"], "could not read none.yml"),
        (&["--", " \t"], "the test command is empty"),
    ] {
        let proved = prove(&sandbox, args);
        assert_eq!(proved.code, Some(3), "{args:?}: {}", proved.error);
        assert!(proved.error.contains(expected), "{args:?}: {}", proved.error);
    }
    assert_eq!(prove(&sandbox, &["--base=nowhere", "--", "pytest"]).code, Some(3));
}

/// Killed while tests run: nothing runs on, the checkout is as it was, and the next run removes what was left.
#[cfg(target_os = "linux")]
#[test]
fn tests_prove_leaves_nothing_behind_when_killed() {
    use crate::support::processes::{is_alive, unique_seconds};
    use crate::support::wait::wait_until;

    let sandbox = python();
    let temp = tempfile::tempdir().expect("a folder");
    // The marker stands in a file, so that it is on the command line of the test alone.
    let marker = unique_seconds();
    sandbox.write("wait.sh", format!("exec sleep {marker}\n"));
    let before = sandbox.git(&["status", "--porcelain"]);

    let left = || std::fs::read_dir(temp.path()).expect("a folder").count();
    for (signal, code) in [("KILL", None), ("TERM", Some(143)), ("INT", Some(130))] {
        let mut command = sandbox.command(&["tests", "prove", "--base", "HEAD", "--", "sh", "wait.sh"]);
        command.current_dir(sandbox.repo()).env("RUNNER_TEMP", temp.path());
        let mut child = command.spawn().expect("the binary runs");
        wait_until("the command starts", || is_alive(&marker));
        let sent = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()));
        assert_eq!(child.wait().expect("an end").code(), code, "{signal}");
        wait_until("the command ends with it", || !is_alive(&marker));
        assert_eq!(sandbox.git(&["status", "--porcelain"]), before, "{signal}");
    }
    // The runs after the killed one have removed what it left.
    assert_eq!(left(), 0);
}

#[test]
fn tests_prove_says_why_nothing_is_seen() {
    let sandbox = python();
    for command in ["no-such-program {tests}", "no-such-program {test}", "./README.md"] {
        let proved = prove(&sandbox, &["--", command]);
        assert_eq!(proved.code, Some(3), "{}{}", proved.text, proved.error);
        assert!(proved.error.contains("the test command could not be run: "), "{}", proved.error);
    }
    let proved = prove(&sandbox, &["--", "python3", "-m", "nosuchmod", "{tests}"]);
    assert_eq!(proved.code, Some(1), "{}", proved.error);
    assert!(proved.text.contains("failed with exit code 1: "), "{}", proved.text);
    assert!(proved.text.contains("No module named nosuchmod"), "{}", proved.text);
    let proved = prove(&sandbox, &["--", "python3", "-m", "unittest"]);
    assert!(proved.text.contains("does not name it; unittest names tests with `-v`"), "{}", proved.text);
    let Some(pytest) = tool("pytest") else { return };
    sandbox.write(
        "tests/test_later.py",
        "import pytest\n\n\n@pytest.mark.skip(reason='later')\ndef test_later():\n    assert 1 == 1\n",
    );
    for command in ["PYTHONPATH=. pytest {tests}", "PYTHONPATH=. pytest -q {tests}"] {
        let proved = prove_with(&sandbox, Some(&pytest), &["--", command]);
        assert!(proved.text.contains("`test_later` could not be run: it is skipped"), "{}", proved.text);
    }
}

#[test]
fn tests_commands_name_a_workspace_that_is_missing() {
    let sandbox = python();
    for args in [
        &["check", "--base", "HEAD", "--workspace", "/nonexistent"][..],
        &["prove", "--base", "HEAD", "--workspace", "/nonexistent", "--", "true"],
    ] {
        let output =
            sandbox.command(&[&["tests"], args].concat()).current_dir(sandbox.repo()).output().expect("runs");
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains("could not open the folder `/nonexistent`: No such file"), "{error}");
    }
}
