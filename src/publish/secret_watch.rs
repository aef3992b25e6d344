//! Search for secrets in what is written, piece by piece.

use std::io::{self, Write};

use sanitize::Masker;

use crate::base::time_limit::{Grace, TimeLimit};

/// Size of the pieces that are searched, in bytes.
const PIECE: usize = 256 * 1024;

/// Most bytes that a byte of a secret takes in a text, in any spelling that is looked for, and least number of bytes before a
/// piece that are searched with it.
const SPELLED: usize = 16;
const MIN_OVERLAP: usize = 4 * 1024;

/// Reason why something was not written.
pub(super) enum Unwritten {
    /// It holds a secret.
    Secret,
    /// There was no time to search it.
    TimeUp,
    /// It could not be written.
    Failed(io::Error),
}

impl From<io::Error> for Unwritten {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::TimedOut { Self::TimeUp } else { Self::Failed(error) }
    }
}

/// Search of what is written for secrets, as long as there is time.
#[derive(Clone, Copy)]
pub(super) struct SecretSearch<'a> {
    pub(super) masker: &'a Masker,
    pub(super) time_limit: &'a TimeLimit,
}

/// Writer that notices secrets.
pub(super) struct SecretWatch<'a, W> {
    to: W,
    search: SecretSearch<'a>,
    /// What is still to be searched, after what has been written already.
    text: Vec<u8>,
    written: usize,
    /// Number of bytes before a piece that are searched with it: no secret takes more.
    overlap: usize,
    is_found: bool,
}

impl<'a, W: Write> SecretWatch<'a, W> {
    pub(super) fn new(to: W, search: SecretSearch<'a>) -> Self {
        let longest = search.masker.secrets().iter().map(String::len).max().unwrap_or_default();
        let overlap = MIN_OVERLAP.max(SPELLED * longest);
        Self { to, search, text: Vec::new(), written: 0, overlap, is_found: false }
    }

    /// Writes what is left. Returns whether there was a secret.
    pub(super) fn end(mut self) -> io::Result<bool> {
        self.search()?;
        Ok(self.is_found)
    }

    fn search(&mut self) -> io::Result<()> {
        if self.search.time_limit.is_over(Grace::Report) {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.is_found |= self.search.masker.knows_of(&self.text);
        self.to.write_all(&self.text[self.written..])?;
        self.text.drain(..self.text.len().saturating_sub(self.overlap));
        self.written = self.text.len();
        Ok(())
    }
}

impl<W: Write> Write for SecretWatch<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend(bytes);
        if self.text.len() - self.written >= PIECE {
            self.search()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant};

    use super::*;

    fn search(masker: &Masker) -> SecretSearch<'_> {
        static UNLIMITED: LazyLock<TimeLimit> = LazyLock::new(TimeLimit::default);
        SecretSearch { masker, time_limit: &UNLIMITED }
    }

    #[test]
    fn long_secrets_are_found_in_any_spelling() {
        let secret: String = (0..9_000_u32).filter_map(|n| char::from_u32(33 + n * n % 89)).collect();
        let masker = Masker::new([secret.as_str()]);
        let spelled: String = secret.chars().map(|c| format!("\\\\u{:04x}", u32::from(c))).collect();
        for before in [PIECE - 10, PIECE - spelled.len() + 1] {
            let mut watch = SecretWatch::new(io::sink(), search(&masker));
            for piece in ["x".repeat(before), spelled.clone(), "x".repeat(PIECE)] {
                piece
                    .as_bytes()
                    .chunks(500)
                    .for_each(|some| watch.write_all(some).expect("a sink takes everything"));
            }
            assert!(watch.end().expect("a sink takes everything"), "{before}");
        }
    }

    #[test]
    fn secrets_are_found_wherever_they_stand() {
        let masker = Masker::new(["hunter2hunter2"]);
        for at in [0, PIECE - 7, PIECE, 2 * PIECE - 1, 3 * PIECE - 14] {
            let mut text = vec![b'x'; 3 * PIECE];
            text[at..at + 14].copy_from_slice(b"hunter2hunter2");
            for size in [1_000, PIECE, 4 * PIECE] {
                let mut written = Vec::new();
                let mut watch = SecretWatch::new(&mut written, search(&masker));
                text.chunks(size).for_each(|piece| watch.write_all(piece).expect("memory takes everything"));
                assert!(watch.end().expect("memory takes everything"), "{at} {size}");
                assert_eq!(written, text);
            }
        }
        let watch = SecretWatch::new(Vec::new(), search(&masker));
        assert!(!watch.end().expect("memory takes everything"));
    }

    #[test]
    fn nothing_is_written_that_there_is_no_time_to_search() {
        let masker = Masker::new(["hunter2hunter2"]);
        let time_limit = TimeLimit::new(Instant::now().checked_sub(Duration::from_mins(1)));
        let mut written = Vec::new();
        let mut watch =
            SecretWatch::new(&mut written, SecretSearch { masker: &masker, time_limit: &time_limit });
        watch.write_all(b"text").expect("it is kept");
        assert!(matches!(watch.end().map_err(Unwritten::from), Err(Unwritten::TimeUp)));
        assert!(written.is_empty());
    }
}
