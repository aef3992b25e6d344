//! The shipped samples, through the real binary.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::program::program;
use crate::support::{Run, git, tree};
use serde_json::Value;

struct Sample {
    run: Run,
    repository: PathBuf,
    _dir: tempfile::TempDir,
}

fn sample(name: &str) -> Sample {
    sample_with(name, &[])
}

fn sample_with(name: &str, more: &[&str]) -> Sample {
    let dir = tempfile::tempdir().expect("a folder");
    let out = dir.path().join("out");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("bash")
        .arg(root.join("samples/try.sh"))
        .arg(name)
        .args(["--strict-replay"])
        .args(more)
        .env_remove("GITHUB_ACTIONS")
        .env("ARCHITECT_CI", program())
        .env("OUT", &out)
        .env("TMPDIR", dir.path())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("bash runs");
    let run = Run::new(&output, out);
    let line = run
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("The repository is "))
        .expect("the script says it");
    Sample { repository: line.into(), run, _dir: dir }
}

/// What differs from run to run.
fn steady(text: &str) -> String {
    let rules = [
        (r"\d+ ms\b|\d+\.\d s\b", "[time]"),
        (r"`[0-9a-f]{64}`", "`[digest]`"),
        (r"digest [0-9a-f]{64}", "digest [digest]"),
        (r"/architect apply [0-9a-f]{16}\b", "/architect apply [digest]"),
        (r"digest `[0-9a-f]{16}`", "digest `[digest]`"),
        (r"`[0-9a-f]{10}`", "`[commit]`"),
        (r"/(commit|blob)/[0-9a-f]{40}", "/$1/[commit]"),
        (r"Ran (\d+) tests in [0-9.]+s", "Ran $1 tests"),
        // The order of bars follows the times.
        (r"(?s)```mermaid\n.*?```", "```mermaid\n[timeline]\n```"),
    ];
    rules.iter().fold(text.to_owned(), |text, (pattern, replacement)| {
        regex::Regex::new(pattern).expect("a pattern").replace_all(&text, *replacement).into_owned()
    })
}

#[test]
fn sample_dry_run_on_pull_request() {
    let Sample { run, repository, _dir } = sample("invoice");
    let run = run.expect_code(0);
    let before = git(&repository, &["status", "--porcelain", "--ignored"]);
    assert_eq!(before, "", "the checkout is as it was");
    insta::assert_snapshot!("invoice_comment", steady(&run.file("comment.md")));
    insta::assert_snapshot!("invoice_summary", steady(&run.file("summary.md")));
    let plan = run.json("plan.json");
    assert_eq!(plan["base"]["branch"], "discount");
    assert_eq!(plan["actions"].as_array().map(Vec::len), Some(4));
    assert_eq!(plan["digest"], run.report()["plan"]["digest"]);
    assert!(run.stdout.starts_with("The discount is now right:"), "{}", run.stdout);
    assert!(run.stderr.contains("✓ checkout unchanged"), "{}", run.stderr);
    // The plan is exact: git applies it, and the gates that were predicted pass for real.
    let patch = run.out.join("plan.patch");
    git(&repository, &["apply", "--check", patch.to_str().unwrap()]);
    git(&repository, &["apply", patch.to_str().unwrap()]);
    let tests = Command::new("python3")
        .args(["-m", "unittest", "-q"])
        .current_dir(&repository)
        .output()
        .expect("python");
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stderr));
    let files = tree(&repository);
    for file in plan["files"].as_array().expect("files") {
        use sha2::Digest;
        let content = &files[file["path"].as_str().unwrap()];
        let hash = sha2::Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(file["after_sha256"], Value::from(hash));
    }
}

#[test]
fn sample_real_edits() {
    let Sample { run, repository, _dir } = sample("slug");
    let run = run.expect_code(0);
    insta::assert_snapshot!("slug_comment", steady(&run.file("comment.md")));
    let status = git(&repository, &["status", "--porcelain"]);
    assert_eq!(status, " M README.md\n D notes.txt\n M src/index.js\n M test/slug.test.js");
    assert!(!run.out.join("plan.json").exists(), "there is no plan where all is done");
    let failed = run.calls().into_iter().filter(|call| call.ends_with("false")).count();
    assert_eq!(failed, 1, "{:?}", run.calls());
}

/// Runs the binary on a clone; gives its exit code.
fn on(clone: &Path, out: &Path, args: &[&str]) -> i32 {
    let mut command = Command::new(program());
    command.args(args).arg("--workspace").arg(clone).arg("--out").arg(out);
    command.env("CI", "true").env_remove("GITHUB_ACTIONS").env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.stdin(std::process::Stdio::null()).output().expect("the binary runs");
    output.status.code().unwrap_or(-1)
}

#[test]
fn sample_plans_match_real_edits() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("samples");
    for name in ["invoice", "slug"] {
        let dir = tempfile::tempdir().expect("a folder");
        let sample = root.join(name);
        let clone = |place: &str| {
            let clone = dir.path().join(place);
            let copied = Command::new("cp").arg("-R").arg(sample.join("base")).arg(&clone).status();
            assert!(copied.expect("cp runs").success());
            if sample.join("head").exists() {
                let over = Command::new("cp").arg("-R").arg(sample.join("head/.")).arg(&clone).status();
                assert!(over.expect("cp runs").success());
            }
            crate::support::git(&clone, &["init", "--quiet"]);
            crate::support::git(&clone, &["add", "--all"]);
            crate::support::git(&clone, &["commit", "--quiet", "--message", "before"]);
            clone
        };
        let (planned, real, fresh) = (clone("planned"), clone("real"), clone("fresh"));
        let out = |place: &str| dir.path().join(place).with_extension("out");
        let model = format!("replay::{}", sample.join("transcript.jsonl").display());
        let task = sample.join("task.md");
        let run = ["run", "--task-file", task.to_str().unwrap(), "--model", &model, "--mode"];
        let before = crate::support::tree(&planned);
        assert_eq!(on(&planned, &out("planned"), &[&run[..], &["dry-run"]].concat()), 0, "{name}");
        assert_eq!(crate::support::tree(&planned), before, "{name}: a dry run changes nothing");
        assert_eq!(on(&real, &out("real"), &[&run[..], &["yolo"]].concat()), 0, "{name}");
        assert_eq!(
            on(&fresh, &out("fresh"), &["apply", out("planned").join("plan.json").to_str().unwrap()]),
            0,
            "{name}"
        );
        // What the gates compile holds the time.
        let sources = |root: &Path| {
            let mut files = crate::support::tree(root);
            files.retain(|path, _| !path.contains("__pycache__"));
            files
        };
        assert_eq!(sources(&fresh), sources(&real), "{name}");
        assert_ne!(sources(&fresh), before, "{name}");
    }
}

#[test]
fn log_level_follows_flags() {
    let log = |more: &[&str]| sample_with("slug", more).run.stderr;
    let (step, detail) = ("  1 ", "     model: ");
    let [quiet, normal, verbose] = [log(&["--quiet"]), log(&[]), log(&["--verbose"])];
    let has = |log: &str, start: &str| log.lines().any(|line| line.starts_with(start));
    assert!(!has(&quiet, step) && !has(&quiet, detail), "{quiet}");
    assert!(has(&normal, step) && !has(&normal, detail), "{normal}");
    assert!(has(&verbose, step) && has(&verbose, detail), "{verbose}");
    // As JSON, numbers are numbers.
    let json = log(&["--verbose", "--log-format", "json"]);
    let lines = json.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let replies: Vec<Value> = lines.filter(|line| line["output"].is_u64()).collect();
    assert!(!replies.is_empty() && replies.iter().all(|line| line["step"].is_u64()), "{json}");
    assert!(!log(&["--log-format", "json"]).contains("tokens in"));
}
