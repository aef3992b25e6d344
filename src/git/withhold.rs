//! Restricted view of the clone, for processes that must not see some of its files: the index skips those
//! files, and the object store lacks the contents that they ever had.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use super::private::Private;
use super::program::Call;
use super::{GitError, Repository};

impl Repository {
    /// Writes an `index` that skips withheld entries, and `objects` without any content they ever had, to the
    /// folder `to`, which is then laid over the clone's Git folder. `is_withheld` gets paths relative to the
    /// checkout. Returns whether `objects` was written; it is not needed if no withheld content is in the
    /// history.
    pub fn withhold(&self, is_withheld: &dyn Fn(&str) -> bool, to: &Path) -> Result<bool, GitError> {
        let private = Private::new(&self.held)?;
        let names = self.tracked()?;
        let entries: Vec<&String> = names.iter().filter(|name| is_withheld(name)).collect();
        if !entries.is_empty() {
            fs::create_dir_all(to)?;
            fs::copy(self.held.git_dir.path()?.join("index"), to.join("index"))?;
            let input: String = entries.iter().map(|name| format!("{name}\0")).collect();
            let folder = &self.folder;
            let index = Some(to.join("index"));
            let args = ["update-index", "--skip-worktree", "-z", "--stdin"];
            let writable = vec![private.path().to_owned(), to.to_owned()];
            self.call(&private, folder, index, input.as_bytes(), writable).run(args)?;
        }
        let listed = self.reachable(&private)?;
        let prefix = self.prefix();
        let withheld: HashSet<&str> = listed
            .iter()
            .filter(|(_, path)| is_withheld(path.strip_prefix(&prefix).unwrap_or(path)))
            .map(|(id, _)| id.as_str())
            .collect();
        let withheld = self.blobs(&private, &withheld)?;
        if withheld.is_empty() {
            return Ok(false);
        }
        let kept = listed.iter().filter(|(id, _)| !withheld.contains(id.as_str()));
        let input: String = kept.map(|(id, path)| format!("{id} {path}\n")).collect();
        let pack = private.objects().join("pack");
        fs::create_dir_all(&pack)?;
        let base = pack.join("pack");
        let args: [OsString; 3] = ["pack-objects".into(), "--quiet".into(), base.into_os_string()];
        self.call(&private, self.root(), None, input.as_bytes(), vec![private.path().to_owned()])
            .run(args)?;
        fs::create_dir_all(to.join("objects/pack"))?;
        fs::create_dir_all(to.join("objects/info"))?;
        for file in fs::read_dir(&pack)?.flatten() {
            fs::copy(file.path(), to.join("objects/pack").join(file.file_name()))?;
        }
        Ok(true)
    }

    fn call<'a>(
        &'a self,
        private: &'a Private,
        folder: &'a Path,
        index: Option<std::path::PathBuf>,
        input: &'a [u8],
        writable: Vec<std::path::PathBuf>,
    ) -> Call<'a> {
        let variables = index.map(|index| (OsString::from("GIT_INDEX_FILE"), index.into_os_string()));
        let root = self.root();
        let variables = variables.into_iter().collect();
        Call { git_dir: private.path(), root, folder, variables, input, writable, network: false }
    }

    /// Lists the ids of all objects that are reachable from a reference, each with one path at which it
    /// occurs (empty for commits).
    fn reachable(&self, private: &Private) -> Result<Vec<(String, String)>, GitError> {
        let tips = self.tips()?;
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let input: String = tips.iter().map(|tip| format!("{tip}\n")).collect();
        let args = ["-c", "core.quotePath=false", "rev-list", "--objects", "--missing=allow-any", "--stdin"];
        let call = self.call(private, self.root(), None, input.as_bytes(), vec![private.path().to_owned()]);
        let listed = call.run(args)?;
        let entry = |line: &str| {
            let (id, path) = line.split_once(' ').unwrap_or((line, ""));
            (!id.is_empty()).then(|| (id.to_owned(), path.to_owned()))
        };
        Ok(String::from_utf8_lossy(&listed).lines().filter_map(entry).collect())
    }

    /// Returns those of `ids` that are blobs.
    fn blobs(&self, private: &Private, ids: &HashSet<&str>) -> Result<HashSet<String>, GitError> {
        if ids.is_empty() {
            return Ok(HashSet::new());
        }
        let input: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let call = self.call(private, self.root(), None, input.as_bytes(), vec![private.path().to_owned()]);
        let listed = call.run(["cat-file", "--batch-check"])?;
        // "<id> <type> <size>"
        let blob = |line: &str| {
            line.split_once(' ').filter(|(_, rest)| rest.starts_with("blob")).map(|(id, _)| id.to_owned())
        };
        Ok(String::from_utf8_lossy(&listed).lines().filter_map(blob).collect())
    }

    /// Lists the ids in references and reflogs of every kind, as far as the clone contains the objects;
    /// sorted.
    fn tips(&self) -> Result<Vec<String>, GitError> {
        let mut tips = HashSet::new();
        let mut read = |text: &str| {
            let ids = text.split_whitespace().filter(|word| is_id(word));
            tips.extend(ids.map(str::to_owned));
        };
        let (own, common) = (self.held.git_dir.path()?, self.held.common.path()?);
        for name in ["HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "packed-refs"] {
            for folder in [own, common] {
                read(&fs::read_to_string(folder.join(name)).unwrap_or_default());
            }
        }
        for folder in [own.join("refs"), common.join("refs"), own.join("logs"), common.join("logs")] {
            for file in ignore::WalkBuilder::new(folder).standard_filters(false).build().flatten() {
                if file.file_type().is_some_and(|kind| kind.is_file()) {
                    read(&fs::read_to_string(file.path()).unwrap_or_default());
                }
            }
        }
        tips.retain(|tip| tip.chars().any(|digit| digit != '0'));
        let mut there: Vec<String> = tips.into_iter().filter(|tip| self.has_object(tip)).collect();
        there.sort_unstable();
        Ok(there)
    }
}

/// Returns whether a word has the form of a full object id.
fn is_id(word: &str) -> bool {
    matches!(word.len(), 40 | 64) && word.chars().all(|digit| digit.is_ascii_hexdigit())
}
