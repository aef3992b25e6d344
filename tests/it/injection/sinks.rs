//! Text of others in every place of a report, a batch and a real run.

use std::path::Path;

use crate::support::{Sandbox, cases, outputs};
use architect_ci::github::hidden_lines;
use architect_ci::report::{
    BatchReport, CommentFrame, RunReport, TerminalFrame, annotations, batch_annotations, batch_comment,
    batch_html, batch_junit, batch_markdown, batch_summary, check_summary, comment, description, diagnostics,
    html, junit, markdown, sarif, summary, terminal,
};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeStream};
use regex::Regex;
use sanitize::untrusted;
use serde_json::{Value, json};

/// A report with something of everything in it.
fn report() -> Value {
    let sandbox = Sandbox::new(&[
        ("a.txt", "one\n"),
        (
            ".architect.yml",
            "guardrails:\n  max_gate_rounds: 1\n  protected_files: [secret.txt]\n  quality_gates:\n    - { name: bad, command: 'echo a.txt:1:1: oops; exit 3' }\n\
             hooks:\n  post_tool_use:\n    - { name: look, command: 'echo looked' }\n",
        ),
    ]);
    let calls = vec![
        ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"})),
        ("write_file", json!({"path": "secret.txt", "content": "x"})),
        ("run_command", json!({"command": "rm -rf /"})),
        ("read_file", json!({"path": "none.txt"})),
    ];
    let model = sandbox.script(&[calls], "A message");
    let mut report = sandbox.run(&["--model", &model], &[]).report();
    report["run_url"] = json!("https://github.com/octo/demo/actions/runs/1");
    report["delivery"] = json!({"branch": "b", "commit": "c", "merged": ["m"]});
    report["proof"] = json!({"old_ms": 1, "new_ms": 1, "tests": [
        {"path": "t.py", "name": "n", "line": 1, "verdict": "passes-on-old", "reason": "r"}
    ]});
    report["mutations"] = json!({"left_out": 0, "duration_ms": 1, "mutations": [
        {"path": "a.py", "line": 1, "kind": "k", "before": "b", "after": "a", "verdict": "unnoticed"}
    ]});
    report["evidence"] = json!([{"subject": "file", "claim": "c", "holds": false, "evidence": "e"}]);
    report["test_findings"] =
        json!([{"path": "t.py", "line": 1, "kind": "k", "severity": "error", "message": "m"}]);
    report["review"] = json!({"pass": 1, "model": "m", "findings": [
        {"file": "a.txt", "line": 1, "severity": "error", "message": "m"},
        {"line": 1, "severity": "note", "message": "m"}
    ]});
    report["subagents"] = json!([{"name": "n", "task": "t", "status": "success", "stop_reason": "llm_done", "message": "m", "duration_ms": 1}]);
    report
}

/// Words that are one of a few, so that nobody can write others there.
const CLOSED: [&str; 18] = [
    "subject",
    "verdict",
    "expected",
    "severity",
    "end",
    // Made of letters, digits, dots and dashes alone, also of folders that others have named.
    "folder",
    "mode",
    "status",
    "stop_reason",
    "outcome",
    "class",
    "decision",
    "level",
    "op",
    "started_at",
    "id",
    "schema_version",
    "commit",
];

/// Puts a text into every other place.
fn poison(value: &mut Value, text: &str, key: &str) {
    match value {
        Value::String(old)
            if key == "path" || key == "file" || key == "cwd" || key == "writes" || key == "reads" =>
        {
            // Names of files can hold nearly everything.
            let name: String = text.chars().filter(|c| !c.is_control() && *c != '/').take(80).collect();
            *old = if name.trim().is_empty() { "x".into() } else { format!("x{name}x") };
        }
        Value::String(old) if !CLOSED.contains(&key) => text.clone_into(old),
        Value::Array(items) => items.iter_mut().for_each(|item| poison(item, text, key)),
        Value::Object(fields) => fields.iter_mut().for_each(|(key, item)| poison(item, text, key)),
        _ => {}
    }
}

/// What somebody's Markdown renderer would act on, besides what we wrote ourselves.
fn active(markdown: &str) -> Vec<String> {
    let words = Regex::new(r"(?i)(^|[^\w`])@\w|#\d|\bGH-\d|https?://\S+/(issues|pull)/").unwrap();
    // GitHub makes a link of all that stands behind them, code as well.
    let address = Regex::new(r"(?i)(https?|ftp)://|\bwww\.").unwrap();
    let own = Regex::new(
        r"(?s)^(\s|<details open>|</?(details|summary|sub|code)>|<!-- architect-ci comment: [\w ._/-]* -->|<!-- architect-ci: no apply -->|[^<>]|&[lgq]\w+;)*$",
    )
    .unwrap();
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut found, mut code, mut link) = (Vec::new(), false, false);
    for event in TextMergeStream::new(Parser::new_ext(markdown, options)) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => code = true,
            Event::End(TagEnd::CodeBlock) => code = false,
            Event::Text(text) if !code && (words.is_match(&text) || !link && address.is_match(&text)) => {
                found.push(text.into_string());
            }
            Event::Html(text) | Event::InlineHtml(text) if !own.is_match(&text) => {
                found.push(text.into_string());
            }
            Event::Start(Tag::Image { dest_url, .. }) => found.push(dest_url.into_string()),
            Event::Start(Tag::Link { dest_url, .. }) => {
                link = true;
                found.extend((!dest_url.starts_with("http")).then(|| dest_url.into_string()));
            }
            Event::End(TagEnd::Link) => link = false,
            _ => {}
        }
    }
    found
}

/// Characters that cannot be seen, or that change how others are seen.
fn unseen(text: &str) -> Vec<char> {
    let plain = |c: char| matches!(c, '\n' | '\t');
    let hidden = |c: char| {
        c.is_control() && !plain(c)
            || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    };
    text.chars().filter(|c| hidden(*c)).collect()
}

/// Lines that the runner takes for commands.
fn commands(log: &str) -> Vec<&str> {
    let is_command = |line: &&str| line.trim_start().starts_with("::") || line.contains("##[");
    log.split(['\n', '\r']).filter(is_command).collect()
}

#[test]
fn hostile_text_is_inert_in_every_sink() {
    let clean = report();
    for row in cases("injection.yml") {
        let (name, text) = (row["name"].as_str().unwrap(), row["text"].as_str().unwrap());
        let mut value = clean.clone();
        poison(&mut value, text, "");
        let report: RunReport =
            serde_json::from_value(value).unwrap_or_else(|error| panic!("{name}: {error}"));
        let marked = "<!-- architect-ci ";
        for (sink, shown, own) in [
            (
                "comment",
                comment(
                    &report,
                    &CommentFrame { hidden: hidden_lines("k", None), ..CommentFrame::default() },
                ),
                1,
            ),
            ("description", description(&report, None, None), 0),
            ("check run", check_summary(&report, None), 0),
            ("report.md", markdown(&report), 0),
            ("summary", summary(&report), 0),
        ] {
            assert_eq!(active(&shown), Vec::<String>::new(), "{name} in {sink}: {shown}");
            assert_eq!(unseen(&shown), Vec::<char>::new(), "{name} in {sink}");
            assert_eq!(shown.matches(marked).count(), own, "{name} in {sink}: {shown}");
        }
        let page = html(&report);
        assert_eq!(unseen(&page), Vec::<char>::new(), "{name} in HTML");
        harmless_page(&page, name);
        let xml = junit(&report).unwrap();
        roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{name}: {error}\n{xml}"));
        assert_eq!(unseen(&xml), Vec::<char>::new(), "{name} in JUnit");
        let remarks = diagnostics(&report, std::path::Path::new("/x"), "", &|_| true);
        let findings = sarif(&report, "", &remarks);
        assert_eq!(unseen(&findings), Vec::<char>::new(), "{name} in SARIF");
        serde_json::from_str::<Value>(&findings)
            .unwrap_or_else(|error| panic!("{name}: {error}\n{findings}"));
        for command in annotations(&report, &remarks) {
            assert_eq!(command.lines().count(), 1, "{name}: {command}");
            assert_eq!(unseen(&command), Vec::<char>::new(), "{name}: {command}");
            let (head, _) = command[2..].split_once("::").expect("a command");
            assert!(head.starts_with("error ") || head.starts_with("warning "), "{name}: {command}");
        }
        let frame = TerminalFrame { folder: Path::new("/x"), workspace: Path::new("/y"), has_groups: false };
        let screen = untrusted::log_lines(&terminal(&report, frame));
        assert_eq!(commands(&screen), Vec::<&str>::new(), "{name}: {screen}");
        assert_eq!(unseen(&screen), Vec::<char>::new(), "{name} on the terminal");
    }
}

#[test]
fn hostile_text_is_inert_in_batch() {
    let notice = json!({"level": "error", "message": "n"});
    let file = json!({"path": "a.txt", "op": "modify", "lines": {"added": 1, "removed": 1}});
    let task = |end: &str| {
        json!({
            "id": "t", "task": "t", "end": end, "model": "m", "mode": "yolo", "stop_reason": "gates_failed", "attempts": 2,
            "duration_ms": 1, "steps": 1, "usage": {}, "message": "m", "files": [file], "changed_files": 1,
            "lines": {"added": 1, "removed": 1}, "failed_gates": ["g"], "passed_gates": 0, "blocked": 0, "notices": [notice],
            "delivery": {"branch": "b", "commit": "c", "pull_request": {"number": 1, "url": "u"}}, "folder": "tasks/t",
        })
    };
    let mut without = task("failed");
    without["failed_gates"] = json!([]);
    without["delivery"] = Value::Null;
    let clean = json!({
        "schema_version": 1, "batch": "b", "manifest": "m", "commit": "c", "status": "failed", "exit_code": 1, "started_at": "",
        "duration_ms": 1, "lost_shards": [3], "tasks": [task("failed"), task("success"), without, task("lost")], "usage": {},
        "notices": [notice], "run_url": "u",
    });
    for row in cases("injection.yml") {
        let (name, text) = (row["name"].as_str().unwrap(), row["text"].as_str().unwrap());
        let mut value = clean.clone();
        poison(&mut value, text, "");
        // Ids come from lists of others as well.
        for task in value["tasks"].as_array_mut().unwrap() {
            task["id"] = json!(text);
        }
        let report: BatchReport =
            serde_json::from_value(value).unwrap_or_else(|error| panic!("{name}: {error}"));
        for (sink, shown) in [
            ("comment", batch_comment(&report, &hidden_lines("k", None))),
            ("summary", batch_summary(&report)),
            ("batch.md", batch_markdown(&report)),
        ] {
            // Links to the reports of its own tasks are ours.
            let found: Vec<String> =
                active(&shown).into_iter().filter(|found| found != "tasks/t/report.md").collect();
            assert_eq!(found, Vec::<String>::new(), "{name} in {sink}: {shown}");
            assert_eq!(unseen(&shown), Vec::<char>::new(), "{name} in {sink}");
        }
        let page = batch_html(&report);
        assert_eq!(unseen(&page), Vec::<char>::new(), "{name} in HTML");
        assert!(!page.contains("<script") && !page.contains("<img"), "{name}: {page}");
        let xml = batch_junit(&report).unwrap();
        roxmltree::Document::parse(&xml).unwrap_or_else(|error| panic!("{name}: {error}\n{xml}"));
        assert_eq!(unseen(&xml), Vec::<char>::new(), "{name} in JUnit");
        for command in batch_annotations(&report) {
            assert_eq!((command.lines().count(), unseen(&command)), (1, Vec::new()), "{name}: {command}");
            assert!(command.starts_with("::error title="), "{name}: {command}");
        }
    }
}

/// The page holds our own script alone, and nothing that is fetched.
fn harmless_page(page: &str, name: &str) {
    let document = scraper::Html::parse_document(page);
    let all = scraper::Selector::parse("*").unwrap();
    let mut scripts = 0;
    for element in document.select(&all) {
        let tag = element.value().name();
        scripts += usize::from(tag == "script");
        assert!(
            !["img", "iframe", "object", "embed", "link", "form", "base", "svg", "video"].contains(&tag),
            "{name}: <{tag}>"
        );
        for (attribute, value) in element.value().attrs() {
            let own = [
                "lang",
                "charset",
                "name",
                "content",
                "http-equiv",
                "class",
                "open",
                "id",
                "href",
                "colspan",
                "title",
                "style",
                "type",
                "placeholder",
                "aria-label",
                "hidden",
                "data-text",
                "data-line",
                "tabindex",
                "role",
                "rel",
                "aria-pressed",
                "data-filter",
                "data-state",
            ];
            assert!(own.contains(&attribute), "{name}: {attribute}={value}");
            if attribute == "href" {
                assert!(
                    value.starts_with("https://") || value.starts_with("http://") || value.starts_with('#'),
                    "{name}: {value}"
                );
            }
            if attribute == "style" {
                assert!(
                    value.chars().all(|c| c.is_ascii_alphanumeric() || ":;.%- ".contains(c)),
                    "{name}: {value}"
                );
            }
        }
    }
    assert!(scripts <= 1, "{name}");
}

#[test]
fn hostile_text_is_inert_in_real_run() {
    for row in cases("injection.yml") {
        let (name, text) = (row["name"].as_str().unwrap(), row["text"].as_str().unwrap());
        let sandbox = Sandbox::new(&[
            ("a.txt", "one\n"),
            (
                ".architect.yml",
                "guardrails:\n  max_gate_rounds: 1\n  quality_gates:\n    - { name: show, command: 'test ! -e b.txt || { cat evil.txt; exit 1; }' }\n",
            ),
        ]);
        sandbox.write("evil.txt", text);
        sandbox.commit("evil");
        let calls = vec![
            ("run_command", json!({"command": "cat evil.txt"})),
            ("write_file", json!({"path": "b.txt", "content": text})),
        ];
        let model = sandbox.script(&[calls], text);
        let (output, step) = (sandbox.path().join("output"), sandbox.path().join("summary"));
        let variables = [
            ("GITHUB_ACTIONS", "true"),
            ("GITHUB_OUTPUT", output.to_str().unwrap()),
            ("GITHUB_STEP_SUMMARY", step.to_str().unwrap()),
        ];
        let run =
            sandbox.run(&["--model", &model, "--mode", "yolo", "--task", text], &variables).expect_code(1);
        // Commands on stderr are our own: they tell of the gate, and each is one line.
        for command in commands(&run.stderr) {
            assert!(
                command
                    .starts_with("::error title=Gate show failed%2C but not before the run (exit code 1)::"),
                "{name}: {command}"
            );
        }
        let lines: Vec<&str> = run.stdout.lines().collect();
        let token = lines[0].strip_prefix("::stop-commands::").expect("commands are stopped");
        assert_eq!(commands(&run.stdout), [lines[0], format!("::{token}::").as_str()], "{name}");
        for (channel, text) in [("stdout", &run.stdout), ("stderr", &run.stderr)] {
            assert_eq!(unseen(text), Vec::<char>::new(), "{name} on {channel}");
        }
        let outputs = outputs(&std::fs::read_to_string(&output).unwrap());
        assert_eq!(outputs["status"], "partial", "{name}");
        assert_eq!(outputs.len(), 18, "{name}");
        for output in ["summary", "changed-files"] {
            assert_eq!(unseen(&outputs[output]), Vec::<char>::new(), "{name} in {output}");
        }
        assert_eq!(active(&std::fs::read_to_string(&step).unwrap()), Vec::<String>::new(), "{name}");
    }
}
