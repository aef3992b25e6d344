//! Which environment variables children see: everything but secrets and the runner's command files.

use std::collections::BTreeMap;

/// Files by which a step talks to the runner. A child that wrote to them could set variables, paths
/// and outputs of later steps, so no child ever sees them.
const COMMAND_FILES: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/// Prefixes of variables that carry inputs, runner services or our own settings.
const PREFIXES: [&str; 3] = ["INPUT_", "ACTIONS_", "ARCHITECT_"];

/// Parts of a name that make it look like a secret.
const SECRET_PARTS: [&str; 8] =
    ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL", "APIKEY", "API_KEY", "PRIVATE_KEY"];

/// Ends of a name that make it look like a secret.
const SECRET_ENDS: [&str; 6] = ["_KEY", "_PAT", "_PASS", "_AUTH", "_KEY_ID", "OTLP_HEADERS"];

/// Whether a variable of this name holds a secret, going by the name.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    SECRET_PARTS.iter().any(|part| name.contains(part)) || SECRET_ENDS.iter().any(|end| name.ends_with(end))
}

/// Decides what children inherit.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Names that children see in spite of looking secret (`commands.env_passthrough`).
    pub passthrough: Vec<String>,
    /// Variables that hold the keys of models and servers: never passed on, whatever their names.
    pub keys: Vec<String>,
}

impl Rules {
    /// Whether children may see a variable.
    pub fn allows(&self, name: &str) -> bool {
        if COMMAND_FILES.contains(&name) || self.keys.iter().any(|key| key == name) {
            return false;
        }
        self.passthrough.iter().any(|allowed| allowed == name)
            || !(PREFIXES.iter().any(|prefix| name.starts_with(prefix)) || looks_secret(name))
    }

    /// The variables of `own` that children may see. Names or values that are no UTF-8 are left out.
    pub fn inherit(&self, own: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        own.iter()
            .filter(|(name, _)| self.allows(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_command_files_stay_here() {
        let rules = Rules {
            passthrough: vec!["NPM_TOKEN".into(), "GITHUB_ENV".into()],
            keys: vec!["MY_MODEL".into()],
        };
        for name in [
            "GITHUB_TOKEN",
            "GH_TOKEN",
            "INPUT_TASK",
            "INPUT_MY-NAME",
            "ACTIONS_RUNTIME_TOKEN",
            "ACTIONS_CACHE_URL",
            "OPENAI_API_KEY",
            "db_password",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GITHUB_ENV",
            "GITHUB_STEP_SUMMARY",
            "ARCHITECT_MODEL",
            "MY_MODEL",
        ] {
            assert!(!rules.allows(name), "{name}");
        }
        for name in ["PATH", "HOME", "NPM_TOKEN", "CI", "GITHUB_SHA", "KEYBOARD", "JAVA_HOME", "LANG"] {
            assert!(rules.allows(name), "{name}");
        }
    }
}
