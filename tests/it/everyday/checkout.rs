//! Copies of the projects, and what is in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;

/// A folder with a checkout in it, away from the system's temporary folder, as on a runner.
pub struct Checkout {
    dir: TempDir,
}

/// What a path of a checkout is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File { executable: bool, content: Vec<u8> },
    Link(PathBuf),
}

/// All files of a checkout that Git would not ignore.
pub type Tree = BTreeMap<String, Entry>;

/// How one tree became another.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Effects {
    pub created: BTreeSet<String>,
    pub changed: BTreeSet<String>,
    pub removed: BTreeSet<String>,
}

impl Checkout {
    /// Makes an empty folder to work in.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a temporary folder");
        fs::create_dir(dir.path().join("repo")).expect("a folder");
        Self { dir }
    }

    /// Makes a copy of another checkout, ignored files and `.git` included.
    pub fn copy_of(other: &Self) -> Self {
        let copy = Self::empty();
        copy_folder(&other.repo(), &copy.repo());
        copy
    }

    /// Makes a repository with one commit that holds a folder's files and what the lines prepare.
    pub fn of_project(project: &Path, prepare: &[String]) -> Self {
        let checkout = Self::empty();
        copy_folder(project, &checkout.repo());
        fs::write(checkout.repo().join(".architect.yml"), "dry_run: { commands: isolated }\n")
            .expect("a file");
        for line in prepare {
            let output = checkout.bash(line);
            assert!(output.status.success(), "`{line}`: {}", String::from_utf8_lossy(&output.stderr));
        }
        checkout.commit();
        checkout
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn repo(&self) -> PathBuf {
        self.dir.path().join("repo")
    }

    pub fn commit(&self) {
        self.git(&["init", "--quiet", "--initial-branch=main"]);
        self.git(&["add", "--all"]);
        self.git(&[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@localhost",
            "commit",
            "--quiet",
            "--message",
            "before",
        ]);
    }

    fn git(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.command("git").args(arguments).output().expect("git runs");
        assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    }

    /// Returns a command in the checkout with the environment of a job: nothing is set but what every runner has.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.repo()).env_clear().stdin(Stdio::null());
        for name in ["PATH", "HOME", "LLVM_PROFILE_FILE"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.env("CI", "true").env("XDG_STATE_HOME", self.path().join("state"));
        command
    }

    pub fn bash(&self, line: &str) -> Output {
        let merged = format!("exec 2>&1\n{line}");
        self.command("bash").args(["-c", &merged]).output().expect("bash runs")
    }

    /// Returns all files that Git would not ignore, and `.git` left out.
    pub fn tree(&self) -> Tree {
        let listed = self.git(&["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        names
            .map(|name| String::from_utf8(name.to_vec()).expect("a name in UTF-8"))
            .filter_map(|name| Some((name.clone(), entry(&self.repo().join(name))?)))
            .collect()
    }

    /// Returns the folders without files outside of Git's own and of `build`, whose files Git ignores.
    pub fn folders_without_files(&self) -> BTreeSet<PathBuf> {
        let mut folders = BTreeSet::new();
        let mut waiting = vec![self.repo()];
        while let Some(folder) = waiting.pop() {
            let entries: Vec<fs::DirEntry> = fs::read_dir(&folder).expect("a folder").flatten().collect();
            let (inner, files): (Vec<_>, Vec<_>) =
                entries.iter().partition(|entry| entry.file_type().expect("a kind").is_dir());
            let is_own =
                |entry: &&&fs::DirEntry| [".git", "build"].iter().all(|name| entry.file_name() != *name);
            waiting.extend(inner.iter().filter(is_own).map(|entry| entry.path()));
            if files.is_empty() {
                folders.insert(folder.strip_prefix(self.repo()).expect("a folder of it").to_owned());
            }
        }
        folders
    }

    /// Returns what commits, branches, index and configuration are, to see that no command changed them.
    pub fn repository(&self) -> Vec<u8> {
        let mut state = self.git(&["for-each-ref"]);
        state.extend(self.git(&["ls-files", "--stage"]));
        for file in ["HEAD", "config"] {
            state.extend(fs::read(self.repo().join(".git").join(file)).expect("a file of Git"));
        }
        state
    }
}

impl Effects {
    pub fn between(before: &Tree, after: &Tree) -> Self {
        let only = |one: &Tree, other: &Tree| {
            one.keys().filter(|name| !other.contains_key(*name)).cloned().collect()
        };
        Self {
            created: only(after, before),
            removed: only(before, after),
            changed: before
                .iter()
                .filter(|(name, entry)| after.get(*name).is_some_and(|now| now != *entry))
                .map(|(name, _)| name.clone())
                .collect(),
        }
    }

    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

fn entry(path: &Path) -> Option<Entry> {
    let metadata = fs::symlink_metadata(path).ok()?;
    if metadata.is_symlink() {
        return Some(Entry::Link(fs::read_link(path).expect("a link")));
    }
    let executable = metadata.permissions().mode() & 0o100 != 0;
    // A nested repository is listed as a folder.
    metadata.is_file().then(|| Entry::File { executable, content: fs::read(path).expect("a file") })
}

fn copy_folder(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-a").arg(from.join(".")).arg(to).status().expect("cp runs");
    assert!(status.success(), "{} could not be copied", from.display());
}
