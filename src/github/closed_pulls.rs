//! Pull requests that were closed without being merged, asked for by one GraphQL query for a hundred of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::json;

use super::api::Api;
use super::error::ApiError;
use super::operation::{Method, Purpose};

/// Number of pull requests that one query asks for.
const GROUP: usize = 100;

const READ: Purpose = Purpose { doing: "read pull requests", permission: "pull-requests: read" };

#[derive(Deserialize)]
struct Data {
    repository: Option<Pulls>,
}

/// The pull requests by alias; `None` for one that GitHub does not have.
type Pulls = BTreeMap<String, Option<Pull>>;

#[derive(Deserialize)]
struct Pull {
    state: String,
}

/// Returns those of these pull requests that were closed, and not merged.
pub async fn closed_pulls(api: &Api, numbers: &BTreeSet<u64>) -> Result<BTreeSet<u64>, ApiError> {
    let numbers: Vec<u64> = numbers.iter().copied().collect();
    let mut closed = BTreeSet::new();
    for group in numbers.chunks(GROUP) {
        let fields: String = group
            .iter()
            .map(|number| format!("    {}: pullRequest(number: {number}) {{ state }}\n", alias(*number)))
            .collect();
        let query = format!(
            "query ClosedPulls($owner: String!, $name: String!) {{\n  repository(owner: $owner, name: $name) {{\n{fields}  }}\n}}"
        );
        let variables = json!({"owner": api.owner(), "name": api.name()});
        // One that GitHub does not have leaves a gap, and says nothing of the others.
        let is_gap = |kind: &str| kind == "NOT_FOUND";
        let data: Data = api.graphql_by(Method::PostAgain, is_gap, &query, variables, READ).await?;
        closed.extend(data.closed(group)?);
    }
    Ok(closed)
}

fn alias(number: u64) -> String {
    format!("p{number}")
}

impl Data {
    /// Returns which of these are closed.
    fn closed(self, numbers: &[u64]) -> Result<Vec<u64>, ApiError> {
        let incomplete = || ApiError::incomplete(READ.doing);
        let pulls = self.repository.ok_or_else(incomplete)?;
        let mut closed = Vec::new();
        for number in numbers {
            let pull = pulls.get(&alias(*number)).ok_or_else(incomplete)?;
            if pull.as_ref().is_some_and(|pull| pull.state == "CLOSED") {
                closed.push(*number);
            }
        }
        Ok(closed)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value};

    use super::*;

    #[test]
    fn closed_pull_requests_are_told_from_missing_ones_and_from_answers_that_are_cut_off() {
        let all = json!({"p1": {"state": "CLOSED"}, "p2": {"state": "MERGED"}, "p3": {"state": "OPEN"}, "p4": null});
        let closed = |repository: Value| {
            let data: Data = from_value(json!({ "repository": repository })).expect("data");
            data.closed(&[1, 2, 3, 4])
        };
        assert_eq!(closed(all).expect("an answer"), [1]);
        for incomplete in [json!({}), json!({"p1": {"state": "CLOSED"}}), Value::Null] {
            let error = closed(incomplete).expect_err("it is incomplete");
            assert!(matches!(error, ApiError::Unclear { .. }), "{error}");
        }
    }
}
