//! Access to the web for agents that may look things up: pages and search results, as text.
//!
//! Addresses are checked when they are connected to ([`ip_filter`]), at every hop; HTML is parsed in a
//! process of its own ([`page`]).

mod dom;
mod error;
mod fetch_url;
pub mod ip_filter;
pub mod page;
mod web_search;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use tokio_util::sync::CancellationToken;

use crate::base::http::http_client_builder;
use crate::base::public_address::is_public;
use crate::config;
use ip_filter::{FilteringResolver, IpRule};

use error::WebError;
pub use error::{InvalidWeb, PageError};
pub use fetch_url::FetchUrl;
pub use web_search::WebSearch;

/// Maximum number of redirects.
const MAX_HOPS: usize = 5;
/// Maximum size of a page, in bytes.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// Time limit of a page, all hops together.
const MAX_TIME: Duration = Duration::from_secs(20);
/// Maximum length of an address.
const MAX_URL: usize = 2_000;

/// Web client of a run, shared by its tools.
pub struct Web {
    rule: IpRule,
    allowed_hosts: Vec<String>,
    search_url: String,
    cancel: CancellationToken,
    /// Path of this program, which is started to parse pages.
    launcher: PathBuf,
    /// Client for addresses named by the model.
    client: Client,
    /// Client for addresses named by the configuration.
    trusting: Client,
}

type Client = OnceLock<Result<reqwest::Client, Arc<reqwest::Error>>>;

/// Response with a text body.
#[derive(Debug)]
struct Response {
    /// Final address, after redirects.
    url: Url,
    /// Media type without parameters, such as `text/html`.
    kind: String,
    /// Decoded body.
    text: String,
    /// Whether the body was longer than [`MAX_BYTES`].
    cut: bool,
}

/// Who named an address, and so how far it is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NamedBy {
    /// The model, or a redirect.
    Model,
    /// The configuration.
    Configuration,
}

impl Web {
    /// Creates a client for the public internet.
    pub fn new(config: &config::Web, cancel: CancellationToken) -> Result<Self, InvalidWeb> {
        let launcher = std::env::current_exe().map_err(InvalidWeb::Launcher)?;
        Self::with_rule(config, cancel, is_public, launcher)
    }

    /// Creates a client with another rule for which addresses may be connected to; for tests.
    pub fn with_rule(
        config: &config::Web,
        cancel: CancellationToken,
        rule: IpRule,
        launcher: PathBuf,
    ) -> Result<Self, InvalidWeb> {
        let search_url = config.search_url.clone();
        let example = search_url.replace("{query}", "x");
        if example == search_url
            || !Url::parse(&example).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        {
            return Err(InvalidWeb::SearchUrl(search_url));
        }
        let allowed_hosts = config.allowed_hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        Ok(Self {
            rule,
            allowed_hosts,
            search_url,
            cancel,
            launcher,
            client: OnceLock::new(),
            trusting: OnceLock::new(),
        })
    }

    /// Returns the client, which is created when first needed, because that loads root certificates.
    fn client(&self, named_by: NamedBy) -> Result<&reqwest::Client, WebError> {
        let (client, rule): (&Client, IpRule) = match named_by {
            NamedBy::Model => (&self.client, self.rule),
            NamedBy::Configuration => (&self.trusting, |_| true),
        };
        let build = || {
            http_client_builder()
                .timeout(MAX_TIME)
                .redirect(Policy::none())
                // A proxy would resolve names itself, bypassing the rule.
                .no_proxy()
                .dns_resolver(FilteringResolver { rule })
                .build()
                .map_err(Arc::new)
        };
        client.get_or_init(build).as_ref().map_err(|error| WebError::Client(Arc::clone(error)))
    }

    /// Fetches a page, following redirects that are checked one by one.
    async fn get(&self, url: &str, named_by: NamedBy) -> Result<Response, WebError> {
        let work = async {
            let (mut url, mut named_by) = (self.check(url, named_by)?, named_by);
            for _ in 0..=MAX_HOPS {
                let response = self.client(named_by)?.get(url.clone()).send().await?;
                let next = response.headers().get(LOCATION).and_then(|next| next.to_str().ok());
                match next.filter(|_| response.status().is_redirection()) {
                    Some(next) => {
                        let to = next.to_owned();
                        let next = url.join(next).map_err(|error| WebError::InvalidRedirect { to, error })?;
                        let redirected =
                            |error| WebError::Redirect { to: next.to_string(), error: Box::new(error) };
                        named_by = NamedBy::Model;
                        url = self.check(next.as_str(), named_by).map_err(redirected)?;
                    }
                    None => return read(response, url).await,
                }
            }
            Err(WebError::TooManyHops)
        };
        tokio::select! {
            () = self.cancel.cancelled() => Err(WebError::Interrupted),
            answer = tokio::time::timeout(MAX_TIME, work) => {
                answer.unwrap_or(Err(WebError::TooSlow))
            }
        }
    }

    /// Checks an address as far as its text allows; names are checked when they are resolved.
    fn check(&self, text: &str, named_by: NamedBy) -> Result<Url, WebError> {
        if text.len() > MAX_URL {
            return Err(WebError::TooLong);
        }
        let url = Url::parse(text).map_err(|error| WebError::InvalidUrl { text: text.to_owned(), error })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WebError::Userinfo);
        }
        let Some(host) = url.host_str() else { return Err(WebError::NoHost(text.to_owned())) };
        if named_by == NamedBy::Configuration {
            return Ok(url);
        }
        let address = host.trim_matches(['[', ']']).parse();
        if address.is_ok_and(|address| !(self.rule)(address)) {
            return Err(WebError::NotPublic(host.to_owned()));
        }
        let below = |allowed: &String| {
            host == allowed || host.strip_suffix(allowed).is_some_and(|rest| rest.ends_with('.'))
        };
        if !self.allowed_hosts.is_empty() && !self.allowed_hosts.iter().any(below) {
            let allowed = self.allowed_hosts.join(", ");
            return Err(WebError::NotAllowed { host: host.to_owned(), allowed });
        }
        Ok(url)
    }
}

/// Reads a successful response with a text body, up to [`MAX_BYTES`].
async fn read(mut response: reqwest::Response, url: Url) -> Result<Response, WebError> {
    let status = response.status();
    if !status.is_success() {
        return Err(WebError::Status(status));
    }
    let header = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("text/plain")
        .to_ascii_lowercase();
    let kind = header.split(';').next().unwrap_or_default().trim().to_owned();
    if !is_text(&kind) {
        return Err(WebError::NotText(kind));
    }
    let (mut bytes, mut cut) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await? {
        let room = MAX_BYTES - bytes.len();
        cut = chunk.len() > room;
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if cut {
            break;
        }
    }
    let text = page::decode(&bytes, &header);
    Ok(Response { url, kind, text, cut })
}

fn is_text(kind: &str) -> bool {
    let ends = ["json", "xml", "javascript", "yaml", "toml", "x-sh"];
    kind.starts_with("text/")
        || kind.starts_with("application/") && ends.iter().any(|end| kind.ends_with(end))
}

fn is_html(kind: &str) -> bool {
    matches!(kind, "text/html" | "application/xhtml+xml")
}
