//! The index: which files Git tracks, with which content, and how the files on disk differ from it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use gix_hash::ObjectId;
use gix_object::Kind;
use workspace::Mode;

use super::private::PrivateRepository;
use super::program::Call;
use super::{GitError, Repository};

/// The mode and blob of one file in the index.
struct Indexed {
    mode: Mode,
    id: ObjectId,
}

/// Files that differ from the commit that is checked out, relative to the repository's root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LocalChanges {
    /// Tracked files.
    pub tracked: Vec<String>,
    /// Untracked files that are not ignored, and folders with nothing else in them.
    pub untracked: Vec<String>,
}

impl Repository {
    /// Runs `git` in a private repository with the clone's `HEAD` and index. Returns its standard output.
    pub(super) fn ask(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let private = PrivateRepository::new(&self.held)?;
        if let Some(head) = self.head() {
            fs::write(private.path().join("HEAD"), head + "\n")?;
        }
        let index = self.held.git_dir.path()?.join("index");
        let call = Call {
            git_dir: private.path(),
            root: self.root(),
            folder: &self.folder,
            variables: vec![(OsString::from("GIT_INDEX_FILE"), index.into())],
            input,
            writable: vec![private.path().to_owned()],
            network: false,
            limit: None,
        };
        call.run(args)
    }

    /// Returns whether tracked files differ from the commit that is checked out.
    pub(super) fn is_dirty(&self) -> Result<bool, GitError> {
        let status = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"];
        Ok(!self.ask(&status, &[])?.is_empty())
    }

    /// Returns how the files on disk differ from the commit that is checked out.
    pub fn local_changes(&self) -> Result<LocalChanges, GitError> {
        let status = ["status", "--porcelain", "-z", "--no-renames", "--ignore-submodules=all"];
        let mut changes = LocalChanges::default();
        for entry in self.listed(&status)? {
            match entry.split_at_checked(3) {
                Some(("?? ", path)) => changes.untracked.push(path.to_owned()),
                Some((_, path)) => changes.tracked.push(path.to_owned()),
                None => {}
            }
        }
        Ok(changes)
    }

    /// Returns `git diff --stat` from `commit` to `HEAD`; `None` if the clone lacks the commit, or if nothing
    /// differs.
    pub fn diff_stat(&self, commit: &str) -> Option<String> {
        let commit = ObjectId::from_hex(commit.as_bytes()).ok()?.to_string();
        let args = ["diff", "--stat=100", "--text", "--no-ext-diff", "--no-textconv", &commit, "HEAD", "--"];
        let stat = String::from_utf8_lossy(&self.ask(&args, &[]).ok()?).trim_end().to_owned();
        Some(stat).filter(|stat| !stat.is_empty())
    }

    /// Returns the commit at which `HEAD` left `base`.
    pub fn merge_base(&self, base: &str) -> Result<String, GitError> {
        self.common_ancestor(base, "HEAD")
    }

    /// Returns the best common ancestor of two commits, which may be one of them.
    pub fn common_ancestor(&self, one: &str, other: &str) -> Result<String, GitError> {
        let asked = ["merge-base", "--end-of-options", one, other];
        Ok(String::from_utf8_lossy(&self.ask(&asked, &[])?).trim().to_owned())
    }

    /// Lists the files that differ between `HEAD` and the commit at which it left `base`, relative to the repository's root.
    /// What is not UTF-8 in a name is replaced.
    pub fn changed_between(&self, base: &str) -> Result<Vec<String>, GitError> {
        let base = ObjectId::from_hex(base.as_bytes()).map_err(|_| GitError::Missing(base.to_owned()))?;
        let range = format!("{base}...HEAD");
        // Which commits submodules are at stands in the trees; no repository of theirs is opened.
        let diff =
            ["diff", "--name-only", "-z", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none"];
        let listed = self.ask(&[&diff[..], &[&range, "--"]].concat(), &[])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Returns the diff of files from a commit to `HEAD`, or `None` if it cannot be made. All are shown as text: attributes of
    /// the checkout, which say otherwise, are the author's. With `...` behind it, the commit
    /// stands for the one at which `HEAD` left it.
    pub fn diff_to_head(&self, commit: &str, files: &[&str]) -> Option<String> {
        let id = ObjectId::from_hex(commit.trim_end_matches('.').as_bytes()).ok()?;
        let range = if commit.ends_with("...") { format!("{id}...HEAD") } else { format!("{id}..HEAD") };
        if files.is_empty() {
            return Some(String::new());
        }
        let top: Vec<String> = files.iter().map(|file| format!(":(top,literal){file}")).collect();
        let options = [
            "diff",
            "-M",
            "--text",
            "--no-ext-diff",
            "--no-textconv",
            "--ignore-submodules=none",
            "--submodule=short",
            &range,
            "--",
        ];
        let args: Vec<&str> = options.into_iter().chain(top.iter().map(String::as_str)).collect();
        Some(String::from_utf8_lossy(&self.ask(&args, &[]).ok()?).into_owned())
    }

    /// Returns the names that some of `files` had at a commit and do not have at `HEAD`; see [`Self::diff_to_head`] for how a
    /// commit is written. Without them, a diff shows a file that has moved as a new one.
    pub fn names_before(&self, commit: &str, files: &[&str]) -> Result<Vec<String>, GitError> {
        let id = ObjectId::from_hex(commit.trim_end_matches('.').as_bytes());
        let id = id.map_err(|_| GitError::Missing(commit.to_owned()))?;
        let range = if commit.ends_with("...") { format!("{id}...HEAD") } else { format!("{id}..HEAD") };
        let options =
            ["diff", "-M", "--name-status", "--diff-filter=R", "-z", "--no-ext-diff", "--no-textconv"];
        let renamed = self.listed(&[&options[..], &[&range, "--"]].concat())?;
        // A letter with a percentage, the name before, and the name now.
        let pairs = renamed.chunks_exact(3);
        Ok(pairs.filter(|pair| files.contains(&pair[2].as_str())).map(|pair| pair[1].clone()).collect())
    }

    /// Returns those of `paths` (relative to the folder) whose content on disk equals that in the index; none
    /// if the index cannot be read.
    pub fn same_as_index(&self, paths: &[String]) -> Vec<String> {
        let names: Vec<&str> = paths.iter().map(String::as_str).collect();
        let Ok(indexed) = self.entries(&names) else { return Vec::new() };
        let is_same = |path: &String| {
            let entry = indexed.get(path)?;
            let full = self.folder.join(path);
            let content = if fs::symlink_metadata(&full).ok()?.is_symlink() {
                fs::read_link(&full).ok()?.into_os_string().into_encoded_bytes()
            } else {
                fs::read(&full).ok()?
            };
            gix_object::compute_hash(self.held.hash, Kind::Blob, &content).ok().filter(|id| *id == entry.id)
        };
        paths.iter().filter(|path| is_same(path).is_some()).cloned().collect()
    }

    /// Lists files whose content is not in the index, relative to the folder: changed ones, and untracked
    /// ones that are not ignored.
    pub fn not_in_index(&self) -> Result<Vec<String>, GitError> {
        self.listed(&["ls-files", "-z", "-m", "-o", "--exclude-standard"])
    }

    /// Lists the tracked files below the folder that differ on disk from those of a commit, relative to the folder. Files
    /// that only the commit has are among them.
    pub fn changed_since(&self, commit: &str) -> Result<Vec<String>, GitError> {
        Ok(utf8_names(&self.diff_names(commit)?))
    }

    /// Lists the same files whose names are not UTF-8, with signs in place of what is not. No other list has them.
    pub fn changed_without_utf8_name(&self, commit: &str) -> Result<Vec<String>, GitError> {
        let listed = self.diff_names(commit)?;
        let names = listed.split(|byte| *byte == 0).filter(|name| std::str::from_utf8(name).is_err());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    fn diff_names(&self, commit: &str) -> Result<Vec<u8>, GitError> {
        let commit = ObjectId::from_hex(commit.as_bytes())
            .map_err(|_| GitError::Missing(commit.to_owned()))?
            .to_string();
        let diff =
            ["diff", "--name-only", "--relative", "-z", "--no-renames", "--no-ext-diff", "--no-textconv"];
        self.ask(&[&diff[..], &["--ignore-submodules=all", &commit, "--"]].concat(), &[])
    }

    /// Lists the tracked files below the folder, relative to it.
    pub fn tracked(&self) -> Result<Vec<String>, GitError> {
        self.listed(&["ls-files", "-z"])
    }

    fn listed(&self, args: &[&str]) -> Result<Vec<String>, GitError> {
        Ok(utf8_names(&self.ask(args, &[])?))
    }

    /// Returns the path, mode, and content of those of `paths` that the index contains, with the index's
    /// content.
    pub fn indexed(&self, paths: &[&str]) -> Result<Vec<(String, Mode, Vec<u8>)>, GitError> {
        let entries = self.entries(paths)?;
        entries
            .into_iter()
            .map(|(path, Indexed { mode, id })| Ok((path, mode, self.object(&id, Kind::Blob)?)))
            .collect()
    }

    fn entries(&self, paths: &[&str]) -> Result<BTreeMap<String, Indexed>, GitError> {
        let wanted: std::collections::BTreeSet<&str> = paths.iter().copied().collect();
        // Longer lists do not fit on a command line, so the entries are picked from the whole index.
        let named = if paths.len() > 500 { &[] } else { paths };
        let args: Vec<&str> =
            ["--literal-pathspecs", "ls-files", "-s", "-z", "--"].iter().chain(named).copied().collect();
        let listed = self.ask(&args, &[])?;
        // Each entry: "<mode> <blob> <stage>\t<path>"
        let entry = |entry: &str| {
            let (facts, path) = entry.split_once('\t').filter(|(_, path)| wanted.contains(path))?;
            let mut facts = facts.split(' ');
            let mode = match facts.next()? {
                "100644" => Mode::Regular,
                "100755" => Mode::Executable,
                "120000" => Mode::Link,
                _ => return None,
            };
            let id = ObjectId::from_hex(facts.next()?.as_bytes()).ok()?;
            Some((path.to_owned(), Indexed { mode, id }))
        };
        Ok(String::from_utf8_lossy(&listed).split('\0').filter_map(entry).collect())
    }
}

/// Returns the names of a list whose items end with NUL.
fn utf8_names(listed: &[u8]) -> Vec<String> {
    let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect()
}
