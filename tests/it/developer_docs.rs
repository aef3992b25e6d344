//! Names in the documents for developers exist.

use std::path::Path;

use regex::Regex;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the paths of the repository that a text names in backticks, and at the start of a line of a code block.
fn named_paths(text: &str) -> Vec<String> {
    let quoted = Regex::new(r"`([A-Za-z_.][\w./*-]*)`").expect("a pattern");
    let listed = Regex::new(r"(?m)^((?:src|crates)/[\w./-]*)").expect("a pattern");
    let roots = ["src/", "crates/", "tests/", "docs/", "samples/", "fuzz/", "benches/", ".ci/", ".github/"];
    let is_path = |word: &str| roots.iter().any(|root| word.starts_with(root)) && !word.contains('*');
    let files = Regex::new(r"^[\w-]+\.(?:rs|md|yml|toml|sh|py)$").expect("a pattern");
    let quoted = quoted.captures_iter(text).map(|found| found[1].to_owned());
    let quoted = quoted.filter(|word| is_path(word) || files.is_match(word) && root().join(word).exists());
    quoted.chain(listed.captures_iter(text).map(|found| found[1].to_owned())).collect()
}

#[test]
fn paths_in_developer_documents_exist() {
    let mut missing = Vec::new();
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md", "STYLE.md"] {
        let text = std::fs::read_to_string(root().join(document)).expect("a document");
        let paths = named_paths(&text);
        assert!(document == "STYLE.md" || paths.len() > 10, "{document} names paths: {paths:?}");
        missing.extend(
            paths
                .into_iter()
                .filter(|path| !root().join(path).exists())
                .map(|path| format!("{document}: {path}")),
        );
    }
    assert!(missing.is_empty(), "these paths do not exist: {missing:#?}");
}

#[test]
fn picture_of_the_layers_names_every_module_and_crate() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let picture = text.split("\n```\n").nth(1).expect("a picture");
    let words: Vec<&str> = picture.split_whitespace().collect();
    for folder in ["src", "crates"] {
        for entry in std::fs::read_dir(root().join(folder)).expect("a folder").flatten() {
            let name = entry.file_name().into_string().expect("a name");
            let is_named = words.contains(&name.as_str());
            assert!(
                is_named || Path::new(&name).extension().is_some_and(|extension| extension == "rs"),
                "the picture in ARCHITECTURE.md lacks {folder}/{name}"
            );
        }
    }
}

#[test]
fn paths_are_found_in_text_and_lists() {
    let text = "See `src/no.rs`, `tests/cases/*.yml`, `Registry::new` and `cargo test`.\n```\nsrc/gone/   what\n  crates/x\n```\n";
    assert_eq!(named_paths(text), ["src/no.rs", "src/gone/"]);
}
