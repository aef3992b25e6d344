//! Outlines of source files: no text makes them panic, hang or overflow the stack, and none is longer than it
//! may be.
#![no_main]

use libfuzzer_sys::fuzz_target;
use outline::{Language, Outline};

const NAMES: [&str; 8] = ["a.py", "a.rs", "a.js", "a.ts", "a.go", "a.java", "a.c", "a.cpp"];

fuzz_target!(|data: &[u8]| {
    let Some((first, text)) = data.split_first() else { return };
    let language = Language::of(NAMES[usize::from(*first) % NAMES.len()]).expect("a known language");
    if let Ok(outline) = Outline::of(&String::from_utf8_lossy(text), language) {
        assert!(outline.render().lines().count() <= 503);
    }
});
