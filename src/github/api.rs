//! GitHub's API for one repository: a client on top of octocrab that waits where GitHub asks for it, and
//! repeats requests where that does no harm.
//!
//! Responses are read into types of our own that hold no more than is needed, so that those of another
//! version of GitHub still fit.

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use octocrab::Octocrab;
use reqwest::header::HeaderMap;
use reqwest::redirect::Policy;
use serde::de::DeserializeOwned;
use serde_json::Value;
use time::format_description::well_known::Rfc3339;
use tokio::sync::OnceCell;

use super::environment::{Environment, Subject};
use super::error::{ApiError, chain};
use super::operation::{Method, Purpose};
use super::pace::{MAX_WAIT, Pace, TooLong, resource_of, writes};
use super::quotas::Resource;
use super::response::{Broken, Failure, Resend, Response, limited, next_page, read_body};
use crate::base::backoff::doubling;
use crate::base::clock::after;
use crate::base::http::http_client_builder;
use crate::base::network_clock::{CutOff, NetworkClock, Stage};
use crate::base::verbose_log::detail;

/// The path of the GraphQL API, below its base.
pub(super) const GRAPHQL: &str = "/graphql";

/// The number of items on one page of a list.
pub(super) const PAGE: u8 = 100;

/// Maximum number of pages of one list: ten thousand items.
const MAX_PAGES: u32 = 100;

/// Maximum number of times that a request is sent.
const MAX_SENT: u32 = 4;

/// The same where each time but the last was refused for a rate limit, as many machines may share the token.
const MAX_TURNS: u32 = 12;

/// The delays after server errors.
const DELAYS: ExponentialBuilder = doubling(Duration::from_millis(400), Duration::from_secs(10));

/// How long to wait for data from the server.
const SILENCE: Duration = Duration::from_secs(30);

/// How long a request may take until its whole answer is there, whatever the server does meanwhile.
pub(super) const MAX_TIME: Duration = Duration::from_mins(5);

/// A client for one repository.
#[derive(Clone, Debug)]
pub struct Api {
    client: Octocrab,
    /// octocrab puts the path of the base URL before every path, and on GitHub Enterprise Server the two
    /// APIs have different ones.
    graphql: Octocrab,
    pub(super) http: reqwest::Client,
    /// The base URL of the REST API.
    base: String,
    /// `/repos/OWNER/REPOSITORY`
    pub(super) repository: String,
    owner: String,
    name: String,
    token: Token,
    from_fork: bool,
    pace: Arc<Pace>,
    /// When all of its requests end, and what they are for.
    clock: NetworkClock,
    stage: Stage,
    /// The id by which mutations name the repository, once it is known.
    pub(super) node_id: Arc<OnceCell<String>>,
}

/// The kind of a token, as far as its text shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// The token of a job, or of another installation of an app.
    Installation,
    Other,
}

impl Api {
    /// Creates a client with the job's token; sends no request. Must be called within a Tokio runtime.
    pub fn new(environment: &Environment) -> Result<Self, ApiError> {
        let token = environment.token.as_ref().ok_or(ApiError::NoToken)?;
        // Redirects are followed by hand, because some lead to hosts that must not see the token.
        let http = http_client_builder().read_timeout(SILENCE).redirect(Policy::none()).build();
        let http = http.map_err(|error| ApiError::NoClient(chain(&error)))?;
        let client = |base: &str| {
            Octocrab::builder()
                .personal_token(token.clone())
                .base_uri(base)
                .and_then(|builder| builder.build_with_reqwest(http.clone()))
                .map_err(|error| ApiError::NoClient(chain(&error)))
        };
        let Environment { owner, repository, api_url, graphql_url, .. } = environment;
        let installation = token.starts_with("ghs_");
        Ok(Self {
            client: client(api_url)?,
            graphql: client(graphql_url.trim_end_matches(GRAPHQL))?,
            http,
            base: api_url.clone(),
            repository: format!("/repos/{owner}/{repository}"),
            owner: owner.clone(),
            name: repository.clone(),
            token: if installation { Token::Installation } else { Token::Other },
            pace: Pace::of(api_url, token, environment.share.as_ref()),
            clock: environment.clock.clone(),
            stage: Stage::Work,
            node_id: Arc::default(),
            // Only a pull request known to come from a fork counts.
            from_fork: matches!(environment.subject, Subject::PullRequest { fork: true, head: Some(_), .. }),
        })
    }

    /// Returns the same client for what tells of the end of the work: its requests have a short time more.
    #[must_use]
    pub fn for_results(&self) -> Self {
        Self { stage: Stage::Results, ..self.clone() }
    }

    /// Waits for something that belongs to requests, but not beyond the time that these have.
    pub async fn in_time<T>(&self, work: impl Future<Output = T>) -> Result<T, CutOff> {
        self.clock.within(self.stage, work).await
    }

    /// Waits until nobody else in this process changes a branch with the same token. Nobody does until the result is dropped.
    pub(super) async fn alone_on(&self, branch: &str) -> Result<impl Drop + use<>, CutOff> {
        let branch = format!("{} {branch}", self.repository);
        self.in_time(self.pace.alone_on(&branch)).await
    }

    /// Returns the owner of the repository.
    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns whether the token is that of a job, or of another installation of an app.
    pub(super) fn is_of_installation(&self) -> bool {
        self.token == Token::Installation
    }

    /// Returns the name of the repository.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Fetches something below the repository's path.
    pub(super) async fn get<T: DeserializeOwned>(&self, path: &str, to: Purpose) -> Result<T, ApiError> {
        self.send(Method::Get, path, None, to).await
    }

    /// Sends a request; `path` is relative to that of the repository.
    pub(super) async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        to: Purpose,
    ) -> Result<T, ApiError> {
        self.send_outside(method, &format!("{}{path}", self.repository), body, to).await
    }

    /// Sends a request to a path that is not below that of the repository.
    pub(super) async fn send_outside<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        to: Purpose,
    ) -> Result<T, ApiError> {
        self.request(method, path, body, to).await?.read(to)
    }

    /// Goes through a list, page by page, until `pick` returns a value. Gives up after [`MAX_PAGES`].
    pub(super) async fn find<T: DeserializeOwned, R>(
        &self,
        path: &str,
        to: Purpose,
        mut pick: impl FnMut(T) -> Option<R>,
    ) -> Result<Option<R>, ApiError> {
        let path = format!("{}{path}", self.repository);
        self.pages(&path, to, |page: Vec<T>| page.into_iter().find_map(&mut pick)).await
    }

    /// Goes through the pages of a list, whose path need not be below that of the repository, until `pick` returns a value.
    pub(super) async fn pages<T: DeserializeOwned, R>(
        &self,
        path: &str,
        to: Purpose,
        mut pick: impl FnMut(T) -> Option<R>,
    ) -> Result<Option<R>, ApiError> {
        let separator = if path.contains('?') { '&' } else { '?' };
        let mut address = format!("{path}{separator}per_page={PAGE}");
        for _ in 0..MAX_PAGES {
            let answer = self.request(Method::Get, &address, None, to).await?;
            let next = next_page(&answer.headers);
            if let Some(found) = pick(answer.read::<T>(to)?) {
                return Ok(Some(found));
            }
            match next {
                Some(next) => address = next,
                None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Fetches all items of a list, up to [`MAX_PAGES`].
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        path: &str,
        to: Purpose,
    ) -> Result<Vec<T>, ApiError> {
        let mut all = Vec::new();
        self.find(path, to, |item| {
            all.push(item);
            None::<()>
        })
        .await?;
        Ok(all)
    }

    /// Sends a request, follows redirects within GitHub, and waits and repeats where that may help, as long as there is time.
    pub(super) async fn request(
        &self,
        method: Method,
        address: &str,
        body: Option<&Value>,
        to: Purpose,
    ) -> Result<Response, ApiError> {
        let answered = self.in_time(Box::pin(self.repeatedly(method, address, body, to))).await;
        answered.unwrap_or_else(|why| Err(ApiError::CutOff(why)))
    }

    async fn repeatedly(
        &self,
        method: Method,
        address: &str,
        body: Option<&Value>,
        to: Purpose,
    ) -> Result<Response, ApiError> {
        let mut delays = DELAYS.build();
        let mut address = address.to_owned();
        for sent in 1.. {
            let resource = resource_of(&address);
            let turn =
                self.pace.turn(resource, method).await.map_err(|TooLong(wait)| ApiError::RateLimited {
                    until: from_now(wait),
                    message: "the limit is known from earlier answers, so nothing was sent".to_owned(),
                })?;
            let answered = tokio::time::timeout(MAX_TIME, self.once(method, &address, body)).await;
            turn.end();
            let answered = answered.map_err(|_| ApiError::too_long(to.doing, MAX_TIME))?;
            let failed = match answered {
                Ok(answer) => {
                    self.pace.observe(resource, &answer.headers);
                    match answer.moved() {
                        Some(place) if sent < MAX_SENT => {
                            address = place;
                            continue;
                        }
                        // Reading it again harms nobody.
                        _ if method == Method::Get && answer.is_cut() => {
                            let cut = Broken { unsent: false, message: "the answer was cut off".to_owned() };
                            cut.judge(method, to)
                        }
                        _ if answer.is_fine() => {
                            self.pace.served(writes(method, resource));
                            return Ok(answer);
                        }
                        _ => self.judge(&answer, method, resource, to),
                    }
                }
                Err(failed) => failed.judge(method, to),
            };
            let pause = match failed.again {
                Resend::Never => return Err(failed.error),
                Resend::Soon => delays.next().unwrap_or_default(),
                // With all others that have this token, it waits for its turn.
                Resend::InTurn => Duration::ZERO,
            };
            let most = if matches!(failed.again, Resend::InTurn) { MAX_TURNS } else { MAX_SENT };
            if sent >= most {
                return Err(failed.error);
            }
            detail!("GitHub: {}; trying again", failed.error);
            tokio::time::sleep(pause).await;
        }
        unreachable!("the loop ends by returning")
    }

    /// Sends a request once.
    async fn once(&self, method: Method, address: &str, body: Option<&Value>) -> Result<Response, Broken> {
        let client = if address == GRAPHQL { &self.graphql } else { &self.client };
        // GitHub gives absolute URLs for next pages and new places.
        let address = address.strip_prefix(&self.base).unwrap_or(address);
        // octocrab's typed calls return the body alone. Limits, pauses, next pages, redirects and missing permissions stand in
        // the headers, also of successful responses, and its models refuse what GitHub Enterprise Server leaves out. Every
        // request goes through here, so this holds for all of them.
        let sent = match method {
            Method::Get => client._get(address).await,
            Method::Post | Method::PostAgain | Method::Mutation => client._post(address, body).await,
            Method::Patch => client._patch(address, body).await,
            Method::Put => client._put(address, body).await,
        };
        let response = sent.map_err(|error| Broken::new(&error))?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = read_body(status, response.into_body()).await?;
        Ok(Response { status, headers, body })
    }

    /// Decides what an unsuccessful response means, and whether to repeat the request.
    fn judge(&self, answer: &Response, method: Method, resource: Resource, to: Purpose) -> Failure {
        let message = answer.message();
        let status = answer.status.as_u16();
        let never = |error| Failure { error, again: Resend::Never };
        if let Some(pause) = limited(answer, &message) {
            self.pace.refused(resource, &answer.headers, pause, writes(method, resource));
            let again = if pause <= MAX_WAIT { Resend::InTurn } else { Resend::Never };
            return Failure { error: ApiError::RateLimited { until: from_now(pause), message }, again };
        }
        match status {
            401 => never(ApiError::Unauthorized(message)),
            403 if message.contains("not accessible") => {
                never(self.forbidden(to, message, Some(&answer.headers)))
            }
            500.. => {
                let message = format!("{message} ({status})");
                let again = if method == Method::Post { Resend::Never } else { Resend::Soon };
                Failure { error: ApiError::Unclear { doing: to.doing, message }, again }
            }
            _ => never(ApiError::Refused { doing: to.doing, status, message }),
        }
    }

    pub(super) fn forbidden(&self, to: Purpose, message: String, headers: Option<&HeaderMap>) -> ApiError {
        // For example `issues=write; pull_requests=write`: either would do, and if the one that we would
        // name is among them, we name that.
        let named = headers
            .and_then(|headers| headers.get("x-accepted-github-permissions")?.to_str().ok())
            .map(|named| named.replace('_', "-").replace('=', ": "));
        let permission = match named {
            Some(named) if !named.contains(to.permission) && !named.is_empty() => named,
            _ => to.permission.to_owned(),
        };
        let fork = if self.from_fork {
            "; on pull requests from forks, the token is read-only whatever the job requests"
        } else {
            ""
        };
        ApiError::Forbidden { doing: to.doing, message, permission, fork }
    }
}

/// Returns the time after a wait that begins now: RFC 3339, UTC.
fn from_now(wait: Duration) -> String {
    let until = after(wait);
    until.replace_nanosecond(0).unwrap_or(until).format(&Rfc3339).unwrap_or_default()
}
