//! Searches on a tree of 20,000 files, side by side with ripgrep.
#![allow(missing_docs, clippy::expect_used)]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;

use workspace::{DiskWorkspace, OverlayWorkspace, TrackedWorkspace, Workspace};

use architect_ci::agent::RepoMap;
use architect_ci::tool::{Access, Context, Registry};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};

fn tree(root: &Path) {
    for folder in 0..400 {
        let folder_path = root.join(format!("pkg{}/mod{folder}", folder % 20));
        fs::create_dir_all(&folder_path).expect("a folder");
        for file in 0..50 {
            let kind = ["rs", "py", "md", "js", "txt"][file % 5];
            let mut text: String = (0..60)
                .map(|line| format!("line {line} of file {file} calls function_{}\n", line * file))
                .collect();
            if (folder * 50 + file) % 400 == 0 {
                text += "the needle that is looked for\n";
            }
            fs::write(folder_path.join(format!("file{file}.{kind}")), text).expect("a file");
        }
    }
}

fn search(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder");
    tree(dir.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    let registry = Registry::with_built_in();
    let disk = || Arc::new(DiskWorkspace::open(dir.path()).expect("a folder"));
    let context = |workspace: Arc<dyn Workspace>| Context {
        workspace,
        allow_delete: false,
        sensitive: Arc::default(),
        seen: Arc::default(),
        access: Access::Full,
        explains_edits: true,
        max_result_tokens: 5_000,
        cancel: tokio_util::sync::CancellationToken::new(),
    };
    let contexts = [
        ("on disk", context(Arc::new(TrackedWorkspace::new(disk())))),
        ("in a dry run", context(Arc::new(OverlayWorkspace::new(disk())))),
    ];
    let rg = |args: &[&str]| {
        let status = Command::new("rg").args(args).current_dir(dir.path()).stdout(Stdio::null()).status();
        assert!(status.expect("ripgrep").success());
    };
    let cases: [(&str, &str, Value, &[&str]); 2] = [
        ("grep", "grep", json!({"pattern": "the needle"}), &["-nF", "the needle", "."]),
        ("find_files", "find_files", json!({"pattern": "*5.rs"}), &["--files", "-g", "*5.rs"]),
    ];
    for (name, tool, args, peer) in cases {
        let mut group = c.benchmark_group(name);
        group.sample_size(20);
        group.bench_function("rg", |b| b.iter(|| rg(peer)));
        for (place, cx) in &contexts {
            group.bench_function(*place, |b| {
                b.iter(|| {
                    let tool = Arc::clone(registry.get(tool).expect("a tool"));
                    let call = tool.prepare(&args).expect("arguments");
                    let result = runtime.block_on(call.run(cx.clone()));
                    assert!(result.success, "{result:?}");
                });
            });
        }
        group.finish();
    }
}

/// What every run begins with, on a tree of 50,000 files.
fn outline(c: &mut Criterion) {
    let dir = tempfile::tempdir().expect("a folder");
    for file in 0..50_000 {
        let folder = dir.path().join(format!("module-{:02}/part-{:02}", file / 1_000, file / 50 % 20));
        if file % 50 == 0 {
            fs::create_dir_all(&folder).expect("a folder");
        }
        fs::write(folder.join(format!("file-{file}.py")), "").expect("a file");
    }
    let workspace = TrackedWorkspace::new(Arc::new(DiskWorkspace::open(dir.path()).expect("a folder")));
    c.benchmark_group("outline").sample_size(10).bench_function("50,000 files", |b| {
        b.iter(|| assert!(RepoMap::of(&workspace).within(RepoMap::MOST).len() < 7_000));
    });
}

criterion_group!(benches, search, outline);
criterion_main!(benches);
