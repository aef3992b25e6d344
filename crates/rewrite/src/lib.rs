//! Structural search and rewriting: rules find syntax nodes by patterns, and say what stands in their place.
//!
//! Rules have the syntax of ast-grep, whose libraries do the matching. What this crate adds is what an unattended run
//! needs: limits of time, size and depth, since files are anybody's; matches inside of matches; imports; and the
//! certainty that a file which could be parsed before can be parsed afterwards.
//!
//! ```
//! use rewrite::{Language, Rewrite, RewriteRule};
//!
//! let rule: RewriteRule = serde_yaml::from_str(
//!     "rule: { pattern: datetime.utcnow() }\n\
//!      fix: datetime.now(UTC)\n\
//!      imports: { add: [from datetime import UTC] }\n",
//! )?;
//! let rewrite = Rewrite::new(&rule)?;
//! let result = rewrite.apply(Language::Python, "from datetime import datetime\nnow = datetime.utcnow()\n")?;
//! assert_eq!(result.text, "from datetime import datetime, UTC\nnow = datetime.now(UTC)\n");
//! assert_eq!((result.matches[0].line, result.matches[0].column), (2, 7));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod edits;
mod expressions;
mod faults;
mod imports;
mod language;
mod layout;
mod matching;
mod parsed;
mod placement;
mod rule;
mod source;
mod surroundings;
mod whole;

pub use grammar::Language;
pub use matching::{Match, Rewritten};
pub use rule::{Imports, InvalidRule, Rewrite, RewriteRule};

/// Reason why a file cannot be searched or rewritten.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The rule does not exist in the file's language.
    #[error("the rule does not apply to {0:?}: its pattern or a node kind is not known in this language")]
    OtherLanguage(Language),
    /// The file is above [`MAX_BYTES`].
    #[error("the file has {0} bytes; the limit is {MAX_BYTES}")]
    TooLarge(usize),
    /// Parsing took longer than [`MAX_TIME`].
    #[error("the file takes too long to parse")]
    TooSlow,
    /// Matching was stopped.
    #[error("the file was not searched to its end")]
    Stopped,
    /// The syntax tree is deeper than [`MAX_DEPTH`].
    #[error("the file is nested too deeply")]
    TooDeep,
    /// The result has a syntax error, which the file did not have.
    #[error("the result would no longer parse, from line {line}: `{text}`; nothing was changed")]
    Broken {
        /// Line of the result, from 1.
        line: usize,
        /// That line.
        text: String,
    },
    /// The file has another meaning for a name of an import that the rule adds.
    #[error("line {line} of the result gives `{name}` another meaning than `{import}`; nothing was changed")]
    NameTaken {
        /// The name.
        name: String,
        /// The import.
        import: String,
        /// Line of the result with the other meaning, from 1.
        line: usize,
    },
    /// A module within a file of Rust does not have an import that the rule adds to the file.
    #[error(
        "line {line} of the result is in a module that does not have `{import}`; write `use super::*` there; nothing was changed"
    )]
    NotInModule {
        /// The import.
        import: String,
        /// Line of the result that needs it, from 1.
        line: usize,
    },
    /// The file is a CommonJS module, which has no `import` statements.
    #[error(
        "`{0}` cannot be added, because the file is a CommonJS module (`module.exports`, `require`); nothing was changed"
    )]
    CommonJs(String),
    /// An import to add or remove is no import of the file's language.
    #[error("`{0}` is not an import of {1:?}")]
    NoImport(String, Language),
}

/// Maximum size of a file, in bytes.
pub const MAX_BYTES: usize = 4 * 1024 * 1024;

/// Maximum time that parsing a file may take.
pub const MAX_TIME: std::time::Duration = std::time::Duration::from_secs(5);

/// Maximum depth of a syntax tree: matching follows it recursively.
pub const MAX_DEPTH: usize = 2_000;

/// Returns the line end of a text.
fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}
