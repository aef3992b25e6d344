//! Many repositories behind one loopback GitHub, each with a bare Git repository of its own.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

use super::app::App;
use super::{BOT, READ_TOKEN, Repository, World, answer, description, routes};

/// The token that may write everywhere.
pub const TOKEN: &str = "ghs_0123456789";

/// The repository with the campaign's state and dashboard.
pub const HOME: &str = "octo/campaigns";

/// What GitHub knows.
#[derive(Default)]
pub struct State {
    pub places: BTreeMap<String, Place>,
    /// Issues of the home repository: title, text, author.
    pub issues: BTreeMap<u64, (String, String, String)>,
    /// Comments on them: issue, author, text.
    pub comments: BTreeMap<u64, (u64, String, String)>,
    pub people: BTreeMap<String, String>,
    pub requests: Vec<String>,
    pub violations: Vec<String>,
    /// Requests by which the token that may only read would have written.
    pub refused_writes: Vec<String>,
    /// Who GitHub says has written commits; else the bot, committed and signed by GitHub.
    pub authors: BTreeMap<String, Authorship>,
    /// The app, in place of the one token.
    pub app: Option<App>,
    /// A repository in which no pull request can be opened for an hour.
    pub limited: Option<String>,
    /// Reviewers that were asked for, by repository.
    pub reviewers: BTreeMap<String, Value>,
    /// From this request on nothing is answered any more; whether that request itself is done.
    pub silent_from: Option<(usize, bool)>,
    last: u64,
}

/// Who has written a commit, as GitHub says.
#[derive(Clone)]
pub struct Authorship {
    pub author: &'static str,
    pub committer: &'static str,
    pub is_signed: bool,
}

/// A repository.
#[derive(Default)]
pub struct Place {
    pub world: World,
    pub archived: bool,
    /// Under which name it is shown now.
    pub renamed: Option<String>,
    /// Whether branches cannot be created.
    pub protected: bool,
    /// After how many more changes of branches none is allowed any more.
    pub allowed_writes: Option<usize>,
    pub pulls: BTreeMap<u64, Pull>,
}

/// A pull request.
#[derive(Clone)]
pub struct Pull {
    pub branch: String,
    pub title: String,
    pub state: &'static str,
    pub checks: Option<&'static str>,
    pub conflicting: bool,
    created: SystemTime,
    merge: Option<String>,
}

impl State {
    fn id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub fn place(&mut self, name: &str) -> &mut Place {
        self.places.get_mut(name).expect("the repository is there")
    }

    /// Merges what is open, as people do.
    pub fn merge_all(&mut self) {
        for place in self.places.values_mut() {
            let open: Vec<u64> = place
                .pulls
                .iter()
                .filter(|(_, pull)| pull.state == "OPEN")
                .map(|(number, _)| *number)
                .collect();
            for number in open {
                place.merge(number);
            }
        }
    }

    /// How many pull requests stand so.
    pub fn count(&self, state: &str) -> usize {
        self.places.values().flat_map(|place| place.pulls.values()).filter(|pull| pull.state == state).count()
    }

    pub fn comment(&mut self, issue: u64, login: &str, text: &str) {
        let id = self.id();
        self.comments.insert(id, (issue, login.to_owned(), text.to_owned()));
    }
}

impl Place {
    pub fn git(&self) -> &Repository {
        self.world.repository.as_ref().expect("every place has one")
    }

    /// Merges a pull request: the branch's tree on top of the default branch.
    pub fn merge(&mut self, number: u64) {
        let pull = self.pulls.get(&number).expect("the pull request").clone();
        let git = self.git();
        let head = git.branch(&pull.branch).expect("the branch is there");
        let main = git.branch("main").expect("main is there");
        let merge = git.write_commit(&git.tree_of(&head), &[main], &pull.title);
        git.set("refs/heads/main", &merge);
        let known = self.pulls.get_mut(&number).expect("the pull request");
        (known.state, known.merge) = ("MERGED", Some(merge));
    }
}

/// A running GitHub with many repositories.
pub struct Fleet {
    server: MockServer,
    state: Arc<Mutex<State>>,
    dir: tempfile::TempDir,
}

impl Fleet {
    /// Starts one with the home repository, which holds these files.
    pub async fn start() -> Self {
        let server = MockServer::start().await;
        let state: Arc<Mutex<State>> = Arc::default();
        let people = [("dev", "write"), ("reader", "read")];
        state.lock().unwrap().people =
            people.map(|(login, permission)| (login.to_owned(), permission.to_owned())).into();
        let responder = Responder { state: Arc::clone(&state) };
        Mock::given(matchers::any()).respond_with(responder).mount(&server).await;
        let fleet = Self { server, state, dir: tempfile::tempdir().expect("a folder") };
        fleet.add(HOME, &[("README.md", "campaigns\n")]);
        fleet
    }

    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Adds a repository with one commit; without files, with none.
    pub fn add(&self, name: &str, files: &[(&str, &str)]) {
        let repository = Repository::empty(self.dir.path().join(format!("{name}.git")));
        if !files.is_empty() {
            let entry = |(path, text): &(&str, &str)| {
                ((*path).to_owned(), "100644".to_owned(), Some(repository.write_blob(text.as_bytes())))
            };
            let tree = repository.write_tree(None, &files.iter().map(entry).collect::<Vec<_>>());
            repository.set("refs/heads/main", &repository.write_commit(&tree, &[], "start"));
        }
        let world = World { repository: Some(repository), ..World::default() };
        self.state().places.insert(name.to_owned(), Place { world, ..Place::default() });
    }

    /// Keeps branches of campaigns from being created, by the API and by a push.
    pub fn protect(&self, name: &str) {
        let mut state = self.state();
        let place = state.place(name);
        place.protected = true;
        place.git().text(&["config", "receive.hideRefs", "refs/heads/architect-ci"]).expect("a setting");
    }

    pub fn variables(&self, token: &str) -> Vec<(String, String)> {
        let root = self.server.uri();
        [
            ("GITHUB_API_URL", root.clone()),
            ("GITHUB_GRAPHQL_URL", format!("{root}/graphql")),
            ("GITHUB_SERVER_URL", format!("file://{}", self.dir.path().display())),
            ("GITHUB_REPOSITORY", HOME.to_owned()),
            ("GITHUB_TOKEN", token.to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }
}

struct Responder {
    state: Arc<Mutex<State>>,
}

/// Longer than any test waits.
const NEVER: Duration = Duration::from_mins(10);

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut state = self.state.lock().unwrap();
        let (method, path) = (request.method.as_str().to_owned(), request.url.path().to_owned());
        state.requests.push(format!("{method} {path}"));
        let at = state.requests.len();
        match state.silent_from {
            Some((from, is_done)) if at >= from => {
                if at == from && is_done {
                    route(&mut state, &method, &path, request);
                }
                ResponseTemplate::new(200).set_delay(NEVER)
            }
            _ => route(&mut state, &method, &path, request),
        }
    }
}

fn missing() -> ResponseTemplate {
    answer(404, &json!({"message": "Not Found"}))
}

fn route(state: &mut State, method: &str, path: &str, request: &Request) -> ResponseTemplate {
    let token = request.headers.get("authorization").and_then(|value| value.to_str().ok());
    let token = token.and_then(|token| token.strip_prefix("Bearer ")).unwrap_or_default();
    let only_reads = token == READ_TOKEN;
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match &mut state.app {
        Some(app) if token.starts_with("ghs_app") => {
            state.violations.extend(app.refusal(token, method, path, &body));
        }
        // A token of the web has three parts.
        Some(app) if token.split('.').count() == 3 => {
            return app.answer(method, path, &body).unwrap_or_else(missing);
        }
        _ if token != TOKEN && !only_reads => return answer(401, &json!({"message": "Bad credentials"})),
        _ => {}
    }
    if path == "/graphql" {
        return graphql(state, &body);
    }
    if only_reads && method != "GET" {
        state.refused_writes.push(format!("{method} {path}"));
        return answer(403, &json!({"message": "Resource not accessible by integration"}));
    }
    state.violations.extend(description::check(method, path, request));
    let query: BTreeMap<String, String> =
        request.url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    if let Some(organization) = path.strip_prefix("/orgs/").and_then(|path| path.strip_suffix("/repos")) {
        let start = format!("{}/", organization.to_lowercase());
        let names = state.places.keys().filter(|name| name.starts_with(&start) && *name != HOME);
        let listed: Vec<Value> = names.map(|name| json!({"full_name": name, "topics": []})).collect();
        return answer(200, &json!(listed));
    }
    if path == "/search/repositories" {
        let wanted = query.get("q").expect("a query");
        let found = state.places.keys().filter(|name| name.contains(wanted.as_str()));
        let items: Vec<Value> = found.map(|name| json!({ "full_name": name })).collect();
        return answer(200, &json!({"total_count": items.len() + 1, "items": items}));
    }
    let Some(rest) = path.strip_prefix("/repos/") else { return missing() };
    let mut parts = rest.splitn(3, '/');
    let name = format!("{}/{}", parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let below = parts.next().unwrap_or_default().to_owned();
    let words: Vec<&str> = below.split('/').collect();
    if let ["issues", ..] = words.as_slice()
        && !matches!(words.as_slice(), ["issues", _, "labels"])
    {
        return issues(state, method, &words, &body);
    }
    if let ("GET", ["collaborators", login, "permission"]) = (method, words.as_slice()) {
        return state
            .people
            .get(*login)
            .map_or_else(missing, |permission| answer(200, &json!({ "permission": permission })));
    }
    if let ("GET", ["commits", sha]) = (method, words.as_slice()) {
        let own = Authorship { author: BOT, committer: "web-flow", is_signed: true };
        let Authorship { author, committer, is_signed } = state.authors.get(*sha).cloned().unwrap_or(own);
        let commit = json!({"message": "m", "verification": {"verified": is_signed}});
        let (author, committer) = (json!({"login": author}), json!({"login": committer}));
        return answer(200, &json!({"sha": sha, "commit": commit, "author": author, "committer": committer}));
    }
    if let ("POST", ["pulls", _, "requested_reviewers"]) = (method, words.as_slice()) {
        state.reviewers.insert(name, body);
        return answer(201, &json!({}));
    }
    if let ("POST", ["pulls"]) = (method, words.as_slice())
        && state.limited.as_ref() == Some(&name)
    {
        let limited = json!({"message": "You have exceeded a secondary rate limit"});
        return answer(403, &limited).insert_header("retry-after", "3600");
    }
    let fresh = state.id();
    let Some(place) = state.places.get_mut(&name) else { return missing() };
    if place.archived && method != "GET" {
        return answer(403, &json!({"message": "Repository was archived so is read-only."}));
    }
    if let (["git", "refs", ..], Some(left)) = (words.as_slice(), &mut place.allowed_writes)
        && method != "GET"
    {
        if *left == 0 {
            return answer(403, &json!({"message": "Resource not accessible by integration"}));
        }
        *left -= 1;
    }
    match words.as_slice() {
        ["pulls", ..] => pulls(place, &name, (method, &words), &body, &query, fresh),
        ["issues", _, "labels"] => answer(200, &json!([])),
        ["git", "refs", ..] if place.protected && method != "GET" => {
            answer(422, &json!({"message": "Repository rule violations found"}))
        }
        _ => routes::route(&mut place.world, method, &format!("/repos/octo/demo/{below}"), request),
    }
}

fn issues(state: &mut State, method: &str, words: &[&str], body: &Value) -> ResponseTemplate {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let number = words.get(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let show = |number: u64, (title, body, login): &(String, String, String)| {
        json!({"number": number, "html_url": format!("https://github.com/{HOME}/issues/{number}"), "title": title,
               "body": body, "user": {"login": login}})
    };
    match (method, words) {
        ("GET", ["issues"]) => {
            let all: Vec<Value> = state.issues.iter().map(|(number, issue)| show(*number, issue)).collect();
            answer(200, &json!(all))
        }
        ("POST", ["issues"]) => {
            let number = state.id();
            let issue = (text("title"), text("body"), BOT.to_owned());
            state.issues.insert(number, issue.clone());
            answer(201, &show(number, &issue))
        }
        ("GET", ["issues", _]) => {
            state.issues.get(&number).map_or_else(missing, |issue| answer(200, &show(number, issue)))
        }
        ("PATCH", ["issues", _]) => {
            let Some(issue) = state.issues.get_mut(&number) else { return missing() };
            (issue.0, issue.1) = (text("title"), text("body"));
            answer(200, &show(number, issue))
        }
        ("GET", ["issues", _, "comments"]) => {
            let of_issue = state.comments.iter().filter(|(_, (issue, ..))| *issue == number);
            let all: Vec<Value> = of_issue
                .map(|(id, (_, login, text))| json!({"id": id, "body": text, "user": {"login": login}}))
                .collect();
            answer(200, &json!(all))
        }
        _ => missing(),
    }
}

fn pulls(
    place: &mut Place,
    name: &str,
    (method, words): (&str, &[&str]),
    body: &Value,
    query: &BTreeMap<String, String>,
    fresh: u64,
) -> ResponseTemplate {
    let number = words.get(1).and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    let owner = name.split('/').next().unwrap_or_default();
    let show = |number: u64, pull: &Pull| {
        let state = if pull.state == "OPEN" { "open" } else { "closed" };
        let url = format!("https://github.com/{name}/pull/{number}");
        json!({"number": number, "state": state, "html_url": url, "title": pull.title})
    };
    match (method, words) {
        ("GET", ["pulls"]) => {
            let wanted = |pull: &Pull| {
                let head = format!("{owner}:{}", pull.branch);
                query.get("head").is_none_or(|wanted| *wanted == head)
                    && (query.get("state").is_some_and(|state| state == "all") || pull.state == "OPEN")
            };
            let all = place.pulls.iter().filter(|(_, pull)| wanted(pull));
            let all: Vec<Value> = all.map(|(number, pull)| show(*number, pull)).collect();
            answer(200, &json!(all))
        }
        ("POST", ["pulls"]) => {
            let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
            let branch = text("head");
            if place.git().branch(&branch).is_none() {
                return answer(422, &json!({"message": "head is invalid"}));
            }
            if place.pulls.values().any(|pull| pull.state == "OPEN" && pull.branch == branch) {
                return answer(422, &json!({"message": "A pull request already exists"}));
            }
            let pull = Pull {
                branch,
                title: text("title"),
                state: "OPEN",
                checks: Some("PENDING"),
                conflicting: false,
                created: SystemTime::now(),
                merge: None,
            };
            place.pulls.insert(fresh, pull.clone());
            answer(201, &show(fresh, &pull))
        }
        ("PUT", ["pulls", _, "merge"]) => {
            let Some(pull) = place.pulls.get(&number).cloned() else { return missing() };
            if place.git().branch(&pull.branch).as_deref() != body["sha"].as_str() {
                return answer(409, &json!({"message": "Head branch was modified"}));
            }
            if pull.state != "OPEN" || body["merge_method"] != "merge" {
                return answer(405, &json!({"message": "Squash merges are not allowed on this repository."}));
            }
            place.merge(number);
            answer(200, &json!({"merged": true}))
        }
        ("PATCH", ["pulls", _]) => {
            let Some(pull) = place.pulls.get_mut(&number) else { return missing() };
            if body["state"] == "closed" && pull.state == "OPEN" {
                pull.state = "CLOSED";
            }
            answer(200, &show(number, pull))
        }
        _ => missing(),
    }
}

fn graphql(state: &mut State, body: &Value) -> ResponseTemplate {
    let query = body["query"].as_str().unwrap_or_default();
    let variables = &body["variables"];
    if query.contains("viewer") {
        return answer(200, &json!({"data": {"viewer": {"login": BOT}}}));
    }
    let text = |name: String| variables[name].as_str().map(str::to_owned);
    if query.contains("revertPullRequest") {
        let number: u64 =
            text("id".to_owned()).and_then(|id| id.rsplit('_').next()?.parse().ok()).expect("an id");
        let fresh = state.id();
        let place =
            state.places.values_mut().find(|place| place.pulls.contains_key(&number)).expect("a place");
        let pull = place.pulls[&number].clone();
        let branch = format!("revert-{number}-{}", pull.branch);
        let (git, merge) = (place.git(), pull.merge.clone().expect("it is merged"));
        let before = git.parents(&merge).remove(0);
        let main = git.branch("main").expect("main is there");
        let message = format!("Revert\n\nThis reverts commit {merge}.");
        let commit = git.write_commit(&git.tree_of(&before), &[main], &message);
        git.set(&format!("refs/heads/{branch}"), &commit);
        let title = format!("Revert #{number}");
        let revert = Pull { branch, title, state: "OPEN", created: SystemTime::now(), merge: None, ..pull };
        place.pulls.insert(fresh, revert);
        return answer(
            200,
            &json!({"data": {"revertPullRequest": {"revertPullRequest": {"number": fresh}}}}),
        );
    }
    let (mut data, mut errors) = (serde_json::Map::new(), Vec::new());
    for at in 0.. {
        let (Some(owner), Some(name)) = (text(format!("o{at}")), text(format!("n{at}"))) else { break };
        let key = format!("{owner}/{name}");
        let found = state.places.iter().find(|(place, _)| place.to_lowercase() == key);
        let Some((_, place)) = found else {
            errors.push(
                json!({"type": "NOT_FOUND", "path": [format!("t{at}")], "message": "Could not resolve"}),
            );
            data.insert(format!("t{at}"), Value::Null);
            continue;
        };
        let pulls = |branch: Option<String>| {
            let of_branch = place.pulls.iter().filter(|(_, pull)| Some(&pull.branch) == branch.as_ref());
            let nodes: Vec<Value> = of_branch.map(|(number, pull)| show_pull(place, *number, pull)).collect();
            json!({ "nodes": nodes })
        };
        let head = place.git().branch("main").map(|oid| {
            let messages: Vec<Value> = place
                .git()
                .text(&["log", "-30", "--format=%B%x00", &oid])
                .unwrap_or_default()
                .split('\0')
                .map(|message| json!({ "message": message }))
                .collect();
            json!({"name": "main", "target": {"oid": oid, "history": {"nodes": messages}}})
        });
        let answer = json!({
            "nameWithOwner": place.renamed.clone().unwrap_or(key), "isArchived": place.archived,
            "defaultBranchRef": head, "pulls": pulls(text(format!("b{at}"))),
            "reverts": pulls(text(format!("r{at}")))
        });
        data.insert(format!("t{at}"), answer);
    }
    let mut whole = json!({ "data": data });
    if !errors.is_empty() {
        whole["errors"] = json!(errors);
    }
    answer(200, &whole)
}

fn show_pull(place: &Place, number: u64, pull: &Pull) -> Value {
    let head = place.git().branch(&pull.branch).unwrap_or_else(|| "0".repeat(40));
    let rollup = pull.checks.map(|state| json!({ "state": state }));
    json!({
        "id": format!("PR_{number}"), "number": number, "state": pull.state, "headRefOid": head,
        "isCrossRepository": false, "mergeable": if pull.conflicting { "CONFLICTING" } else { "MERGEABLE" },
        "createdAt": OffsetDateTime::from(pull.created).format(&Rfc3339).expect("a time"),
        "mergeCommit": pull.merge.as_ref().map(|oid| json!({ "oid": oid })),
        "commits": {"nodes": [{"commit": {"statusCheckRollup": rollup}}]}
    })
}
