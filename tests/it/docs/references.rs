//! References are generated from the code.

use std::fmt::Write;

use super::{read, root};
use architect_ci::event::{Expectation, StopReason, Work, answered};
use architect_ci::request::{BATCH_INPUTS, INPUTS};
use regex::Regex;
use serde_json::Value;

fn shown(value: &Value) -> String {
    format!("`{value}`")
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
            .filter_map(|option| {
                let word = option["const"].as_str().map(str::to_owned);
                // A word with a value.
                let key = || Some(format!("{}: N", option["required"].as_array()?.first()?.as_str()?));
                Some(format!("`{}`", word.or_else(key)?))
            })
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

/// A number, a switch or a choice in the example is the default, unless a comment says what is.
#[test]
fn docs_configuration_shows_defaults() {
    let text = read("docs/configuration.md");
    let example = text.split("```yaml\n").find(|block| block.starts_with("llm:\n")).expect("the example");
    let example = example.split("\n```").next().unwrap();
    let defaults = serde_json::to_value(architect_ci::config::Config::default()).unwrap();
    let (mut path, mut compared, mut wrong): (Vec<(usize, &str)>, usize, Vec<String>) =
        (Vec::new(), 0, Vec::new());
    for line in example.lines() {
        let indent = line.len() - line.trim_start().len();
        let Some((key, rest)) = line.trim_start().split_once(':') else { continue };
        path.retain(|(depth, _)| *depth < indent);
        path.push((indent, key));
        let (value, comment) = rest.split_once(" #").unwrap_or((rest, ""));
        let pointer: String = path.iter().map(|(_, key)| format!("/{key}")).collect();
        let is_plain =
            serde_yaml::from_str::<Value>(value).ok().filter(|value| value.is_number() || value.is_boolean());
        let (Some(shown), Some(default)) = (is_plain, defaults.pointer(&pointer)) else { continue };
        compared += 1;
        if *default != shown && !comment.contains("default") {
            wrong.push(format!("{pointer} is shown as {shown}, and is {default}"));
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    assert!(compared > 40, "only {compared} keys were compared");
}
