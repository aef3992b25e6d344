//! Resumes an interrupted run from its change log, in its own checkout or in one that has none of its work.

use tokio::task::block_in_place;
use workspace::{
    DiskWorkspace, FileChange, FileError, FileState, OverlayWorkspace, TrackedWorkspace, WorkspacePath,
};

use super::agent_run::AgentRun;
use super::setup::RunSetup;
use crate::agent::{DISPATCH, History, RegainedResult};
use crate::engine::Caller;
use crate::event::{Event, Line, NoticeLevel, Outcome, RunMode, ToolCall};
use crate::request::InputError;
use crate::sessions::{LoggedChanges, Resumed, SessionError};

/// Most files that are named in a notice.
const MAX_NAMED: usize = 10;

impl AgentRun<'_> {
    /// Takes up an earlier part of the session, if there is one, and logs changes from then on.
    pub(super) async fn take_up(
        &mut self,
        setup: &RunSetup,
        resumed: Option<&Resumed>,
    ) -> Result<(), InputError> {
        if let Some(resumed) = resumed {
            self.restore(resumed).await?;
        }
        setup.log_changes(&self.run);
        if let Some(resumed) = resumed {
            self.regained = self.call_again(resumed).await;
        }
        Ok(())
    }

    /// Returns the conversation before the interruption.
    pub(super) fn history(&self, resumed: &Resumed) -> History {
        let agent = &self.request.agent.name;
        History::of(resumed.past(), agent, &self.regained, resumed.was_cut_off())
    }

    /// Brings the workspace to where the calls of the session that ended had left it.
    async fn restore(&self, resumed: &Resumed) -> Result<(), InputError> {
        // What is captured there is what this start finds. Waiting fails if nobody captures it.
        let _ = self.run.engine.baseline_ready.clone().wait_for(|ready| *ready).await;
        let changes = &resumed.changes;
        let restored = block_in_place(|| match (&self.run.tracked, &self.run.planned) {
            (Some(tracked), _) => {
                self.change_again(tracked, changes);
                Ok(())
            }
            (None, Some(planned)) => self.plan_again(planned, changes),
            (None, None) => Ok(()),
        });
        restored.map_err(|error| SessionError::Unwritable {
            path: self.request.job.workspace.clone(),
            problem: error.to_string(),
        })?;
        let tracker = &self.run.engine.tracker;
        tracker.lock().take_up(changes.actions.clone());
        let is_command = |line: &&Line| match &line.event {
            Event::Call(call) => call.outcome != Outcome::Refused && call.effects.command.is_some(),
            _ => false,
        };
        self.run.engine.guardrails.count_earlier_commands(resumed.past().filter(is_command).count());
        Ok(())
    }

    /// Brings files of the checkout to where the calls that ended have left them. What others have changed stays, and so does
    /// what cannot be written.
    fn change_again(&self, tracked: &TrackedWorkspace, changes: &LoggedChanges) {
        tracked.take_up(changes.before.clone(), changes.large.clone());
        let may_write = |path: &WorkspacePath| self.may_write(path);
        let Regained { kept, put, foreign, failed } = Regained::of(tracked.disk(), changes, may_write);
        let told = format!(
            "resumed: {kept} files are as this run had left them, {put} of which had to be rewritten"
        );
        self.run.events.notice(NoticeLevel::Info, told);
        self.tell_of_foreign(&foreign);
        for error in failed.iter().take(MAX_NAMED) {
            let told =
                format!("could not restore a file to the state in which this run had left it: {error}");
            self.run.events.notice(NoticeLevel::Warning, told);
        }
        if failed.len() > MAX_NAMED {
            let told = format!("and {} more files", failed.len() - MAX_NAMED);
            self.run.events.notice(NoticeLevel::Warning, told);
        }
        let lost: Vec<&WorkspacePath> = changes
            .large
            .keys()
            .filter(|path| std::fs::symlink_metadata(tracked.path().join(path.as_str())).is_err())
            .collect();
        if !lost.is_empty() {
            let told =
                format!("too large for the sealed session, and not in this checkout: {}", named(&lost));
            self.run.events.notice(NoticeLevel::Warning, told);
        }
    }

    /// Plans what was planned. What others have changed since is not planned over.
    fn plan_again(&self, planned: &OverlayWorkspace, changes: &LoggedChanges) -> Result<(), FileError> {
        let (mut again, mut foreign) = (Vec::new(), Vec::new());
        let has_changed =
            |(path, after): &(&WorkspacePath, &Option<FileState>)| changes.before.get(*path) != Some(*after);
        for (path, after) in changes.after.iter().filter(has_changed) {
            let now = match planned.original(path) {
                // The log holds none so large.
                Err(FileError::TooLarge { .. }) => None,
                now => Some(now?),
            };
            let is_known =
                now.as_ref().is_some_and(|now| now == after || changes.before.get(path) == Some(now));
            if is_known && self.may_write(path) {
                again.push(FileChange { path: path.clone(), before: None, after: after.clone() });
            } else {
                foreign.push(path);
            }
        }
        self.tell_of_foreign(&foreign);
        planned.absorb(&again)
    }

    /// Returns whether the run can have written a file: the log may not do what the agent may not.
    fn may_write(&self, path: &WorkspacePath) -> bool {
        self.run.engine.guardrails.check_write(path).is_ok()
    }

    fn tell_of_foreign(&self, foreign: &[&WorkspacePath]) {
        if !foreign.is_empty() {
            let told = format!(
                "changed by somebody else since the interruption, so left as they are: {}",
                named(foreign)
            );
            self.run.events.notice(NoticeLevel::Warning, told);
        }
    }

    /// Makes the calls of the last answer that were under way, as far as it is certain that they have had no effect: files are
    /// back to where they were, but who knows what a command or a server did elsewhere. Returns their results.
    async fn call_again(&self, resumed: &Resumed) -> Vec<RegainedResult> {
        let agent = &self.request.agent;
        let mut regained = Vec::new();
        for (step, call) in under_way(resumed, &agent.name) {
            let effects = self.run.engine.effects(&call).unwrap_or_default();
            let runs = effects.command.is_some() && self.request.job.mode != RunMode::DryRun;
            if runs || effects.remote.is_some() || call.name == DISPATCH {
                break;
            }
            let allowed = agent.allowed_tools.as_deref();
            let caller = Caller { agent: &agent.name, step, allowed, access: agent.access };
            let result = self.run.engine.call(caller, &call).await;
            regained.push(RegainedResult { id: call.id, content: result.text(), success: result.success });
        }
        regained
    }
}

/// What became of files of the checkout that the run had changed.
#[derive(Default)]
struct Regained<'a> {
    /// How many are as the calls that ended left them.
    kept: usize,
    /// How many had to be written.
    put: usize,
    /// Files that somebody else has changed.
    foreign: Vec<&'a WorkspacePath>,
    /// Why others could not be read or written.
    failed: Vec<FileError>,
}

impl<'a> Regained<'a> {
    fn of(
        disk: &DiskWorkspace,
        changes: &'a LoggedChanges,
        may_write: impl Fn(&WorkspacePath) -> bool,
    ) -> Self {
        let mut regained = Self::default();
        for (path, before) in &changes.before {
            let after = changes.after.get(path);
            let then = after.unwrap_or(before);
            match regained.bring(disk, changes, path, then.as_ref(), may_write(path)) {
                Ok(true) => regained.kept += usize::from(after.is_some()),
                Ok(false) => regained.foreign.push(path),
                Err(error) => regained.failed.push(error),
            }
        }
        regained
    }

    /// Brings a file to a state, unless somebody else has changed it or it is protected. Returns whether it is in that state.
    fn bring(
        &mut self,
        disk: &DiskWorkspace,
        changes: &LoggedChanges,
        path: &WorkspacePath,
        then: Option<&FileState>,
        may_write: bool,
    ) -> Result<bool, FileError> {
        let now = match disk.state_of(path) {
            // The log holds none so large.
            Err(FileError::TooLarge { .. }) => return Ok(false),
            now => now?,
        };
        if now.as_ref() == then {
            return Ok(true);
        }
        if !may_write || !changes.is_own(path, now.as_ref()) {
            return Ok(false);
        }
        disk.put(path, then)?;
        self.put += 1;
        Ok(true)
    }
}

/// Returns the calls of an agent's last answer of which the transcript has no result, with their turn.
fn under_way(resumed: &Resumed, agent: &str) -> Vec<(u32, ToolCall)> {
    let mut open: Vec<(u32, ToolCall)> = Vec::new();
    for line in resumed.past() {
        match &line.event {
            Event::Reply(reply) if reply.agent == agent => {
                open = reply.calls.iter().map(|call| (reply.step, call.clone())).collect();
            }
            Event::Call(call) if call.agent == agent => {
                if let Some(at) = open.iter().position(|(_, asked)| asked.id == call.id) {
                    open.remove(at);
                }
            }
            _ => {}
        }
    }
    open
}

fn named(paths: &[&WorkspacePath]) -> String {
    let shown = paths.iter().take(MAX_NAMED).map(ToString::to_string).collect::<Vec<_>>().join(", ");
    match paths.len().saturating_sub(MAX_NAMED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

#[cfg(test)]
mod tests {
    use workspace::Mode;

    use super::*;

    fn path(text: &str) -> WorkspacePath {
        WorkspacePath::parse(text).unwrap()
    }

    fn state(text: &str) -> FileState {
        FileState { content: text.as_bytes().into(), mode: Mode::Regular }
    }

    #[test]
    fn files_that_are_not_the_runs_or_cannot_be_written_do_not_end_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [
            ("kept.txt", "new"),
            ("lost.txt", "old"),
            ("theirs.txt", "theirs"),
            ("file", ""),
            ("guarded.txt", "old"),
        ] {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let large = std::fs::File::create(folder.path().join("large.bin")).unwrap();
        large.set_len(1_000_000_000).unwrap();
        let states = |states: &[(&str, Option<FileState>)]| {
            states.iter().map(|(name, state)| (path(name), state.clone())).collect()
        };
        let mut changes = LoggedChanges::default();
        changes.before = states(&[
            ("kept.txt", Some(state("old"))),
            ("lost.txt", Some(state("old"))),
            // Of a call that did not end, so that the run has left nothing there.
            ("theirs.txt", Some(state("old"))),
            ("file/below.txt", None),
            ("large.bin", None),
            ("guarded.txt", Some(state("old"))),
        ]);
        changes.after = states(&[
            ("kept.txt", Some(state("new"))),
            ("lost.txt", Some(state("new"))),
            ("file/below.txt", Some(state("new"))),
            ("guarded.txt", Some(state("new"))),
        ]);
        let disk = DiskWorkspace::open(folder.path()).unwrap();
        let Regained { kept, put, foreign, failed } =
            Regained::of(&disk, &changes, |path| path != &self::path("guarded.txt"));
        assert_eq!((kept, put), (2, 1));
        assert_eq!(foreign, [&path("guarded.txt"), &path("large.bin"), &path("theirs.txt")]);
        assert_eq!(failed.len(), 1, "{failed:?}");
        assert!(failed[0].to_string().contains("file"), "{failed:?}");
        assert_eq!(std::fs::read(folder.path().join("lost.txt")).unwrap(), b"new");
    }
}
