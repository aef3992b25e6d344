//! Git configuration without the credentials that checkouts store in it: commands need the former and must
//! not see the latter.

use std::fs;
use std::path::{Path, PathBuf};

use gix_config::parse::{EventRef, Events};

use crate::base::credential_text::holds_credential;
use crate::git::{is_head, is_shown, looked_into};

/// Names of configuration files.
const SETTINGS: [&str; 2] = ["config", "config.worktree"];

/// Folders whose files say where something was fetched from.
const OF_TEXTS: [&str; 3] = ["logs", "remotes", "branches"];

/// Sections that lead to other files or programs with credentials.
const SECTIONS: [&str; 3] = ["include", "includeif", "credential"];

/// What of a folder of Git's own is seen otherwise by commands; paths are relative to it.
#[derive(Debug, Default)]
pub(super) struct Cleaned {
    /// Texts that hold a credential, without it.
    pub(super) texts: Vec<(PathBuf, Vec<u8>)>,
    /// What is not there.
    pub(super) hidden: Vec<PathBuf>,
}

/// Finds what holds a credential in Git's own folder `git` and in those of submodules and worktrees in it.
pub(super) fn clean(git: &Path) -> Cleaned {
    let mut cleaned = Cleaned::default();
    for folder in workspace::repositories::folders(git) {
        let names = |below: &str| {
            let entries = fs::read_dir(folder.join(below)).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name())
        };
        let within = |path: &Path| path.strip_prefix(git).map(Path::to_owned).ok();
        for below in std::iter::once("").chain(looked_into()) {
            let hidden = names(below).filter(|name| name.to_str().is_none_or(|name| !is_shown(below, name)));
            cleaned.hidden.extend(hidden.filter_map(|name| within(&folder.join(below).join(name))));
        }
        let deep = OF_TEXTS.iter().flat_map(|name| {
            ignore::WalkBuilder::new(folder.join(name)).standard_filters(false).build().flatten()
        });
        let deep = deep.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        let all = SETTINGS.iter().map(|name| (folder.join(name), true));
        let all = all.chain(
            names("")
                .filter(|name| name.to_str().is_some_and(is_head))
                .map(|name| (folder.join(name), false)),
        );
        let all = all.chain(deep.map(|entry| (entry.into_path(), false)));
        cleaned.texts.extend(all.filter_map(|(path, is_settings)| {
            // What is no text may hold one all the same.
            let bytes = fs::read(&path).ok()?;
            let text = String::from_utf8_lossy(&bytes);
            let without = if is_settings { without_credentials(&text) } else { with_plain_addresses(&text) };
            (without != text).then_some((within(&path)?, without.into_bytes()))
        }));
    }
    cleaned
}

/// Returns settings without credentials. What cannot be parsed may hold one anywhere, and Git does not read it either.
fn without_credentials(text: &str) -> String {
    let events = match Events::from_bytes(text.as_bytes(), None) {
        Ok(events) => events,
        Err(error) => {
            return format!("# left out: line {} is not a valid Git setting\n", error.line_number());
        }
    };
    let mut kept = KeptSettings::default();
    for event in events.frontmatter() {
        kept.add(event);
    }
    for section in events.sections() {
        let EventRef::SectionHeader { name, .. } = section.header() else { continue };
        let is_open = !SECTIONS.contains(&name.to_string().to_ascii_lowercase().as_str());
        // The name of a section may be an address with a credential.
        let is_open = is_open && kept.take(&written(&section.header()));
        if is_open {
            section.body().for_each(|event| kept.add(event));
        } else {
            kept.drop_line();
        }
    }
    kept.end("");
    kept.text
}

/// Settings as far as they are kept, line by line.
#[derive(Default)]
struct KeptSettings {
    text: String,
    /// What is kept of the current line.
    line: String,
    /// Whether something of the current line is not.
    is_cut: bool,
    /// The key and the value that are being read, which may go on in the next line.
    setting: String,
}

impl KeptSettings {
    fn add(&mut self, event: EventRef<'_>) {
        let text = written(&event);
        match event {
            EventRef::SectionValueName(_) => self.setting = text,
            EventRef::Value(_) | EventRef::ValueDone(_) => {
                let setting = std::mem::take(&mut self.setting) + &text;
                self.take(&setting);
            }
            _ if !self.setting.is_empty() => self.setting += &text,
            EventRef::Comment { .. } => {
                self.take(&text);
            }
            EventRef::Newline(_) => self.end(&text),
            _ => self.line += &text,
        }
    }

    /// Takes a part of a line, unless it holds a credential even without users in addresses.
    fn take(&mut self, part: &str) -> bool {
        let plain = with_plain_addresses(part);
        let holds = holds_credential(&plain.replace("\\\r\n", "").replace("\\\n", ""));
        if holds {
            self.is_cut = true;
        } else {
            self.line += &plain;
        }
        !holds
    }

    /// Leaves out what follows up to the next section.
    fn drop_line(&mut self) {
        self.is_cut = true;
        self.end("\n");
    }

    /// Ends a line by line breaks. A line of which nothing is left goes with its own.
    fn end(&mut self, breaks: &str) {
        let line = std::mem::take(&mut self.line);
        let is_cut = std::mem::take(&mut self.is_cut);
        let left = if is_cut { line.trim_end() } else { &line };
        let is_gone = is_cut && left.is_empty();
        self.text += left;
        self.text += if is_gone { breaks.split_once('\n').map_or("", |(_, more)| more) } else { breaks };
    }
}

/// Returns an event as it is written in a file.
fn written(event: &EventRef<'_>) -> String {
    let mut bytes = Vec::new();
    // Memory takes everything.
    let _ = event.write_to(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Removes user and password from URLs.
fn with_plain_addresses(line: &str) -> String {
    let mut rest = line;
    let mut plain = String::with_capacity(line.len());
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        plain += before;
        let end = after.find(['/', '"', ' ', '\t', '\n']).unwrap_or(after.len());
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
        assert_eq!(without_credentials("[http] extraHeader = x\n[user]\n"), "[http]\n[user]\n");
        assert_eq!(
            without_credentials("[http]\n\textraheader = a\\\nb\n\tpostBuffer = 1\n"),
            "[http]\n\tpostBuffer = 1\n"
        );
        assert_eq!(with_plain_addresses("url = ssh://git@host/o"), "url = ssh://git@host/o");
    }

    #[test]
    fn settings_stay_in_their_section_and_comments_end_with_their_line() {
        for (text, plain) in [
            (
                "[remote \"a\"]\n\turl = u\n[remote \"b\"] token = x\n\turl = v\n",
                "[remote \"a\"]\n\turl = u\n[remote \"b\"]\n\turl = v\n",
            ),
            (
                "[core] # x\\\n[credential]\n\thelper = store --file f\n[user] name = me",
                "[core] # x\\\n[user] name = me",
            ),
            ("[core] [credential] helper = x\r\n\r\n[user]\r\n", "[core]\n[user]\r\n"),
            (
                "[user]\n\tname = me # token = x\n\n# password = x\n\n\temail = e\n",
                "[user]\n\tname = me\n\n\n\temail = e\n",
            ),
            ("[user]\n\tx = 1\n[core\n\ttoken = x\n", "# left out: line 3 is not a valid Git setting\n"),
        ] {
            assert_eq!(without_credentials(text), plain);
        }
    }

    #[test]
    fn lines_that_seem_to_hold_a_credential_go_alone() {
        for line in [
            "\turl = https://host/o?private_token=x",
            "\tapikey = x",
            "\tx = \"!curl -H 'PRIVATE-TOKEN: x' host\"",
            "\tsshCommand = sshpass -p x ssh",
            "\tproxy = u:x@host:80",
            "\tsmtpPass = x",
            "\tcookie = x",
            "\tx = \"!tool \\\n--token x\"",
            "[url \"https://host/?private_token=x\"]\n\tinsteadOf = https://host/",
        ] {
            let (before, after) = ("[core]\n\tbare = false\n", "[user]\n\tname = me\n");
            assert_eq!(
                without_credentials(&format!("{before}{line}\n{after}")),
                format!("{before}{after}"),
                "{line}"
            );
        }
        let plain = "[remote \"origin\"]\n\turl = git@host:o/token-service\n\tfetch = +refs/heads/api-key:refs/x/api-key\n\
                     [branch \"fix/api-key\"]\n\tremote = origin\n\tmerge = refs/heads/fix/api-key\n\
                     [core]\n\thooksPath = .husky/_\n[diff]\n\tpattern = x\\\ny\n";
        assert_eq!(without_credentials(plain), plain);
    }
}
