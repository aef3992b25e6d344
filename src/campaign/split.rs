//! Split plans: the files of a plan by who owns them, each set of owners with a plan of its own.

use std::collections::{BTreeMap, BTreeSet};

use workspace::WorkspacePath;

use super::file_owners::{FileOwners, remembered};
use super::moves::groups;
use super::target::is_task_id;
use crate::base::integrity::digest;
use crate::event::PlannedAction;
use crate::plan::{Plan, PlanFile};

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

/// Files that pull requests have already, by their paths in the repository, each with the name of the part that it belongs to.
pub(super) type TakenFiles = BTreeMap<String, String>;

/// Splits a plan into one for each set of owners, with the actions that have to do with its files. What a pull request has already
/// stays with the part that it is of, and what was moved is not torn apart.
pub(super) fn split(
    mut whole: Plan,
    owners: &FileOwners,
    taken: &TakenFiles,
) -> Result<Vec<Part>, TooManyParts> {
    let files = std::mem::take(&mut whole.files);
    let actions = std::mem::take(&mut whole.actions);
    let groups = groups(&files, &actions);
    let mut sets: BTreeMap<usize, BTreeSet<String>> = BTreeMap::new();
    let mut names: BTreeMap<usize, String> = BTreeMap::new();
    for (file, group) in files.iter().zip(&groups) {
        sets.entry(*group).or_default().extend(owners.of(file));
        if let Some(part) = taken.get(&owners.path(file)) {
            names.entry(*group).or_insert_with(|| part.clone());
        }
    }
    // By name: should two sets have the same one, both belong to the same part.
    let mut parts: BTreeMap<String, (BTreeSet<String>, Vec<PlanFile>)> = BTreeMap::new();
    for (file, group) in files.into_iter().zip(groups) {
        let set = &sets[&group];
        let name = names.entry(group).or_insert_with(|| name(set));
        let (all, files) = parts.entry(name.clone()).or_default();
        all.extend(set.iter().cloned());
        files.push(file);
    }
    if parts.len() > MAX_PARTS {
        return Err(TooManyParts(parts.len()));
    }
    let part = |(name, (owners, files)): (String, (BTreeSet<String>, Vec<PlanFile>))| {
        let paths: BTreeSet<&WorkspacePath> = files.iter().map(|file| &file.path).collect();
        let is_about = |action: &&PlannedAction| {
            let writes = &action.effects.writes;
            writes.is_empty() || writes.iter().any(|path| paths.contains(path))
        };
        let actions = actions.iter().filter(is_about).cloned().collect();
        let mut plan = Plan { actions, files, ..whole.clone() };
        plan.seal();
        Part { name, owners: remembered(owners), plan }
    };
    Ok(parts.into_iter().map(part).collect())
}

/// Returns the name of a part, the same wherever its owners are the same.
fn name(owners: &BTreeSet<String>) -> String {
    if owners.is_empty() {
        return String::new();
    }
    let all = owners.iter().map(String::as_str).collect::<Vec<_>>().join(" ");
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
pub(super) mod tests {
    use serde_json::Value;
    use workspace::{ChangeSet, FileChange, FileState, Mode};

    use super::super::file_owners::MAX_OWNERS;
    use super::*;
    use crate::event::Effects;
    use crate::plan::Planned;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).expect("a path")
    }

    /// A plan that changes files so.
    fn planned(changes: &[(&str, Option<&str>, Option<&str>)]) -> Plan {
        let state = |text: &str| FileState { content: text.as_bytes().into(), mode: Mode::Regular };
        let change = |(name, before, after): &(&str, Option<&str>, Option<&str>)| {
            FileChange::new(path(name), before.map(state), after.map(state))
        };
        let changes = ChangeSet::new(changes.iter().filter_map(change).collect());
        let files = changes.iter().map(PlanFile::new).collect();
        Plan::new(Planned { task: "t", agent: "a", model: "m", base: None, actions: vec![], files })
    }

    /// A plan that changes files.
    pub(crate) fn plan(paths: &[&str]) -> Plan {
        planned(&paths.iter().map(|path| (*path, Some("old\n"), Some("new\n"))).collect::<Vec<_>>())
    }

    /// Splits a plan by owners, where there is no pull request yet.
    fn split_by(rules: &str, plan: Plan) -> Result<Vec<Part>, TooManyParts> {
        split(plan, &FileOwners::new(rules, None), &TakenFiles::new())
    }

    fn files_of(part: &Part) -> String {
        part.plan.files.iter().map(|file| file.path.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// The files of each part.
    fn files(parts: &[Part]) -> BTreeSet<String> {
        parts.iter().map(files_of).collect()
    }

    fn set(texts: &[&str]) -> BTreeSet<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    fn find<'a>(parts: &'a [Part], files: &str) -> &'a Part {
        parts.iter().find(|part| files_of(part) == files).expect("a part")
    }

    #[test]
    fn plans_are_split_by_the_owners_of_their_files() {
        let rules = "/web/ @Octo/Web @dev\n/api/ @dev @octo/web\n/docs/ @a/b\n/notes/ @a-b\n/x/ 名@例\n";
        let whole =
            plan(&["web/a.txt", "api/a.txt", "docs/a.txt", "notes/a.txt", "x/a.txt", "a.txt", "b.txt"]);
        let parts = split_by(rules, whole).expect("few parts");
        // Neither case nor order makes a difference.
        let expected = ["a.txt b.txt", "api/a.txt web/a.txt", "docs/a.txt", "notes/a.txt", "x/a.txt"];
        assert_eq!(files(&parts), set(&expected));
        let free = find(&parts, "a.txt b.txt");
        assert!(free.name.is_empty() && free.owners.is_empty());
        let names: BTreeSet<&str> = parts.iter().map(|part| part.name.as_str()).collect();
        assert_eq!(names.len(), parts.len(), "names that look alike differ: {names:?}");
        assert!(names.iter().all(|name| name.is_empty() || is_task_id(name)), "{names:?}");
        let shared = find(&parts, "api/a.txt web/a.txt");
        assert!(shared.name.starts_with("dev-octo-web-"));
        assert_eq!(shared.owners, ["@dev", "@octo/web"]);
        assert!(parts.iter().all(|part| part.plan.digest == part.plan.computed_digest()));
    }

    #[test]
    fn no_file_is_lost_where_two_sets_of_owners_have_the_same_name() {
        // Both have the same beginning, and hashes that begin with the same digits.
        let long = "@ooooooooooooooooooooooooooooooooooooooo";
        let rules = format!("/a/ {long}/t35058\n/b/ {long}/t56728\n");
        let parts = split_by(&rules, plan(&["a/a.txt", "b/a.txt", "c.txt"])).expect("few parts");
        assert_eq!(files(&parts), set(&["c.txt", "a/a.txt b/a.txt"]));
        let shared = find(&parts, "a/a.txt b/a.txt");
        assert_eq!(shared.owners, [format!("{long}/t35058"), format!("{long}/t56728")]);
    }

    #[test]
    fn files_stay_with_the_part_whose_pull_request_has_them() {
        let taken: TakenFiles = [("web/a.txt", "dev-1"), ("free.txt", "dev-1"), ("api/a.txt", "")]
            .map(|(path, part)| (path.to_owned(), part.to_owned()))
            .into();
        let owners = FileOwners::new("/web/ @octo/web\n/api/ @dev\n", None);
        let whole = plan(&["api/a.txt", "api/b.txt", "free.txt", "web/a.txt", "web/b.txt"]);
        let parts = split(whole, &owners, &taken).expect("few parts");
        assert_eq!(files(&parts), set(&["api/a.txt", "api/b.txt", "free.txt web/a.txt", "web/b.txt"]));
        let names = ["api/a.txt", "free.txt web/a.txt"].map(|files| find(&parts, files).name.as_str());
        assert_eq!(names, ["", "dev-1"]);
    }

    #[test]
    fn moved_files_are_not_torn_apart() {
        let rules = "/a/ @a\n/b/ @b\n/c/ @c\n";
        let text = "one\ntwo\nthree\nfour\n";
        let edited = "one\ntwo\nthree\nfive\n";
        let moved = |edited: &str| {
            planned(&[
                ("a/x.txt", Some(text), None),
                ("b/y.txt", None, Some(edited)),
                ("a/other.txt", Some("old\n"), Some("new\n")),
                // Empty files are everywhere.
                ("a/empty.py", Some(""), None),
                ("c/empty.py", None, Some("")),
            ])
        };
        for after in [text, edited] {
            let parts = split_by(rules, moved(after)).expect("few parts");
            let expected = set(&["a/empty.py a/other.txt", "a/x.txt b/y.txt", "c/empty.py"]);
            assert_eq!(files(&parts), expected, "{after}");
            assert_eq!(find(&parts, "a/x.txt b/y.txt").owners, ["@a", "@b"]);
        }
        // By an action, whatever became of the file later, and from wherever it was at first.
        let action = |from: &str, to: &str| PlannedAction {
            step: 1,
            agent: "a".to_owned(),
            tool_name: "move_file".to_owned(),
            description: String::new(),
            tool_input: Value::Null,
            effects: Effects { writes: vec![path(from), path(to)], ..Effects::default() },
            diff: String::new(),
            has_run: false,
        };
        let mut whole = moved("quite another\n");
        let torn = split_by(rules, whole.clone()).expect("few parts");
        assert_eq!(torn.len(), 3, "nothing says that it was moved");
        whole.actions = vec![action("a/x.txt", "c/z.txt"), action("c/z.txt", "b/y.txt")];
        let parts = split_by(rules, whole).expect("few parts");
        assert!(files(&parts).contains("a/x.txt b/y.txt"), "{:?}", files(&parts));
    }

    #[test]
    fn plans_have_at_most_so_many_parts() {
        let paths: Vec<String> = (0..=MAX_PARTS).map(|at| format!("d{at}/a.txt")).collect();
        let rules: String = (0..=MAX_PARTS).map(|at| format!("/d{at}/ @o{at}\n")).collect();
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        assert_eq!(split_by(&rules, plan(&paths[1..])).map(|parts| parts.len()).ok(), Some(MAX_PARTS));
        let error = split_by(&rules, plan(&paths)).map(drop).expect_err("too many").to_string();
        assert!(error.contains("101 different sets"), "{error}");
        let long = format!("/a/ {}\n", (0..40).map(|at| format!("@owner{at}")).collect::<Vec<_>>().join(" "));
        let parts = split_by(&long, plan(&["a/b"])).expect("one part");
        assert!(is_task_id(&parts[0].name) && parts[0].owners.len() == MAX_OWNERS, "{}", parts[0].name);
    }
}
