//! Git repository of the checkout: finds it, reads and verifies its objects, and runs the `git` program for
//! the rest.
//!
//! The repository is found once, before any code from the checkout runs, and held as a [`Repository`];
//! nothing looks for it again. Whatever can be read directly is read here, with each object verified by its
//! hash from the commit down, so that neither replaced nor rewritten objects are trusted. Everything else is
//! done by the `git` program on a private repository of this program (`private`), which borrows only the
//! objects and the index of the checkout: the checkout's configuration, hooks, filters, and attributes are
//! never followed.

mod attributes;
mod clone;
mod commit;
mod cone;
mod configured_files;
mod earlier_changes;
mod find;
mod held;
mod history;
mod index;
mod objects;
mod private;
mod program;
mod recent_objects;
mod refs;
mod remote;
mod revision;
mod running_program;
mod settings;
mod settings_text;
mod shown;
mod withhold;
mod worktree;
mod worktree_records;
mod write_out;

pub use commit::Author;
pub use cone::Cone;
pub use earlier_changes::EarlierChange;
pub use find::Repository;
pub use index::LocalChanges;
pub use objects::{TreeEntry, TreeKind};
pub use program::CallLimit;
pub use remote::{Push, RemoteRepository};
pub use shown::{is_head, is_shown, looked_into};
pub(crate) use worktree::worktree_locks;
pub use write_out::WriteOutError;

/// Returns whether a text has the form of a full object id.
pub(crate) fn is_object_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|digit| digit.is_ascii_hexdigit())
}

/// Reasons why a question to Git has no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Failure to start the `git` program.
    #[error("could not start git: {0}; install git or add it to `PATH`")]
    Start(#[from] std::io::Error),
    /// Folder of a checkout that is not there or cannot be read.
    #[error("could not open the folder `{folder}`: {error}")]
    Folder {
        /// The folder, as it was given.
        folder: std::path::PathBuf,
        /// The reason.
        #[source]
        error: std::io::Error,
    },
    /// Unsuccessful exit of the `git` program.
    #[error("git {command}: {message}")]
    Failed {
        /// The Git sub-command, such as `fetch`.
        command: String,
        /// What the program printed on standard error.
        message: String,
    },
    /// Run of the `git` program that was ended before it was done; holds the sub-command.
    #[error("git {0} was ended, because the time was up or the run was interrupted")]
    Ended(String),
    /// Lock that could not be taken.
    #[error("could not lock {file}: {error}; end the process that keeps it, or try again later", file = .file.display())]
    Locked {
        /// The lock file.
        file: std::path::PathBuf,
        /// The reason.
        #[source]
        error: std::io::Error,
    },
    /// A `.git` entry or repository of a kind that is not supported.
    #[error("{path} is not a usable Git repository: {problem}")]
    Unusable {
        /// The folder or file that is at fault.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// Settings that are not known, though they may name what Git runs.
    #[error("could not read the settings in {file}: {problem}; repair this file, as Git needs it too", file = .file.display())]
    Settings {
        /// The file of settings.
        file: std::path::PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A repository folder that was replaced after it had been opened; holds its path.
    #[error("{0} was replaced by another folder during the run, so it is not used")]
    Replaced(String),
    /// An object that the clone lacks, by its id; most often because the clone is shallow.
    #[error("the clone does not contain the object {0}; set a greater `fetch-depth` for `actions/checkout`")]
    Missing(String),
    /// An object whose content does not match its id, or cannot be parsed.
    #[error("the object {id} is corrupt: {problem}; clone the repository again")]
    Corrupt {
        /// The id of the object.
        id: String,
        /// What is wrong with it.
        problem: String,
    },
    /// More than is read: a small repository can hold what would fill any memory, or take any time. Holds what it is.
    #[error(
        "{0}, which is more than this program reads; work on a clone with less history (`fetch-depth`), or clone again"
    )]
    TooLarge(String),
    /// A revision that names no commit of the clone.
    #[error(
        "`{0}` is not a commit of this clone; set a greater `fetch-depth` for `actions/checkout`, or fetch it"
    )]
    Revision(String),
    /// A symbolic link in a commit that leads out of the repository or in a circle.
    #[error("in the commit {commit}, {path} is a link that leads out of the repository or forms a loop")]
    Link {
        /// The path that was requested.
        path: String,
        /// The commit in which it was looked up.
        commit: String,
    },
}
