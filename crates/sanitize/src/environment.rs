//! Environment of children: which variables they see. These are the ones that are known to be harmless by
//! name, those that plainly are by value, and those that the configuration names. Everything else is
//! withheld.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use crate::secret_names::{
    SWITCHES, USERINFO, begins_known, is_listed, is_path, is_random, looks_secret, pattern, runs,
};

/// Files through which a step talks to the runner. A child that wrote to them could set variables, paths, and
/// outputs of later steps, so no child ever sees them.
const COMMAND_FILES: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/// Prefixes of variables that are never judged by their value: inputs, runner services, this program's own
/// settings, and what makes a shell or Git run or load something else.
const NEVER_BY_VALUE: [&str; 6] = ["INPUT_", "ACTIONS_", "ARCHITECT_", "GITHUB_", "GIT_CONFIG_", "BASH_"];

/// Values that reveal nothing, whatever the variable.
const PLAIN_WORDS: [&str; 48] = [
    "true",
    "false",
    "yes",
    "no",
    "on",
    "off",
    "none",
    "null",
    "auto",
    "always",
    "never",
    "default",
    "enabled",
    "disabled",
    "test",
    "testing",
    "dev",
    "development",
    "prod",
    "production",
    "staging",
    "stage",
    "ci",
    "local",
    "debug",
    "release",
    "trace",
    "info",
    "warn",
    "warning",
    "error",
    "verbose",
    "quiet",
    "silent",
    "full",
    "short",
    "linux",
    "ubuntu",
    "debian",
    "x86_64",
    "amd64",
    "arm64",
    "aarch64",
    "x64",
    "utf-8",
    "utf8",
    "localhost",
    "main",
];

/// Maximum length of a value that is judged harmless by what it is, in bytes.
const MAX_PLAIN: usize = 4096;

/// An option or a setting in a value that contains a secret: `-Dpassword=…`, `Authorization: …`.
pub(crate) static SECRET_OPTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?x)(?i-u:passw(?:or)?d|passphrase|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|credentials?|
        \bpwd|authorization|\bbearer|\bsig|signature|_auth)["']?\s*[=:\s]\s*["']?[^\s"';]"#,
    )
});

/// A number, a size, a time, or a version.
pub(crate) static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[+-]?[0-9]{1,12}(?:\.[0-9]{1,9})?(?:[a-zA-Z]{1,2}|%)?|[vV]?[0-9]{1,9}(?:\.[0-9]{1,9}){1,4}(?:[-+.]?(?:alpha|beta|rc|dev|pre|post|lts)[.\-]?[0-9]{0,9})?)$",
    )
});

/// The URL of a service on this machine, and nothing more.
pub(crate) static LOCAL_ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[a-z][a-z0-9+.\-]{1,20}://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::[0-9]{1,5})?(?:/[a-z0-9_\-]{0,24})?$",
    )
});

/// Returns whether a value is plainly not a secret: a number, a version, one of a few words, an existing
/// path, or the URL of a local service.
fn is_plain(value: &str) -> bool {
    value.len() <= MAX_PLAIN
        && (value.is_empty()
            || PLAIN_WORDS.contains(&value.to_ascii_lowercase().as_str())
            || NUMBER.is_match(value)
            || LOCAL_ADDRESS.is_match(value)
            || is_path(value))
}

/// Returns whether a value contains a secret, whatever the variable is for.
fn carries_secret(value: &str) -> bool {
    USERINFO.is_match(value) || SECRET_OPTION.is_match(value)
}

/// The variables that children inherit, and those that they do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// The variables that they see, by name.
    pub variables: BTreeMap<String, String>,
    /// The names of the variables that they do not see.
    pub withheld: BTreeSet<String>,
}

/// Rules for what children inherit.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// Names that children see (`commands.env_passthrough`), even if they look secret.
    pub passthrough: Vec<String>,
    /// Names of variables with the keys of models and servers: never passed on, whatever the names.
    pub keys: Vec<String>,
}

/// Least length of a secret that is looked for in other variables, in bytes; a shorter one would be found anywhere.
const LEAST_SECRET: usize = 8;

impl Rules {
    /// Returns whether children may see a variable.
    pub fn allows(&self, name: &str, value: &str) -> bool {
        // Windows ignores case.
        let upper = name.to_ascii_uppercase();
        if COMMAND_FILES.contains(&upper.as_str()) || self.keys.iter().any(|key| key == name) {
            return false;
        }
        if self.passthrough.iter().any(|allowed| allowed == name) {
            return true;
        }
        if looks_secret(name) {
            let by_value = !NEVER_BY_VALUE.iter().any(|prefix| upper.starts_with(prefix));
            return by_value && SWITCHES.contains(&value.to_ascii_lowercase().as_str());
        }
        if carries_secret(value) {
            return false;
        }
        if is_listed(&upper) {
            return true;
        }
        if NEVER_BY_VALUE.iter().any(|prefix| upper.starts_with(prefix)) {
            return false;
        }
        is_plain(value) || (begins_known(&upper) && !runs(value).any(is_random))
    }

    /// Sorts the variables in `own` into those that children see and those that are withheld.
    pub fn inherit(&self, own: &BTreeMap<String, String>) -> Inherited {
        let mut inherited = Inherited::default();
        // Under whatever name: `GRADLE_OPTS=-Ptoken=…` carries it as well.
        let is_passed = |name: &String| self.passthrough.contains(name);
        let secrets: Vec<&String> = own
            .iter()
            .filter(|(name, value)| value.len() >= LEAST_SECRET && !is_passed(name))
            .filter(|(name, _)| self.keys.contains(name) || looks_secret(name))
            .map(|(_, value)| value)
            .collect();
        for (name, value) in own {
            let carries = || secrets.iter().any(|secret| value.contains(secret.as_str()));
            if self.allows(name, value) && (is_passed(name) || !carries()) {
                inherited.variables.insert(name.clone(), value.clone());
            } else {
                inherited.withheld.insert(name.clone());
            }
        }
        inherited
    }
}

/// Returns the withheld names that `text` mentions, sorted.
pub fn mentioned<'a>(withheld: &'a BTreeSet<String>, text: &str) -> Vec<&'a str> {
    let words: BTreeSet<&str> =
        text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).collect();
    withheld.iter().map(String::as_str).filter(|name| name.len() >= 3 && words.contains(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A table in `tests/cases/environment.yml`.
    #[derive(serde::Deserialize)]
    struct Cases {
        seen: Vec<String>,
        withheld: Vec<String>,
    }

    fn cases() -> Cases {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/environment.yml");
        let text = std::fs::read_to_string(path).expect("the cases");
        serde_yaml::from_str(&text).expect("a table")
    }

    fn split(case: &str) -> (&str, &str) {
        case.split_once('=').expect("NAME=value")
    }

    #[test]
    fn a_known_secret_is_withheld_under_every_name() {
        let own = [
            ("GITHUB_TOKEN", "correct-horse"),
            ("MODEL_KEY", "battery-staple"),
            ("SHORT_TOKEN", "main"),
            ("GITHUB_REF_NAME", "correct-horse"),
            ("MAKEFLAGS", "KEY=battery-staple"),
            ("GITHUB_HEAD_REF", "main"),
            ("MINE", "correct-horse"),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let rules = Rules { passthrough: vec!["MINE".to_owned()], keys: vec!["MODEL_KEY".to_owned()] };
        let seen: Vec<String> = rules.inherit(&own).variables.into_keys().collect();
        assert_eq!(seen, ["GITHUB_HEAD_REF", "MINE"]);
    }

    #[test]
    fn children_see_what_is_harmless_and_nothing_else() {
        let rules = Rules::default();
        let Cases { seen, withheld, .. } = cases();
        let wrong: Vec<&String> = seen
            .iter()
            .filter(|case| !rules.allows(split(case).0, split(case).1))
            .chain(withheld.iter().filter(|case| rules.allows(split(case).0, split(case).1)))
            .collect();
        assert_eq!(wrong, Vec::<&String>::new());
    }

    #[test]
    fn the_configuration_names_more_but_no_keys_and_no_command_files() {
        let rules = Rules {
            passthrough: ["NPM_TOKEN", "DATABASE_URL", "GITHUB_ENV", "MY_MODEL"].map(str::to_owned).to_vec(),
            keys: vec!["MY_MODEL".into()],
        };
        for (name, seen) in
            [("NPM_TOKEN", true), ("DATABASE_URL", true), ("GITHUB_ENV", false), ("MY_MODEL", false)]
        {
            assert_eq!(rules.allows(name, "postgres://me:secret@host/db"), seen, "{name}");
        }
    }

    #[test]
    fn withheld_names_are_told_where_they_are_spoken_of() {
        let own = [("PATH", "/bin"), ("STRIPE_ACCOUNT", "acct-of-mine"), ("OTHER_THING", "what is it")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let inherited = Rules::default().inherit(&BTreeMap::from(own));
        assert_eq!(inherited.variables.keys().collect::<Vec<_>>(), ["PATH"]);
        assert_eq!(inherited.withheld.iter().collect::<Vec<_>>(), ["OTHER_THING", "STRIPE_ACCOUNT"]);
        let said = |text: &str| mentioned(&inherited.withheld, text);
        assert_eq!(said("KeyError: 'STRIPE_ACCOUNT'"), ["STRIPE_ACCOUNT"]);
        assert_eq!(said("echo ${OTHER_THING} $STRIPE_ACCOUNTS"), ["OTHER_THING"]);
        assert_eq!(said("all is well"), Vec::<&str>::new());
    }
}
