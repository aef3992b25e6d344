//! Commands and gates of a dry run on the planned state, without the checkout noticing.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{Mutex, MutexGuard};
use tokio_util::sync::CancellationToken;

use crate::command::{Ended, Job, Shell};
use crate::detail::detail;
use crate::event::{Events, NoticeLevel};
use crate::workspace::{FileChange, FileError, Isolated, IsolationError, Mount, OverlayWorkspace};

/// The throw-away state of a run, made when it is first needed.
pub struct Isolation {
    planned: Arc<OverlayWorkspace>,
    root: PathBuf,
    temp: PathBuf,
    shell: Shell,
    events: Events,
    state: Mutex<Option<Isolated>>,
}

/// The state while something runs in it; nobody else does.
pub struct Entered<'a> {
    isolation: &'a Isolation,
    state: MutexGuard<'a, Option<Isolated>>,
}

impl Isolation {
    /// For the plan above the checkout at `root`; throw-away files go below `temp`.
    pub fn new(
        planned: Arc<OverlayWorkspace>,
        root: PathBuf,
        temp: PathBuf,
        shell: Shell,
        events: Events,
    ) -> Self {
        Self { planned, root, temp, shell, events, state: Mutex::default() }
    }

    /// Brings the state up to date with the plan and keeps others out of it.
    pub async fn enter(&self) -> Result<Entered<'_>, IsolationError> {
        let mut state = self.state.lock().await;
        let mut isolated = match state.take() {
            Some(isolated) => isolated,
            None => self.make().await?,
        };
        let planned = Arc::clone(&self.planned);
        let updated = blocking(move || isolated.update(&planned).map(|()| isolated)).await;
        *state = Some(updated?);
        Ok(Entered { isolation: self, state })
    }

    /// Bytes that it takes on disk, if it was made.
    pub async fn bytes(&self) -> Option<u64> {
        self.state.lock().await.as_ref().map(Isolated::bytes)
    }

    /// An overlay where one can be mounted, else a copy.
    async fn make(&self) -> Result<Isolated, IsolationError> {
        let started = Instant::now();
        if let Some(isolated) = Isolated::mounted(&self.root, &self.temp) {
            let job = Self::job("true", &self.root, isolated.mount(), Duration::from_secs(10));
            let tried = self.shell.run(job).await;
            if tried.ended == Ended::Exited(0) {
                let took = started.elapsed();
                self.events.notice(
                    NoticeLevel::Info,
                    format!("isolated runs use an overlay, made in {:.1} ms", took.as_secs_f64() * 1000.0),
                );
                return Ok(isolated);
            }
            detail!("no overlay can be mounted: {}", tried.output());
        }
        let (root, temp) = (self.root.clone(), self.temp.clone());
        let (copied, bytes) = blocking(move || {
            let copied = Isolated::copied(&root, &temp)?;
            let bytes = copied.bytes();
            Ok::<_, IsolationError>((copied, bytes))
        })
        .await?;
        self.events.notice(
            NoticeLevel::Info,
            format!(
                "isolated runs use a copy of the checkout ({} MB, {:.1} s)",
                bytes / 1_000_000,
                copied.took.as_secs_f64()
            ),
        );
        Ok(copied)
    }

    fn job<'a>(command: &'a str, root: &'a Path, mount: Option<&'a Mount>, timeout: Duration) -> Job<'a> {
        Job {
            command,
            cwd: root,
            root,
            mount,
            variables: Vec::new(),
            stdin: None,
            merge: true,
            timeout,
            cancel: CancellationToken::new(),
        }
    }
}

impl Entered<'_> {
    /// Where commands run.
    pub fn path(&self) -> PathBuf {
        self.state.as_ref().map_or_else(|| self.isolation.root.clone(), |state| state.path().to_owned())
    }

    /// What has to be mounted for them.
    pub fn mount(&self) -> Option<Mount> {
        self.state.as_ref().and_then(|state| state.mount().cloned())
    }

    /// Runs something and finds what it changes against the plan.
    pub async fn watch<T>(
        &mut self,
        run: impl Future<Output = T>,
    ) -> (T, Result<Vec<FileChange>, FileError>) {
        let before = self.state.as_ref().map(Isolated::before);
        let finished = run.await;
        let planned = Arc::clone(&self.isolation.planned);
        let (Some(mut isolated), Some(before)) = (self.state.take(), before) else {
            return (finished, Ok(Vec::new()));
        };
        let (isolated, changes) = blocking(move || {
            let changes = isolated.changes(before, &planned);
            (isolated, changes)
        })
        .await;
        // What cannot be planned must not be met by the next one either: it starts afresh.
        *self.state = changes.is_ok().then_some(isolated);
        (finished, changes)
    }
}

/// Runs blocking work off the async threads; a panic goes on here.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}
