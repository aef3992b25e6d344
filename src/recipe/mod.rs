//! Recipes: an ordered list of tool calls in place of a model. They go through the same pipeline as a model's
//! calls, so that plan, guardrails, hooks, gates and reports are the same; a recipe only decides what is
//! called.

mod arguments;
mod edit;
mod example;
mod file;
mod match_table;
mod passed_over;
mod player;
mod problem;
mod replacement;
mod select;

pub use example::{ExampleFault, ExampleResult, TestError};
pub use file::{MAX_RECIPE, Recipe};
pub use match_table::MatchTable;
pub use player::RecipePlayer;
pub use problem::RecipeError;
