//! Integrity seals: whatever a later start obeys is compared with a hash that no command of an agent could
//! have written. Output folders may lie where commands can write; the user's state folder does not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::env::Variables;
use super::text::hex;

/// The path of an integrity seal; `None` if the user has no state folder.
pub(crate) struct Seal(Option<PathBuf>);

impl Seal {
    /// Returns the seal named `name`, such as `sessions/ID`. The name must be ours, because it becomes part
    /// of a path.
    pub(crate) fn new(variables: &Variables, name: &str) -> Self {
        let variable = |name: &str| variables.get(name).filter(|value| Path::new(value).is_absolute());
        let home = || variable("HOME").map(|home| Path::new(home).join(".local/state"));
        let state = variable("XDG_STATE_HOME").map(PathBuf::from).or_else(home);
        Self(state.map(|state| state.join("architect-ci").join(name)))
    }

    /// Seals a text. Without a state folder this does nothing, and [`Self::holds`] is false ever after.
    pub(crate) fn put(&self, text: &[u8]) -> io::Result<()> {
        let Some(path) = &self.0 else { return Ok(()) };
        fs::create_dir_all(path.parent().unwrap_or(path))?;
        fs::write(path, digest(text))
    }

    /// Returns whether a text is the one that was sealed.
    pub(crate) fn holds(&self, text: &[u8]) -> bool {
        let sealed = self.0.as_ref().and_then(|path| fs::read_to_string(path).ok());
        sealed.is_some_and(|sealed| sealed == digest(text))
    }

    /// Removes the seal, if it exists.
    pub(crate) fn remove(&self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_file(path);
        }
    }
}

/// Returns the SHA-256 hash of `text` in hexadecimal digits.
pub(crate) fn digest(text: &[u8]) -> String {
    hex(&Sha256::digest(text))
}
