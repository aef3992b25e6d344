//! Changes by MCP servers in the checkout, during their calls and after them: judged like the changes of commands, whatever the
//! size, name and kind of a file, with namespaces and without.
#![cfg(target_os = "linux")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::copies::without_namespaces;
use crate::support::{Run, Sandbox};

const SERVER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/support/mcp_server.py");

fn sandbox() -> Sandbox {
    let config = format!(
        "mcp:\n  servers:\n    - {{ name: test, command: python3, args: [{SERVER}, stdio], timeout: 20 }}\n\
         guardrails: {{ protected_files: [locked.txt, \"*.pem\"], sensitive_files: [.env] }}\n"
    );
    let files = [
        (".architect.yml", config.as_str()),
        (".gitignore", ".env\nbuilt/\n__pycache__/\n"),
        (".env", "KEY=x\n"),
        ("a.txt", "one\n"),
        ("locked.txt", "x\n"),
        ("folder/in.txt", "in\n"),
    ];
    let sandbox = Sandbox::new(&files);
    // What Git does not track is there as well.
    for (path, text) in [
        (".env", "KEY=x\n"),
        ("sub/.git/config", "[core]\n"),
        ("sub/.git/HEAD", "ref: refs/heads/main\n"),
        ("module/.git", "gitdir: ../.git/modules/module\n"),
    ] {
        sandbox.write(path, text);
    }
    let old = fs::File::create(sandbox.repo().join("old.bin")).unwrap();
    old.set_len(12_000_000).unwrap();
    sandbox
}

/// Has a server do several things, a call each, and hands out what became of it, once where the checkout is partly
/// read-only for the server, and once where it is not.
fn rummage(tool: &str, what: &[&str], check: impl Fn(&str, &Sandbox, &Run)) {
    let turns: Vec<Vec<(&str, Value)>> =
        what.iter().map(|what| vec![(tool, json!({"text": what}))]).collect();
    let first = sandbox();
    let model = first.script(&turns, "done");
    check("namespaces", &first, &first.run(&["--mode", "yolo", "--model", &model], &[]));
    let second = sandbox();
    let run = without_namespaces(&second, &second.repo(), &turns, &["--mode", "yolo"]);
    check("none", &second, &run);
}

/// The Git folders of other repositories are as they were, and there are no new ones.
fn assert_repositories(how: &str, sandbox: &Sandbox) {
    assert_eq!(sandbox.read("sub/.git/config"), "[core]\n", "{how}");
    assert!(!sandbox.repo().join("sub/.git/hooks/post-checkout").exists(), "{how}");
    assert_eq!(sandbox.read("module/.git"), "gitdir: ../.git/modules/module\n", "{how}");
    assert!(!sandbox.repo().join("new/.git").exists(), "{how}");
}

/// Nothing is left of what could keep the checkout from being looked at.
fn assert_readable(how: &str, sandbox: &Sandbox) {
    let root = sandbox.repo();
    assert!(!root.join("pipe").exists() && !root.join("deep").exists(), "{how}");
    // Root reads every folder, whatever its mode.
    if how == "none" {
        assert!(fs::read_dir(root.join("folder")).is_ok_and(|entries| entries.count() == 1), "{how}");
        assert_eq!(fs::metadata(root.join("folder")).unwrap().permissions().mode() & 0o700, 0o700, "{how}");
    }
    assert_eq!(sandbox.read("locked.txt"), "x\n", "{how}");
}

fn odd_files(sandbox: &Sandbox) -> [std::path::PathBuf; 2] {
    let odd = [&b"odd\xff.txt"[..], b".github/workflows/odd\xff.yml"];
    odd.map(|name| sandbox.repo().join(OsStr::from_bytes(name)))
}

fn changed(run: &Run) -> Vec<(String, String)> {
    let report = run.report();
    let files = report["files"].as_array().unwrap().iter();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    files.map(|file| (text(&file["path"]), text(&file["op"]))).collect()
}

#[test]
fn large_and_oddly_named_files_of_servers_are_judged() {
    rummage("mcp_test_rummage", &["large, refused", "large", "odd"], |how, sandbox, run| {
        let results = run.results();
        assert!(
            results[0].contains("huge.pem is a protected file")
                && results[0].contains("none of the changes of the server"),
            "{how}: {}",
            results[0]
        );
        assert!(!sandbox.repo().join("huge.pem").exists(), "{how}");
        assert_eq!(sandbox.read("a.txt"), "one\n", "{how}");
        assert_eq!(results[1], "done\n[changed, but too large to be shown: new.bin, old.bin]", "{how}");
        assert!(results[2].starts_with("done\n[changed: b.txt]\n[not kept: "), "{how}: {}", results[2]);
        assert!(odd_files(sandbox).iter().all(|path| fs::symlink_metadata(path).is_err()), "{how}");
        let expected = [("b.txt", "add"), ("new.bin", "add"), ("old.bin", "modify")];
        let expected = expected.map(|(path, op)| (path.to_owned(), op.to_owned()));
        assert_eq!(changed(run), expected, "{how}");
        assert_eq!(run.code, 0, "{how}");
    });
}

#[test]
fn repositories_in_the_checkout_are_not_for_servers() {
    rummage("mcp_test_rummage", &["repositories"], |how, sandbox, run| {
        assert_repositories(how, sandbox);
        let results = run.results();
        assert!(results[0].starts_with("done\n[changed: new/plain.txt]"), "{how}: {}", results[0]);
        assert!(results[0].contains("new/.git: a separate repository"), "{how}: {}", results[0]);
    });
}

#[test]
fn sensitive_files_are_not_there_for_servers() {
    rummage("mcp_test_rummage", &["steal"], |how, sandbox, _| {
        // Without a file system of its own, a server sees what is in the checkout.
        let expected = if how == "namespaces" { "nothing\n" } else { "KEY=x\n" };
        assert_eq!(sandbox.read("copy.txt"), expected, "{how}");
    });
}

#[test]
fn mcp_restores_checkout_that_became_unreadable() {
    rummage("mcp_test_rummage", &["blinds", "large"], |how, sandbox, run| {
        assert_readable(how, sandbox);
        assert_eq!(sandbox.read("folder/in.txt"), "in\n", "{how}");
        assert!(!sandbox.repo().join("closed").exists(), "{how}");
        let mode = fs::metadata(sandbox.repo().join("folder")).unwrap().permissions().mode();
        assert_eq!(mode & 0o700, 0o700, "{how}");
        let results = run.results();
        assert!(results[0].contains("locked.txt is a protected file"), "{how}: {}", results[0]);
        // The next call is watched as well.
        assert!(results[1].contains("too large to be shown: new.bin, old.bin"), "{how}: {}", results[1]);
        assert_eq!(run.code, 0, "{how}");
    });
}

#[test]
fn what_servers_do_outside_of_calls_is_judged_all_the_same() {
    let what = ["repositories", "blinds", "large, refused", "odd", "secrets"];
    rummage("mcp_test_rummage_late", &what, |how, sandbox, run| {
        assert_repositories(how, sandbox);
        assert_readable(how, sandbox);
        assert!(!sandbox.repo().join("huge.pem").exists(), "{how}");
        assert_eq!(sandbox.read(".env"), "KEY=x\n", "{how}");
        assert!(odd_files(sandbox).iter().all(|path| fs::symlink_metadata(path).is_err()), "{how}");
        // What may be written is kept and told.
        assert_eq!(sandbox.read("built/x.o"), "theirs\n", "{how}");
        let report = run.report()["notices"].to_string();
        assert!(
            report.contains("after its answer, an MCP server changed files: a.txt, b.txt"),
            "{how}: {report}"
        );
        assert!(
            report.contains("changed files that were then restored: ") && report.contains("huge.pem"),
            "{how}: {report}"
        );
    });
}

#[test]
fn bytecode_of_servers_is_not_kept() {
    let sandbox = sandbox();
    sandbox.write("app/__pycache__/notes.txt", "x\n");
    let path = "app/__pycache__/core.cpython-311.pyc";
    let turns =
        [vec![("mcp_test_write", json!({"path": path}))], vec![("mcp_test_write", json!({"path": "b.txt"}))]];
    let model = sandbox.script(&turns, "done");
    let run = sandbox.run(&["--mode", "yolo", "--model", &model], &[]);
    assert!(run.results()[0].contains("written"), "{:?}", run.results());
    assert!(!sandbox.repo().join(path).exists(), "{:?}", run.results());
    assert_eq!(changed(&run), [("b.txt".to_owned(), "add".to_owned())]);
}

#[test]
fn modes_links_and_folders_of_servers_are_judged_like_those_of_commands() {
    rummage("mcp_test_rummage", &["modes", "links", "folders"], |how, sandbox, run| {
        let (root, results) = (sandbox.repo(), run.results());
        let mode = |path: &str| fs::metadata(root.join(path)).unwrap().permissions().mode() & 0o7777;
        assert_eq!((mode("a.txt") & 0o600, mode("tool.sh") & 0o6111), (0o600, 0o111), "{how}: {results:?}");
        assert_eq!((mode("folder") & 0o022, mode("locked.txt") & 0o6022), (0, 0), "{how}: {results:?}");
        assert!(results[1].contains("passwd would be a link that may lead outside"), "{how}: {results:?}");
        assert!(fs::symlink_metadata(root.join("passwd")).is_err(), "{how}");
        assert!(results[2].contains(".github/workflows/new is always protected"), "{how}: {results:?}");
        assert!(!root.join(".github").exists(), "{how}");
        assert_eq!(sandbox.read("a.txt"), "one\n", "{how}");
        assert_eq!(changed(run), [("tool.sh".to_owned(), "add".to_owned())], "{how}");
    });
}
