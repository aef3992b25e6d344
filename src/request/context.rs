//! Context of every request: the checkout, the event, who is trusted, the configuration.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokio::runtime::Handle;
use tokio::task::block_in_place;

use super::gate::without_links;
use super::{InputError, Inputs};
use crate::base::env::Variables;
use crate::git::{RemoteRepository, Repository};
use crate::github::{Api, ApiError, Environment, Subject, file_at};
use crate::trust::{Origin, Trust, Trusted};

/// What a request is based on.
pub(crate) struct RequestContext<'a> {
    pub(crate) inputs: &'a Inputs,
    /// The checkout; the workspace may be a folder of it.
    pub(crate) checkout: PathBuf,
    /// Its repository.
    pub(crate) repository: Option<Repository>,
    pub(crate) github: Option<Environment>,
    pub(crate) trust: Trust,
    pub(crate) origin: Origin,
    /// What people should know.
    pub(crate) warnings: Vec<String>,
    /// The client for GitHub. Most requests never need it.
    api: OnceLock<Api>,
}

impl<'a> RequestContext<'a> {
    pub(crate) fn read(inputs: &'a Inputs) -> Result<Self, InputError> {
        let checkout = checkout(inputs)?;
        let border = border(&inputs.variables);
        // Found here, before anything of the checkout runs, and never looked for again.
        let repository = Repository::find(&checkout, border.as_deref()).map_err(InputError::Repository)?;
        let github = Environment::read(&inputs.variables, inputs.event.clone()).map_err(InputError::Event)?;
        let github = github.map(|github| Environment { clock: inputs.network.clone(), ..github });
        let trust = trust(inputs, github.as_ref(), repository.as_ref())?;
        if let (Trust::Base(_), Some(inner)) = (&trust, &repository)
            && let Some(outer) = inner.imposed_on(border.as_deref()).map_err(InputError::Repository)?
        {
            return Err(InputError::Nested { inner: inner.root().to_owned(), outer });
        }
        let mut context = Self {
            inputs,
            checkout,
            repository,
            github,
            trust,
            origin: Origin::default(),
            warnings: Vec::new(),
            api: OnceLock::new(),
        };
        context.warnings.extend(context.foreign_checkout());
        // Nothing is checked out where another workflow's report is posted; what is there (an artifact, say) is
        // a stranger's.
        let has_nothing = matches!(context.trust, Trust::Base(_)) && context.repository.is_none();
        let is_after = context.github.as_ref().is_some_and(Environment::is_after_another_run);
        if has_nothing && is_after && inputs.config.is_none() {
            return Ok(context);
        }
        context.origin = context.with_trusted(|trusted| trusted.config(inputs.config.as_deref()))?;
        Ok(context)
    }

    /// Returns what people should know where the checkout is not at the commit of an event that is about no pull
    /// request.
    fn foreign_checkout(&self) -> Option<String> {
        let Trust::Base(commit) = &self.trust else { return None };
        let github = self.github.as_ref()?;
        if github.is_on_pull() || github.is_after_another_run() {
            return None;
        }
        let short = |commit: &str| commit.get(..12).unwrap_or(commit).to_owned();
        let head = self.repository.as_ref().and_then(Repository::head);
        let stands = head.map_or("has no commit".to_owned(), |head| format!("is at {}", short(&head)));
        Some(format!(
            "the checkout {stands}, but the event {} is about {}, so the configuration and the programs that it names \
             are those of {}; set `trust-head-config: true` if everybody who can change what is checked out may change \
             what the agent does",
            github.event,
            short(commit),
            short(commit)
        ))
    }

    /// Refuses a path that commands may use where a link of the repository leads it elsewhere.
    pub(super) fn check_opened(&self, workspace: &Path, key: &str, path: &str) -> Result<(), InputError> {
        if path.starts_with("~/") {
            return Ok(());
        }
        let checked = without_links(&workspace.join(path), border(&self.inputs.variables).as_deref());
        checked.map(drop).map_err(|error| InputError::rules(format!("`commands.{key}`: {path:?}: {error}")))
    }

    /// The key of the comment.
    pub(crate) fn comment_key(&self) -> String {
        self.inputs.comment_key.clone().unwrap_or_else(|| self.origin.config.github.comment_key.clone())
    }

    /// Returns the client for GitHub.
    pub(crate) fn api(&self, github: &Environment) -> Result<&Api, ApiError> {
        if let Some(api) = self.api.get() {
            return Ok(api);
        }
        let api = Api::new(github)?;
        Ok(self.api.get_or_init(|| api))
    }

    /// Reads a file of the repository from GitHub. Files that steer a run are read without `await`, and hardly ever from
    /// there, so this thread waits.
    fn wait_for_file(
        &self,
        github: &Environment,
        commit: &str,
        path: &str,
    ) -> Result<Option<String>, ApiError> {
        let runtime = Handle::try_current()?;
        let api = self.api(github)?;
        block_in_place(|| runtime.block_on(file_at(api, commit, path)))
    }

    /// Reads what steers the run, from the state of the repository that is trusted.
    pub(crate) fn with_trusted<R>(&self, read: impl FnOnce(&Trusted<'_>) -> R) -> R {
        let remote = self.github.as_ref().map(|github| {
            move |commit: &str, path: &str| self.wait_for_file(github, commit, path).map_err(Into::into)
        });
        let remote = remote.as_ref().map(|remote| remote as crate::trust::Remote<'_>);
        let url = self
            .github
            .as_ref()
            .map(|github| format!("{}/{}/{}.git", github.server_url, github.owner, github.repository));
        let origin = self.repository.as_ref().and_then(|repository| repository.settings().origin());
        let limit = self.github.as_ref().map(Environment::call_limit);
        let places = self.github.iter().flat_map(|github| {
            let (server, token, limit) = (&github.server_url, github.token.as_deref(), limit.as_ref());
            let place = move |url| RemoteRepository { url, server, token, limit };
            let other = url.as_deref().filter(|url| origin != Some(*url));
            origin.into_iter().chain(other).map(place)
        });
        read(&Trusted {
            workspace: &self.checkout,
            repository: self.repository.as_ref(),
            trust: self.trust.clone(),
            places: places.collect(),
            remote,
        })
    }
}

fn checkout(inputs: &Inputs) -> Result<PathBuf, InputError> {
    let variable =
        |name: &str| inputs.variables.get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = match inputs.workspace.clone().or_else(|| variable("GITHUB_WORKSPACE")) {
        Some(path) => path,
        None => std::env::current_dir().map_err(|error| InputError::Workspace { path: ".".into(), error })?,
    };
    existing_folder(path, border(&inputs.variables).as_deref())
}

/// Returns the folder that holds all repositories of the job.
pub(crate) fn border(variables: &Variables) -> Option<PathBuf> {
    variables.get("GITHUB_WORKSPACE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns a folder below another one, which a configuration names.
pub(crate) fn rooted(base: &Path, root: &str) -> Result<PathBuf, InputError> {
    let full = existing_folder(base.join(root), Some(base))?;
    if full.starts_with(base) {
        return Ok(full);
    }
    let error = std::io::Error::other(format!("it is not inside {}", base.display()));
    Err(InputError::Workspace { path: full, error })
}

fn existing_folder(path: PathBuf, border: Option<&Path>) -> Result<PathBuf, InputError> {
    let found = without_links(&path, border).and_then(|full| full.canonicalize()).and_then(|full| {
        let is_dir = full.metadata()?.is_dir();
        if is_dir { Ok(full) } else { Err(std::io::Error::from(std::io::ErrorKind::NotADirectory)) }
    });
    found.map_err(|error| InputError::Workspace { path, error })
}

/// Returns the state of the repository that steers the run. A pull request's author controls the checkout on events of
/// that pull request, and wherever else a workflow checks it out, so the checkout is trusted only where it is at the
/// event's own commit.
fn trust(
    inputs: &Inputs,
    github: Option<&Environment>,
    repository: Option<&Repository>,
) -> Result<Trust, InputError> {
    let Some(github) = github.filter(|_| !inputs.trust_head_config) else { return Ok(Trust::Checkout) };
    let own = || github.sha.clone().ok_or_else(|| InputError::NoBase(github.event.clone()));
    Ok(match &github.subject {
        Subject::PullRequest { base: Some(base), .. } => Trust::Base(base.clone()),
        // Anybody's pull request may have caused it, and the job may have checked that out.
        _ if github.is_after_another_run() => Trust::Base(own()?),
        // A person who runs this by hand is responsible for the checkout.
        _ if !github.in_actions => Trust::Checkout,
        _ => {
            let own = own()?;
            let is_there = repository.is_some_and(|repository| repository.head().as_ref() == Some(&own));
            if is_there { Trust::Checkout } else { Trust::Base(own) }
        }
    })
}
