//! Observes many repositories with few requests: one GraphQL query for fifty of them.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::api::Api;
use super::error::ApiError;
use super::observed::{Checks, Observed, ObservedRepository, PullFacts, PullState};
use super::operation::{Method, Purpose};
use super::repository_name::RepositoryName;

/// Repositories of one query. More would come near GitHub's limit of time for a query.
pub const OBSERVED_AT_ONCE: usize = 50;

const OBSERVE: Purpose = Purpose {
    doing: "observe repositories",
    permission: "contents: read, pull-requests: read, checks: read, statuses: read",
};

/// What to look at.
#[derive(Clone, Debug)]
pub struct ObserveTarget<'a> {
    /// The repository.
    pub repository: &'a RepositoryName,
    /// The branch whose pull requests are looked for.
    pub branch: &'a str,
    /// Pull requests from there that are known to be ours, whatever branch they are for: it is looked whether they were taken back.
    pub known: Vec<u64>,
}

/// Looks at repositories. The answers are in the order of the questions. `with_file` is a path of the default branch.
pub async fn observe(
    api: &Api,
    looks: &[ObserveTarget<'_>],
    with_file: Option<&str>,
) -> Result<Vec<Observed>, ApiError> {
    let mut all = Vec::with_capacity(looks.len());
    for some in looks.chunks(OBSERVED_AT_ONCE) {
        let (query, variables) = question(some, with_file);
        // A repository that is not there, or that the token may not see, leaves a gap.
        let is_gap = |kind: &str| matches!(kind, "NOT_FOUND" | "FORBIDDEN");
        let mut answers: BTreeMap<String, Option<RepositoryNode>> =
            api.graphql_by(Method::PostAgain, is_gap, &query, variables, OBSERVE).await?;
        for (at, look) in some.iter().enumerate() {
            let answer =
                answers.remove(&format!("t{at}")).ok_or_else(|| ApiError::incomplete(OBSERVE.doing))?;
            let seen = |answer: RepositoryNode| answer.observed(&look.known, with_file.is_some());
            all.push(answer.map_or_else(Observed::missing, seen));
        }
    }
    Ok(all)
}

/// Returns the name of the branch by which GitHub takes a pull request back.
fn revert_branch(number: u64, branch: &str) -> String {
    format!("revert-{number}-{branch}")
}

fn question(looks: &[ObserveTarget<'_>], with_file: Option<&str>) -> (String, Value) {
    let mut parameters = String::new();
    let mut fields = String::new();
    let mut variables = Map::new();
    let mut variable = |name: String, value: &str| {
        parameters += &format!("${name}: String!, ");
        variables.insert(name, json!(value));
    };
    if let Some(path) = with_file {
        variable("file".to_owned(), &format!("HEAD:{path}"));
    }
    for (at, ObserveTarget { repository, branch, known }) in looks.iter().enumerate() {
        for (name, value) in [("o", repository.owner()), ("n", repository.name()), ("b", branch)] {
            variable(format!("{name}{at}"), value);
        }
        let history = if known.is_empty() { "" } else { " history(first: 30) { nodes { message } }" };
        let file = if with_file.is_some() { " file: object(expression: $file) { oid }" } else { "" };
        let mut reverts = String::new();
        for number in known {
            let name = format!("r{at}_{number}");
            variable(name.clone(), &revert_branch(*number, branch));
            let pulls = format!("pullRequests(headRefName: ${name}, first: 1) {{ nodes {{ ...P }} }}");
            reverts += &format!(" {REVERT}{number}: {pulls}");
        }
        fields += &format!(
            "t{at}: repository(owner: $o{at}, name: $n{at}, followRenames: true) {{ nameWithOwner isArchived \
             defaultBranchRef {{ name target {{ oid ... on Commit {{ oid{history} }} }} }}{file} pulls: \
             pullRequests(headRefName: $b{at}, first: 20, orderBy: {{field: CREATED_AT, direction: DESC}}) \
             {{ nodes {{ ...P }} }}{reverts} }}\n"
        );
    }
    let parameters = parameters.trim_end_matches(", ");
    let query = format!(
        "query({parameters}) {{\n{fields}}}\nfragment P on PullRequest {{ id number state baseRefName headRefOid isCrossRepository isDraft \
         mergeable createdAt mergeCommit {{ oid }} commits(last: 1) {{ nodes {{ commit {{ statusCheckRollup {{ \
         state }} }} }} }} }}"
    );
    (query, Value::Object(variables))
}

/// What the names of answers about reverts begin with.
const REVERT: &str = "revert";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RepositoryNode {
    name_with_owner: String,
    is_archived: bool,
    default_branch_ref: Option<Branch>,
    #[serde(default)]
    file: Option<Value>,
    pulls: Nodes<Pull>,
    /// By [`REVERT`] and the number of what each takes back.
    #[serde(flatten)]
    reverts: BTreeMap<String, Nodes<Pull>>,
}

#[derive(Deserialize)]
struct Branch {
    name: String,
    target: Target,
}

#[derive(Deserialize)]
struct Target {
    oid: String,
    #[serde(default)]
    history: Nodes<Message>,
}

#[derive(Deserialize)]
struct Message {
    message: String,
}

#[derive(Deserialize)]
struct Nodes<T> {
    nodes: Vec<T>,
}

impl<T> Default for Nodes<T> {
    fn default() -> Self {
        Self { nodes: Vec::new() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Pull {
    id: String,
    number: u64,
    state: String,
    base_ref_name: String,
    head_ref_oid: String,
    is_cross_repository: bool,
    is_draft: bool,
    mergeable: String,
    created_at: String,
    merge_commit: Option<Oid>,
    commits: Nodes<PullCommit>,
}

#[derive(Deserialize)]
struct Oid {
    oid: String,
}

#[derive(Deserialize)]
struct PullCommit {
    commit: CommitChecks,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CommitChecks {
    status_check_rollup: Option<Rollup>,
}

#[derive(Deserialize)]
struct Rollup {
    state: String,
}

impl RepositoryNode {
    fn observed(self, known: &[u64], asks_for_file: bool) -> Observed {
        // A name of another form than GitHub's own is not followed anywhere.
        let Ok(name) = self.name_with_owner.parse() else { return Observed::missing() };
        let (mut messages, mut head) = (Vec::new(), None);
        if let Some(Branch { name, target }) = self.default_branch_ref {
            messages = target.history.nodes;
            head = Some((name, target.oid));
        }
        // What goes elsewhere from a branch of this name is no business of ours, unless it was ours before the default branch changed.
        let default = head.as_ref().map(|(name, _)| name.clone());
        let is_ours = |pull: &Pull| {
            !pull.is_cross_repository
                && (default.as_ref() == Some(&pull.base_ref_name) || known.contains(&pull.number))
        };
        let repository = ObservedRepository::Present {
            name,
            is_archived: self.is_archived,
            has_file: !asks_for_file || self.file.is_some(),
            head,
        };
        let pulls = self.pulls.nodes.into_iter().filter(is_ours).map(|pull| pull.facts(&messages)).collect();
        let reverts = self.reverts.into_iter().filter_map(|(name, found)| {
            let number: u64 = name.strip_prefix(REVERT)?.parse().ok()?;
            let revert = found.nodes.into_iter().find(|pull| !pull.is_cross_repository);
            Some((number, revert.map(|pull| pull.facts(&messages))))
        });
        Observed { repository, pulls, reverts: reverts.collect() }
    }
}

impl Pull {
    fn facts(self, messages: &[Message]) -> PullFacts {
        let rollup =
            self.commits.nodes.into_iter().next().and_then(|commit| commit.commit.status_check_rollup);
        let created_at = OffsetDateTime::parse(&self.created_at, &Rfc3339);
        let is_reverted = self.merge_commit.is_some_and(|Oid { oid }| {
            let line = format!("This reverts commit {oid}");
            messages.iter().any(|Message { message }| message.contains(&line))
        });
        PullFacts {
            number: self.number,
            node: self.id,
            state: match self.state.as_str() {
                "OPEN" => PullState::Open,
                "MERGED" => PullState::Merged,
                _ => PullState::Closed,
            },
            head: self.head_ref_oid,
            is_draft: self.is_draft,
            checks: match rollup.as_ref().map(|rollup| rollup.state.as_str()) {
                None => Checks::Absent,
                Some("SUCCESS") => Checks::Passed,
                Some("PENDING" | "EXPECTED") => Checks::Pending,
                Some(_) => Checks::Failed,
            },
            is_conflicting: self.mergeable == "CONFLICTING",
            created_at: created_at.map_or(0, |at| u64::try_from(at.unix_timestamp()).unwrap_or(0)),
            is_reverted,
        }
    }
}
