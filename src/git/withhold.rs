//! A view of the clone for those who must not see some of its files: neither the index nor any commit has them, and the
//! objects that hold what they ever were are not there.

use std::collections::HashSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use gix_hash::ObjectId;

use super::history::Rewritten;
use super::private::PrivateRepository;
use super::program::Call;
use super::{GitError, Repository, is_object_id};

/// References that stand next to the others.
const HEADS: [&str; 5] = ["HEAD", "FETCH_HEAD", "ORIG_HEAD", "MERGE_HEAD", "packed-refs"];

impl Repository {
    /// Writes to the folder `to`, which will lie above Git's own (of a worktree, above that of its repository), what is
    /// seen instead of the clone's: an `index` without the withheld files, `objects` without what they ever held, and
    /// `packed-refs` by which trees without them stand for those that hold them. Paths are relative to the
    /// root of the checkout. Returns whether anything was written; where the repository knows no such file and
    /// borrows its objects from no other, there is no need.
    pub fn withhold(&self, is_withheld: &dyn Fn(&str) -> bool, to: &Path) -> Result<bool, GitError> {
        let whole = self.seen_from(self.root());
        let private = PrivateRepository::new(&self.held)?;
        let names = whole.tracked()?;
        let entries: Vec<&String> = names.iter().filter(|name| is_withheld(name)).collect();
        let tips = self.tips()?;
        let listed = self.reachable(&private, &tips)?;
        let is_known = !entries.is_empty() || listed.iter().any(|(_, path)| is_withheld(path));
        if !is_known && !self.borrows()? {
            return Ok(false);
        }
        if !entries.is_empty() {
            self.write_index(&private, &entries, to)?;
        }
        let objects = gix_odb::loose::Store::at(private.objects(), self.held.hash);
        let rewritten = self.rewrite(&self.trees(&private, &tips)?, is_withheld, &objects)?;
        self.write_objects(&private, &listed, &rewritten, to)?;
        self.write_replacements(&rewritten, to)?;
        Ok(true)
    }

    /// Returns whether some objects lie in the store of another repository.
    fn borrows(&self) -> Result<bool, GitError> {
        let alternates = self.held.common.path()?.join("objects/info/alternates");
        Ok(fs::metadata(alternates).is_ok_and(|metadata| metadata.len() > 0))
    }

    fn write_index(
        &self,
        private: &PrivateRepository,
        entries: &[&String],
        to: &Path,
    ) -> Result<(), GitError> {
        let (own, common) = (self.held.git_dir.path()?, self.held.common.path()?);
        let index = to.join(own.strip_prefix(common).unwrap_or(Path::new(""))).join("index");
        let folder = index.parent().unwrap_or(to).to_owned();
        fs::create_dir_all(&folder)?;
        fs::copy(own.join("index"), &index)?;
        let input: String = entries.iter().map(|name| format!("{name}\0")).collect();
        let writable = vec![private.path().to_owned(), folder];
        let args = ["update-index", "--force-remove", "-z", "--stdin"];
        self.call(private, Some(index), input.as_bytes(), writable).run(args).map(drop)
    }

    fn write_objects(
        &self,
        private: &PrivateRepository,
        listed: &[(String, String)],
        rewritten: &Rewritten,
        to: &Path,
    ) -> Result<(), GitError> {
        let withheld: HashSet<String> = rewritten.withheld.iter().map(ToString::to_string).collect();
        let mut input = String::new();
        for (id, path) in listed.iter().filter(|(id, _)| !withheld.contains(id)) {
            let _ = writeln!(input, "{id} {path}");
        }
        for id in rewritten.trees.values() {
            let _ = writeln!(input, "{id}");
        }
        let pack = private.objects().join("pack");
        fs::create_dir_all(&pack)?;
        let args: [OsString; 3] =
            ["pack-objects".into(), "--quiet".into(), pack.join("pack").into_os_string()];
        let writable = vec![private.path().to_owned()];
        self.call(private, None, input.as_bytes(), writable).run(args)?;
        fs::create_dir_all(to.join("objects/pack"))?;
        fs::create_dir_all(to.join("objects/info"))?;
        for file in fs::read_dir(&pack)?.flatten() {
            fs::copy(file.path(), to.join("objects/pack").join(file.file_name()))?;
        }
        Ok(())
    }

    /// Writes the clone's packed references with one more for each tree that another stands for.
    fn write_replacements(&self, rewritten: &Rewritten, to: &Path) -> Result<(), GitError> {
        let packed = fs::read_to_string(self.held.common.path()?.join("packed-refs")).unwrap_or_default();
        // The first line may promise that they are sorted.
        let own = packed.lines().filter(|line| !line.starts_with('#'));
        let mut text: String = own.map(|line| format!("{line}\n")).collect();
        for (tree, without) in &rewritten.trees {
            let _ = writeln!(text, "{without} refs/replace/{tree}");
        }
        Ok(fs::write(to.join("packed-refs"), text)?)
    }

    fn call<'a>(
        &'a self,
        private: &'a PrivateRepository,
        index: Option<PathBuf>,
        input: &'a [u8],
        writable: Vec<PathBuf>,
    ) -> Call<'a> {
        let variables = index.map(|index| (OsString::from("GIT_INDEX_FILE"), index.into_os_string()));
        let (root, variables) = (self.root(), variables.into_iter().collect());
        Call {
            git_dir: private.path(),
            root,
            folder: root,
            variables,
            input,
            writable,
            network: false,
            limit: None,
        }
    }

    /// Lists every object that a reference or the index leads to, with the path of one file or folder that it is.
    fn reachable(
        &self,
        private: &PrivateRepository,
        tips: &[String],
    ) -> Result<Vec<(String, String)>, GitError> {
        let index = self.held.git_dir.path()?.join("index");
        let args = [
            "-c",
            "core.quotePath=false",
            "rev-list",
            "--objects",
            "--indexed-objects",
            "--missing=allow-any",
            "--stdin",
        ];
        let listed = self.call(private, Some(index), lines(tips).as_bytes(), Vec::new()).run(args)?;
        let entry = |line: &str| {
            let (id, path) = line.split_once(' ').unwrap_or((line, ""));
            (!id.is_empty()).then(|| (id.to_owned(), path.to_owned()))
        };
        Ok(String::from_utf8_lossy(&listed).lines().filter_map(entry).collect())
    }

    /// Lists the trees of all commits that references lead to.
    fn trees(&self, private: &PrivateRepository, tips: &[String]) -> Result<Vec<ObjectId>, GitError> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let args = ["rev-list", "--missing=allow-any", "--format=%T", "--stdin"];
        let listed = self.call(private, None, lines(tips).as_bytes(), Vec::new()).run(args)?;
        // Before each there is "commit <id>".
        let listed = String::from_utf8_lossy(&listed);
        let mut trees: HashSet<ObjectId> =
            listed.lines().filter_map(|line| ObjectId::from_hex(line.as_bytes()).ok()).collect();
        // A tag may be of a folder, which no commit need hold.
        for tip in tips {
            trees.extend(self.tagged_tree(tip)?);
        }
        Ok(trees.into_iter().collect())
    }

    /// Lists where references of every kind stand, also those of worktrees.
    fn tips(&self) -> Result<Vec<String>, GitError> {
        let mut tips = HashSet::new();
        let mut read = |text: &str| {
            let ids = text.split_whitespace().filter(|word| is_object_id(word));
            tips.extend(ids.map(str::to_owned));
        };
        let (own, common) = (self.held.git_dir.path()?, self.held.common.path()?);
        let mut folders = vec![own.to_owned(), common.to_owned()];
        let worktrees = fs::read_dir(common.join("worktrees")).into_iter().flatten().flatten();
        folders.extend(worktrees.map(|entry| entry.path()));
        for folder in folders {
            for name in HEADS {
                read(&fs::read_to_string(folder.join(name)).unwrap_or_default());
            }
            for folder in [folder.join("refs"), folder.join("logs")] {
                for file in ignore::WalkBuilder::new(folder).standard_filters(false).build().flatten() {
                    if file.file_type().is_some_and(|kind| kind.is_file()) {
                        read(&fs::read_to_string(file.path()).unwrap_or_default());
                    }
                }
            }
        }
        tips.retain(|tip| tip.chars().any(|digit| digit != '0'));
        let mut there: Vec<String> = tips.into_iter().filter(|tip| self.has_object(tip)).collect();
        there.sort_unstable();
        Ok(there)
    }
}

fn lines(words: &[String]) -> String {
    words.iter().map(|word| format!("{word}\n")).collect()
}
