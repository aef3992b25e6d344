//! Files of a pull request.

use serde::Deserialize;

use super::api::Api;
use super::error::ApiError;
use super::operation::Purpose;

/// Most files that GitHub lists of a pull request.
pub(super) const MAX_FILES: usize = 3_000;

const LIST: Purpose =
    Purpose { doing: "list the files of a pull request", permission: "pull-requests: read" };

/// Returns the paths of all files that a pull request changes; of one that it renames, both. Fails if GitHub does not list all.
pub async fn pull_files(api: &Api, number: u64) -> Result<Vec<String>, ApiError> {
    #[derive(Deserialize)]
    struct File {
        filename: String,
        previous_filename: Option<String>,
    }
    let files: Vec<File> = api.list(&format!("/pulls/{number}/files"), LIST).await?;
    if files.len() >= MAX_FILES {
        return Err(ApiError::TooManyFiles { number, listed: MAX_FILES });
    }
    Ok(files.into_iter().flat_map(|file| [Some(file.filename), file.previous_filename]).flatten().collect())
}
