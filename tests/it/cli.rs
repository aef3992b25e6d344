//! The command line: help, colours, man pages and completions, the check of a configuration, the verbosity of the log.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use crate::support::Sandbox;
use crate::support::model::{Answer, ModelServer};
use serde_json::{Value, json};

fn run(sandbox: &Sandbox, args: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = sandbox.command(args);
    command.current_dir(sandbox.repo()).envs(variables.iter().copied()).output().expect("the binary runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn help_is_in_groups_with_examples_below() {
    let sandbox = Sandbox::new(&[]);
    let help = text(&run(&sandbox, &["run", "--help"], &[]).stdout);
    let headings =
        ["Task:", "Model:", "Limits:", "Checkout and configuration:", "GitHub:", "Output:", "Examples:"];
    let places: Vec<Option<usize>> =
        headings.iter().map(|heading| help.lines().position(|line| line == *heading)).collect();
    assert!(places.is_sorted() && places.iter().all(Option::is_some), "{places:?}\n{help}");
    assert!(help.contains("[possible values: dry-run, yolo, confirm-all, confirm-sensitive]"), "{help}");
    // Every example is a line that the program takes.
    let mut count = 0;
    for command in [
        "run",
        "apply",
        "batch",
        "report post",
        "report merge",
        "sessions",
        "config check",
        "tests check",
        "doctor",
        "explain",
        "schema",
    ] {
        let args: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let help = text(&run(&sandbox, &args, &[("COLUMNS", "200")]).stdout);
        let examples = help.split("Examples:\n").nth(1).unwrap_or_else(|| panic!("{command}: {help}"));
        // What is redirected is the shell's.
        for line in examples.lines().filter(|line| line.starts_with("  architect-ci ")) {
            let line = line.split(['>', '<']).next().unwrap();
            let words = shlex::split(line).expect("words");
            let understood = architect_ci::cli::understands(&words).map_err(|error| error.to_string());
            assert_eq!(understood, Ok(()), "{command}: {line}");
            count += 1;
        }
    }
    assert!(count >= 15, "{count}");
}

#[test]
fn help_is_as_wide_as_the_terminal() {
    let sandbox = Sandbox::new(&[]);
    for width in [60, 100] {
        let help = text(&run(&sandbox, &["doctor", "--help"], &[("COLUMNS", &width.to_string())]).stdout);
        let longest = help.lines().map(|line| line.chars().count()).max().unwrap_or_default();
        assert!(longest <= width && longest > width - 25, "{width}: {longest}\n{help}");
    }
}

#[test]
fn colours_are_for_terminals_and_for_those_who_want_them() {
    let sandbox = Sandbox::new(&[(".architect.yml", "llm: {}\n")]);
    let is_coloured = |args: &[&str], variables: &[(&str, &str)]| {
        let output = run(&sandbox, args, variables);
        [output.stdout, output.stderr].concat().contains(&0x1b)
    };
    let lines: [&[&str]; 4] =
        [&["--help"], &["config", "check"], &["run", "--mode", "x"], &["run", "--no-such-flag"]];
    for args in lines {
        assert!(!is_coloured(args, &[]), "{args:?}");
        assert!(is_coloured(args, &[("CLICOLOR_FORCE", "1")]), "{args:?}");
        assert!(!is_coloured(args, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]), "{args:?}");
    }
    let coloured = |more: &[&str]| {
        let model = sandbox.script(&[vec![("read_file", json!({"path": "gone.txt"}))]], "done");
        sandbox.run(&[&["--model", &model], more].concat(), &[("CLICOLOR_FORCE", "1")]).expect_code(0).stderr
    };
    assert!(coloured(&[]).contains("\u{1b}[32m✓ checkout unchanged"));
    assert!(!coloured(&["--log-format", "json", "--quiet"]).contains('\u{1b}'));
}

#[test]
fn manual_pages_and_completions_know_every_command() {
    let sandbox = Sandbox::new(&[]);
    let folder = sandbox.path().join("share");
    assert!(run(&sandbox, &["manual", folder.to_str().unwrap()], &[]).status.success());
    let page = fs::read_to_string(folder.join("man/man1/architect-ci-run.1")).expect("a page");
    assert!(page.contains(".TH") && page.contains("budget\\-usd"), "{page}");
    assert!(folder.join("man/man1/architect-ci-config-check.1").exists());
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let printed = text(&run(&sandbox, &["completions", shell], &[]).stdout);
        assert_eq!(
            fs::read_to_string(folder.join(format!("completions/architect-ci.{shell}"))).unwrap(),
            printed
        );
        for word in ["sessions", "budget-usd"] {
            assert!(printed.contains(word), "{shell}: {word}");
        }
        // These complete the values of a flag as well.
        assert_eq!(printed.contains("confirm-all"), ["bash", "zsh", "fish"].contains(&shell), "{shell}");
    }
    let script = "source \"$1\"; function=$(complete -p architect-ci | sed 's/.*-F \\([^ ]*\\).*/\\1/'); COMP_WORDS=(architect-ci run --mode ''); COMP_CWORD=3; \
                  $function architect-ci '' --mode; echo \"${COMPREPLY[*]}\"";
    let completed = Command::new("bash")
        .args(["-c", script, "bash"])
        .arg(folder.join("completions/architect-ci.bash"))
        .output()
        .expect("bash runs");
    assert_eq!(
        text(&completed.stdout),
        "dry-run yolo confirm-all confirm-sensitive\n",
        "{}",
        text(&completed.stderr)
    );
}

/// A configuration with an error in every section that it has.
const WRONG: &str = "llm:
  modle: openai::gpt-5
  timeout: soon
hooks:
  pre_tool_use:
    - name: x
      command: y
      timeout: 900
    - name: z
guardrails: {}
";

#[test]
fn a_check_reports_every_error_with_its_place() {
    let sandbox = Sandbox::new(&[(".github/architect.yml", WRONG)]);
    let output = run(&sandbox, &["config", "check"], &[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.starts_with("✗ .github/architect.yml: 4 errors\n"), "{said}");
    for part in [
        "architect.yml:2:3",
        "did you mean `model`?",
        "architect.yml:3:12",
        "architect.yml:8:16",
        "architect.yml:9:7",
        "missing field `command`",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json: Value =
        serde_json::from_slice(&run(&sandbox, &["config", "check", "--json"], &[]).stdout).unwrap();
    let places: Vec<u64> =
        json["errors"].as_array().unwrap().iter().map(|error| error["line"].as_u64().unwrap()).collect();
    assert_eq!((json["valid"].as_bool(), places), (Some(false), vec![2, 3, 8, 9]), "{json}");
}

#[test]
fn a_check_finds_what_a_run_would_refuse() {
    let config = "llm: { model: gpt-5 }
guardrails:
  code_rules: [{ pattern: '(', message: a }, { pattern: '[', message: b }]
hooks:
  pre_tool_use: [{ name: h, command: c, matcher: '(' }]
mcp: { servers: [{ name: 'no name', command: x }] }
costs: { prices_file: none.yml }
";
    let sandbox = Sandbox::new(&[("other.yml", config)]);
    let output = run(&sandbox, &["config", "check", "other.yml"], &[]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    for part in ["llm.model", "\"(\"", "\"[\"", "the hook \"h\"", "mcp.servers[0]", "costs.prices_file"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let output = run(&sandbox, &["config", "check", "none.yml"], &[]);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("none.yml does not exist"), "{}", text(&output.stderr));
    assert_eq!(run(&sandbox, &["config", "check"], &[]).status.code(), Some(0), "there is none");
}

#[test]
fn a_check_shows_what_is_set_and_what_is_the_default() {
    let config =
        "llm: { model: 'openai::gpt-5', timeout: 30 }\nguardrails:\n  protected_files: [Cargo.lock]\n";
    let sandbox = Sandbox::new(&[(".architect.yml", config)]);
    let shown = |which: &str| text(&run(&sandbox, &["config", "check", "--show", which], &[]).stdout);
    let set = "✓ .architect.yml is valid\n\
               llm.model: \"openai::gpt-5\"\nllm.timeout: 30\nguardrails.protected_files: [\"Cargo.lock\"]\n";
    assert_eq!(shown("set"), set);
    let (default, all) = (shown("default"), shown("all"));
    assert!(default.contains("llm.retries: 2  # default\n") && !default.contains("llm.timeout"), "{default}");
    assert_eq!(all.lines().count() + 1, shown("set").lines().count() + default.lines().count());
    let secret = [("MY_TOKEN", "openai::gpt-5")];
    let masked = text(&run(&sandbox, &["config", "check", "--show", "set", "--json"], &secret).stdout);
    assert!(masked.contains("\"llm.timeout\"") && !masked.contains("gpt-5"), "{masked}");
}

#[test]
fn libraries_are_heard_where_that_is_asked_for_and_masked_like_all_else() {
    let server = ModelServer::start(vec![Answer::Text("done")]);
    let log = |flag: &str| {
        let sandbox = Sandbox::new(&[]);
        let args = ["--model", "openai::gpt-5", "--base-url", &server.url, flag];
        sandbox.run(&args, &[("OPENAI_API_KEY", "sk-of-the-model-1")]).expect_code(0).stderr
    };
    let (details, all) = (log("-v"), log("-vv"));
    assert!(details.contains("model: ") && !details.contains("DEBUG"), "{details}");
    assert!(all.contains("model: ") && all.contains("DEBUG hyper_util"), "{all}");
    assert!(!all.contains("sk-of-the-model-1"), "{all}");
}

#[test]
fn the_toolchain_is_the_version_that_the_package_asks_for() {
    let read = |name: &str| fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap();
    let value = |text: &str, key: &str| {
        let line =
            text.lines().find_map(|line| line.strip_prefix(&format!("{key} = \""))).unwrap().to_owned();
        line.split('"').next().unwrap().to_owned()
    };
    let asked = value(&read("Cargo.toml"), "rust-version");
    assert!(value(&read("rust-toolchain.toml"), "channel").starts_with(&asked));
    assert!(read("Dockerfile").contains(&format!("FROM rust:{asked}-slim")));
}
