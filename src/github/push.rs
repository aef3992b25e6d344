//! The way round: a commit by `git` and a push, where the API does not take one.

use super::api::Api;
use super::deliver::{DeliverError, Delivered, Delivery, Target};
use super::environment::Environment;
use super::error::ApiError;
use crate::git::{Author, GitError, Place, Push, Repository};

/// Who commits, as GitHub knows the job's own bot.
const AUTHOR: Author =
    Author { name: "github-actions[bot]", email: "41898282+github-actions[bot]@users.noreply.github.com" };

/// Delivers by `git push` of a commit made from the clone's objects; what the API can still say (where the branch stands) it says.
pub async fn by_push(
    delivery: &Delivery<'_>,
    api: &Api,
    environment: &Environment,
    repository: &Repository,
) -> Result<Option<Delivered>, DeliverError> {
    let failed =
        |error: GitError| DeliverError::Api(ApiError::Unclear { doing: "push", message: error.to_string() });
    let ground = delivery.ground(api).await?;
    let (entries, merged) = delivery.entries(api, &ground.parent).await?;
    if entries.is_empty() {
        return Ok(None);
    }
    let Environment { server_url, owner, repository: name, token, .. } = environment.clone();
    let expected = match &delivery.target {
        Target::Own { .. } => ground.own.map(|own| own.sha),
        Target::Existing { .. } => None,
    };
    let (branch, message) = (delivery.branch().to_owned(), delivery.full_message());
    let (repository, parent) = (repository.clone(), ground.parent.sha);
    let target = branch.clone();
    // It may take long, and whoever waits for it must still hear a signal.
    let pushed = tokio::task::spawn_blocking(move || {
        let url = format!("{server_url}/{owner}/{name}.git");
        let place = Place { url: &url, server: &server_url, token: token.as_deref() };
        let push = Push {
            parent: &parent,
            files: &entries,
            message: &message,
            author: AUTHOR,
            branch: &target,
            expected: expected.as_deref(),
        };
        repository.push(place, &push)
    });
    let commit = match pushed.await {
        Ok(pushed) => pushed.map_err(failed)?,
        Err(error) => return Err(DeliverError::Api(ApiError::Unusable(error.to_string()))),
    };
    let pull = delivery.pull_of(api, &branch).await?;
    Ok(Some(Delivered { branch, commit: Some(commit), pull, merged }))
}
