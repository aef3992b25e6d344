//! Branches below a name, in many repositories, asked for by one GraphQL query for fifty of them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::api::Api;
use super::error::ApiError;
use super::graphql::Connection;
use super::operation::{Method, Purpose};
use super::repository_name::RepositoryName;

/// Repositories of one query.
const AT_ONCE: usize = 50;

/// Most branches that are read of a repository.
const MAX_BRANCHES: usize = 1_000;

const READ: Purpose = Purpose { doing: "list branches", permission: "contents: read" };

/// Returns the last parts of the names of all branches below `folder`, such as `a/b`, in the order of the repositories. Of one that
/// is not there, or that the token may not see, there are none.
pub async fn branches_below(
    api: &Api,
    repositories: &[&RepositoryName],
    folder: &str,
) -> Result<Vec<Vec<String>>, ApiError> {
    let mut all = vec![Vec::new(); repositories.len()];
    let mut left: Vec<(usize, Option<String>)> = (0..repositories.len()).map(|at| (at, None)).collect();
    while !left.is_empty() {
        let some: Vec<_> = left.drain(..left.len().min(AT_ONCE)).collect();
        let (query, variables) = question(&some, repositories, folder);
        let is_gap = |kind: &str| matches!(kind, "NOT_FOUND" | "FORBIDDEN");
        let mut answers: BTreeMap<String, Option<RepositoryNode>> =
            api.graphql_by(Method::PostAgain, is_gap, &query, variables, READ).await?;
        for (at, _) in some {
            let answer = answers.remove(&format!("t{at}")).ok_or_else(|| ApiError::incomplete(READ.doing))?;
            let Some(refs) = answer.and_then(|repository| repository.refs) else { continue };
            let last = |branch: Branch| branch.name.rsplit('/').next().map(str::to_owned);
            let (branches, next) = refs.into_parts();
            all[at].extend(branches.into_iter().filter_map(last));
            if let (Some(next), true) = (next, all[at].len() < MAX_BRANCHES) {
                left.push((at, Some(next)));
            }
        }
    }
    Ok(all)
}

/// Names are variables, so that they cannot be taken for a part of the query.
fn question(
    some: &[(usize, Option<String>)],
    repositories: &[&RepositoryName],
    folder: &str,
) -> (String, Value) {
    let (mut parameters, mut fields) = (String::new(), String::new());
    let mut variables = Map::new();
    variables.insert("prefix".to_owned(), format!("refs/heads/{folder}/").into());
    for (at, after) in some {
        let _ = write!(parameters, ", $o{at}: String!, $n{at}: String!, $a{at}: String");
        let _ = writeln!(
            fields,
            "  t{at}: repository(owner: $o{at}, name: $n{at}, followRenames: true) {{ refs(refPrefix: $prefix, first: 100, \
             after: $a{at}) {{ nodes {{ name }} pageInfo {{ hasNextPage endCursor }} }} }}"
        );
        variables.insert(format!("o{at}"), repositories[*at].owner().into());
        variables.insert(format!("n{at}"), repositories[*at].name().into());
        variables.insert(format!("a{at}"), after.as_deref().into());
    }
    let query = format!("query BranchesBelow($prefix: String!{parameters}) {{\n{fields}}}");
    (query, Value::Object(variables))
}

#[derive(Deserialize)]
struct RepositoryNode {
    refs: Option<Connection<Branch>>,
}

#[derive(Deserialize)]
struct Branch {
    name: String,
}
