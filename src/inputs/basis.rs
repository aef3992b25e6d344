//! What every request stands on: the checkout, the event, who is trusted, the configuration.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokio::runtime::Runtime;

use super::gate::without_links;
use super::{InputError, Lookup};
use crate::git::{Place, Repository};
use crate::github::{Api, ApiError, Environment, Subject, file_at};
use crate::trust::{Origin, Trust, Trusted};

/// The beginnings of a request.
pub(crate) struct Basis<'a> {
    pub(crate) lookup: &'a Lookup,
    /// The checkout; the workspace may be a folder of it.
    pub(crate) checkout: PathBuf,
    /// Its repository.
    pub(crate) repository: Option<Repository>,
    pub(crate) github: Option<Environment>,
    pub(crate) desk: Desk,
    pub(crate) trust: Trust,
    pub(crate) origin: Origin,
}

impl<'a> Basis<'a> {
    pub(crate) fn read(lookup: &'a Lookup) -> Result<Self, InputError> {
        let checkout = checkout(lookup)?;
        let variables = lookup.variables();
        let border = border(lookup);
        // Found here, before anything of the checkout runs, and never looked for again.
        let repository = Repository::find(&checkout, border.as_deref()).map_err(InputError::Repository)?;
        let github = Environment::read(variables, lookup.path("event")).map_err(InputError::Event)?;
        let trust = trust(lookup, github.as_ref())?;
        if let (Trust::Base(_), Some(inner)) = (&trust, &repository)
            && let Some(outer) = inner.imposed_on(border.as_deref()).map_err(InputError::Repository)?
        {
            return Err(InputError::Nested { inner: inner.root().to_owned(), outer });
        }
        let desk = Desk::default();
        let mut basis = Self { lookup, checkout, repository, github, desk, trust, origin: Origin::default() };
        // Nothing is checked out where another workflow's report is posted; what lies there (an artifact, say) is
        // a stranger's.
        let has_nothing = matches!(basis.trust, Trust::Base(_)) && basis.repository.is_none();
        let is_after = basis.github.as_ref().is_some_and(Environment::is_after_another_run);
        if has_nothing && is_after && lookup.path("config").is_none() {
            return Ok(basis);
        }
        basis.origin = basis.with_trusted(|trusted| trusted.config(lookup.path("config").as_deref()))?;
        Ok(basis)
    }

    /// The key of the comment.
    pub(crate) fn comment_key(&self) -> String {
        self.lookup.text("comment-key").unwrap_or_else(|| self.origin.config.github.comment_key.clone())
    }

    /// Reads what steers the run, from the state of the repository that is trusted.
    pub(crate) fn with_trusted<R>(&self, read: impl FnOnce(&Trusted<'_>) -> R) -> R {
        let remote = self.github.as_ref().map(|github| {
            move |commit: &str, path: &str| {
                let file = |api| async move { file_at(&api, commit, path).await };
                self.desk.ask(github, file).map_err(|error| error.to_string())
            }
        });
        let remote = remote.as_ref().map(|remote| remote as crate::trust::Remote<'_>);
        let url = self
            .github
            .as_ref()
            .map(|github| format!("{}/{}/{}.git", github.server_url, github.owner, github.repository));
        let origin = self.repository.as_ref().and_then(|repository| repository.settings().origin());
        let places = self.github.iter().flat_map(|github| {
            let place = |url| Place { url, server: &github.server_url, token: github.token.as_deref() };
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

fn checkout(lookup: &Lookup) -> Result<PathBuf, InputError> {
    let variable =
        |name: &str| lookup.variables().get(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let path = match lookup.path("workspace").or_else(|| variable("GITHUB_WORKSPACE")) {
        Some(path) => path,
        None => std::env::current_dir().map_err(|error| InputError::Workspace { path: ".".into(), error })?,
    };
    existing_folder(path, border(lookup).as_deref())
}

/// Returns the folder that holds all repositories of the job.
pub(crate) fn border(lookup: &Lookup) -> Option<PathBuf> {
    lookup.variables().get("GITHUB_WORKSPACE").filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Returns a folder below another one, which a configuration names.
pub(crate) fn rooted(base: &Path, root: &str) -> Result<PathBuf, InputError> {
    let full = existing_folder(base.join(root), Some(base))?;
    if full.starts_with(base) {
        return Ok(full);
    }
    let error = std::io::Error::other(format!("it is not inside of {}", base.display()));
    Err(InputError::Workspace { path: full, error })
}

fn existing_folder(path: PathBuf, border: Option<&Path>) -> Result<PathBuf, InputError> {
    let found = without_links(&path, border).and_then(|full| full.canonicalize()).and_then(|full| {
        let is_dir = full.metadata()?.is_dir();
        if is_dir { Ok(full) } else { Err(std::io::Error::from(std::io::ErrorKind::NotADirectory)) }
    });
    found.map_err(|error| InputError::Workspace { path, error })
}

/// A pull request's author controls the checkout, so what steers the run comes from the base commit.
fn trust(lookup: &Lookup, github: Option<&Environment>) -> Result<Trust, InputError> {
    let trusted_head = lookup.flag("trust-head-config")?;
    Ok(match github.map(|github| &github.subject) {
        _ if trusted_head => Trust::Checkout,
        Some(Subject::PullRequest { base: Some(base), .. }) => Trust::Base(base.clone()),
        // Anybody's pull request may have caused it, and the job may have checked that out.
        _ if github.is_some_and(Environment::is_after_another_run) => {
            let sha = github.and_then(|github| github.sha.clone());
            Trust::Base(sha.ok_or_else(|| InputError::NoBase("workflow_run".to_owned()))?)
        }
        _ => Trust::Checkout,
    })
}

/// Where GitHub is asked before anything else runs. Most runs never come here.
#[derive(Default)]
pub(crate) struct Desk {
    client: OnceLock<(Runtime, Api)>,
    warnings: RefCell<Vec<String>>,
}

impl Desk {
    /// Remembers what people should know.
    pub(crate) fn warn(&self, message: String) {
        self.warnings.borrow_mut().push(message);
    }

    /// What people should know.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    /// Asks, and waits for the answer.
    pub(crate) fn ask<T, F>(
        &self,
        github: &Environment,
        question: impl FnOnce(Api) -> F,
    ) -> Result<T, ApiError>
    where
        F: Future<Output = Result<T, ApiError>>,
    {
        if self.client.get().is_none() {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|error| ApiError::Unusable(error.to_string()))?;
            let api = {
                let _inside = runtime.enter();
                Api::new(github)?
            };
            // Nobody else could have been first: this is one thread.
            let _ = self.client.set((runtime, api));
        }
        let Some((runtime, api)) = self.client.get() else {
            return Err(ApiError::Unusable("no client".to_owned()));
        };
        runtime.block_on(question(api.clone()))
    }
}
