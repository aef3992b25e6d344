//! Tables below `tests/cases/dependencies`: what is refused, what is not, and what real programs write.

use std::fs;
use std::path::PathBuf;

use serde::de::DeserializeOwned;

use super::*;

fn folder() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests/cases/dependencies"].iter().collect()
}

fn table<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let text = fs::read_to_string(folder().join(name)).expect("a table");
    let rows: Vec<T> = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    assert!(rows.len() > 10, "{name}");
    rows
}

/// Tells of a row that was not judged as the table says.
fn check(wrong: &mut Vec<String>, found: &str, expected: &str, what: &str) {
    if !found.contains(expected) || found.is_empty() != expected.is_empty() {
        wrong.push(format!("{what}\n    expected: {expected:?}\n    found: {found}"));
    }
}

#[derive(serde::Deserialize)]
struct Lock {
    path: String,
    form: String,
    had: String,
    refused: BTreeMap<String, String>,
    accepted: Vec<String>,
}

#[test]
fn lock_files_gain_only_what_is_harmless_or_known() {
    let mut wrong = Vec::new();
    for lock in table::<Lock>("locks.yml") {
        let form = |row: &str| {
            // In an object, the row stands between braces.
            let row = if lock.form.contains("{{}}") { format!("{{{row}}}") } else { row.to_owned() };
            lock.form.replacen(if lock.form.contains("{{}}") { "{{}}" } else { "{}" }, &row, 1)
        };
        let rows = lock.refused.iter().map(|(row, why)| (row.as_str(), why.as_str()));
        let rows = rows.chain(lock.accepted.iter().map(|row| (row.as_str(), "")));
        for (row, expected) in rows {
            let change = change(&lock.path, Some(&form(&lock.had)), Some(&form(row)));
            let found = judged_with(&[], "", vec![change], LockFiles::Allow);
            check(&mut wrong, &found, expected, &format!("{}: {row}", lock.path));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn accounts_are_compared_where_everybody_can_publish() {
    let mut wrong = Vec::new();
    for address in table::<String>("hosts.yml") {
        let lock = |account: &str| npm_lock(&address.replace("{}", account));
        for (account, expected) in [("evil", "which is not known"), ("octo", "")] {
            let after = lock(account).replace("node_modules/a", "node_modules/b");
            let change = change("package-lock.json", Some(&lock("octo")), Some(&after));
            let found = judged_with(&[], "", vec![change], LockFiles::Allow);
            check(&mut wrong, &found, expected, &address);
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[derive(serde::Deserialize)]
struct Setting {
    path: String,
    before: Option<String>,
    after: Option<String>,
    #[serde(default)]
    refused: String,
}

#[test]
fn settings_change_only_in_what_is_harmless_or_known() {
    let mut wrong = Vec::new();
    for Setting { path, before, after, refused } in table("settings.yml") {
        for rule in [LockFiles::WithManifest, LockFiles::Allow, LockFiles::Refuse] {
            let changes = vec![change(&path, before.as_deref(), after.as_deref())];
            check(&mut wrong, &judged_with(&[], "", changes, rule), &refused, &format!("{path} {after:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[derive(serde::Deserialize)]
struct Sources {
    path: String,
    #[serde(default)]
    base: BTreeMap<String, String>,
    before: Option<String>,
    refused: BTreeMap<String, String>,
    #[serde(default)]
    accepted: Vec<String>,
}

#[test]
fn manifests_gain_only_places_that_are_known() {
    let mut wrong = Vec::new();
    for Sources { path, base, before, refused, accepted } in table::<Sources>("sources.yml") {
        let base: Vec<(&str, &str)> =
            base.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let refused = refused.iter().map(|(text, why)| (text, why.as_str()));
        for (text, expected) in refused.chain(accepted.iter().map(|text| (text, ""))) {
            let after = before.as_deref().unwrap_or_default().to_owned() + text;
            let changes = vec![change(&path, before.as_deref(), Some(&after))];
            let found = judged_with(&base, "", changes, LockFiles::Allow);
            check(&mut wrong, &found, expected, &format!("{path}: {text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[derive(serde::Deserialize)]
struct Listed {
    lock: String,
    path: String,
    before: String,
    after: String,
    #[serde(default)]
    is_allowed: bool,
}

#[test]
fn manifests_count_only_by_their_dependencies() {
    let mut wrong = Vec::new();
    for Listed { lock, path, before, after, is_allowed } in table("manifests.yml") {
        let is_json = lock.rsplit('.').next() == Some("json")
            || ["Pipfile.lock", "flake.lock", "renv.lock"].contains(&&*lock);
        let is_json = is_json || ["Package.resolved", "MODULE.bazel.lock"].contains(&&*lock);
        let text = if is_json { ("{}", "{ }") } else { ("\n", "\n\n") };
        let changes =
            vec![change(&lock, Some(text.0), Some(text.1)), change(&path, Some(&before), Some(&after))];
        let found = judged_with(&[], "", changes, LockFiles::WithManifest);
        let expected = if is_allowed { "" } else { "without a change of the dependencies" };
        check(&mut wrong, &found, expected, &format!("{lock} {path} {after:?}"));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Files before and after real programs have added packages, one folder for each.
#[test]
fn what_real_programs_write_is_not_refused() {
    let real = folder().join("real");
    let mut count = 0;
    for entry in fs::read_dir(&real).expect("the folder") {
        let program = entry.expect("an entry").path();
        let read = |when: &str| -> BTreeMap<String, String> {
            let files =
                fs::read_dir(program.join(when)).expect("a folder").map(|entry| entry.expect("an entry"));
            let name = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
            files.map(|entry| (name(&entry), fs::read_to_string(entry.path()).expect("a text"))).collect()
        };
        let (before, after) = (read("before"), read("after"));
        let grown: Vec<FileChange> = after
            .iter()
            .map(|(path, text)| change(path, before.get(path).map(String::as_str), Some(text)))
            .collect();
        let new: Vec<FileChange> = after.iter().map(|(path, text)| change(path, None, Some(text))).collect();
        let back: Vec<FileChange> = before
            .iter()
            .map(|(path, text)| change(path, after.get(path).map(String::as_str), Some(text)))
            .collect();
        for changes in [grown, new, back] {
            assert_eq!(judged(changes), "", "{}", program.display());
            count += 1;
        }
    }
    assert!(count >= 24, "{count}");
}
