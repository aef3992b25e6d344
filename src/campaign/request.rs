//! Request of a campaign: everything that is known before it starts.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use workspace::{DiskWorkspace, LastLink, WorkspacePath};

use super::check::Campaign;
use super::error::CampaignError;
use super::file::CampaignFile;
use crate::base::bounded::Bounded;
use crate::base::fs::{open_file, read_at_most, write_atomic};
use crate::batch::check_tests;
use crate::config::parse_as;
use crate::github::{
    Api, AppError, AppTokens, Environment, MAX_LISTED, Permissions, RepositoryName, repositories_of, search,
};
use crate::recipe::{MAX_RECIPE, Recipe};
use crate::request::{InputError, Inputs, Lookup, RequestContext, SharedLedger, out};
use crate::run::Clock;
use crate::trust::Trust;

/// Events that people without write permission can cause.
const SPOKEN: [&str; 7] = [
    "issue_comment",
    "issues",
    "pull_request",
    "pull_request_target",
    "pull_request_review",
    "pull_request_review_comment",
    "discussion_comment",
];

/// Targets that are planned at a time, where nothing is said.
const JOBS: usize = 4;

/// Largest file of repositories, in bytes; 100,000 names have a tenth of that.
const MAX_LIST: u64 = 50_000_000;

/// Where tokens come from.
#[derive(Debug)]
pub(super) enum Tokens {
    /// One for everything.
    One(Option<String>),
    /// An app, each for one repository.
    App(Box<AppTokens>),
}

/// Everything that a campaign needs.
#[derive(Debug)]
pub struct CampaignRequest {
    /// The campaign.
    pub campaign: Campaign,
    /// The folder of its files.
    pub out: PathBuf,
    /// Targets that are planned at a time.
    pub jobs: usize,
    /// Notices for people.
    pub warnings: Vec<String>,
    pub(super) inputs: Inputs,
    /// The checkout of the campaign's own repository.
    pub(super) checkout: PathBuf,
    /// The configuration of all runs; that of a target's repository has no effect.
    pub(super) config: PathBuf,
    pub(super) environment: Environment,
    pub(super) home: Api,
    tokens: Tokens,
    /// The ledger on a branch, of which the runs of all targets write a copy.
    shared_ledger: Option<SharedLedger>,
    /// Repositories that files list.
    listed: BTreeSet<RepositoryName>,
}

impl CampaignRequest {
    /// Reads what a campaign needs. If nothing is `written`, one token that can read is enough, and the key of an app is
    /// not even required.
    pub async fn resolve(lookup: &Lookup, written: bool) -> Result<Self, InputError> {
        let inputs = Inputs::read_for_batch(lookup)?;
        let context = RequestContext::read(&inputs)?;
        let environment = context.github.clone().filter(|github| github.token.is_some());
        let environment = environment.ok_or(CampaignError::NoGitHub)?;
        if environment.in_actions {
            if SPOKEN.contains(&environment.event.as_str()) {
                return Err(CampaignError::Event(environment.event).into());
            }
            context.may_start_batch(&environment).await?;
        }
        if context.trust != Trust::Checkout {
            return Err(CampaignError::Untrusted.into());
        }
        let path = lookup.path("campaign").ok_or(CampaignError::NoFile)?;
        let missing = || crate::config::ConfigError::MissingFile("campaign file", path.display().to_string());
        let found = context.with_trusted(|trusted| trusted.read(&path))?.ok_or_else(missing)?;
        let file: CampaignFile = parse_as(&found.text, &found.shown())?;
        let campaign = Campaign::new(file, &found.shown()).map_err(CampaignError::from)?;
        let out = out(&inputs)?;
        let config = config(&context, &out)?;
        let checkout = context.checkout.clone();
        let jobs = lookup.number::<1, 64>("jobs")?.map_or(JOBS, Bounded::count);
        let tokens = if written {
            tokens(&campaign, &environment, &inputs)?
        } else {
            Tokens::One(environment.token.clone())
        };
        let listed = listed(&campaign, &checkout)?;
        let home = Api::new(&environment).map_err(CampaignError::from)?.for_results();
        let warnings = context.warnings.clone();
        let asks_models = campaign.tasks.iter().any(|(_, entry)| entry.recipe.is_none());
        let shared_ledger = if asks_models {
            SharedLedger::new(&inputs, &context.origin.config, Some(&environment))?
        } else {
            None
        };
        Ok(Self {
            campaign,
            out,
            jobs,
            warnings,
            inputs: inputs.clone(),
            checkout,
            config,
            environment,
            home,
            tokens,
            shared_ledger,
            listed,
        })
    }

    /// Returns the ledger on a branch, if there is one and a task asks a model.
    pub fn ledger(&self) -> Option<&SharedLedger> {
        self.shared_ledger.as_ref()
    }

    /// Lets Git end with a clock, and requests to GitHub a short time later: they record what has been done.
    pub(crate) fn obey(&self, clock: &Clock) {
        clock.lead(Some(&self.environment));
    }

    /// Returns the branch with the state, in the campaign's own repository.
    pub fn state_branch(&self) -> String {
        format!("architect-ci-state/{}", self.campaign.file.name)
    }

    /// Checks the recipes before any target is planned: each can be read, and does what its tests say.
    pub(super) async fn check_recipes(&self) -> Result<(), CampaignError> {
        let recipes: BTreeSet<&String> =
            self.campaign.tasks.iter().filter_map(|(_, entry)| entry.recipe.as_ref()).collect();
        for recipe in recipes {
            let text = read_recipe(&self.checkout, recipe);
            let path = || self.checkout.join(recipe);
            let text = text.map_err(|error| CampaignError::Read { path: path(), error })?;
            let parsed = Recipe::parse(&String::from_utf8_lossy(&text), recipe)?;
            check_tests(&parsed, recipe).await?;
        }
        Ok(())
    }

    /// Finds the repositories. Returns them with notices for people.
    pub async fn discover(&self) -> Result<(BTreeSet<RepositoryName>, Vec<String>), CampaignError> {
        let places = &self.campaign.file.repositories;
        let (mut all, mut notices) = (self.listed.clone(), Vec::new());
        for account in &places.organizations {
            let of_app = self.api_of(account).await?;
            if of_app.is_none() {
                notices.push(format!(
                    "the app is not installed for {account}, so its repositories are listed with the token \
                     of this job, which may not see all of them"
                ));
            }
            let api = of_app.unwrap_or_else(|| self.home.clone());
            let found = repositories_of(&api, account, &places.topics).await?;
            if found.total >= MAX_LISTED {
                notices.push(format!(
                    "{account} has {MAX_LISTED} repositories or more, and only that many are listed; list the others with `file`"
                ));
            }
            all.extend(found.repositories);
        }
        if let Some(query) = &places.search {
            let found = search(&self.home, query).await?;
            let count = found.repositories.len();
            if found.total > count as u64 {
                notices.push(format!(
                    "the search matches {} repositories, but GitHub lists only {count} of them; split it up, or use `organizations`",
                    found.total
                ));
            }
            all.extend(found.repositories);
        }
        Ok((all, notices))
    }

    /// Returns a token for a repository; `None` if there is none at all.
    pub(super) async fn token(
        &self,
        repository: &RepositoryName,
        permissions: Permissions,
    ) -> Result<Option<String>, AppError> {
        match &self.tokens {
            Tokens::One(token) => Ok(token.clone()),
            Tokens::App(app) => app.token(repository, permissions).await.map(Some),
        }
    }

    /// Returns a client that may write to a repository.
    pub(super) async fn writer(&self, repository: &RepositoryName) -> Result<Api, AppError> {
        let token = self.token(repository, Permissions::Write).await?;
        Ok(Api::new(&self.environment.of_repository(repository, token))?.for_results())
    }

    /// Returns a client that may read what belongs to an account; `None` if the campaign's app is not installed there.
    pub(super) async fn api_of(&self, account: &str) -> Result<Option<Api>, AppError> {
        let Tokens::App(app) = &self.tokens else { return Ok(Some(self.home.clone())) };
        let Some(token) = app.token_of(account).await? else { return Ok(None) };
        let environment = Environment { token: Some(token), ..self.environment.clone() };
        Ok(Some(Api::new(&environment)?.for_results()))
    }

    /// Returns whether each account has tokens of its own.
    pub(super) fn is_app(&self) -> bool {
        matches!(self.tokens, Tokens::App(_))
    }
}

/// Returns the configuration of all runs: that of the campaign's repository, or an empty one.
fn config(context: &RequestContext<'_>, out: &Path) -> Result<PathBuf, InputError> {
    if let Some(file) = &context.origin.file {
        let path = context.checkout.join(file);
        return path.canonicalize().map_err(|error| CampaignError::Read { path, error }.into());
    }
    let path = out.join("architect.yml");
    write_atomic(&path, b"{}\n").map_err(|error| CampaignError::Write { path: path.clone(), error })?;
    Ok(path)
}

fn tokens(campaign: &Campaign, environment: &Environment, inputs: &Inputs) -> Result<Tokens, CampaignError> {
    let Some(app) = &campaign.file.app else { return Ok(Tokens::One(environment.token.clone())) };
    let key = inputs.variables.get(&app.key_env).filter(|key| !key.trim().is_empty());
    let key = key.ok_or_else(|| CampaignError::NoKey(app.key_env.clone()))?;
    Ok(Tokens::App(Box::new(AppTokens::new(&app.id, key, environment)?)))
}

/// Reads a recipe of the checkout: never out of it, and never what is no file.
pub(super) fn read_recipe(checkout: &Path, recipe: &str) -> io::Result<Vec<u8>> {
    let path = WorkspacePath::parse(recipe).map_err(io::Error::other)?;
    let disk = DiskWorkspace::open(checkout).map_err(io::Error::other)?;
    let found = disk.resolve(&path, LastLink::Follow).and_then(|found| disk.open_file(&found));
    read_at_most(found.map_err(io::Error::other)?, MAX_RECIPE)
}

/// Reads the repositories that files list.
fn listed(campaign: &Campaign, checkout: &Path) -> Result<BTreeSet<RepositoryName>, CampaignError> {
    let places = &campaign.file.repositories;
    let mut all: BTreeSet<RepositoryName> = places.list.iter().cloned().collect();
    let Some(file) = &places.file else { return Ok(all) };
    let path = checkout.join(file);
    let text = open_file(&path).and_then(|file| read_at_most(file, MAX_LIST));
    let text = text.map_err(|error| CampaignError::Read { path, error })?;
    for (at, line) in String::from_utf8_lossy(&text).lines().enumerate() {
        let name = line.split('#').next().unwrap_or_default().trim();
        if name.is_empty() {
            continue;
        }
        let wrong = |error| CampaignError::Line { file: file.clone(), line: at + 1, error };
        all.insert(name.parse().map_err(wrong)?);
    }
    Ok(all)
}
