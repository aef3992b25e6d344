//! The two states on which tests run: the change as it is, and the old code with the tests of the change.

use std::collections::BTreeMap;

use test_integrity::{
    Change, ChangedTest, changed_tests, changes_code, is_of_tests, is_settings, new_names, with_tests_of,
};
use workspace::{ChangeSet, FileChange, FileState, Mode};

use super::has_extension;

/// What has to be changed on the disk to have each state, and the tests to run there.
#[derive(Debug)]
pub(crate) struct States {
    /// The old code, with the files of tests as the change leaves them.
    pub(super) old: Vec<FileChange>,
    /// The same with new settings and dependencies, if the change touches any.
    pub(super) old_with_settings: Option<Vec<FileChange>>,
    /// The new code.
    pub(super) new: Vec<FileChange>,
    /// Tests that the change adds or changes.
    pub(super) tests: Vec<ChangedTest>,
    /// Whether the change does anything to code of the program.
    pub(super) changes_code: bool,
    /// Names that only the new code declares.
    pub(super) new_names: std::collections::BTreeSet<String>,
    /// Why the tests of a file cannot be run on the old code, by path.
    pub(super) inseparable: BTreeMap<String, &'static str>,
    /// Texts of files whose tests stand among code, as they are on the old code.
    pub(super) grafted: BTreeMap<String, String>,
}

impl States {
    /// Makes the states of a change; `is_on_disk` says whether the disk has it already.
    pub(crate) fn new(changes: &ChangeSet, is_on_disk: bool) -> Self {
        let texts = Texts::of(changes);
        let given = texts.changes();
        let mut states = Self {
            old: Vec::new(),
            old_with_settings: None,
            new: Vec::new(),
            tests: changed_tests(&given),
            changes_code: changes_code(&given),
            new_names: new_names(&given),
            inseparable: BTreeMap::new(),
            grafted: BTreeMap::new(),
        };
        let mut with_settings = Vec::new();
        let mut has_settings = false;
        for (change, texts) in changes.iter().zip(&given) {
            let disk = if is_on_disk { &change.after } else { &change.before };
            let old = states.old_state(change, *texts);
            let is_setting = is_settings(texts.path) && !is_of_tests(texts.path);
            has_settings |= is_setting;
            let settings = if is_setting { change.after.clone() } else { old.clone() };
            states.old.extend(FileChange::new(change.path.clone(), disk.clone(), old));
            with_settings.extend(FileChange::new(change.path.clone(), disk.clone(), settings));
            states.new.extend(FileChange::new(change.path.clone(), disk.clone(), change.after.clone()));
        }
        states.old_with_settings = has_settings.then_some(with_settings);
        states
    }

    /// Returns what a file is among the old code with the tests of the change.
    fn old_state(&mut self, change: &FileChange, texts: Change<'_>) -> Option<FileState> {
        let of_file: Vec<&ChangedTest> = self.tests.iter().filter(|test| test.path == texts.path).collect();
        let has_own_file = !of_file.is_empty() && of_file.iter().all(|test| !test.is_among_code);
        if is_of_tests(texts.path) || has_own_file {
            return change.after.clone();
        }
        let is_rust = has_extension(change.path.as_str(), "rs");
        let (Some(before), Some(after)) = (texts.before, texts.after) else {
            if !of_file.is_empty() {
                self.inseparable
                    .insert(texts.path.to_owned(), "its file is new and contains the code as well");
            }
            return change.before.clone();
        };
        let grafted = is_rust.then(|| with_tests_of(before, after)).flatten();
        match grafted {
            Some(text) if text != before => {
                let mode = change.before.as_ref().map_or(Mode::Regular, |state| state.mode);
                let state = FileState { content: text.clone().into_bytes().into(), mode };
                self.grafted.insert(texts.path.to_owned(), text);
                Some(state)
            }
            None if !of_file.is_empty() => {
                self.inseparable.insert(
                    texts.path.to_owned(),
                    "it is mixed with the code and cannot be separated from it",
                );
                change.before.clone()
            }
            _ => change.before.clone(),
        }
    }
}

/// Returns the names of the tests that a change adds or changes.
pub(crate) fn names_of_changed_tests(changes: &ChangeSet) -> Vec<String> {
    let texts = Texts::of(changes);
    changed_tests(&texts.changes()).iter().map(ChangedTest::name).collect()
}

/// The text files of a change: their paths, and their texts before and after.
struct Texts(Vec<(String, Option<String>, Option<String>)>);

impl Texts {
    fn of(changes: &ChangeSet) -> Self {
        let texts = |change: &FileChange| {
            (change.path.to_string(), text(change.before.as_ref()), text(change.after.as_ref()))
        };
        Self(changes.iter().map(texts).collect())
    }

    fn changes(&self) -> Vec<Change<'_>> {
        self.0
            .iter()
            .map(|(path, before, after)| Change { path, before: before.as_deref(), after: after.as_deref() })
            .collect()
    }
}

fn text(state: Option<&FileState>) -> Option<String> {
    let state = state.filter(|state| state.mode != Mode::Link)?;
    (state.content.len() <= test_integrity::MAX_BYTES)
        .then(|| std::str::from_utf8(&state.content).ok().map(str::to_owned))
        .flatten()
}
