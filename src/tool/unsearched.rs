//! Files that a search has left out, because its pattern takes too long there.

use std::fmt::{self, Display, Formatter};

use crate::base::text::{counted, grouped};

/// Maximum number of lines that are named of each file.
const MAX_LINES: usize = 5;
/// Maximum number of files that are named.
const MAX_FILES: usize = 10;

/// Lines of a file that were not searched.
#[derive(Default)]
pub(super) struct UnsearchedLines {
    /// The first of the single ones, and how many there are.
    first: Vec<u64>,
    count: usize,
    /// The line from which on no line was searched.
    from: Option<u64>,
}

impl UnsearchedLines {
    /// Adds a line.
    pub(super) fn add(&mut self, line: u64) {
        self.count += 1;
        if self.first.len() < MAX_LINES {
            self.first.push(line);
        }
    }

    /// Adds all lines from one on.
    pub(super) fn add_from(&mut self, line: u64) {
        self.from = Some(line);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0 && self.from.is_none()
    }
}

impl Display for UnsearchedLines {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if !self.first.is_empty() {
            let lines: Vec<String> = self.first.iter().map(ToString::to_string).collect();
            write!(f, " line{} {}", if self.count == 1 { "" } else { "s" }, lines.join(", "))?;
            if self.count > lines.len() {
                write!(f, " and {} more", grouped(self.count - lines.len()))?;
            }
        }
        match self.from {
            Some(line) if line > 1 && self.first.is_empty() => write!(f, " from line {line}"),
            Some(line) if line > 1 => write!(f, " and from line {line}"),
            _ => Ok(()),
        }
    }
}

/// Files that were not searched, or not all of their lines.
#[derive(Default)]
pub(super) struct Unsearched(Vec<(String, UnsearchedLines)>);

impl Unsearched {
    /// Adds the lines of a file, if there are any.
    pub(super) fn add(&mut self, file: &str, lines: UnsearchedLines) {
        if !lines.is_empty() {
            self.0.push((file.to_owned(), lines));
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Display for Unsearched {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let named: Vec<String> =
            self.0.iter().take(MAX_FILES).map(|(file, lines)| format!("{file}{lines}")).collect();
        let more = self.0.len() - named.len();
        let more =
            if more > 0 { format!("; and {}", counted(more, "more file", "s")) } else { String::new() };
        writeln!(
            f,
            "(not searched, because the pattern takes too long there: {}{more}. Search without look-around and backreferences, or fewer files)",
            named.join("; ")
        )
    }
}
