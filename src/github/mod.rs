//! GitHub as an environment that a run starts from and as a place where its report goes.
//! The agent never sees any of it.

mod comment;
mod contents;
mod environment;
mod output;

pub use comment::{CommentError, post_comment};
pub use contents::file_at;
pub use environment::{About, Environment, EnvironmentError, Subject};
pub use output::{append_summary, write_outputs};
