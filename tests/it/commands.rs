//! The analyser of command lines, by table and by force.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::support::cases;
use architect_ci::command::{Assessment, Containment, Policy, Verdict};
use architect_ci::config::Commands;
use architect_ci::event::Class;
use proptest::prelude::*;

static UNSANDBOXED: LazyLock<Policy> =
    LazyLock::new(|| Policy::new(&Commands::default(), Path::new("/work/repo")).expect("the default rules"));
static IN_SANDBOX: LazyLock<Policy> = LazyLock::new(|| UNSANDBOXED.clone().within(Containment::Sandbox));

fn judged(line: &str) -> Assessment {
    UNSANDBOXED.judge(line, "")
}

fn judged_in_sandbox(line: &str) -> Assessment {
    IN_SANDBOX.judge(line, "")
}

#[test]
fn commands_without_sandbox_match_table() {
    let (mut rows, mut everyday, mut wrong) = (0, 0, Vec::new());
    for theme in cases("commands.yml") {
        let name = theme["theme"].as_str().expect("a theme");
        for (key, class) in [("safe", Class::Safe), ("dev", Class::Dev)] {
            for line in theme[key].as_array().into_iter().flatten() {
                let line = line.as_str().unwrap_or_else(|| panic!("{name}: {line} is no text"));
                let Assessment { verdict, blocked: block, .. } = judged(line);
                let behind = judged_in_sandbox(line).verdict;
                if verdict.class != class || behind.class != class || block.is_some() {
                    wrong.push(format!(
                        "{name}: {line:?} is {} ({}), in a sandbox {} ({}), blocked: {block:?}",
                        verdict.class, verdict.reason, behind.class, behind.reason
                    ));
                }
                rows += 1;
                everyday += 1;
            }
        }
        for (line, says) in theme["dangerous"].as_object().into_iter().flatten() {
            let verdict = judged(line).verdict;
            let says = says.as_str().unwrap();
            if verdict.class != Class::Dangerous || !verdict.reason.contains(says) || !has_way_out(&verdict) {
                wrong.push(format!(
                    "{name}: {line:?} is {} ({}), expected: {says}",
                    verdict.class, verdict.reason
                ));
            }
            rows += 1;
        }
        for (line, says) in theme["blocked"].as_object().into_iter().flatten() {
            let Assessment { verdict, blocked: block, .. } = judged(line);
            let class = verdict.class;
            assert_eq!(judged_in_sandbox(line).blocked, block, "a sandbox opens no {line:?}");
            if !block.as_ref().is_some_and(|reason| reason.contains(says.as_str().unwrap()))
                || class != Class::Dangerous
            {
                wrong.push(format!("{name}: {line:?} is {class}, blocked: {block:?}, expected: {says}"));
            }
            rows += 1;
        }
    }
    assert!(wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows >= 300 && everyday >= 80, "{rows} rows, {everyday} of them everyday commands");
}

/// Whether a refusal ends with one short sentence that says what to do.
fn has_way_out(verdict: &Verdict) -> bool {
    let says = &verdict.way_out;
    says.ends_with('.') && says.len() < 130 && verdict.explained().ends_with(says.as_str())
}

#[test]
fn commands_in_sandbox_match_reach_table() {
    let (mut allowed, mut refused, mut wrong) = (0, 0, Vec::new());
    for theme in cases("commands-in-sandbox.yml") {
        let name = theme["theme"].as_str().expect("a theme");
        for (key, class) in [("safe", Class::Safe), ("dev", Class::Dev)] {
            for line in theme[key].as_array().into_iter().flatten() {
                let line = line.as_str().unwrap_or_else(|| panic!("{name}: {line} is no text"));
                let Assessment { verdict, blocked, .. } = judged_in_sandbox(line);
                if verdict.class != class || blocked.is_some() || !verdict.way_out.is_empty() {
                    wrong.push(format!(
                        "{name}: {line:?} is {} ({}), {blocked:?}",
                        verdict.class, verdict.reason
                    ));
                }
                allowed += 1;
            }
        }
        for (line, says) in theme["dangerous"].as_object().into_iter().flatten() {
            let verdict = judged_in_sandbox(line).verdict;
            let says = says.as_str().unwrap();
            if verdict.class != Class::Dangerous || !verdict.reason.contains(says) || !has_way_out(&verdict) {
                wrong.push(format!("{name}: {line:?} is {verdict:?}, expected: {says}"));
            }
            // A sandbox makes nothing more dangerous: without one it is as well.
            if judged(line).verdict.class != Class::Dangerous {
                wrong.push(format!("{name}: {line:?} is not dangerous without a sandbox"));
            }
            refused += 1;
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(allowed >= 250 && refused >= 250, "{allowed} allowed, {refused} refused");
}

#[test]
fn command_refusal_names_alternative() {
    for (containment, line, says) in [
        (Containment::None, "sed -i s/a/b/ x", "Use the file tools"),
        (Containment::None, "curl x", "`fetch_url`"),
        (Containment::None, "git push", "`deliver`"),
        (Containment::None, "find . -delete", "Omit the option."),
        (Containment::None, "cat /etc/passwd", "Use a file in the workspace."),
        (Containment::None, "cat $X", "Write the words literally"),
        (Containment::None, "PYTHONPATH=src pytest", "`commands.env_passthrough`"),
        (Containment::None, "nosuchcommand", "`commands.dev_commands` or `commands.safe_commands`"),
        (Containment::None, "ls (", "simpler parts"),
        (Containment::Sandbox, "git push", "`deliver`"),
        (Containment::Sandbox, "npm publish", "a step of the workflow after the run"),
        (Containment::Sandbox, "npm i -g x", "only for the project"),
        (Containment::Sandbox, "curl x", "`fetch_url`"),
        (Containment::Sandbox, "ssh host", "a step of the workflow after the run"),
        (Containment::Sandbox, "docker run x", "`commands.dev_commands`"),
        (Containment::Sandbox, "echo x > /etc/x", "to the workspace or to /tmp"),
    ] {
        let verdict = UNSANDBOXED.clone().within(containment).judge(line, "").verdict;
        assert_eq!(verdict.class, Class::Dangerous, "{line}");
        assert!(verdict.way_out.contains(says), "{line}: {}", verdict.way_out);
    }
}

/// A line within another that runs it as well.
fn wrapped(line: &str, how: usize) -> String {
    let quoted = shlex::try_quote(line).expect("no NUL byte");
    match how {
        0 => format!("( {line} )"),
        1 => format!("{{ {line}; }}"),
        2 => format!("true && {line}"),
        3 => format!("{line} || true"),
        4 => format!("ls; {line} | cat"),
        5 => format!("f() {{ {line}; }}; f"),
        6 => format!("bash -c {quoted}"),
        7 => format!("bash -euo pipefail -c {quoted}"),
        8 => format!("eval {quoted}"),
        9 => format!("echo $( {line} )"),
        10 => format!("if true; then {line}; fi"),
        11 => format!("for x in a b; do {line}; done"),
        12 => format!("env A=b sh -c {quoted}"),
        13 => format!("timeout 5 bash -c {quoted}"),
        _ => format!("cat <( {line} )"),
    }
}

proptest! {
    #[test]
    fn dangerous_command_stays_dangerous_in_every_wrapper(line in dangerous_lines(), hows in proptest::collection::vec(0..15_usize, 1..4)) {
        let mut text = line;
        for how in hows {
            text = wrapped(&text, how);
            for policy in [&*UNSANDBOXED, &*IN_SANDBOX] {
                let verdict = policy.judge(&text, "").verdict;
                prop_assert_eq!(verdict.class, Class::Dangerous, "{}: {:?}", text, verdict);
            }
        }
    }
}

/// The lines that are dangerous in a sandbox and without one, but for those that are none until something follows.
fn dangerous_lines() -> impl Strategy<Value = String> {
    let themes = cases("commands-in-sandbox.yml");
    let lines =
        themes.iter().filter_map(|theme| theme["dangerous"].as_object()).flat_map(|lines| lines.keys());
    let whole = |line: &&String| !line.ends_with('(') && !line.ends_with('&');
    proptest::sample::select(lines.filter(whole).cloned().collect::<Vec<String>>())
}

#[test]
fn powershell_scripts_match_table() {
    let policy = Policy::new(&Commands::default(), Path::new("/work/repo")).expect("the default rules");
    let policy = policy.for_powershell();
    let (mut rows, mut wrong) = (0, Vec::new());
    for theme in cases("powershell.yml") {
        for expected in ["safe", "dev", "dangerous", "blocked"] {
            for script in theme[expected].as_array().into_iter().flatten() {
                let script = script.as_str().unwrap_or_else(|| panic!("{script} is no text"));
                let Assessment { verdict, blocked, .. } = policy.judge(script, "");
                let found = if blocked.is_some() { "blocked".to_owned() } else { verdict.class.to_string() };
                if found != expected {
                    wrong.push(format!("{script:?} is {found} ({}), expected: {expected}", verdict.reason));
                }
                rows += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {rows}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(rows >= 90, "{rows}");
}

#[test]
fn explain_prints_text_and_json() {
    use std::io::Write;
    use std::process::Stdio;
    let config = r#"
commands: { sandbox: off, dev_commands: [terraform plan], blocked_patterns: ["terraform +destroy"] }
guardrails: { sensitive_files: [".env*", "*.pem"], protected_files: [schema.sql], blocked_commands: ["^npm run deploy"] }
"#;
    let sandbox = crate::support::Sandbox::new(&[
        (".architect.yml", config),
        (".env", "KEY=1\n"),
        ("a.txt", ""),
        ("src/b.txt", ""),
        ("deep/key.pem", "KEY"),
    ]);
    let repo = sandbox.repo();
    let run = |args: &[&str]| sandbox.command(args).current_dir(&repo).output().expect("the binary runs");
    let text = |output: &std::process::Output| String::from_utf8_lossy(&output.stdout).into_owned();
    for (line, says) in [
        ("ls -la", "safe, allowed\n"),
        ("cat a.txt src/b.txt", "safe, allowed\nreads: a.txt, src/b.txt\n"),
        ("ls > out.txt", "dev, allowed\nreason: it writes to a file\nwrites: out.txt\n"),
        ("terraform plan", "dev, allowed\nreason: 'terraform' runs the project's own code\n"),
        (
            "echo $(curl x)",
            "dangerous, refused\nreason: 'curl' is not an allowed command in $(…)\ninstead: Use the tool `fetch_url`, or let a step of the workflow fetch it before the run.\n",
        ),
        ("rm -rf /", "dangerous, blocked\nreason: 'rm -r /' removes everything\n"),
        ("sh -c 'terraform destroy'", "dangerous, blocked\nreason: it matches \"terraform +destroy\"\n"),
        (
            "npm run deploy",
            "dev, refused\nreason: Command blocked: it matches \"^npm run deploy\" (blocked_commands)\n",
        ),
        (
            "cat .env",
            "safe, refused\nreason: .env is a sensitive file (sensitive_files: .env*)\nreads: .env\n",
        ),
        (
            "sort -g .env",
            "safe, refused\nreason: .env is a sensitive file (sensitive_files: .env*)\nreads: .env\n",
        ),
        (
            "grep KEY --ignore-case .env",
            "safe, refused\nreason: .env is a sensitive file (sensitive_files: .env*)\nreads: .env\n",
        ),
        (
            "cd deep && cat ./key.pem",
            "safe, refused\nreason: key.pem matches the sensitive file deep/key.pem\nreads: deep\n",
        ),
        (
            "cd deep; grep -r KEY",
            "safe, refused\nreason: . contains the sensitive file .env; search with the tools grep or search_code, which skip it\nreads: deep\n",
        ),
        ("cd src && cat b.txt", "safe, allowed\nreads: src\n"),
        ("cat < .e*", "safe, refused\nreason: .e* matches the sensitive file .env\nreads: .e*\n"),
        ("cat $PWD/.e*", "safe, refused\nreason: .e* matches the sensitive file .env\n"),
        ("grep -c x *", "safe, allowed\n"),
        (
            "grep -rn TODO .",
            "safe, refused\nreason: . contains the sensitive file .env; search with the tools grep or search_code, which skip it\nreads: .\n",
        ),
        ("grep -rn TODO src", "safe, allowed\nreads: src\n"),
        (
            "git show HEAD:.env",
            "safe, refused\nreason: .env is a sensitive file (sensitive_files: .env*)\nreads: .env\n",
        ),
        (
            "cat .git/config",
            "safe, refused\nreason: .git/config is in Git's own folder, which is not accessible\nreads: .git/config\n",
        ),
        ("find . -not -path './.git/*'", "safe, allowed\nreads: .\n"),
        (
            "sort a.txt > schema.sql",
            "dev, refused\nreason: schema.sql is a protected file (protected_files: schema.sql)\nreads: a.txt\nwrites: schema.sql\n",
        ),
    ] {
        assert_eq!(text(&run(&["explain", line])), says, "{line}");
    }
    assert_eq!(run(&["explain"]).status.code(), Some(3));
    let output = run(&["explain", "ls", "--workspace", "nowhere"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("error: the workspace nowhere: "));
    let lines = |input: &str| {
        let mut child = sandbox
            .command(&["explain", "--jsonl", "--workspace", repo.to_str().unwrap()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        child.stdin.take().expect("stdin").write_all(input.as_bytes()).expect("written");
        child.wait_with_output().expect("the end")
    };
    let output =
        lines("{\"command\": \"git status\"}\n\n{\"command\": \"sort < b.txt > c\", \"cwd\": \"src\"}\n");
    assert_eq!(
        text(&output),
        "{\"command\":\"git status\",\"class\":\"safe\",\"blocked\":false,\"allowed\":true,\"reads\":[],\"writes\":[]}\n\
         {\"command\":\"sort < b.txt > c\",\"class\":\"dev\",\"blocked\":false,\"allowed\":true,\"reason\":\"it writes to a file\",\"reads\":[\"src/b.txt\"],\"writes\":[\"src/c\"]}\n"
    );
    let output = lines("git status\n");
    assert_eq!(output.status.code(), Some(3));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("error: line 1 is not of the form {\"command\": …}")
    );
}

#[test]
fn explain_follows_machine_capabilities() {
    let config = "guardrails: { sensitive_files: [\".env*\"], protected_files: [schema.sql] }\n";
    let files = [
        (".architect.yml", config),
        (".env", "KEY=1\n"),
        ("a.txt", ""),
        ("schema.sql", ""),
        ("src/b.txt", ""),
    ];
    let sandbox = crate::support::Sandbox::new(&files);
    let repo = sandbox.repo();
    let explain = |line: &str| {
        let output =
            sandbox.command(&["explain", line]).current_dir(&repo).output().expect("the binary runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    let offered = architect_ci::command::sandbox::kernel_support().files;
    for (line, effects) in [
        ("cp a.txt src/c.txt", "reads: a.txt\nwrites: src/c.txt\n"),
        ("cp -t src a.txt", "writes: a.txt, src\n"),
        ("mv a.txt src/b.txt", "writes: a.txt, src/b.txt\n"),
        ("rm -f a.txt", "writes: a.txt\n"),
        ("sed -i s/a/b/ a.txt", "writes: a.txt\n"),
        ("chmod +x a.txt", "writes: a.txt\n"),
        ("git rm a.txt", "writes: a.txt\n"),
        ("git restore src/b.txt", "writes: src/b.txt\n"),
        ("python a.txt", "reads: a.txt\n"),
    ] {
        let said = explain(line);
        assert!(said.ends_with(effects), "{line}: {said}");
        let state = if offered { "dev, allowed\n" } else { "dangerous, refused\n" };
        assert!(said.starts_with(state), "{line}: {said}");
        assert_eq!(said.contains("\ninstead: "), !offered, "{line}: {said}");
    }
    for (line, part) in [
        ("rm schema.sql", "schema.sql is a protected file"),
        ("sed -i s/a/b/ schema.sql", "schema.sql is a protected file"),
        ("cp .env copy.txt", ".env is a sensitive file"),
        ("git rm -q schema.sql", "schema.sql is a protected file"),
    ] {
        let said = explain(line);
        assert!(said.contains(", refused\n"), "{line}: {said}");
        assert_eq!(said.contains(part), offered, "{line}: {said}");
    }
}

proptest! {
    #[test]
    fn powershell_analysis_survives_arbitrary_scripts(script in "(\\PC|[$(){}@'\"`|;&\n]){0,300}") {
        let policy = Policy::new(&Commands::default(), Path::new("/work/repo")).expect("the default rules");
        let started = Instant::now();
        let _ = policy.for_powershell().judge(&script, "");
        prop_assert!(started.elapsed() < Duration::from_mins(1));
    }
}
