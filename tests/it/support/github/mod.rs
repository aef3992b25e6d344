//! A loopback GitHub with a real Git repository behind it. Every request is checked against the official
//! `OpenAPI` description.

pub mod app;
pub mod attestations;
mod description;
mod faults;
pub mod fleet;
mod git;
mod graphql;
mod references;
mod routes;
mod rules;
mod secondary_limit;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

use faults::Fault;
pub use git::Repository;
pub use routes::FORKS_RUN;
pub use rules::Rule;
use secondary_limit::SecondaryLimit;
pub use tokens::{BATCH_TOKEN, PERSONS_TOKEN, READ_TOKEN, WRITE_TOKEN};

/// The job's own bot.
pub const BOT: &str = "github-actions[bot]";

/// What GitHub knows.
#[derive(Default)]
pub struct World {
    /// Comments of all issues and pull requests, by id.
    pub comments: BTreeMap<u64, Comment>,
    /// Pull requests by number.
    pub pulls: BTreeMap<u64, Pull>,
    /// Review comments by id.
    pub review_comments: BTreeMap<u64, ReviewComment>,
    /// Bodies of reviews.
    pub reviews: Vec<String>,
    /// Reviews of people: pull request, login, state, commit.
    pub judgements: Vec<(u64, String, String, String)>,
    /// Ids of accounts, where they matter, by login.
    pub ids: BTreeMap<String, u64>,
    /// Who has caused the run, and who has started it, by the number of the attempt.
    pub attempts: BTreeMap<u64, (String, String)>,
    /// When they were submitted; later than anything else if `None`.
    pub judged_at: Option<String>,
    /// When runs began, and the first of their jobs ended; earlier than anything else if `None`.
    pub ran_at: Option<String>,
    /// Whether pull requests can be merged, once it is known.
    pub conflicts: bool,
    /// Checks of commits: name, status, conclusion, address.
    pub check_runs: Vec<(String, String, Option<String>, String)>,
    /// How many checks commits have that are on no page.
    pub hidden_checks: usize,
    /// The state of commits that have statuses.
    pub status: Option<String>,
    /// Whether it is a server from before the mutation `updateRefs`.
    pub lacks_update_refs: bool,
    /// Requests by which a token would have written what it may not.
    pub refused_writes: Vec<String>,
    /// Requests by which a token would have read what it may not.
    pub refused_reads: Vec<String>,
    /// The token of the latest request.
    token: Option<&'static tokens::Token>,
    /// What is demanded of the commits of a branch.
    rules: Vec<(String, Rule)>,
    /// Commits that GitHub has signed.
    signed: BTreeSet<String>,
    /// Attestations by what they are of: `sha256:…` and bundle.
    pub attestations: Vec<(String, Value)>,
    pub checks: Vec<Value>,
    /// Comment and content.
    pub reactions: Vec<(u64, String)>,
    /// Labels that were given, by number.
    pub labels: Vec<(u64, String)>,
    /// What happened to labels: number, `labeled` or `unlabeled`, who did it, the label, and when.
    pub label_events: Vec<(u64, String, String, String, String)>,
    /// What GitHub says of commits, by id.
    pub commits: BTreeMap<String, Value>,
    /// Permission by login; others are not known.
    pub people: BTreeMap<String, String>,
    /// Name, run and archive by id; an empty archive has expired.
    pub artifacts: BTreeMap<u64, (String, u64, Vec<u8>)>,
    /// Node ids.
    pub minimised: Vec<String>,
    /// Threads that the token has resolved, and those that a person has.
    pub resolved: Vec<String>,
    pub settled: Vec<String>,
    pub violations: Vec<String>,
    pub requests: Vec<(Instant, String)>,
    faults: Vec<Fault>,
    /// How many requests may write, if that is limited.
    secondary: Option<SecondaryLimit>,
    /// Requests with which somebody pushes to a branch.
    pushes: Vec<(String, String)>,
    /// … or deletes it.
    deletions: Vec<(String, String)>,
    /// What the token must not do, as a prefix of `METHOD path`.
    forbidden: Vec<String>,
    base: String,
    last_id: u64,
    pub repository: Option<Repository>,
}

/// A comment of an issue or pull request.
#[derive(Clone, Debug)]
pub struct Comment {
    pub issue: u64,
    pub login: String,
    pub body: String,
    /// How often it was changed.
    pub edits: u32,
}

/// A pull request. Its head is a branch of the repository, or of a fork a ref of its own.
#[derive(Clone, Debug)]
pub struct Pull {
    pub title: String,
    pub body: String,
    pub head: String,
    pub base: String,
    pub fork: bool,
    pub draft: bool,
    pub open: bool,
}

/// A comment on a line.
#[derive(Clone, Debug)]
pub struct ReviewComment {
    pub pull: u64,
    pub login: String,
    pub body: String,
    pub line: u64,
    pub start_line: Option<u64>,
    /// Whether its thread counts as outdated.
    pub outdated: bool,
}

impl World {
    fn id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    /// A new comment.
    pub fn add_comment(&mut self, issue: u64, login: &str, body: &str) -> u64 {
        let id = self.id();
        let (login, body) = (login.to_owned(), body.to_owned());
        self.comments.insert(id, Comment { issue, login, body, edits: 0 });
        id
    }

    fn git(&self) -> &Repository {
        self.repository.as_ref().expect("this test has a repository")
    }

    /// The commit of a pull request.
    pub fn head_of(&self, pull: &Pull) -> String {
        self.git().resolve(&pull.head).expect("the head is there")
    }
}

/// A running GitHub.
#[derive(Clone)]
pub struct GitHub {
    server: Arc<MockServer>,
    state: Arc<Mutex<World>>,
    prefix: &'static str,
}

impl GitHub {
    pub async fn start() -> Self {
        Self::start_below("").await
    }

    /// `/api/v3` is where GitHub Enterprise Server has it.
    pub async fn start_below(prefix: &'static str) -> Self {
        let server = MockServer::start().await;
        let base = format!("{}{prefix}", server.uri());
        let people = [("dev", "write"), ("owner", "admin"), ("reader", "read"), ("triager", "read")];
        let people = people.map(|(login, permission)| (login.to_owned(), permission.to_owned()));
        let world = World { base, people: people.into(), ..World::default() };
        let state = Arc::new(Mutex::new(world));
        let responder = Responder { state: Arc::clone(&state), prefix };
        Mock::given(matchers::any()).respond_with(responder).mount(&server).await;
        Self { server: Arc::new(server), state, prefix }
    }

    /// The same with a token that may do everything again.
    pub fn clone_open(other: &Self) -> Self {
        other.world().forbidden.clear();
        other.clone()
    }

    /// What is known now.
    pub fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.state.lock().unwrap()
    }

    /// The variables that a runner would set.
    pub fn variables(&self) -> Vec<(String, String)> {
        let root = self.server.uri();
        let graphql =
            if self.prefix.is_empty() { format!("{root}/graphql") } else { format!("{root}/api/graphql") };
        [
            ("GITHUB_API_URL", format!("{root}{}", self.prefix)),
            ("GITHUB_GRAPHQL_URL", graphql),
            ("GITHUB_SERVER_URL", "https://github.com".to_owned()),
            ("GITHUB_REPOSITORY", "octo/demo".to_owned()),
            ("GITHUB_EVENT_NAME", "pull_request".to_owned()),
            ("GITHUB_RUN_ID", "4711".to_owned()),
            ("GITHUB_TOKEN", "ghs_0123456789".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    pub fn seed(&self, login: &str, body: &str, times: usize) {
        let mut world = self.world();
        for _ in 0..times {
            world.add_comment(7, login, body);
        }
    }

    /// No more requests than these may write within a time.
    pub fn limit_writes(&self, most: usize, within: Duration) {
        self.world().secondary = Some(SecondaryLimit::new(most, within));
    }

    /// Returns how many requests were refused for that, and how often one of them was at most.
    pub fn refusals(&self) -> (usize, usize) {
        self.world().secondary.as_ref().map(SecondaryLimit::refusals).unwrap_or_default()
    }

    /// Bodies of all comments by a login.
    pub fn comments_by(&self, login: &str) -> Vec<String> {
        let world = self.world();
        let own = world.comments.values().filter(|comment| comment.login == login);
        own.map(|comment| comment.body.clone()).collect()
    }

    pub fn requests(&self) -> Vec<String> {
        self.world().requests.iter().map(|(_, request)| request.clone()).collect()
    }

    /// How many requests start so.
    pub fn count(&self, request: &str) -> usize {
        self.requests().iter().filter(|known| known.starts_with(request)).count()
    }

    /// Fails the test if a request contradicted the description.
    #[track_caller]
    pub fn assert_valid(&self) {
        let world = self.world();
        assert!(!world.requests.is_empty(), "no request came");
        assert_eq!(world.violations, Vec::<String>::new());
    }

    /// Serves a repository whose `main` and further branches are those of `source`.
    pub fn serve(&self, source: &std::path::Path) -> PathBuf {
        let repository = Repository::of(source);
        let path = repository.path();
        self.world().repository = Some(repository);
        path
    }
}

struct Responder {
    state: Arc<Mutex<World>>,
    prefix: &'static str,
}

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut world = self.state.lock().unwrap();
        let path = request.url.path().to_owned();
        let method = request.method.as_str().to_owned();
        world.requests.push((Instant::now(), format!("{method} {path}")));
        if let Some(id) = path.strip_prefix("/_archive/") {
            // Another host, in truth: it must not see the token.
            if request.headers.contains_key("authorization") {
                world.violations.push("the token went to another host".to_owned());
            }
            let archive = &world.artifacts[&id.parse::<u64>().expect("an id")].2;
            return ResponseTemplate::new(200).set_body_bytes(archive.clone());
        }
        let token =
            request.headers.get("authorization").and_then(|value| value.to_str().ok()).unwrap_or_default();
        let Some(token) = tokens::known(token) else {
            return answer(401, &json!({"message": "Bad credentials"}));
        };
        world.token = Some(token);
        if let Some(refused) =
            token.refuses(&method, path.strip_prefix(self.prefix).unwrap_or(&path), request)
        {
            let list = if method == "GET" { &mut world.refused_reads } else { &mut world.refused_writes };
            list.push(format!("{method} {path}"));
            return refused;
        }
        if request.headers.get("user-agent").is_none() {
            world.violations.push(format!("{method} {path}: no User-Agent"));
        }
        let key = format!("{method} {path}{}", graphql::name_of(request));
        if let Some(at) = world.deletions.iter().position(|(request, _)| key.starts_with(request.as_str())) {
            let (_, branch) = world.deletions.remove(at);
            world.git().delete(&format!("refs/heads/{branch}"));
        }
        if let Some(at) = world.pushes.iter().position(|(request, _)| key.starts_with(request.as_str())) {
            let (_, branch) = world.pushes.remove(at);
            if world.git().branch(&branch).is_none() {
                let main = world.git().branch("main").expect("main is there");
                world.git().set(&format!("refs/heads/{branch}"), &main);
            }
            world.git().push(&branch, &[("meanwhile.txt", "x\n")], "meanwhile");
        }
        if let Some(at) = world.faults.iter().position(|fault| key.starts_with(fault.request.as_str())) {
            if world.faults[at].after > 0 {
                world.faults[at].after -= 1;
                return self.answer(&mut world, &method, &path, request);
            }
            let fault = world.faults.remove(at);
            if fault.done {
                self.answer(&mut world, &method, &path, request);
            }
            return fault.answer;
        }
        let is_write = method != "GET" && !path.ends_with("/graphql");
        if let Some(limit) = world.secondary.as_mut().filter(|_| is_write) {
            let whole = format!("{key} {}", String::from_utf8_lossy(&request.body));
            if let Some(seconds) = limit.refuses(whole) {
                let message = json!({"message": "You have exceeded a secondary rate limit"});
                return answer(403, &message).insert_header("retry-after", seconds.to_string().as_str());
            }
        }
        if world.forbidden.iter().any(|forbidden| key.starts_with(forbidden.as_str())) {
            return answer(403, &json!({"message": "Resource not accessible by integration"}));
        }
        self.answer(&mut world, &method, &path, request)
    }
}

impl Responder {
    fn answer(&self, world: &mut World, method: &str, path: &str, request: &Request) -> ResponseTemplate {
        let graphql = if self.prefix.is_empty() { "/graphql" } else { "/api/graphql" };
        if path == graphql {
            return graphql::answer(world, request);
        }
        let Some(path) = path.strip_prefix(self.prefix) else {
            world.violations.push(format!("{method} {path}: outside of the API"));
            return answer(404, &json!({"message": "Not Found"}));
        };
        let violations = description::check(method, path, request);
        if !violations.is_empty() {
            world.violations.extend(violations);
            return answer(422, &json!({"message": "Validation Failed"}));
        }
        routes::route(world, method, path, request)
    }
}

fn missing() -> ResponseTemplate {
    answer(404, &json!({"message": "Not Found"}))
}

fn answer(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}
