//! The web, for agents that may look things up: pages and search results, as text.
//!
//! Addresses are judged when they are connected to ([`address`]), at every hop; what a page does to a parser
//! happens in a process of its own ([`page`]).

pub mod address;
mod dom;
mod fetch_url;
pub mod page;
mod web_search;

use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use tokio_util::sync::CancellationToken;

use crate::config;
use crate::model::http_client_builder;
use address::{Filtered, Rule, is_public};

pub use fetch_url::FetchUrl;
pub use web_search::WebSearch;

/// Redirects that are followed.
const MAX_HOPS: usize = 5;
/// Most bytes of a page.
const MAX_BYTES: usize = 2 * 1024 * 1024;
/// How long a page may take, all hops together.
const MAX_TIME: Duration = Duration::from_secs(20);
/// Most characters of an address.
const MAX_URL: usize = 2_000;

/// The way to the web.
pub struct Web {
    rule: Rule,
    allowed_hosts: Vec<String>,
    search_url: String,
    cancel: CancellationToken,
    /// This program, which reads pages.
    launcher: PathBuf,
    /// For what the model names.
    client: Client,
    /// For what the configuration names.
    trusting: Client,
}

type Client = OnceLock<Result<reqwest::Client, String>>;

/// What came back from an address.
#[derive(Debug)]
struct Answer {
    /// Where it came from in the end.
    url: Url,
    /// `text/html`, without parameters.
    kind: String,
    /// The body, decoded.
    text: String,
    /// Whether there was more.
    cut: bool,
}

/// How far an address may be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trust {
    /// The model has named it.
    Model,
    /// The configuration has.
    Configuration,
}

impl Web {
    /// A way to the public internet; the error names what is wrong in the configuration.
    pub fn new(config: &config::Web, cancel: CancellationToken) -> Result<Self, String> {
        let launcher =
            std::env::current_exe().map_err(|error| format!("could not prepare reading pages: {error}"))?;
        Self::with_rule(config, cancel, is_public, launcher)
    }

    /// The same, with another idea of which addresses are public.
    pub fn with_rule(
        config: &config::Web,
        cancel: CancellationToken,
        rule: Rule,
        launcher: PathBuf,
    ) -> Result<Self, String> {
        let search_url = config.search_url.clone();
        let example = search_url.replace("{query}", "x");
        if example == search_url
            || !Url::parse(&example).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
        {
            return Err(format!(
                "invalid value {search_url:?} for `web.search_url`; use an http or https URL that contains \
                 `{{query}}`"
            ));
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

    /// The client is made when it is first needed: it loads root certificates.
    fn client(&self, trust: Trust) -> Result<&reqwest::Client, String> {
        let (client, rule): (&Client, Rule) = match trust {
            Trust::Model => (&self.client, self.rule),
            Trust::Configuration => (&self.trusting, |_| true),
        };
        let build = || {
            http_client_builder()
                .timeout(MAX_TIME)
                .redirect(Policy::none())
                // A proxy would look names up itself, out of reach of the rule.
                .no_proxy()
                .dns_resolver(Filtered { rule })
                .build()
                .map_err(|error| error.to_string())
        };
        client.get_or_init(build).as_ref().map_err(Clone::clone)
    }

    /// Gets a page, over redirects that are judged one by one; the error is for the model.
    async fn get(&self, url: &str, trust: Trust) -> Result<Answer, String> {
        let work = async {
            let (mut url, mut trust) = (self.judge(url, trust)?, trust);
            for _ in 0..=MAX_HOPS {
                let response =
                    self.client(trust)?.get(url.clone()).send().await.map_err(|error| reason(&error))?;
                let next = response.headers().get(LOCATION).and_then(|next| next.to_str().ok());
                match next.filter(|_| response.status().is_redirection()) {
                    Some(next) => {
                        let next =
                            url.join(next).map_err(|error| format!("it redirects to {next:?}: {error}"))?;
                        let told = |error| format!("it redirects to {next}: {error}");
                        trust = Trust::Model;
                        url = self.judge(next.as_str(), trust).map_err(told)?;
                    }
                    None => return read(response, url).await,
                }
            }
            Err(format!("it redirects more than {MAX_HOPS} times"))
        };
        tokio::select! {
            () = self.cancel.cancelled() => Err("stopped, because the run was interrupted".to_owned()),
            answer = tokio::time::timeout(MAX_TIME, work) => {
                answer.unwrap_or_else(|_| Err(format!("it took longer than {} s", MAX_TIME.as_secs())))
            }
        }
    }

    /// An address that may be asked, as far as it tells by itself; names are judged when they are resolved.
    fn judge(&self, text: &str, trust: Trust) -> Result<Url, String> {
        if text.len() > MAX_URL {
            return Err(format!("the URL is longer than {MAX_URL} characters"));
        }
        let url = Url::parse(text).map_err(|error| format!("invalid URL {text:?}: {error}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err("ACCESS DENIED: only http and https URLs are allowed".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("ACCESS DENIED: URLs with a user name or a password are not allowed".to_owned());
        }
        let Some(host) = url.host_str() else { return Err(format!("{text:?} has no host")) };
        if trust == Trust::Configuration {
            return Ok(url);
        }
        let address = host.trim_matches(['[', ']']).parse();
        if address.is_ok_and(|address| !(self.rule)(address)) {
            return Err(format!("ACCESS DENIED: {host} is not a host on the public internet"));
        }
        let below = |allowed: &String| {
            host == allowed || host.strip_suffix(allowed).is_some_and(|rest| rest.ends_with('.'))
        };
        if !self.allowed_hosts.is_empty() && !self.allowed_hosts.iter().any(below) {
            let list = self.allowed_hosts.join(", ");
            return Err(format!("ACCESS DENIED: {host} is not among web.allowed_hosts ({list})"));
        }
        Ok(url)
    }
}

async fn read(mut response: reqwest::Response, url: Url) -> Result<Answer, String> {
    let status = response.status();
    if !status.is_success() {
        return Err(format!("the server answered with status {status}"));
    }
    let header = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .unwrap_or("text/plain")
        .to_ascii_lowercase();
    let kind = header.split(';').next().unwrap_or_default().trim().to_owned();
    if !is_text(&kind) {
        return Err(format!("it is {kind:?}, not text"));
    }
    let (mut bytes, mut cut) = (Vec::new(), false);
    while let Some(chunk) = response.chunk().await.map_err(|error| reason(&error))? {
        let room = MAX_BYTES - bytes.len();
        cut = chunk.len() > room;
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if cut {
            break;
        }
    }
    let text = page::decode(&bytes, &header);
    Ok(Answer { url, kind, text, cut })
}

fn is_text(kind: &str) -> bool {
    let ends = ["json", "xml", "javascript", "yaml", "toml", "x-sh"];
    kind.starts_with("text/")
        || kind.starts_with("application/") && ends.iter().any(|end| kind.ends_with(end))
}

fn is_html(kind: &str) -> bool {
    matches!(kind, "text/html" | "application/xhtml+xml")
}

/// What went wrong on the way, without the address, which the model knows.
fn reason(error: &reqwest::Error) -> String {
    let mut deepest: &dyn std::error::Error = error;
    while let Some(source) = deepest.source() {
        deepest = source;
    }
    let what = if error.is_timeout() { "it took too long" } else { "could not reach it" };
    let detail = deepest.to_string();
    if detail.contains("not a host on the public internet") {
        format!("ACCESS DENIED: {detail}")
    } else {
        format!("{what}: {detail}")
    }
}
