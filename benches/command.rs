//! What a command costs before it runs: analysis, start, start in the sandbox.
#![allow(missing_docs, clippy::expect_used)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use workspace::SensitiveFiles;

use architect_ci::command::sandbox::{GitMasking, Rights, Sandbox, Settings, View};
use architect_ci::command::{Job, LiveOutput, Policy, Shell};
use architect_ci::config::Commands;
use criterion::{Criterion, criterion_group, criterion_main};
use tokio_util::sync::CancellationToken;

const TYPICAL: [(&str, &str); 4] = [
    ("simple", "cargo test --all"),
    ("pipe", "grep -rn 'fn main' src | sort | uniq -c | head -20"),
    ("list", "cd app && npm ci && npm test -- --watch=false 2>&1 | tail -50"),
    ("nested", "for f in $(git ls-files '*.py'); do bash -c \"black --check '$f'\" || echo \"$f\"; done"),
];

fn analysis(c: &mut Criterion) {
    let policy = Policy::new(&Commands::default(), Path::new("/work")).expect("the default rules");
    let mut group = c.benchmark_group("analysis");
    for (name, line) in TYPICAL {
        group.bench_function(name, |b| b.iter(|| policy.judge(black_box(line), "")));
    }
    group.finish();
}

fn start(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("threads");
    let variables = BTreeMap::from([("PATH".to_owned(), std::env::var("PATH").unwrap_or_default())]);
    let shell = |sandbox| Shell {
        launcher: env!("CARGO_BIN_EXE_architect-ci").into(),
        program: "bash".to_owned(),
        flags: vec!["-c".to_owned()],
        environment: variables.clone(),
        sandbox,
        ..Shell::default()
    };
    let run = |shell: &Shell, rights: Rights| {
        let job = Job {
            command: "true",
            pipe: None,
            cwd: Path::new("/tmp"),
            root: Path::new("/tmp"),
            view: View::Plain { writable: true },
            rights,
            variables: Vec::new(),
            stdin: None,
            merge: true,
            output: LiveOutput::default(),
            timeout: Duration::from_secs(10),
            cancel: CancellationToken::new(),
        };
        runtime.block_on(shell.run(job))
    };
    let mut group = c.benchmark_group("start");
    group.bench_function("bash alone", |b| {
        b.iter(|| std::process::Command::new("bash").args(["-c", "true"]).status().expect("bash"));
    });
    let free = shell(None);
    group.bench_function("supervised", |b| b.iter(|| run(&free, Rights::Work)));
    let settings = Settings {
        variables: &variables,
        own: &variables,
        readable: &[],
        writable: &[],
        shared: &[],
        attached: &[],
        workspace: Path::new("/tmp"),
        sensitive: &SensitiveFiles::default(),
        masking: &GitMasking::default(),
        temp: &std::env::temp_dir(),
        wanted: true,
        landlock: true,
    };
    let walled = shell(Some(Sandbox::new(settings)));
    group.bench_function("with the right to look", |b| b.iter(|| run(&walled, Rights::Look)));
    group.bench_function("with the right to work", |b| b.iter(|| run(&walled, Rights::Work)));
    group.finish();
}

criterion_group!(benches, analysis, start);
criterion_main!(benches);
