//! The index: what Git would check out, and what differs from it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;

use gix_hash::ObjectId;
use gix_object::Kind;

use super::private::Private;
use super::program::Call;
use super::{GitError, Repository};
use crate::workspace::Mode;

/// What the index says of one file.
struct Indexed {
    mode: Mode,
    id: ObjectId,
}

impl Repository {
    /// Runs the program on a private repository with the clone's index.
    pub(super) fn ask(&self, args: &[&str], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let private = Private::new(&self.held)?;
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
        };
        call.run(args)
    }

    /// Tells whether tracked files differ from the commit that is checked out.
    pub(super) fn is_dirty(&self) -> Result<bool, GitError> {
        let status = ["status", "--porcelain", "--untracked-files=no", "--ignore-submodules=all"];
        Ok(!self.ask(&status, &[])?.is_empty())
    }

    /// Tells how the commit checked out differs from another, a line a file; `None` where the clone lacks it.
    pub fn diff_stat(&self, commit: &str) -> Option<String> {
        let commit = ObjectId::from_hex(commit.as_bytes()).ok()?.to_string();
        let args = ["diff", "--stat=100", "--no-ext-diff", "--no-textconv", &commit, "HEAD", "--"];
        let stat = String::from_utf8_lossy(&self.ask(&args, &[]).ok()?).trim_end().to_owned();
        Some(stat).filter(|stat| !stat.is_empty())
    }

    /// Returns those of `paths` whose content on disk is what the index holds.
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

    /// Lists files whose content the index does not hold: changed, untracked (but not ignored) or both.
    pub fn not_in_index(&self) -> Result<Vec<String>, GitError> {
        self.listed(&["ls-files", "-z", "-m", "-o", "--exclude-standard"])
    }

    /// Lists the files that the index names, relative to the checkout.
    pub fn tracked(&self) -> Result<Vec<String>, GitError> {
        self.listed(&["ls-files", "-z"])
    }

    fn listed(&self, args: &[&str]) -> Result<Vec<String>, GitError> {
        let listed = self.ask(args, &[])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
    }

    /// Returns name, mode and content of those of `paths` that the index holds, as it holds them.
    pub fn indexed(&self, paths: &[&str]) -> Result<Vec<(String, Mode, Vec<u8>)>, GitError> {
        let entries = self.entries(paths)?;
        entries
            .into_iter()
            .map(|(path, Indexed { mode, id })| Ok((path, mode, self.object(&id, Kind::Blob)?)))
            .collect()
    }

    fn entries(&self, paths: &[&str]) -> Result<BTreeMap<String, Indexed>, GitError> {
        let wanted: std::collections::BTreeSet<&str> = paths.iter().copied().collect();
        // More than a command line holds are picked from the whole list.
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
