//! Patches as models write them, unified diffs and the `*** Begin Patch` format: parsed leniently, applied exactly, and
//! explained when they do not apply.
//!
//! Parsing is lenient where nothing can be misunderstood (wrong counts, a missing space on empty lines, no
//! headers, a code fence around the whole text) and strict where something could be.
//!
//! ```
//! use patch::{apply, sections};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // No line numbers, and a blank too many at the end of a line: there is only one place that can be meant.
//! let text = "--- a/greet.py\n+++ b/greet.py\n@@\n def greet(): \n-    print('hi')\n+    print('hello')\n";
//! let sections = sections(text)?;
//! assert_eq!(sections[0].paths(&|_| true)?.map(|named| named.file), Some("greet.py".to_owned()));
//! let patched = apply("import os\n\ndef greet():\n    print('hi')\n", &sections[0].patch)?;
//! assert_eq!(patched.content, "import os\n\ndef greet():\n    print('hello')\n");
//!
//! let error = apply("def greet():\n    print('bye')\n", &sections[0].patch).unwrap_err();
//! assert!(error.to_string().contains("hunk 1 of 1 does not apply"));
//! # Ok(())
//! # }
//! ```

mod anchors;
mod apply;
pub mod block;
mod envelope;
mod fence;
mod header;
mod hunk;
mod image;
mod line_search;
mod parse;
mod place;
pub mod search_replace;

pub use apply::{Applied, ApplyError, apply, has_crlf_alone};
pub use envelope::lacks_end;
pub use header::Named;
pub use hunk::{Hunk, HunkPosition, Line, Side};
pub use parse::{Effect, ParseError, Patch, Section, sections};
