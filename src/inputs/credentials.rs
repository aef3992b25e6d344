//! Credentials that a checkout keeps for Git: any command that may read files can read them, so they are
//! masked, and people are told how to leave them out.

use std::fs;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What the configuration of the repository at `root`, and the files that it includes, hold of secrets.
pub(super) fn of_checkout(root: &Path) -> Vec<String> {
    let git = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.is_dir());
    let Some(git) = git else { return Vec::new() };
    let text = fs::read_to_string(git.join("config")).unwrap_or_default();
    let included = values(&text, "path").filter_map(|path| fs::read_to_string(git.join(path)).ok());
    let texts: Vec<String> = std::iter::once(text.clone()).chain(included).collect();
    texts.iter().flat_map(|text| secrets(text)).collect()
}

/// Values of a key, whatever its section.
fn values<'a>(text: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    text.lines().filter_map(move |line| {
        let (name, value) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case(key).then(|| value.trim().trim_matches('"'))
    })
}

fn secrets(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    // `extraheader = AUTHORIZATION: basic BASE64`, as actions/checkout writes it.
    for header in values(text, "extraheader") {
        let Some((_, credential)) = header.split_once(':') else { continue };
        let Some(token) = credential.split_whitespace().next_back() else { continue };
        found.push(token.to_owned());
        let decoded = STANDARD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        found.extend(decoded.and_then(|pair| pair.split_once(':').map(|(_, password)| password.to_owned())));
    }
    // `https://user:password@host/…`
    for url in values(text, "url").chain(values(text, "pushurl")) {
        let user = url.split_once("://").and_then(|(_, rest)| rest.split('/').next()?.rsplit_once('@'));
        let Some((user, _)) = user else { continue };
        let password = user.split_once(':').map_or(user, |(_, password)| password);
        // A name alone is no secret, `git@…` is one.
        found.extend(Some(password).filter(|_| user.contains(':')).map(str::to_owned));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_addresses_and_included_files_are_found() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join(".git")).expect("a folder");
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://me:of-the-url@host/o/r\n\
             [remote \"ssh\"]\n\turl = ssh://git@host/o/r\n[includeIf \"gitdir:x\"]\n\tpath = ../more.config\n";
        fs::write(dir.path().join(".git/config"), config).expect("a file");
        let header = STANDARD.encode("x-access-token:of-the-header");
        let more = format!("[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic {header}\n");
        fs::write(dir.path().join("more.config"), more).expect("a file");
        assert_eq!(of_checkout(dir.path()), ["of-the-url", &header, "of-the-header"]);
        assert_eq!(of_checkout(&dir.path().join(".git")), of_checkout(dir.path()));
        fs::remove_dir_all(dir.path().join(".git")).expect("removed");
        assert_eq!(of_checkout(dir.path()), Vec::<String>::new());
    }
}
