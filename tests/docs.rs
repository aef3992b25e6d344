//! The documents: their configurations are valid, their links lead somewhere.
#![allow(missing_docs, clippy::expect_used, clippy::unwrap_used)]

use std::path::{Path, PathBuf};

use regex::Regex;

fn documents() -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let names = [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/configuration.md",
        "docs/github.md",
        "docs/plans.md",
        "docs/security.md",
    ];
    names
        .iter()
        .map(|name| (root.join(name), std::fs::read_to_string(root.join(name)).expect("a document")))
        .collect()
}

#[test]
fn configurations_in_documents_are_valid() {
    let fence = Regex::new(r"(?s)```yaml\n(.*?)```").unwrap();
    let mut configurations = 0;
    for (path, text) in documents() {
        for block in fence.captures_iter(&text) {
            if block[1].contains("runs-on:") {
                let workflow: serde_json::Value =
                    serde_yaml::from_str(&block[1]).expect("a workflow is YAML");
                assert!(workflow["jobs"].is_object());
                continue;
            }
            let parsed = architect_ci::config::parse(&block[1], &path.display().to_string());
            assert!(parsed.is_ok(), "{}", parsed.err().unwrap());
            configurations += 1;
        }
    }
    assert!(configurations >= 2);
}

#[test]
fn the_configuration_document_names_every_key() {
    let schema = schemars::schema_for!(architect_ci::config::Config).to_value();
    let text =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/configuration.md")).unwrap();
    let objects =
        schema["$defs"].as_object().into_iter().flatten().map(|(_, object)| object).chain([&schema]);
    let mut keys = 0;
    for key in objects.filter_map(|object| object["properties"].as_object()).flat_map(|object| object.keys())
    {
        let named = Regex::new(&format!(r"(?m)^\s*(?:- )?{key}:")).unwrap().is_match(&text);
        assert!(named, "docs/configuration.md does not show {key}");
        keys += 1;
    }
    assert!(keys > 40, "{keys}");
}

#[test]
fn links_lead_to_files_that_are_there() {
    let link = Regex::new(r"\]\(([^)#:]+)(?:#[^)]*)?\)").unwrap();
    for (path, text) in documents() {
        for target in link.captures_iter(&text) {
            let target = path.parent().unwrap().join(&target[1]);
            assert!(target.exists(), "{}: {} is not there", path.display(), target.display());
        }
    }
}

#[test]
fn tests_named_in_the_security_matrix_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("docs/security.md")).unwrap();
    let row = Regex::new(r"`((?:src|tests)/[\w/.]+\.(?:rs|yml))`(?: `(\w+)`)?").unwrap();
    let mut named = 0;
    for captures in row.captures_iter(&text) {
        let source = std::fs::read_to_string(root.join(&captures[1]))
            .unwrap_or_else(|error| panic!("{}: {error}", &captures[1]));
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
