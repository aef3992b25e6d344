//! Names of models: `provider::name`, parsed.

use std::borrow::Cow;
use std::fmt;
use std::path::{Path, PathBuf};

use genai::adapter::AdapterKind;

use crate::base::did_you_mean::nearest;

/// Model as the user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelName {
    /// Transcript that is replayed.
    Replay(PathBuf),
    /// Recipe that is followed.
    Recipe(PathBuf),
    /// Command line of a program that answers.
    Exec(String),
    /// Model of a provider.
    Provider(Provider),
}

/// Provider and one of its models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    pub(super) kind: AdapterKind,
    /// Full name, as `provider::name`.
    pub(super) full: String,
    /// Full name as genai knows it, with aliases resolved.
    pub(super) asked: String,
    alias: Option<&'static Alias>,
}

/// Provider that speaks another provider's protocol at an address of its own.
#[derive(Debug, PartialEq, Eq)]
struct Alias {
    name: &'static str,
    kind: AdapterKind,
    address: Address,
    /// Variables that may hold the key, in the order in which they are tried.
    keys: &'static [&'static str],
}

/// Address of an aliased provider.
#[derive(Debug, PartialEq, Eq)]
enum Address {
    /// The same address for everybody.
    Shared(&'static str),
    /// Address from the variable, with the suffix appended.
    Variable(&'static str, &'static str),
    /// Address that genai knows by itself.
    Known,
}

const ALIASES: [Alias; 3] = [
    // GitHub Models: a workflow with `models: read` needs no key but its token.
    Alias {
        name: "github",
        kind: AdapterKind::OpenAI,
        address: Address::Shared("https://models.github.ai/inference"),
        keys: &["GITHUB_TOKEN", "GH_TOKEN", "INPUT_GITHUB-TOKEN", "INPUT_GITHUB_TOKEN"],
    },
    // Azure's endpoint for OpenAI's protocol; the model name is that of the deployment.
    Alias {
        name: "azure",
        kind: AdapterKind::OpenAI,
        address: Address::Variable("AZURE_OPENAI_ENDPOINT", "/openai/v1"),
        keys: &["AZURE_OPENAI_API_KEY"],
    },
    Alias {
        name: "bedrock",
        kind: AdapterKind::BedrockApi,
        address: Address::Known,
        keys: &["AWS_BEARER_TOKEN_BEDROCK", "BEDROCK_API_KEY"],
    },
];

/// Variable without which the address of a provider is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the variable `{0}` with the model provider's URL is not set; pass it to the step with `env:`, or set `base-url`"
)]
pub struct UnsetVariable(pub &'static str);

/// Reason why a text does not name a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// There is no `::`.
    #[error("the model {given:?} has no provider; write it as `provider::name`, for example `{example}`")]
    NoProvider {
        /// Text as written.
        given: String,
        /// A name that may be meant.
        example: String,
    },
    /// There is nothing after the `::`.
    #[error("the model {0:?} has no name after `::`")]
    NoName(String),
    /// The provider is unknown.
    #[error("unknown model provider {given:?}{hint}")]
    UnknownProvider {
        /// Name as written.
        given: String,
        /// The most similar known name, as a question, or else all known names.
        hint: String,
    },
}

impl ModelName {
    /// Parses `provider::name`, `replay::FILE`, `recipe::FILE` or `exec::COMMAND`.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        let text = text.trim();
        let Some((provider, name)) = text.split_once("::") else {
            let (given, aliases) = (text.to_owned(), || ALIASES.iter().map(|alias| alias.name));
            let is_known = |name: &str| {
                AdapterKind::from_lower_str(name).is_some() || aliases().any(|alias| alias == name)
            };
            let example = match text.split_once([':', '/']) {
                Some((provider, name)) if is_known(provider) => {
                    format!("{provider}::{}", name.trim_start_matches('/'))
                }
                // genai knows which provider a bare name is likely to belong to.
                _ => {
                    let guess = AdapterKind::from_model(text).map_or("openai", |kind| kind.as_lower_str());
                    format!("{guess}::{text}")
                }
            };
            return Err(NameError::NoProvider { given, example });
        };
        if name.trim().is_empty() {
            return Err(NameError::NoName(text.to_owned()));
        }
        match provider {
            "replay" => return Ok(Self::Replay(PathBuf::from(name))),
            "recipe" => return Ok(Self::Recipe(PathBuf::from(name))),
            "exec" => return Ok(Self::Exec(name.trim().to_owned())),
            _ => {}
        }
        let alias = ALIASES.iter().find(|alias| alias.name == provider);
        let kind = alias.map(|alias| alias.kind).or_else(|| AdapterKind::from_lower_str(provider));
        let kind = kind.ok_or_else(|| unknown(provider))?;
        let asked = match alias {
            Some(_) => format!("{}::{name}", kind.as_lower_str()),
            None => text.to_owned(),
        };
        Ok(Self::Provider(Provider { kind, full: text.to_owned(), asked, alias }))
    }
}

fn unknown(given: &str) -> NameError {
    let aliases = ALIASES.iter().map(|alias| alias.name);
    let known: Vec<&str> = AdapterKind::all()
        .iter()
        .map(AdapterKind::as_lower_str)
        .chain(aliases)
        .chain(["replay", "recipe", "exec"])
        .collect();
    let hint = match nearest(given, known.iter().copied()) {
        Some(near) => format!(" (did you mean `{near}`?)"),
        None => format!("; use one of: {}", known.join(", ")),
    };
    NameError::UnknownProvider { given: given.to_owned(), hint }
}

impl Provider {
    /// Returns the variables that customarily hold this provider's key, the likeliest first; empty if no key
    /// is needed.
    pub fn key_variables(&self) -> Vec<&'static str> {
        match self.alias {
            Some(alias) => alias.keys.to_vec(),
            None => self.kind.default_key_env_name().into_iter().collect(),
        }
    }

    /// Returns the address to use if the configuration gives none, or `None` if genai knows it.
    pub fn address(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<String>, UnsetVariable> {
        match self.alias.map(|alias| &alias.address) {
            Some(Address::Shared(url)) => Ok(Some((*url).to_owned())),
            Some(Address::Variable(name, rest)) => {
                let base = variable(name).ok_or(UnsetVariable(name))?;
                let base = base.trim_end_matches('/');
                Ok(Some(if base.ends_with(rest) { base.to_owned() } else { format!("{base}{rest}") }))
            }
            Some(Address::Known) | None => Ok(None),
        }
    }
}

fn last(file: &Path) -> Cow<'_, str> {
    file.file_name().unwrap_or_default().to_string_lossy()
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // The folder of a transcript on this machine means nothing to a reader.
            Self::Replay(file) => write!(f, "replay::{}", last(file)),
            Self::Recipe(file) => write!(f, "recipe::{}", last(file)),
            Self::Exec(command) => write!(f, "exec::{command}"),
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
        assert_eq!(ModelName::parse("recipe::a/b.yml"), Ok(ModelName::Recipe("a/b.yml".into())));
        assert_eq!(
            ModelName::parse("exec::a --b").map(|name| name.to_string()),
            Ok("exec::a --b".to_owned())
        );
        assert!(message("claude-sonnet-4-6").contains("`anthropic::claude-sonnet-4-6`"));
        assert!(message("openia::gpt-5").contains("did you mean `openai`?"));
        assert!(message("anthropic:claude-sonnet-4-6").contains("`anthropic::claude-sonnet-4-6`"));
        assert!(message("github/gpt-5").contains("`github::gpt-5`"));
        assert!(!message("openia::gpt-5").contains("gemini") && message("x::y").contains("gemini"));
        assert!(message("openai::").contains("no name after"));
        assert!(message("azur::gpt-5").contains("did you mean `azure`?"));
    }

    #[test]
    fn providers_behind_anothers_protocol_have_keys_and_addresses_of_their_own() {
        let provider = |name: &str| match ModelName::parse(name) {
            Ok(ModelName::Provider(provider)) => provider,
            other => panic!("{other:?}"),
        };
        let github = provider("github::openai/gpt-5-mini");
        assert_eq!(
            (github.full.as_str(), github.asked.as_str()),
            ("github::openai/gpt-5-mini", "openai::openai/gpt-5-mini")
        );
        assert_eq!(github.address(|_| None), Ok(Some("https://models.github.ai/inference".to_owned())));
        assert!(github.key_variables().contains(&"GITHUB_TOKEN"));
        let azure = provider("azure::my-deployment");
        assert_eq!(azure.address(|_| None), Err(UnsetVariable("AZURE_OPENAI_ENDPOINT")));
        for endpoint in [
            "https://my.openai.azure.com",
            "https://my.openai.azure.com/",
            "https://my.openai.azure.com/openai/v1/",
        ] {
            let found = azure.address(|name| (name == "AZURE_OPENAI_ENDPOINT").then(|| endpoint.to_owned()));
            assert_eq!(found, Ok(Some("https://my.openai.azure.com/openai/v1".to_owned())), "{endpoint}");
        }
        let bedrock = provider("bedrock::anthropic.claude-sonnet-4-6");
        assert_eq!((bedrock.kind, bedrock.address(|_| None)), (AdapterKind::BedrockApi, Ok(None)));
        assert_eq!(provider("ollama::qwen3").key_variables(), Vec::<&str>::new());
    }
}
