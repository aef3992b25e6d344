//! Writes the transcript, line by line, as things happen.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use super::secrets::Masker;
use crate::event::{Line, Observer};

/// An open transcript.
pub struct TranscriptWriter {
    file: Mutex<File>,
    masker: Arc<Masker>,
}

impl TranscriptWriter {
    /// Creates the file at `path`.
    pub fn create(path: &Path, masker: Arc<Masker>) -> io::Result<Self> {
        let file = File::create(path)?;
        // Whoever finds the file sees that it is being written; where that cannot be, nobody does.
        let _ = file.try_lock();
        Ok(Self { file: Mutex::new(file), masker })
    }
}

impl Observer for TranscriptWriter {
    fn observe(&self, line: &Line) {
        let Ok(text) = serde_json::to_string(line) else { return };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // A full disk must not end the run; the other reports will tell.
        let _ = writeln!(file, "{}", self.masker.mask(&text));
    }
}
