//! Table of the places that the recipes of a batch changed: those of its tasks, one below the other.

use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use sanitize::csv;
use tempfile::NamedTempFile;

use super::output_files::MATCHES;
use crate::base::fs::open_file;
use crate::report::BatchReport;

/// Folder of all tasks' files.
const TASKS: &str = "tasks";

/// Maximum size of the table, in bytes.
const MAX_BYTES: usize = 64 * 1024 * 1024;

/// Writes the table, if a task has one. A row of a task is a line, so that they are copied as they are.
pub(super) fn write(report: &BatchReport, out: &Path) -> io::Result<()> {
    // In place of whatever lies there: a link of the checkout, where `out` is inside of it, is not followed.
    let mut table: Option<BufWriter<NamedTempFile>> = None;
    let mut size = 0;
    for task in &report.tasks {
        // Commands of tasks may be able to write there, and to plant what is not a file of ours.
        let Ok(rows) = open_file(&out.join(TASKS).join(&task.id).join(MATCHES)) else { continue };
        let cell = csv::row(&[&task.id]);
        let rows = BufReader::new(rows.take(MAX_BYTES as u64)).split(b'\n');
        for (number, row) in rows.enumerate() {
            let row = String::from_utf8_lossy(&row?).trim_end_matches('\r').to_owned();
            let first = if number == 0 { "\"task\"" } else { cell.trim_end() };
            if number == 0 && table.is_some() {
                continue;
            }
            let file = match &mut table {
                Some(file) => file,
                None => table.insert(BufWriter::new(NamedTempFile::new_in(out)?)),
            };
            size += first.len() + row.len();
            if size > MAX_BYTES {
                file.write_all(csv::row(&["… more: each task has its own table"]).as_bytes())?;
                return keep(table, out);
            }
            write!(file, "{first},{row}\r\n")?;
        }
    }
    keep(table, out)
}

fn keep(table: Option<BufWriter<NamedTempFile>>, out: &Path) -> io::Result<()> {
    let Some(table) = table else { return Ok(()) };
    let file = table.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.persist(out.join(MATCHES)).map(drop).map_err(|error| error.error)
}
