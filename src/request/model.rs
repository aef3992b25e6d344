//! Selects the model, its address and its key.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{InputError, Inputs};
use crate::base::bounded::Bounded;
use crate::config::{self, Config, ConfigError, Evaluation};
use crate::model::{ModelName, Provider};
use crate::recipe::Recipe;
use crate::trust::Trusted;

/// A model and what it takes to speak to it.
#[derive(Clone, Debug)]
pub enum ModelChoice {
    /// A transcript.
    Replay {
        /// The file.
        file: PathBuf,
        /// Whether a differing result fails the run.
        strict: bool,
    },
    /// A provider's model.
    Provider {
        /// Its name.
        provider: Provider,
        /// The key; `None` for servers that want none.
        key: Option<String>,
    },
    /// A recipe.
    Recipe(Box<Recipe>),
    /// A program of the user's.
    Exec {
        /// The command line.
        command: String,
        /// What it alone sees: the key that `api-key-env` names.
        variables: BTreeMap<String, String>,
    },
}

/// Returns the model of a name, and the variables that hold its secrets.
pub(super) fn choose(
    inputs: &Inputs,
    trusted: &Trusted<'_>,
    name: &ModelName,
    llm: &mut config::Llm,
) -> Result<(ModelChoice, Vec<String>), InputError> {
    let value = |variable: &str| inputs.variables.get(variable).filter(|key| !key.trim().is_empty()).cloned();
    let missing_key = |variable: &str| InputError::MissingKey { variable: variable.to_owned() };
    let provider = match name {
        ModelName::Replay(file) => {
            // As typed, or as written in a configuration of the workspace.
            let file = if file.exists() { file.clone() } else { trusted.workspace.join(file) };
            return Ok((ModelChoice::Replay { file, strict: inputs.strict_replay }, Vec::new()));
        }
        ModelName::Recipe(file) => {
            let missing = || ConfigError::MissingFile("recipe", file.display().to_string());
            let found = trusted.read(file)?.ok_or_else(missing)?;
            let recipe = Recipe::parse(&found.text, &found.shown())?;
            return Ok((ModelChoice::Recipe(Box::new(recipe)), Vec::new()));
        }
        ModelName::Exec(command) => {
            let named = llm.api_key_env.clone();
            let mut variables = BTreeMap::new();
            if let Some(name) = &named {
                variables.insert(name.clone(), value(name).ok_or_else(|| missing_key(name))?);
            }
            let choice = ModelChoice::Exec { command: command.clone(), variables };
            return Ok((choice, named.into_iter().collect()));
        }
        ModelName::Provider(provider) => provider.clone(),
    };
    if llm.base_url.as_ref().is_some_and(|url| url.contains(['?', '#'])) {
        // The value itself is not shown: it may contain a key.
        return Err(InputError::rules(
            "`base_url`: an address with a query (`?…`) or a fragment cannot be used, because paths are \
             appended to it; pass a key with `api_key_env`",
        ));
    }
    if llm.base_url.as_ref().is_some_and(|url| !url.starts_with("http://") && !url.starts_with("https://")) {
        return Err(InputError::rules("`base_url`: the address has to begin with `https://` or `http://`"));
    }
    let mut has_own_address = llm.base_url.is_some();
    if !has_own_address {
        let known = provider.address(value)?;
        // GitHub Enterprise, Azure: the address is known, the key is needed anyway.
        llm.base_url = known;
    }
    let customary = provider.key_variables();
    let found = match &llm.api_key_env {
        Some(variable) => {
            has_own_address = false;
            value(variable).map(|key| (variable.clone(), key))
        }
        None => customary.iter().find_map(|name| Some(((*name).to_owned(), value(name)?))),
    };
    let missing = llm.api_key_env.clone().or_else(|| customary.first().map(|name| (*name).to_owned()));
    let (variable, key) = match (found, missing) {
        (Some((variable, key)), _) => (Some(variable), Some(key)),
        // A server of one's own may want no key.
        (None, Some(_)) if has_own_address => (None, None),
        (None, Some(variable)) => return Err(missing_key(&variable)),
        (None, None) => (None, None),
    };
    Ok((ModelChoice::Provider { provider, key }, variable.into_iter().collect()))
}

/// The model of the review, where it is another than the run's.
#[derive(Clone, Debug)]
pub struct ReviewerModel {
    /// As people name it.
    pub name: String,
    /// The model.
    pub choice: ModelChoice,
    /// How it is spoken to.
    pub llm: config::Llm,
}

/// Returns the model for the code review; the variables that hold its secrets join `secrets`.
pub(super) fn reviewer(
    inputs: &Inputs,
    trusted: &Trusted<'_>,
    config: &Config,
    secrets: &mut Vec<String>,
) -> Result<Option<ReviewerModel>, InputError> {
    let review = &config.review;
    let Some(name) = review.model.as_ref().filter(|_| review.enabled) else { return Ok(None) };
    let name = ModelName::parse(name)?;
    if matches!(name, ModelName::Recipe(_) | ModelName::Exec(_)) {
        return Err(InputError::rules("`review.model`: a recipe or a program cannot review; use a model"));
    }
    // Address and key of the run's model are of no use to another.
    let mut llm = config::Llm {
        base_url: review.base_url.clone(),
        api_key_env: review.api_key_env.clone(),
        ..config.llm.clone()
    };
    let (choice, variables) = choose(inputs, trusted, &name, &mut llm)?;
    secrets.extend(variables);
    Ok(Some(ReviewerModel { name: name.to_string(), choice, llm }))
}

/// What is there for the sake of models does not stand in a recipe's way: nobody reads its results, and
/// nobody can be sent back to work.
pub(super) fn suit_recipe(config: &mut Config) {
    config.context.max_tool_result_tokens = Bounded::fixed::<100>();
    config.context.max_context_tokens = Bounded::fixed::<10_000_000>();
    config.guardrails.max_gate_rounds = Bounded::fixed::<1>();
    config.guardrails.require_test_after_edit = false;
    config.evaluation = Evaluation::Off;
    // It may be reviewed; it fixes nothing.
    config.review.max_fix_passes = Bounded::fixed::<0>();
    config.review.enabled &= config.review.model.is_some();
}
