//! Reach beyond the sandbox: commands that publish, push, deploy, contact other machines or daemons, or
//! change the system.

use super::analysis::{Simple, Word};
use super::options::{is_in, is_option, operands};
use super::reach_table::ROWS;
use super::refusal::{Refusal, WayOut};
use super::table::VERSION_OPTIONS;

/// What a command reaches for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Package registries, and accounts there.
    Publish,
    /// The host of the repository, and its other copies.
    Push,
    /// The environments in which the project runs.
    Deploy,
    /// Installations for the whole machine.
    Install,
    /// Other machines.
    Network,
    /// Services that run beside the command, and after it.
    Daemon,
    /// The machine itself.
    System,
}

impl Reach {
    fn reason(self) -> &'static str {
        match self {
            Self::Publish => "publishes, or uses a registry account",
            Self::Push => "contacts the repository's host",
            Self::Deploy => "acts on a deployed environment",
            Self::Install => "installs software for the whole machine",
            Self::Network => "contacts another machine",
            Self::Daemon => "uses a service of the machine",
            Self::System => "changes the machine",
        }
    }

    fn way_out(self, name: &str) -> WayOut {
        match self {
            Self::Push => WayOut::Deliver,
            Self::Install => WayOut::Locally,
            Self::Network if is_in("curl wget", name) => WayOut::Fetch,
            Self::Network | Self::Publish | Self::Deploy | Self::Daemon | Self::System => WayOut::OtherStep,
        }
    }
}

/// A way in which a program reaches out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The program's names, separated by spaces.
    pub(super) names: &'static str,
    pub(super) reach: Reach,
    /// Sub-commands that reach out, separated by spaces: `a+b` is `b` after `a`, and `*` is any text. All of
    /// them if empty.
    pub(super) words: &'static str,
    /// Sub-commands and options that do not reach out.
    pub(super) except: &'static str,
    /// Options of which at least one must be given, unless empty.
    pub(super) options: &'static str,
    /// Options that take the next word as their value.
    pub(super) values: &'static str,
    /// Whether the sub-commands are tasks, which may be any of the operands.
    pub(super) tasks: bool,
}

impl Row {
    /// Returns the words with which a command with these arguments reaches out, after a space; empty
    /// if the row names none, `None` if the command does not reach out.
    fn fits(&self, arguments: &[Word]) -> Option<String> {
        let mut texts = arguments.iter().filter_map(Word::text);
        let wanted = |text: &str| {
            self.options
                .split(' ')
                .any(|option| text == option || option.len() == 2 && is_option(text, option))
        };
        if !self.options.is_empty() && !texts.clone().any(wanted)
            || texts.any(|text| text.starts_with('-') && is_in(self.except, text))
        {
            return None;
        }
        let operands: Vec<&str> = operands(arguments, self.values)
            .into_iter()
            .map(|word| word.text().unwrap_or_default())
            // `cargo +nightly publish`
            .filter(|text| self.tasks || !text.starts_with('+'))
            .collect();
        if operands.first().is_some_and(|first| is_in(self.except, first)) {
            return None;
        }
        if self.words.is_empty() {
            return Some(String::new());
        }
        self.words
            .split(' ')
            .find_map(|pattern| self.found(pattern, &operands))
            .map(|words| format!(" {words}"))
    }

    fn found(&self, pattern: &str, operands: &[&str]) -> Option<String> {
        if self.tasks {
            let fits = |task: &str| matches(pattern, task) || matches(pattern, last_of(task));
            let task = operands.iter().find(|task| fits(task) && !is_in(self.except, last_of(task)))?;
            return Some((*task).to_owned());
        }
        let parts: Vec<&str> = pattern.split('+').collect();
        let fits = parts.len() <= operands.len()
            && parts.iter().zip(operands).all(|(part, text)| matches(part, text));
        fits.then(|| operands[..parts.len()].join(" "))
    }
}

/// Returns the name of a task without that of a sub-project: `publish` for `:lib:publish` and `lib/publish`.
fn last_of(task: &str) -> &str {
    task.rsplit([':', '/']).next().unwrap_or(task)
}

/// Returns whether a word matches a pattern, in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let parts: Vec<&str> = rest.split('*').collect();
    let Some((end, middle)) = parts.split_last() else { return true };
    for part in middle {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(end)
}

/// Returns two names that a program may be known by: without a version suffix, and without folder and
/// extension as well.
fn names(written: &str) -> [&str; 2] {
    // `vercel@latest` and `@changesets/cli@2`
    let named = match written.get(1..).and_then(|rest| rest.find('@')) {
        Some(at) => &written[..=at],
        None => written,
    };
    let last = named.rsplit('/').next().unwrap_or(named);
    let last =
        [".exe", ".cmd", ".bat", ".phar"].iter().find_map(|end| last.strip_suffix(end)).unwrap_or(last);
    // `pip3.11`
    let plain = last.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let versioned = is_in("python pip pypy ruby node php perl lua gem pwsh gradle mvn", plain);
    [named, if versioned { plain } else { last }]
}

/// Returns whether any row concerns a program.
pub(super) fn is_listed(name: &str) -> bool {
    let names = names(name);
    ROWS.iter().any(|row| names.iter().any(|name| is_in(row.names, name)))
}

/// Returns the name that a program is commonly known by.
pub(super) fn common_name(name: &str) -> &str {
    names(name)[1]
}

/// Returns a refusal if a command needs more than the sandbox allows.
pub(super) fn beyond(simple: &Simple) -> Option<Refusal> {
    let written = simple.name()?;
    let arguments = simple.arguments();
    if let [only] = arguments
        && only.text().is_some_and(|text| is_in(VERSION_OPTIONS, text) || is_in("--help help", text))
    {
        return None;
    }
    let names = names(written);
    let mut rows = ROWS.iter().filter(|row| names.iter().any(|name| is_in(row.names, name)));
    rows.find_map(|row| Some((row.reach, row.fits(arguments)?))).map(|(reach, words)| {
        Refusal::new(format!("'{}{words}' {}", names[1], reach.reason()), reach.way_out(names[1]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_stand_for_tasks() {
        for (pattern, text, expected) in [
            ("deploy", "deploy", true),
            ("deploy", "Deploy", true),
            ("deploy", "deployed", false),
            ("publish*", "publishToMavenCentral", true),
            ("*:publish*", ":lib:publishAll", true),
            ("*:deploy*", "org.apache.maven.plugins:maven-deploy-plugin:3.1:deploy-file", true),
            ("release:*", "release:perform", true),
            ("*x*y", "axby", true),
            ("*x*y", "axb", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} and {text}");
        }
    }

    #[test]
    fn programs_are_known_by_their_names() {
        for (written, expected) in [
            ("/usr/bin/git", "git"),
            ("./gradlew", "gradlew"),
            ("pip3.11", "pip"),
            ("vercel@latest", "vercel"),
            ("python3", "python"),
            ("base64", "base64"),
        ] {
            assert_eq!(common_name(written), expected);
        }
        assert_eq!(names("@changesets/cli@2")[0], "@changesets/cli");
    }

    #[test]
    fn each_row_is_of_use() {
        for row in ROWS {
            assert!(!row.names.is_empty() && !row.names.contains("  "), "{row:?}");
            let words = [row.words, row.except, row.options, row.values];
            assert!(words.iter().all(|list| !list.contains("  ") && *list == list.trim()), "{row:?}");
            assert!(row.words.to_ascii_lowercase() == row.words, "{row:?}");
        }
    }
}
