//! Examples of what models did where a recipe was not enough: later tasks of the same recipe read them, and the recipe gets
//! them back as further tests, from which people or the agent `recipe` make a further rule.

use std::collections::BTreeMap;
use std::path::Path;

use manifest::{ManifestEdit, ManifestRule};
use parking_lot::Mutex;
use sanitize::Masker;
use serde_json::{Map, Value, json};
use workspace::WorkspacePath;

use super::manifest::Task;
use crate::base::error::chain;
use crate::base::fs::write_atomic;
use crate::engine::truncate_middle;
use crate::event::{Notice, NoticeLevel, Status};
use crate::git::Repository;
use crate::report::{FileSummary, RunReport};

/// Number of neighbours that a task reads about.
const MAX_TOLD: usize = 3;

/// Maximum size of the changes of one neighbour, in tokens.
const MAX_TOKENS: usize = 1_000;

/// Number of tests that a recipe gets back.
const MAX_TESTS: usize = 50;

/// Maximum size of a file in a test, in bytes.
const MAX_BYTES: usize = 20_000;

/// Folder of the recipes with further tests, below the output folder.
const FOLDER: &str = "recipes";

/// Work of models on the tasks of each recipe.
pub(super) struct Neighbours {
    repository: Repository,
    commit: String,
    by_recipe: Mutex<BTreeMap<String, Vec<ModelWork>>>,
}

struct ModelWork {
    /// The changes, for other models.
    diff: String,
    /// An example of the recipe.
    test: Option<Value>,
}

/// Why a recipe does not get its tests back.
#[derive(Debug, thiserror::Error)]
enum WriteError {
    #[error(transparent)]
    Git(#[from] crate::git::GitError),
    #[error("the commit does not have it")]
    Missing,
    #[error(transparent)]
    Path(#[from] workspace::PathError),
    #[error(transparent)]
    Rule(#[from] manifest::InvalidManifestRule),
    #[error(transparent)]
    Edit(#[from] manifest::ManifestError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

impl Neighbours {
    pub(super) fn new(repository: &Repository, commit: &str) -> Self {
        Self { repository: repository.clone(), commit: commit.to_owned(), by_recipe: Mutex::default() }
    }

    /// Records a task that a model has done after its recipe failed.
    pub(super) fn note(&self, task: &Task, report: &RunReport, masker: &Masker) {
        let Some(recipe) = &task.entry.recipe else { return };
        if report.status != Status::Success || report.files.is_empty() {
            return;
        }
        let diff: String =
            report.files.iter().map(|file| format!("\n{}\n{}", file.path, file.diff)).collect();
        let work =
            ModelWork { diff: truncate_middle(&diff, MAX_TOKENS), test: self.example(task, report, masker) };
        let mut all = self.by_recipe.lock();
        all.entry(recipe.clone()).or_default().push(work);
    }

    /// Returns what the neighbours of a task needed, for the model that works on it.
    pub(super) fn lesson(&self, task: &Task) -> String {
        let all = self.by_recipe.lock();
        let done =
            task.entry.recipe.as_ref().and_then(|recipe| all.get(recipe)).map_or(&[][..], Vec::as_slice);
        if done.is_empty() {
            return String::new();
        }
        let diffs: String = done.iter().rev().take(MAX_TOLD).map(|work| work.diff.as_str()).collect();
        format!("\nChanges that other files needed on which the recipe failed too:\n{diffs}\n")
    }

    /// Returns the change as an example of the recipe: what the commit has, and what became of it.
    fn example(&self, task: &Task, report: &RunReport, masker: &Masker) -> Option<Value> {
        let folder = task.entry.folder.as_deref().unwrap_or_default().trim_end_matches('/');
        let own = format!("{}{folder}{}", self.repository.prefix(), if folder.is_empty() { "" } else { "/" });
        let (mut before, mut after) = (Map::new(), Map::new());
        for FileSummary { path, diff, .. } in &report.files {
            let name = path.as_str().strip_prefix(&own)?;
            let text = self.repository.read_at(&self.commit, path.as_str()).ok()??;
            let text = String::from_utf8(text).ok().filter(|text| text.len() <= MAX_BYTES)?;
            let patch = format!("--- before\n+++ after\n{diff}");
            let changed = diffy::apply(&text, &diffy::Patch::from_str(&patch).ok()?).ok()?;
            before.insert(name.to_owned(), masker.mask_known(&text).into());
            after.insert(name.to_owned(), masker.mask_known(&changed).into());
        }
        Some(json!({ "name": format!("what a model did in {}", task.id), "before": before, "after": after }))
    }

    /// Writes each recipe that was not enough, with what models did as further tests. Returns messages for people.
    pub(super) fn write(&self, out: &Path) -> Vec<Notice> {
        let all = self.by_recipe.lock();
        let notice = |(recipe, done): (&String, &Vec<ModelWork>)| {
            let tests: Vec<&Value> =
                done.iter().filter_map(|work| work.test.as_ref()).take(MAX_TESTS).collect();
            let message = match self.write_one(out, recipe, &tests) {
                Ok(()) => format!(
                    "a model completed {} tasks that {recipe} could not; {FOLDER}/{recipe} in the output \
                     folder contains {} of them as additional tests, from which the agent `recipe` can derive another rule",
                    done.len(),
                    tests.len()
                ),
                Err(error) => format!(
                    "a model completed {} tasks that {recipe} could not, but they could not be turned into tests: {}",
                    done.len(),
                    chain(&error)
                ),
            };
            Notice { level: NoticeLevel::Warning, message }
        };
        all.iter().map(notice).collect()
    }

    fn write_one(&self, out: &Path, recipe: &str, tests: &[&Value]) -> Result<(), WriteError> {
        let path = WorkspacePath::parse(recipe)?;
        let full = format!("{}{path}", self.repository.prefix());
        let text = self.repository.read_at(&self.commit, &full)?.ok_or(WriteError::Missing)?;
        let mut text = String::from_utf8_lossy(&text).into_owned();
        for test in tests {
            let rule = ManifestRule {
                path: "tests".to_owned(),
                add: Some((*test).clone()),
                ..ManifestRule::default()
            };
            text = ManifestEdit::new(&rule)?.apply(recipe, &text)?.text;
        }
        let mut file = out.join(FOLDER);
        for name in path.as_str().split('/') {
            make_folder(&file)?;
            file.push(name);
        }
        Ok(write_atomic(&file, text.as_bytes())?)
    }
}

/// Makes a folder, unless it is there. A link, which a checkout with `out` in it could hold, is not followed.
fn make_folder(path: &Path) -> std::io::Result<()> {
    match std::fs::create_dir(path) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    if std::fs::symlink_metadata(path)?.is_dir() {
        return Ok(());
    }
    Err(std::io::Error::other(format!("{} is a link or a file", path.display())))
}
