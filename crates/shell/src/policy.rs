//! Command policy: the built-in classes and block-list, and what the configuration adds to them.

use std::path::{Path, PathBuf};

use regex::{Regex, RegexSet};

use super::analysis::{Analysis, Simple, Word, analyse, analyse_powershell};
use super::blocklist::{blocked, blocked_in_powershell};
use super::class::Class;
use super::classify::{Containment, Scope, Verdict, classify};

/// The language of a command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Dialect {
    /// The language of POSIX shells and bash.
    #[default]
    Shell,
    /// The language of `pwsh`.
    PowerShell,
}

/// Cmdlets that run a project's own tests and checks.
const DEV_CMDLETS: [&str; 2] = ["invoke-pester", "invoke-scriptanalyzer"];

/// The rules for commands.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    dialect: Dialect,
    containment: Containment,
    root: PathBuf,
    blocked: Patterns,
    own: OwnCommands,
}

/// What a configuration adds to the built-in rules.
#[derive(Clone, Copy, Debug, Default)]
pub struct CustomRules<'a> {
    /// Regular expressions for commands that are never run.
    pub blocked_patterns: &'a [String],
    /// Commands, by their first words, that only look at things.
    pub safe_commands: &'a [String],
    /// Commands, by their first words, that build, test, or format.
    pub dev_commands: &'a [String],
}

/// Error for a rule that cannot be used.
#[derive(Clone, Debug, thiserror::Error)]
pub enum InvalidRule {
    /// A pattern that is not a regular expression.
    #[error("`{key}`: invalid regular expression {pattern:?}")]
    Pattern {
        /// The key of the configuration.
        key: &'static str,
        /// The pattern as written.
        pattern: String,
        /// The reason.
        source: regex::Error,
    },
    /// Patterns that are too large together.
    #[error("`{key}`")]
    Patterns {
        /// The key of the configuration.
        key: &'static str,
        /// The reason.
        source: regex::Error,
    },
    /// A command that has no words, or a quote that is not closed.
    #[error("`commands.{key}`: invalid command {command:?}")]
    Command {
        /// The key of the configuration, below `commands`.
        key: &'static str,
        /// The command as written.
        command: String,
    },
}

/// Commands that the configuration classifies, by their first words.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnCommands(Vec<(Vec<String>, Class)>);

impl OwnCommands {
    fn read(rules: CustomRules<'_>) -> Result<Self, InvalidRule> {
        let of = |key: &'static str, texts: &[String], class: Class| {
            let entry = move |text: &String| {
                let words: Option<Vec<String>> = shlex::split(text).filter(|words| !words.is_empty());
                let words = words.ok_or_else(|| InvalidRule::Command { key, command: text.clone() })?;
                Ok((words, class))
            };
            texts.iter().map(entry).collect::<Result<Vec<_>, InvalidRule>>()
        };
        let mut own = of("dev_commands", rules.dev_commands, Class::Dev)?;
        own.extend(of("safe_commands", rules.safe_commands, Class::Safe)?);
        // The longest match wins: `terraform plan` before `terraform`.
        own.sort_by_key(|(words, _)| std::cmp::Reverse(words.len()));
        Ok(Self(own))
    }

    /// Returns the class of a command that begins with the words of an entry, or `None`.
    pub(super) fn class(&self, simple: &Simple) -> Option<Class> {
        let begins = |words: &[String]| {
            words.len() <= simple.words.len()
                && words.iter().zip(&simple.words).all(|(own, word)| word.text() == Some(own) && !word.glob)
        };
        self.0.iter().find(|(words, _)| begins(words)).map(|(_, class)| *class)
    }
}

/// Regular expressions for commands, which are matched against the text as written and against the words of
/// each command without quotes.
#[derive(Clone, Debug, Default)]
pub struct Patterns(RegexSet);

impl Patterns {
    /// Parses patterns. The error names the first invalid one, and `key`.
    pub fn read(key: &'static str, patterns: &[String]) -> Result<Self, InvalidRule> {
        for pattern in patterns {
            Regex::new(pattern).map_err(|source| InvalidRule::Pattern {
                key,
                pattern: pattern.clone(),
                source,
            })?;
        }
        RegexSet::new(patterns).map(Self).map_err(|source| InvalidRule::Patterns { key, source })
    }

    /// Returns the first pattern that matches the first matching text.
    pub fn find<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Option<&str> {
        let index = texts.into_iter().find_map(|text| self.0.matches(text).iter().next())?;
        self.0.patterns().get(index).map(String::as_str)
    }
}

/// The assessment of a command line.
#[derive(Clone, Debug)]
pub struct Assessment {
    /// What the line would do.
    pub analysis: Analysis,
    /// How dangerous that is.
    pub verdict: Verdict,
    /// The reason why the line is never run, in any mode.
    pub blocked: Option<String>,
}

impl Assessment {
    /// Returns every simple command as text, without its quotes.
    pub fn simple(&self) -> Vec<String> {
        self.analysis.commands.iter().filter(|simple| !simple.words.is_empty()).map(plain).collect()
    }
}

/// Returns a command as it runs, without its quotes. Words that only the shell knows stay as written.
fn plain(simple: &Simple) -> String {
    let words: Vec<&str> = simple.words.iter().map(|word: &Word| word.text().unwrap_or(&word.raw)).collect();
    words.join(" ")
}

impl Policy {
    /// Creates the policy for commands in the checkout at `root`. The error names what is invalid in the
    /// configuration.
    pub fn new<'a>(rules: impl Into<CustomRules<'a>>, root: &Path) -> Result<Self, InvalidRule> {
        let rules = rules.into();
        Ok(Self {
            dialect: Dialect::Shell,
            containment: Containment::None,
            root: root.to_owned(),
            blocked: Patterns::read("commands.blocked_patterns", rules.blocked_patterns)?,
            own: OwnCommands::read(rules)?,
        })
    }

    /// Returns the same rules for commands with or without a sandbox.
    #[must_use]
    pub fn within(self, containment: Containment) -> Self {
        Self { containment, ..self }
    }

    /// Returns the same rules for PowerShell scripts. Too little of their grammar is followed for a sandbox
    /// to relax the rules.
    #[must_use]
    pub fn for_powershell(mut self) -> Self {
        self.containment = Containment::None;
        self.dialect = Dialect::PowerShell;
        self.own.0.extend(DEV_CMDLETS.map(|name| (vec![name.to_owned()], Class::Dev)));
        self
    }

    /// Assesses a line that would run in the folder `cwd`, a path from the root of the checkout that has no `..`
    /// in it.
    pub fn judge(&self, line: &str, cwd: &str) -> Assessment {
        let analysis = match self.dialect {
            Dialect::Shell => analyse(line),
            Dialect::PowerShell => analyse_powershell(line),
        };
        let depth = i32::try_from(cwd.split('/').filter(|name| !matches!(*name, "" | ".")).count())
            .unwrap_or(i32::MAX);
        let scope = Scope { root: &self.root, depth, own: &self.own, containment: self.containment };
        let verdict = classify(&analysis, scope);
        let blocked = blocked(line, &analysis).or_else(|| match self.dialect {
            Dialect::Shell => None,
            Dialect::PowerShell => blocked_in_powershell(line, &analysis),
        });
        let mut judgement = Assessment { analysis, verdict, blocked };
        if judgement.blocked.is_none() {
            let simple = judgement.simple();
            let texts = std::iter::once(line).chain(simple.iter().map(String::as_str));
            judgement.blocked = self.blocked.find(texts).map(|pattern| format!("it matches {pattern:?}"));
        }
        judgement
    }

    /// Returns the path of the checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy() -> Policy {
        let rules = CustomRules {
            blocked_patterns: &["terraform +destroy".to_owned()],
            safe_commands: &["terraform validate".to_owned()],
            dev_commands: &["terraform".to_owned(), "./scripts/check.sh".to_owned()],
        };
        Policy::new(rules, Path::new("/work")).expect("valid rules")
    }

    #[test]
    fn the_configuration_adds_classes_and_blocks() {
        for (line, expected) in [
            ("terraform validate -json", "safe"),
            ("terraform plan", "dev"),
            ("./scripts/check.sh --fast && ls", "dev"),
            ("./scripts/other.sh", "dangerous"),
            ("terraform plan > /etc/passwd", "dangerous"),
            ("PATH=. terraform plan", "dangerous"),
            ("\"terraform\" 'destroy'", "blocked"),
            ("sh -c 'terraform  destroy -auto-approve'", "blocked"),
        ] {
            let judgement = policy().judge(line, "");
            let found = match &judgement.blocked {
                Some(_) => "blocked".to_owned(),
                None => judgement.verdict.class.to_string(),
            };
            assert_eq!(found, expected, "{line}: {judgement:?}");
        }
    }

    #[test]
    fn the_configuration_decides_in_sandbox_as_well() {
        let rules = CustomRules {
            safe_commands: &["aws s3 ls".to_owned()],
            dev_commands: &["docker build".to_owned()],
            ..CustomRules::default()
        };
        let policy =
            Policy::new(rules, Path::new("/work")).expect("valid rules").within(Containment::Sandbox);
        for (line, class) in [
            ("aws s3 ls bucket", Class::Safe),
            ("aws s3 rm bucket", Class::Dangerous),
            ("docker build .", Class::Dev),
            ("docker push x", Class::Dangerous),
            ("docker build . > /etc/x", Class::Dangerous),
            ("aws s3 ls > list.txt", Class::Dev),
            ("cp a /work/b", Class::Dev),
            ("cp a /workshop/b", Class::Dangerous),
        ] {
            assert_eq!(policy.judge(line, "").verdict.class, class, "{line}");
        }
        // PowerShell's grammar is followed as far as it is without a sandbox.
        let script = policy.for_powershell().judge("remove-item a.txt", "");
        assert_eq!(script.verdict.class, Class::Dangerous);
    }

    #[test]
    fn paths_count_from_the_folder_of_the_command() {
        let cwd = "a/b";
        for (line, class) in [
            ("cat ../../x", Class::Safe),
            ("cat ../../../x", Class::Dangerous),
            ("cat /work/x", Class::Safe),
            ("cat /work/../x", Class::Dangerous),
        ] {
            assert_eq!(policy().judge(line, cwd).verdict.class, class, "{line}");
        }
    }

    #[test]
    fn rules_that_make_no_sense_are_named() {
        for (rules, part) in [
            (
                CustomRules { blocked_patterns: &["(".to_owned()], ..CustomRules::default() },
                "`commands.blocked_patterns`: invalid regular expression \"(\"",
            ),
            (
                CustomRules { safe_commands: &["'".to_owned()], ..CustomRules::default() },
                "`commands.safe_commands`: invalid command \"'\"",
            ),
        ] {
            let error = Policy::new(rules, Path::new("/")).expect_err("wrong rules");
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
