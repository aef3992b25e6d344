//! Credentials that a checkout keeps for Git: any command that may read files can read them, so they are
//! masked, and people are told how to leave them out.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::git::Repository;

/// Returns what the repository's configuration, and the files that it includes, hold of secrets.
pub(crate) fn of_checkout(repository: &Repository) -> Vec<String> {
    let settings = repository.settings();
    let mut found = Vec::new();
    // `extraheader = AUTHORIZATION: basic BASE64`, as actions/checkout writes it.
    for header in settings.values("extraheader") {
        let Some((_, credential)) = header.split_once(':') else { continue };
        let Some(token) = credential.split_whitespace().next_back() else { continue };
        found.push(token.to_owned());
        let decoded = STANDARD.decode(token).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        found.extend(decoded.and_then(|pair| pair.split_once(':').map(|(_, password)| password.to_owned())));
    }
    // `https://user:password@host/…`
    for url in settings.values("url").chain(settings.values("pushurl")) {
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
    use std::fs;

    use super::*;

    #[test]
    fn headers_addresses_and_included_files_are_found() {
        let dir = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(dir.path().join(".git/objects")).expect("folders");
        fs::create_dir_all(dir.path().join("below")).expect("a folder");
        fs::write(dir.path().join(".git/HEAD"), "ref: refs/heads/main\n").expect("a file");
        let config = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://me:of-the-url@host/o/r\n\
             [remote \"ssh\"]\n\turl = ssh://git@host/o/r\n[includeIf \"gitdir:x\"]\n\tpath = ../more.config\n";
        fs::write(dir.path().join(".git/config"), config).expect("a file");
        let header = STANDARD.encode("x-access-token:of-the-header");
        let more = format!("[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic {header}\n");
        fs::write(dir.path().join("more.config"), more).expect("a file");
        let found = |folder: &str| {
            let found =
                Repository::find(&dir.path().join(folder), Some(dir.path())).expect("a usable repository");
            of_checkout(&found.expect("a repository"))
        };
        assert_eq!(found(""), [&header, "of-the-header", "of-the-url"]);
        assert_eq!(found("below"), found(""));
    }
}
