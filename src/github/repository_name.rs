//! Names of repositories. They come from files, searches and GitHub's answers, and become parts of paths and addresses, so one
//! that is not of GitHub's form is never made.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Longest name of an account, and of a repository.
const MAX_OWNER: usize = 39;
const MAX_NAME: usize = 100;

/// A repository, as `owner/name` in lower case, because GitHub ignores case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepositoryName {
    owner: String,
    name: String,
}

/// Error for a text that names no repository.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid repository {0:?}; use `owner/name`")]
pub struct InvalidName(String);

impl InvalidName {
    /// Creates the error for a text.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl RepositoryName {
    /// Returns the account that it belongs to.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns its name without the owner.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Returns whether a text can be the name of an account.
pub(crate) fn is_owner(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    !text.is_empty() && text.len() <= MAX_OWNER && !text.starts_with('-') && text.chars().all(is_letter)
}

impl FromStr for RepositoryName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        let invalid = || InvalidName(text.to_owned());
        let lower = text.to_ascii_lowercase();
        let (owner, name) = lower.split_once('/').ok_or_else(invalid)?;
        let is_letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        let is_name = !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_letter);
        if !is_owner(owner) || !is_name || matches!(name, "." | "..") || name.strip_suffix(".git").is_some() {
            return Err(invalid());
        }
        Ok(Self { owner: owner.to_owned(), name: name.to_owned() })
    }
}

impl TryFrom<String> for RepositoryName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        text.parse()
    }
}

impl From<RepositoryName> for String {
    fn from(name: RepositoryName) -> Self {
        name.to_string()
    }
}

impl fmt::Display for RepositoryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.owner, self.name)
    }
}

impl JsonSchema for RepositoryName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        "RepositoryName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9_][A-Za-z0-9_-]*/[A-Za-z0-9_.-]+$" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repository_names_that_could_leave_their_place_are_refused() {
        for (text, expected) in [
            ("octo/demo", Some("octo/demo")),
            ("Octo/Demo.js", Some("octo/demo.js")),
            ("octo_corp/a_b-c", Some("octo_corp/a_b-c")),
            ("octo/..", None),
            ("octo/.", None),
            ("../octo", None),
            ("octo/a/b", None),
            ("octo/", None),
            ("/demo", None),
            ("-octo/demo", None),
            ("octo/demo.git", None),
            ("octo/a b", None),
            ("octo/a\nb", None),
            ("octo/ä", None),
            ("octo", None),
        ] {
            let found = text.parse::<RepositoryName>().ok().map(|name| name.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
