//! Permission to weaken tests: a label of the pull request or issue, or a trailer of its head commit.
//!
//! People who may open a pull request write its commits, and people who may triage set labels. So a label counts if the person
//! who has set it last may write to the repository and has seen the head commit, and a trailer if GitHub has verified that
//! the commit was signed by such a person. The author's name in a commit counts for nothing.

use serde::Deserialize;
use time::OffsetDateTime;

use super::api::Api;
use super::environment::{Environment, Subject, moment};
use super::error::ApiError;
use super::operation::Purpose;
use super::sticky_comment::may_write;

const EVENTS: Purpose = Purpose { doing: "read who set a label", permission: "issues: read" };
const COMMIT: Purpose = Purpose { doing: "read the head commit", permission: "contents: read" };

#[derive(Deserialize)]
struct IssueEvent {
    event: String,
    #[serde(default)]
    actor: Option<Account>,
    #[serde(default)]
    label: Option<Label>,
    #[serde(default)]
    created_at: Option<String>,
}

#[derive(Deserialize)]
struct Account {
    login: String,
    #[serde(rename = "type", default)]
    kind: String,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

#[derive(Deserialize)]
struct CommitResponse {
    commit: Signed,
    #[serde(default)]
    committer: Option<Account>,
}

#[derive(Deserialize)]
struct Signed {
    message: String,
    #[serde(default)]
    verification: Option<Verification>,
}

#[derive(Deserialize)]
struct Verification {
    verified: bool,
}

/// What a label says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LabelPermission {
    /// A person with this login permits it.
    By(String),
    /// Such a person has set it, perhaps before the head commit was pushed.
    MaybeOlder,
    /// Nobody permits it.
    None,
}

/// Which labels count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelsSince {
    /// All of them.
    Ever,
    /// Those that were set after this time.
    After(OffsetDateTime),
    /// None, because it is not known since when the head commit has been there.
    Never,
}

impl LabelsSince {
    /// Returns since when a label is about the head of an event's pull request. A push may come at any time after
    /// a label was set. An issue has no head, and an event about the label itself contains the head, too.
    pub fn of(environment: &Environment, label: &str) -> Self {
        let sets_it = || {
            environment.event.starts_with("pull_request")
                && environment.action.as_deref() == Some("labeled")
                && environment.label.as_ref().is_some_and(|set| set.eq_ignore_ascii_case(label))
        };
        match &environment.subject {
            Subject::PullRequest { head, .. } if !sets_it() => {
                head.as_ref().and_then(|head| head.pushed_at).map_or(Self::Never, Self::After)
            }
            _ => Self::Ever,
        }
    }

    fn has(self, event: &IssueEvent) -> bool {
        match self {
            Self::Ever => true,
            Self::Never => false,
            Self::After(time) => event.created_at.as_deref().and_then(moment).is_some_and(|set| set > time),
        }
    }
}

/// Returns whether a label that is set permits it: the person who has set it may write to the repository.
pub async fn label_set_by_writer(
    api: &Api,
    number: u64,
    label: &str,
    since: LabelsSince,
) -> Result<LabelPermission, ApiError> {
    let is_it = |other: &Label| other.name.eq_ignore_ascii_case(label);
    // Events beyond the list's limit are not seen, so they alone do not say that the label is still there.
    let labels: Vec<Label> = api.list(&format!("/issues/{number}/labels"), EVENTS).await?;
    if !labels.iter().any(is_it) {
        return Ok(LabelPermission::None);
    }
    let events: Vec<IssueEvent> = api.list(&format!("/issues/{number}/events"), EVENTS).await?;
    let last = events.into_iter().rev().find(|event| {
        matches!(event.event.as_str(), "labeled" | "unlabeled") && event.label.as_ref().is_some_and(is_it)
    });
    let Some(last) = last.filter(|event| event.event == "labeled") else { return Ok(LabelPermission::None) };
    let is_late_enough = since.has(&last);
    Ok(match writer(api, last.actor).await? {
        Some(login) if is_late_enough => LabelPermission::By(login),
        Some(_) => LabelPermission::MaybeOlder,
        None => LabelPermission::None,
    })
}

/// Returns the login of the person who has signed a commit with such a trailer, if that person may write to the repository.
pub async fn trailer_signed_by_writer(
    api: &Api,
    commit: &str,
    trailer: &str,
) -> Result<Option<String>, ApiError> {
    if commit.is_empty() || !commit.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Ok(None);
    }
    let found: CommitResponse = api.get(&format!("/commits/{commit}"), COMMIT).await?;
    let is_signed = found.commit.verification.is_some_and(|verification| verification.verified);
    if !is_signed || !has_trailer(&found.commit.message, trailer) {
        return Ok(None);
    }
    // What GitHub signs for others says nothing about who wrote it; its account may write nowhere.
    writer(api, found.committer).await
}

async fn writer(api: &Api, account: Option<Account>) -> Result<Option<String>, ApiError> {
    match account.filter(|account| account.kind == "User") {
        Some(account) if may_write(api, &account.login).await? => Ok(Some(account.login)),
        _ => Ok(None),
    }
}

/// Returns whether the last paragraph of a message, which is not its subject, has a line `Trailer: some text`.
fn has_trailer(message: &str, trailer: &str) -> bool {
    let message = message.replace("\r\n", "\n");
    let Some((_, last)) = message.trim_end().rsplit_once("\n\n") else { return false };
    last.lines().any(|line| {
        line.split_once(':')
            .is_some_and(|(name, value)| name.eq_ignore_ascii_case(trailer) && !value.trim().is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailer_stands_in_the_last_paragraph() {
        for (message, expected) in [
            ("subject\n\nTests-May-Change: the feature goes\n", true),
            ("subject\n\nbody\n\ntests-may-change: yes\nSigned-off-by: a\n", true),
            ("subject\r\n\r\nTests-May-Change: yes\r\n", true),
            ("subject\n\nTests-May-Change: yes\n\nmore\n", false),
            ("Tests-May-Change: yes\n", false),
            ("subject\n\nTests-May-Change:\n", false),
            ("subject\n\nNot-Tests-May-Change: yes\n", false),
            ("subject\n\n> Tests-May-Change: yes\n", false),
        ] {
            assert_eq!(has_trailer(message, "Tests-May-Change"), expected, "{message:?}");
        }
    }
}
