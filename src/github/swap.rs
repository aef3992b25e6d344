//! Compare and swap for branches of ours: one is moved or deleted only if it is where it was read, so that a commit that somebody
//! has pushed in the meantime stays.
//!
//! GitHub compares in the mutation `updateRefs`. A server that does not have it, or does not allow it to the token, compares only
//! where a branch is moved forwards. There, the new commit gets the old tip as a further parent, and no branch is deleted.

use serde_json::json;

use super::api::Api;
use super::commit::{Commit, create_commit, point};
use super::error::ApiError;
use super::operation::Purpose;
use crate::base::verbose_log::detail;

const SWAP: Purpose = Purpose { doing: "move the branch", permission: "contents: write" };

/// The id that stands for no commit.
const NONE: &str = "0000000000000000000000000000000000000000";

/// A commit to be made, and what it is made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewTip<'a> {
    /// The commit to build on.
    pub(super) parent: &'a Commit,
    /// The id of the tree.
    pub(super) tree: &'a str,
    /// The message.
    pub(super) message: &'a str,
}

/// Makes a commit the tip of `branch` in place of `old`. Returns its id.
///
/// # Errors
///
/// A refusal with the status 422 if the branch is not at `old` any more.
pub(super) async fn replace_tip(
    api: &Api,
    branch: &str,
    old: &Commit,
    new: NewTip<'_>,
) -> Result<String, ApiError> {
    let NewTip { parent, tree, message } = new;
    let commit = create_commit(api, tree, &[&parent.sha], message).await?;
    match swap(api, branch, &old.sha, &commit).await? {
        Swapped::Done => Ok(commit),
        Swapped::NotHere => {
            let commit = create_commit(api, tree, &[&old.sha, &parent.sha], message).await?;
            point(api, branch, &commit, true).await?;
            Ok(commit)
        }
    }
}

/// Deletes `branch` if it is still at `old`. Returns `false` if it stays, because somebody has pushed to it, or because
/// GitHub compares nothing here.
pub(super) async fn delete(api: &Api, branch: &str, old: &str) -> Result<bool, ApiError> {
    match swap(api, branch, old, NONE).await {
        Ok(Swapped::Done) => Ok(true),
        Ok(Swapped::NotHere) => {
            // A commit that is pushed between a look and the deletion would be lost.
            detail!(
                "GitHub does not compare the branch {branch} with {old} before it deletes it, so it stays"
            );
            Ok(false)
        }
        Err(error) if error.status() == Some(422) && !error.is_about_rule() => Ok(false),
        Err(error) => Err(error),
    }
}

/// How a swap ended, if the branch was where it had to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Swapped {
    Done,
    /// GitHub compares nothing here.
    NotHere,
}

/// Moves `branch` from a commit to another one; [`NONE`] deletes it.
async fn swap(api: &Api, branch: &str, from: &str, to: &str) -> Result<Swapped, ApiError> {
    const MUTATION: &str =
        "mutation UpdateRefs($input: UpdateRefsInput!) { updateRefs(input: $input) { clientMutationId } }";
    let update = json!({
        "name": format!("refs/heads/{branch}"), "beforeOid": from, "afterOid": to, "force": true
    });
    let sent = async {
        let input = json!({"repositoryId": api.repository_id().await?, "refUpdates": [update]});
        api.mutate(MUTATION, json!({ "input": input }), SWAP).await
    };
    let refusal = match sent.await {
        Ok(data) if !data["updateRefs"].is_null() => return Ok(Swapped::Done),
        Ok(_) => ApiError::Unclear { doing: SWAP.doing, message: "an empty answer".to_owned() },
        Err(error) if error.status().is_none() || error.status() == Some(401) => return Err(error),
        Err(error) => error,
    };
    // Whatever it was refused for: where the branch is decides, which the request, sent twice, may have moved.
    let now = Commit::tip_id(api, branch).await?;
    let now = now.as_deref().unwrap_or(NONE);
    if now == to {
        Ok(Swapped::Done)
    } else if now != from {
        let message = "the branch has moved in the meantime".to_owned();
        Err(ApiError::Refused { doing: SWAP.doing, status: 422, message })
    } else if refusal.is_about_rule() {
        Err(refusal)
    } else {
        Ok(Swapped::NotHere)
    }
}
