//! Spool: keeps the contents of many files, the first of them in memory and the rest on disk, so that a run over thousands of files
//! takes little more memory than one over some dozen.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Size of the contents that are kept in memory, in bytes.
const IN_MEMORY: usize = 2 * 1024 * 1024;

/// A place for contents. What goes to disk is in a file without a name, which is gone with the process.
#[derive(Debug, Default)]
pub struct Spool {
    /// Number of bytes in memory.
    used: AtomicUsize,
    file: Mutex<Option<Arc<Mutex<File>>>>,
}

/// A content that was put into a spool.
#[derive(Clone, Debug)]
pub struct Spooled(Place);

#[derive(Clone, Debug)]
enum Place {
    Memory(Arc<[u8]>),
    Disk { file: Arc<Mutex<File>>, at: u64, length: usize },
}

impl Spool {
    /// Puts a content behind the others. Where it cannot be written to disk, it stays in memory.
    pub fn put(&self, content: &[u8]) -> Spooled {
        let before = self.used.fetch_add(content.len(), Ordering::Relaxed);
        let place = if before < IN_MEMORY { None } else { self.written(content).ok() };
        Spooled(place.unwrap_or_else(|| Place::Memory(content.into())))
    }

    fn written(&self, content: &[u8]) -> io::Result<Place> {
        let mut slot = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let shared = match &*slot {
            Some(file) => Arc::clone(file),
            None => Arc::clone(slot.insert(Arc::new(Mutex::new(tempfile::tempfile()?)))),
        };
        drop(slot);
        let mut file = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let at = file.seek(SeekFrom::End(0))?;
        file.write_all(content)?;
        drop(file);
        Ok(Place::Disk { file: shared, at, length: content.len() })
    }
}

impl Spooled {
    /// Returns the content.
    pub fn get(&self) -> io::Result<Arc<[u8]>> {
        match &self.0 {
            Place::Memory(content) => Ok(Arc::clone(content)),
            Place::Disk { file, at, length } => {
                let mut content = vec![0; *length];
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                file.seek(SeekFrom::Start(*at))?;
                file.read_exact(&mut content)?;
                Ok(content.into())
            }
        }
    }

    /// Returns the length of the content in bytes.
    pub fn length(&self) -> usize {
        match &self.0 {
            Place::Memory(content) => content.len(),
            Place::Disk { length, .. } => *length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_come_back_in_any_order_from_memory_and_disk() {
        let spool = Spool::default();
        let contents: Vec<Vec<u8>> =
            [0, 7, IN_MEMORY, 3, 0, 100_000].iter().zip(1..).map(|(size, byte)| vec![byte; *size]).collect();
        let spooled: Vec<Spooled> = contents.iter().map(|content| spool.put(content)).collect();
        let is_on_disk = |spooled: &Spooled| matches!(spooled.0, Place::Disk { .. });
        assert_eq!(
            spooled.iter().map(is_on_disk).collect::<Vec<_>>(),
            [false, false, false, true, true, true]
        );
        drop(spool);
        for (spooled, content) in spooled.iter().zip(&contents).rev() {
            assert_eq!(spooled.length(), content.len());
            assert!(*spooled.get().expect("a content") == **content);
        }
    }
}
