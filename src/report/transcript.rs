//! Writes the transcript, line by line, as things happen.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::NamedTempFile;

use super::masked::{Format, masked_json};
use crate::event::{Line, Observer};
use crate::sanitize::Masker;

/// An open transcript.
pub struct TranscriptWriter {
    file: Mutex<File>,
    masker: Arc<Masker>,
}

impl TranscriptWriter {
    /// Creates the file at `path`, with what happened before; one that is there stays until this one is complete.
    pub fn create<'a>(
        path: &Path,
        masker: Arc<Masker>,
        past: impl Iterator<Item = &'a Line>,
    ) -> io::Result<Self> {
        // In place of whatever lies there, never through a link; other users of the machine cannot read it.
        let mut fresh = NamedTempFile::new_in(path.parent().unwrap_or(path))?;
        for line in past {
            // It was masked when it was written.
            let mut text = serde_json::to_vec(line)?;
            text.push(b'\n');
            fresh.write_all(&text)?;
        }
        let file = fresh.persist(path).map_err(|error| error.error)?;
        // Whoever finds the file sees that it is being written; where that cannot be, nobody does.
        let _ = file.try_lock();
        Ok(Self { file: Mutex::new(file), masker })
    }
}

impl Observer for TranscriptWriter {
    fn observe(&self, line: &Line) {
        // What cannot be masked is not written.
        let Ok(masked) = masked_json(line, Format::Transcript, &self.masker) else { return };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end the run; the other reports will tell.
        let _ = writeln!(file, "{masked}");
    }
}
