//! One file of a plan: how its content and its mode change.
//!
//! A change of the content alone leaves the mode as it is found, even if somebody has changed that since. Where the plan changes the
//! mode, the file must have the mode that the plan found.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workspace::{FileChange, FileDiff, FileState, LineCounts, Mode, Operation, WorkspacePath};

use super::patch_text::PatchText;

/// How a planned file's new content is given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Contents {
    /// A patch in Git's format, against the content whose hash is `before_sha256`.
    Patch(PatchText),
    /// The whole content, where a patch would not be text or the kind of file changes.
    Base64(String),
}

/// One file of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PlanFile {
    /// The file, relative to the workspace.
    pub path: WorkspacePath,
    /// What happens to it.
    pub op: Operation,
    /// Its Git mode afterwards (of a deleted file, before).
    pub mode: Mode,
    /// Its Git mode before, where the whole content replaces a file; a patch tells it by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_mode: Option<Mode>,
    /// SHA-256 of the content that the plan is based on, in hexadecimal; `null` where there is no file.
    pub before_sha256: Option<String>,
    /// SHA-256 of the content that the plan leads to, in hexadecimal; `null` for a deleted file.
    pub after_sha256: Option<String>,
    /// The new content.
    #[serde(flatten)]
    pub contents: Contents,
    /// Lines added and removed.
    #[serde(default)]
    pub lines: LineCounts,
}

impl PlanFile {
    /// Plans the change of a file.
    pub fn new(change: &FileChange) -> Self {
        let found = FileDiff::of(change);
        Self::of(&found, || PatchText::new(found.git_patch("")))
    }

    /// Plans the change of a file; `patch` returns the patch that makes it, if that is text.
    pub(crate) fn of(found: &FileDiff<'_>, patch: impl FnOnce() -> Option<PatchText>) -> Self {
        let change = found.change();
        let hash = |state: &Option<FileState>| state.as_ref().map(FileState::sha256);
        let whole = || {
            Contents::Base64(STANDARD.encode(change.after.as_ref().map_or(&[][..], |state| &state.content)))
        };
        let is_link =
            |state: &Option<FileState>| state.as_ref().is_some_and(|state| state.mode == Mode::Link);
        // A patch needs text before and after.
        let has_patch = !found.is_binary() && is_link(&change.before) == is_link(&change.after);
        let patch = has_patch.then(patch).flatten();
        let contents = patch.map_or_else(whole, Contents::Patch);
        Self {
            path: change.path.clone(),
            op: change.operation(),
            mode: change.mode(),
            before_mode: change.before.as_ref().map(|before| before.mode).filter(|_| {
                change.operation() == Operation::Modify && matches!(contents, Contents::Base64(_))
            }),
            before_sha256: hash(&change.before),
            after_sha256: hash(&change.after),
            contents,
            lines: found.line_counts(),
        }
    }
}

/// Error for a file whose content is not what the plan promises.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the result for {0} does not match the plan; it was edited or damaged, so make a new plan")]
pub struct Damaged(pub WorkspacePath);

impl PlanFile {
    /// Returns the state of the file after the plan, computed from the one before; `None` for a deleted file.
    pub fn after(&self, before: Option<&FileState>) -> Result<Option<FileState>, Damaged> {
        let damaged = || Damaged(self.path.clone());
        if self.op == Operation::Delete {
            return if self.after_sha256.is_none() { Ok(None) } else { Err(damaged()) };
        }
        let content = match &self.contents {
            Contents::Base64(text) => STANDARD.decode(text).map_err(|_| damaged())?,
            Contents::Patch(patch) => {
                let before = before.map_or(&[][..], |state| &state.content);
                patched(before, &patch.text()).ok_or_else(damaged)?
            }
        };
        // What somebody else has made of the mode is not the plan's to undo.
        let mode = before.filter(|_| self.keeps_mode()).map_or(self.mode, |before| before.mode);
        let state = FileState { content: content.into(), mode };
        if Some(state.sha256()) == self.after_sha256 { Ok(Some(state)) } else { Err(damaged()) }
    }

    /// Returns `true` if a file is as the plan found it. Its mode counts where the plan changes the mode or deletes the file; otherwise
    /// only whether it is a link.
    pub fn is_before(&self, now: Option<&FileState>) -> bool {
        let is_expected = |mode: Mode| match self.mode_before() {
            Some(before) if before != self.mode => mode == before,
            Some(before) => is_same_kind(mode, before),
            // A mode that others have given it since would be lost. Other systems have none.
            None if cfg!(unix) => self.op != Operation::Delete || mode == self.mode,
            None => self.op != Operation::Delete || is_same_kind(mode, self.mode),
        };
        self.has_content_before(now) && now.is_none_or(|now| is_expected(now.mode))
    }

    /// Returns `true` if a file is as the plan leaves it.
    pub fn is_after(&self, now: Option<&FileState>) -> bool {
        let is_expected =
            |mode: Mode| mode == self.mode || self.keeps_mode() && is_same_kind(mode, self.mode);
        now.map(FileState::sha256) == self.after_sha256 && now.is_none_or(|now| is_expected(now.mode))
    }

    /// Returns `true` if a file has the content that the plan found.
    pub(super) fn has_content_before(&self, now: Option<&FileState>) -> bool {
        now.map(FileState::sha256) == self.before_sha256
    }

    /// Returns the mode of a modified file as the plan found it. It is not known of plans without `before_mode` that replace
    /// the whole content.
    pub(crate) fn mode_before(&self) -> Option<Mode> {
        if self.op != Operation::Modify {
            return None;
        }
        self.before_mode.or_else(|| match &self.contents {
            Contents::Patch(patch) => Some(old_mode(&patch.text()).unwrap_or(self.mode)),
            Contents::Base64(_) => None,
        })
    }

    /// Returns `true` if the plan changes only the content of a file.
    fn keeps_mode(&self) -> bool {
        self.mode_before() == Some(self.mode)
    }
}

/// Returns `true` if both modes are of files, or both of links.
fn is_same_kind(one: Mode, other: Mode) -> bool {
    (one == Mode::Link) == (other == Mode::Link)
}

/// Returns the mode that a patch in Git's format changes.
fn old_mode(patch: &str) -> Option<Mode> {
    let mut head = patch.lines().take_while(|line| !line.starts_with("@@ "));
    let mode = head.find_map(|line| line.strip_prefix("old mode "))?;
    [Mode::Regular, Mode::Executable, Mode::Link].into_iter().find(|known| known.to_string() == mode)
}

/// Applies the hunks of a patch in Git's format; a patch without hunks changes nothing.
fn patched(before: &[u8], patch: &str) -> Option<Vec<u8>> {
    let hunks = match patch.find("\n@@ ") {
        Some(at) => &patch[at + 1..],
        None => return Some(before.to_vec()),
    };
    let text = format!("--- before\n+++ after\n{hunks}");
    let patch = diffy::Patch::from_bytes(text.as_bytes()).ok()?;
    diffy::apply_bytes(before, &patch).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(content: &str, mode: Mode) -> FileState {
        FileState { content: content.as_bytes().into(), mode }
    }

    fn file(before: &FileState, after: Option<&FileState>) -> PlanFile {
        let path = WorkspacePath::parse("run.sh").expect("a plain path");
        PlanFile::new(&FileChange::new(path, Some(before.clone()), after.cloned()).expect("a change"))
    }

    #[test]
    fn modes_of_others_are_kept_or_refused() {
        use Mode::{Executable as X, Link as L, Regular as R};
        // Contents and modes before and after, the mode that is found, and the one that results.
        for (before, after, found, result) in [
            (("a\n", R), Some(("b\n", R)), R, Some(R)),
            (("a\n", R), Some(("b\n", R)), X, Some(X)),
            (("a\n", X), Some(("b\n", X)), R, Some(R)),
            (("a\n", R), Some(("b\n", R)), L, None),
            (("a\n", R), Some(("a\n", X)), R, Some(X)),
            (("a\n", X), Some(("b\n", R)), X, Some(R)),
            (("a\n", X), Some(("b\n", R)), R, None),
            (("a\0", R), Some(("b\0", R)), R, Some(R)),
            (("a\0", R), Some(("b\0", R)), X, Some(X)),
            (("a\0", R), Some(("b\0", X)), R, Some(X)),
            (("a\0", R), Some(("b\0", X)), X, None),
            (("a", L), Some(("b\n", R)), L, Some(R)),
            (("a", L), Some(("b\n", R)), X, None),
            (("a\n", R), None, R, Some(R)),
            (("a\n", R), None, X, None),
            (("a\n", R), None, L, None),
        ] {
            let states = (state(before.0, before.1), after.map(|after| state(after.0, after.1)));
            let planned = file(&states.0, states.1.as_ref());
            let now = state(before.0, found);
            let what = format!("{before:?} {after:?} {found:?}");
            assert_eq!(planned.is_before(Some(&now)), result.is_some(), "{what}");
            if let (Some(mode), Some(after)) = (result, &states.1) {
                let made = planned.after(Some(&now)).expect("a result").expect("a file");
                assert_eq!((&made.content, made.mode), (&after.content, mode), "{what}");
                assert!(planned.is_after(Some(&made)), "{what}");
            }
        }
    }

    #[test]
    fn plans_without_the_mode_before_apply_as_they_did() {
        use Mode::{Executable, Regular};
        let whole = file(&state("a\0", Regular), Some(&state("b\0", Executable)));
        assert_eq!(whole.before_mode, Some(Regular));
        let text = serde_json::to_value(&whole).expect("a file is JSON");
        let mut older = text.clone();
        older.as_object_mut().expect("an object").remove("before_mode");
        let read: PlanFile = serde_json::from_value(older.clone()).expect("and reads back");
        assert_eq!(serde_json::to_value(&read).expect("JSON"), older, "its digest is the same");
        for mode in [Regular, Executable] {
            let now = state("a\0", mode);
            assert!(read.is_before(Some(&now)));
            assert_eq!(read.after(Some(&now)).expect("a result").map(|state| state.mode), Some(Executable));
        }
        // A patch has always told it.
        let patch = file(&state("a\n", Regular), Some(&state("b\n", Executable)));
        assert_eq!((patch.before_mode, patch.mode_before()), (None, Some(Regular)));
    }
}
