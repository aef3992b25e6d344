//! Which model is asked, at which address, with which key.

use std::path::{Path, PathBuf};

use super::{InputError, Lookup};
use crate::config;
use crate::model::{ModelName, Provider};

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
    /// Nobody: a plan is applied.
    None,
}

/// The model of a name, and the variables that hold its secrets.
pub(super) fn choose(
    lookup: &Lookup,
    base: &Path,
    name: &ModelName,
    llm: &mut config::Llm,
) -> Result<(ModelChoice, Vec<String>), InputError> {
    let provider = match name {
        ModelName::Replay(file) => {
            // As typed, or as written in a configuration of the workspace.
            let file = if file.exists() { file.clone() } else { base.join(file) };
            return Ok((ModelChoice::Replay { file, strict: lookup.flag("strict-replay")? }, Vec::new()));
        }
        ModelName::Provider(provider) => provider.clone(),
    };
    let value =
        |variable: &str| lookup.variables().get(variable).filter(|key| !key.trim().is_empty()).cloned();
    let mut has_own_address = llm.base_url.is_some();
    if !has_own_address {
        let known = provider.address(value).map_err(|variable| InputError::MissingAddress { variable })?;
        // GitHub Enterprise, Azure: the address is known, the key is needed all the same.
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
        (None, Some(variable)) => return Err(InputError::MissingKey { variable }),
        (None, None) => (None, None),
    };
    Ok((ModelChoice::Provider { provider, key }, variable.into_iter().collect()))
}
