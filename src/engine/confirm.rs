//! Asks a person, where there is one.

use std::io::{IsTerminal, Write};

use crate::event::RunMode;

/// What a person answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Confirmation {
    /// Run it.
    Yes,
    /// Skip this call.
    No,
    /// End the run.
    Abort,
}

/// Why nobody was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NoTerminal;

/// When to ask.
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

/// Shows the call and reads `y`, `n` or `a`; anything else asks again, the end of input aborts.
pub(super) fn ask(call: &str) -> Result<Confirmation, NoTerminal> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() {
        return Err(NoTerminal);
    }
    loop {
        let mut stderr = std::io::stderr();
        // A terminal that cannot be written to will not be answered at either.
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
