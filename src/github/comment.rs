//! The sticky comment: one per key, found by its marker *and* its author, updated in place.

use std::time::Duration;

use octocrab::Octocrab;
use octocrab::models::issues::Comment;
use serde::Deserialize;
use serde_json::json;

use super::environment::{Environment, Subject};
use crate::model::http_client;

/// Comments of one page.
const PAGE: u8 = 100;

/// Why the comment was not posted.
#[derive(Debug, thiserror::Error)]
pub enum CommentError {
    /// The token may not.
    #[error("the token must not comment ({message}); give the job `permissions: {permission}: write`{fork}")]
    Forbidden {
        /// What GitHub said.
        message: String,
        /// What is missing.
        permission: &'static str,
        /// A word on forks.
        fork: &'static str,
    },
    /// The token is wrong.
    #[error("GitHub refused the token ({0}); check `github-token`")]
    Unauthorized(String),
    /// Anything else.
    #[error("the comment could not be posted: {0}")]
    Failed(String),
}

/// Creates or updates the comment; answers with its address.
pub async fn post_comment(
    environment: &Environment,
    token: &str,
    number: u64,
    marker: &str,
    body: &str,
) -> Result<String, CommentError> {
    let wrap = |error: octocrab::Error| describe(environment, &error);
    let client = client(&environment.api_url, token).map_err(CommentError::Failed)?;
    let issues = client.issues(&environment.owner, &environment.repository);
    let author = author(environment, token).await?;
    let mut page = issues.list_comments(number).per_page(PAGE).send().await.map_err(wrap)?;
    loop {
        if let Some(own) = page.items.iter().find(|comment| is_own(comment, &author, marker)) {
            return update(&client, environment, own, body).await.map_err(wrap);
        }
        match client.get_page::<Comment>(&page.next).await.map_err(wrap)? {
            Some(next) => page = next,
            None => break,
        }
    }
    let created = issues.create_comment(number, body).await.map_err(wrap)?;
    Ok(created.html_url.to_string())
}

pub(super) fn client(base: &str, token: &str) -> Result<Octocrab, String> {
    let http = http_client(Duration::from_secs(30)).map_err(|error| error.to_string())?;
    Octocrab::builder()
        .personal_token(token.to_owned())
        .base_uri(base)
        .and_then(|builder| builder.build_with_reqwest(http))
        .map_err(|error| chain(&error))
}

/// Who we are. `GET /user` is refused to the job's token, GraphQL answers.
async fn author(environment: &Environment, token: &str) -> Result<String, CommentError> {
    #[derive(Deserialize)]
    struct Answer {
        data: Option<Data>,
    }
    #[derive(Deserialize)]
    struct Data {
        viewer: Viewer,
    }
    #[derive(Deserialize)]
    struct Viewer {
        login: String,
    }
    // octocrab puts the base's path before every path, and on GitHub Enterprise Server the two APIs
    // have different ones; so GraphQL gets a client of its own.
    let base = environment.graphql_url.trim_end_matches("/graphql");
    let client = client(base, token).map_err(CommentError::Failed)?;
    let query = json!({"query": "query { viewer { login } }"});
    let answer: Result<Answer, _> = client.post("/graphql", Some(&query)).await;
    match answer {
        Ok(Answer { data: Some(Data { viewer }) }) => Ok(viewer.login),
        Err(error) if is_unauthorized(&error) => Err(describe(environment, &error)),
        // The job's own token always belongs to this bot, even where GraphQL is closed to it.
        _ if token.starts_with("ghs_") => Ok("github-actions[bot]".to_owned()),
        Err(error) => Err(describe(environment, &error)),
        Ok(Answer { data: None }) => {
            Err(CommentError::Failed("GitHub did not say whose the token is".to_owned()))
        }
    }
}

/// Anybody can write the marker; only the author shows that the comment is ours.
fn is_own(comment: &Comment, author: &str, marker: &str) -> bool {
    let same = bare(&comment.user.login) == bare(author);
    same && comment.body.as_deref().is_some_and(|body| body.starts_with(marker))
}

/// REST names bots with a suffix that GraphQL leaves out in places.
fn bare(login: &str) -> String {
    login.trim_end_matches("[bot]").to_lowercase()
}

async fn update(
    client: &Octocrab,
    environment: &Environment,
    comment: &Comment,
    body: &str,
) -> Result<String, octocrab::Error> {
    let Environment { owner, repository, .. } = environment;
    // octocrab's own `update_comment` sends POST where PATCH is documented.
    let route = format!("/repos/{owner}/{repository}/issues/comments/{}", comment.id);
    let updated: Comment = client.patch(route, Some(&json!({ "body": body }))).await?;
    Ok(updated.html_url.to_string())
}

fn is_unauthorized(error: &octocrab::Error) -> bool {
    matches!(error, octocrab::Error::GitHub { source, .. } if source.status_code == 401)
}

fn describe(environment: &Environment, error: &octocrab::Error) -> CommentError {
    let octocrab::Error::GitHub { source, .. } = error else {
        return CommentError::Failed(chain(error));
    };
    let message = source.message.clone();
    match source.status_code.as_u16() {
        401 => CommentError::Unauthorized(message),
        403 if message.contains("not accessible") => {
            let (permission, fork) = match environment.subject {
                Subject::PullRequest { fork: true, .. } => (
                    "pull-requests",
                    "; on pull requests from forks the token can only read whatever the job asks for",
                ),
                Subject::PullRequest { .. } => ("pull-requests", ""),
                _ => ("issues", ""),
            };
            CommentError::Forbidden { message, permission, fork }
        }
        status => CommentError::Failed(format!("{message} ({status})")),
    }
}

/// An error with its causes.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        source = cause.source();
    }
    text
}
