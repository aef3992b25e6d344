//! The documents: every snippet is run or parsed, references are generated, links lead somewhere, messages exist.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::Sandbox;
use architect_ci::batch::BatchFile;
use architect_ci::campaign::{Campaign, CampaignFile};
use architect_ci::event::{Expectation, StopReason, Work, answered};
use architect_ci::recipe::Recipe;
use architect_ci::request::{BATCH_INPUTS, INPUTS};
use regex::Regex;
use serde_json::Value;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// All documents for people, those of the book and those beside it.
fn documents() -> Vec<(PathBuf, String)> {
    let mut names: Vec<String> =
        ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"].map(str::to_owned).to_vec();
    for entry in std::fs::read_dir(root().join("docs")).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if Path::new(&name).extension().is_some_and(|extension| extension == "md") {
            names.push(format!("docs/{name}"));
        }
    }
    names.sort();
    names.into_iter().map(|name| (root().join(&name), read(&name))).collect()
}

/// A fenced block: its language, what is said of it, its text.
struct Block {
    language: String,
    marks: Vec<String>,
    text: String,
}

fn blocks(text: &str) -> Vec<Block> {
    let fence = Regex::new(r"(?ms)^```([^\n`]*)\n(.*?)^```$").unwrap();
    let block = |found: regex::Captures<'_>| {
        let mut marks = found[1].split(',').map(str::to_owned);
        Block {
            language: marks.next().unwrap_or_default(),
            marks: marks.collect(),
            text: found[2].to_owned(),
        }
    };
    fence.captures_iter(text).map(block).collect()
}

#[test]
fn docs_snippets_parse() {
    let (mut configurations, mut batches, mut recipes, mut workflows, mut lines) = (0, 0, 0, 0, 0);
    for (path, text) in documents() {
        let shown = path.strip_prefix(root()).unwrap().display().to_string();
        for name in text.split(",file=").skip(1).filter_map(|rest| rest.lines().next()) {
            // Readers see the block, and not what is said of it.
            let at = text.find(&format!(",file={name}")).unwrap();
            let before = &text[text.floor_char_boundary(at.saturating_sub(250))..at];
            assert!(before.contains(&format!("`{name}`")), "{shown}: nothing names {name}");
        }
        for block in blocks(&text) {
            match block.language.as_str() {
                "yaml" => {
                    let value: Value = serde_yaml::from_str(&block.text)
                        .unwrap_or_else(|error| panic!("{shown}: {error}\n{}", block.text));
                    if value.get("jobs").is_some_and(Value::is_object) {
                        check_workflow(&shown, &value);
                        workflows += 1;
                    } else if value.get("repositories").is_some() {
                        let parsed = architect_ci::config::parse_as::<CampaignFile>(&block.text, &shown);
                        let campaign =
                            Campaign::new(parsed.unwrap_or_else(|error| panic!("{error}")), &shown);
                        assert!(campaign.is_ok(), "{}", campaign.err().unwrap());
                    } else if value.get("tasks").is_some() {
                        let parsed = architect_ci::config::parse_as::<BatchFile>(&block.text, &shown);
                        assert!(parsed.is_ok(), "{}", parsed.err().unwrap());
                        batches += 1;
                    } else if value.get("steps").is_some() {
                        let parsed = Recipe::parse(&block.text, &shown);
                        assert!(parsed.is_ok(), "{}", parsed.err().unwrap());
                        recipes += 1;
                    } else {
                        let parsed = architect_ci::config::parse(&block.text, &shown);
                        assert!(parsed.is_ok(), "{}", parsed.err().unwrap());
                        configurations += 1;
                    }
                }
                "json" => {
                    for line in block.text.lines() {
                        assert!(serde_json::from_str::<Value>(line).is_ok(), "{shown}: {line}");
                    }
                }
                "sh" => lines += check_lines(&shown, &block.text),
                "python" => assert!(block.marks.iter().any(|mark| mark.starts_with("file=")), "{shown}"),
                "" | "text" | "diff" => {}
                other => panic!("{shown}: what is a block of {other:?}?"),
            }
        }
    }
    let counted = [configurations, batches, recipes, workflows, lines];
    assert!(counted.iter().zip([5, 1, 2, 4, 20]).all(|(count, least)| *count >= least), "{counted:?}");
}

/// Steps of ours ask for inputs that there are.
fn check_workflow(shown: &str, workflow: &Value) {
    let action: Value = serde_yaml::from_str(&read("action.yml")).unwrap();
    for job in workflow["jobs"].as_object().unwrap().values() {
        for step in job["steps"].as_array().into_iter().flatten() {
            let ours = step["uses"].as_str().is_some_and(|uses| uses.starts_with("architect-ci/"));
            for name in step["with"].as_object().filter(|_| ours).into_iter().flat_map(|with| with.keys()) {
                assert!(action["inputs"].get(name).is_some(), "{shown}: there is no input {name}");
            }
        }
    }
}

/// Command lines of ours are such that the program understands them; of others the program is a known one.
fn check_lines(shown: &str, text: &str) -> usize {
    let known = [
        "cargo",
        "samples/try.sh",
        "git",
        "grep",
        "test",
        "cmp",
        "wc",
        "exit",
        "bash",
        "just",
        "docker",
        "gh",
    ];
    let mut count = 0;
    for line in text.replace("\\\n", " ").lines() {
        let words = shlex::split(line).unwrap_or_else(|| panic!("{shown}: {line}"));
        for command in words.split(|word| matches!(word.as_str(), "&&" | "||" | "|")) {
            let end = command.iter().position(|word| word == ">").unwrap_or(command.len());
            let Some(first) = command.first() else { continue };
            if first == "architect-ci" {
                let understood = architect_ci::cli::understands(&command[..end]);
                assert!(understood.is_ok(), "{shown}: {line}\n{}", understood.unwrap_err());
                count += 1;
            } else {
                assert!(known.contains(&first.as_str()), "{shown}: {first}");
            }
        }
    }
    count
}

/// Documents with blocks marked `run` are carried out from top to bottom, in a repository with the files that they
/// show.
#[test]
fn docs_examples_run() {
    let mut run = 0;
    for (path, text) in documents() {
        let all = blocks(&text);
        if !all.iter().any(|block| block.marks.iter().any(|mark| mark == "run")) {
            continue;
        }
        let files: Vec<(&str, &str)> = all
            .iter()
            .filter_map(|block| {
                Some((block.marks.iter().find_map(|mark| mark.strip_prefix("file="))?, block.text.as_str()))
            })
            .collect();
        let sandbox = Sandbox::new(&files);
        let folder = Path::new(env!("CARGO_BIN_EXE_architect-ci")).parent().unwrap();
        let search = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap());
        for block in all.iter().filter(|block| block.marks.iter().any(|mark| mark == "run")) {
            let output = Command::new("bash")
                .args(["-euo", "pipefail", "-c", &block.text])
                .current_dir(sandbox.repo())
                .env_clear()
                .envs([("PATH", search.as_str()), ("CI", "true"), ("HOME", sandbox.path().to_str().unwrap())])
                .envs([("GIT_AUTHOR_NAME", "a"), ("GIT_AUTHOR_EMAIL", "a@localhost")])
                .envs([("GIT_COMMITTER_NAME", "a"), ("GIT_COMMITTER_EMAIL", "a@localhost")])
                .output()
                .expect("bash runs");
            assert!(
                output.status.success(),
                "{}:\n{}\n{}\n{}",
                path.display(),
                block.text,
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            run += 1;
        }
    }
    assert!(run >= 10, "{run}");
}

/// A generated document is what it would be if it were made now; `UPDATE_DOCS=1` makes it.
#[track_caller]
fn generated(name: &str, text: &str) {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(root().join(name), text).expect("the document");
    }
    assert!(read(name) == text, "{name} is out of date; run `UPDATE_DOCS=1 cargo test docs::`");
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[test]
fn docs_inputs_reference_is_up_to_date() {
    let action: Value = serde_yaml::from_str(&read("action.yml")).unwrap();
    let mut text = "<!-- Made from action.yml and the program's own lists: UPDATE_DOCS=1 cargo test docs:: -->\n\n\
                    # Inputs and outputs\n\n\
                    Inputs of the action with a flag can also be set as a flag of the program (`--max-steps 5`) or as an environment variable\n\
                    (`ARCHITECT_MAX_STEPS=5`). Flags take precedence over Action inputs, Action inputs over variables, and variables over the\n\
                    configuration. An empty input counts as absent.\n\n\
                    ## Inputs\n\n| input | flag | description | default |\n|---|---|---|---|\n"
        .to_owned();
    for (name, input) in action["inputs"].as_object().unwrap() {
        let known = INPUTS.iter().chain(&BATCH_INPUTS).find(|known| known.name == name);
        let flag = known.map_or("–".to_owned(), |known| match known.value {
            Some(value) => format!("`--{name} {value}`"),
            None => format!("`--{name}`"),
        });
        let default = input["default"]
            .as_str()
            .filter(|text| !text.is_empty())
            .map_or(String::new(), |text| format!("`{text}`"));
        let _ = writeln!(
            text,
            "| `{name}` | {flag} | {} | {default} |",
            cell(input["description"].as_str().unwrap())
        );
    }
    text += "\n## Outputs\n\n| output | description |\n|---|---|\n";
    for (name, output) in action["outputs"].as_object().unwrap() {
        let _ = writeln!(text, "| `{name}` | {} |", cell(output["description"].as_str().unwrap()));
    }
    text += "\n## Exit codes\n\n| code | meaning |\n|--:|---|\n";
    for (code, meaning) in [
        (0, "success"),
        (1, "failed: the agent or a required gate failed"),
        (2, "partial: a limit was reached, or work is left to do"),
        (3, "the configuration or an input is invalid"),
        (4, "a key or a permission is missing"),
        (5, "the time limit was reached"),
        (6, "the plan does not fit the checkout; nothing was written"),
        (130, "interrupted; a partial report was written"),
        (143, "terminated; a partial report was written"),
    ] {
        let _ = writeln!(text, "| {code} | {meaning} |");
    }
    generated("docs/inputs.md", &text);
}

/// The contract is printed from the code that decides.
#[test]
fn docs_outcomes_print_the_contract() {
    let word = |reason: StopReason| serde_json::to_value(reason).unwrap().as_str().unwrap().to_owned();
    let text = read("docs/outcomes.md");
    let (before, rest) = text.split_once("<!-- contract -->\n").expect("the mark");
    let (_, after) = rest.split_once("<!-- end of the contract -->\n").expect("the mark");
    let mut table =
        "\n| the agent said that it is done, and | `changes` | `no-changes` | `any` |\n|---|---|---|---|\n"
            .to_owned();
    for work in Work::ALL {
        let cells = Expectation::ALL.map(|expected| format!("`{}`", word(answered(expected, work, false))));
        let _ = writeln!(table, "| {work} | {} |", cells.join(" | "));
    }
    let cells =
        Expectation::ALL.map(|expected| format!("`{}`", word(answered(expected, Work::Unchanged, true))));
    let _ = writeln!(table, "| the final answer is empty | {} |", cells.join(" | "));
    table += "\n| `stop_reason` | heading | `status` | exit | JUnit | check | next step |\n|---|---|---|--:|---|---|---|\n";
    for reason in StopReason::ALL {
        let clause = reason.clause();
        let _ = writeln!(
            table,
            "| `{}` | {} {} | {} | {} | {} | {} | {} |",
            word(reason),
            clause.sign,
            clause.sentence,
            clause.status,
            clause.exit.code(),
            format!("{:?}", clause.junit).to_lowercase(),
            clause.conclusion.word(),
            clause.next_step
        );
    }
    generated(
        "docs/outcomes.md",
        &format!("{before}<!-- contract -->\n{table}\n<!-- end of the contract -->\n{after}"),
    );
}

#[test]
fn docs_configuration_reference_is_up_to_date() {
    let schema = schemars::schema_for!(architect_ci::config::Config).to_value();
    let mut text = "<!-- Made from the program's types: UPDATE_DOCS=1 cargo test docs:: -->\n\n\
                    # Configuration reference\n\n\
                    [Configuration](configuration.md) says what the keys are for and how they work together.\n"
        .to_owned();
    for (name, section) in schema["properties"].as_object().unwrap() {
        let about = section["description"].as_str().unwrap_or_default();
        let _ = write!(text, "\n## `{name}`\n\n{about}\n");
        let kind = resolve(&schema, section);
        if kind.get("properties").is_none() && kind.get("additionalProperties").is_none() {
            let _ =
                write!(text, "\n{}; default {}.\n", of_type(&schema, section), shown(&section["default"]));
            continue;
        }
        text += "\n| key | type | default | description |\n|---|---|---|---|\n";
        rows(&schema, section, name, &mut text);
    }
    generated("docs/configuration-reference.md", &text);
}

fn rows(schema: &Value, section: &Value, path: &str, text: &mut String) {
    let kind = resolve(schema, section);
    if let Some(inner) = kind.get("additionalProperties").filter(|inner| inner.is_object()) {
        return rows(schema, inner, &format!("{path}.NAME"), text);
    }
    for (name, key) in kind["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let default = if key.get("default").is_none_or(Value::is_null) {
            String::new()
        } else {
            shown(&key["default"])
        };
        let about = cell(key["description"].as_str().unwrap_or_default());
        let _ = writeln!(text, "| `{path}` | {} | {default} | {about} |", cell(&of_type(schema, key)));
        let items = resolve(schema, key).get("items").map(|items| resolve(schema, items));
        if let Some(items) = items.filter(|items| items.get("properties").is_some()) {
            rows(schema, items, &format!("{path}[]"), text);
        }
    }
}

fn resolve<'a>(schema: &'a Value, found: &'a Value) -> &'a Value {
    let target = found["$ref"].as_str().or_else(|| found["anyOf"][0]["$ref"].as_str());
    target.and_then(|target| schema.pointer(target.trim_start_matches('#'))).unwrap_or(found)
}

fn of_type(schema: &Value, key: &Value) -> String {
    let kind = resolve(schema, key);
    let options = kind["oneOf"].as_array().or(kind["anyOf"].as_array());
    if let Some(options) = options {
        let words: Vec<String> = options
            .iter()
            .filter_map(|option| option["const"].as_str().map(|word| format!("`{word}`")))
            .collect();
        if !words.is_empty() {
            return words.join(", ");
        }
    }
    if let Some(words) = kind["enum"].as_array() {
        return words
            .iter()
            .filter_map(|word| word.as_str().map(|word| format!("`{word}`")))
            .collect::<Vec<_>>()
            .join(", ");
    }
    let name = match &kind["type"] {
        Value::String(name) => name.clone(),
        Value::Array(names) => {
            names.iter().filter_map(Value::as_str).find(|name| *name != "null").unwrap_or("any").to_owned()
        }
        _ => kind["anyOf"].as_array().and_then(|all| all[0]["type"].as_str()).unwrap_or("any").to_owned(),
    };
    let bounds = |kind: &Value| Some(format!(" {}–{}", kind["minimum"].as_u64()?, kind["maximum"].as_u64()?));
    let bounds = bounds(kind).or_else(|| bounds(&kind["anyOf"][0])).unwrap_or_default();
    match name.as_str() {
        "array" => format!("list of {}", of_type(schema, &kind["items"])),
        other => format!("{other}{bounds}"),
    }
}

fn shown(value: &Value) -> String {
    format!("`{value}`")
}

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
fn docs_configuration_names_every_key() {
    let schema = schemars::schema_for!(architect_ci::config::Config).to_value();
    let text = read("docs/configuration.md");
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
