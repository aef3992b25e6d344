//! Flags, Action inputs, environment and configuration become one complete [`RunRequest`].
//!
//! Whatever is wrong is found here, before anything is done: a request that exists is valid.

mod asked;
mod basis;
pub(crate) mod credentials;
mod deliver;
mod error;
mod files;
mod gate;
mod list;
mod lookup;
mod model;
mod programs;
mod task;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use crate::agent::Agent;
use crate::base::did_you_mean::nearest;
use crate::base::env::Variables;
use crate::config::{Bounded, Comment, Config, GateConfig, Usd};
use crate::event::RunMode;
use crate::git::Repository;
use crate::github::{Environment, PlanMark};
use crate::mcp::Server;
use crate::model::{ModelName, Prices};
use crate::plan::Plan;
use crate::sanitize::secret_names::{passwords, without_userinfo};
use crate::sessions::Resumed;
use crate::trust::{Origin, Trusted, TrustedFile};

pub use asked::Asked;
pub(crate) use basis::{Basis, rooted};
pub use deliver::Deliver;
pub use error::InputError;
pub(crate) use files::out;
use files::{guide, output_schema, prices};
pub use list::{BATCH_INPUTS, INPUTS, Input};
pub use lookup::Lookup;
pub use model::{ModelChoice, ReviewerModel};
use model::{choose, reviewer};
use programs::Programs;

/// The modes that need nobody.
const MODES: [&str; 4] = ["dry-run", "yolo", "confirm-all", "confirm-sensitive"];

/// Everything that a run needs to know.
#[derive(Debug)]
pub struct RunRequest {
    /// What to do.
    pub task: String,
    /// How.
    pub mode: RunMode,
    /// Who does it.
    pub agent: Agent,
    /// Where: an existing folder, absolute.
    pub workspace: PathBuf,
    /// Its repository.
    pub repository: Option<Repository>,
    /// The configuration and its origin; limits and model are already those of this run.
    pub origin: Origin,
    /// What the repository tells agents about itself.
    pub guide: Option<TrustedFile>,
    /// Servers whose tools the agent has as well.
    pub servers: Vec<Server>,
    /// The model, as people name it.
    pub model_name: String,
    /// The model.
    pub model: ModelChoice,
    /// Who reviews the changes, where that is another model.
    pub reviewer: Option<ReviewerModel>,
    /// What tokens cost.
    pub prices: Prices,
    /// How long the run may take.
    pub timeout: Option<Duration>,
    /// Where the files of the run go; an existing folder.
    pub out: PathBuf,
    /// Most rounds, where the run goes on in rounds until its gates pass.
    pub rounds: Option<u32>,
    /// What the final message has to satisfy.
    pub output_schema: Option<Value>,
    /// GitHub, if the run is for it.
    pub github: Option<Environment>,
    /// Where changes go.
    pub deliver: Deliver,
    /// The plan of the comment that is applied; the comment goes on to show it if that fails.
    pub applies: Option<PlanMark>,
    /// All variables of the process.
    pub variables: Variables,
    /// Variables that hold secrets besides those that look like it.
    pub secret_variables: Vec<String>,
    /// Secrets that no variable holds: credentials that the checkout keeps for Git.
    pub secrets: Vec<String>,
    /// What people should know before the run starts.
    pub warnings: Vec<String>,
    /// Whether this is a run by itself, and not one of many.
    pub alone: bool,
    /// The inputs that were given, by name.
    pub given: BTreeMap<String, String>,
    /// The session that goes on.
    pub resumed: Option<Resumed>,
}

impl RunRequest {
    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.origin.config
    }

    /// A request to work on a task, whatever event there was.
    pub fn resolve(lookup: &Lookup) -> Result<Self, InputError> {
        Self::of_task(&Basis::read(lookup)?, lookup)
    }

    /// A request to apply a plan: what the plan was made with comes from the plan.
    pub fn for_plan(lookup: &Lookup, plan: &Plan) -> Result<Self, InputError> {
        Self::of_plan(&Basis::read(lookup)?, lookup, plan)
    }

    fn of_task(basis: &Basis<'_>, lookup: &Lookup) -> Result<Self, InputError> {
        Self::put_together(basis, lookup, None)
    }

    fn of_plan(basis: &Basis<'_>, lookup: &Lookup, plan: &Plan) -> Result<Self, InputError> {
        Self::put_together(basis, lookup, Some(plan))
    }

    fn put_together(basis: &Basis<'_>, lookup: &Lookup, plan: Option<&Plan>) -> Result<Self, InputError> {
        let mut warnings = basis.desk.warnings();
        let variables = lookup.variables().clone();
        let (checkout, github) = (basis.checkout.clone(), basis.github.clone());
        let mut origin = basis.origin.clone();
        let workspace = rooted(&checkout, &origin.config.workspace.root)?;
        let in_ci = lookup.in_ci();
        if in_ci && origin.config.commands.allowed_only.replace(true) == Some(false) {
            warnings.push(
                "`commands.allowed_only` is always true in CI, so `false` in the configuration is ignored"
                    .to_owned(),
            );
        }
        let mut servers = Server::all(&origin.config.mcp.servers).map_err(InputError::Rules)?;
        let repository = basis.repository.as_ref().map(|repository| repository.seen_from(&workspace));
        let programs =
            Programs { trust: &basis.trust, repository: repository.as_ref(), workspace: &workspace };
        programs.check_hooks(&origin.config.hooks).map_err(InputError::Program)?;
        programs.keep_servers(&mut servers, |told| warnings.push(told));
        let work = match plan {
            None => basis.with_trusted(|trusted| work(lookup, trusted, in_ci, &mut origin.config))?,
            Some(plan) => Work::of_plan(plan),
        };
        let Work { task, mut mode, agent, model_name, model, reviewer, mut secret_variables } = work;
        if let ModelChoice::Exec { command, variables } = &model {
            let refused =
                |reason| InputError::Program(format!("the model {model_name} is not started: {reason}"));
            programs.check_line(command, !variables.is_empty()).map_err(refused)?;
        }
        if mode != RunMode::DryRun && github.as_ref().is_some_and(Environment::is_fork) {
            if mode == RunMode::Apply {
                return Err(InputError::Fork);
            }
            mode = RunMode::DryRun;
            warnings.push("the pull request is from a fork, so this is a dry run".to_owned());
        }
        if mode != RunMode::DryRun && github.as_ref().is_some_and(Environment::is_after_another_run) {
            if mode == RunMode::Apply {
                return Err(InputError::Fork);
            }
            mode = RunMode::DryRun;
            warnings.push(
                "the other workflow may have run for anybody's pull request, so this is a dry run".to_owned(),
            );
        }
        secret_variables.extend(servers.iter().filter_map(Server::token_variable).map(str::to_owned));
        overrule(lookup, &mut origin.config)?;
        let deliver = Deliver::new(&origin.config, github.as_ref(), &agent.name, &task, mode)?;
        let timeout = lookup.number::<1, 86_400>("timeout")?.map(Bounded::seconds);
        let rounds = rounds(lookup, &mut origin.config)?;
        let (output_schema, guide, prices) = basis.with_trusted(|trusted| {
            let prices = prices(&origin.config.costs, trusted)?;
            Ok::<_, InputError>((output_schema(lookup, trusted)?, guide(trusted), prices))
        })?;
        let out = out(lookup)?;
        let mut secrets = repository.as_ref().map(credentials::of_checkout).unwrap_or_default();
        if !secrets.is_empty() && origin.config.commands.enabled && mode != RunMode::DryRun {
            warnings.push(
                "the checkout contains a Git credential, which a command could read; check it out with \
                 `persist-credentials: false`"
                    .to_owned(),
            );
        }
        secrets.extend(crate::telemetry::secrets(&variables));
        let addresses = [&origin.config.llm.base_url, &origin.config.review.base_url];
        secrets.extend(addresses.into_iter().flatten().flat_map(|url| passwords(url)).map(str::to_owned));
        Ok(Self {
            task,
            mode,
            agent,
            workspace,
            repository,
            origin,
            guide,
            servers,
            model_name,
            model,
            reviewer,
            prices,
            timeout,
            rounds,
            out,
            output_schema,
            github,
            deliver,
            applies: None,
            variables,
            secret_variables,
            secrets,
            warnings,
            alone: true,
            given: given(lookup, &basis.checkout),
            resumed: None,
        })
    }
}

/// What it takes to ask for the same again. Where files go is said by where they are.
fn given(lookup: &Lookup, checkout: &Path) -> BTreeMap<String, String> {
    let names = INPUTS.iter().map(|input| input.name).filter(|name| !matches!(*name, "out" | "workspace"));
    let given = names.filter_map(|name| {
        let value = lookup.text(name)?;
        // Who goes on with the session gives the password of its model's server again.
        let kept = if name == "base-url" { without_userinfo(&value) } else { value };
        Some((name.to_owned(), kept))
    });
    given.chain([("workspace".to_owned(), checkout.display().to_string())]).collect()
}

/// Inputs stand above the configuration.
fn overrule(lookup: &Lookup, config: &mut Config) -> Result<(), InputError> {
    if let Some(comment) = lookup.text("comment") {
        config.github.comment = parse_comment(&comment)?;
    }
    if let Some(key) = lookup.text("comment-key") {
        config.github.comment_key = key;
    }
    if let Some(to) = lookup.text("deliver") {
        config.deliver.to = deliver::parse(&to)?;
    }
    if let Some(budget) = lookup.text("budget-usd") {
        config.costs.budget_usd = Some(usd(budget)?);
    }
    Ok(())
}

/// What is to be done, how, and by whom.
struct Work {
    task: String,
    mode: RunMode,
    agent: Agent,
    model_name: String,
    model: ModelChoice,
    reviewer: Option<ReviewerModel>,
    secret_variables: Vec<String>,
}

impl Work {
    /// Nobody works: the plan has it all.
    fn of_plan(plan: &Plan) -> Self {
        Self {
            task: plan.task.clone(),
            mode: RunMode::Apply,
            agent: Agent {
                name: plan.agent.clone(),
                prompt: String::new(),
                allowed_tools: None,
                read_only: true,
                max_steps: 0,
                model: None,
            },
            model_name: plan.model.clone(),
            model: ModelChoice::None,
            reviewer: None,
            secret_variables: Vec::new(),
        }
    }
}

fn work(
    lookup: &Lookup,
    trusted: &Trusted<'_>,
    in_ci: bool,
    config: &mut Config,
) -> Result<Work, InputError> {
    let name = lookup.text("model");
    // A recipe says itself what it is for.
    let recipe = name.as_deref().is_some_and(|name| name.trim().starts_with("recipe::"));
    let header = match task::read(lookup, trusted) {
        Err(InputError::NoTask) if recipe => task::Task::default(),
        header => header?,
    };
    let mode = mode(lookup, header.mode.as_deref(), in_ci)?;
    let agent_name = lookup.text("agent").or(header.agent).unwrap_or_else(|| "build".to_owned());
    let mut agent = Agent::find(&agent_name, &config.agents)?;
    if let Some(steps) = lookup.number::<1, 1000>("max-steps")? {
        agent.max_steps = u32::try_from(steps.get()).unwrap_or(u32::MAX);
    }
    let llm = &mut config.llm;
    llm.base_url = lookup.text("base-url").or(llm.base_url.take());
    llm.api_key_env = lookup.text("api-key-env").or(llm.api_key_env.take());
    let name = name.or_else(|| agent.model.clone()).or_else(|| llm.model.clone());
    let model_name = ModelName::parse(&name.ok_or(InputError::NoModel)?)?;
    let (model, mut secret_variables) = choose(lookup, trusted, &model_name, llm)?;
    let reviewer = reviewer(lookup, trusted, config, &mut secret_variables)?;
    let model_name = model_name.to_string();
    let mut task = header.text;
    if let ModelChoice::Recipe(recipe) = &model {
        model::suit_recipe(config);
        agent.max_steps = agent.max_steps.max(recipe.turns());
        if task.is_empty() {
            let described = Some(&recipe.description).filter(|text| !text.trim().is_empty());
            task.clone_from(described.unwrap_or(&model_name));
        }
    }
    Ok(Work { task, mode, agent, model_name, model, reviewer, secret_variables })
}

/// Checks after each of which a round may end the run are gates; the agent is not sent back to work by them, but
/// begins again.
fn rounds(lookup: &Lookup, config: &mut Config) -> Result<Option<u32>, InputError> {
    let most = lookup.number::<1, 1000>("max-rounds")?;
    let Some(checks) = lookup.text("until") else { return Ok(None) };
    let checks = checks.lines().map(str::trim).filter(|check| !check.is_empty());
    let rules = &mut config.guardrails;
    rules.quality_gates.extend(checks.map(|check| GateConfig {
        name: check.to_owned(),
        command: check.to_owned(),
        required: true,
        timeout: Bounded::fixed::<600>(),
    }));
    rules.max_gate_rounds = Bounded::fixed::<1>();
    let most = most.unwrap_or(Bounded::fixed::<10>());
    Ok(Some(u32::try_from(most.get()).unwrap_or(u32::MAX)))
}

fn mode(lookup: &Lookup, header: Option<&str>, in_ci: bool) -> Result<RunMode, InputError> {
    let given = lookup.text("mode").or_else(|| header.map(str::to_owned));
    let mode = match given.as_deref() {
        None | Some("dry-run") => RunMode::DryRun,
        Some("yolo") => RunMode::Yolo,
        Some("confirm-all") => RunMode::ConfirmAll,
        Some("confirm-sensitive") => RunMode::ConfirmSensitive,
        Some(other) => {
            let near = nearest(other, MODES).map(str::to_owned);
            return Err(InputError::UnknownMode { given: other.to_owned(), near });
        }
    };
    if in_ci && matches!(mode, RunMode::ConfirmAll | RunMode::ConfirmSensitive) {
        return Err(InputError::ModeNeedsTerminal(mode));
    }
    Ok(mode)
}

pub(crate) fn usd(given: String) -> Result<Usd, InputError> {
    let amount = given.trim().trim_start_matches('$').parse().map_err(|_| String::new()).and_then(Usd::new);
    let (name, expected) = ("budget-usd".to_owned(), "a number of USD above 0".to_owned());
    amount.map_err(|_| InputError::Value { name, given, expected })
}

pub(crate) fn parse_comment(text: &str) -> Result<Comment, InputError> {
    match text {
        "always" => Ok(Comment::Always),
        "on-change" => Ok(Comment::OnChange),
        "never" => Ok(Comment::Never),
        other => Err(InputError::Value {
            name: "comment".to_owned(),
            given: other.to_owned(),
            expected: "always, on-change or never".to_owned(),
        }),
    }
}

/// All variables of this process that are valid UTF-8.
pub fn variables() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
