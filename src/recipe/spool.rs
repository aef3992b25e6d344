//! Texts that wait to be written, on disk: those of thousands of files would take as much memory as the files.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use parking_lot::Mutex;

/// A file without a name, which is gone with the process.
#[derive(Default)]
pub(super) struct Spool(Mutex<Option<File>>);

/// A text in the spool.
pub(super) struct Spooled {
    at: u64,
    length: usize,
}

impl Spooled {
    /// Returns the length of the text in bytes.
    pub(super) fn length(&self) -> usize {
        self.length
    }
}

impl Spool {
    /// Puts a text behind the others.
    pub(super) fn put(&self, text: &str) -> io::Result<Spooled> {
        let mut slot = self.0.lock();
        if slot.is_none() {
            *slot = Some(tempfile::tempfile()?);
        }
        let Some(file) = slot.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
        let at = file.seek(SeekFrom::End(0))?;
        file.write_all(text.as_bytes())?;
        Ok(Spooled { at, length: text.len() })
    }

    /// Returns a text.
    pub(super) fn get(&self, spooled: &Spooled) -> io::Result<String> {
        let mut slot = self.0.lock();
        let Some(file) = slot.as_mut() else { return Err(io::ErrorKind::NotFound.into()) };
        file.seek(SeekFrom::Start(spooled.at))?;
        let mut text = vec![0; spooled.length];
        file.read_exact(&mut text)?;
        String::from_utf8(text).map_err(io::Error::other)
    }

    /// Removes all texts.
    pub(super) fn clear(&self) {
        *self.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_come_back_in_any_order() {
        let spool = Spool::default();
        let texts = ["one", "", "é\n", "three"];
        let spooled = texts.map(|text| spool.put(text).expect("a temporary file"));
        assert_eq!(spool.get(&spooled[2]).expect("a text"), "é\n");
        let again = spool.put("four").expect("a temporary file");
        for (text, spooled) in texts.iter().chain(["four"].iter()).zip(spooled.iter().chain([&again])) {
            assert_eq!((spool.get(spooled).expect("a text").as_str(), spooled.length()), (*text, text.len()));
        }
        spool.clear();
        assert!(spool.get(&again).is_err());
    }
}
