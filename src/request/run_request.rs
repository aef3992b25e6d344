//! The request of a job in which an agent works on a task.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::context::RequestContext;
use super::files::{Guide, guides, output_schema, prices};
use super::job_request::{Draft, JobRequest, Subject};
use super::ledger::ledger;
use super::model::{self, ModelChoice, ReviewerModel, choose, reviewer};
use super::shared_ledger::SharedLedger;
use super::values::parse_mode;
use super::{Deliver, InputError, Inputs, task};
use crate::agent::Agent;
use crate::base::env::is_in_ci;
use crate::config::{Config, ConfirmMode};
use crate::event::{Expectation, RunMode};
use crate::git::Repository;
use crate::github::Environment;
use crate::mcp::Server;
use crate::model::{Ledger, ModelName, Prices};
use crate::sessions::Resumed;
use crate::tool::Access;
use crate::trust::{Trust, Trusted};

/// Everything that a run needs to know in which an agent works on a task.
#[derive(Debug)]
pub struct RunRequest {
    /// What every job needs to know.
    pub job: JobRequest,
    /// Who works.
    pub agent: Agent,
    /// Guides of the repository and of the folders down to the workspace: instructions for agents.
    pub guides: Vec<Guide>,
    /// The commit from which guides of folders are read.
    pub guide_commit: Option<String>,
    /// Servers whose tools the agent has as well.
    pub servers: Vec<Server>,
    /// The model.
    pub model: ModelChoice,
    /// Who reviews the changes, where that is another model.
    pub reviewer: Option<ReviewerModel>,
    /// What tokens cost.
    pub prices: Prices,
    /// Where spending is recorded, if it is.
    pub ledger: Option<Arc<Ledger>>,
    /// The ledger on a branch, of which `ledger` is a copy.
    pub shared_ledger: Option<SharedLedger>,
    /// How long the run may take.
    pub timeout: Option<Duration>,
    /// Most rounds, where the run continues in rounds until its gates pass.
    pub rounds: Option<u32>,
    /// What the final message has to satisfy.
    pub output_schema: Option<Value>,
    /// The inputs that were given, by name.
    pub given: BTreeMap<String, String>,
    /// The session that continues.
    pub resumed: Option<Resumed>,
}

impl RunRequest {
    /// Makes a request to work on a task, whatever event there was.
    pub fn resolve(inputs: &Inputs) -> Result<Self, InputError> {
        Self::for_task(&RequestContext::read(inputs)?, inputs)
    }

    /// Makes a request to work on a task. `inputs` may be others than those of the context: a comment may have ordered
    /// something else.
    pub(super) fn for_task(context: &RequestContext<'_>, inputs: &Inputs) -> Result<Self, InputError> {
        Self::of_task(context, inputs).map_err(|error| match error {
            InputError::MissingKey { variable }
                if context.github.as_ref().is_some_and(Environment::is_fork) =>
            {
                InputError::NoKeyForFork { variable }
            }
            error => error,
        })
    }

    fn of_task(context: &RequestContext<'_>, inputs: &Inputs) -> Result<Self, InputError> {
        let mut draft = Draft::new(context, inputs)?;
        let work = context.with_trusted(|trusted| work(inputs, trusted, &mut draft.origin.config))?;
        let Work { task, expected, mut mode, agent, model_name, model, reviewer, secret_variables } = work;
        if let (Some(reason), true) = (draft.plans_only(), mode != RunMode::DryRun) {
            mode = RunMode::DryRun;
            draft.warnings.push(format!("{reason}, so this is a dry run"));
        }
        draft.roll_back(mode)?;
        draft.check_programs()?;
        let refused = |refusal| InputError::ModelProgram { model: model_name.clone(), refusal };
        draft.check_model(&model).and_then(|()| draft.write_base_files(&model)).map_err(refused)?;
        let rounds = draft.rounds();
        let costs = draft.origin.config.costs.clone();
        let workspace = draft.workspace.clone();
        let (output_schema, guides, prices) = context.with_trusted(|trusted| {
            let prices = prices(&costs, inputs, trusted)?;
            Ok::<_, InputError>((
                output_schema(inputs, trusted)?,
                guides(trusted, &workspace, is_in_ci(&inputs.variables)),
                prices,
            ))
        })?;
        let servers = draft.servers.clone();
        let subject = Subject { task, mode, agent: agent.name.clone(), model_name, secret_variables };
        let mut job = draft.complete(subject, false)?;
        let runs_as_usual = rounds.is_none() && !matches!(model, ModelChoice::Recipe(_));
        // Of a batch's tasks, which globs and generators make, many have nothing to do.
        let is_task_of_batch = inputs.task_id.is_some();
        let must_change = runs_as_usual && !is_task_of_batch;
        job.expected = expected.unwrap_or_else(|| expectation(&agent, &job.deliver, must_change));
        let guide_commit = match &context.trust {
            Trust::Base(commit) => Some(commit.clone()),
            Trust::Checkout => job.repository.as_ref().and_then(Repository::head),
        };
        // What answers without a provider costs nothing.
        let costs_money = matches!(model, ModelChoice::Provider { .. } | ModelChoice::Exec { .. });
        let (mut shared_ledger, mut own_ledger) = (None, None);
        if costs_money {
            let config = &job.origin.config;
            shared_ledger = SharedLedger::new(inputs, config, context.github.as_ref())?;
            own_ledger = ledger(inputs, config, &context.checkout, shared_ledger.as_ref())?.map(Arc::new);
        }
        let mut given = inputs.given.clone();
        given.insert("workspace".to_owned(), context.checkout.display().to_string());
        // The head of a task's file may have said these.
        given.insert("agent".to_owned(), agent.name.clone());
        given.insert("expect".to_owned(), job.expected.to_string());
        Ok(Self {
            job,
            agent,
            guides,
            guide_commit,
            servers,
            model,
            reviewer,
            prices,
            ledger: own_ledger,
            shared_ledger,
            timeout: inputs.timeout,
            rounds,
            output_schema,
            given,
            resumed: None,
        })
    }
}

/// What is to be done, how, and by whom.
struct Work {
    task: String,
    expected: Option<Expectation>,
    mode: RunMode,
    agent: Agent,
    model_name: String,
    model: ModelChoice,
    reviewer: Option<ReviewerModel>,
    secret_variables: Vec<String>,
}

fn work(inputs: &Inputs, trusted: &Trusted<'_>, config: &mut Config) -> Result<Work, InputError> {
    let name = inputs.model.clone();
    // A recipe says itself what it is for.
    let recipe = name.as_deref().is_some_and(|name| name.trim().starts_with("recipe::"));
    let header = match task::read(inputs, trusted) {
        Err(InputError::NoTask) if recipe => task::Task::default(),
        header => header?,
    };
    let agent_name = inputs.agent.clone().or(header.agent).unwrap_or_else(|| "build".to_owned());
    let own = config.agents.get(&agent_name).and_then(|agent| agent.confirm_mode);
    let mode = mode(inputs, header.mode.as_deref(), own)?;
    let mut agent = Agent::find(&agent_name, &config.agents)?;
    if let Some(steps) = inputs.max_steps {
        agent.max_steps = u32::try_from(steps.get()).unwrap_or(u32::MAX);
    }
    let llm = &mut config.llm;
    llm.base_url = inputs.base_url.clone().or(llm.base_url.take());
    llm.api_key_env = inputs.api_key_env.clone().or(llm.api_key_env.take());
    let name = name.or_else(|| agent.model.clone()).or_else(|| llm.model.clone());
    let model_name = ModelName::parse(&name.ok_or(InputError::NoModel)?)?;
    let (model, mut secret_variables) = choose(inputs, trusted, &model_name, llm)?;
    let reviewer = reviewer(inputs, trusted, config, &mut secret_variables)?;
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
    let expected = inputs.expect.or(header.expect).or(config.expect);
    Ok(Work { task, expected, mode, agent, model_name, model, reviewer, secret_variables })
}

/// Returns what a run is expected to leave behind where nobody says so: an agent that only reads, no changes; one whose
/// changes are delivered, changes. A recipe, rounds that end when their checks pass, and a task of a batch may find
/// everything done; they need not change anything.
fn expectation(agent: &Agent, deliver: &Deliver, must_change: bool) -> Expectation {
    match (agent.access, deliver) {
        (Access::Trial | Access::Look, _) => Expectation::NoChanges,
        (Access::Full, Deliver::Nowhere) => Expectation::Any,
        (Access::Full, _) if must_change => Expectation::Changes,
        (Access::Full, _) => Expectation::Any,
    }
}

/// Returns the mode of the inputs, else the one that the head of the task names, else, where somebody can be asked,
/// that of the agent.
fn mode(inputs: &Inputs, header: Option<&str>, own: Option<ConfirmMode>) -> Result<RunMode, InputError> {
    let mode = match (inputs.mode, header, own.filter(|_| !inputs.in_ci)) {
        (Some(mode), _, _) => mode,
        (None, Some(header), _) => parse_mode(header)?,
        (None, None, Some(ConfirmMode::Yolo)) => RunMode::Yolo,
        (None, None, Some(ConfirmMode::ConfirmSensitive)) => RunMode::ConfirmSensitive,
        (None, None, Some(ConfirmMode::ConfirmAll)) => RunMode::ConfirmAll,
        (None, None, None) => RunMode::DryRun,
    };
    if inputs.in_ci && matches!(mode, RunMode::ConfirmAll | RunMode::ConfirmSensitive) {
        return Err(InputError::ModeNeedsTerminal(mode));
    }
    Ok(mode)
}
