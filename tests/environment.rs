//! Requirements of the other tests on the machine. Cargo runs this before them and stops if it fails, so that missing programs
//! are named once, and not by each test in its own way.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

#[test]
fn the_programs_that_the_tests_run_are_installed() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/tools.sh");
    let looked = Command::new("bash").arg(script).args(["cargo", "cc", "git", "node", "python3"]).output();
    let looked = looked.unwrap_or_else(|error| panic!("bash is missing: {error}"));
    assert!(looked.status.success(), "\n{}", String::from_utf8_lossy(&looked.stderr));
}
