//! A file of the repository at a commit, by the API: for clones that do not hold the commit.

use octocrab::Octocrab;
use serde_json::Value;

use super::comment::{chain, client};
use super::environment::Environment;

/// The file's text; `None` where the commit has no such file. Blocks, so it is for the time before the
/// run starts.
pub fn file_at(environment: &Environment, commit: &str, path: &str) -> Result<Option<String>, String> {
    let token = environment.token.as_deref().ok_or("there is no token for GitHub's API")?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let client = client(&environment.api_url, token)?;
        fetch(&client, environment, commit, path).await.map_err(|error| chain(&error))
    })
}

async fn fetch(
    client: &Octocrab,
    environment: &Environment,
    commit: &str,
    path: &str,
) -> Result<Option<String>, octocrab::Error> {
    let Environment { owner, repository, .. } = environment;
    let contents = client.repos(owner, repository).get_content().path(path).r#ref(commit).send().await;
    match contents {
        Ok(mut contents) => {
            Ok(contents.take_items().first().and_then(octocrab::models::repos::Content::decoded_content))
        }
        Err(error) if is_not_found(&error) => {
            // Both a missing file and a missing commit answer so; only the first is good news.
            let _: Value =
                client.get(format!("/repos/{owner}/{repository}/git/commits/{commit}"), None::<&()>).await?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn is_not_found(error: &octocrab::Error) -> bool {
    matches!(error, octocrab::Error::GitHub { source, .. } if source.status_code == 404)
}
