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
    #[error("could not start git: {0}; install git or add it to `PATH`")]
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
    #[error("{path} is not a usable Git repository: {problem}")]
    Unusable {
        /// The folder or file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// Something else stands where the repository was.
    #[error("{0} was replaced by another folder during the run, so it is not used")]
    Replaced(String),
    /// The clone lacks an object.
    #[error("the clone does not contain the object {0}; set a greater `fetch-depth` for `actions/checkout`")]
    Missing(String),
    /// An object is not what its name says.
    #[error("the object {id} is corrupt: {problem}; clone the repository again")]
    Corrupt {
        /// Its id.
        id: String,
        /// What is wrong.
        problem: String,
    },
    /// A link of a commit leads nowhere that may be read.
    #[error("in the commit {commit}, {path} is a link that leads out of the repository or forms a loop")]
    Link {
        /// The file.
        path: String,
        /// The commit.
        commit: String,
    },
}
