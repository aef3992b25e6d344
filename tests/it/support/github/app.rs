//! A GitHub App of the loopback GitHub: where it is installed, which tokens it was given, and what these may do.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use wiremock::ResponseTemplate;

use super::answer;

/// An app.
#[derive(Default)]
pub struct App {
    /// The accounts that have installed it, with the numbers of the installations.
    installations: BTreeMap<String, u64>,
    /// Repositories of these accounts for which it is not installed.
    pub left_out: Vec<String>,
    /// Tokens that it was given.
    tokens: BTreeMap<String, Scope>,
}

/// What a token is for.
#[derive(Clone)]
struct Scope {
    account: String,
    /// The repositories that it may write to; all of the account may be read.
    writes: Vec<String>,
}

impl App {
    /// An app that these accounts have installed.
    pub fn of(installations: &[(&str, u64)]) -> Self {
        let installations = installations.iter().map(|(name, id)| ((*name).to_owned(), *id)).collect();
        Self { installations, ..Self::default() }
    }

    /// Answers a request by the app itself; `None` if it is not one that an app sends.
    pub fn answer(&mut self, method: &str, path: &str, body: &Value) -> Option<ResponseTemplate> {
        let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        match (method, words.as_slice()) {
            ("GET", ["repos", account, name, "installation"])
                if self.left_out.contains(&format!("{account}/{name}")) =>
            {
                Some(answer(404, &json!({"message": "Not Found"})))
            }
            ("GET", ["orgs" | "users", account, "installation"] | ["repos", account, _, "installation"]) => {
                Some(match self.installations.get(&account.to_lowercase()) {
                    Some(id) => answer(200, &json!({ "id": id })),
                    None => answer(404, &json!({"message": "Not Found"})),
                })
            }
            ("POST", ["app", "installations", id, "access_tokens"]) => {
                let known = self.installations.iter().find(|(_, known)| known.to_string() == *id);
                let account = known.expect("an installation").0.clone();
                let writes = body["permissions"]["contents"] == "write";
                let names = body["repositories"].as_array().cloned().unwrap_or_default();
                let writes: Vec<String> = names
                    .iter()
                    .filter(|_| writes)
                    .map(|name| format!("{account}/{}", name.as_str().expect("a name")))
                    .collect();
                let token = format!("ghs_app{}", self.tokens.len());
                self.tokens.insert(token.clone(), Scope { account, writes });
                Some(answer(201, &json!({ "token": token })))
            }
            _ => None,
        }
    }

    /// Returns what a token does that it is not for; `None` if all is well.
    pub fn refusal(&self, token: &str, method: &str, path: &str, body: &Value) -> Option<String> {
        let Some(scope) = self.tokens.get(token) else { return Some(format!("an unknown token: {token}")) };
        let words: Vec<&str> = path.trim_start_matches('/').split('/').collect();
        let is_fine = match words.as_slice() {
            ["graphql"] => {
                let owners = (0..).map_while(|at| body["variables"][format!("o{at}")].as_str());
                owners.into_iter().all(|owner| owner == scope.account)
            }
            ["orgs", account, "repos"] => account.eq_ignore_ascii_case(&scope.account),
            ["repos", owner, name, ..] if method == "GET" => {
                *owner == scope.account
                    && (scope.writes.is_empty() || scope.writes.contains(&format!("{owner}/{name}")))
            }
            ["repos", owner, name, ..] => scope.writes.contains(&format!("{owner}/{name}")),
            _ => false,
        };
        (!is_fine).then(|| format!("{method} {path} by a token for {} {:?}", scope.account, scope.writes))
    }

    /// How many repositories have a token of their own that writes.
    pub fn writable(&self) -> usize {
        self.tokens.values().filter(|scope| scope.writes.len() == 1).count()
    }
}
