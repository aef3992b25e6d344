//! Delivery by `git push`, for where the API does not accept a commit.

use tokio_util::sync::CancellationToken;

use super::api::Api;
use super::deliver::Delivery;
use super::delivered::{DeliverError, Delivered, Target};
use super::environment::Environment;
use super::error::{ApiError, names_rule};
use crate::git::{Author, CallLimit, GitError, Push, RemoteRepository, Repository};

/// The author of our commits: the job's own bot, as GitHub knows it.
const AUTHOR: Author =
    Author { name: "github-actions[bot]", email: "41898282+github-actions[bot]@users.noreply.github.com" };

impl Environment {
    /// Returns the limit of calls of Git that talk to the server.
    pub(crate) fn call_limit(&self) -> CallLimit {
        let (cancel, deadline) = self.clock.end_of_work();
        CallLimit { cancel, deadline }
    }
}

/// Delivers a commit, made from the objects of the clone, by `git push`. Where the branch stands is still
/// read from the API. Returns `None` if there is nothing to commit.
pub async fn by_push(
    delivery: &Delivery<'_>,
    api: &Api,
    environment: &Environment,
    repository: &Repository,
) -> Result<Option<Delivered>, DeliverError> {
    let failed = |error: GitError| {
        let message = error.to_string();
        // A rule that the API did not get to.
        if names_rule(&message) {
            return delivery.target.forbidden(&message);
        }
        DeliverError::Api(ApiError::Unclear { doing: "push", message })
    };
    let ground = delivery.branch_state(api).await?;
    let (entries, merged) = delivery.entries(api, &ground.parent).await?;
    if entries.is_empty() {
        return Ok(None);
    }
    let Environment { server_url, owner, repository: name, token, .. } = environment.clone();
    let expected = match &delivery.target {
        Target::Own { .. } => ground.own.as_ref().map(|own| own.sha.clone()),
        Target::Existing { .. } => None,
    };
    let (branch, message) = (delivery.branch().to_owned(), delivery.full_message());
    let (repository, parent) = (repository.clone(), ground.parent.sha);
    let target = branch.clone();
    // A push may take long, and whoever awaits it must still hear signals.
    let limit = CallLimit { cancel: CancellationToken::new(), deadline: None };
    // Nor is it left running once nobody waits for it.
    let _end = limit.cancel.clone().drop_guard();
    let pushed = tokio::task::spawn_blocking(move || {
        let url = format!("{server_url}/{owner}/{name}.git");
        let (token, limit) = (token.as_deref(), Some(&limit));
        let place = RemoteRepository { url: &url, server: &server_url, token, limit };
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
    let pushed = api.in_time(pushed).await.map_err(ApiError::CutOff)?;
    let commit = match pushed {
        Ok(Ok(commit)) => commit,
        Ok(Err(error)) => {
            // If it was refused because somebody has pushed in the meantime, the branch says so.
            return match delivery.branch_state(api).await {
                Err(moved) if !matches!(moved, DeliverError::Api(_)) => Err(moved),
                // Nothing is known of the branch, or it is not the reason.
                _ => Err(failed(error)),
            };
        }
        Err(error) => return Err(DeliverError::Api(error.into())),
    };
    let pull = delivery.pull_of(api, &branch, &ground.pull, true).await?;
    Ok(Some(Delivered { branch, commit: Some(commit), existing: None, pull, merged, is_pushed: true }))
}
