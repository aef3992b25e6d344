//! Pull requests that were closed without being merged, asked for by one GraphQL query for a hundred of them.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::api::{Api, Purpose};
use super::error::ApiError;

/// Number of pull requests that one query asks for.
const GROUP: usize = 100;

const READ: Purpose = Purpose { doing: "read pull requests", permission: "pull-requests: read" };

#[derive(Deserialize)]
struct Data {
    repository: Map<String, Value>,
}

/// Returns those of these pull requests that were closed, and not merged.
pub async fn closed_pulls(api: &Api, numbers: &BTreeSet<u64>) -> Result<BTreeSet<u64>, ApiError> {
    let numbers: Vec<u64> = numbers.iter().copied().collect();
    let mut closed = BTreeSet::new();
    for group in numbers.chunks(GROUP) {
        let fields: String = group
            .iter()
            .map(|number| format!("    p{number}: pullRequest(number: {number}) {{ state }}\n"))
            .collect();
        let query = format!(
            "query ClosedPulls($owner: String!, $name: String!) {{\n  repository(owner: $owner, name: $name) {{\n{fields}  }}\n}}"
        );
        let variables = json!({"owner": api.owner(), "name": api.name()});
        let Data { repository } = api.graphql(&query, variables, READ).await?;
        closed.extend(group.iter().filter(|number| repository[&format!("p{number}")]["state"] == "CLOSED"));
    }
    Ok(closed)
}
