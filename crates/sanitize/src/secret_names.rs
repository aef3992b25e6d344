//! Tells by the name of a variable, and by the look of its value, whether it holds a secret.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

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

/// Values that a switch has, and a secret has not.
pub(crate) const SWITCHES: [&str; 10] =
    ["", "true", "false", "yes", "no", "on", "off", "none", "null", "disabled"];

/// Compiles a constant pattern.
pub(crate) fn pattern(text: &str) -> Regex {
    #[expect(clippy::expect_used, reason = "constant patterns, compiled in a test")]
    Regex::new(text).expect("a valid pattern")
}

/// An address with a user or a password in it.
pub(crate) static USERINFO: LazyLock<Regex> = LazyLock::new(|| {
    pattern(r"[A-Za-z][A-Za-z0-9+.\-]*://(?P<user>[^\s/?#@:]*)(?::(?P<password>[^\s/?#]*))?@")
});

/// Minimum length of a run of letters and digits that may be a generated key, in bytes.
const MIN_RUN: usize = 20;

/// Returns the runs of letters and digits as generated keys have them.
pub(crate) fn runs(value: &str) -> impl Iterator<Item = &str> {
    let apart = |letter: char| !(letter.is_ascii_alphanumeric() || "+_=-".contains(letter));
    value.split(apart).filter(|run| run.len() >= MIN_RUN)
}

/// Returns the names and beginnings of names that are listed.
fn known() -> impl Iterator<Item = &'static str> {
    KNOWN.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

/// Returns whether a name in upper case begins as harmless ones do.
pub(crate) fn begins_known(name: &str) -> bool {
    static BEGINNINGS: LazyLock<Vec<&str>> =
        LazyLock::new(|| known().filter_map(|name| name.strip_suffix('*')).collect());
    BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// Returns whether a name is listed letter by letter, in whatever case.
pub(crate) fn is_listed(name: &str) -> bool {
    static LISTED: LazyLock<BTreeSet<&str>> = LazyLock::new(|| known().collect());
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
    // Where a key lies is no secret, and reports are full of paths.
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
    !value.contains(char::is_whitespace) && runs(value).next().is_some_and(is_random)
}

/// Returns whether letters and digits are mixed as they are in keys, and hardly ever in names.
pub(crate) fn is_random(run: &str) -> bool {
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
    is_listed(&name) || begins_known(&name)
}

/// Returns whether a value is a path, or a list of paths, that there is.
pub(crate) fn is_path(value: &str) -> bool {
    std::env::split_paths(value).all(|path| path.is_absolute() && Path::new(&path).exists())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// What is masked of values, by `tests/cases/environment.yml`.
    #[derive(serde::Deserialize)]
    struct Cases {
        masked: BTreeMap<String, Vec<String>>,
    }

    fn cases() -> Cases {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/cases/environment.yml");
        let text = std::fs::read_to_string(path).expect("the cases");
        serde_yaml::from_str(&text).expect("a table")
    }

    #[test]
    fn what_is_masked_of_a_value() {
        for (case, expected) in cases().masked {
            let (name, value) = case.split_once('=').expect("NAME=value");
            assert_eq!(secrets_of(name, value), expected, "{case}");
        }
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
    fn every_known_name_is_in_upper_case_with_a_star_at_its_end_alone() {
        for name in known() {
            assert_eq!(name, name.to_ascii_uppercase());
            assert!(!name.strip_suffix('*').unwrap_or(name).contains('*') && name != "*", "{name}");
        }
        assert!(begins_known("RUSTUP_ANYTHING") && !begins_known("RUST") && !begins_known("MY_RUSTUP_X"));
    }

    #[test]
    fn runs_are_as_long_as_keys() {
        let long = "a1-_=+bcdefghijklmno";
        assert_eq!(runs(&format!("x {long}.{long}b/short")).collect::<Vec<_>>(), [long, &format!("{long}b")]);
        assert_eq!(runs("a1-_=+bcdefghijklmn").count(), 0);
    }
}
