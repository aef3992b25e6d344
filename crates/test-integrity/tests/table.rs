//! The table of changes in `tests/cases`: each is made to the files of its group, and what is found is compared.
#![expect(clippy::expect_used, reason = "what a test stands on has to be there")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use test_integrity::{Change, Kind, Severity, check, matters};

/// Files, and changes of them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    /// Files before each change, by path.
    files: BTreeMap<String, String>,
    cases: Vec<Case>,
}

/// One change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Texts that are replaced, wherever they stand: what, and what by.
    #[serde(default)]
    edit: Vec<(String, String)>,
    /// Files that are moved: from, and to.
    #[serde(default)]
    rename: BTreeMap<String, String>,
    #[serde(default)]
    delete: Vec<String>,
    #[serde(default)]
    add: BTreeMap<String, String>,
    /// Texts that are replaced in what came of all that, so that several cases can add the same files.
    #[serde(default)]
    then: Vec<(String, String)>,
    /// What is found as a warning or an error; nothing for an honest change.
    #[serde(default)]
    finds: BTreeSet<Kind>,
    /// What is noted, which does not count as found.
    #[serde(default)]
    notes: BTreeSet<Kind>,
}

/// Cases of a group of which only a share is played.
const LARGE: usize = 40;

/// That share: each case of this number; all of them with `INTEGRITY_EVERY=1`.
const EVERY: usize = 4;

/// Returns whether a case of a group is in the sample.
fn is_played(group: &Group, number: usize) -> bool {
    group.cases.len() <= LARGE
        || std::env::var_os("INTEGRITY_EVERY").is_some()
        || number.is_multiple_of(EVERY)
}

/// Replaces texts wherever they stand.
fn replace(files: &mut BTreeMap<String, String>, texts: &[(String, String)], case: &Case) {
    for (old, new) in texts {
        let mut met = false;
        for text in files.values_mut().filter(|text| text.contains(old.as_str())) {
            *text = text.replace(old.as_str(), new);
            met = true;
        }
        assert!(met, "{}: nothing holds {old:?}", case.name);
    }
}

fn after(group: &Group, case: &Case) -> BTreeMap<String, String> {
    let mut files = group.files.clone();
    replace(&mut files, &case.edit, case);
    for path in &case.delete {
        assert!(files.remove(path).is_some(), "{}: no file {path}", case.name);
    }
    for (from, to) in &case.rename {
        let text = files.remove(from).unwrap_or_else(|| panic!("{}: no file {from}", case.name));
        files.insert(to.clone(), text);
    }
    files.extend(case.add.clone());
    replace(&mut files, &case.then, case);
    files
}

/// Returns the groups of each file in the folder.
fn table() -> Vec<(String, Vec<Group>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let groups = |path: &Path| {
        let text = fs::read_to_string(path).expect("a file");
        serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), groups(path))).collect()
}

#[test]
fn another_comment_weakens_nothing() {
    let mut commented = 0;
    for (file, groups) in table() {
        for (path, before) in groups.iter().flat_map(|group| &group.files) {
            let sign = match Path::new(path).extension().and_then(|end| end.to_str()) {
                Some("py" | "rb") => "#",
                Some("js" | "jsx" | "ts" | "tsx" | "rs" | "go" | "java" | "kt" | "cs" | "php") => "//",
                _ => continue,
            };
            let after = format!("{sign} noted\n{before}\n{sign} noted\n");
            // What has to come first.
            if ["#!", "<?"].iter().any(|first| before.starts_with(first)) {
                continue;
            }
            let change = Change { path, before: Some(before), after: Some(&after) };
            assert_eq!(check(&[change]), [], "{file}: {path}");
            commented += 1;
        }
    }
    assert!(commented >= 500, "{commented} files");
}

#[test]
fn changes_are_judged_as_the_table_says() {
    let (mut weakening, mut honest, mut wrong, mut left_out) = (0, 0, Vec::new(), 0);
    for (file, groups) in table() {
        for group in &groups {
            for (number, case) in group.cases.iter().enumerate() {
                if !is_played(group, number) {
                    continue;
                }
                let after = after(group, case);
                let paths: BTreeSet<&String> = group.files.keys().chain(after.keys()).collect();
                let changes: Vec<Change<'_>> = paths
                    .iter()
                    .map(|path| Change {
                        path,
                        before: group.files.get(*path).map(String::as_str),
                        after: after.get(*path).map(String::as_str),
                    })
                    .collect();
                let of_no_matter: Vec<Change<'_>> =
                    changes.iter().filter(|change| !matters(change)).copied().collect();
                left_out += of_no_matter.iter().filter(|change| change.before != change.after).count();
                assert_eq!(check(&of_no_matter), [], "{}: these do not matter", case.name);
                let findings = check(&changes);
                let is_note = |severity: Severity| severity == Severity::Note;
                let of = |notes: bool| -> BTreeSet<Kind> {
                    findings
                        .iter()
                        .filter(|found| is_note(found.severity) == notes)
                        .map(|found| found.kind)
                        .collect()
                };
                let (kinds, notes) = (of(false), of(true));
                *if case.finds.is_empty() { &mut honest } else { &mut weakening } += 1;
                if kinds != case.finds || notes != case.notes {
                    wrong.push(format!(
                        "{file}: {}: wants {:?} and the notes {:?}, found {findings:#?}",
                        case.name, case.finds, case.notes
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {weakening} + {honest}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(left_out > 0, "some changed files do not matter");
    assert!(weakening >= 500 && honest >= 50, "{weakening} changes that weaken, {honest} honest ones");
}
