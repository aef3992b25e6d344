//! The few things that the `git` program is asked for.
//!
//! It is called without hooks, file-system monitors, prompts or optional locks, so that asking
//! changes nothing and runs nothing of the checkout's.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::workspace::{FileState, Mode};

/// The commit that a plan stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    /// The full commit id.
    pub commit: String,
    /// The branch, or `None` when detached.
    pub branch: Option<String>,
    /// Whether tracked files differed from the commit before the run.
    pub dirty: bool,
}

/// A checkout that `git` is asked about.
#[derive(Clone, Copy, Debug)]
pub struct Git<'a> {
    root: &'a Path,
}

/// Why `git` gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program could not be started.
    #[error("git could not be started: {0}; install git or add it to PATH")]
    Start(#[from] std::io::Error),
    /// It ended with an error.
    #[error("git {command}: {message}")]
    Failed {
        /// The sub-command.
        command: String,
        /// What it printed on standard error.
        message: String,
    },
}

/// Where a push goes.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The repository's address.
    pub url: &'a str,
    /// The beginning of addresses that get the token.
    pub server: &'a str,
    /// The token.
    pub token: Option<&'a str>,
}

impl<'a> Git<'a> {
    /// Questions about the checkout at `root`.
    pub fn new(root: &'a Path) -> Self {
        Self { root }
    }

    /// The commit checked out, and nothing else about it.
    pub fn head(self) -> Option<String> {
        self.text(["rev-parse", "--verify", "--quiet", "HEAD"]).ok()
    }

    /// The commit checked out, or `None` outside of a repository or before the first commit.
    pub fn base(self) -> Option<Base> {
        let commit = self.head()?;
        let branch = self.text(["symbolic-ref", "--quiet", "--short", "HEAD"]).ok();
        let status = self.text(["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
        Some(Base { commit, branch, dirty: !status.is_empty() })
    }

    /// Whether the checkout is at a commit, or at a merge of it, as runners check out pull requests.
    pub fn stands_on(self, commit: &str) -> bool {
        let is =
            |name: &str| self.text(["rev-parse", "--verify", "--quiet", name]).is_ok_and(|id| id == commit);
        is("HEAD") || is("HEAD^2")
    }

    /// Whether the newest commit's message has this line; of a merge as runners make it, the commit that is
    /// merged.
    pub fn is_at_trailer(self, trailer: &str) -> bool {
        let has = |name: &str| {
            self.text(["log", "-n1", "--format=%B", name])
                .is_ok_and(|text| text.lines().any(|line| line == trailer))
        };
        has("HEAD") || has("HEAD^2")
    }

    /// How the commit checked out differs from another, a line a file; `None` where the clone does not have it.
    pub fn diff_stat(self, commit: &str) -> Option<String> {
        let commit = if commit.starts_with('-') { return None } else { commit };
        let stat =
            self.text(["diff", "--stat=100", "--no-ext-diff", "--no-textconv", commit, "HEAD", "--"]).ok()?;
        Some(stat.trim_end().to_owned()).filter(|stat| !stat.is_empty())
    }

    /// The way from the repository's root to the checkout: empty, or ending in `/`.
    pub fn prefix(self) -> String {
        self.text(["rev-parse", "--show-prefix"]).unwrap_or_default()
    }

    /// A file's content at a commit, its path relative to the checkout (which may be a folder of the
    /// repository); `Ok(None)` where the commit has no such file.
    pub fn show(self, commit: &str, path: &str) -> Result<Option<Vec<u8>>, GitError> {
        let listed = self.run(["ls-tree", "-z", commit, "--", path], &[])?;
        if listed.is_empty() {
            return Ok(None);
        }
        self.run(["cat-file", "blob", &format!("{commit}:./{path}")], &[]).map(Some)
    }

    /// Whether the commit is in the clone.
    pub fn has_commit(self, commit: &str) -> bool {
        self.run(["cat-file", "-e", &format!("{commit}^{{commit}}")], &[]).is_ok()
    }

    /// Fetches one commit without its history.
    pub fn fetch(self, commit: &str) -> Result<(), GitError> {
        self.run(["fetch", "--quiet", "--no-tags", "--depth=1", "origin", commit], &[]).map(drop)
    }

    /// Those of `paths` whose content on disk is what the index holds.
    pub fn same_as_index(self, paths: &[String]) -> Vec<String> {
        let plain: Vec<&String> = paths.iter().filter(|path| !path.contains('\n')).collect();
        let args = ["ls-files", "-s", "-z", "--"].into_iter().chain(plain.iter().map(|path| path.as_str()));
        let Ok(listed) = self.run(args, &[]) else { return Vec::new() };
        // Each entry: "<mode> <blob> <stage>\t<path>"
        let indexed: Vec<(String, String)> = String::from_utf8_lossy(&listed)
            .split('\0')
            .filter_map(|entry| {
                let (facts, path) = entry.split_once('\t')?;
                Some((path.to_owned(), facts.split(' ').nth(1)?.to_owned()))
            })
            .collect();
        let input: String = indexed.iter().map(|(path, _)| format!("{path}\n")).collect();
        let Ok(hashes) = self.run(["hash-object", "--stdin-paths"], input.as_bytes()) else {
            return Vec::new();
        };
        let hashes = String::from_utf8_lossy(&hashes).into_owned();
        let same = indexed.into_iter().zip(hashes.lines()).filter(|((_, blob), hash)| blob == hash);
        same.map(|((path, _), _)| path).collect()
    }

    /// Files that the index names.
    pub fn tracked(self) -> Result<Vec<String>, GitError> {
        let listed = self.run(["ls-files", "-z"], &[])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.filter_map(|name| String::from_utf8(name.to_vec()).ok()).collect())
    }

    /// Files whose content the index does not hold: changed, untracked (but not ignored) or both.
    pub fn not_in_index(self) -> Result<Vec<String>, GitError> {
        let listed = self.run(["ls-files", "-z", "-m", "-o", "--exclude-standard"], &[])?;
        let names = listed.split(|byte| *byte == 0).filter(|name| !name.is_empty());
        Ok(names.map(|name| String::from_utf8_lossy(name).into_owned()).collect())
    }

    /// Name, mode and content of those of `paths` that the index holds, as it holds them.
    pub fn indexed(self, paths: &[&str]) -> Result<Vec<(String, Mode, Vec<u8>)>, GitError> {
        let wanted: BTreeSet<&str> = paths.iter().copied().collect();
        // More than a command line holds are picked from the whole list.
        let named = if paths.len() > 500 { &[] } else { paths };
        let listed =
            self.run(["--literal-pathspecs", "ls-files", "-s", "-z", "--"].iter().chain(named), &[])?;
        // Each entry: "<mode> <blob> <stage>\t<path>"
        let entries: Vec<(String, Mode, String)> = String::from_utf8_lossy(&listed)
            .split('\0')
            .filter_map(|entry| {
                let (facts, path) = entry.split_once('\t').filter(|(_, path)| wanted.contains(path))?;
                let mut facts = facts.split(' ');
                let mode = match facts.next()? {
                    "100644" => Mode::Regular,
                    "100755" => Mode::Executable,
                    "120000" => Mode::Link,
                    _ => return None,
                };
                Some((path.to_owned(), mode, facts.next()?.to_owned()))
            })
            .collect();
        let input: String = entries.iter().map(|(_, _, blob)| format!("{blob}\n")).collect();
        let output = self.run(["cat-file", "--batch"], input.as_bytes())?;
        let mut rest = &output[..];
        let mut found = Vec::with_capacity(entries.len());
        for (path, mode, _) in entries {
            // "<blob> blob <size>\n<content>\n"
            let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { break };
            let size =
                std::str::from_utf8(&rest[..end]).ok().and_then(|line| line.rsplit(' ').next()?.parse().ok());
            let Some(size) = size.filter(|size: &usize| end + 1 + size < rest.len()) else { break };
            found.push((path, mode, rest[end + 1..end + 1 + size].to_vec()));
            rest = &rest[end + size + 2..];
        }
        Ok(found)
    }

    /// What checking a file out of the index gives, filters and all.
    pub fn checked_out(self, path: &str) -> Result<Vec<u8>, GitError> {
        self.run(["cat-file", "--filters", &format!(":./{path}")], &[])
    }

    /// Those of `paths` that Git keeps in another form than they have on disk, by a filter such as LFS.
    pub fn filtered(self, paths: &[&str]) -> Vec<String> {
        let input: String = paths.iter().map(|path| format!("{path}\0")).collect();
        let Ok(listed) = self.run(["check-attr", "-z", "--stdin", "filter"], input.as_bytes()) else {
            return Vec::new();
        };
        // Three for each: path, attribute, value.
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let fields: Vec<&str> = listed.split('\0').collect();
        let is_set = |entry: &&[&str]| !matches!(entry[2], "unspecified" | "unset");
        fields.chunks_exact(3).filter(is_set).map(|entry| entry[0].to_owned()).collect()
    }

    /// Makes a commit upon another without touching the checkout or its index; answers with its id. No
    /// content is a deletion.
    pub fn commit_upon(
        self,
        parent: &str,
        files: &[(String, Option<FileState>)],
        message: &str,
        author: (&str, &str),
    ) -> Result<String, GitError> {
        let folder = tempfile::tempdir()?;
        let index = folder.path().join("index");
        let (name, email) = author;
        let environment = [
            ("GIT_INDEX_FILE", index.as_os_str()),
            ("GIT_AUTHOR_NAME", name.as_ref()),
            ("GIT_AUTHOR_EMAIL", email.as_ref()),
            ("GIT_COMMITTER_NAME", name.as_ref()),
            ("GIT_COMMITTER_EMAIL", email.as_ref()),
        ];
        let text = |args: &[&str], input: &[u8]| {
            let output = self.run_with(args, input, &environment)?;
            Ok::<_, GitError>(String::from_utf8_lossy(&output).trim_end().to_owned())
        };
        text(&["read-tree", parent], b"")?;
        let mut entries = String::new();
        for (path, state) in files {
            match state {
                None => entries += &format!("0 {}\t{path}\0", "0".repeat(40)),
                Some(state) => {
                    let blob = text(&["hash-object", "-w", "--no-filters", "--stdin"], &state.content)?;
                    entries += &format!("{} {blob}\t{path}\0", state.mode);
                }
            }
        }
        text(&["update-index", "-z", "--index-info"], entries.as_bytes())?;
        let tree = text(&["write-tree"], b"")?;
        text(&["commit-tree", &tree, "-p", parent], message.as_bytes())
    }

    /// Files of a commit below the checkout, relative to it, with their sizes in bytes; sorted by path.
    pub fn files_of(self, commit: &str) -> Result<Vec<(String, u64)>, GitError> {
        let listed = self.run(["ls-tree", "-r", "-l", "-z", commit], &[])?;
        // Each entry: "<mode> <type> <id> <size>\t<path>"
        let entry = |entry: &[u8]| {
            let text = std::str::from_utf8(entry).ok()?;
            let (facts, path) = text.split_once('\t')?;
            let mut facts = facts.split_whitespace();
            let is_file = facts.next()?.starts_with("100");
            let size = facts.nth(2)?.parse().ok()?;
            is_file.then(|| (path.to_owned(), size))
        };
        let mut files: Vec<(String, u64)> = listed.split(|byte| *byte == 0).filter_map(entry).collect();
        files.sort_unstable();
        Ok(files)
    }

    /// Makes a worktree at a commit, on no branch, without files.
    pub fn add_worktree(self, path: &Path, commit: &str) -> Result<(), GitError> {
        let args = ["worktree", "add", "--quiet", "--detach", "--force", "--no-checkout"].map(OsStr::new);
        self.run(args.into_iter().chain([path.as_os_str(), OsStr::new(commit)]), &[]).map(drop)
    }

    /// Writes all files of the commit that is checked out, whatever is there.
    pub fn fill(self) -> Result<(), GitError> {
        self.run(["reset", "--quiet", "--hard"], &[]).map(drop)
    }

    /// Removes a worktree, whatever was changed in it.
    pub fn remove_worktree(self, path: &Path) -> Result<(), GitError> {
        // Twice, so that a lock does not keep it.
        let args = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
        self.run(args.into_iter().chain([path.as_os_str()]), &[]).map(drop)
    }

    /// Forgets worktrees that are not there any more.
    pub fn prune_worktrees(self) -> Result<(), GitError> {
        self.run(["worktree", "prune"], &[]).map(drop)
    }

    /// Pushes a commit to a branch. `expected` is what the branch has to be, if it may be moved back.
    pub fn push(
        self,
        place: Place<'_>,
        commit: &str,
        branch: &str,
        expected: Option<&str>,
    ) -> Result<(), GitError> {
        let lease = expected.map(|expected| format!("--force-with-lease=refs/heads/{branch}:{expected}"));
        let target = format!("{commit}:refs/heads/{branch}");
        let args = ["push", "--quiet", "--no-verify"]
            .into_iter()
            .chain(lease.as_deref())
            .chain([place.url, &target]);
        self.remotely(place, args)
    }

    /// Fetches one commit without its history, as somebody whom the checkout does not know.
    pub fn fetch_from(self, place: Place<'_>, commit: &str) -> Result<(), GitError> {
        self.remotely(place, ["fetch", "--quiet", "--no-tags", "--depth=1", place.url, commit])
    }

    fn remotely<'s>(self, place: Place<'_>, args: impl IntoIterator<Item = &'s str>) -> Result<(), GitError> {
        // By the environment, which others cannot read as they can arguments; an empty value first takes
        // away what the checkout has kept, since two headers are refused.
        let header = place.token.map(|token| {
            use base64::Engine;
            let pair = base64::engine::general_purpose::STANDARD.encode(format!("x-access-token:{token}"));
            format!("AUTHORIZATION: basic {pair}")
        });
        let key = format!("http.{}/.extraheader", place.server);
        let mut environment: Vec<(&str, &OsStr)> = Vec::new();
        if let Some(header) = &header {
            environment.extend([
                ("GIT_CONFIG_COUNT", OsStr::new("2")),
                ("GIT_CONFIG_KEY_0", OsStr::new(&key)),
                ("GIT_CONFIG_VALUE_0", OsStr::new("")),
                ("GIT_CONFIG_KEY_1", OsStr::new(&key)),
                ("GIT_CONFIG_VALUE_1", OsStr::new(header)),
            ]);
        }
        self.run_with(args, &[], &environment).map(drop)
    }

    fn text<const N: usize>(self, args: [&str; N]) -> Result<String, GitError> {
        let output = self.run(args, &[])?;
        Ok(String::from_utf8_lossy(&output).trim_end().to_owned())
    }

    fn run<S: AsRef<OsStr>>(
        self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        self.run_with(args, input, &[])
    }

    fn run_with<S: AsRef<OsStr>>(
        self,
        args: impl IntoIterator<Item = S>,
        input: &[u8],
        environment: &[(&str, &OsStr)],
    ) -> Result<Vec<u8>, GitError> {
        let mut command = Command::new("git");
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("GIT_")) {
                command.env_remove(name);
            }
        }
        let mut safe = std::ffi::OsString::from("safe.directory=");
        safe.push(self.root);
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            .envs(environment.iter().copied())
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c"])
            .arg(safe)
            .arg("-C")
            .arg(self.root);
        let args: Vec<S> = args.into_iter().collect();
        command.args(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let stdin = child.stdin.take();
        // Written beside reading: both pipes may fill.
        let output = std::thread::scope(|scope| {
            scope.spawn(|| {
                if let Some(mut stdin) = stdin {
                    // git closes its input early when it fails; its status tells.
                    let _ = stdin.write_all(input);
                }
            });
            child.wait_with_output()
        })?;
        if output.status.success() {
            return Ok(output.stdout);
        }
        Err(GitError::Failed {
            command: args.first().map_or(String::new(), |arg| arg.as_ref().to_string_lossy().into_owned()),
            message: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}
