//! Environment of children: which variables they see. These are the ones that are known to be harmless by
//! name, those that plainly are by value, and those that the configuration names. Everything else is
//! withheld.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::LazyLock;

use globset::{Glob, GlobSet, GlobSetBuilder};
use regex::Regex;

/// Files through which a step talks to the runner. A child that wrote to them could set variables, paths, and
/// outputs of later steps, so no child ever sees them.
const COMMAND_FILES: [&str; 5] =
    ["GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE", "GITHUB_STEP_SUMMARY"];

/// Prefixes of variables that are never judged by their value: inputs, runner services, this program's own
/// settings, and what makes a shell or Git run or obey something else.
const NEVER_BY_VALUE: [&str; 6] = ["INPUT_", "ACTIONS_", "ARCHITECT_", "GITHUB_", "GIT_CONFIG_", "BASH_"];

/// Names of harmless variables, in groups; `*` stands for any ending.
const KNOWN: &str = include_str!("environment.txt");

/// Parts that make a name that of a secret, wherever they occur in it.
const SECRET_PARTS: [&str; 16] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
    "APIKEY",
    "SSHKEY",
    "PRIVATEKEY",
    "ACCESSKEY",
    "KEYSTORE",
    "KEYFILE",
    "WEBHOOK",
    "BEARER",
    "COOKIE",
    "ASKPASS",
];

/// Words that make a name that of a secret.
const SECRET_WORDS: [&str; 17] = [
    "KEY", "KEYS", "PASS", "PWD", "PW", "AUTH", "OAUTH", "OAUTH2", "PAT", "JWT", "DSN", "CREDS", "PEM",
    "SAS", "OTP", "TOTP", "SALT",
];

/// Sequences of words that make a name that of a secret.
const SECRET_PHRASES: [&str; 4] = ["CONNECTION_STRING", "KUBE_CONFIG", "OTLP_HEADERS", "KUBECONFIG_DATA"];

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

/// Values of switches, which no secret has.
const SWITCHES: [&str; 10] = ["", "true", "false", "yes", "no", "on", "off", "none", "null", "disabled"];

/// Maximum length of a value that is judged harmless by what it is, in bytes.
const MAX_PLAIN: usize = 4096;

/// Compiles a constant pattern.
fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "constant patterns, compiled in a test")]
    Regex::new(text).expect("a valid pattern")
}

/// A URL with a user or a password.
static USERINFO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[A-Za-z][A-Za-z0-9+.\-]*://(?P<user>[^\s/?#@:]*)(?::(?P<password>[^\s/?#]*))?@")
});

/// An option or a setting in a value that contains a secret: `-Dpassword=…`, `Authorization: …`.
static SECRET_OPTION: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r#"(?ix)(?:passw(?:or)?d|passphrase|secret|token|api[_\-]?key|access[_\-]?key|private[_\-]?key|credentials?|
        \bpwd|authorization|\bbearer|\bsig|signature|_auth)["']?\s*[=:\s]\s*["']?[^\s"';]"#,
    )
});

/// A run of characters that is long enough for a generated key.
static RUN: LazyLock<Regex> = LazyLock::new(|| pattern(r"[A-Za-z0-9+_=\-]{20,}"));

/// A number, a size, a time, or a version.
static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[+-]?[0-9]{1,12}(?:\.[0-9]{1,9})?(?:[a-zA-Z]{1,2}|%)?|[vV]?[0-9]{1,9}(?:\.[0-9]{1,9}){1,4}(?:[-+.]?(?:alpha|beta|rc|dev|pre|post|lts)[.\-]?[0-9]{0,9})?)$",
    )
});

/// The URL of a service on this machine, and nothing more.
static LOCAL_ADDRESS: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:[a-z][a-z0-9+.\-]{1,20}://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[::1?\])(?::[0-9]{1,5})?(?:/[a-z0-9_\-]{0,24})?$",
    )
});

static KNOWN_NAMES: LazyLock<GlobSet> = LazyLock::new(|| {
    let mut names = GlobSetBuilder::new();
    for name in KNOWN.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace) {
        if let (true, Ok(glob)) = (name.contains('*'), Glob::new(name)) {
            names.add(glob);
        }
    }
    names.build().unwrap_or_default()
});

/// Returns whether an uppercase name is listed in full, without a pattern.
fn is_listed(name: &str) -> bool {
    static LISTED: LazyLock<BTreeSet<&str>> = LazyLock::new(|| {
        KNOWN.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect()
    });
    LISTED.contains(name)
}

/// Returns whether a variable holds a secret, going by its name.
pub fn looks_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace(|letter: char| !letter.is_ascii_alphanumeric(), "_");
    if is_listed(&name) {
        return false;
    }
    let numbered = |word: &str| word.trim_end_matches(|letter: char| letter.is_ascii_digit()).to_owned();
    SECRET_PARTS.iter().any(|part| name.contains(part))
        || SECRET_PHRASES.iter().any(|phrase| name.contains(phrase))
        || name
            .split('_')
            .any(|word| SECRET_WORDS.contains(&word) || SECRET_WORDS.contains(&numbered(word).as_str()))
}

/// Returns the parts of a variable's value that must not be shown; none for a harmless one.
///
/// These are the rules for the environment once more: what is withheld and looks like a secret.
pub fn secrets_of<'a>(name: &str, value: &'a str) -> Vec<&'a str> {
    // The path of a key is not a secret, and reports are full of paths.
    if SWITCHES.contains(&value.to_ascii_lowercase().as_str()) || is_path(value) {
        return Vec::new();
    }
    if looks_secret(name) {
        return std::iter::once(value).chain(passwords(value)).collect();
    }
    if USERINFO.is_match(value) {
        return passwords(value).collect();
    }
    let shown = is_known(name) || names_a_hash(name) || !is_key(value);
    if shown { Vec::new() } else { vec![value] }
}

/// Returns a text with the user and password removed from its URLs.
pub fn without_userinfo(address: &str) -> String {
    let stripped = |found: &regex::Captures<'_>| {
        let end = found[0].find("://").map_or(0, |at| at + 3);
        found[0][..end].to_owned()
    };
    USERINFO.replace_all(address, stripped).into_owned()
}

/// Returns the passwords in URLs, and users without a password if they look like tokens.
pub fn passwords(value: &str) -> impl Iterator<Item = &str> {
    USERINFO.captures_iter(value).filter_map(|found| {
        let (user, password) = (found.name("user")?.as_str(), found.name("password"));
        match password {
            Some(password) => Some(password.as_str()),
            // `git@host` and the like: a short word is a name.
            None => Some(user).filter(|user| is_key(user)),
        }
    })
}

/// Returns whether a value is a single generated key.
fn is_key(value: &str) -> bool {
    !value.contains(char::is_whitespace) && RUN.find(value).is_some_and(|run| is_random(run.as_str()))
}

/// Returns whether letters and digits are mixed as they are in keys, and hardly ever in names.
fn is_random(run: &str) -> bool {
    let has = |kind: fn(&u8) -> bool| run.bytes().any(|byte| kind(&byte));
    let digits = run.bytes().filter(u8::is_ascii_digit).count();
    let hex = run.len() >= 32 && digits >= 4 && run.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex || (digits >= 2 && has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase))
}

/// Returns whether a variable is named after a checksum or a commit, which look like keys.
fn names_a_hash(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["SHA", "HASH", "DIGEST", "COMMIT", "CHECKSUM", "FINGERPRINT", "REVISION"]
        .iter()
        .any(|part| name.contains(part))
}

fn is_known(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    is_listed(&name) || KNOWN_NAMES.is_match(&name)
}

/// Returns whether a value is an existing absolute path, or a list of such paths.
fn is_path(value: &str) -> bool {
    std::env::split_paths(value).all(|path| path.is_absolute() && Path::new(&path).exists())
}

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
        is_plain(value)
            || (KNOWN_NAMES.is_match(&upper) && !RUN.find_iter(value).any(|run| is_random(run.as_str())))
    }

    /// Sorts the variables in `own` into those that children see and those that are withheld.
    pub fn inherit(&self, own: &BTreeMap<String, String>) -> Inherited {
        let mut inherited = Inherited::default();
        for (name, value) in own {
            if self.allows(name, value) {
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
        masked: BTreeMap<String, Vec<String>>,
    }

    fn cases() -> Cases {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cases/environment.yml");
        let text = std::fs::read_to_string(path).expect("the cases");
        serde_yaml::from_str(&text).expect("a table")
    }

    fn split(case: &str) -> (&str, &str) {
        case.split_once('=').expect("NAME=value")
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
    fn what_is_masked_of_a_value() {
        for (case, expected) in cases().masked {
            let (name, value) = split(&case);
            assert_eq!(secrets_of(name, value), expected, "{case}");
        }
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

    #[test]
    fn addresses_lose_their_users() {
        for (address, expected) in [
            ("https://me:pw@host:8080/v1", "https://host:8080/v1"),
            ("https://me:p@w@host/v1", "https://host/v1"),
            ("https://token@host/v1", "https://host/v1"),
            ("https://host/a@b", "https://host/a@b"),
            ("no address", "no address"),
        ] {
            assert_eq!(without_userinfo(address), expected, "{address}");
        }
    }

    #[test]
    fn every_known_name_is_a_pattern_in_upper_case() {
        for name in KNOWN.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace) {
            assert_eq!(name, name.to_ascii_uppercase());
            assert!(Glob::new(name).is_ok(), "{name}");
        }
        assert!(!KNOWN_NAMES.is_empty());
    }
}
