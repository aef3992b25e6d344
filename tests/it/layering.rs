//! Modules know those of lower layers only. What knows none of them is in `crates`, where the compiler sees to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The modules, the lowest first: each may know those that stand before it, and no other. A folder of a module that
/// is listed by itself stands where it is listed.
const ORDER: &str = "
    base
    workspace event config
    command git
    plan workspace/isolate isolation trust
    model
    patch tool
    recipe hooks gates guardrails web mcp
    engine
    agent
    sessions telemetry
    report
    github
    request
    publish
    run
    batch
    cli
";

/// Arrows that run upwards all the same, as a file and what it knows. There is to be none.
const EXCEPTIONS: [(&str, &str); 0] = [];

/// An arrow that runs upwards: a file and the module that it knows.
type Arrow = (String, String);

/// Returns the files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

/// Returns the module of a path such as `workspace/isolate/copy`.
fn module<'a>(path: &'a str, order: &[&str]) -> &'a str {
    let ends = path.match_indices('/').map(|(at, _)| at).chain([path.len()]);
    let modules = ends.take(2).map(|end| &path[..end]);
    let first = path.split('/').next().unwrap_or(path);
    modules.filter(|module| order.contains(module)).last().unwrap_or(first)
}

/// Returns the arrows of one file that run upwards; modules that the order does not know are above all others.
fn upwards(path: &str, text: &str, order: &[&str]) -> BTreeSet<Arrow> {
    let named = Regex::new(r"\bcrate::([a-z_]+)(?:::([a-z_]+)\b)?").expect("a pattern");
    let floor = |module: &str| order.iter().position(|known| *known == module).unwrap_or(order.len());
    let own = module(path, order);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    let known = code.flat_map(|line| named.captures_iter(line)).map(|found| {
        let below = found.get(2).map_or(String::new(), |below| format!("/{}", below.as_str()));
        module(&format!("{}{below}", &found[1]), order).to_owned()
    });
    known
        .filter(|known| known != own && floor(known) >= floor(own))
        .map(|known| (path.to_owned(), known))
        .collect()
}

#[test]
fn modules_know_lower_layers_only() {
    let order: Vec<&str> = ORDER.split_whitespace().collect();
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeSet::new();
    for file in files(&src).iter().filter(|file| file.extension().is_some_and(|end| end == "rs")) {
        let path = file.strip_prefix(&src).expect("below src").with_extension("");
        let path = path.to_str().expect("a name").replace('\\', "/");
        if !matches!(path.as_str(), "lib" | "main") {
            found.extend(upwards(&path, &fs::read_to_string(file).expect("a file"), &order));
        }
    }
    let listed: BTreeSet<Arrow> =
        EXCEPTIONS.iter().map(|(file, known)| ((*file).to_owned(), (*known).to_owned())).collect();
    let new: Vec<&Arrow> = found.difference(&listed).collect();
    assert!(new.is_empty(), "these know what stands above them; move down what they need: {new:#?}");
    let gone: Vec<&Arrow> = listed.difference(&found).collect();
    assert!(gone.is_empty(), "these exceptions are no longer needed; remove them: {gone:#?}");
}

/// The number of lines that a file may have: one that outgrows it usually holds two ideas.
const MAX_LINES: usize = 400;

#[test]
fn source_files_are_short() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut long = Vec::new();
    for file in files(&root.join("src")).into_iter().chain(files(&root.join("crates"))) {
        let path =
            file.strip_prefix(root).expect("below the root").to_str().expect("a name").replace('\\', "/");
        if file.extension().is_none_or(|end| end != "rs") {
            continue;
        }
        let lines = fs::read_to_string(&file).expect("a file").lines().count();
        if lines > MAX_LINES {
            long.push(format!("{path}: {lines}"));
        }
    }
    assert!(long.is_empty(), "these files are longer than {MAX_LINES} lines; split them by idea: {long:#?}");
}

#[test]
fn every_module_has_a_layer() {
    let order: BTreeSet<&str> = ORDER.split_whitespace().filter(|module| !module.contains('/')).collect();
    let lib = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("a file");
    let declared = Regex::new(r"(?m)^(?:pub )?mod ([a-z_]+);$").expect("a pattern");
    let modules: BTreeSet<&str> =
        declared.captures_iter(&lib).map(|found| found.get(1).expect("a name").as_str()).collect();
    assert_eq!(modules, order);
}

#[test]
fn arrows_upwards_are_seen_however_they_are_written() {
    let order = ["base", "workspace", "git", "workspace/isolate", "run"];
    let text = "use crate::base::text;\n// crate::run\n    let git: crate::git::Base = f(crate::workspace::isolate::g);\n";
    let arrow = |file: &str, known: &str| (file.to_owned(), known.to_owned());
    let of = |path: &str| upwards(path, text, &order).into_iter().collect::<Vec<_>>();
    assert_eq!(of("run/mod"), []);
    assert_eq!(of("workspace/isolate/copy"), []);
    assert_eq!(of("git"), [arrow("git", "workspace/isolate")]);
    assert_eq!(
        of("workspace/path"),
        [arrow("workspace/path", "git"), arrow("workspace/path", "workspace/isolate")]
    );
}
