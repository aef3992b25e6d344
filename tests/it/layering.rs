//! Modules know those of lower layers only. What knows none of them is in `crates`, where the compiler sees to it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// The modules, the lowest first: each may know those that stand before it, and no other. A folder of a module that
/// is listed by itself stands where it is listed.
const ORDER: &str = "
    base
    event config
    egress
    command git
    plan isolation trust
    model
    tool
    guardrails recipe hooks gates proof web mcp
    engine
    agent
    sessions telemetry
    report
    github
    request
    publish
    run
    batch
    campaign
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

/// Returns the module of a path such as `isolation/state/copy`.
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
    let counted =
        rust_files(&["src", "crates", "tests"]).into_iter().map(|(path, text)| (text.lines().count(), path));
    let long: Vec<String> = counted
        .filter(|(lines, _)| *lines > MAX_LINES)
        .map(|(lines, path)| format!("{path}: {lines}"))
        .collect();
    assert!(long.is_empty(), "these files are longer than {MAX_LINES} lines; split them by idea: {long:#?}");
}

/// Returns the Rust files below these folders, with their paths from the root and their text.
fn rust_files(folders: &[&str]) -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = folders.iter().flat_map(|folder| files(&root.join(folder)));
    let rust = all.filter(|file| file.extension().is_some_and(|end| end == "rs"));
    let read = |file: PathBuf| {
        let path = file.strip_prefix(root).expect("below the root").to_str().expect("a name");
        (path.replace('\\', "/"), fs::read_to_string(&file).expect("a file"))
    };
    rust.map(read).collect()
}

/// Returns the source files of the program and its crates, with their text up to their unit tests.
fn sources() -> Vec<(String, String)> {
    let code = |text: &str| text.split("\nmod tests {\n").next().unwrap_or_default().to_owned();
    rust_files(&["src", "crates"]).into_iter().map(|(path, text)| (path, code(&text))).collect()
}

/// Returns the functions and types whose errors are texts: a caller can neither tell them apart nor find their cause.
fn text_errors(code: &str) -> Vec<String> {
    let code: String =
        code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join(" ");
    let mut found = Vec::new();
    for (start, _) in code.match_indices("Result<") {
        let inner = &code[start + "Result<".len()..];
        let (mut depth, mut comma) = (0_i32, None);
        for (at, letter) in inner.char_indices() {
            match letter {
                '<' | '(' | '[' => depth += 1,
                '>' if inner[..at].ends_with('-') => {}
                '>' if depth == 0 => {
                    let error = comma.map(|comma: usize| inner[comma + 1..at].trim_matches([' ', ',']));
                    if matches!(error, Some("String" | "&'static str" | "&str")) {
                        found.push(format!("Result<{}>", &inner[..at]));
                    }
                    break;
                }
                '>' | ')' | ']' => depth -= 1,
                ',' if depth == 0 && comma.is_none() => comma = Some(at),
                _ => {}
            }
        }
    }
    found
}

/// What holds a token or a key starts no program by its mere name: the machine's `PATH` may lead into the checkout.
#[test]
fn no_program_is_started_by_its_mere_name() {
    let by_name = Regex::new(r#"Command::new\(\s*"([^"/]+)""#).expect("a pattern");
    let found: Vec<String> = sources()
        .into_iter()
        .flat_map(|(path, code)| {
            let names = by_name.captures_iter(&code).map(|found| format!("{path}: {}", &found[1]));
            names.collect::<Vec<_>>()
        })
        .collect();
    assert!(found.is_empty(), "use `base::program::find_program`:\n{}", found.join("\n"));
    assert!(by_name.is_match("std::process::Command::new(\"patch\")"));
}

#[test]
fn errors_are_types() {
    let found: Vec<String> = sources()
        .iter()
        .flat_map(|(path, code)| text_errors(code).into_iter().map(move |found| format!("{path}: {found}")))
        .collect();
    assert!(found.is_empty(), "these errors are texts; give them a type of their own: {found:#?}");
}

#[test]
fn text_errors_are_found_wherever_they_stand() {
    for (code, expected) in [
        ("fn a() -> Result<(), String> {", 1),
        ("fn a() -> Result<Vec<(u8, String)>, String> {", 1),
        ("fn a(\n) -> Result<\n    Option<String>,\n    String,\n> {", 1),
        ("type A<'a> = &'a dyn Fn(&str) -> Result<Option<String>, String>;", 1),
        ("lines: BTreeMap<String, Result<String, String>>", 1),
        ("f: Result<Box<dyn Fn(u8) -> Vec<u8>>, &'static str>", 1),
        ("fn a() -> Result<String, Error> {", 0),
        ("fn a() -> io::Result<(String, String)> {", 0),
        ("// Result<(), String>", 0),
    ] {
        assert_eq!(text_errors(code).len(), expected, "{code}");
    }
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
    let order = ["base", "event", "git", "isolation/state", "run"];
    let text = "use crate::base::text;\n// crate::run\n    let git: crate::git::Base = f(crate::isolation::state::g);\n";
    let arrow = |file: &str, known: &str| (file.to_owned(), known.to_owned());
    let of = |path: &str| upwards(path, text, &order).into_iter().collect::<Vec<_>>();
    assert_eq!(of("run/mod"), []);
    assert_eq!(of("isolation/state/copy"), []);
    assert_eq!(of("git"), [arrow("git", "isolation/state")]);
    assert_eq!(of("event/review"), [arrow("event/review", "git"), arrow("event/review", "isolation/state")]);
}
