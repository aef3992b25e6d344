//! Transcript writer: appends each event to the transcript as it happens.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use sanitize::Masker;
use tempfile::NamedTempFile;

use super::masked::{Format, masked_json};
use crate::base::integrity::{GrowingSeal, Seal};
use crate::event::{Line, Observer};

/// An open transcript, which is written to as events arrive.
pub struct TranscriptWriter {
    open: Mutex<Open>,
    masker: Arc<Masker>,
}

struct Open {
    file: File,
    seal: Option<GrowingSeal>,
}

impl TranscriptWriter {
    /// Creates the transcript at `path`, beginning with the lines of `past`. An existing file is replaced
    /// only when the new one holds these lines. With a `seal`, everything in it is sealed.
    pub(crate) fn create<'a>(
        path: &Path,
        masker: Arc<Masker>,
        past: impl Iterator<Item = &'a Line>,
        seal: Option<&Seal>,
    ) -> io::Result<Self> {
        // Replaces whatever lies there instead of following a link; other users of the machine cannot read
        // the new file.
        let mut fresh = NamedTempFile::new_in(path.parent().unwrap_or(path))?;
        let mut text = Vec::new();
        for line in past {
            // These lines were masked when they were written.
            serde_json::to_writer(&mut text, line)?;
            text.push(b'\n');
        }
        fresh.write_all(&text)?;
        // Without a seal the run works all the same, but cannot be resumed.
        let seal = seal.and_then(|seal| seal.grow(&text).ok().flatten());
        let file = fresh.persist(path).map_err(|error| error.error)?;
        // The lock shows others that the file is being written; without support for locks, nobody sees it.
        let _ = file.try_lock();
        Ok(Self { open: Mutex::new(Open { file, seal }), masker })
    }
}

impl Observer for TranscriptWriter {
    fn observe(&self, line: &Line) {
        // What cannot be masked is not written.
        let Ok(masked) = masked_json(line, Format::Transcript, &self.masker) else { return };
        // Not by `Display`, which goes through the formatter for each piece of a text without escapes.
        let Ok(mut line) = serde_json::to_vec(&masked) else { return };
        line.push(b'\n');
        let mut open = self.open.lock();
        // A full disk must not end the run; the other reports will show it.
        let _ = open.file.write_all(&line);
        if let Some(seal) = &mut open.seal {
            let _ = seal.append(&line);
        }
    }
}
