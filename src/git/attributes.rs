//! Git attributes: which files Git stores in another form than they have on disk.

use super::Repository;

impl Repository {
    /// Returns those of `paths` that have a `filter` attribute, such as Git LFS; none if Git cannot be asked.
    /// The filter itself is not run.
    pub fn filtered(&self, paths: &[&str]) -> Vec<String> {
        let input: String = paths.iter().map(|path| format!("{path}\0")).collect();
        let Ok(listed) = self.ask(&["check-attr", "-z", "--stdin", "filter"], input.as_bytes()) else {
            return Vec::new();
        };
        // Three fields for each path: path, attribute, value.
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let fields: Vec<&str> = listed.split('\0').collect();
        let is_set = |entry: &&[&str]| !matches!(entry[2], "unspecified" | "unset");
        fields.chunks_exact(3).filter(is_set).map(|entry| entry[0].to_owned()).collect()
    }
}
