//! Folders outside of the checkout that the tools and commands of a run can read.

use std::sync::Arc;

use sanitize::Masker;
use workspace::AttachedFolder;

use crate::command::KeptOutputs;
use crate::event::{Events, NoticeLevel};
use crate::request::{InputError, JobRequest};

/// Folders outside of the checkout that the run's tools can read.
pub(super) struct Attached {
    /// Where whole outputs of commands are kept.
    pub(super) outputs: Option<Arc<KeptOutputs>>,
    /// All of them.
    pub(super) folders: Arc<[AttachedFolder]>,
}

/// Opens the folder of kept outputs, and those of `workspace.extra_dirs`.
pub(super) fn attached(
    request: &JobRequest,
    masker: &Arc<Masker>,
    events: &Events,
) -> Result<Attached, InputError> {
    let outputs = KeptOutputs::new(&request.out, Arc::clone(masker))
        .map_err(|error| {
            events.notice(NoticeLevel::Warning, format!("outputs of commands are not kept: {error}"));
        })
        .ok()
        .map(Arc::new);
    let mut folders = Vec::new();
    for given in &request.config().workspace.extra_dirs {
        let invalid = |problem: String| InputError::ExtraFolder { given: given.clone(), problem };
        let path = request.workspace.join(given);
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let folder = AttachedFolder::open(&name, &path).map_err(|error| invalid(error.to_string()))?;
        let path = folder.path();
        if SYSTEM.iter().any(|system| path.starts_with(system)) || request.workspace.starts_with(path) {
            return Err(invalid(
                "use a folder that contains neither the checkout nor the system's own files".to_owned(),
            ));
        }
        if folders.iter().any(|other: &AttachedFolder| other.name() == folder.name()) {
            return Err(invalid(format!("another folder is already named {}", folder.name())));
        }
        folders.push(folder);
    }
    let kept = outputs.iter().filter_map(|outputs| AttachedFolder::open(KEPT, outputs.folder()).ok());
    folders.extend(kept);
    Ok(Attached { outputs, folders: folders.into() })
}

/// Folders in which files are not what they seem, or tell of other processes.
const SYSTEM: [&str; 4] = ["/proc", "/sys", "/dev", "/run"];

/// Name under which tools find the outputs of commands.
const KEPT: &str = "command-output";
