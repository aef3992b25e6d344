//! The command line: one file per sub-command.

mod apply;
mod batch;
mod campaign;
mod config;
mod costs;
mod doctor;
mod explain;
mod flags;
mod manual;
mod outcomes;
mod recipe;
mod report;
mod run;
mod sandboxed;
mod schema;
mod sessions;
mod style;
mod taken_back;
mod test_integrity;
mod test_mutation;
mod test_proof;
mod tools;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::base::error::chain;
use crate::command::sandbox::SANDBOX;
use crate::event::Exit;
use crate::request::InputError;
use style::{below, log_error};

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    if let Some(code) = child(std::env::args_os().skip(1)) {
        return ExitCode::from(code);
    }
    std::panic::set_hook(Box::new(|panic| {
        if shell::is_guarded() {
            return;
        }
        // The message may hold text from anywhere; the place is what a bug report needs.
        let place = panic.location().map_or_else(String::new, |place| format!(" at {place}"));
        tracing::error!("internal error{place}; please report it");
    }));
    match Program::try_parse() {
        Ok(program) => program.command.execute(),
        Err(error) => {
            // Help and version go to stdout and are no failure; clap's own code for errors means
            // "partial" here.
            let exit = if error.use_stderr() { Exit::Configuration } else { Exit::Success };
            let _ = error.print();
            exit
        }
    }
    .into()
}

/// Runs a hidden sub-command, by which this program starts children: not for people, so not in the help.
fn child(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    let first = arguments.next()?;
    #[cfg(target_os = "linux")]
    if first == crate::command::supervisor::SUPERVISE {
        let child_sandbox =
            arguments.next().and_then(|text| serde_json::from_slice(text.to_str()?.as_bytes()).ok());
        return Some(crate::command::supervisor::supervise(child_sandbox));
    }
    #[cfg(target_os = "linux")]
    if first == crate::command::sandbox::HOLD {
        return Some(crate::command::sandbox::hold());
    }
    if first == crate::web::page::PAGE {
        return Some(crate::web::page::execute(arguments.next()?.to_str()));
    }
    (first == SANDBOX).then(sandboxed::execute)
}

/// Runs an LLM agent on a checkout in CI: it plans, people review, and exactly the reviewed plan is applied
#[derive(Debug, Parser)]
#[command(
    name = NAME,
    version,
    styles = style::STYLES,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true,
    after_help = below(
        &[
            ("architect-ci run --task 'Fix the flaky test' --model openai::gpt-5.2", "Plans the changes, and makes none"),
            ("architect-ci apply out/plan.json", "Applies the reviewed plan"),
            ("architect-ci doctor", "Shows what this machine supports"),
        ],
        "`architect-ci COMMAND --help` describes a command in full.",
    ),
)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

/// The program's name.
const NAME: &str = "architect-ci";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::Run),
    Apply(apply::Apply),
    Write(apply::Write),
    Batch(batch::Batch),
    #[command(subcommand)]
    Campaign(campaign::Campaign),
    #[command(subcommand)]
    Recipe(recipe::Recipes),
    #[command(subcommand)]
    Report(report::Report),
    #[command(subcommand)]
    Sessions(sessions::Sessions),
    #[command(subcommand)]
    Config(config::Config),
    #[command(subcommand)]
    Tests(test_integrity::Tests),
    Costs(costs::Costs),
    Outcomes(outcomes::Outcomes),
    Doctor(doctor::Doctor),
    Explain(explain::Explain),
    Tools(tools::Tools),
    Schema(schema::Schema),
    Completions(manual::Completions),
    Manual(manual::Manual),
}

impl Command {
    fn execute(self) -> Exit {
        match self {
            Self::Run(run) => run.execute(),
            Self::Apply(apply) => apply.execute(),
            Self::Write(write) => write.execute(),
            Self::Batch(batch) => batch.execute(),
            Self::Campaign(campaign) => campaign.execute(),
            Self::Recipe(recipe) => recipe.execute(),
            Self::Report(report) => report.execute(),
            Self::Sessions(sessions) => sessions.execute(),
            Self::Config(config) => config.execute(),
            Self::Tests(tests) => tests.execute(),
            Self::Costs(costs) => costs.execute(),
            Self::Outcomes(outcomes) => outcomes.execute(),
            Self::Doctor(doctor) => doctor.execute(),
            Self::Explain(explain) => explain.execute(),
            Self::Tools(tools) => tools.execute(),
            Self::Schema(schema) => schema.execute(),
            Self::Completions(completions) => completions.execute(),
            Self::Manual(manual) => manual.execute(),
        }
    }
}

/// Parses a command line, whose first word is the program's name, without running it.
pub fn understands(words: &[String]) -> Result<(), clap::Error> {
    Program::try_parse_from(words).map(drop)
}

/// Prints what a command has found out, or its error. Returns the exit code of the program.
fn print_or_fail(text: Result<String, InputError>) -> Exit {
    match text {
        Ok(text) => {
            print(&text);
            Exit::Success
        }
        Err(error) => {
            log_error(&chain(&error));
            error.exit()
        }
    }
}

/// Writes to stdout; a reader that has gone away is no error.
fn print(text: &str) {
    use std::io::Write;
    let mut stdout = std::io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Program::command().debug_assert();
    }
}
