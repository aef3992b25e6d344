//! Earlier changes of a file: the commits that touched it, with everything else that they touched.

use gix_hash::ObjectId;

use super::{GitError, Repository};

/// A commit, and what it changed compared with its first parent.
#[derive(Debug)]
pub struct EarlierChange {
    /// The commit.
    pub commit: String,
    /// Its first parent.
    pub parent: String,
    /// The paths of the files that it changed, from the repository's root.
    pub paths: Vec<String>,
}

impl Repository {
    /// Returns the last commits up to `commit` that changed a file, the newest first, as far as the clone has them. Only first parents
    /// are followed, so that a merge counts as the change that it brought. `path` begins at the repository's root.
    pub fn earlier_changes(
        &self,
        commit: &str,
        path: &str,
        most: usize,
    ) -> Result<Vec<EarlierChange>, GitError> {
        let id = ObjectId::from_hex(commit.as_bytes()).map_err(|_| GitError::Missing(commit.to_owned()))?;
        let (id, count) = (id.to_string(), format!("--max-count={most}"));
        let path = format!(":(top,literal){path}");
        let options = [
            "log",
            "--first-parent",
            "-m",
            "--full-diff",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--name-only",
            "-z",
            "--format=%x01%H %P%x01",
        ];
        let log =
            self.ask(&[&options[..], &[count.as_str(), id.as_str(), "--", path.as_str()]].concat(), &[])?;
        let log = String::from_utf8_lossy(&log);
        // What stands before the first commit is empty; behind it, heads and lists of paths take turns.
        let parts: Vec<&str> = log.split('\u{1}').skip(1).collect();
        let change = |pair: &[&str]| {
            let mut ids = pair[0].split(' ').map(str::to_owned);
            let paths = pair[1].split(['\0', '\n']).filter(|path| !path.is_empty()).map(str::to_owned);
            Some(EarlierChange {
                commit: ids.next()?,
                parent: ids.next().filter(|id| !id.is_empty())?,
                paths: paths.collect(),
            })
        };
        Ok(parts.chunks_exact(2).filter_map(change).collect())
    }
}
