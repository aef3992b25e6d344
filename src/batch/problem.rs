//! Problems of a batch as it is written.

use workspace::{InvalidGlob, PathError};

use crate::base::command_template::MisplacedPlaceholder;
use crate::command::Ended;

/// Most tasks of one batch.
pub(super) const MAX_TASKS: usize = 100_000;

/// Reason why a command gives no values.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LinesError {
    /// It prints too much.
    #[error("`{0}` prints more than 32 MiB; print fewer lines, or divide the batch")]
    TooLong(String),
    /// It takes too long.
    #[error(
        "`{command}` did not end within {minutes} minutes; let an earlier step write the lines to a file, and print that"
    )]
    TooSlow {
        /// The command.
        command: String,
        /// How long it may take.
        minutes: u64,
    },
    /// It did not end with success.
    #[error("`{command}` failed ({ended:?}): {stderr}")]
    Failed {
        /// The command.
        command: String,
        /// How it ended.
        ended: Ended,
        /// What it printed as an error.
        stderr: String,
    },
}

/// What is wrong with a part of a batch file, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The batch has no name that folders and comments could have.
    #[error("it must contain a letter or a digit")]
    Name,
    /// The defaults say what only a task can.
    #[error("`id`, `for_each`, `task` and `task_file` are only allowed in tasks")]
    OnlyInTasks,
    /// A task has no id.
    #[error("`id` is missing")]
    NoId,
    /// A task has two texts.
    #[error("both `task` and `task_file` are set; remove one of them")]
    TwoTexts,
    /// A task does nothing.
    #[error("nothing to do; set `task`, `task_file` or `recipe`")]
    Nothing,
    /// A task is done by two at once.
    #[error("both `recipe` and `model` are set; remove one of them, because a recipe replaces the model")]
    RecipeAndModel,
    /// Ids that would be the same.
    #[error("`id` does not contain `{{{0}}}`, so several tasks would have the same id")]
    SameIds(String),
    /// A placeholder without values.
    #[error(
        "unknown placeholder `{{{0}}}`; define it in `for_each`, or write `{{{{{0}}}}}` for the literal text"
    )]
    UnknownPlaceholder(String),
    /// A placeholder that stands where its value would be more than a word of a command.
    #[error(transparent)]
    Misplaced(#[from] MisplacedPlaceholder),
    /// A placeholder with a name of the wrong form.
    #[error("invalid placeholder; use a lower-case letter followed by letters, digits and `_`")]
    InvalidPlaceholder,
    /// Values that come from nowhere, or from two places.
    #[error("set exactly one of `values`, `files`, `folders_with` and `lines`")]
    OneSource,
    /// A pattern of files cannot be parsed.
    #[error(transparent)]
    Glob(#[from] InvalidGlob),
    /// The command whose lines are values failed.
    #[error(transparent)]
    Lines(Box<LinesError>),
    /// A value that no path and no command line can hold.
    #[error("a value contains a NUL character")]
    Nul,
    /// More combinations of values than a batch has tasks.
    #[error("the combinations make more than {MAX_TASKS} tasks")]
    TooManyCombinations,
    /// More tasks than a batch has.
    #[error("there are more than {MAX_TASKS} tasks")]
    TooManyTasks,
    /// A folder that is not in the checkout.
    #[error("folder {folder:?}: {error}")]
    Folder {
        /// The folder, with its values.
        folder: String,
        /// The reason.
        error: PathError,
    },
    /// An id of which the values leave nothing.
    #[error("its `id` is empty with the values {0}")]
    EmptyId(String),
    /// Two tasks of one id.
    #[error("two tasks have the id {0}; add the placeholder that distinguishes them to `id`")]
    DuplicateId(String),
}
