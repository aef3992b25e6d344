//! Permissions of a token, as far as they can be found out without writing anything.

use serde::Deserialize;
use serde_json::Value;

use super::api::Api;
use super::environment::Environment;
use super::error::ApiError;
use super::operation::Purpose;

const REPOSITORY: Purpose = Purpose { doing: "read the repository", permission: "contents: read" };
const PULLS: Purpose = Purpose { doing: "list the pull requests", permission: "pull-requests: read" };
const COMMENTS: Purpose = Purpose { doing: "read the comments", permission: "issues: read" };
const ARTIFACTS: Purpose = Purpose { doing: "read the run's artifacts", permission: "actions: read" };

/// The result of asking GitHub.
#[derive(Debug)]
pub struct Access {
    /// Whether the token may write to the repository; `None` if GitHub does not say.
    pub writes: Option<bool>,
    /// What the token is not allowed to read, or what else went wrong.
    pub problems: Vec<ApiError>,
}

/// Asks GitHub what the token may read, each in one request, and whether it may write.
pub async fn access(api: &Api, environment: &Environment) -> Access {
    #[derive(Deserialize)]
    struct Repository {
        #[serde(default)]
        permissions: Option<Permissions>,
    }
    #[derive(Deserialize)]
    struct Permissions {
        push: bool,
    }
    let mut problems = Vec::new();
    let writes = match api.get::<Repository>("", REPOSITORY).await {
        Ok(repository) => repository.permissions.map(|permissions| permissions.push),
        Err(error) => {
            problems.push(error);
            None
        }
    };
    let comments = environment.number().map(|number| format!("/issues/{number}/comments?per_page=1"));
    let artifacts = environment.run_id.map(|run| format!("/actions/runs/{run}/artifacts?per_page=1"));
    let asked = [
        (Some("/pulls?state=open&per_page=1".to_owned()), PULLS),
        (comments, COMMENTS),
        (artifacts, ARTIFACTS),
    ];
    for (path, purpose) in asked {
        let Some(path) = path else { continue };
        problems.extend(api.get::<Value>(&path, purpose).await.err());
    }
    Access { writes, problems }
}
