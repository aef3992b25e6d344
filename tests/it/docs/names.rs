//! Pages, links, messages, tests and folders that documents name exist.

use std::path::Path;

use super::{documents, read, root};
use regex::Regex;

#[test]
fn docs_book_lists_every_page() {
    let summary = read("docs/SUMMARY.md");
    for (path, _) in documents() {
        let Ok(name) = path.strip_prefix(root().join("docs")) else { continue };
        let name = name.to_str().unwrap();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("]({name})")), "{name} is not in the book");
    }
}

#[test]
fn docs_troubleshooting_quotes_real_messages() {
    let mut sources = String::new();
    let mut folders = vec![root().join("src"), root().join("crates"), root().join(".github/scripts")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path());
            } else {
                sources += &std::fs::read_to_string(entry.path()).unwrap_or_default();
            }
        }
    }
    // Messages are broken over lines in the source.
    let sources = Regex::new(r"\\\n\s*").unwrap().replace_all(&sources, "").into_owned();
    let row = Regex::new(r"(?m)^\| `([^`]+)` \|").unwrap();
    let text = read("docs/troubleshooting.md");
    let (mut count, mut unknown) = (0, Vec::new());
    for found in row.captures_iter(&text) {
        // What is filled in is not in the source.
        let message = found[1].replace("'dangerous'", "'{class}'");
        if !sources.contains(&message) && !sources.contains(&found[1]) {
            unknown.push(found[1].to_owned());
        }
        count += 1;
    }
    assert_eq!(unknown, Vec::<String>::new(), "no message says so");
    assert!(count > 15, "{count}");
}

#[test]
fn docs_links_resolve() {
    let link = Regex::new(r"\]\(([^)#:]+)(?:#[^)]*)?\)").unwrap();
    for (path, text) in documents() {
        for target in link.captures_iter(&text) {
            let target = path.parent().unwrap().join(&target[1]);
            assert!(target.exists(), "{}: {} is not there", path.display(), target.display());
        }
    }
}

#[test]
fn docs_security_names_existing_tests() {
    let text = read("docs/security.md");
    let row = Regex::new(r"`((?:crates|src|tests)/[\w/.]+\.(?:rs|yml))`(?: `(\w+)`)?").unwrap();
    let mut named = 0;
    for captures in row.captures_iter(&text) {
        let source = read(&captures[1]);
        if let Some(test) = captures.get(2) {
            assert!(
                source.contains(&format!("fn {}(", test.as_str())),
                "{} has no test {}",
                &captures[1],
                test.as_str()
            );
        }
        named += 1;
    }
    assert!(named > 15, "{named}");
}

#[test]
fn docker_image_copies_every_included_file() {
    let include = Regex::new(r#"include_(?:str|bytes)!\((?:concat!\()?"([^"]+)""#).unwrap();
    let dockerfile = read("Dockerfile");
    let copied: Vec<&str> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("COPY ")?.split(' ').next())
        .filter(|from| !from.starts_with("--") && !from.contains('$'))
        .collect();
    let (root, mut count) = (Path::new(env!("CARGO_MANIFEST_DIR")), 0);
    let sources = ["src", "crates"].map(|folder| ignore::Walk::new(root.join(folder)));
    for file in sources.into_iter().flatten().map(|entry| entry.unwrap().into_path()) {
        let Ok(source) = std::fs::read_to_string(&file) else { continue };
        for found in include.captures_iter(&source) {
            let target = file.parent().unwrap().join(&found[1]);
            // Of a name that is put together, the folder is known.
            let folder = if target.is_dir() { &target } else { target.parent().unwrap() };
            let folder = folder.canonicalize().unwrap();
            let folder = folder.strip_prefix(root.canonicalize().unwrap()).unwrap();
            assert!(
                copied.iter().any(|from| folder.starts_with(from)),
                "{} is in no layer",
                target.display()
            );
            let ignored = read(".dockerignore");
            assert!(
                ignored
                    .lines()
                    .any(|line| line.strip_prefix('!').is_some_and(|kept| folder.starts_with(kept)))
            );
            count += 1;
        }
    }
    assert!(count > 8, "{count}");
}
