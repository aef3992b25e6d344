//! `architect-ci __sandbox WALLS PROGRAM ARGUMENT…`: shuts itself in, then becomes the program. Not for
//! people: supervisors start commands by it.

use std::ffi::OsString;

use crate::command::sandbox::{Walls, shut_in};

/// What shells answer when a program cannot be run.
const CANNOT_RUN: u8 = 126;

/// Never returns if all goes well; else the exit code.
pub(super) fn execute(mut arguments: impl Iterator<Item = OsString>) -> u8 {
    let walls =
        arguments.next().and_then(|walls| serde_json::from_slice::<Walls>(walls.to_str()?.as_bytes()).ok());
    let (Some(walls), Some(program)) = (walls, arguments.next()) else {
        eprintln!("__sandbox is not for people; see `architect-ci --help`");
        return CANNOT_RUN;
    };
    // A child that cannot be shut in does not run at all.
    if let Err(error) = shut_in(&walls) {
        eprintln!("the sandbox could not be set up: {error}");
        return CANNOT_RUN;
    }
    become_program(&program, arguments)
}

#[cfg(unix)]
fn become_program(program: &OsString, arguments: impl Iterator<Item = OsString>) -> u8 {
    use std::os::unix::process::CommandExt;
    let error = std::process::Command::new(program).args(arguments).exec();
    eprintln!("{}: {error}", program.to_string_lossy());
    CANNOT_RUN
}

#[cfg(not(unix))]
fn become_program(_: &OsString, _: impl Iterator<Item = OsString>) -> u8 {
    CANNOT_RUN
}
