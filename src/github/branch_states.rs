//! States of the branches that a batch delivers to, asked for by one GraphQL query for a hundred of them.
//!
//! A state may be old when it is used. A branch that did not exist is created, which GitHub refuses if it exists by now; one
//! that exists is moved only if it is still where it was, which is more likely if its state is of this minute.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, MutexGuard};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::api::Api;
use super::commit::Commit;
use super::operation::Purpose;
use crate::base::verbose_log::detail;

/// Number of branches that one query asks for.
const GROUP: usize = 100;

/// How long a state is good for where the branch exists, and where it does not.
const FRESH: Duration = Duration::from_mins(1);
const FRESH_IF_ABSENT: Duration = Duration::from_mins(10);

const READ: Purpose = Purpose { doing: "read the branches", permission: "contents: read" };

/// The states of branches of ours, as far as they are known.
#[derive(Debug, Default)]
pub struct BranchStates {
    /// The branches that will be requested, in about this order.
    expected: Vec<String>,
    known: Mutex<BTreeMap<(String, String), CachedState>>,
    /// Branches that were requested together with another one. Each is, once: whoever has delivered to it is done.
    asked: Mutex<BTreeSet<String>>,
    /// The id by which mutations name the repository, which each client would have to ask for.
    repository_id: OnceLock<String>,
    /// Held while a query is under way, so that others wait for its answer.
    line: tokio::sync::Mutex<()>,
}

#[derive(Clone, Debug)]
struct CachedState {
    state: KnownBranch,
    at: Instant,
}

/// What is known of a branch of ours, of the one that it is for, and of its pull request.
#[derive(Clone, Debug)]
pub(super) struct KnownBranch {
    /// The tip of the branch that ours is for.
    pub(super) parent: Commit,
    /// The tip of ours, if it exists.
    pub(super) own: Option<Commit>,
    /// The number of commits that ours has and the other one lacks; `None` if GitHub did not say.
    pub(super) ahead: Option<u64>,
    /// The open pull request, if there is one.
    pub(super) pull: Option<OpenPull>,
}

/// An open pull request of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenPull {
    pub(super) number: u64,
    pub(super) url: String,
    pub(super) title: String,
    pub(super) body: String,
    pub(super) labels: Vec<String>,
    pub(super) is_draft: bool,
    /// The id by which mutations name it.
    pub(super) id: String,
}

impl KnownBranch {
    fn is_fresh(&self, age: Duration) -> bool {
        age < if self.own.is_some() { FRESH } else { FRESH_IF_ABSENT }
    }
}

impl BranchStates {
    /// Creates an empty collection for these branches.
    pub fn new(expected: Vec<String>) -> Self {
        Self { expected, ..Self::default() }
    }

    /// Returns the state of a branch, once: whoever delivers to it changes it. `None` if it has to be asked for otherwise.
    pub(super) async fn take(&self, api: &Api, onto: &str, branch: &str) -> Option<KnownBranch> {
        let state = self.known_or_asked(api, onto, branch).await;
        if let Some(id) = self.repository_id.get() {
            // Nothing else is ever set.
            drop(api.node_id.set(id.clone()));
        }
        state
    }

    async fn known_or_asked(&self, api: &Api, onto: &str, branch: &str) -> Option<KnownBranch> {
        let _alone = self.line.lock().await;
        if let Some(state) = self.taken(onto, branch) {
            return Some(state);
        }
        let group = self.group(branch);
        match ask(api, onto, &group).await {
            Ok(Answer { repository_id, states }) => {
                drop(repository_id.map(|id| self.repository_id.set(id)));
                let now = Instant::now();
                let keys = group.into_iter().map(|branch| (onto.to_owned(), branch));
                self.known().extend(keys.zip(states.into_iter().map(|state| CachedState { state, at: now })));
            }
            Err(error) => detail!("{error}; querying each branch separately"),
        }
        self.taken(onto, branch)
    }

    fn taken(&self, onto: &str, branch: &str) -> Option<KnownBranch> {
        let known = self.known().remove(&(onto.to_owned(), branch.to_owned()))?;
        Some(known.state).filter(|state| state.is_fresh(known.at.elapsed()))
    }

    /// Returns the branch, and others that will be requested, those that come after it first.
    fn group(&self, branch: &str) -> Vec<String> {
        let mut asked = self.asked.lock();
        asked.insert(branch.to_owned());
        let at = self.expected.iter().position(|expected| expected == branch);
        let (before, after) = self.expected.split_at(at.unwrap_or(self.expected.len()));
        let others = after.iter().chain(before).filter(|_| at.is_some());
        let mut group = vec![branch.to_owned()];
        group.extend(others.filter(|other| !asked.contains(*other)).take(GROUP - 1).cloned());
        asked.extend(group.iter().cloned());
        group
    }

    fn known(&self) -> MutexGuard<'_, BTreeMap<(String, String), CachedState>> {
        self.known.lock()
    }
}

/// Returns the query for so many branches. Names are variables, so that they cannot be taken for a part of it.
fn query(count: usize) -> String {
    let variables: String = (0..count).map(|n| format!(", $r{n}: String!, $h{n}: String!")).collect();
    let mut query = format!(
        "query BranchStates($owner: String!, $name: String!, $onto: String!, $base: String!{variables}) {{\n  \
         repository(owner: $owner, name: $name) {{\n    id\n    onto: ref(qualifiedName: $onto) {{ target {{ ...tip }} }}\n"
    );
    for n in 0..count {
        let _ = write!(
            query,
            "    r{n}: ref(qualifiedName: $r{n}) {{ target {{ ...tip }} compare(headRef: $base) {{ behindBy }} }}\n    \
             p{n}: pullRequests(headRefName: $h{n}, baseRefName: $base, states: OPEN, first: 5) {{ nodes {{ \
             id number url title body isDraft isCrossRepository labels(first: 50) {{ nodes {{ name }} }} }} }}\n"
        );
    }
    query
        + "  }\n}\nfragment tip on Commit { oid message tree { oid } parents(first: 3) { nodes { oid } } }\n"
}

/// What a query is answered.
struct Answer {
    repository_id: Option<String>,
    /// In the order of the branches.
    states: Vec<KnownBranch>,
}

/// Asks for the states of branches.
async fn ask(api: &Api, onto: &str, branches: &[String]) -> Result<Answer, super::ApiError> {
    #[derive(Deserialize)]
    struct Data {
        repository: Map<String, Value>,
    }
    let reference = |name: &str| Value::from(format!("refs/heads/{name}"));
    let mut variables = Map::new();
    variables.insert("owner".to_owned(), api.owner().into());
    variables.insert("name".to_owned(), api.name().into());
    variables.insert("onto".to_owned(), reference(onto));
    variables.insert("base".to_owned(), onto.into());
    for (n, branch) in branches.iter().enumerate() {
        variables.insert(format!("r{n}"), reference(branch));
        variables.insert(format!("h{n}"), branch.as_str().into());
    }
    let mut data: Data = api.graphql(&query(branches.len()), variables.into(), READ).await?;
    let repository_id = data.repository.get("id").and_then(Value::as_str).map(str::to_owned);
    let unclear = || super::ApiError::Unclear { doing: READ.doing, message: "unexpected answer".to_owned() };
    let parent = tip(&data.repository["onto"]).ok_or_else(unclear)?;
    let mut state = |n: usize| {
        let found = data.repository.remove(&format!("r{n}"))?;
        let own = if found.is_null() { None } else { Some(tip(&found)?) };
        let pulls = data.repository.remove(&format!("p{n}"))?;
        let mut pulls = pulls["nodes"].as_array()?.iter().filter(|pull| pull["isCrossRepository"] == false);
        let pull = pulls.next().map(open_pull);
        let ahead = found["compare"]["behindBy"].as_u64();
        Some(KnownBranch { parent: parent.clone(), own, ahead, pull: pull.flatten() })
    };
    let states = (0..branches.len()).map(|n| state(n).ok_or_else(unclear)).collect::<Result<_, _>>()?;
    Ok(Answer { repository_id, states })
}

fn tip(reference: &Value) -> Option<Commit> {
    let target = &reference["target"];
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let parents = target["parents"]["nodes"].as_array()?.iter().map(|parent| text(&parent["oid"]));
    Some(Commit {
        sha: text(&target["oid"])?,
        tree: text(&target["tree"]["oid"])?,
        parents: parents.collect::<Option<_>>()?,
        message: text(&target["message"])?,
    })
}

fn open_pull(pull: &Value) -> Option<OpenPull> {
    let text = |name: &str| pull[name].as_str().map(str::to_owned);
    let labels = pull["labels"]["nodes"].as_array().into_iter().flatten();
    Some(OpenPull {
        number: pull["number"].as_u64()?,
        url: text("url")?,
        title: text("title")?,
        body: text("body")?,
        is_draft: pull["isDraft"] == true,
        id: text("id")?,
        labels: labels.filter_map(|label| Some(label["name"].as_str()?.to_owned())).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_asked_for_a_hundred_at_a_time() {
        let states = BranchStates::new((0..250).map(|n| format!("b{n}")).collect());
        let group = states.group("b20");
        assert_eq!((group.len(), group[0].as_str(), group[99].as_str()), (100, "b20", "b119"));
        // Tasks end in any order, and nobody is asked for twice without need.
        let group = states.group("b240");
        assert_eq!((group.len(), group[9].as_str(), group[10].as_str()), (100, "b249", "b0"));
        assert_eq!(
            states.group("b20"),
            ["b20"]
                .into_iter()
                .map(str::to_owned)
                .chain((190..240).map(|n| format!("b{n}")))
                .collect::<Vec<_>>()
        );
        // Nobody expected this one.
        assert_eq!(states.group("other"), ["other"]);
    }

    #[test]
    fn state_of_branch_that_exists_grows_old_sooner() {
        let commit =
            Commit { sha: "a".into(), tree: "b".into(), parents: Vec::new(), message: String::new() };
        let absent = KnownBranch { parent: commit.clone(), own: None, ahead: None, pull: None };
        let there = KnownBranch { own: Some(commit), ..absent.clone() };
        assert!(absent.is_fresh(FRESH) && !absent.is_fresh(FRESH_IF_ABSENT));
        assert!(there.is_fresh(Duration::ZERO) && !there.is_fresh(FRESH));
    }
}
