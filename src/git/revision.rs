//! Names of commits as people write them: `main`, `v1.2`, `HEAD~3`, `1a2b3c4`.

use gix_hash::ObjectId;

use super::{GitError, Repository};

/// Places where a name may stand for a reference, the first match counting.
const PLACES: [&str; 5] = ["", "refs/", "refs/tags/", "refs/heads/", "refs/remotes/"];

impl Repository {
    /// Returns the id of the commit that a revision names: a branch, a tag, `HEAD` or an id, which may be short, with
    /// `~N` and `^N` behind it.
    ///
    /// The checkout's references are read here; the rest is asked of the `git` program, which sees the objects alone.
    pub fn resolve(&self, revision: &str) -> Result<String, GitError> {
        let unknown = || GitError::Revision(revision.to_owned());
        let (name, steps) = revision.split_at(revision.find(['~', '^']).unwrap_or(revision.len()));
        if !steps.chars().all(|sign| matches!(sign, '~' | '^') || sign.is_ascii_digit()) {
            return Err(unknown());
        }
        let id = match name {
            "HEAD" | "@" => self.head(),
            _ => PLACES.iter().find_map(|place| self.reference(&format!("{place}{name}"))),
        };
        let id = id.unwrap_or_else(|| name.to_owned());
        let id = id.trim();
        let is_id = (4..=64).contains(&id.len()) && id.chars().all(|digit| digit.is_ascii_hexdigit());
        if !is_id {
            return Err(unknown());
        }
        let object = format!("{id}{steps}^{{commit}}");
        let found = self.ask(&["rev-parse", "--verify", "--quiet", "--end-of-options", &object], &[]);
        let text = String::from_utf8(found.map_err(|_| unknown())?).map_err(|_| unknown())?;
        let commit = ObjectId::from_hex(text.trim().as_bytes()).map_err(|_| unknown())?;
        Ok(commit.to_string())
    }
}
