//! Settings of tools: whether a file seems to hold a credential. When in doubt it does.

use std::fs;
use std::path::Path;

/// Names of settings that contain a credential.
const CREDENTIALS: [&str; 9] =
    ["_auth", "password", "passwd", "token", "secret", "extraheader", "apikey", "api_key", "credential"];

/// Minimum length of a word of letters and digits that counts as a key.
const KEY_LENGTH: usize = 20;

/// Returns whether a configuration file seems to contain a credential, or cannot be read.
pub(super) fn holds_credential(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return true };
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).any(|line| {
        let lower = line.to_ascii_lowercase();
        // `key = value`, `[section]`, `- item`, `<tag>`, `tool version`; a line of another form may be
        // anything.
        let is_setting = line.contains(['=', ':', '[', '<', ' ']) || line.starts_with('-');
        !is_setting
            || CREDENTIALS.iter().any(|name| lower.contains(name))
            || has_user_info(&lower)
            || line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').any(is_like_a_key)
    })
}

fn is_like_a_key(word: &str) -> bool {
    word.len() >= KEY_LENGTH
        && word.contains(|letter: char| letter.is_ascii_digit())
        && word.contains(|letter: char| letter.is_ascii_alphabetic())
}

/// Returns whether a line contains a URL with a user: `https://user:password@host`.
fn has_user_info(line: &str) -> bool {
    line.split("://").skip(1).any(|rest| {
        let authority = rest.split(['/', '"', '\'', ' ', '<']).next().unwrap_or_default();
        authority.contains('@')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_in_settings_are_noticed() {
        let dir = tempfile::tempdir().expect("a folder");
        let file = dir.path().join("settings");
        for (text, holds) in [
            ("registry=https://mirror.example/\n", false),
            ("[url \"https://me:pw@host/\"]\n", true),
            ("proxy = https://host/path@2\n", false),
            ("# password = x\n", false),
            ("  password: x\n", true),
            ("nodejs 20.1.0\n", false),
            ("value = ghp16C7e42F292c6912E7710\n", true),
            ("what-nobody-knows\n", true),
            ("[http \"https://github.com/\"]\n extraheader = AUTHORIZATION: basic eA==\n", true),
        ] {
            fs::write(&file, text).expect("a file");
            assert_eq!(holds_credential(&file), holds, "{text}");
        }
        assert!(holds_credential(&dir.path().join("missing")));
    }
}
