//! Split plans: the files of a plan by who owns them, each set of owners with a plan of its own.

use std::collections::{BTreeMap, BTreeSet};

use workspace::WorkspacePath;

use super::target::is_task_id;
use crate::base::integrity::digest;
use crate::event::PlannedAction;
use crate::git::Repository;
use crate::github::CodeOwners;
use crate::guardrails::CODE_OWNERS;
use crate::plan::{Plan, PlanFile};

/// Most owners that are remembered of a target.
const MAX_OWNERS: usize = 20;

/// Longest name of an owner that is remembered, in bytes.
const MAX_OWNER: usize = 150;

/// Most parts of one plan.
const MAX_PARTS: usize = 100;

/// Longest beginning of a part's name that comes from its owners, in bytes.
const MAX_WORDS: usize = 40;

/// Digits of the hash that distinguishes parts whose owners have similar names.
const HASH: usize = 8;

/// Error for a plan whose files have too many different owners.
#[derive(Debug, thiserror::Error)]
#[error(
    "its files belong to {0} different sets of owners, and a plan is split into at most {MAX_PARTS} parts; make several tasks \
     of it, each for a `folder`"
)]
pub(super) struct TooManyParts(usize);

/// A part of a plan.
pub(super) struct Part {
    /// Its name in the ids of targets; empty where nobody owns the files.
    pub(super) name: String,
    /// The owners of its files.
    pub(super) owners: Vec<String>,
    /// The plan of its files alone.
    pub(super) plan: Plan,
}

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

    fn new(text: &str, folder: Option<&str>) -> Self {
        let folder = folder.and_then(|folder| WorkspacePath::parse(folder).ok());
        let folder = folder.filter(|folder| !folder.is_root());
        let prefix = folder.map_or_else(String::new, |folder| format!("{folder}/"));
        Self { rules: CodeOwners::parse(text), prefix }
    }

    fn of(&self, file: &PlanFile) -> Vec<String> {
        self.rules.of(&format!("{}{}", self.prefix, file.path)).concat()
    }

    /// Returns the owners of files that a plan changes.
    pub(super) fn of_files(&self, files: &[PlanFile]) -> Vec<String> {
        let mut owners: Vec<String> = files.iter().flat_map(|file| self.of(file)).collect();
        owners.retain(|owner| owner.len() <= MAX_OWNER);
        owners.sort();
        owners.dedup();
        owners.truncate(MAX_OWNERS);
        owners
    }
}

/// Splits a plan into one for each set of owners, with the actions that have to do with its files.
pub(super) fn split(mut whole: Plan, owners: &FileOwners) -> Result<Vec<Part>, TooManyParts> {
    let mut files: BTreeMap<Vec<String>, Vec<PlanFile>> = BTreeMap::new();
    for file in std::mem::take(&mut whole.files) {
        // Names of accounts and teams, as well as addresses, are the same in any case.
        let mut set: Vec<String> = owners.of(&file).iter().map(|owner| owner.to_lowercase()).collect();
        set.sort();
        set.dedup();
        files.entry(set).or_default().push(file);
    }
    if files.len() > MAX_PARTS {
        return Err(TooManyParts(files.len()));
    }
    let all = std::mem::take(&mut whole.actions);
    let part = |(set, files): (Vec<String>, Vec<PlanFile>)| {
        let paths: BTreeSet<&WorkspacePath> = files.iter().map(|file| &file.path).collect();
        let is_about = |action: &&PlannedAction| {
            let writes = &action.effects.writes;
            writes.is_empty() || writes.iter().any(|path| paths.contains(path))
        };
        let actions = all.iter().filter(is_about).cloned().collect();
        let owners = owners.of_files(&files);
        let mut plan = Plan { actions, files, ..whole.clone() };
        plan.seal();
        Part { name: name(&set), owners, plan }
    };
    Ok(files.into_iter().map(part).collect())
}

/// Returns the name of a part, the same wherever its owners are the same.
fn name(owners: &[String]) -> String {
    if owners.is_empty() {
        return String::new();
    }
    let all = owners.join(" ");
    let words: Vec<&str> =
        all.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let mut name = words.join("-");
    name.truncate(MAX_WORDS);
    let name = format!("{}-{}", name.trim_end_matches('-'), &digest(all.as_bytes())[..HASH]);
    let name = name.trim_start_matches('-').to_owned();
    debug_assert!(is_task_id(&name), "{name}");
    name
}

#[cfg(test)]
mod tests {
    use workspace::{ChangeSet, FileChange, FileState, Mode};

    use super::*;
    use crate::plan::Planned;

    fn plan(paths: &[&str]) -> Plan {
        let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
        let change = |path: &&str| {
            let path = WorkspacePath::parse(path).expect("a path");
            FileChange::new(path, Some(state("old\n")), Some(state("new\n")))
        };
        let changes = ChangeSet::new(paths.iter().filter_map(change).collect());
        let files = changes.iter().map(PlanFile::new).collect();
        Plan::new(Planned { task: "t", agent: "a", model: "m", base: None, actions: vec![], files })
    }

    #[test]
    fn plans_are_split_by_the_owners_of_their_files() {
        let owners = FileOwners::new(
            "/web/ @Octo/Web @dev\n/api/ @dev @octo/web\n/docs/ @a/b\n/notes/ @a-b\n/x/ 名@例\n",
            None,
        );
        let whole =
            plan(&["web/a.txt", "api/a.txt", "docs/a.txt", "notes/a.txt", "x/a.txt", "a.txt", "b.txt"]);
        let parts = split(whole, &owners).expect("few parts");
        let told: Vec<(bool, Vec<&str>)> = parts
            .iter()
            .map(|part| {
                (part.name.is_empty(), part.plan.files.iter().map(|file| file.path.as_str()).collect())
            })
            .collect();
        assert_eq!(
            told,
            [
                (true, vec!["a.txt", "b.txt"]),
                (false, vec!["notes/a.txt"]),
                (false, vec!["docs/a.txt"]),
                // Neither case nor order makes a difference.
                (false, vec!["api/a.txt", "web/a.txt"]),
                (false, vec!["x/a.txt"]),
            ]
        );
        let names: std::collections::BTreeSet<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names.len(), parts.len(), "names that look alike differ: {names:?}");
        assert!(names.iter().all(|name| name.is_empty() || is_task_id(name)), "{names:?}");
        assert!(parts[3].name.starts_with("dev-octo-web-"));
        assert!(parts.iter().all(|part| part.plan.digest == part.plan.computed_digest()));
    }

    #[test]
    fn owners_of_a_plan_for_a_folder_are_those_of_its_files() {
        let rules = "/packages/web/ @web\n/a.txt @top\n";
        for (folder, expected) in [
            (Some("packages/web"), "@web"),
            (Some("./packages//web/"), "@web"),
            (Some("packages"), ""),
            (Some("."), "@top"),
            (None, "@top"),
        ] {
            let owners = FileOwners::new(rules, folder);
            assert_eq!(owners.of_files(&plan(&["a.txt"]).files).join(" "), expected, "{folder:?}");
        }
    }

    #[test]
    fn plans_have_at_most_so_many_parts() {
        let paths: Vec<String> = (0..=MAX_PARTS).map(|at| format!("d{at}/a.txt")).collect();
        let rules: String = (0..=MAX_PARTS).map(|at| format!("/d{at}/ @o{at}\n")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        let owners = FileOwners::new(&rules, None);
        assert_eq!(split(plan(&paths[1..]), &owners).map(|parts| parts.len()).ok(), Some(MAX_PARTS));
        let error = split(plan(&paths), &owners).map(drop).expect_err("too many").to_string();
        assert!(error.contains("101 different sets"), "{error}");
        let long = format!("/a/ {}\n", (0..40).map(|at| format!("@owner{at}")).collect::<Vec<_>>().join(" "));
        let parts = split(plan(&["a/b"]), &FileOwners::new(&long, None)).expect("one part");
        assert!(is_task_id(&parts[0].name) && parts[0].owners.len() == MAX_OWNERS, "{}", parts[0].name);
    }
}
