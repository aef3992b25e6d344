//! Reasons why a session cannot be found, resumed or sealed.

use std::path::PathBuf;

use crate::base::sealed_box::SealError;

/// Errors that can occur when looking up or resuming a session.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// No session has this id or folder.
    #[error("there is no session {0}; use one of `architect-ci sessions list`, or name its folder")]
    Unknown(String),
    /// A file that was named holds no session, or not any more.
    #[error(
        "{} is not a sealed session, or is damaged from its first bytes on; name the `session.sealed` of a run's output folder",
        .0.display()
    )]
    NotSealed(PathBuf),
    /// Several sessions have ids that begin like this.
    #[error("more than one session begins with {0}; use more of its id, or its folder")]
    Ambiguous(String),
    /// Another process is running the session.
    #[error("the session {0} is in use; wait until it ends")]
    Running(String),
    /// The session has succeeded, so there is nothing left to do.
    #[error("the session {0} succeeded, so there is nothing to resume")]
    Over(String),
    /// Another commit is checked out than the session began with.
    #[error("the checkout is at {now}, but the session began at {then}; check out that commit to resume")]
    Moved {
        /// The commit that is checked out.
        now: String,
        /// The commit that the session began with.
        then: String,
    },
    /// The session file or its transcript is not as our run left it: its seal is missing or does not match.
    #[error(
        "the session {0} was changed after this user's run wrote it (its seal in ~/.local/state/architect-ci \
         does not match or is missing); start the task again"
    )]
    Unsealed(String),
    /// A sealed session cannot be used.
    #[error("could not resume the sealed session {place}: {error}")]
    Sealed {
        /// Where it is.
        place: String,
        /// The reason.
        error: SealError,
    },
    /// No artifact holds a sealed session; holds what is known of the reason.
    #[error(
        "there is no artifact with a sealed session{0}; upload the output folder of the run with `if: always()`, under a name that begins with `architect-ci`"
    )]
    NoArtifact(&'static str),
    /// There is no repository on GitHub.
    #[error("artifacts require a repository on GitHub; set `GITHUB_REPOSITORY` and `GITHUB_TOKEN`")]
    NoGitHub,
    /// The session cannot be sealed for other machines.
    #[error("the session cannot be sealed for other machines: {0}")]
    Key(SealError),
    /// The changes that a session had made are not known.
    #[error(
        "the changes that the session {0} made are unknown (there is no log of them in ~/.local/state/architect-ci); start the task again"
    )]
    NoChanges(String),
    /// The output folder is that of another session.
    #[error("{} belongs to another session; set `out` to a different folder", .0.display())]
    Occupied(PathBuf),
    /// There is no state folder.
    #[error("there is no folder for session data; set `HOME`")]
    NoState,
    /// The state folder lies where commands of an agent can write.
    #[error(
        "files in {} are not trusted, because commands of an agent can write there; set \
         `XDG_STATE_HOME` to a folder outside of any checkout, and start the task again", .0.display()
    )]
    StateInCheckout(PathBuf),
    /// A session of this machine is to continue elsewhere.
    #[error(
        "the session {0} continues in its own checkout and output folder; leave out `--workspace` and `--out`"
    )]
    AtHome(String),
    /// A file of the session cannot be read.
    #[error("could not read {path}: {problem}")]
    Unreadable {
        /// The path of the file.
        path: PathBuf,
        /// The failure, in words.
        problem: String,
    },
    /// A file of the session cannot be written.
    #[error("could not write {path}: {problem}")]
    Unwritable {
        /// The path of the file.
        path: PathBuf,
        /// The failure, in words.
        problem: String,
    },
}
