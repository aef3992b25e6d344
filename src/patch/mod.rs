//! Unified diffs as models write them: read leniently, applied exactly, and explained when they fit nowhere.
//!
//! Reading is lenient where nothing can be misunderstood (counts that are off, a missing blank on empty
//! lines, no headers, a code fence around all of it) and strict where it could: one file, and only the
//! one that was named.

mod apply;
mod parse;

pub use apply::{ApplyError, apply};
pub use parse::{Hunk, Line, ParseError, Patch, Side};
