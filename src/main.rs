//! The program `architect-ci`, which only starts the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    architect_ci::cli::main()
}
