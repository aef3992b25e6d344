//! The command line: one file per sub-command.

mod apply;
mod batch;
mod doctor;
mod explain;
mod report;
mod run;
mod sandboxed;
mod schema;
mod sessions;
mod tools;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Command;

use crate::command::sandbox::SANDBOX;
use crate::event::Exit;

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    if let Some(code) = child(std::env::args_os().skip(1)) {
        return ExitCode::from(code);
    }
    std::panic::set_hook(Box::new(|panic| {
        if crate::command::analysis::is_guarded() {
            return;
        }
        // The message may hold text from anywhere; the place is what a bug report needs.
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        tracing::error!("internal error{place}; please report it");
    }));
    let matches = match command().try_get_matches() {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to stdout and are no failure; clap's own code for errors means
            // "partial" here.
            let exit = if error.use_stderr() { Exit::Configuration } else { Exit::Success };
            let _ = error.print();
            return exit.into();
        }
    };
    match matches.subcommand() {
        Some((run::NAME, matches)) => run::execute(matches),
        Some((apply::NAME, matches)) => apply::execute(matches),
        Some((batch::NAME, matches)) => batch::execute(matches),
        Some((report::NAME, matches)) => report::execute(matches),
        Some((sessions::NAME, matches)) => sessions::execute(matches),
        Some((schema::NAME, matches)) => schema::execute(matches),
        Some((tools::NAME, _)) => tools::execute(),
        Some((doctor::NAME, matches)) => doctor::execute(matches),
        Some((explain::NAME, matches)) => explain::execute(matches),
        _ => Exit::Configuration,
    }
    .into()
}

/// The hidden sub-commands by which the runner starts children: not for people, so not in the help.
fn child(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    let first = arguments.next()?;
    #[cfg(target_os = "linux")]
    if first == crate::command::supervisor::SUPERVISE {
        let shut_in =
            arguments.next().and_then(|text| serde_json::from_slice(text.to_str()?.as_bytes()).ok());
        return Some(crate::command::supervisor::supervise(shut_in));
    }
    if first == crate::web::page::PAGE {
        return Some(crate::web::page::execute(arguments.next()?.to_str()));
    }
    (first == SANDBOX).then(sandboxed::execute)
}

fn command() -> Command {
    Command::new("architect-ci")
        .version(env!("CARGO_PKG_VERSION"))
        .about(env!("CARGO_PKG_DESCRIPTION"))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(run::command())
        .subcommand(apply::command())
        .subcommand(batch::command())
        .subcommand(report::command())
        .subcommand(sessions::command())
        .subcommand(schema::command())
        .subcommand(tools::command())
        .subcommand(doctor::command())
        .subcommand(explain::command())
}

/// Whether a command line is one that the program takes: its first word is the program's name. The error is what
/// it would say.
pub fn understands(words: &[String]) -> Result<(), String> {
    command().try_get_matches_from(words).map(drop).map_err(|error| error.to_string())
}

/// Writes to stdout; a reader that has gone away is no error.
fn print(text: &str) {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        super::command().debug_assert();
    }
}
