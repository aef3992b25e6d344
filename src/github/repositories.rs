//! Lists of repositories: of an account, and by GitHub's search.

use serde::Deserialize;

use super::api::Api;
use super::error::ApiError;
use super::operation::Purpose;
use super::repository_name::RepositoryName;
use super::url_encoding::in_query;

const LIST: Purpose = Purpose { doing: "list repositories", permission: "metadata: read" };

#[derive(Deserialize)]
struct Listed {
    full_name: String,
    #[serde(default)]
    topics: Vec<String>,
}

/// Returns the repositories of an organization or a person that have all of these topics.
pub async fn repositories_of(
    api: &Api,
    account: &str,
    topics: &[String],
) -> Result<RepositoryList, ApiError> {
    match list(api, &format!("/orgs/{account}/repos?type=all"), topics).await {
        // Not an organization.
        Err(error) if error.is_missing() => list(api, &format!("/users/{account}/repos"), topics).await,
        answer => answer,
    }
}

async fn list(api: &Api, path: &str, topics: &[String]) -> Result<RepositoryList, ApiError> {
    let mut found = RepositoryList { repositories: Vec::new(), total: 0 };
    let has = |listed: &Listed| {
        topics.iter().all(|topic| listed.topics.iter().any(|own| own.eq_ignore_ascii_case(topic)))
    };
    api.pages(path, LIST, |page: Vec<Listed>| {
        found.total += page.len() as u64;
        let wanted = page.iter().filter(|listed| has(listed));
        found.repositories.extend(wanted.filter_map(|listed| listed.full_name.parse().ok()));
        None::<()>
    })
    .await?;
    Ok(found)
}

/// Entries of a list that are read at most.
pub const MAX_LISTED: u64 = 10_000;

/// What was found.
#[derive(Debug)]
pub struct RepositoryList {
    /// The repositories: of a search, at most 1,000; of a list, those wanted among the first [`MAX_LISTED`].
    pub repositories: Vec<RepositoryName>,
    /// How many a search finds in all, or how many of a list were read.
    pub total: u64,
}

/// Searches for repositories.
pub async fn search(api: &Api, query: &str) -> Result<RepositoryList, ApiError> {
    #[derive(Deserialize)]
    struct Page {
        total_count: u64,
        items: Vec<Listed>,
    }
    let query = in_query(query);
    let mut found = RepositoryList { repositories: Vec::new(), total: 0 };
    api.pages(&format!("/search/repositories?q={query}"), LIST, |page: Page| {
        found.total = page.total_count;
        found.repositories.extend(page.items.iter().filter_map(|listed| listed.full_name.parse().ok()));
        None::<()>
    })
    .await?;
    Ok(found)
}
