//! Settings of tools: whether a file seems to hold a credential. When in doubt it does.

use std::fs;
use std::path::Path;

use crate::base::credential_text::{holds_credential as line_holds_credential, mentions_credential};

/// Returns whether a configuration file seems to contain a credential, or cannot be read.
pub(super) fn holds_credential(path: &Path) -> bool {
    let Ok(text) = fs::read_to_string(path) else { return true };
    let lines = text.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with(['#', ';'])).any(|line| {
        // `key = value`, `[section]`, `- item`, `<tag>`, `tool version`; a line of another form may be
        // anything.
        let is_setting = line.contains(['=', ':', '[', '<', ' ']) || line.starts_with('-');
        !is_setting || mentions_credential(line) || line_holds_credential(line)
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
            ("npmRegistryServer: \"https://r/\"\nnpmAuthIdent: \"u:p\"\n", true),
            ("---\nBUNDLE_PATH: \"vendor\"\nBUNDLE_GEMS__EXAMPLE__COM: \"u:p\"\n", true),
            ("org.gradle.caching=true\ngpr.key=x\n", true),
            ("[http]\nproxy = \"u:p@h:80\"\n", true),
            ("channels:\n  - https://h/t/x/channel\n", true),
            ("[sendemail]\n\tsmtpPass = x\n", true),
            ("[core]\n\tsshCommand = sshpass -p x ssh\n", true),
            ("channels:\n  - conda-forge\nkeywords: [path]\n", false),
            ("---\nBUNDLE_PATH: \"vendor\"\n", false),
            ("[user]\n\tname = me\n\temail = me@example.com\n\tsigningKey = 24875D73\n", false),
            ("[http \"https://github.com/\"]\n extraheader = AUTHORIZATION: basic eA==\n", true),
        ] {
            fs::write(&file, text).expect("a file");
            assert_eq!(holds_credential(&file), holds, "{text}");
        }
        assert!(holds_credential(&dir.path().join("missing")));
    }
}
