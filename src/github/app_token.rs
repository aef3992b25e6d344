//! Tokens of a GitHub App: each for one repository and with no more permissions than needed, or for reading all of an account.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::api::Api;
use super::environment::{Environment, Subject};
use super::error::ApiError;
use super::operation::{Method, Purpose};
use super::repository_name::RepositoryName;
use crate::base::clock::unix_seconds;

/// How long a token is used. GitHub's own are valid for an hour.
const USED: Duration = Duration::from_mins(50);

/// How long the app's own proof is valid, in seconds; GitHub accepts ten minutes.
const PROOF: u64 = 540;

const INSTALLATION: Purpose =
    Purpose { doing: "find the app's installation", permission: "an installation of the app" };
const TOKEN: Purpose = Purpose { doing: "get a token of the app", permission: "an installation of the app" };

/// What a token is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Permissions {
    /// To read repositories, pull requests and checks of the account.
    Read,
    /// To deliver to one repository.
    Write,
}

/// Error for a private key.
#[derive(Debug, thiserror::Error)]
pub enum AppError {
    /// It cannot be read.
    #[error("could not read the private key of the app: {0}; use the PEM file that GitHub generated")]
    Key(String),
    /// A request failed.
    #[error(transparent)]
    Api(#[from] ApiError),
}

/// The tokens of an app.
pub struct AppTokens {
    id: String,
    key: RsaKeyPair,
    environment: Environment,
    known: Mutex<BTreeMap<(String, Permissions), (String, Instant)>>,
}

impl std::fmt::Debug for AppTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppTokens").field("id", &self.id).finish_non_exhaustive()
    }
}

impl AppTokens {
    /// Reads the private key.
    pub fn new(id: &str, pem: &str, environment: &Environment) -> Result<Self, AppError> {
        let failed = |error: &dyn std::fmt::Display| AppError::Key(error.to_string());
        let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|error| failed(&error))?;
        let key = match &key {
            PrivateKeyDer::Pkcs1(key) => RsaKeyPair::from_der(key.secret_pkcs1_der()),
            PrivateKeyDer::Pkcs8(key) => RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()),
            _ => return Err(AppError::Key("it is not an RSA key".to_owned())),
        };
        let key = key.map_err(|error| failed(&error))?;
        Ok(Self { id: id.to_owned(), key, environment: environment.clone(), known: Mutex::default() })
    }

    /// Returns a token for a repository, or with [`Permissions::Read`] for all of its account.
    pub async fn token(
        &self,
        repository: &RepositoryName,
        permissions: Permissions,
    ) -> Result<String, AppError> {
        let scope = match permissions {
            Permissions::Read => repository.owner().to_owned(),
            Permissions::Write => repository.to_string(),
        };
        let mut known = self.known.lock().await;
        if let Some((token, since)) = known.get(&(scope.clone(), permissions))
            && since.elapsed() < USED
        {
            return Ok(token.clone());
        }
        let token = self.ask(repository, permissions).await?;
        known.insert((scope, permissions), (token.clone(), Instant::now()));
        Ok(token)
    }

    /// Returns a token for reading all of an account; `None` if the app is not installed there.
    pub async fn token_of(&self, account: &str) -> Result<Option<String>, AppError> {
        let key = (account.to_ascii_lowercase(), Permissions::Read);
        let mut known = self.known.lock().await;
        if let Some((token, since)) = known.get(&key)
            && since.elapsed() < USED
        {
            return Ok(Some(token.clone()));
        }
        let environment = Environment { token: Some(self.proof()?), ..self.environment.clone() };
        let api = Api::new(&environment)?.for_results();
        let mut installation = None;
        // Not every account is an organization.
        for path in [format!("/orgs/{account}/installation"), format!("/users/{account}/installation")] {
            match api.send_outside::<Installation>(Method::Get, &path, None, INSTALLATION).await {
                Ok(found) => installation = Some(found),
                Err(error) if error.is_missing() => continue,
                Err(error) => return Err(error.into()),
            }
            break;
        }
        let Some(Installation { id }) = installation else { return Ok(None) };
        let token = token(&api, id, &readable()).await?;
        known.insert(key, (token.clone(), Instant::now()));
        Ok(Some(token))
    }

    async fn ask(&self, repository: &RepositoryName, permissions: Permissions) -> Result<String, AppError> {
        let environment = self.environment.of_repository(repository, Some(self.proof()?));
        let api = Api::new(&environment)?.for_results();
        let Installation { id } = api.get("/installation", INSTALLATION).await?;
        if permissions == Permissions::Read {
            return Ok(token(&api, id, &readable()).await?);
        }
        let writes = json!({
            "repositories": [repository.name()],
            "permissions": {"contents": "write", "pull_requests": "write", "issues": "write", "workflows": "write"}
        });
        match token(&api, id, &writes).await {
            // Most apps may not change workflows, and most campaigns do not.
            Err(error) if error.status() == Some(422) => {
                let writes = json!({
                    "repositories": [repository.name()],
                    "permissions": {"contents": "write", "pull_requests": "write"}
                });
                Ok(token(&api, id, &writes).await?)
            }
            answer => Ok(answer?),
        }
    }

    /// Returns what the app proves with that it is itself: a JSON Web Token, signed by RS256.
    fn proof(&self) -> Result<String, AppError> {
        let now = unix_seconds();
        // GitHub's clock may be behind.
        let claims = json!({"iat": now.saturating_sub(60), "exp": now + PROOF, "iss": self.id});
        let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", part(&json!({"alg": "RS256", "typ": "JWT"})), part(&claims));
        let mut signature = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), text.as_bytes(), &mut signature)
            .map_err(|_| AppError::Key("it cannot sign".to_owned()))?;
        Ok(format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

/// An installation of the app.
#[derive(Deserialize)]
struct Installation {
    id: u64,
}

/// Returns what is asked for to read all of an account.
fn readable() -> Value {
    json!({"permissions": {"contents": "read", "pull_requests": "read", "checks": "read", "statuses": "read"}})
}

async fn token(api: &Api, installation: u64, wanted: &Value) -> Result<String, ApiError> {
    #[derive(Deserialize)]
    struct TokenResponse {
        token: String,
    }
    let path = format!("/app/installations/{installation}/access_tokens");
    let TokenResponse { token } = api.send_outside(Method::PostAgain, &path, Some(wanted), TOKEN).await?;
    Ok(token)
}

impl Environment {
    /// Returns the same environment for another repository, about nothing of it in particular.
    #[must_use]
    pub fn of_repository(&self, repository: &RepositoryName, token: Option<String>) -> Self {
        Self {
            owner: repository.owner().to_owned(),
            repository: repository.name().to_owned(),
            subject: Subject::Repository,
            about: None,
            comment: None,
            label: None,
            other_run: None,
            token,
            ..self.clone()
        }
    }
}
