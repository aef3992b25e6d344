//! Tokens, and the permissions that workflows give them: what a token was not given is refused, as GitHub does.

use serde_json::json;
use wiremock::{Request, ResponseTemplate};

use super::answer;

/// A token that may read contents, and nothing else: `contents: read`.
pub const READ_TOKEN: &str = "ghs_reads_contents";

/// The token of a job that writes: `contents: write`, `issues: write`, `pull-requests: write`.
pub const WRITE_TOKEN: &str = "ghs_writes_changes";

/// The token of the job that writes a batch: `contents: write`, `pull-requests: write`.
pub const BATCH_TOKEN: &str = "ghs_writes_batches";

/// A token of a person, who may write everything; GitHub signs nothing for it.
pub const PERSONS_TOKEN: &str = "ghp_of_a_person";

/// A token, by its permissions.
pub struct Token {
    text: &'static str,
    /// Permissions, and whether they are to write; `None` for all.
    permissions: Option<&'static [(&'static str, bool)]>,
    /// Whether GitHub signs what is committed with it.
    pub(super) signs: bool,
}

const TOKENS: [Token; 5] = [
    Token { text: "ghs_0123456789", permissions: None, signs: true },
    Token { text: READ_TOKEN, permissions: Some(&[("contents", false)]), signs: true },
    Token {
        text: WRITE_TOKEN,
        permissions: Some(&[("contents", true), ("issues", true), ("pull_requests", true)]),
        signs: true,
    },
    Token {
        text: BATCH_TOKEN,
        permissions: Some(&[("contents", true), ("pull_requests", true)]),
        signs: true,
    },
    Token { text: PERSONS_TOKEN, permissions: None, signs: false },
];

/// The token of an `authorization` header, if there is one of that name. What is behind a dot tells tokens of the same kind apart.
pub(super) fn known(header: &str) -> Option<&'static Token> {
    let name = header.strip_prefix("Bearer ")?.split('.').next()?;
    TOKENS.iter().find(|token| token.text == name)
}

/// The permissions of which a request needs one; none if anybody may send it.
fn needed(method: &str, path: &str, request: &Request) -> &'static [&'static str] {
    if path.ends_with("/graphql") {
        let query = String::from_utf8_lossy(&request.body);
        return if query.contains("updateRefs") {
            &["contents"]
        } else if query.contains("mutation") {
            &["pull_requests", "issues"]
        } else {
            &[]
        };
    }
    let words: Vec<&str> = path.split('/').skip(4).collect();
    match words.as_slice() {
        ["commits", _, "check-runs"] | ["check-runs", ..] => &["checks"],
        ["commits", _, "status"] | ["statuses", ..] => &["statuses"],
        ["contents" | "git" | "commits" | "compare", ..] | ["pulls", _, "merge"] => &["contents"],
        ["pulls", ..] => &["pull_requests"],
        ["issues", ..] => &["issues", "pull_requests"],
        ["actions", ..] => &["actions"],
        ["attestations", ..] => &["attestations"],
        // What the repository is, its rules, and who may do what.
        _ if method == "GET" => &[],
        _ => &["administration"],
    }
}

impl Token {
    /// Whether it may do something: write, or read.
    pub(super) fn may(&self, permission: &str, write: bool) -> bool {
        self.permissions
            .is_none_or(|all| all.iter().any(|(name, writes)| *name == permission && (*writes || !write)))
    }

    /// How GitHub refuses a request with this token, if it does.
    pub(super) fn refuses(&self, method: &str, path: &str, request: &Request) -> Option<ResponseTemplate> {
        let needed = needed(method, path, request);
        let write = method != "GET" && !needed.is_empty();
        if needed.is_empty() || needed.iter().any(|permission| self.may(permission, write)) {
            return None;
        }
        let level = if write { "write" } else { "read" };
        let accepted: Vec<String> = needed.iter().map(|name| format!("{name}={level}")).collect();
        let refused = answer(403, &json!({"message": "Resource not accessible by integration"}));
        Some(refused.insert_header("x-accepted-github-permissions", accepted.join("; ").as_str()))
    }
}
