//! The repository of the checkout, and the few things that Git is asked for.
//!
//! The repository is found once, before anything of the checkout runs, and held as a [`Repository`]: nothing
//! looks for it again. What can be read is read here, each object verified by its hash from the commit down, so
//! that neither replaced nor rewritten objects have a say. For the rest the `git` program runs on a private
//! repository of ours (`private`) that borrows nothing from the checkout but its objects and its index: no
//! configuration, hooks, filters or attributes of the checkout's are ever obeyed.

mod attributes;
mod commit;
mod find;
mod history;
mod index;
mod objects;
mod private;
mod program;
mod refs;
mod remote;
mod settings;
mod withhold;
mod worktree;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use commit::Author;
pub use find::Repository;
pub use objects::{TreeEntry, TreeKind};
pub use remote::{Place, Push};

/// The commit that a plan stands on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Base {
    /// The full commit id.
    pub commit: String,
    /// The branch, or `None` when detached.
    pub branch: Option<String>,
    /// Whether tracked files differed from the commit before the run.
    pub dirty: bool,
}

/// Why Git gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program could not be started.
    #[error("git could not be started: {0}; install git or add it to PATH")]
    Start(#[from] std::io::Error),
    /// It ended with an error.
    #[error("git {command}: {message}")]
    Failed {
        /// The sub-command.
        command: String,
        /// What it printed on standard error.
        message: String,
    },
    /// The repository is not one that can be used.
    #[error("{path} is no Git repository that can be used: {problem}")]
    Unusable {
        /// The folder or file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// Something else stands where the repository was.
    #[error("{0} is not the folder any more that it was when the run began; nothing is asked of it")]
    Replaced(String),
    /// The clone lacks an object.
    #[error("the clone does not hold the object {0}; give `actions/checkout` a greater `fetch-depth`")]
    Missing(String),
    /// An object is not what its name says.
    #[error("the object {id} cannot be believed: {problem}; clone the repository anew")]
    Corrupt {
        /// Its id.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// A link of a commit leads nowhere that may be read.
    #[error("{path} is a link at the commit {commit} that leads out of the repository or in a circle")]
    Link {
        /// The file.
        path: String,
        /// The commit.
        commit: String,
    },
}
