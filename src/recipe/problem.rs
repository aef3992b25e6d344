//! Mistakes in recipes, and what to do about them.

use manifest::InvalidManifestRule;
use rewrite::InvalidRule;
use workspace::{InvalidGlob, PathError, WorkspacePath};

use super::replacement::meant;
use crate::base::command_template::MisplacedPlaceholder;
use crate::config::ConfigError;

/// Reason why a recipe cannot be followed.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// The file is not valid YAML of a recipe.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// A step is not valid.
    #[error("{file}: {place}: {problem}")]
    Step {
        /// Name of the file.
        file: String,
        /// Position in the file, such as `steps[0].do[1]`.
        place: String,
        /// What is wrong, and what to do.
        #[source]
        problem: Problem,
    },
}

/// What is wrong with a step of a recipe.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The recipe does nothing.
    #[error("there are no steps")]
    NoSteps,
    /// The step does nothing.
    #[error("`do` is empty")]
    NoActions,
    /// A pattern of files cannot be parsed.
    #[error(transparent)]
    Glob(#[from] InvalidGlob),
    /// A placeholder stands where the name of a file would be more than a word of a command.
    #[error(transparent)]
    Misplaced(#[from] MisplacedPlaceholder),
    /// The lines to look for are not a regular expression.
    #[error("invalid regular expression in `containing`")]
    Containing(#[source] Box<grep_regex::Error>),
    /// The text to replace is not a regular expression.
    #[error("invalid regular expression in `replace.pattern`")]
    Replace(#[from] regex::Error),
    /// The replacement names a group that the pattern does not have.
    #[error("`replace.with` names the group `{}`, which the pattern does not have; {}", .0, meant(.0))]
    UnknownGroup(String),
    /// The structural rule is not valid.
    #[error("invalid `rewrite`")]
    Rewrite(#[source] Box<InvalidRule>),
    /// The edit of a manifest is not valid.
    #[error("invalid `manifest`")]
    Manifest(#[source] Box<InvalidManifestRule>),
    /// A structural rule that changes nothing.
    #[error("`rewrite` requires `fix`, which replaces a match")]
    NoFix,
    /// A condition on files that a step without files has.
    #[error("`unless` requires `files` or `containing`")]
    UnlessAlone,
    /// A condition that is no rule.
    #[error("invalid `unless`")]
    Unless(#[source] Box<InvalidRule>),
    /// A condition that would change something.
    #[error("`unless` has a `fix`; it only says which files are skipped")]
    UnlessFix,
    /// Two examples of one name, which reports could not tell apart.
    #[error("two tests are called {0:?}")]
    SameName(String),
    /// An example starts with nothing.
    #[error("`before` is empty; give the test at least one file")]
    NoFilesBefore,
    /// A path is that of a file, and that of a folder with another one.
    #[error("{0} is both a file and a folder in `before`")]
    FileAndFolder(String),
    /// The path of an example's file is none.
    #[error(transparent)]
    Path(#[from] PathError),
    /// An example's file that no recipe sees.
    #[error("{0} is in a `.git` folder, which recipes do not see")]
    GitFolder(WorkspacePath),
    /// Files are excluded from nothing.
    #[error("`exclude` requires `files` or `containing`")]
    ExcludeAlone,
    /// No run has such a tool.
    #[error("unknown tool `{name}`{}", nearest.as_ref().map_or_else(String::new, |near| format!("; did you mean `{near}`?")))]
    UnknownTool {
        /// The name.
        name: String,
        /// The tool whose name is most similar.
        nearest: Option<String>,
    },
    /// Arguments without a tool.
    #[error("`with` is only allowed with `tool`")]
    WithAlone,
    /// A replacement in no file.
    #[error("`replace`, `rewrite` and `manifest` work on the files of their step; give the step `files`")]
    NoFiles,
    /// No action, or two at once.
    #[error("set exactly one of `tool`, `replace`, `rewrite` and `manifest`")]
    OneOf,
}
