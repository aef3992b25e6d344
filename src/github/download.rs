//! Downloads of files that GitHub keeps elsewhere.

use super::api::{Api, MAX_TIME};
use super::error::{ApiError, chain};
use super::operation::{Method, Purpose};

impl Api {
    /// Downloads a file of at most `limit` bytes from wherever GitHub redirects to. The token is not sent
    /// there, because it is for GitHub alone.
    pub(super) async fn download(&self, path: &str, limit: usize, to: Purpose) -> Result<Vec<u8>, ApiError> {
        let answer = self.request(Method::Get, &format!("{}{path}", self.repository), None, to).await?;
        let place = answer.headers.get("location").and_then(|place| place.to_str().ok());
        let Some(place) = place else { return Ok(answer.body.into_bytes()) };
        let fetched = self.in_time(tokio::time::timeout(MAX_TIME, self.fetch(place, limit, to))).await;
        let fetched = fetched.map_err(ApiError::CutOff)?;
        fetched.unwrap_or_else(|_| Err(ApiError::too_long(to.doing, MAX_TIME)))
    }

    async fn fetch(&self, place: &str, limit: usize, to: Purpose) -> Result<Vec<u8>, ApiError> {
        let unclear =
            |error: &dyn std::error::Error| ApiError::Unclear { doing: to.doing, message: chain(error) };
        let sent = self.http.get(place).send().await;
        let mut response = sent.map_err(|error| unclear(&error.without_url()))?;
        let status = response.status();
        if !status.is_success() {
            let message = "could not download it from the address that GitHub gave".to_owned();
            return Err(ApiError::Refused { doing: to.doing, status: status.as_u16(), message });
        }
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| unclear(&error.without_url()))? {
            bytes.extend(chunk);
            if bytes.len() > limit {
                let message = format!("it is larger than {} MB", limit / 1_000_000);
                return Err(ApiError::Refused { doing: to.doing, status: 413, message });
            }
        }
        Ok(bytes)
    }
}
