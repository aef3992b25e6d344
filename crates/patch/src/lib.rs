//! Patches as models write them, unified diffs and the `*** Begin Patch` format: parsed leniently, applied exactly, and
//! explained when they do not apply.
//!
//! Parsing is lenient where nothing can be misunderstood (wrong counts, a missing space on empty lines, no
//! headers, a code fence around the whole text) and strict where something could be.

mod apply;
pub mod block;
mod envelope;
mod header;
mod hunk;
mod parse;
mod place;
pub mod search_replace;

pub use apply::{ApplyError, apply};
pub use hunk::{Hunk, HunkPosition, Line, Side};
pub use parse::{Effect, ParseError, Patch, Section, sections};
