//! Isolated state of a run: runs commands, hooks, and gates on a throw-away state of the checkout. Their
//! changes are judged before any of them is kept, and a dry run keeps them in its plan. Nothing that others
//! wrote ever runs on the checkout itself.

mod auto_loaded;
mod background_commands;
mod isolated_run;
mod keep;
mod left_behind;
mod lost;
mod state;
mod tool_folders;
mod untrusted_build_output;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;
use workspace::{CheckoutModes, Judge, Restored, WorkspacePath};

use crate::base::blocking::elsewhere;
use crate::base::verbose_log::detail;
use crate::command::sandbox::{Rights, View, kernel_support};
use crate::command::{Ended, Finished, Job, LiveOutput, PipeStatus, Shell};
use crate::event::{Events, NoticeLevel};
pub use isolated_run::{IsolatedRun, LostChanges};
use keep::{CommandOrigin, Keeper};
pub use left_behind::LeftBehind;
use lost::AtLoss;
pub use state::{
    Author, BaseState, Before, CarryError, FoundChanges, Isolated, IsolationError, IsolationSource, Secrets,
    mask_repository,
};
use untrusted_build_output::Built;

/// The isolated state of a run, created when it is first needed.
pub struct Isolation {
    below: BaseState,
    source: IsolationSource,
    shell: Shell,
    events: Events,
    judge: Judge,
    state: Arc<Mutex<Option<Isolated>>>,
    /// Number of commands that were started beside others.
    beside: AtomicU32,
    /// Number of those that may still have processes.
    alive_beside: AtomicU32,
    /// Files that Git ignores and that commands have changed, as far as programs run or load them.
    built: parking_lot::Mutex<Built>,
    /// Links that commands, hooks and gates have left where Git ignores them.
    links: parking_lot::Mutex<BTreeSet<WorkspacePath>>,
    /// Files that commands and hooks changed, and whose changes were lost.
    lost: parking_lot::Mutex<BTreeMap<WorkspacePath, AtLoss>>,
    /// Whether a command of the agent's may have changed something.
    has_agent_run: AtomicBool,
    /// The modes of the checkout, where commands see the machine's own file system.
    modes: OnceLock<CheckoutModes>,
    /// Whether commands have left files in the checkout that Git ignores.
    has_left_files: AtomicBool,
    /// Whose changed programs have been reported.
    doubted: parking_lot::Mutex<BTreeSet<String>>,
}

/// A command line to run on the isolated state.
pub struct IsolatedCommand<'a> {
    /// The command line, for the shell.
    pub command: &'a str,
    /// The question that is put to the shell around it.
    pub pipe: Option<&'a PipeStatus>,
    /// The working directory.
    pub cwd: &'a WorkspacePath,
    /// Environment variables on top of the shell's.
    pub variables: Vec<(Cow<'a, str>, String)>,
    /// The bytes for standard input; nothing can be read if `None`.
    pub stdin: Option<Vec<u8>>,
    /// Whether standard error goes into the same stream as standard output.
    pub merge: bool,
    /// Where standard output is collected.
    pub output: LiveOutput,
    /// The time after which the command is ended.
    pub timeout: Duration,
    /// A token that ends the command early.
    pub cancel: CancellationToken,
    /// What the command is allowed to do.
    pub rights: Rights,
    /// Which of its changes are kept.
    pub keep: Keep,
    /// Folders that the command renames in one step.
    pub moves: Vec<WorkspacePath>,
    /// The hook or gate whose command this is: it shares no folder with others.
    pub owner: Option<String>,
}

/// Which of a command's changes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// All changes, unless they are refused.
    Changes,
    /// Files that ignore files exclude, so that the next build has less to do.
    Outputs,
    /// None: nobody waits for the command, so it must not change what others work on.
    Nothing,
}

impl Isolation {
    /// Creates a handle to the state above (or beside) a checkout; nothing is mounted or copied yet.
    pub fn new(
        below: BaseState,
        source: IsolationSource,
        shell: Shell,
        events: Events,
        judge: Judge,
    ) -> Self {
        Self {
            below,
            source,
            shell,
            events,
            judge,
            state: Arc::default(),
            beside: AtomicU32::new(0),
            alive_beside: AtomicU32::new(0),
            built: parking_lot::Mutex::default(),
            links: parking_lot::Mutex::default(),
            lost: parking_lot::Mutex::default(),
            has_agent_run: AtomicBool::new(false),
            modes: OnceLock::new(),
            has_left_files: AtomicBool::new(false),
            doubted: parking_lot::Mutex::default(),
        }
    }

    /// Returns the shell that starts the run's commands.
    pub fn shell(&self) -> &Shell {
        &self.shell
    }

    /// Returns the path of the checkout.
    pub fn root(&self) -> &Path {
        &self.source.root
    }

    /// Restores the modes of files of the checkout that commands changed there, past their copy of it, and returns these.
    /// `changed` are the files that the run changed.
    pub fn restore_modes(&self, changed: &[WorkspacePath]) -> Vec<Restored> {
        self.modes.get().map_or_else(Vec::new, |modes| modes.restore(changed, "the run"))
    }

    /// Returns whether commands have left files in the checkout that nobody can take back: those that Git ignores.
    pub fn has_left_files(&self) -> bool {
        self.has_left_files.load(Ordering::Relaxed)
    }

    /// Returns the size of the state on disk in bytes, or `None` if it was not created.
    pub async fn bytes(&self) -> Option<u64> {
        self.state.lock().await.as_ref().map(Isolated::bytes)
    }

    /// Runs a command line of the configuration's by the run's shell. It sees Git's own folder as the checkout has it,
    /// and what it writes there is gone afterwards.
    pub async fn run(&self, work: IsolatedCommand<'_>) -> Result<IsolatedRun, IsolationError> {
        let shell = work.owner.as_deref().map(|owner| self.shell.of(owner));
        self.run_as(Author::Trusted, shell.as_ref().unwrap_or(&self.shell), work).await
    }

    /// Runs a command line of an agent's by another shell. It sees in Git's own folder what the agent left there. What it
    /// writes there stays for the next one if its changes to files are kept as well.
    pub async fn run_by(
        &self,
        shell: &Shell,
        work: IsolatedCommand<'_>,
    ) -> Result<IsolatedRun, IsolationError> {
        let author = if work.keep == Keep::Changes { Author::Agent } else { Author::Assistant };
        self.run_as(author, shell, work).await
    }

    /// Unless it only looks, nobody else is in the state meanwhile.
    async fn run_as(
        &self,
        author: Author,
        shell: &Shell,
        mut work: IsolatedCommand<'_>,
    ) -> Result<IsolatedRun, IsolationError> {
        let mut state = Arc::clone(&self.state).lock_owned().await;
        let isolated = match state.take() {
            Some(isolated) => isolated,
            None => self.make().await?,
        };
        let (rights, keep, moves) = (work.rights, work.keep, std::mem::take(&mut work.moves));
        let below = self.below.clone();
        let owner = work.owner.clone();
        let changes_nothing = (rights == Rights::Look || keep == Keep::Nothing) && shell.is_sandboxed();
        let (isolated, before, reader) = elsewhere(move || {
            let mut isolated = isolated;
            isolated.update(&below)?;
            let reader = changes_nothing.then(|| isolated.reader(author)).flatten();
            if reader.is_none() {
                isolated.enter(author).map_err(IsolationError::Git)?;
            }
            if let Err(error) = isolated.make_movable(&moves) {
                detail!("could not rename folders atomically: {error}");
            }
            let before = isolated.before(&below)?;
            Ok::<_, IsolationError>((isolated, before, reader))
        })
        .await?;
        let root = isolated.path().to_owned();
        if let Some(reader) = reader {
            // A read-only view lets other commands use the state meanwhile.
            let _lease = isolated.lease();
            *state = Some(isolated);
            drop(state);
            return Ok(IsolatedRun::unchanged(work.run_on(shell, &root, View::Reader(&reader)).await));
        }
        if author != Author::Trusted {
            self.has_agent_run.store(true, Ordering::Relaxed);
        }
        let by = CommandOrigin { author, is_influenced: self.is_influenced() };
        let finished = work.run_on(shell, &root, isolated.view()).await;
        if finished.ended == Ended::StillRunning {
            let reason = "processes of the command could not be stopped, and may still be changing files";
            let ran = IsolatedRun::lost(finished, reason, Vec::new());
            self.note_lost(&ran, keep, owner.as_deref());
            return Ok(ran);
        }
        let below = self.below.clone();
        let keeper = Keeper { judge: Arc::clone(&self.judge), time_limit: self.shell.time_limit.clone() };
        // None of its own processes is left, so nobody else can have its files open.
        let is_alone = self.alive_beside.load(Ordering::SeqCst) == 0;
        let ran = elsewhere(move || {
            let mut isolated = isolated;
            let (ran, isolated) = if let Err(error) = isolated.leave(author) {
                let reason = format!("what the command left in the `.git` folder is in the way: {error}");
                (IsolatedRun::lost(finished, reason, Vec::new()), None)
            } else if let Err(error) = if is_alone { Ok(()) } else { isolated.renew(&below) } {
                let reason = format!("could not copy the command's files while others run: {error}");
                (IsolatedRun::lost(finished, reason, Vec::new()), None)
            } else {
                keeper.keep_changes(isolated, &before, finished, &below, (rights, keep), by)
            };
            // If the state could not be brought back to what is below, it is dropped, so that the next command starts with a new
            // one. Nobody else is in it before that, even if the call is no longer waited for.
            *state = isolated;
            drop(state);
            ran
        })
        .await;
        if ran.has_left_files {
            self.has_left_files.store(true, Ordering::Relaxed);
        }
        self.note_lost(&ran, keep, owner.as_deref());
        self.note_left_behind(&ran.built, owner);
        Ok(ran)
    }

    /// Returns whether a program of the configuration's may do what the agent wants: before the agent has done anything, a hook
    /// that installs tools does that alone.
    fn is_influenced(&self) -> bool {
        self.has_agent_run.load(Ordering::Relaxed)
            || self.below.changed().map_or(true, |changed| !changed.is_empty())
    }

    /// Creates an overlay where one can be mounted, otherwise a copy.
    async fn make(&self) -> Result<Isolated, IsolationError> {
        let started = Instant::now();
        if self.shell.namespaces(&self.source.root).await.is_some() {
            let source = self.source.clone();
            if let Some(isolated) = elsewhere(move || Isolated::mounted(&source)).await {
                let took = started.elapsed().as_secs_f64() * 1000.0;
                detail!("commands run on an overlay, which took {took:.1} ms to mount");
                self.report_git(&isolated);
                return Ok(isolated);
            }
        }
        detail!("overlays cannot be mounted");
        let source = self.source.clone();
        let (copied, bytes, modes) = elsewhere(move || {
            let copied = Isolated::copied(&source)?;
            let bytes = copied.bytes();
            Ok::<_, IsolationError>((copied, bytes, CheckoutModes::remember(&source.root)))
        })
        .await?;
        // Those before the first command count.
        self.modes.get_or_init(|| modes);
        let place = "at another path, where references to the checkout's original path do not work";
        let (megabytes, took) = (bytes / 1_000_000, copied.took.as_secs_f64());
        let message =
            format!("commands run on a copy of the checkout, {place} ({megabytes} MB, {took:.1} s)");
        self.events.notice(NoticeLevel::Info, message);
        self.report_git(&copied);
        if self.source.shares_folders {
            let message = "no overlay can be mounted here, so the `shared` folders are empty for commands, hooks and gates";
            self.events.notice(NoticeLevel::Warning, message.to_owned());
        }
        if !self.shell.is_sandboxed() {
            let message = "nothing keeps commands from the checkout itself: a program that refers to it by its \
             original path (a virtual environment, an editable install) sees it without the planned edits, and its result may be wrong";
            self.events.notice(NoticeLevel::Warning, message);
        }
        if !kernel_support().signals {
            let message = "commands can signal other processes of this user, the run's own among them: only since Linux 6.12, the \
             kernel keeps them from that without namespaces";
            self.events.notice(NoticeLevel::Warning, message);
        }
        if let Some(first) = copied.unreadable.first() {
            let message = format!(
                "{} of the files and folders of the checkout cannot be read ({} first): commands do not see them, and a \
                 command that changes something in their place is refused",
                copied.unreadable.len(),
                first.display()
            );
            self.events.notice(NoticeLevel::Warning, message);
        }
        Ok(copied)
    }

    fn report_git(&self, isolated: &Isolated) {
        for repository in isolated.unseen_repositories() {
            let message = format!(
                "{} holds sensitive files that were committed and cannot be shown without them, so commands do not \
                 see that repository",
                repository.display()
            );
            self.events.notice(NoticeLevel::Warning, message);
        }
    }
}

impl IsolatedCommand<'_> {
    /// Runs the command by a shell, on the state at `root` as `view` shows it.
    async fn run_on(self, shell: &Shell, root: &Path, view: View<'_>) -> Finished {
        let Self { command, pipe, cwd, variables, stdin, merge, output, timeout, cancel, rights, .. } = self;
        let cwd = &root.join(cwd.as_str());
        let job =
            Job { command, pipe, cwd, root, view, rights, variables, stdin, merge, output, timeout, cancel };
        shell.run(job).await
    }
}
