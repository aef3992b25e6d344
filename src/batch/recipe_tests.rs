//! Tests of the recipes that a batch is about to follow on many files.

use std::collections::BTreeSet;

use super::manifest::Manifest;
use super::start_error::StartError;
use crate::git::Repository;
use crate::recipe::Recipe;

/// Runs the tests of every recipe that the tasks name, as the commit of the batch has it. What cannot be read or parsed
/// is left to the tasks, whose reports say so.
pub(super) async fn check(repository: &Repository, manifest: &Manifest) -> Result<(), StartError> {
    let recipes: BTreeSet<&String> =
        manifest.tasks.iter().filter_map(|task| task.entry.recipe.as_ref()).collect();
    for path in recipes {
        let full = format!("{}{path}", repository.prefix());
        let Some(content) = repository.read_at(&manifest.commit, &full)? else { continue };
        let Ok(recipe) = Recipe::parse(&String::from_utf8_lossy(&content), path) else { continue };
        check_tests(&recipe, path).await?;
    }
    Ok(())
}

/// Runs the tests of a recipe, whose path is `path`. The first fault is an error.
pub(crate) async fn check_tests(recipe: &Recipe, path: &str) -> Result<(), StartError> {
    for result in recipe.test().await? {
        if let Some(fault) = result.faults.into_iter().next() {
            let recipe = path.to_owned();
            return Err(StartError::RecipeTest { recipe, test: result.name, fault: Box::new(fault) });
        }
    }
    Ok(())
}
