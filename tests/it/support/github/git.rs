//! The repository behind the loopback GitHub: a bare one, asked and changed by `git`.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A bare repository.
pub struct Repository {
    path: PathBuf,
    /// Where it lies, if nobody else looks after that.
    dir: Option<TempDir>,
}

/// An entry of a tree.
pub struct Entry {
    pub mode: String,
    pub sha: String,
    pub path: String,
}

impl Repository {
    /// A bare clone with all branches of `source`, at `octo/demo.git` below its folder.
    pub fn of(source: &Path) -> Self {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::create_dir_all(dir.path().join("octo")).expect("a folder");
        let url = format!("file://{}", source.display());
        let path = dir.path().join("octo/demo.git");
        super::super::git(dir.path(), &["clone", "--quiet", "--bare", &url, path.to_str().unwrap()]);
        Self { path, dir: Some(dir) }
    }

    /// A new one without a commit.
    pub fn empty(path: PathBuf) -> Self {
        std::fs::create_dir_all(&path).expect("a folder");
        super::super::git(&path, &["init", "--quiet", "--bare", "--initial-branch=main"]);
        Self { path, dir: None }
    }

    pub fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Where `octo/demo.git` lies, as an address.
    pub fn server(&self) -> String {
        format!("file://{}", self.dir.as_ref().expect("a folder of its own").path().display())
    }

    fn run(&self, args: &[&str], input: &[u8], index: Option<&Path>) -> Option<Vec<u8>> {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.path()).args(args).env("LC_ALL", "C");
        for (name, value) in [("NAME", "GitHub"), ("EMAIL", "noreply@github.invalid")] {
            command.env(format!("GIT_AUTHOR_{name}"), value).env(format!("GIT_COMMITTER_{name}"), value);
        }
        if let Some(index) = index {
            command.env("GIT_INDEX_FILE", index);
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().expect("git runs");
        let mut stdin = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("git ends");
        writer.join().expect("written");
        output.status.success().then_some(output.stdout)
    }

    pub fn text(&self, args: &[&str]) -> Option<String> {
        self.run(args, b"", None).map(|output| String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    /// The commit that a name stands for.
    pub fn resolve(&self, name: &str) -> Option<String> {
        self.text(&["rev-parse", "--verify", "--quiet", &format!("{name}^{{commit}}")])
    }

    pub fn branch(&self, name: &str) -> Option<String> {
        self.resolve(&format!("refs/heads/{name}"))
    }

    pub fn tree_of(&self, commit: &str) -> String {
        self.text(&["rev-parse", &format!("{commit}^{{tree}}")]).expect("a commit")
    }

    pub fn parents(&self, commit: &str) -> Vec<String> {
        let line = self.text(&["rev-list", "--parents", "-n1", commit]).expect("a commit");
        line.split(' ').skip(1).map(str::to_owned).collect()
    }

    pub fn message(&self, commit: &str) -> String {
        self.text(&["log", "-n1", "--format=%B", commit]).expect("a commit")
    }

    /// Commits of `to` that `from` does not have, oldest first.
    pub fn between(&self, from: &str, to: &str) -> Vec<String> {
        let list = self.text(&["rev-list", "--reverse", &format!("{from}..{to}")]).expect("commits");
        list.lines().map(str::to_owned).collect()
    }

    /// The entries of a tree; if `deep`, with those of the folders in it.
    pub fn entries(&self, tree: &str, deep: bool) -> Vec<Entry> {
        let deep: &[&str] = if deep { &["-r", "-t"] } else { &[] };
        let listed = self.run(&[&["ls-tree", "-z"], deep, &[tree]].concat(), b"", None).expect("a tree");
        String::from_utf8_lossy(&listed)
            .split('\0')
            .filter_map(|line| {
                let (facts, path) = line.split_once('\t')?;
                let mut facts = facts.split(' ');
                let (mode, sha) = (facts.next()?.to_owned(), facts.nth(1)?.to_owned());
                Some(Entry { mode, sha, path: path.to_owned() })
            })
            .collect()
    }

    /// A file's content at a commit.
    pub fn show(&self, commit: &str, path: &str) -> Option<Vec<u8>> {
        self.run(&["cat-file", "blob", &format!("{commit}:{path}")], b"", None)
    }

    pub fn blob(&self, id: &str) -> Option<Vec<u8>> {
        self.run(&["cat-file", "blob", id], b"", None)
    }

    pub fn write_blob(&self, content: &[u8]) -> String {
        let sha = self.run(&["hash-object", "-w", "--stdin"], content, None).expect("a blob");
        String::from_utf8_lossy(&sha).trim().to_owned()
    }

    pub fn has(&self, object: &str) -> bool {
        self.run(&["cat-file", "-e", object], b"", None).is_some()
    }

    /// A tree with these entries changed; no blob is a deletion.
    pub fn write_tree(&self, base: Option<&str>, changes: &[(String, String, Option<String>)]) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let index = folder.path().join("index");
        self.run(&["read-tree", base.unwrap_or("--empty")], b"", Some(&index)).expect("a tree");
        let lines: String = changes
            .iter()
            .map(|(path, mode, sha)| match sha {
                Some(sha) => format!("{mode} {sha}\t{path}\0"),
                None => format!("0 {}\t{path}\0", "0".repeat(40)),
            })
            .collect();
        self.run(&["update-index", "-z", "--index-info"], lines.as_bytes(), Some(&index)).expect("entries");
        let tree = self.run(&["write-tree"], b"", Some(&index)).expect("a tree");
        String::from_utf8_lossy(&tree).trim().to_owned()
    }

    pub fn write_commit(&self, tree: &str, parents: &[String], message: &str) -> String {
        let mut args = vec!["commit-tree", tree];
        for parent in parents {
            args.extend(["-p", parent]);
        }
        let commit = self.run(&args, message.as_bytes(), None).expect("a commit");
        String::from_utf8_lossy(&commit).trim().to_owned()
    }

    pub fn set(&self, reference: &str, commit: &str) {
        self.text(&["update-ref", reference, commit]).expect("a ref");
    }

    pub fn delete(&self, reference: &str) {
        self.text(&["update-ref", "-d", reference]).expect("a ref");
    }

    pub fn is_ancestor(&self, old: &str, new: &str) -> bool {
        self.run(&["merge-base", "--is-ancestor", old, new], b"", None).is_some()
    }

    /// Commits files to a branch, as somebody else.
    pub fn push(&self, branch: &str, files: &[(&str, &str)], message: &str) -> String {
        let parent = self.branch(branch).expect("the branch is there");
        let changes: Vec<(String, String, Option<String>)> = files
            .iter()
            .map(|(path, text)| {
                ((*path).to_owned(), "100644".to_owned(), Some(self.write_blob(text.as_bytes())))
            })
            .collect();
        let tree = self.write_tree(Some(&parent), &changes);
        let commit = self.write_commit(&tree, &[parent], message);
        self.set(&format!("refs/heads/{branch}"), &commit);
        commit
    }

    /// The diff of a pull request by file: name, blob at the head, hunks.
    pub fn files(&self, base: &str, head: &str) -> Vec<(String, String, Option<String>)> {
        let range = format!("{base}...{head}");
        let names = self.text(&["diff", "--name-only", "--no-renames", &range]).expect("a diff");
        let of = |name: &str| {
            let sha = self.text(&["rev-parse", "--quiet", "--verify", &format!("{head}:{name}")]);
            let diff = self.text(&["diff", "--no-renames", &range, "--", name]).expect("a diff");
            let patch = diff.find("\n@@ ").map(|at| diff[at + 1..].to_owned());
            (name.to_owned(), sha.unwrap_or_else(|| "0".repeat(40)), patch)
        };
        names.lines().map(of).collect()
    }
}
