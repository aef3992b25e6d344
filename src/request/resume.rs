//! Requests that continue with a session: of this machine, or one that another has sealed.

use super::catalog::{INPUTS, Input};
use super::error::InputError;
use super::job_request::JobRequest;
use super::lookup::Lookup;
use super::model::ModelChoice;
use super::run_request::RunRequest;
use super::values::Inputs;
use crate::base::env::Variables;
use crate::github::{Api, ArtifactLookup, Environment, sealed_session};
use crate::sessions::{OpenedSession, Resumed, SavedSession, SessionError};

/// Inputs that may differ when a session goes on: who answers, how far, and how this start speaks. All others are those of the
/// first start, whatever the environment says.
pub(crate) const MAY_CHANGE: [&str; 9] =
    ["model", "base-url", "api-key-env", "max-steps", "budget-usd", "timeout", "json", "verbose", "quiet"];

/// Makes the request of a session again. What may change is what is given now, if it is; all else is as it was then.
pub(crate) fn resumed_request(found: &SavedSession, lookup: &Lookup) -> Result<RunRequest, InputError> {
    let resumed = found.resume(lookup.variables())?;
    let out = found.folder.canonicalize().unwrap_or_else(|_| found.folder.clone());
    let file = &resumed.file;
    // What was named by a relative path is found from where it was named.
    let _ = std::env::set_current_dir(&file.started_in);
    let mut all = lookup.clone();
    for Input { name, .. } in &INPUTS {
        let now = lookup.text(name).filter(|_| MAY_CHANGE.contains(name));
        // Without a value it counts as absent, and no variable is asked.
        let value = now.or_else(|| file.inputs.get(*name).cloned()).unwrap_or_default();
        all = all.with(name, &value);
    }
    // What became of the inputs: a run that was forced to be a dry run stays one.
    for name in ["task-file", "dry-run"] {
        all = all.with(name, "");
    }
    all = all.with("mode", &file.mode.to_string()).with("task", &file.task);
    all = all.with("out", &out.display().to_string());
    all = all.with("workspace", &file.workspace.display().to_string());
    file.check_commit(&file.workspace)?;
    let mut request = RunRequest::resolve(&Inputs::read(&all)?)?;
    request.go_on_with(resumed);
    Ok(request)
}

impl RunRequest {
    fn go_on_with(&mut self, mut resumed: Resumed) {
        if matches!(self.model, ModelChoice::Recipe(_)) {
            resumed.begin_again();
        }
        self.resumed = Some(resumed);
    }
}

/// Downloads the sealed session of a workflow run.
pub(crate) async fn sealed_session_of_run(inputs: &Inputs, run: u64) -> Result<OpenedSession, InputError> {
    let environment = Environment::read(&inputs.variables, None).map_err(InputError::Event)?;
    let environment = environment.ok_or(SessionError::NoGitHub)?;
    let environment = Environment { clock: inputs.network.clone(), ..environment };
    let api = Api::new(&environment).map_err(InputError::GitHub)?;
    find_sealed(&api, Some(run), None, &inputs.variables).await
}

/// Downloads a sealed session: of this workflow run, or the latest one that is about this issue or pull request.
pub(super) async fn find_sealed(
    api: &Api,
    run: Option<u64>,
    number: Option<u64>,
    variables: &Variables,
) -> Result<OpenedSession, InputError> {
    let mut problem = None;
    // An artifact may hold a copy of another run's box.
    let open = |run: u64, sealed: &[u8]| {
        let opened = OpenedSession::open(sealed, variables, Some(run), number);
        opened.map_err(|error| problem.get_or_insert(error)).ok()
    };
    let found = sealed_session(api, run, open).await.map_err(InputError::GitHub)?;
    let place = run.map_or_else(|| "of an artifact".to_owned(), |run| format!("of the workflow run {run}"));
    let absent = match found {
        ArtifactLookup::Found(opened) => return Ok(opened),
        ArtifactLookup::Expired => SessionError::NoArtifact(" any more (those of the run have expired)"),
        ArtifactLookup::Nothing => SessionError::NoArtifact(""),
    };
    Err(problem.map_or(absent, |error| SessionError::Sealed { place, error }).into())
}

/// Lets a request continue with a session that another machine has sealed.
pub(super) fn resume_sealed(
    mut request: RunRequest,
    opened: OpenedSession,
) -> Result<RunRequest, InputError> {
    let JobRequest { workspace, out, variables, .. } = &request.job;
    let found = opened.settle(workspace, out, variables)?;
    let resumed = found.resume(variables)?;
    request.go_on_with(resumed);
    Ok(request)
}
