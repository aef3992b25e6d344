//! Git configuration without the credentials that checkouts store in it: commands need the former and must
//! not see the latter.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Names of configuration files.
const NAMES: [&str; 2] = ["config", "config.worktree"];

/// Endings of the names of keys that contain or lead to a credential.
const HOLDERS: [&str; 7] = ["extraheader", "cookiefile", "sslkey", "sslcert", "password", "token", "askpass"];

/// Sections that lead to other files or programs with credentials.
const SECTIONS: [&str; 3] = ["include", "includeif", "credential"];

/// Writes the configuration files in the Git folder `git` and those of its submodules and worktrees to `to`,
/// without credentials. Files that contain none are not written.
pub fn withhold(git: &Path, to: &Path) -> io::Result<()> {
    for (path, without) in settings(git) {
        let target = to.join(path);
        fs::create_dir_all(target.parent().unwrap_or(to))?;
        fs::write(target, without)?;
    }
    Ok(())
}

/// Returns whether a configuration file in the Git folder contains a credential.
pub fn holds_credentials(git: &Path) -> bool {
    !settings(git).is_empty()
}

/// Returns the configuration files that contain a credential, by path relative to the folder, with their text
/// without it.
fn settings(git: &Path) -> Vec<(PathBuf, String)> {
    let modules = ignore::WalkBuilder::new(git.join("modules")).standard_filters(false).build().flatten();
    let worktrees = ignore::WalkBuilder::new(git.join("worktrees")).standard_filters(false).build().flatten();
    let deep = modules.chain(worktrees).map(ignore::DirEntry::into_path);
    let all = deep.chain(NAMES.map(|name| git.join(name)));
    let settings = all.filter(|path| NAMES.iter().any(|name| path.ends_with(name))).filter_map(|path| {
        let text = fs::read_to_string(&path).ok()?;
        let without = without_credentials(&text);
        (without != text).then_some((path.strip_prefix(git).ok()?.to_owned(), without))
    });
    settings.collect()
}

fn without_credentials(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let (mut is_open, mut goes_on) = (true, false);
    for line in text.lines() {
        let trimmed = line.trim().to_ascii_lowercase();
        // A value may continue on the next line.
        let belongs = std::mem::replace(&mut goes_on, line.ends_with('\\'));
        if !belongs && trimmed.starts_with('[') {
            let name = trimmed[1..].split([' ', ']', '.', '"']).next().unwrap_or_default();
            is_open = !SECTIONS.contains(&name);
            // A key may follow the section's name on the same line.
            let holds =
                trimmed.rsplit_once(']').is_some_and(|(_, rest)| !rest.is_empty() && is_credential(rest));
            if is_open && !holds {
                kept += &with_plain_addresses(line);
                kept.push('\n');
            }
            continue;
        }
        if is_open && !belongs && !is_credential(&trimmed) {
            kept += &with_plain_addresses(line);
            kept.push('\n');
        }
    }
    kept
}

fn is_credential(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().trim();
    HOLDERS.iter().any(|holder| name.ends_with(holder))
}

/// Removes user and password from URLs.
fn with_plain_addresses(line: &str) -> String {
    let mut rest = line;
    let mut plain = String::with_capacity(line.len());
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        plain += before;
        let end = after.find(['/', '"', ' ']).unwrap_or(after.len());
        rest = match after[..end].rfind('@') {
            Some(user) if after[..user].contains(':') || before.contains("http") => &after[user + 1..],
            _ => after,
        };
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_go_and_the_rest_stays() {
        let text = "[core]\n\tbare = false\n[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic eA==\n\
                    [remote \"origin\"]\n\turl = https://me:secret@host/o/r\n\tfetch = +refs/heads/*:refs/x/*\n\
                    [includeIf \"gitdir:/w/.git\"]\n\tpath = /runner/_temp/credentials.config\n[credential]\n\thelper = store\n\
                    [user]\n\tname = me\n";
        let plain = "[core]\n\tbare = false\n[http \"https://github.com/\"]\n[remote \"origin\"]\n\
                     \turl = https://host/o/r\n\tfetch = +refs/heads/*:refs/x/*\n[user]\n\tname = me\n";
        assert_eq!(without_credentials(text), plain);
        assert_eq!(without_credentials(plain), plain);
        assert_eq!(without_credentials("[http] extraHeader = x\n[user]\n"), "[user]\n");
        assert_eq!(
            without_credentials("[http]\n\textraheader = a\\\nb\n\tpostBuffer = 1\n"),
            "[http]\n\tpostBuffer = 1\n"
        );
        assert_eq!(with_plain_addresses("url = ssh://git@host/o"), "url = ssh://git@host/o");
    }
}
