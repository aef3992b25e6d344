//! Names of branches, made from a template in the configuration.

use super::comment_marker::marker_key;
use crate::base::integrity::digest;

/// Error for a template that gives no name of a branch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BranchNameError {
    /// A placeholder that has no value.
    #[error("unknown placeholder `{given}`; use {known}")]
    Placeholder {
        /// The template from the placeholder on.
        given: String,
        /// The placeholders that there are.
        known: String,
    },
    /// A name that Git does not accept.
    #[error("invalid branch name {0:?}")]
    Invalid(String),
}

/// The placeholder for the key of a job, whose branch no other job has.
const KEY: &str = "key";

/// Fills in a template such as `architect-ci/{key}-{number}` and checks that the result is a valid name.
/// Empty values leave no dashes behind.
pub fn branch_name(template: &str, values: &[(&str, String)]) -> Result<String, BranchNameError> {
    let mut name = template.to_owned();
    for (key, value) in values {
        name = name.replace(&format!("{{{key}}}"), &slug(value, *key == KEY));
    }
    if let Some(at) = name.find(['{', '}']) {
        let known: Vec<String> = values.iter().map(|(key, _)| format!("{{{key}}}")).collect();
        return Err(BranchNameError::Placeholder { given: name[at..].to_owned(), known: known.join(", ") });
    }
    let parts: Vec<String> = name
        .split('/')
        .map(|part| {
            let words: Vec<&str> = part.split('-').filter(|word| !word.is_empty()).collect();
            words.join("-")
        })
        .filter(|part| !part.is_empty())
        .collect();
    let name = parts.join("/");
    if is_branch(&name) { Ok(name) } else { Err(BranchNameError::Invalid(name)) }
}

/// Maximum length of a value in a branch name, in characters.
const MAX_VALUE: usize = 60;

/// Converts a text into a part of a branch name: lower case, dashes for all but letters, digits, `.` and
/// `_`. A long one is cut, and a hash of the whole distinguishes it from others that begin alike; so does one where nothing is
/// left, or which no branch may end with, and if `is_key`, where signs are gone that distinguish keys.
fn slug(given: &str, is_key: bool) -> String {
    let text: String = given
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._".contains(c) { c.to_ascii_lowercase() } else { '-' })
        .collect();
    let words = text.split('-').map(|word| word.trim_matches('.')).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-").replace("..", ".");
    let is_nothing_left = slug.is_empty() && !given.trim().is_empty();
    let is_lock = slug.strip_suffix(".lock").is_some();
    let is_lost = is_nothing_left || is_lock || is_key && marker_key(given) != given;
    if slug.len() <= MAX_VALUE && !is_lost {
        return slug;
    }
    let whole = if is_lost { given } else { &slug };
    let hash = &digest(whole.as_bytes())[..8];
    let begin = slug[..slug.len().min(MAX_VALUE - 9)].trim_end_matches(['-', '.']);
    if begin.is_empty() { hash.to_owned() } else { format!("{begin}-{hash}") }
}

/// Returns whether `git check-ref-format --branch` would accept the name.
fn is_branch(name: &str) -> bool {
    let bad = |c: char| c.is_ascii_control() || " ~^:?*[\\".contains(c);
    // Refs are files, and some file systems ignore case.
    let is_lock = |part: &str| part.to_ascii_lowercase().ends_with(".lock");
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || is_lock(part);
    !name.is_empty()
        && name.len() < 200
        && !name.starts_with('-')
        && !name.ends_with('.')
        && !name.contains("..")
        && !name.contains("@{")
        && !name.chars().any(bad)
        && !name.split('/').any(bad_part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branch_names_are_filled_in_and_checked() {
        let values = |key: &str, number: &str| {
            [("key", key.to_owned()), ("number", number.to_owned()), ("task", "Rename a_b → c!".to_owned())]
        };
        for (template, key, number, expected) in [
            ("architect-ci/{key}-{number}", "docs", "9", Ok("architect-ci/docs-9")),
            ("architect-ci/{key}-{number}", "docs", "", Ok("architect-ci/docs")),
            ("{number}/{task}", "docs", "", Ok("rename-a_b-c")),
            ("bot/{key}", "../../x", "", Ok("bot/x")),
            ("bot/{key}", "a b~c^d:e", "", Ok("bot/a-b-c-d-e-HASH")),
            ("bot/{key}", "docs orders", "", Ok("bot/docs-orders")),
            ("bot/{key}", "docs: orders", "", Ok("bot/docs-orders-HASH")),
            ("bot/{key}", "テスト", "", Ok("bot/HASH")),
            ("bot/{key}", "a.lock", "", Ok("bot/a.lock-HASH")),
            ("bot/{key}", "-", "", Ok("bot/HASH")),
            ("bot/{number}-{key}", "", "テスト", Ok("bot/HASH")),
            ("{branch}", "docs", "", Err("unknown placeholder `{branch}`; use {key}, {number}, {task}")),
            ("x..y", "docs", "", Err("invalid branch name \"x..y\"")),
            ("{number}", "docs", "", Err("invalid branch name \"\"")),
            ("a.lock", "docs", "", Err("invalid branch name \"a.lock\"")),
        ] {
            let found = branch_name(template, &values(key, number));
            let hash = if number.is_ascii() { key } else { number };
            let hash = &digest(hash.as_bytes())[..8];
            assert_eq!(
                found.map_err(|error| error.to_string()),
                expected.map(|name| name.replace("HASH", hash)).map_err(str::to_owned),
                "{template} {key}"
            );
        }
    }

    #[test]
    fn long_names_that_begin_alike_differ() {
        let long = "nightly-packages-services-payments-internal-ledger-reconciliation-worker";
        let name = |key: &str| branch_name("architect-ci/{key}", &[("key", key.to_owned())]).expect("a name");
        let (alpha, beta) = (name(&format!("{long}-alpha")), name(&format!("{long}-beta")));
        assert_ne!(alpha, beta);
        assert_eq!(alpha, name(&format!("{long}-alpha")), "the same branch every night");
        assert!(
            alpha.starts_with("architect-ci/nightly-packages-services-payments-internal-ledger"),
            "{alpha}"
        );
        assert!(alpha.len() <= "architect-ci/".len() + MAX_VALUE, "{alpha}");
    }

    #[test]
    fn names_in_addresses_cannot_leave_their_place() {
        assert_eq!(
            crate::github::url_encoding::in_path("feature/a?b#c d%2e").to_string(),
            "feature/a%3Fb%23c%20d%252e"
        );
    }
}
