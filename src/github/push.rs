//! The way round: a commit by `git` and a push, where the API does not take one.

use std::path::Path;

use super::api::Api;
use super::deliver::{DeliverError, Delivered, Delivery, Target};
use super::environment::Environment;
use super::error::ApiError;
use crate::git::{Git, GitError, Place};

/// Who commits, as GitHub knows the job's own bot.
const AUTHOR: (&str, &str) = ("github-actions[bot]", "41898282+github-actions[bot]@users.noreply.github.com");

/// Delivers by `git push` from the checkout; what the API can still say (where the branch stands) it says.
pub async fn by_push(
    delivery: &Delivery<'_>,
    api: &Api,
    environment: &Environment,
    checkout: &Path,
) -> Result<Option<Delivered>, DeliverError> {
    let failed =
        |error: GitError| DeliverError::Api(ApiError::Unclear { doing: "push", message: error.to_string() });
    let ground = delivery.ground(api).await?;
    let (entries, merged) = delivery.entries(api, &ground.parent).await?;
    if entries.is_empty() {
        return Ok(None);
    }
    let Environment { server_url, owner, repository, token, .. } = environment.clone();
    let expected = match &delivery.target {
        Target::Own { .. } => ground.own.map(|own| own.sha),
        Target::Existing { .. } => None,
    };
    let (branch, message) = (delivery.branch().to_owned(), delivery.full_message());
    let (checkout, parent) = (checkout.to_owned(), ground.parent.sha);
    let target = branch.clone();
    // It may take long, and whoever waits for it must still hear a signal.
    let pushed = tokio::task::spawn_blocking(move || {
        let url = format!("{server_url}/{owner}/{repository}.git");
        let place = Place { url: &url, server: &server_url, token: token.as_deref() };
        let git = Git::new(&checkout);
        if !git.has_commit(&parent) {
            git.fetch_from(place, &parent)?;
        }
        let commit = git.commit_upon(&parent, &entries, &message, AUTHOR)?;
        git.push(place, &commit, &target, expected.as_deref())?;
        Ok(commit)
    });
    let commit = match pushed.await {
        Ok(pushed) => pushed.map_err(failed)?,
        Err(error) => return Err(DeliverError::Api(ApiError::Unusable(error.to_string()))),
    };
    let pull = delivery.pull_of(api, &branch).await?;
    Ok(Some(Delivered { branch, commit: Some(commit), pull, merged }))
}
