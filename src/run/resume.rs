//! Goes on with a run that was cut off: what it had planned or changed is taken up again.

use std::sync::Arc;

use workspace::{FileChange, FileState, WorkspacePath};

use super::driver::AgentRun;
use crate::engine::Caller;
use crate::event::{Event, Line, NoticeLevel, Outcome};
use crate::git::{GitError, Repository};
use crate::sessions::Resumed;
use crate::tool::Access;

impl AgentRun<'_> {
    /// Brings the workspace to where the session had left it.
    pub(super) async fn restore(&self, resumed: &Resumed) {
        match &self.run.tracked {
            None => self.plan_again(resumed).await,
            Some(tracked) => match changed_since_commit(self.run.request.repository.as_ref()) {
                Ok(changes) => {
                    tracked.absorb(&changes);
                    let told = format!(
                        "resumed: {} files differ from the commit and count as changed by this run",
                        changes.len()
                    );
                    self.run.events.notice(NoticeLevel::Info, told);
                }
                Err(problem) => {
                    let told = format!(
                        "this report does not contain the changes made before the interruption: {problem}"
                    );
                    self.run.events.notice(NoticeLevel::Warning, told);
                }
            },
        }
        let is_command = |line: &&Line| match &line.event {
            Event::Call(call) => call.outcome != Outcome::Refused && call.effects.command.is_some(),
            _ => false,
        };
        self.run.engine.guardrails.count_earlier_commands(resumed.past().filter(is_command).count());
    }

    /// A dry run has changed nothing, so the same calls do the same once more, in memory.
    async fn plan_again(&self, resumed: &Resumed) {
        let agent = &self.request.agent.name;
        let mut asked = std::collections::HashMap::new();
        let mut other = 0;
        self.run.events.mute(true);
        for line in resumed.past() {
            match &line.event {
                Event::Reply(reply) if reply.agent == *agent => {
                    asked.extend(reply.calls.iter().map(|call| (call.id.clone(), call.clone())));
                }
                Event::Call(call) if call.agent == *agent && call.outcome != Outcome::Refused => {
                    let Some(wanted) = asked.get(&call.id) else { continue };
                    let effects = self.run.engine.effects(wanted).unwrap_or_default();
                    // Others were asked once; a colleague's report is in the conversation.
                    if effects.remote.is_some() || wanted.name == "dispatch_subagent" {
                        continue;
                    }
                    let caller = Caller { agent, step: call.step, allowed: None, access: Access::Full };
                    let result = self.run.engine.call(caller, wanted).await;
                    other += usize::from(result.success != call.success);
                }
                _ => {}
            }
        }
        self.run.events.mute(false);
        if other > 0 {
            let told = format!(
                "{other} calls have different results than before the interruption; the checkout has changed"
            );
            self.run.events.notice(NoticeLevel::Warning, told);
        }
    }
}

/// Reason why it is not known what a run had changed.
#[derive(Debug, thiserror::Error)]
enum UnknownChanges {
    /// There is no commit to compare with.
    #[error("the checkout is not a Git repository")]
    NoRepository,
    /// Git could not compare.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// Files that differ from the commit, with what they were there.
fn changed_since_commit(repository: Option<&Repository>) -> Result<Vec<FileChange>, UnknownChanges> {
    let git = repository.ok_or(UnknownChanges::NoRepository)?;
    let names = git.not_in_index()?;
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let indexed = git.indexed(&known)?;
    let mut changes = Vec::new();
    for name in &names {
        let Ok(path) = WorkspacePath::parse(name) else { continue };
        let before = indexed.iter().find(|(indexed, ..)| indexed == name);
        let before =
            before.map(|(_, mode, content)| FileState { content: Arc::from(&content[..]), mode: *mode });
        // What stands there now is read when it is asked for.
        changes.push(FileChange { path, before, after: None });
    }
    Ok(changes)
}
