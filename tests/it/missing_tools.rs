//! Messages of both commands of the README on a machine that lacks something. The machine is a folder of links, which is all of
//! `PATH`.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

/// What the README's commands need, in the order in which it is named.
const NEEDED: [&str; 5] = ["cargo", "cc", "git", "node", "python3"];

fn read(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).expect("a file")
}

/// Runs a script of the samples where only `tools` and the package manager are installed, for a user who is root.
fn on_machine(script: &str, arguments: &[&str], tools: &[&str], manager: Option<&str>) -> Output {
    let machine = tempfile::tempdir().expect("a folder");
    let at = |name: &str| machine.path().join(name);
    let found = |name: &str| {
        let path = std::env::var_os("PATH").expect("a path");
        std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
    };
    for name in ["bash", "dirname"] {
        symlink(found(name).expect("a program of every system"), at(name)).expect("a link");
    }
    // None of these is to be started.
    let fakes = tools.iter().copied().chain(manager).map(|name| (name, "#!/bin/sh\nexit 99\n"));
    for (name, text) in fakes.chain([("id", "#!/bin/sh\necho 0\n")]) {
        fs::write(at(name), text).expect("a file");
        fs::set_permissions(at(name), fs::Permissions::from_mode(0o755)).expect("a mode");
    }
    Command::new(found("bash").expect("bash"))
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(script))
        .args(arguments)
        .env_clear()
        .env("PATH", machine.path())
        .env("TMPDIR", machine.path())
        .output()
        .expect("bash runs")
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn sample_names_all_missing_tools_and_one_command() {
    let output = on_machine("samples/try.sh", &["invoice"], &[], Some("apt-get"));
    assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
    assert_eq!(
        stderr(&output),
        "error: these programs are missing: cargo cc git node python3\n\
         install them with: curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh \
         && apt-get update && apt-get install --yes gcc git nodejs python3\n"
    );
    assert!(output.stdout.is_empty(), "nothing was started");
}

#[test]
fn sample_names_each_missing_tool() {
    for missing in NEEDED {
        let others: Vec<&str> = NEEDED.into_iter().filter(|tool| *tool != missing).collect();
        let output = on_machine("samples/try.sh", &["invoice"], &others, Some("apt-get"));
        assert_eq!(output.status.code(), Some(3), "{missing}: {}", stderr(&output));
        let expected = format!("error: these programs are missing: {missing}\n");
        assert!(stderr(&output).starts_with(&expected), "{}", stderr(&output));
    }
    let output = on_machine("samples/tools.sh", &NEEDED, &NEEDED, Some("apt-get"));
    assert!(output.status.success() && stderr(&output).is_empty(), "{}", stderr(&output));
}

#[test]
fn missing_tools_come_with_the_command_of_the_package_manager() {
    let tools = ["cc", "node", "python3"];
    for (manager, command) in [
        ("apt-get", "apt-get update && apt-get install --yes gcc nodejs python3"),
        ("dnf", "dnf install --assumeyes gcc nodejs python3"),
        ("apk", "apk add build-base nodejs python3"),
        ("pacman", "pacman --sync --needed gcc nodejs python"),
        ("zypper", "zypper install --no-confirm gcc nodejs python3"),
        ("brew", "xcode-select --install && brew install node python"),
    ] {
        let output = on_machine("samples/tools.sh", &tools, &[], Some(manager));
        let expected =
            format!("error: these programs are missing: cc node python3\ninstall them with: {command}\n");
        assert_eq!(stderr(&output), expected);
    }
    let output = on_machine("samples/tools.sh", &tools, &[], None);
    assert_eq!(stderr(&output), "error: these programs are missing: cc node python3\n");
    assert_eq!(output.status.code(), Some(3));
}

#[test]
fn both_commands_look_for_the_same_tools() {
    let sample = format!("tools.sh\" {}\n", NEEDED.join(" "));
    assert!(read("samples/try.sh").contains(&sample), "samples/try.sh looks for other tools");
    let tests = format!("{NEEDED:?}");
    assert!(read("tests/environment.rs").contains(&tests), "tests/environment.rs looks for other tools");
}
