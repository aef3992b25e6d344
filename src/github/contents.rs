//! A file of the repository at a commit, by the API: for clones that do not hold the commit.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::api::{Api, Purpose};
use super::commit::in_path;
use super::error::ApiError;

const READ: Purpose = Purpose { doing: "read a file of the base commit", permission: "contents: read" };

/// A file's content at a commit; `None` where GitHub does not give it in this way (folders, large files).
pub(super) async fn content(
    api: &Api,
    commit: &str,
    path: &str,
    to: Purpose,
) -> Result<Option<Vec<u8>>, ApiError> {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        content: String,
        #[serde(default)]
        encoding: String,
    }
    let address = format!("/contents/{}?ref={commit}", in_path(path));
    let File { content, encoding } = api.get(&address, to).await?;
    let plain: String = content.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    Ok(STANDARD.decode(plain).ok().filter(|_| encoding == "base64"))
}

/// The file's text; `None` where the commit has no such file.
pub async fn file_at(api: &Api, commit: &str, path: &str) -> Result<Option<String>, ApiError> {
    match content(api, commit, path, READ).await {
        Ok(bytes) => {
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            let not_text = || ApiError::Unusable(format!("{path} is not a text file"));
            text.ok_or_else(not_text).map(Some)
        }
        Err(error) if error.status() == Some(404) => {
            // Both a missing file and a missing commit answer so; only the first is good news.
            api.get::<Value>(&format!("/git/commits/{commit}"), READ).await?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
