//! Confirmation of calls by a person at the terminal.

use std::io::{IsTerminal, Write};

use crate::event::RunMode;

/// Answer of the person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// The call runs.
    Yes,
    /// The call is skipped.
    No,
    /// The run ends.
    Abort,
}

/// Error if standard input is not a terminal, so that nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoTerminal;

/// Which calls have to be confirmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ConfirmPolicy {
    Never,
    Always,
    Sensitive,
}

impl ConfirmPolicy {
    pub(super) fn of(mode: RunMode) -> Self {
        match mode {
            RunMode::DryRun | RunMode::Yolo | RunMode::Apply => Self::Never,
            RunMode::ConfirmAll => Self::Always,
            RunMode::ConfirmSensitive => Self::Sensitive,
        }
    }

    pub(super) fn should_ask(self, sensitive: bool) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Sensitive => sensitive,
        }
    }
}

/// Shows the call and waits for `y`, `n` or `a`. Any other input repeats the question; the end of input
/// aborts.
pub(super) fn ask(call: &str) -> Result<Confirmation, NoTerminal> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(NoTerminal);
    }
    loop {
        let mut stderr = std::io::stderr();
        // A terminal that cannot be written to yields no answer either.
        let _ = write!(stderr, "Run {call}? [y]es, [n]o, [a]bort: ").and_then(|()| stderr.flush());
        let mut line = String::new();
        match stdin.read_line(&mut line) {
            Ok(0) | Err(_) => return Ok(Confirmation::Abort),
            Ok(_) => {}
        }
        match line.trim().to_lowercase().as_str() {
            "y" | "yes" => return Ok(Confirmation::Yes),
            "n" | "no" => return Ok(Confirmation::No),
            "a" | "abort" => return Ok(Confirmation::Abort),
            _ => {}
        }
    }
}
