//! Integrity seals: whatever a later start relies on is compared with a hash that no command of an agent could
//! have written. Output folders may lie where commands can write; the user's state folder does not, or is not used for this.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::env::{Variables, state_folder};
use super::fs::{create_folder, write_private};

/// Returns the user's state folder, if what it contains can be trusted. In a checkout, commands of an agent can write anything:
/// `HOME` is the checkout in some containers.
pub(crate) fn trusted_folder(variables: &Variables) -> Option<PathBuf> {
    let is_in_checkout = |folder: &PathBuf| folder.ancestors().any(|above| above.join(".git").exists());
    state_folder(variables).filter(|folder| !is_in_checkout(folder))
}

/// The path of an integrity seal; `None` if the user has no state folder that can be trusted.
pub(crate) struct Seal(Option<PathBuf>);

impl Seal {
    /// Returns the seal named `name`, such as `sessions/ID`. The name must be ours, because it becomes part
    /// of a path.
    pub(crate) fn new(variables: &Variables, name: &str) -> Self {
        Self(trusted_folder(variables).map(|state| state.join(name)))
    }

    /// Returns where the seal is, or would be.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// Seals a text. Without a state folder this does nothing, and [`Self::holds`] is false ever after.
    pub(crate) fn put(&self, text: &[u8]) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        create_folder(path.parent().unwrap_or(path))?;
        write_private(path, digest(text).as_bytes())
    }

    /// Returns whether a text is the one that was sealed.
    pub(crate) fn holds(&self, text: &[u8]) -> bool {
        let sealed = self.0.as_ref().and_then(|path| fs::read_to_string(path).ok());
        sealed.is_some_and(|sealed| sealed == digest(text))
    }

    /// Begins to seal a file that grows, which holds `text` so far.
    pub(crate) fn grow(&self, text: &[u8]) -> io::Result<Option<GrowingSeal>> {
        let Some(path) = &self.0 else { return Ok(None) };
        let folder = path.parent().unwrap_or(path);
        create_folder(folder)?;
        let first = tempfile::NamedTempFile::new_in(folder)?;
        let mut seal = GrowingSeal { hash: Sha256::new(), length: 0, file: first.reopen()? };
        seal.append(text)?;
        // An older seal is replaced at once, so that there is one at any time.
        first.persist(path).map_err(|error| error.error)?;
        Ok(Some(seal))
    }

    /// Returns the beginning of a file that was sealed as it grew; what was appended after the seal is left out. `None` if
    /// the file is not the one that was sealed.
    pub(crate) fn sealed_part<'a>(&self, text: &'a [u8]) -> Option<&'a [u8]> {
        let records = fs::read_to_string(self.0.as_ref()?).ok()?;
        // Earlier records would allow to cut off what came later. One without a line end was not written whole.
        let last = records.split_inclusive('\n').rfind(|record| record.ends_with('\n'))?;
        let (length, sealed) = last.trim_end().split_once(' ')?;
        let part = text.get(..length.parse().ok()?)?;
        (sealed == digest(part)).then_some(part)
    }

    /// Removes the seal, if it exists.
    pub(crate) fn remove(&self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Seal of a file that grows: a record for each state of it, the last of which counts.
pub(crate) struct GrowingSeal {
    hash: Sha256,
    length: u64,
    file: File,
}

impl GrowingSeal {
    /// Seals what was appended to the file.
    pub(crate) fn append(&mut self, text: &[u8]) -> io::Result<()> {
        self.hash.update(text);
        self.length += text.len() as u64;
        let record = format!("{} {}\n", self.length, hex::encode(self.hash.clone().finalize()));
        self.file.write_all(record.as_bytes())
    }
}

/// Writer that keeps nothing but the SHA-256 hash of what is written.
#[derive(Default)]
pub(crate) struct HashWriter(Sha256);

impl HashWriter {
    /// Returns the hash in hexadecimal digits.
    pub(crate) fn digest(self) -> String {
        hex::encode(self.0.finalize())
    }
}

impl Write for HashWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns the SHA-256 hash of `text` in hexadecimal digits.
pub(crate) fn digest(text: &[u8]) -> String {
    hex::encode(Sha256::digest(text))
}

/// Returns the first 16 hexadecimal digits of that, by which a text that nobody attacks is recognized.
pub(crate) fn short_digest(text: &str) -> String {
    hex::encode(&Sha256::digest(text)[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_is_sealed_up_to_its_last_state() {
        let folder = tempfile::tempdir().expect("a folder");
        let variables = [("XDG_STATE_HOME".to_owned(), folder.path().display().to_string())];
        let seal = Seal::new(&variables.into_iter().collect(), "sessions/x");
        assert_eq!(seal.sealed_part(b""), None);
        let mut growing = seal.grow(b"one\n").expect("sealed").expect("a state folder");
        growing.append(b"two\n").expect("sealed");
        let part = |text: &'static [u8]| seal.sealed_part(text);
        assert_eq!(part(b"one\ntwo\n"), Some(&b"one\ntwo\n"[..]));
        assert_eq!(part(b"one\ntwo\nthree"), Some(&b"one\ntwo\n"[..]));
        for other in [&b"one\n"[..], b"one\nTwo\n", b""] {
            assert_eq!(part(other), None);
        }
        // A record that was cut off does not count.
        growing.file.write_all(b"12 abc").expect("written");
        assert_eq!(part(b"one\ntwo\n"), Some(&b"one\ntwo\n"[..]));
        drop(seal.grow(b"new\n").expect("sealed"));
        assert_eq!(part(b"one\ntwo\n"), None);
        assert_eq!(part(b"new\n"), Some(&b"new\n"[..]));
    }

    #[cfg(unix)]
    #[test]
    fn no_seal_is_written_through_a_link() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let base = folder.path();
        let variables = [("XDG_STATE_HOME".to_owned(), base.display().to_string())].into_iter().collect();
        let (ours, victim) = (base.join("architect-ci/sessions"), base.join("victim"));
        fs::create_dir_all(&ours).expect("a folder");
        fs::write(&victim, "theirs").expect("a file");
        symlink(&victim, ours.join("x")).expect("a link");
        let seal = Seal::new(&variables, "sessions/x");
        seal.put(b"text").expect("sealed");
        assert!(seal.holds(b"text"));
        assert_eq!(fs::read(&victim).expect("a file"), b"theirs");
        let elsewhere = base.join("elsewhere");
        fs::create_dir(&elsewhere).expect("a folder");
        symlink(&elsewhere, base.join("architect-ci/held")).expect("a link");
        let seal = Seal::new(&variables, "held/x");
        seal.put(b"text").expect_err("a link");
        assert!(seal.grow(b"text").is_err());
        assert_eq!(fs::read_dir(&elsewhere).expect("a folder").count(), 0);
    }
}
