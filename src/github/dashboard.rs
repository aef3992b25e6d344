//! An issue that this program keeps up to date, found by a marker and its author, and the orders that people give there.

use serde::Deserialize;
use serde_json::json;

use super::api::Api;
use super::error::ApiError;
use super::login::{Login, is_same_login};
use super::operation::{Method, Purpose};
use super::sticky_comment::may_write;
use super::url_encoding::in_query;

const READ: Purpose = Purpose { doing: "read the dashboard", permission: "issues: read" };
const WRITE: Purpose = Purpose { doing: "write the dashboard", permission: "issues: write" };

#[derive(Deserialize)]
struct Issue {
    number: u64,
    html_url: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    body: Option<String>,
    user: Option<Login>,
    #[serde(default)]
    pull_request: Option<serde_json::Value>,
}

/// The issue that shows how something stands.
#[derive(Clone, Debug)]
pub struct Dashboard {
    /// Its number.
    pub number: u64,
    /// Its address.
    pub url: String,
    title: String,
    body: String,
}

impl Dashboard {
    /// Finds the issue that starts with `marker` and is by `login`; `known` is where it was last.
    pub async fn find(
        api: &Api,
        known: Option<u64>,
        marker: &str,
        login: &str,
    ) -> Result<Option<Self>, ApiError> {
        let is_it = |issue: Issue| {
            let is_ours = issue.user.as_ref().is_some_and(|user| is_same_login(&user.login, login));
            let body = issue.body.unwrap_or_default();
            let is_marked = body.starts_with(marker) && issue.pull_request.is_none();
            let Issue { number, html_url: url, title, .. } = issue;
            (is_ours && is_marked).then_some(Self { number, url, title, body })
        };
        if let Some(number) = known {
            match api.get::<Issue>(&format!("/issues/{number}"), READ).await {
                Ok(issue) => {
                    if let Some(found) = is_it(issue) {
                        return Ok(Some(found));
                    }
                }
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error),
            }
        }
        let creator = in_query(login);
        api.find(&format!("/issues?state=all&creator={creator}"), READ, is_it).await
    }

    /// Opens the issue. Sent once: one that was lost on the way is found later.
    pub async fn open(api: &Api, title: &str, body: &str) -> Result<Self, ApiError> {
        let request = json!({"title": title, "body": body});
        let made: Issue = api.send(Method::Post, "/issues", Some(&request), WRITE).await?;
        let (title, body) = (title.to_owned(), body.to_owned());
        Ok(Self { number: made.number, url: made.html_url, title, body })
    }

    /// Changes title and text, if they differ.
    pub async fn update(&self, api: &Api, title: &str, body: &str) -> Result<(), ApiError> {
        if self.title == title && self.body == body {
            return Ok(());
        }
        let request = json!({"title": title, "body": body});
        let path = format!("/issues/{}", self.number);
        api.send::<Issue>(Method::Patch, &path, Some(&request), WRITE).await.map(drop)
    }

    /// Returns the newest comment that says `order`, is newer than `last`, and is by somebody who may write to the
    /// repository.
    pub async fn order(&self, api: &Api, order: &str, last: u64) -> Result<Option<u64>, ApiError> {
        #[derive(Deserialize)]
        struct Comment {
            id: u64,
            #[serde(default)]
            body: Option<String>,
            user: Option<Login>,
        }
        let comments: Vec<Comment> = api.list(&format!("/issues/{}/comments", self.number), READ).await?;
        let says = |comment: &Comment| {
            let first = comment.body.as_deref().unwrap_or_default().lines().next().unwrap_or_default();
            first.trim() == order
        };
        for comment in comments.into_iter().rev().filter(|comment| comment.id > last) {
            if says(&comment)
                && let Some(user) = &comment.user
                && !user.login.ends_with("[bot]")
                && may_write(api, &user.login).await?
            {
                return Ok(Some(comment.id));
            }
        }
        Ok(None)
    }
}
