//! Calls as other agents' models write them: each is taken as the call that is meant, or answered with a sentence that contains it.

use std::sync::Arc;

use architect_ci::agent::Dispatch;
use architect_ci::config;
use architect_ci::tool::{BackgroundCommand, Context, OutputLimits, Registry, RunCommand};
use architect_ci::web::{FetchUrl, Web, WebSearch};
use serde_json::{Map, Value, json};
use workspace::{DiskWorkspace, OverlayWorkspace};

use crate::support::{Sandbox, cases, strings};
use crate::tools::{call, content, context, tool_call};

const FILES: [(&str, &str); 3] = [
    ("src/app.py", "import os\n\n\ndef first(x):\n    return x + 1\n\n\ndef second(x):\n    return x + 2\n"),
    ("src/old.py", "a = 1\nb = 2\n"),
    ("lib/error.js", "throw Error('no');\n"),
];

fn all_tools() -> Registry {
    let mut registry = Registry::with_built_in();
    registry.replace(Arc::new(RunCommand::for_listing()));
    registry.replace_async(Arc::new(BackgroundCommand {
        commands: Arc::default(),
        limits: OutputLimits { lines: 0, tokens: 0, kept: None },
    }));
    registry.replace_async(Arc::new(Dispatch::new(Arc::default())));
    let web = Arc::new(
        Web::new(&config::Web::default(), tokio_util::sync::CancellationToken::new()).expect("a client"),
    );
    registry.replace_async(Arc::new(FetchUrl(Arc::clone(&web))));
    registry.replace_async(Arc::new(WebSearch(web)));
    registry
}

async fn foreign_call(registry: &Registry, cx: &Context, step: &Value, root: &str) -> Result<(), String> {
    let name = step["call"].as_str().expect("a name");
    let args = step["args"].to_string().replace("@root@", root);
    let args: Value = serde_json::from_slice(args.as_bytes()).expect("arguments");
    if let Some(path) = step["read"].as_str() {
        call(registry, cx, "read_file", &json!({"path": path})).await;
    }
    let understood = registry.understand(&tool_call(name, &args), cx.workspace.root());
    if let Some(says) = step["says"].as_str() {
        let error = match understood {
            Err(error) => error.to_string(),
            Ok(_) => call(registry, cx, name, &args).await.error.unwrap_or_default(),
        };
        return if error.contains(says) { Ok(()) } else { Err(format!("it says {error:?}")) };
    }
    let understood = understood.map_err(|error| error.to_string())?;
    let (tool, arguments) = (&understood.call.name, &understood.call.arguments);
    if step["is"] != tool.as_str() {
        return Err(format!("it is {tool}"));
    }
    for (name, value) in step["with"].as_object().into_iter().flatten() {
        let value = value.to_string().replace("@root@", root);
        let value: Value = serde_json::from_slice(value.as_bytes()).expect("a value");
        if arguments[name] != value {
            return Err(format!("{name} is not {value} in {arguments}"));
        }
    }
    if understood.ignored != strings(&step["ignored"]) {
        return Err(format!("it ignores {:?}", understood.ignored));
    }
    let is_ours = Registry::with_built_in().has(tool);
    let prepared =
        Arc::clone(&understood.tool).prepare(arguments).map_err(|error| format!("{error}: {arguments}"))?;
    if is_ours {
        let result = prepared.run(cx.clone()).await;
        if !result.success {
            return Err(format!("{result:?}"));
        }
        for (path, expected) in step["file"].as_object().into_iter().flatten() {
            let found = content(cx, path);
            if found.as_deref() != expected.as_str() {
                return Err(format!("{path} is {found:?}"));
            }
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_calls_are_taken_or_answered_with_the_right_call() {
    let registry = all_tools();
    let table = cases("foreign-calls.yml");
    let calls: Vec<&Value> =
        table.iter().flat_map(|group| group["calls"].as_array().expect("calls")).collect();
    assert!(calls.len() >= 200, "{} calls", calls.len());
    let sandbox = Sandbox::without_git(&FILES);
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let root = disk.path().to_str().expect("a path").to_owned();
    let mut wrong = Vec::new();
    for step in calls {
        let cx = context(Arc::new(OverlayWorkspace::new(Arc::clone(&disk))), true);
        if let Err(complaint) = foreign_call(&registry, &cx, step, &root).await {
            wrong.push(format!("{step}\n    {complaint}"));
        }
    }
    assert!(wrong.is_empty(), "{} calls:\n{}", wrong.len(), wrong.join("\n"));
}

/// Call that an answer suggests: its arguments, and whether each is written out.
struct Suggested {
    tool: String,
    arguments: Map<String, Value>,
    is_whole: bool,
}

/// Returns the calls in an answer: `read_file(path="a.py", start_line=…)`. What is optional, in brackets, is left out.
fn suggested(answer: &str, registry: &Registry) -> Vec<Suggested> {
    let mut found = Vec::new();
    for tool in registry.all() {
        for (at, _) in answer.match_indices(&format!("{}(", tool.name())) {
            let is_name = answer[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
            let Some(parts) = parts_of(&answer[at + tool.name().len() + 1..]).filter(|_| !is_name) else {
                continue;
            };
            let mut call = Suggested { tool: tool.name().to_owned(), arguments: Map::new(), is_whole: true };
            for part in parts.iter().filter(|part| !part.starts_with('[')) {
                let (name, value) = part.split_once('=').unwrap_or((part, "…"));
                let whole =
                    serde_json::from_slice::<Value>(value.as_bytes()).ok().filter(|_| !value.contains('…'));
                call.is_whole &= whole.is_some();
                if name != "…" {
                    call.arguments.insert(name.to_owned(), whole.unwrap_or_else(|| filled(name)));
                }
            }
            let required = strings(&tool.parameters()["required"]);
            if parts.iter().any(|part| part == "…") {
                for name in required {
                    call.arguments.entry(name.as_str()).or_insert_with(|| filled(&name));
                }
            }
            found.push(call);
        }
    }
    found
}

/// Returns what stands between the commas of a call, up to its end.
fn parts_of(text: &str) -> Option<Vec<String>> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut depth, mut is_quoted, mut is_escaped) = (0, false, false);
    for c in text.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            ')' | ',' if depth == 0 => {
                parts.extend(Some(part.trim().to_owned()).filter(|part| !part.is_empty()));
                part.clear();
                if c == ')' {
                    return Some(parts);
                }
                continue;
            }
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            _ => {}
        }
        part.push(c);
    }
    None
}

/// Returns a value for an argument that an answer leaves to the model.
fn filled(name: &str) -> Value {
    match name {
        "path" => json!("src/app.py"),
        "from" => json!("src/old.py"),
        "to" => json!("src/moved.py"),
        "old_str" => json!("x + 1"),
        "pattern" => json!("first"),
        "patch" => {
            json!("--- a/src/app.py\n+++ b/src/app.py\n@@ -5 +5 @@\n-    return x + 1\n+    return x\n")
        }
        "start_line" | "end_line" | "id" | "context_lines" => json!(1),
        "agent_type" => json!("explore"),
        "url" => json!("https://example.com/"),
        _ => json!("x"),
    }
}

/// Every call that an answer suggests is one that can be made, in the names of this program, and does what it says.
#[tokio::test(flavor = "multi_thread")]
async fn suggested_calls_can_be_made() {
    let registry = all_tools();
    let without_commands = Registry::with_built_in();
    let sandbox = Sandbox::without_git(&FILES);
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let root = disk.path().to_str().expect("a path").to_owned();
    let (mut count, mut wrong) = (0, Vec::new());
    for step in cases("foreign-calls.yml").iter().flat_map(|group| group["calls"].as_array().expect("calls"))
    {
        let name = step["call"].as_str().expect("a name");
        let args: Value =
            serde_json::from_slice(step["args"].to_string().replace("@root@", &root).as_bytes())
                .expect("arguments");
        for given in [&registry, &without_commands] {
            let cx = context(Arc::new(OverlayWorkspace::new(Arc::clone(&disk))), true);
            // Of the tools that are not built in, only what their calls are resolved to is of interest.
            let understood = given.understand(&tool_call(name, &args), cx.workspace.root());
            let answer = match &understood {
                Err(error) => error.to_string(),
                Ok(understood) if without_commands.has(&understood.call.name) => {
                    call(given, &cx, name, &args).await.error.unwrap_or_default()
                }
                Ok(_) => String::new(),
            };
            for suggestion in suggested(&answer, &registry) {
                count += 1;
                let Suggested { tool, arguments, is_whole } = suggestion;
                let arguments = Value::Object(arguments);
                let complaint = match given.understand(&tool_call(&tool, &arguments), cx.workspace.root()) {
                    _ if !given.has(&tool) && answer.contains(&format!("{tool} is not available")) => None,
                    Err(error) => Some(error.to_string()),
                    Ok(taken) if taken.call.name != tool => Some(format!("it is {}", taken.call.name)),
                    Ok(taken) if !taken.ignored.is_empty() => Some(format!("ignores {:?}", taken.ignored)),
                    Ok(taken) => match Arc::clone(&taken.tool).prepare(&taken.call.arguments) {
                        Err(error) => Some(error.to_string()),
                        // One that is left to the model may be about another file.
                        Ok(_) if !without_commands.has(&tool) => None,
                        Ok(_) => call(given, &cx, &tool, &arguments).await.error.filter(|error| {
                            is_whole && !error.contains("does not exist") || error.contains("missing")
                        }),
                    },
                };
                if let Some(complaint) = complaint {
                    wrong.push(format!("{step}\n    {answer}\n    {tool}({arguments}): {complaint}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {count} calls:\n{}", wrong.len(), wrong.join("\n"));
    assert!(count >= 200, "{count} calls");
}
