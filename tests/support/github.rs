//! A loopback GitHub for comments. Every request is checked against the official `OpenAPI` description.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use serde_json::{Value, json};
use wiremock::{Mock, MockServer, Request, Respond, ResponseTemplate, matchers};

/// The part of GitHub's description that we call.
fn description() -> &'static Value {
    static DESCRIPTION: OnceLock<Value> = OnceLock::new();
    DESCRIPTION.get_or_init(|| {
        let text = include_str!("../github-openapi.json");
        serde_json::from_str(text).expect("the description is JSON")
    })
}

/// What GitHub knows.
#[derive(Default)]
struct State {
    /// Comments of pull request 7 by id.
    comments: BTreeMap<u64, Value>,
    /// Files of the repository at its base commit, by path.
    files: BTreeMap<String, String>,
    violations: Vec<String>,
    requests: Vec<String>,
    /// Statuses to answer instead, by `METHOD path` prefix, used up one by one.
    faults: Vec<(String, u16, Value)>,
    base: String,
}

/// A running GitHub.
pub struct GitHub {
    server: MockServer,
    state: Arc<Mutex<State>>,
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
        let state = Arc::new(Mutex::new(State { base, ..State::default() }));
        let responder = Responder { state: Arc::clone(&state), prefix };
        Mock::given(matchers::any()).respond_with(responder).mount(&server).await;
        Self { server, state, prefix }
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
        let mut state = self.state.lock().unwrap();
        for _ in 0..times {
            let id = state.comments.len() as u64 + 1;
            let comment = comment(&state.base, id, login, body);
            state.comments.insert(id, comment);
        }
    }

    /// A file of the repository at every commit.
    pub fn file(&self, path: &str, text: &str) {
        self.state.lock().unwrap().files.insert(path.to_owned(), text.to_owned());
    }

    /// The next request that starts so is answered with this status.
    pub fn fail(&self, request: &str, status: u16, message: &str) {
        let body = json!({"message": message, "documentation_url": "https://docs.github.com"});
        self.state.lock().unwrap().faults.push((request.to_owned(), status, body));
    }

    /// Bodies of all comments by a login.
    pub fn comments_by(&self, login: &str) -> Vec<String> {
        let state = self.state.lock().unwrap();
        let own = state.comments.values().filter(|comment| comment["user"]["login"] == login);
        own.map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
    }

    pub fn requests(&self) -> Vec<String> {
        self.state.lock().unwrap().requests.clone()
    }

    /// Fails the test if a request contradicted the description.
    #[track_caller]
    pub fn assert_valid(&self) {
        let state = self.state.lock().unwrap();
        assert!(!state.requests.is_empty(), "no request came");
        assert_eq!(state.violations, Vec::<String>::new());
    }
}

struct Responder {
    state: Arc<Mutex<State>>,
    prefix: &'static str,
}

impl Respond for Responder {
    fn respond(&self, request: &Request) -> ResponseTemplate {
        let mut state = self.state.lock().unwrap();
        let path = request.url.path().to_owned();
        let method = request.method.as_str().to_owned();
        state.requests.push(format!("{method} {path}"));
        if request.headers.get("authorization").is_none_or(|value| value != "Bearer ghs_0123456789") {
            return answer(401, &json!({"message": "Bad credentials"}));
        }
        if request.headers.get("user-agent").is_none() {
            state.violations.push(format!("{method} {path}: no User-Agent"));
        }
        let graphql = if self.prefix.is_empty() { "/graphql" } else { "/api/graphql" };
        let key = format!("{method} {path}");
        if let Some(at) = state.faults.iter().position(|(fault, ..)| key.starts_with(fault.as_str())) {
            let (_, status, body) = state.faults.remove(at);
            return answer(status, &body);
        }
        if path == graphql {
            return answer(200, &json!({"data": {"viewer": {"login": "github-actions[bot]"}}}));
        }
        let Some(path) = path.strip_prefix(self.prefix) else {
            state.violations.push(format!("{method} {path}: outside of the API"));
            return answer(404, &json!({"message": "Not Found"}));
        };
        let violations = check(&method, path, request);
        if !violations.is_empty() {
            state.violations.extend(violations);
            return answer(422, &json!({"message": "Validation Failed"}));
        }
        route(&mut state, &method, path, request)
    }
}

fn answer(status: u16, body: &Value) -> ResponseTemplate {
    ResponseTemplate::new(status).set_body_json(body)
}

fn route(state: &mut State, method: &str, path: &str, request: &Request) -> ResponseTemplate {
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    match (method, path) {
        ("GET", "/repos/octo/demo/issues/7/comments") => {
            let query: BTreeMap<_, _> = request.url.query_pairs().collect();
            let number = |name: &str, default: usize| {
                query.get(name).and_then(|value| value.parse().ok()).unwrap_or(default)
            };
            let (page, size) = (number("page", 1), number("per_page", 30));
            let items: Vec<&Value> = state.comments.values().skip((page - 1) * size).take(size).collect();
            let mut response = answer(200, &json!(items));
            if state.comments.len() > page * size {
                let next = format!("<{}{path}?per_page={size}&page={}>; rel=\"next\"", state.base, page + 1);
                response = response.insert_header("link", next.as_str());
            }
            response
        }
        ("POST", "/repos/octo/demo/issues/7/comments") => {
            let id = state.comments.len() as u64 + 1;
            let created = comment(&state.base, id, "github-actions[bot]", body["body"].as_str().unwrap());
            state.comments.insert(id, created.clone());
            answer(201, &created)
        }
        ("PATCH", path) => {
            let id = path.rsplit('/').next().and_then(|id| id.parse().ok()).unwrap_or(0);
            let Some(comment) = state.comments.get_mut(&id) else {
                return answer(404, &json!({"message": "Not Found"}));
            };
            comment["body"] = body["body"].clone();
            answer(200, comment)
        }
        ("GET", path) if path.starts_with("/repos/octo/demo/contents/") => {
            let file = &path["/repos/octo/demo/contents/".len()..];
            match state.files.get(file) {
                Some(text) => answer(200, &contents(&state.base, file, text)),
                None => answer(404, &json!({"message": "Not Found"})),
            }
        }
        ("GET", path) if path.starts_with("/repos/octo/demo/git/commits/") => {
            answer(200, &json!({"sha": "x"}))
        }
        _ => answer(404, &json!({"message": "Not Found"})),
    }
}

fn contents(base: &str, path: &str, text: &str) -> Value {
    use base64::Engine;
    let url = format!("{base}/repos/octo/demo/contents/{path}");
    json!({
        "type": "file", "encoding": "base64", "size": text.len(), "name": path, "path": path, "sha": "x",
        "content": base64::engine::general_purpose::STANDARD.encode(text), "url": url, "git_url": url,
        "html_url": url, "download_url": url, "_links": {"git": url, "self": url, "html": url}
    })
}

fn comment(base: &str, id: u64, login: &str, body: &str) -> Value {
    let url = format!("{base}/users/x");
    json!({
        "id": id, "node_id": format!("IC_{id}"), "body": body,
        "url": format!("{base}/repos/octo/demo/issues/comments/{id}"),
        "html_url": format!("https://github.com/octo/demo/pull/7#issuecomment-{id}"),
        "issue_url": format!("{base}/repos/octo/demo/issues/7"),
        "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
        "author_association": "NONE",
        "user": {
            "login": login, "id": 1, "node_id": "U_1", "avatar_url": url, "gravatar_id": "", "url": url,
            "html_url": url, "followers_url": url, "following_url": url, "gists_url": url, "starred_url": url,
            "subscriptions_url": url, "organizations_url": url, "repos_url": url, "events_url": url,
            "received_events_url": url, "type": "Bot", "site_admin": false
        }
    })
}

/// What in a request contradicts the description: its path, its query, its body.
fn check(method: &str, path: &str, request: &Request) -> Vec<String> {
    let description = description();
    let paths = description["paths"].as_object().expect("paths");
    let fits = |template: &str| {
        let (template, path): (Vec<_>, Vec<_>) = (template.split('/').collect(), path.split('/').collect());
        // `{path}` at the end stands for any number of folders.
        let open = template.last() == Some(&"{path}") && path.len() > template.len();
        (open || template.len() == path.len())
            && template.iter().zip(&path).all(|(t, p)| t.starts_with('{') || t == p)
    };
    // A literal path beats one with parameters.
    let mut templates: Vec<&String> = paths.keys().filter(|template| fits(template)).collect();
    templates.sort_by_key(|template| template.matches('{').count());
    let Some(operation) = templates.iter().find_map(|template| {
        let operation = &paths[*template][method.to_lowercase()];
        operation.is_object().then_some(operation)
    }) else {
        return vec![format!("{method} {path}: no such operation")];
    };
    let mut violations = Vec::new();
    let parameters: Vec<&Value> = operation["parameters"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|parameter| resolve(description, parameter))
        .collect();
    for (name, _) in request.url.query_pairs() {
        if !parameters
            .iter()
            .any(|parameter| parameter["in"] == "query" && parameter["name"] == name.as_ref())
        {
            violations.push(format!("{method} {path}: unknown query parameter {name}"));
        }
    }
    let schema = &operation["requestBody"]["content"]["application/json"]["schema"];
    if schema.is_object() {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        // The schema may point into the description, so it is checked as a part of it.
        let root = json!({"allOf": [schema], "components": description["components"]});
        let validator = jsonschema::validator_for(&root).expect("a schema");
        violations.extend(validator.iter_errors(&body).map(|error| format!("{method} {path}: {error}")));
        let known = resolve(description, schema)["properties"].as_object().cloned().unwrap_or_default();
        for name in body.as_object().into_iter().flatten().map(|(name, _)| name) {
            if !known.is_empty() && !known.contains_key(name) {
                violations.push(format!("{method} {path}: unknown property {name}"));
            }
        }
    } else if !request.body.is_empty() {
        violations.push(format!("{method} {path}: a body where none is described"));
    }
    violations
}

fn resolve<'a>(description: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str().and_then(|reference| reference.strip_prefix('#')) {
        Some(pointer) => description.pointer(pointer).expect("a reference that leads somewhere"),
        None => value,
    }
}
