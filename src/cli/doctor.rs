//! `architect-ci doctor`: what this machine offers, and what is missing for a run.

use std::process::Command as Process;

use clap::Command;

use super::print;
use crate::command::sandbox::{Offered, offered};
use crate::exit::Exit;
use crate::github::Environment;
use crate::inputs::variables;

pub(super) const NAME: &str = "doctor";

pub(super) fn command() -> Command {
    Command::new(NAME).about("Check programs, sandbox and GitHub environment")
}

pub(super) fn execute() -> Exit {
    let checks =
        [sandbox(), signals_and_network(), program("git"), program("bash"), program("patch"), github()];
    let text: String = checks
        .into_iter()
        .chain(docker())
        .collect::<Vec<_>>()
        .iter()
        .map(|check| format!("{} {:<10} {}\n", if check.good { '✓' } else { '!' }, check.name, check.says))
        .collect();
    print(&text);
    // What is missing here need not be missed by a run.
    Exit::Success
}

struct Check {
    name: &'static str,
    good: bool,
    says: String,
}

fn sandbox() -> Check {
    let Offered { files, .. } = offered();
    let says = if files {
        "active: commands, hooks and gates write only to the workspace, the temporary folder and build caches (Landlock)"
    } else {
        "not available: this kernel has no Landlock; commands, hooks and gates run without walls, \
         and `commands.sandbox: required` refuses to run"
    };
    Check { name: "sandbox", good: files, says: says.to_owned() }
}

fn signals_and_network() -> Check {
    let Offered { network, signals, .. } = offered();
    let word = |has: bool| if has { "yes" } else { "no" };
    let says = format!(
        "`commands.network: deny` can be kept: {}; signals stay inside: {}",
        word(network),
        word(signals)
    );
    Check { name: "walls", good: network && signals, says }
}

/// A daemon that acts for root and listens to this user: walls around files do not reach it.
#[cfg(unix)]
fn docker() -> Option<Check> {
    use rustix::fs::{Access, access};
    const SOCKET: &str = "/var/run/docker.sock";
    let says = format!(
        "{SOCKET} can be used by commands, and by it the whole machine; \
         where tasks come from strangers, take it away: sudo chmod 600 {SOCKET}"
    );
    access(SOCKET, Access::WRITE_OK).is_ok().then_some(Check { name: "docker", good: false, says })
}

#[cfg(not(unix))]
fn docker() -> Option<Check> {
    None
}

fn program(name: &'static str) -> Check {
    let output = Process::new(name).arg("--version").output();
    let version = output
        .ok()
        .filter(|output| output.status.success())
        .map(|output| String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned());
    let good = version.is_some();
    Check { name, good, says: version.unwrap_or_else(|| "not found in PATH".to_owned()) }
}

fn github() -> Check {
    let (good, says) = match Environment::read(&variables(), None) {
        Ok(Some(github)) => {
            let token = if github.token.is_some() { "a token" } else { "no token: no comment can be posted" };
            (
                github.token.is_some(),
                format!("{}/{}, event {}, {token}", github.owner, github.repository, github.event),
            )
        }
        Ok(None) => (true, "not on GitHub".to_owned()),
        Err(error) => (false, error.to_string()),
    };
    Check { name: "github", good, says }
}
