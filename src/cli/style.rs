//! Colours of the program on a terminal. All of it is written through `anstream`, which removes styles if there is no
//! terminal, or if `NO_COLOR` is set.

use std::fmt::Write as _;
use std::io::Write as _;

use anstyle::{AnsiColor, Style};
use clap::builder::{StyledStr, Styles};

use crate::report::painted;

const HEADER: Style = AnsiColor::BrightGreen.on_default().bold();
const LITERAL: Style = AnsiColor::BrightCyan.on_default().bold();

/// The styles of help and errors, the same as those of Cargo.
pub(super) const STYLES: Styles = Styles::styled()
    .header(HEADER)
    .usage(HEADER)
    .literal(LITERAL)
    .placeholder(AnsiColor::Cyan.on_default())
    .error(AnsiColor::BrightRed.on_default().bold())
    .valid(LITERAL)
    .invalid(AnsiColor::Yellow.on_default().bold());

/// Returns the text below the options in a help: examples with descriptions, and remarks.
pub(super) fn below(examples: &[(&str, &str)], remarks: &str) -> StyledStr {
    let mut text = format!("{HEADER}Examples:{HEADER:#}");
    for (command, does) in examples {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n  {LITERAL}{command}{LITERAL:#}\n          {does}");
    }
    if !remarks.is_empty() {
        let _ = write!(text, "\n\n{remarks}");
    }
    text.into()
}

/// Writes lines that may begin with a mark (`✓`, `!`, `✗`) to stdout; a reader that has gone away is no error.
pub(super) fn print_painted(text: &str) {
    let mut stdout = anstream::stdout().lock();
    let _ = stdout.write_all(painted(text).as_bytes()).and_then(|()| stdout.flush());
}

/// Writes such lines to stderr.
pub(super) fn log_painted(text: &str) {
    let _ = anstream::stderr().lock().write_all(painted(text).as_bytes());
}

/// Writes an error to stderr.
pub(super) fn log_error(text: &str) {
    let style = STYLES.get_error();
    let _ = writeln!(anstream::stderr().lock(), "{style}error:{style:#} {text}");
}
