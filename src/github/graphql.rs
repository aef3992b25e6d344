//! GitHub's other API: questions and mutations by GraphQL.

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::api::{Api, GRAPHQL};
use super::error::ApiError;
use super::login::Login;
use super::operation::{Method, Purpose};

/// One page of a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Connection<T> {
    page_info: PageInfo,
    nodes: Vec<T>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PageInfo {
    has_next_page: bool,
    end_cursor: Option<String>,
}

impl<T> Connection<T> {
    /// Splits the page into its items and the cursor of the next page, if there is one.
    pub(super) fn into_parts(self) -> (Vec<T>, Option<String>) {
        (self.nodes, self.page_info.end_cursor.filter(|_| self.page_info.has_next_page))
    }
}

impl Api {
    /// Sends a GraphQL query. It may be repeated after an error, so mutations have to be repeatable; all of
    /// ours are.
    pub(super) async fn graphql<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: Value,
        to: Purpose,
    ) -> Result<T, ApiError> {
        self.graphql_by(Method::PostAgain, |_| false, query, variables, to).await
    }

    /// Sends a GraphQL query, by `method`. Errors of the types that `is_fine` knows leave a gap in the data.
    pub(super) async fn graphql_by<T: DeserializeOwned>(
        &self,
        method: Method,
        is_fine: fn(&str) -> bool,
        query: &str,
        variables: Value,
        to: Purpose,
    ) -> Result<T, ApiError> {
        #[derive(Deserialize)]
        struct GraphQlResponse<T> {
            data: Option<T>,
            #[serde(default)]
            errors: Vec<Message>,
        }
        #[derive(Deserialize)]
        struct Message {
            message: String,
            #[serde(default, rename = "type")]
            kind: Option<String>,
        }
        let body = json!({"query": query, "variables": variables});
        let answer = self.request(method, GRAPHQL, Some(&body), to).await?;
        let GraphQlResponse { data, errors } = answer.read::<GraphQlResponse<T>>(to)?;
        if let (Some(data), true) =
            (data, errors.iter().all(|error| error.kind.as_deref().is_some_and(is_fine)))
        {
            return Ok(data);
        }
        let message = errors.iter().map(|error| error.message.as_str()).collect::<Vec<_>>().join("; ");
        let is = |wanted: &str| errors.iter().any(|error| error.kind.as_deref() == Some(wanted));
        if is("FORBIDDEN") {
            return Err(self.forbidden(to, message, None));
        }
        let status = if is("NOT_FOUND") { 404 } else { 422 };
        Err(ApiError::Refused { doing: to.doing, status, message })
    }

    /// Returns all entries of a list of a pull request, page by page. The query has the variables `owner`, `name`, `number` and
    /// `after`, and calls the list `entries`.
    pub(super) async fn list_of_pull<T: DeserializeOwned>(
        &self,
        query: &str,
        number: u64,
        to: Purpose,
    ) -> Result<Vec<T>, ApiError> {
        #[derive(Deserialize)]
        struct Data<T> {
            repository: Repository<T>,
        }
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Repository<T> {
            pull_request: Pull<T>,
        }
        #[derive(Deserialize)]
        struct Pull<T> {
            entries: Connection<T>,
        }
        let (mut all, mut after) = (Vec::new(), None::<String>);
        loop {
            let variables =
                json!({"owner": self.owner(), "name": self.name(), "number": number, "after": after});
            let Data { repository } = self.graphql::<Data<T>>(query, variables, to).await?;
            let (entries, next) = repository.pull_request.entries.into_parts();
            all.extend(entries);
            after = next;
            if after.is_none() {
                return Ok(all);
            }
        }
    }

    /// Sends a mutation that may be repeated, at the pace of requests that write.
    pub(super) async fn mutate(
        &self,
        mutation: &str,
        variables: Value,
        to: Purpose,
    ) -> Result<Value, ApiError> {
        self.graphql_by(Method::Mutation, |_| false, mutation, variables, to).await
    }

    /// Returns the id by which mutations name the repository.
    pub(super) async fn repository_id(&self) -> Result<&str, ApiError> {
        #[derive(Deserialize)]
        struct Data {
            repository: Id,
        }
        #[derive(Deserialize)]
        struct Id {
            id: String,
        }
        const QUERY: &str = "query RepositoryId($owner: String!, $name: String!) { repository(owner: $owner, name: $name) { id } }";
        let to = Purpose { doing: "identify the repository", permission: "metadata: read" };
        let variables = json!({"owner": self.owner(), "name": self.name()});
        let asked = async || self.graphql::<Data>(QUERY, variables, to).await.map(|data| data.repository.id);
        self.node_id.get_or_try_init(asked).await.map(String::as_str)
    }

    /// Returns the login of the token's owner. `GET /user` refuses the job's token; GraphQL accepts it.
    pub(crate) async fn login(&self) -> Result<String, ApiError> {
        #[derive(Deserialize)]
        struct Data {
            viewer: Login,
        }
        let to = Purpose { doing: "identify the owner of the token", permission: "metadata: read" };
        match self.graphql::<Data>("query { viewer { login } }", json!({}), to).await {
            Ok(Data { viewer }) => Ok(viewer.login),
            Err(error @ ApiError::Unauthorized(_)) => Err(error),
            // The job's own token always belongs to this bot, even where GraphQL refuses it.
            Err(_) if self.is_of_installation() => Ok("github-actions[bot]".to_owned()),
            Err(error) => Err(error),
        }
    }
}
