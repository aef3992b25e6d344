//! Pull request of a branch of ours: opened, updated, and marked as ready once it has everything.
//!
//! A result that is only a part is a draft that says so. A later one that is whole replaces it, and never the other way round.

use serde::Deserialize;
use serde_json::{Value, json};

use super::api::Api;
use super::branch_states::OpenPull;
use super::deliver::{BranchState, Delivery, KnownPull, MAX_TRIES};
use super::delivered::{DeliverError, DeliveredPull, PART, PullText, Target};
use super::error::ApiError;
use super::operation::{Method, Purpose};
use super::url_encoding::in_query;

const PULLS: Purpose = Purpose { doing: "open a pull request", permission: "pull-requests: write" };
const READY: Purpose =
    Purpose { doing: "mark the pull request as ready", permission: "pull-requests: write" };
const LABEL: Purpose = Purpose { doing: "label the pull request", permission: "issues: write" };

const MARK_READY: &str = "mutation MarkReady($id: ID!) { markPullRequestReadyForReview(input: {pullRequestId: $id}) \
                          { pullRequest { isDraft } } }";

#[derive(Deserialize)]
struct Pull {
    number: u64,
    html_url: String,
    #[serde(default)]
    title: String,
    body: Option<String>,
    #[serde(default)]
    draft: bool,
    #[serde(default)]
    node_id: String,
    #[serde(default)]
    labels: Vec<Label>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

impl From<Pull> for OpenPull {
    fn from(pull: Pull) -> Self {
        Self {
            number: pull.number,
            url: pull.html_url,
            title: pull.title,
            body: pull.body.unwrap_or_default(),
            labels: pull.labels.into_iter().map(|label| label.name).collect(),
            is_draft: pull.draft,
            id: pull.node_id,
        }
    }
}

impl OpenPull {
    fn is_part(&self) -> bool {
        self.body.contains(PART)
    }
}

impl PullText {
    fn is_part(&self) -> bool {
        self.body.contains(PART)
    }

    /// Returns whether a draft of ours has everything with this.
    fn completes(&self, open: &OpenPull) -> bool {
        open.is_draft && open.is_part() && !self.draft
    }
}

impl Delivery<'_> {
    /// Checks that a part does not take the place of a whole result. Notes the pull request if it has to ask for it.
    pub(super) async fn check_keeps_whole(
        &self,
        api: &Api,
        state: &mut BranchState,
    ) -> Result<(), DeliverError> {
        let Target::Own { pull: Some(text), .. } = &self.target else { return Ok(()) };
        if state.own.is_none() || !text.is_part() {
            return Ok(());
        }
        if matches!(state.pull, KnownPull::Unknown) {
            state.pull = self.open_pull(api).await?.map_or(KnownPull::None, KnownPull::Open);
        }
        match &state.pull {
            KnownPull::Open(open) if !open.is_part() => Err(DeliverError::Whole { url: open.url.clone() }),
            _ => Ok(()),
        }
    }

    /// Opens or updates the pull request of `branch`, which has its commit by now. Returns `None` if
    /// none is wanted.
    pub(super) async fn pull_of(
        &self,
        api: &Api,
        branch: &str,
        known: &KnownPull,
        is_new: bool,
    ) -> Result<Option<DeliveredPull>, DeliverError> {
        let no_pull = |error| DeliverError::NoPull { branch: branch.to_owned(), error };
        self.pull(api, known, is_new).await.map_err(no_pull)
    }

    /// Returns the open pull request of our own branch.
    async fn open_pull(&self, api: &Api) -> Result<Option<OpenPull>, ApiError> {
        let Target::Own { branch, onto, .. } = &self.target else { return Ok(None) };
        let head = format!("{}:{branch}", api.owner());
        let head = in_query(&head);
        let base = in_query(onto);
        let list = format!("/pulls?state=open&head={head}&base={base}");
        Ok(api.find(&list, PULLS, Some::<Pull>).await?.map(OpenPull::from))
    }

    /// Opens the pull request, or updates the title and description of the one that is open.
    /// Where the commit is not new, one that is `known` keeps its description, which only names another run.
    async fn pull(
        &self,
        api: &Api,
        known: &KnownPull,
        is_new: bool,
    ) -> Result<Option<DeliveredPull>, ApiError> {
        let Target::Own { branch, onto, pull: Some(text) } = &self.target else { return Ok(None) };
        let known_open = match known {
            KnownPull::Open(open) => Some(open),
            KnownPull::Unknown | KnownPull::None => None,
        };
        let is_same = |open: &OpenPull| {
            open.title == text.title && (!is_new || open.body == text.body) && !text.completes(open)
        };
        let has_labels = |open: &OpenPull| text.labels.iter().all(|label| open.labels.contains(label));
        if let Some(open) = known_open.filter(|open| is_same(open) && has_labels(open)) {
            return Ok(Some(DeliveredPull { number: open.number, url: open.url.clone(), not_ready: None }));
        }
        let (mut tries, mut not_ready) = (0, None);
        let (number, url) = loop {
            tries += 1;
            let found = match (known_open, known) {
                (Some(open), _) => Some(open.clone()),
                (None, KnownPull::None) if tries == 1 => None,
                (None, _) => self.open_pull(api).await?,
            };
            if let Some(found) = found {
                // First, because the description says whether it was a part.
                if text.completes(&found) {
                    not_ready = mark_ready(api, &found).await?;
                }
                let body = json!({"title": text.title, "body": text.body});
                let path = format!("/pulls/{}", found.number);
                api.send::<Value>(Method::Patch, &path, Some(&body), PULLS).await?;
                break (found.number, found.url);
            }
            let body = json!({
                "title": text.title, "body": text.body, "head": branch, "base": onto, "draft": text.draft
            });
            match api.send::<Pull>(Method::Post, "/pulls", Some(&body), PULLS).await {
                // The response was lost; the pull request may exist anyway.
                Err(ApiError::Unclear { .. }) if tries < MAX_TRIES => {}
                // Somebody has opened it since it was requested.
                Err(ApiError::Refused { status: 422, .. })
                    if matches!(known, KnownPull::None) && tries == 1 => {}
                answer => {
                    let made = answer?;
                    break (made.number, made.html_url);
                }
            }
        };
        if !text.labels.is_empty() && !known_open.is_some_and(has_labels) {
            let body = json!({ "labels": text.labels });
            let path = format!("/issues/{number}/labels");
            api.send::<Value>(Method::PostAgain, &path, Some(&body), LABEL).await?;
        }
        Ok(Some(DeliveredPull { number, url, not_ready }))
    }
}

/// Marks a draft as ready. Returns why if GitHub refuses that: the draft can have everything all the same, and people can mark it.
async fn mark_ready(api: &Api, draft: &OpenPull) -> Result<Option<String>, ApiError> {
    match api.mutate(MARK_READY, json!({ "id": draft.id }), READY).await {
        Ok(_) => Ok(None),
        Err(error @ (ApiError::Forbidden { .. } | ApiError::Refused { .. })) => Ok(Some(error.to_string())),
        Err(error) => Err(error),
    }
}
