//! Git repository of the checkout: finds it, reads and verifies its objects, and runs the `git` program for
//! the rest.
//!
//! The repository is found once, before any code from the checkout runs, and held as a [`Repository`];
//! nothing looks for it again. Whatever can be read directly is read here, with each object verified by its
//! hash from the commit down, so that neither replaced nor rewritten objects are believed. Everything else is
//! done by the `git` program on a private repository of this program (`private`), which borrows only the
//! objects and the index of the checkout: the checkout's configuration, hooks, filters, and attributes are
//! never obeyed.

mod attributes;
mod commit;
mod find;
mod index;
mod objects;
mod private;
mod program;
mod refs;
mod remote;
mod settings;
mod withhold;
mod worktree;

pub use commit::Author;
pub use find::Repository;
pub use objects::{TreeEntry, TreeKind};
pub use remote::{Place, Push};

/// Reasons why a question to Git has no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// Failure to start the `git` program.
    #[error("git could not be started: {0}; install git or add it to PATH")]
    Start(#[from] std::io::Error),
    /// Unsuccessful exit of the `git` program.
    #[error("git {command}: {message}")]
    Failed {
        /// The Git sub-command, such as `fetch`.
        command: String,
        /// What the program printed on standard error.
        message: String,
    },
    /// A `.git` entry or repository of a kind that is not supported.
    #[error("{path} is no Git repository that can be used: {problem}")]
    Unusable {
        /// The folder or file that is at fault.
        path: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A repository folder that was replaced after it had been opened; holds its path.
    #[error("{0} is not the folder any more that it was when the run began; nothing is asked of it")]
    Replaced(String),
    /// An object that the clone lacks, by its id; most often because the clone is shallow.
    #[error("the clone does not hold the object {0}; give `actions/checkout` a greater `fetch-depth`")]
    Missing(String),
    /// An object whose content does not match its id, or cannot be parsed.
    #[error("the object {id} cannot be believed: {problem}; clone the repository anew")]
    Corrupt {
        /// The id of the object.
        id: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A symbolic link in a commit that leads out of the repository or in a circle.
    #[error("{path} is a link at the commit {commit} that leads out of the repository or in a circle")]
    Link {
        /// The path that was asked for.
        path: String,
        /// The commit in which it was looked up.
        commit: String,
    },
}
