//! Credentials in settings: whether a line seems to hold one. Everything that hides settings judges by this one table.

/// Parts of names that stand for a credential wherever they occur.
const PARTS: [&str; 17] = [
    "_auth",
    "apikey",
    "api_key",
    "askpass",
    "authorization",
    "cookie",
    "credential",
    "extraheader",
    "oauth",
    "passphrase",
    "passwd",
    "password",
    "secret",
    "sshpass",
    "sslcert",
    "sslkey",
    "token",
];

/// Words that do so only by themselves: `gpr.key` is one, `keyword` and `path` are none.
const WORDS: [&str; 7] = ["ident", "key", "pat", "psw", "pw", "pwd", "pass"];

/// Endings of names of keys that are not secret.
const PUBLIC: [&str; 4] = ["signingkey", "publickey", "pubkey", "keyid"];

/// Words that end in `pass` and have nothing to do with passwords.
const NO_PASSWORDS: [&str; 2] = ["bypass", "compass"];

/// Beginnings of Bundler's settings that contain `__` although they do not belong to a host.
const BUNDLER: [&str; 3] = ["bundle_mirror__", "bundle_build__", "bundle_local__"];

/// Minimum length of a word of letters and digits that counts as a key, and of its longest part without `_`.
const KEY_LENGTH: (usize, usize) = (20, 16);

/// Returns whether a text contains a word that stands for a credential, whatever it is used for.
pub(crate) fn mentions_credential(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    PARTS.iter().any(|part| lower.contains(part))
}

/// Returns whether a line of settings seems to hold a credential: by a name in it, by a user in an address, or because
/// it contains what looks like a key. Names of branches do not count.
pub(crate) fn holds_credential(line: &str) -> bool {
    let is_ref = |word: &&str| !word.trim_start_matches(['"', '+']).starts_with("refs/");
    let line = line.split_whitespace().filter(is_ref).collect::<Vec<_>>().join(" ");
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    names(&line).any(is_credential_name)
        || line.split(|letter| !is_word(letter)).any(|word| word == "sshpass" || is_like_a_key(word))
        || has_user(&line)
        || has_channel_token(&line)
}

/// Returns whatever has a value in a line: what comes before `=`, `:` or `>`, and what follows `--`.
fn names(line: &str) -> impl Iterator<Item = &str> {
    fn is_end(letter: char) -> bool {
        !letter.is_ascii_alphanumeric() && !"_.-".contains(letter)
    }
    line.split_inclusive(is_end)
        .scan(0, move |at, piece| {
            *at += piece.len();
            let name = piece.trim_end_matches(is_end);
            let rest = line[*at - (piece.len() - name.len())..].trim_start_matches(['"', '\'', ' ']);
            Some((name.starts_with("--") || rest.starts_with(['=', ':', '>'])).then_some(name))
        })
        .flatten()
}

fn is_credential_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let letters: String = lower.chars().filter(char::is_ascii_alphanumeric).collect();
    if PUBLIC.iter().any(|end| letters.ends_with(end)) {
        return false;
    }
    let is_host = lower.starts_with("bundle_")
        && lower.contains("__")
        && !BUNDLER.iter().any(|other| lower.starts_with(other));
    is_host || mentions_credential(&lower) || words(name).split_whitespace().any(is_credential_word)
}

fn is_credential_word(word: &str) -> bool {
    WORDS.contains(&word) || (word.ends_with("pass") && !NO_PASSWORDS.contains(&word))
}

/// Returns the words of a name in lower case, with spaces between them: `smtpPass` and `SMTP_PASS` are both `smtp pass`.
fn words(name: &str) -> String {
    let mut split = String::with_capacity(name.len() + 8);
    let mut was_lower = false;
    for letter in name.chars() {
        if was_lower && letter.is_ascii_uppercase() {
            split.push(' ');
        }
        was_lower = letter.is_ascii_lowercase();
        split.push(if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
    }
    split
}

fn is_like_a_key(word: &str) -> bool {
    let (all, longest) = KEY_LENGTH;
    word.len() >= all
        && word.split('_').any(|part| part.len() >= longest)
        && word.contains(|letter: char| letter.is_ascii_digit())
        && word.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// Returns whether a line contains a user with a password (`https://user:password@host`, or without `https://`), or a
/// user alone where that may be a token: for HTTP, and for proxies. `git@host` is none.
fn has_user(line: &str) -> bool {
    let is_end = |letter: char| letter.is_whitespace() || "/\"'<>".contains(letter);
    let is_proxy = line.to_ascii_lowercase().contains("proxy");
    line.match_indices('@').any(|(at, _)| {
        let start = line[..at].rfind(is_end).map_or(0, |end| end + 1);
        let (before, user) = line[..at].split_at(start);
        let has_password = user.split_once(':').is_some_and(|(_, password)| !password.is_empty());
        let is_http = before.ends_with("http://") || before.ends_with("https://");
        has_password || (!user.is_empty() && (is_http || (is_proxy && !before.contains("://"))))
    })
}

/// Returns whether an address contains the token of a Conda channel: `https://host/t/TOKEN/channel`.
fn has_channel_token(line: &str) -> bool {
    let path = line.split_once("://").and_then(|(_, address)| address.split_once("/t/"));
    path.is_some_and(|(_, rest)| rest.split_once('/').is_some_and(|(token, _)| !token.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_credentials_are_told_from_others() {
        for line in [
            "npmAuthIdent: \"u:p\"",
            "//registry.npmjs.org/:_authToken=x",
            "BUNDLE_RUBYGEMS__PKG__GITHUB__COM: \"u:p\"",
            "BUNDLE_GEMS__EXAMPLE__COM: p",
            "gpr.key=x",
            "GITHUB_PAT=x",
            "artifactory_pwd=x",
            "ossrhPassword=x",
            "<server><passphrase>x</passphrase></server>",
            "smtpPass = x",
            "smtppass = x",
            "\tsshCommand = sshpass -p x ssh",
            "proxy = \"u:p@h:80\"",
            "proxy = p@h",
            "https://p@h/simple",
            "ssh://u:p@h/x",
            "- https://h/t/x/channel",
            "url = \"https://h/x?private_token=x\"",
            "apikey = x",
            "x = \"!curl -H 'PRIVATE-TOKEN: x' h\"",
            "x = \"!curl -H 'Authorization: Bearer x' h\"",
            "x = \"!tool --token x\"",
            "[http] extraHeader = x",
            "cookieFile = x",
            "value = ghp16C7e42F292c6912E7710",
            "value = ghp_16C7e42F292c6912E7710",
        ] {
            assert!(holds_credential(line), "{line}");
        }
        for line in [
            "path = x",
            "BUNDLE_PATH: \"vendor/bundle\"",
            "BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: \"https://mirror.example/\"",
            "BUNDLE_BUILD__NOKOGIRI: \"--use-system-libraries\"",
            "keyword = x",
            "pattern: x",
            "patch = x",
            "identity = me",
            "keychain = true",
            "bypass = 1",
            "always-auth=true",
            "signingkey = 3AA5C34371567BD2",
            "signing.keyId=24875D73",
            "email = me@example.com",
            "insteadOf = git@github.com:",
            "url = git@github.com:o/r",
            "url = ssh://git@github.com/o/r",
            "url = https://github.com/o/token-service",
            "[branch \"fix/api-key\"]",
            "merge = refs/heads/api-key",
            "merge = refs/heads/4f2c1ab98d7e6f5a4b3c2d1e",
            "fetch = +refs/heads/token:refs/remotes/origin/token",
            "[submodule \"libs/secret-santa\"]",
            "url = https://host/o/dependabot_npm_and_yarn_lodash_4_17_21",
            "sshCommand = ssh -i key",
            "proxy = https://host:8080/path@2",
            "<localRepository>/home/me/.m2</localRepository>",
            "nodejs 20.1.0",
        ] {
            assert!(!holds_credential(line), "{line}");
        }
    }
}
