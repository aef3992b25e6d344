//! Files of the repository at a commit, read by the API, for clones that do not hold the commit.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::api::Api;
use super::error::ApiError;
use super::operation::Purpose;
use super::url_encoding::in_path;

const READ: Purpose = Purpose { doing: "read a file of a commit", permission: "contents: read" };

/// Returns the content of a file at a commit, or `None` if the response does not include it, as for files
/// over 1 MB and submodules.
pub(super) async fn content(
    api: &Api,
    commit: &str,
    path: &str,
    to: Purpose,
) -> Result<Option<Vec<u8>>, ApiError> {
    let address = format!("/contents/{}?ref={commit}", in_path(path));
    Ok(api.get::<Encoded>(&address, to).await?.decoded())
}

/// Returns the content of a blob of up to 100 MB, or `None` if the response does not include it.
pub(super) async fn blob(api: &Api, sha: &str, to: Purpose) -> Result<Option<Vec<u8>>, ApiError> {
    Ok(api.get::<Encoded>(&format!("/git/blobs/{sha}"), to).await?.decoded())
}

/// A content, as the API returns it.
#[derive(Deserialize)]
struct Encoded {
    #[serde(default)]
    content: String,
    #[serde(default)]
    encoding: String,
}

impl Encoded {
    fn decoded(self) -> Option<Vec<u8>> {
        let plain: String = self.content.chars().filter(|c| !c.is_ascii_whitespace()).collect();
        STANDARD.decode(plain).ok().filter(|_| self.encoding == "base64")
    }
}

/// Returns the text of the file at `path`, or `None` if the commit has no such file. A missing commit is an
/// error, and so is a file that is not text.
pub async fn file_at(api: &Api, commit: &str, path: &str) -> Result<Option<String>, ApiError> {
    match content(api, commit, path, READ).await {
        Ok(bytes) => {
            let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
            let not_text = || ApiError::NotText(path.to_owned());
            text.ok_or_else(not_text).map(Some)
        }
        Err(error) if error.status() == Some(404) => {
            // A missing file and a missing commit are both answered by 404; only the first means that there
            // is no file.
            api.get::<Value>(&format!("/git/commits/{commit}"), READ).await?;
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the content of a file at a commit, or `None` if the response does not include it, as for files over 1 MB.
pub async fn content_at(api: &Api, commit: &str, path: &str) -> Result<Option<Vec<u8>>, ApiError> {
    content(api, commit, path, READ).await
}
