//! `provider::name`, parsed.

use std::fmt;
use std::path::PathBuf;

use genai::adapter::AdapterKind;

use crate::nearest::nearest;

/// A model as people name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelName {
    /// A transcript that is played back.
    Replay(PathBuf),
    /// A provider's model.
    Provider(Provider),
}

/// A provider and one of its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    pub(super) kind: AdapterKind,
    /// `provider::name` in full.
    pub(super) full: String,
}

/// Why a text names no model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// No `::`.
    #[error("the model {0:?} names no provider; write it as `provider::name`, for example `{1}::{0}`")]
    NoProvider(String, String),
    /// Nothing after the `::`.
    #[error("the model {0:?} has no name after `::`")]
    NoName(String),
    /// A provider that is not known.
    #[error("the model provider {given:?} is not known{hint}; known are: {known}")]
    UnknownProvider {
        /// As written.
        given: String,
        /// The nearest name, as a question.
        hint: String,
        /// All names.
        known: String,
    },
}

impl ModelName {
    /// Reads `provider::name` or `replay::FILE`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        let Some((provider, name)) = text.split_once("::") else {
            // genai knows which provider a bare name is likely to belong to.
            let guess = AdapterKind::from_model(text).map_or("openai", |kind| kind.as_lower_str());
            return Err(NameError::NoProvider(text.to_owned(), guess.to_owned()));
        };
        if name.trim().is_empty() {
            return Err(NameError::NoName(text.to_owned()));
        }
        if provider == "replay" {
            return Ok(Self::Replay(PathBuf::from(name)));
        }
        match AdapterKind::from_lower_str(provider) {
            Some(kind) => Ok(Self::Provider(Provider { kind, full: text.to_owned() })),
            None => Err(unknown(provider)),
        }
    }
}

fn unknown(given: &str) -> NameError {
    let known: Vec<&str> =
        AdapterKind::all().iter().map(AdapterKind::as_lower_str).chain(["replay"]).collect();
    let hint = nearest(given, known.iter().copied())
        .map_or(String::new(), |near| format!(", did you mean `{near}`?"));
    NameError::UnknownProvider { given: given.to_owned(), hint, known: known.join(", ") }
}

impl Provider {
    /// The variable in which this provider's key is customarily kept; `None` where no key is needed.
    pub fn default_key_variable(&self) -> Option<&'static str> {
        self.kind.default_key_env_name()
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // Where the transcript lies on this machine tells a reader nothing.
            Self::Replay(file) => {
                write!(f, "replay::{}", file.file_name().unwrap_or_default().to_string_lossy())
            }
            Self::Provider(provider) => f.write_str(&provider.full),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_or_explained() {
        assert_eq!(ModelName::parse("replay::a/b.jsonl"), Ok(ModelName::Replay("a/b.jsonl".into())));
        assert_eq!(ModelName::Replay("a/b.jsonl".into()).to_string(), "replay::b.jsonl");
        let name = ModelName::parse("anthropic::claude-sonnet-4-6").expect("a known provider");
        assert_eq!(name.to_string(), "anthropic::claude-sonnet-4-6");
        let message = |text: &str| ModelName::parse(text).expect_err("no model").to_string();
        assert!(message("claude-sonnet-4-6").contains("`anthropic::claude-sonnet-4-6`"));
        assert!(message("openia::gpt-5").contains("did you mean `openai`?"));
        assert!(message("openai::").contains("no name after"));
    }
}
