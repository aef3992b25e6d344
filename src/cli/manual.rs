//! `architect-ci completions` and `architect-ci manual`: shell completions and man pages, generated from the command line.

use std::path::PathBuf;

use clap::{CommandFactory, ValueEnum};
use clap_complete::{Shell, generate};

use super::style::{below, log_error};
use super::{NAME, Program, print};
use crate::event::Exit;

/// Print the completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        (
            "architect-ci completions bash > ~/.local/share/bash-completion/completions/architect-ci",
            "For bash, in every later shell",
        ),
        ("architect-ci completions fish > ~/.config/fish/completions/architect-ci.fish", "For fish"),
    ],
    "",
))]
pub(super) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    pub(super) fn execute(&self) -> Exit {
        print(&completions(self.shell));
        Exit::Success
    }
}

/// Returns the script that completes command lines of this program in a shell.
fn completions(shell: Shell) -> String {
    let mut text = Vec::new();
    generate(shell, &mut Program::command(), NAME, &mut text);
    let text = String::from_utf8_lossy(&text).into_owned();
    match shell {
        // clap_complete 4.6 takes the hyphen of a name for the border of a sub-command in one of two places, so that
        // no sub-command's flags would be completed.
        Shell::Bash => text.replace("architect__subcmd__ci", "architect__ci"),
        _ => text,
    }
}

/// Write the manual pages, and the completions for every shell, to a folder
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[("architect-ci manual ~/.local/share", "Then `man architect-ci-run` shows the page of a command")],
    "The pages are written to DIR/man/man1, the completions to DIR/completions.",
))]
pub(super) struct Manual {
    /// The folder
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
}

impl Manual {
    pub(super) fn execute(&self) -> Exit {
        match self.write() {
            Ok(()) => Exit::Success,
            Err(error) => {
                log_error(&format!("{}: {error}", self.folder.display()));
                Exit::Configuration
            }
        }
    }

    fn write(&self) -> std::io::Result<()> {
        let (pages, shells) = (self.folder.join("man/man1"), self.folder.join("completions"));
        std::fs::create_dir_all(&pages)?;
        std::fs::create_dir_all(&shells)?;
        clap_mangen::generate_to(Program::command(), pages)?;
        for shell in Shell::value_variants() {
            std::fs::write(shells.join(format!("{NAME}.{shell}")), completions(*shell))?;
        }
        Ok(())
    }
}
