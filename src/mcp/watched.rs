//! Checkout on which servers work: what a call changes is judged like the changes of a command, and kept as a whole or
//! not at all.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::Mutex;
use workspace::{
    ChangeSet, Checks, Damage, FileError, Judge, LateChanges, Mirror, SettledChanges, TrackedWorkspace,
};

use crate::base::blocking::elsewhere;
use crate::event::{Events, NoticeLevel};
use crate::plan::{link_outside, outside};
use crate::tool::ToolResult;

/// The checkout of a run that changes it, and who judges what others change.
pub struct WatchedCheckout {
    tracked: Arc<TrackedWorkspace>,
    judge: Judge,
    /// Folders that this program writes to.
    own: Vec<PathBuf>,
    /// The copy of the checkout, made before a server starts. The call that is watched holds the lock, because the
    /// changes of two calls at once could not be distinguished.
    mirror: Mutex<Option<Arc<Mirror>>>,
}

impl WatchedCheckout {
    /// Creates it; nothing is copied yet. Changes below `own`, the folders that this program writes to, are nobody
    /// else's.
    pub fn new(tracked: Arc<TrackedWorkspace>, judge: Judge, own: Vec<PathBuf>) -> Self {
        let root = tracked.path().to_owned();
        let judge: Judge = Arc::new(move |proposed| {
            let changes = ChangeSet::new(proposed.changes.to_vec());
            match link_outside(&root, &changes).map_err(|error| vec![error.to_string()])? {
                Some(link) => Err(vec![outside(&link)]),
                None => judge(proposed),
            }
        });
        Self { tracked, judge, own, mirror: Mutex::default() }
    }

    /// Copies the checkout to a folder in `temp`.
    pub(super) async fn watch(&self, temp: &Path) -> io::Result<()> {
        let (tracked, temp, own) = (Arc::clone(&self.tracked), temp.to_owned(), self.own.clone());
        let mirror = elsewhere(move || Mirror::new(tracked, &temp, &own)).await?;
        *self.mirror.lock().await = Some(Arc::new(mirror));
        Ok(())
    }

    /// Makes a call, and settles what it changed.
    pub(super) async fn call(&self, call: impl Future<Output = ToolResult>) -> ToolResult {
        let held = self.mirror.lock().await;
        let Some(mirror) = held.as_ref() else {
            return ToolResult::failed("changes of the server could not be detected, so it is not called");
        };
        if let Some(damage) = mirror.damage() {
            return ToolResult::failed(format!("no further server is called: {damage}"));
        }
        let before = {
            let mirror = Arc::clone(mirror);
            elsewhere(move || mirror.before()).await
        };
        let before = match before {
            Ok(before) => before,
            Err(error) => return ToolResult::failed(not_inspected(&error)),
        };
        let mut result = call.await;
        let (mirror, judge) = (Arc::clone(mirror), Arc::clone(&self.judge));
        let SettledChanges { changes, large, dropped, warnings, refused } =
            elsewhere(move || mirror.settle(&before, &judge)).await;
        result.note_changes(changes, &large, dropped, &warnings);
        result.refused = refused;
        result
    }

    /// Settles what servers have changed outside of all calls, and reports it. The error says what could not be put back.
    pub(super) async fn settle_late(&self, events: &Events, checks: Checks) -> Result<(), Damage> {
        let held = self.mirror.lock().await;
        let Some(mirror) = held.as_ref() else { return Ok(()) };
        let (settling, judge) = (Arc::clone(mirror), Arc::clone(&self.judge));
        let settled = elsewhere(move || settling.settle_late(&judge, checks)).await;
        let joined = |paths: Vec<String>| paths.join(", ");
        match settled {
            Ok(LateChanges { kept, restored }) => {
                if !kept.is_empty() {
                    let kept = joined(kept.iter().map(ToString::to_string).collect());
                    let message = format!("after its answer, an MCP server changed files: {kept}");
                    events.notice(NoticeLevel::Warning, message);
                }
                if !restored.is_empty() {
                    let restored = joined(restored.into_iter().collect());
                    let message = match checks {
                        Checks::Pending => format!(
                            "after its answer, an MCP server changed files that were then restored: {restored}"
                        ),
                        Checks::Done => format!(
                            "after the quality gates had begun, an MCP server changed files that were then \
                             restored: {restored}"
                        ),
                    };
                    events.notice(NoticeLevel::Error, message);
                }
                mirror.damage().map_or(Ok(()), |damage| Err(damage.clone()))
            }
            Err(damage) => Err(damage),
        }
    }
}

fn not_inspected(error: &FileError) -> String {
    format!("could not inspect the checkout, so the server is not called: {error}")
}
