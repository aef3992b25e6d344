//! Owners of the files of a plan, by the `CODEOWNERS` of its repository.

use std::collections::BTreeSet;

use workspace::WorkspacePath;

use crate::git::Repository;
use crate::github::CodeOwners;
use crate::guardrails::CODE_OWNERS;
use crate::plan::PlanFile;

/// Most owners that are remembered of a target.
pub(super) const MAX_OWNERS: usize = 20;

/// Longest name of an owner that is remembered, in bytes.
const MAX_OWNER: usize = 150;

/// The code owners of a repository, for plans that are about a folder of it.
pub(super) struct FileOwners {
    rules: CodeOwners,
    /// The way to the folder: empty, or ending in `/`.
    prefix: String,
}

impl FileOwners {
    /// Reads the code owners at a commit; there are none where it has no such file.
    pub(super) fn read(repository: &Repository, commit: &str, folder: Option<&str>) -> Self {
        let text = CODE_OWNERS.iter().find_map(|path| repository.read_at(commit, path).ok().flatten());
        Self::new(&String::from_utf8_lossy(&text.unwrap_or_default()), folder)
    }

    pub(super) fn new(text: &str, folder: Option<&str>) -> Self {
        let folder = folder.and_then(|folder| WorkspacePath::parse(folder).ok());
        let folder = folder.filter(|folder| !folder.is_root());
        let prefix = folder.map_or_else(String::new, |folder| format!("{folder}/"));
        Self { rules: CodeOwners::parse(text), prefix }
    }

    /// Returns the path of a planned file in its repository.
    pub(super) fn path(&self, file: &PlanFile) -> String {
        format!("{}{}", self.prefix, file.path)
    }

    /// Returns the owners of a file. Names of accounts and teams, as well as addresses, are the same in any case.
    pub(super) fn of(&self, file: &PlanFile) -> impl Iterator<Item = String> {
        self.rules.of(&self.path(file)).concat().into_iter().map(|owner| owner.to_lowercase())
    }

    /// Returns the owners of files, as far as they are remembered.
    pub(super) fn of_files(&self, files: &[PlanFile]) -> Vec<String> {
        remembered(files.iter().flat_map(|file| self.of(file)).collect())
    }
}

/// Returns those of some owners that are remembered.
pub(super) fn remembered(owners: BTreeSet<String>) -> Vec<String> {
    owners.into_iter().filter(|owner| owner.len() <= MAX_OWNER).take(MAX_OWNERS).collect()
}

#[cfg(test)]
mod tests {
    use super::super::split::tests::plan;
    use super::*;

    #[test]
    fn owners_of_a_plan_for_a_folder_are_those_of_its_files() {
        let rules = "/packages/web/ @Octo/Web @octo/web\n/a.txt @top\n";
        for (folder, expected) in [
            (Some("packages/web"), "@octo/web"),
            (Some("./packages//web/"), "@octo/web"),
            (Some("packages"), ""),
            (Some("."), "@top"),
            (None, "@top"),
        ] {
            let owners = FileOwners::new(rules, folder);
            assert_eq!(owners.of_files(&plan(&["a.txt"]).files).join(" "), expected, "{folder:?}");
        }
    }
}
