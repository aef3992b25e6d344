//! The file of a ledger: opened only if it is a file, locked only while somebody can wait, and read line by line.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use time::format_description::well_known::Rfc3339;
use time::{OffsetDateTime, UtcOffset};

use super::ledger_entry::LedgerEntry;
use super::ledger_error::LedgerError;
use crate::base::file_locks::FileLocks;
use crate::base::fs::open_regular;

/// Maximum length of a line, in bytes: many times that of an entry.
const MAX_LINE: u64 = 64 * 1024;

/// What a ledger is opened for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Access {
    Read,
    /// It is created if it does not exist.
    Append,
}

/// Opens a ledger.
pub(super) fn open(path: &Path, access: Access) -> io::Result<File> {
    let mut options = OpenOptions::new();
    match access {
        Access::Read => options.read(true),
        Access::Append => options.create(true).read(true).append(true),
    };
    open_regular(path, &mut options)
}

/// Reads all entries of a ledger.
pub fn read_ledger(path: &Path) -> Result<Vec<LedgerEntry>, LedgerError> {
    let io = |error| LedgerError::Io { path: path.to_owned(), error };
    let file = open(path, Access::Read).map_err(io)?;
    FileLocks::default().lock_shared(&file).map_err(io)?;
    entries(path, BufReader::new(file), 0).collect()
}

/// Reads all entries of a text; `path` is named in errors.
pub fn parse_ledger(path: &Path, text: &str) -> Result<Vec<LedgerEntry>, LedgerError> {
    entries(path, text.as_bytes(), 0).collect()
}

/// Returns the entries of a ledger, of which `before` lines have been read already.
pub(super) fn entries(
    path: &Path,
    mut lines: impl BufRead,
    before: usize,
) -> impl Iterator<Item = Result<LedgerEntry, LedgerError>> {
    let numbers = before + 1..;
    let read = numbers.map_while(move |number| {
        let mut line = Vec::new();
        let read = lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        read.map(|count| (count > 0).then_some((number, line))).transpose()
    });
    read.filter_map(move |read| {
        let io = |error| LedgerError::Io { path: path.to_owned(), error };
        read.map_err(io).and_then(|(number, line)| entry(path, number, &line)).transpose()
    })
}

/// Returns the entry of a line; `None` if the line is blank.
fn entry(path: &Path, number: usize, line: &[u8]) -> Result<Option<LedgerEntry>, LedgerError> {
    let invalid = |error| LedgerError::Invalid { path: path.to_owned(), line: number, error };
    let custom = |message: &str| invalid(serde::de::Error::custom(message));
    if line.trim_ascii().is_empty() {
        return Ok(None);
    }
    if line.len() as u64 == MAX_LINE {
        return Err(custom("it is too long"));
    }
    let entry: LedgerEntry = serde_json::from_slice(line).map_err(invalid)?;
    let at = in_utc(&entry.at);
    match at {
        Some(at) if entry.usd.is_none_or(|usd| usd.is_finite() && usd >= 0.0) => {
            Ok(Some(LedgerEntry { at, ..entry }))
        }
        _ => Err(custom("its time or amount is invalid")),
    }
}

/// Returns a time in UTC, in which days and months are counted.
fn in_utc(at: &str) -> Option<String> {
    let at = OffsetDateTime::parse(at, &Rfc3339).ok()?;
    at.checked_to_offset(UtcOffset::UTC)?.format(&Rfc3339).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_in_utc_and_only_if_they_are_entries() {
        let read = |text: &str| parse_ledger(Path::new("costs.jsonl"), text);
        let line = |at: &str| format!(r#"{{"at": "{at}", "usd": 1, "input": 1, "output": 1, "model": "m"}}"#);
        for (at, expected) in [
            ("2026-11-25T23:00:00-05:00", "2026-11-26T04:00:00Z"),
            ("2026-12-01t00:30:00+01:00", "2026-11-30T23:30:00Z"),
            ("2026-11-26T00:00:00Z", "2026-11-26T00:00:00Z"),
        ] {
            let entries = read(&format!("\r\n\n{}\r\n", line(at))).expect("an entry");
            assert_eq!(entries.iter().map(|entry| entry.at.as_str()).collect::<Vec<_>>(), [expected]);
        }
        for (text, expected) in [
            (
                format!("{}\n{}", line("2026-11-26T00:00:00Z"), line("soon")),
                "line 2: its time or amount is invalid",
            ),
            ("x".repeat(1_000_000), "line 1: it is too long"),
        ] {
            let error = read(&text).expect_err("no ledger").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
