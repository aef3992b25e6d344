//! The program under test.

use std::path::Path;
use std::sync::OnceLock;

/// The environment variable that names another program than the one that Cargo builds beside the tests.
const VARIABLE: &str = "ARCHITECT_CI_TESTED";

/// Returns the path of the program that the tests run: the one that Cargo built with them or, so that the gate can test the program
/// as it is released, the one that `ARCHITECT_CI_TESTED` names.
pub fn program() -> &'static str {
    static PROGRAM: OnceLock<String> = OnceLock::new();
    PROGRAM.get_or_init(|| match std::env::var(VARIABLE) {
        Ok(path) => {
            assert!(Path::new(&path).is_absolute(), "{VARIABLE} has to be an absolute path, not {path}");
            path
        }
        Err(_) => env!("CARGO_BIN_EXE_architect-ci").to_owned(),
    })
}
