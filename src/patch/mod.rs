//! Unified diffs as models write them: parsed leniently, applied exactly, and explained when they do not
//! apply.
//!
//! Parsing is lenient where nothing can be misunderstood (wrong counts, a missing space on empty lines, no
//! headers, a code fence around the whole text) and strict where something could be: one file only, and only
//! the one that the call names.

mod apply;
mod parse;

pub use apply::{ApplyError, apply};
pub use parse::{Hunk, Line, ParseError, Patch, Side};
