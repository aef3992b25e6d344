//! Tools by table, each case on the disk and on the overlay: a dry run has to say and do the same.

use std::sync::Arc;

use workspace::{
    DiskWorkspace, LastLink, OverlayWorkspace, PathGlobs, SensitiveFiles, TrackedWorkspace, Workspace,
    WorkspacePath,
};

use crate::support::{Sandbox, cases, git, strings};
use architect_ci::event::ToolCall;
use architect_ci::tool::{Access, Context, Registry, ToolResult};
use serde_json::{Value, json};

pub fn context(workspace: Arc<dyn Workspace>, allow_delete: bool) -> Context {
    Context {
        workspace,
        allow_delete,
        sensitive: Arc::default(),
        seen: Arc::default(),
        access: Access::Full,
        explains_edits: true,
        max_result_tokens: 5_000,
        cancel: tokio_util::sync::CancellationToken::new(),
    }
}

pub fn tool_call(name: &str, arguments: &Value) -> ToolCall {
    ToolCall { id: "1".to_owned(), name: name.to_owned(), arguments: arguments.clone() }
}

pub async fn call(registry: &Registry, cx: &Context, tool: &str, args: &Value) -> ToolResult {
    let understood = match registry.understand(&tool_call(tool, args), cx.workspace.root()) {
        Ok(understood) => understood,
        Err(error) => return ToolResult::failed(error.to_string()),
    };
    let call = match understood.tool.prepare(&understood.call.arguments) {
        Ok(call) => call,
        Err(error) => return ToolResult::failed(format!("Invalid arguments: {error}")),
    };
    match call.effects(cx) {
        Ok(_) => call.run(cx.clone()).await,
        Err(error) => ToolResult::failed(error.to_string()),
    }
}

/// Returns the text of a file as the workspace has it, or `None` if there is none.
pub fn content(cx: &Context, path: &str) -> Option<String> {
    let path = WorkspacePath::parse(path).expect("a path");
    let state = cx.workspace.read(&cx.workspace.resolve(&path, LastLink::Keep).expect("resolves")).ok()?;
    Some(String::from_utf8(state.content.to_vec()).expect("text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_match_table_on_disk_and_overlay() {
    let registry = Registry::with_built_in();
    let mut wrong = Vec::new();
    for case in cases("tools.yml") {
        for dry_run in [false, true] {
            if let Err(complaint) = play(&registry, &case, dry_run).await {
                wrong.push(format!("{} (dry run: {dry_run}): {complaint}", case["name"]));
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// Makes the calls of a case, up to the first whose result is another one.
async fn play(registry: &Registry, case: &Value, dry_run: bool) -> Result<(), String> {
    let files: Vec<(&str, &str)> = case["files"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(path, text)| (path.as_str(), text.as_str().expect("a text")))
        .collect();
    let sandbox = Sandbox::new(&files);
    std::fs::write(sandbox.path().join("secret.txt"), "secret").unwrap();
    let root = sandbox.repo().to_str().expect("a path").to_owned();
    for (path, target) in case["links"].as_object().into_iter().flatten() {
        let target = target.as_str().expect("a target").replace("@root@", &root);
        std::os::unix::fs::symlink(target, sandbox.repo().join(path)).expect("a link");
    }
    let before = sandbox.tree();
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let workspace: Arc<dyn Workspace> =
        if dry_run { Arc::new(OverlayWorkspace::new(disk)) } else { Arc::new(TrackedWorkspace::new(disk)) };
    let cx = context(Arc::clone(&workspace), case["config"]["allow_delete"] == true);
    for step in case["calls"].as_array().expect("calls") {
        let args = step["args"].to_string().replace("@root@", &root);
        let args = serde_json::from_slice(args.as_bytes()).expect("arguments");
        let result = call(registry, &cx, step["tool"].as_str().expect("a tool"), &args).await;
        if !is_expected(step, &result) {
            return Err(format!("{step}: {result:?}"));
        }
        for (path, expected) in step["file"].as_object().into_iter().flatten() {
            let found = content(&cx, path);
            if found.as_deref() != expected.as_str() {
                return Err(format!("{step}: {path} is {found:?}"));
            }
        }
    }
    if dry_run {
        assert_eq!(sandbox.tree(), before, "the checkout is as it was");
        let patch = sandbox.path().join("patch");
        let changes = workspace.changes().expect("the changes");
        std::fs::write(&patch, changes.git_patch("")).unwrap();
        if !changes.is_empty() {
            git(&sandbox.repo(), &["apply", "--whitespace=nowarn", patch.to_str().unwrap()]);
        }
        for change in &changes {
            let now = std::fs::read(sandbox.repo().join(change.path.as_str())).ok();
            if now != change.after.as_ref().map(|state| state.content.to_vec()) {
                return Err(format!("{} is another one after git apply: {now:?}", change.path));
            }
        }
    }
    Ok(())
}

fn is_expected(step: &Value, result: &ToolResult) -> bool {
    let failure = strings(&step["fails"]);
    let error = result.error.as_deref().unwrap_or_default();
    result.success == failure.is_empty()
        && failure.iter().all(|part| error.contains(part))
        && step["gives"].as_str().is_none_or(|output| result.output == output)
        && strings(&step["says"]).iter().all(|part| result.output.contains(part))
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
    assert_eq!(result.output, "1\tcaf\u{e9} needle\n[in windows-1252 (Latin-1), which edits keep]\n");
    let result = call(&registry, &cx, "grep", &serde_json::json!({"pattern": "needle"})).await;
    assert_eq!(
        result.output,
        "latin.txt:1:caf\u{e9} needle\nsmall.txt:1:needle\n(latin.txt is shown as windows-1252 (Latin-1))\n\
         (1 file could not be read)\n"
    );
}

#[tokio::test]
async fn tools_do_not_search_sensitive_files() {
    let sandbox = Sandbox::new(&[(".env", "KEY=needle\n"), ("a.txt", "needle\n")]);
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let mut cx = context(Arc::new(OverlayWorkspace::new(disk)), true);
    cx.sensitive = Arc::new(SensitiveFiles::listed(PathGlobs::parse(&[".env*"]).expect("globs")));
    let registry = Registry::with_built_in();
    for tool in ["grep", "search_code"] {
        let result = call(&registry, &cx, tool, &serde_json::json!({"pattern": "needle"})).await;
        assert_eq!(result.output, "a.txt:1:needle\n(1 sensitive file not searched)\n", "{tool}");
    }
}

/// Nobody waits for a call when the run has to end, so what it wrote then would be in no report.
#[tokio::test(flavor = "multi_thread")]
async fn tools_write_nothing_once_the_run_has_to_end() {
    let registry = Registry::with_built_in();
    let sandbox = Sandbox::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let before = sandbox.tree();
    let disk = Arc::new(DiskWorkspace::open(&sandbox.repo()).expect("a folder"));
    let cx = context(Arc::new(TrackedWorkspace::new(disk)), true);
    cx.cancel.cancel();
    for (tool, args) in [
        ("write_file", json!({"path": "new.txt", "content": "x"})),
        ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "1"})),
        ("replace_text", json!({"pattern": "o", "replacement": "0"})),
        ("delete_file", json!({"path": "a.txt"})),
        ("move_file", json!({"from": "a.txt", "to": "c.txt"})),
        ("apply_patch", json!({"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+1\n"})),
    ] {
        let result = call(&registry, &cx, tool, &args).await;
        assert!(result.error.is_some_and(|error| error.contains("the run ended")), "{tool}");
        assert_eq!(sandbox.tree(), before, "{tool}");
    }
}
