//! Tools by table, each case on the disk and on the overlay: a dry run has to say and do the same.

use std::sync::Arc;

use crate::support::{Sandbox, cases, git, strings};
use architect_ci::tool::{Access, Context, Registry, ToolResult};
use architect_ci::workspace::{DiskWorkspace, OverlayWorkspace, PathGlobs, TrackedWorkspace, Workspace};
use serde_json::Value;

fn context(workspace: Arc<dyn Workspace>, allow_delete: bool) -> Context {
    Context { workspace, allow_delete, sensitive: Arc::default(), seen: Arc::default(), access: Access::Full }
}

async fn call(registry: &Registry, cx: &Context, tool: &str, args: &Value) -> ToolResult {
    let tool = Arc::clone(registry.get(tool).expect("a known tool"));
    let call = match tool.prepare(args) {
        Ok(call) => call,
        Err(error) => return ToolResult::failed(format!("Invalid arguments: {error}")),
    };
    match call.effects(cx) {
        Ok(_) => call.run(cx.clone()).await,
        Err(error) => ToolResult::failed(error.to_string()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_match_table_on_disk_and_overlay() {
    let registry = Registry::with_built_in();
    for case in cases("tools.yml") {
        let files: Vec<(&str, &str)> = case["files"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(path, text)| (path.as_str(), text.as_str().expect("a text")))
            .collect();
        for dry_run in [false, true] {
            let name = format!("{} (dry run: {dry_run})", case["name"].as_str().expect("a name"));
            let sandbox = Sandbox::new(&files);
            std::fs::write(sandbox.path().join("secret.txt"), "secret").unwrap();
            let before = sandbox.tree();
            let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
            let workspace: Arc<dyn Workspace> = if dry_run {
                Arc::new(OverlayWorkspace::new(disk))
            } else {
                Arc::new(TrackedWorkspace::new(disk))
            };
            let cx = context(Arc::clone(&workspace), case["config"]["allow_delete"] == true);
            for step in case["calls"].as_array().expect("calls") {
                let result =
                    call(&registry, &cx, step["tool"].as_str().expect("a tool"), &step["args"]).await;
                check(&name, step, &result);
                for (path, content) in step["file"].as_object().into_iter().flatten() {
                    let read = call(&registry, &cx, "read_file", &serde_json::json!({ "path": path })).await;
                    let now = read.success.then_some(read.output);
                    assert_eq!(now.as_deref(), content.as_str(), "{name}: {path} after {step}");
                }
            }
            if dry_run {
                assert_eq!(sandbox.tree(), before, "{name}: the checkout is as it was");
                let patch = sandbox.path().join("patch");
                let changes = workspace.changes().expect("the changes");
                std::fs::write(&patch, changes.git_patch("")).unwrap();
                if !changes.is_empty() {
                    git(&sandbox.repo(), &["apply", "--whitespace=nowarn", patch.to_str().unwrap()]);
                }
                for change in &changes {
                    let now = std::fs::read(sandbox.repo().join(change.path.as_str())).ok();
                    let planned = change.after.as_ref().map(|state| state.content.to_vec());
                    assert_eq!(now, planned, "{name}: {} after git apply", change.path);
                }
            }
        }
    }
}

#[track_caller]
fn check(name: &str, step: &Value, result: &ToolResult) {
    let failure = strings(&step["fails"]);
    assert_eq!(result.success, failure.is_empty(), "{name}: {step}: {result:?}");
    for part in failure {
        assert!(
            result.error.as_ref().is_some_and(|error| error.contains(&part)),
            "{name}: {step}: {result:?}"
        );
    }
    if let Some(output) = step["gives"].as_str() {
        assert_eq!(result.output, output, "{name}: {step}");
    }
    for part in strings(&step["says"]) {
        assert!(result.output.contains(&part), "{name}: {step}: {result:?}");
    }
}

#[tokio::test]
async fn tools_bound_memory_on_large_files() {
    let sandbox = Sandbox::new(&[("small.txt", "needle\n")]);
    let big = std::fs::File::create(sandbox.repo().join("big.txt")).unwrap();
    big.set_len(100 * 1024 * 1024).unwrap();
    // One line of 20 MB: more than the searcher takes into memory.
    sandbox.write("line.txt", "x".repeat(20 * 1024 * 1024));
    sandbox.write("latin.txt", b"caf\xe9 needle\n");
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let registry = Registry::with_built_in();
    let cx = context(Arc::new(OverlayWorkspace::new(disk)), true);
    for (tool, args) in [
        ("read_file", serde_json::json!({"path": "big.txt"})),
        ("edit_file", serde_json::json!({"path": "big.txt", "old_str": "a", "new_str": "b"})),
        ("write_file", serde_json::json!({"path": "big.txt", "content": "b"})),
        ("delete_file", serde_json::json!({"path": "big.txt"})),
    ] {
        let result = call(&registry, &cx, tool, &args).await;
        let error = result.error.expect("too large");
        assert!(
            error.contains("big.txt is 104857600 bytes, but the limit for whole files is 10485760"),
            "{tool}: {error}"
        );
    }
    let result = call(&registry, &cx, "read_file", &serde_json::json!({"path": "latin.txt"})).await;
    assert_eq!(result.error.as_deref(), Some("latin.txt is not UTF-8 text (byte 3 is invalid)"));
    let result = call(&registry, &cx, "grep", &serde_json::json!({"pattern": "needle"})).await;
    assert_eq!(
        result.output,
        "latin.txt:1:caf\u{fffd} needle\nsmall.txt:1:needle\n(1 files could not be read)\n"
    );
}

#[tokio::test]
async fn tools_do_not_search_sensitive_files() {
    let sandbox = Sandbox::new(&[(".env", "KEY=needle\n"), ("a.txt", "needle\n")]);
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let mut cx = context(Arc::new(OverlayWorkspace::new(disk)), true);
    cx.sensitive = Arc::new(PathGlobs::parse(&[".env*"]).expect("globs"));
    let registry = Registry::with_built_in();
    for tool in ["grep", "search_code"] {
        let result = call(&registry, &cx, tool, &serde_json::json!({"pattern": "needle"})).await;
        assert_eq!(result.output, "a.txt:1:needle\n(1 sensitive files not searched)\n", "{tool}");
    }
}
