//! Modules of this crate know those before them only, in the order that its documentation names them in.
#![expect(clippy::expect_used, reason = "what a test stands on has to be there")]

use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The modules, the lowest first: each may know those that stand before it, and no other.
const ORDER: [&str; 14] = [
    "finding",
    "files",
    "syntax",
    "assertion",
    "extract",
    "weaker",
    "matching",
    "compare",
    "lines",
    "settings",
    "snapshots",
    "changed",
    "changed_code",
    "mutation",
];

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the modules that the code of a module knows and that do not stand before it. A list after `crate::` counts as one, so that
/// each module that is known is named in a path of its own.
fn upwards(module: &str, text: &str) -> Vec<String> {
    let named = Regex::new(r"\bcrate::([a-z]\w*|\{)").expect("a pattern");
    let floor = |module: &str| ORDER.iter().position(|known| *known == module).unwrap_or(ORDER.len());
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let known = code.flat_map(|line| named.captures_iter(line)).map(|found| found[1].to_owned());
    known.filter(|known| known != module && floor(known) >= floor(module)).collect()
}

#[test]
fn modules_know_lower_ones_only() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for file in files(&src) {
        let path = file.strip_prefix(&src).expect("below src").with_extension("");
        let module = path.iter().next().and_then(|name| name.to_str()).expect("a name");
        if module != "lib" {
            assert!(ORDER.contains(&module), "`{module}` has no place in the order");
            let found = upwards(module, &fs::read_to_string(&file).expect("a file"));
            assert!(found.is_empty(), "{} knows what stands above it: {found:?}", path.display());
        }
    }
}

#[test]
fn an_arrow_upwards_is_found() {
    let text = "use crate::files::Role;\n// crate::compare\nuse crate::weaker::nearest;\n";
    assert_eq!(upwards("extract", text), ["weaker"]);
    assert!(upwards("matching", text).is_empty());
    assert_eq!(upwards("extract", "use crate::{Change, compare};\n"), ["{"]);
}
