//! Programs that some tests need and that not every machine has.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the path of a program that works, of this machine or of those that the gate has installed below `target`. Where nothing
/// may be left out (in the gate and in CI), a missing program is an error; elsewhere the caller leaves out what needs it, and a line
/// that begins with `SKIPPED` says so.
pub fn tool(name: &str) -> Option<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/ci-tools");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([own.join("venv/bin"), own.join("node_modules/.bin")]);
    let works = |file: &PathBuf| {
        file.is_file()
            && Command::new(file).arg("--version").output().is_ok_and(|output| output.status.success())
    };
    let found = folders.map(|folder| folder.join(name)).find(works);
    if found.is_none() {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let must_be_there = ["ARCHITECT_CI_TESTED", "CI"].into_iter().find(|name| is_set(name));
        assert!(
            must_be_there.is_none(),
            "`{name}` is not on this machine, and `{}` is set, so that nothing may be left out; `bash .ci/run` installs it",
            must_be_there.unwrap_or_default()
        );
        // Not by a macro: what those print is shown of tests that fail alone.
        let said = std::thread::current().name().map_or_else(String::new, |test| format!("; {test}"));
        let _ = writeln!(std::io::stderr(), "SKIPPED: `{name}` is not on this machine{said}");
    }
    found
}

/// Returns the value of `PATH` with the folder of a program in front.
pub fn path_with(program: &Path) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = program.parent().map(Path::to_owned).into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(folders).expect("a path")
}
