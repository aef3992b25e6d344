//! `architect-ci config check`: every error in a configuration, and the keys that it sets.

use std::collections::BTreeSet;
use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use sanitize::Masker;
use sanitize::untrusted::{log_lines, visible};
use serde::Serialize;
use serde_json::Value;
use shell::InvalidRule;
use tokio_util::sync::CancellationToken;

use super::print;
use super::style::{below, log_error, print_painted};
use crate::agent::Agent;
use crate::base::error::chain;
use crate::base::text::counted;
use crate::command::Policy;
use crate::config::{self, ConfigError, Fault};
use crate::event::Exit;
use crate::git::{GitError, Repository};
use crate::guardrails::{GuardrailContext, Guardrails, InvalidGuardrail};
use crate::hooks::Hooks;
use crate::mcp::Server;
use crate::model::{ModelName, Prices};
use crate::report::masked::masked_fields;
use crate::request::variables;
use crate::trust::{Trust, Trusted, TrustedFile};
use crate::web::Web;

/// Check the configuration
#[derive(Debug, clap::Subcommand)]
pub(super) enum Config {
    Check(Check),
}

/// Check the configuration as a run would, and report every error
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci config check", "Checks .github/architect.yml, otherwise .architect.yml"),
        ("architect-ci config check draft.yml --show set", "Checks a file, and prints what it sets"),
        ("architect-ci config check --show all --json", "Prints every key with its value, as JSON"),
    ],
    "Exit codes: 0 valid (or no configuration), 3 invalid or unreadable. A file that is named is read from the disk; a run \
     on a pull request reads its base commit instead.",
))]
pub(super) struct Check {
    /// Configuration file [default: .github/architect.yml, otherwise .architect.yml]
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    file: Option<PathBuf>,
    /// Folder of the checkout
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = clap::ValueHint::DirPath)]
    workspace: PathBuf,
    /// Print keys with their values: those that the file sets, those that keep their defaults, or all
    #[arg(long, value_name = "WHICH")]
    show: Option<ShownKeys>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ShownKeys {
    Set,
    Default,
    All,
}

/// Why there is nothing to check.
#[derive(Debug, thiserror::Error)]
pub(super) enum CheckError {
    #[error("the workspace {0}: {1}")]
    Workspace(PathBuf, io::Error),
    #[error(transparent)]
    Repository(#[from] GitError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Command(#[from] InvalidRule),
    #[error(transparent)]
    Guardrail(#[from] InvalidGuardrail),
}

/// The result of a check.
#[derive(Serialize)]
struct Checked {
    /// The file; `None` if there is no configuration.
    file: Option<String>,
    valid: bool,
    errors: Vec<Fault>,
    #[serde(skip_serializing_if = "Option::is_none")]
    values: Option<Vec<Row>>,
}

/// A key and its value.
#[derive(Serialize)]
struct Row {
    key: String,
    value: Value,
    /// Whether the value is the default, since the file does not set the key.
    default: bool,
}

impl Config {
    pub(super) fn execute(&self) -> Exit {
        let Self::Check(check) = self;
        match check.look() {
            Ok(checked) => {
                check.print(&checked);
                if checked.valid { Exit::Success } else { Exit::Configuration }
            }
            Err(error) => {
                log_error(&log_lines(&visible(&chain(&error))));
                Exit::Configuration
            }
        }
    }
}

/// What is to be said of a configuration.
pub(super) struct Verdict {
    pub(super) valid: bool,
    /// The file, and every error in it; each ends in a line feed.
    pub(super) text: String,
}

/// Checks the configuration as `config check` does.
pub(super) fn verdict(file: Option<PathBuf>, workspace: PathBuf) -> Verdict {
    let check = Check { file, workspace, show: None, json: false };
    match check.look() {
        Ok(checked) => Verdict { valid: checked.valid, text: checked.text() },
        Err(error) => Verdict { valid: false, text: format!("{}\n", chain(&error)) },
    }
}

impl Check {
    fn look(&self) -> Result<Checked, CheckError> {
        let named = |error| CheckError::Workspace(self.workspace.clone(), error);
        let root = self.workspace.canonicalize().map_err(named)?;
        let repository = Repository::find(&root, None)?;
        let trusted = Trusted {
            workspace: &root,
            repository: repository.as_ref(),
            trust: Trust::Checkout,
            places: Vec::new(),
            remote: None,
        };
        let file = trusted.config_file(self.file.as_deref())?;
        let shown = file.as_ref().map(TrustedFile::shown);
        let text = file.as_ref().map_or("", |file| file.text.as_str());
        let name = shown.as_deref().unwrap_or_default();
        let (set, faults) = match config::check(text, name) {
            Ok(set) => {
                let config = config::parse(text, name)?;
                let values = self.show.map(|show| rows(&config, &set, show));
                (values, faults(&config, &trusted, file.as_ref()))
            }
            Err(faults) => (None, faults),
        };
        Ok(Checked { file: shown, valid: faults.is_empty(), errors: faults, values: set })
    }

    fn print(&self, checked: &Checked) {
        let masker = Masker::from_environment(&variables(), &[], &[]);
        if self.json {
            if let Ok(Value::Object(fields)) = serde_json::to_value(checked) {
                print(&format!("{:#}\n", masked_fields(fields, &masker)));
            }
            return;
        }
        print_painted(&log_lines(&masker.mask(&checked.text())));
    }
}

impl Checked {
    fn text(&self) -> String {
        let mut text = match (&self.file, self.errors.len()) {
            (None, 0) => "✓ no configuration file: the defaults apply\n".to_owned(),
            (Some(file), 0) => format!("✓ {} is valid\n", visible(file)),
            (file, count) => {
                let file = file.as_deref().unwrap_or("the configuration");
                format!("✗ {}: {}\n", visible(file), counted(count, "error", "s"))
            }
        };
        for fault in &self.errors {
            let message = visible(fault.message.trim_end());
            text += &if fault.line.is_some() {
                format!("\n{message}\n")
            } else {
                format!("\nerror: {message}\n")
            };
        }
        for row in self.values.iter().flatten() {
            let default = if row.default { "  # default" } else { "" };
            text += &format!("{}: {}{default}\n", visible(&row.key), visible(&row.value.to_string()));
        }
        text
    }
}

/// Returns the requested keys, in the order of their sections.
fn rows(config: &config::Config, set: &Value, show: ShownKeys) -> Vec<Row> {
    let (mut set_keys, mut all) = (Vec::new(), Vec::new());
    flatten("", set, &mut set_keys);
    flatten("", &serde_json::to_value(config).unwrap_or_default(), &mut all);
    let set_keys: BTreeSet<String> = set_keys.into_iter().map(|(key, _)| key).collect();
    let is_set = |key: &str| {
        let below =
            |prefix: &str, key: &str| key.strip_prefix(prefix).is_some_and(|rest| rest.starts_with('.'));
        set_keys.iter().any(|set| set == key || below(set, key) || below(key, set))
    };
    let rows = all.into_iter().map(|(key, value)| Row { default: !is_set(&key), key, value });
    rows.filter(|row| show == ShownKeys::All || row.default == (show == ShownKeys::Default)).collect()
}

/// Collects the values of a tree with their keys, joined by dots; a list is one value.
fn flatten(prefix: &str, value: &Value, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&key, value, into);
            }
        }
        Value::Null if prefix.is_empty() => {}
        _ => into.push((prefix.to_owned(), value.clone())),
    }
}

/// Returns what a run would refuse in a configuration that can be parsed: each rule is checked by itself, so that no error
/// hides another.
fn faults(config: &config::Config, trusted: &Trusted<'_>, file: Option<&TrustedFile>) -> Vec<Fault> {
    let root = trusted.workspace;
    let mut found = Vec::new();
    let mut expect = |fault: Option<&dyn Error>| found.extend(fault.map(chain).map(Fault::of_rule));
    let rules = &config.guardrails;
    let none = config::Guardrails::default;
    let code =
        rules.code_rules.iter().map(|rule| config::Guardrails { code_rules: vec![rule.clone()], ..none() });
    let others = config::Guardrails { code_rules: Vec::new(), ..rules.clone() };
    for rules in code.chain([others]) {
        let ground = GuardrailContext {
            root,
            config_file: file.map(|file| file.path.as_str()),
            allow_workflow_edits: config.workspace.allow_workflow_edits,
            ..GuardrailContext::default()
        };
        expect(refused(&Guardrails::new(&rules, ground)));
    }
    expect(refused(&Policy::new(&config.commands, root)));
    for fault in Hooks::faults(&config.hooks) {
        expect(Some(&fault));
    }
    expect(refused(&Server::all(&config.mcp.servers)));
    expect(refused(&Web::new(&config.web, CancellationToken::new())));
    for name in config.agents.keys() {
        expect(refused(&Agent::find(name, &config.agents)));
    }
    let agents = config.agents.iter().map(|(name, agent)| (format!("agents.{name}.model"), &agent.model));
    let models =
        [("llm.model".to_owned(), &config.llm.model), ("review.model".to_owned(), &config.review.model)];
    for (key, model) in models.into_iter().chain(agents) {
        let parsed = model.as_deref().map(ModelName::parse).transpose();
        let named = parsed.map_err(|error| InKey { key, error: Box::new(error) });
        expect(refused(&named));
    }
    if let Some(file) = &config.costs.prices_file {
        let key = format!("costs.prices_file: {file}");
        expect(refused(&prices(trusted, file).map_err(|error| InKey { key, error })));
    }
    found
}

/// An error in the value of a key.
#[derive(Debug, thiserror::Error)]
#[error("{key}: {error}")]
struct InKey {
    key: String,
    error: Box<dyn Error>,
}

fn refused<T, E: Error>(result: &Result<T, E>) -> Option<&dyn Error> {
    result.as_ref().err().map(|error| error as &dyn Error)
}

fn prices(trusted: &Trusted<'_>, file: &str) -> Result<(), Box<dyn Error>> {
    let found = trusted.read(Path::new(file))?;
    Prices::new(Some(&found.ok_or("no such file")?.text))?;
    Ok(())
}
