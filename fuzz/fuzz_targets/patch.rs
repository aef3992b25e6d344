//! The patch parser: no text makes it panic, and what applies gives a text that is made of the file's
//! lines and the patch's.
#![no_main]

use patch::{Applied, Patch, apply};
use workspace::WorkspacePath;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: (&str, &str)| {
    let (content, text) = data;
    let Ok(path) = WorkspacePath::parse("a.txt") else { return };
    let Ok(patch) = Patch::parse(text, &path) else { return };
    if let Ok(Applied { content: patched, .. }) = apply(content, &patch) {
        // Lines may be indented like those that they replace.
        let known = |line: &str| content.contains(line.trim()) || text.contains(line.trim());
        assert!(patched.lines().all(known), "a line out of nowhere: {patched:?}");
    }
});
