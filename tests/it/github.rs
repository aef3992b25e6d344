//! The sticky comment and the runner's channels, against a loopback GitHub that checks every request
//! against the official description.

use crate::support::github::GitHub;
use crate::support::{Run, Sandbox};
use serde_json::json;

const MARKER: &str = "<!-- architect-ci comment: architect-ci -->";

/// A sandbox whose head is a pull request, with the event file for it.
struct PullRequest {
    sandbox: Sandbox,
    event: String,
    model: String,
}

impl PullRequest {
    fn new(fork: bool) -> Self {
        let sandbox = Sandbox::new(&[("a.txt", "one\n")]);
        let base = sandbox.git(&["rev-parse", "HEAD"]);
        let head = sandbox.commit("the pull request");
        let from = if fork { "stranger/demo" } else { "octo/demo" };
        let event = json!({
            "pull_request": {"number": 7,
                "head": {"sha": head, "repo": {"full_name": from}},
                "base": {"sha": base, "repo": {"full_name": "octo/demo"}}},
            "repository": {"full_name": "octo/demo"}});
        let file = sandbox.path().join("event.json");
        std::fs::write(&file, event.to_string()).unwrap();
        let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
        let model = sandbox.script(&[vec![edit]], "Done, @octocat. Fixes #1.");
        Self { event: file.to_str().unwrap().to_owned(), sandbox, model }
    }

    fn run(&self, github: &GitHub, more: &[(&str, &str)]) -> Run {
        let owned = github.variables();
        let mut variables: Vec<(&str, &str)> =
            owned.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        variables.extend(more);
        self.sandbox.run(&["--event", &self.event, "--model", &self.model], &variables)
    }
}

/// The binary blocks, so it runs beside the server's thread.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(work).await.expect("no panic")
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_is_created_once_then_updated() {
    let github = GitHub::start().await;
    // Somebody else wrote the marker, and the bot wrote many other comments.
    github.seed("stranger", &format!("{MARKER}\nmine!"), 1);
    github.seed("github-actions[bot]", "coverage report", 150);
    let github = blocking(move || {
        let pull = PullRequest::new(false);
        let run = pull.run(&github, &[]).expect_code(0);
        assert!(
            run.stderr.contains("comment: https://github.com/octo/demo/pull/7#issuecomment-152"),
            "{}",
            run.stderr
        );
        pull.run(&github, &[]).expect_code(0);
        github
    })
    .await;
    let own: Vec<String> = github.comments_by("github-actions[bot]");
    let sticky: Vec<&String> = own.iter().filter(|body| body.starts_with(MARKER)).collect();
    assert_eq!((own.len(), sticky.len()), (151, 1));
    assert!(sticky[0].contains("`@octocat`") && sticky[0].contains("Fixes `#1`"), "{}", sticky[0]);
    assert!(sticky[0].contains("[run](https://github.com/octo/demo/actions/runs/4711)"), "{}", sticky[0]);
    assert_eq!(github.comments_by("stranger"), [format!("{MARKER}\nmine!")]);
    let patches = github.requests().iter().filter(|request| request.starts_with("PATCH")).count();
    assert_eq!(patches, 1);
    github.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn github_enterprise_server_paths_are_used() {
    let github = GitHub::start_below("/api/v3").await;
    github.seed("somebody", "hello", 120);
    let github = blocking(move || {
        PullRequest::new(false).run(&github, &[]).expect_code(0);
        github
    })
    .await;
    assert_eq!(github.comments_by("github-actions[bot]").len(), 1);
    assert!(github.requests().contains(&"POST /api/graphql".to_owned()), "{:?}", github.requests());
    github.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_failure_names_cure_and_keeps_files() {
    for (fork, fault, status, message, says) in [
        (
            false,
            "POST /repos",
            403,
            "Resource not accessible by integration",
            "add `permissions: pull-requests: write` to the job",
        ),
        (
            true,
            "POST /repos",
            403,
            "Resource not accessible by integration",
            "on pull requests from forks, the token is read-only",
        ),
        (false, "POST /graphql", 401, "Bad credentials", "GitHub refused the token (Bad credentials)"),
        (false, "POST /repos", 422, "Validation Failed", "Validation Failed (422)"),
    ] {
        let github = GitHub::start().await;
        github.fail(fault, status, message);
        blocking(move || {
            let pull = PullRequest::new(fork);
            let run = pull.run(&github, &[]).expect_code(0);
            assert!(run.stderr.contains(says), "{}", run.stderr);
            for file in [
                "report.json",
                "report.md",
                "comment.md",
                "summary.md",
                "junit.xml",
                "plan.json",
                "plan.patch",
            ] {
                assert!(run.out.join(file).metadata().is_ok_and(|file| file.len() > 0), "{file}");
            }
            assert!(
                run.report()["notices"].to_string().contains("the comment is in"),
                "the report tells of it"
            );
            github.assert_valid();
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn github_server_errors_are_retried() {
    let github = GitHub::start().await;
    github.fail("GET /repos", 502, "Bad gateway");
    github.fail("POST /graphql", 503, "Unavailable");
    blocking(move || {
        PullRequest::new(false).run(&github, &[]).expect_code(0);
        assert_eq!(github.comments_by("github-actions[bot]").len(), 1);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn comment_without_token_or_pull_request_is_a_file() {
    let github = GitHub::start().await;
    blocking(move || {
        let pull = PullRequest::new(false);
        let run = pull.run(&github, &[("GITHUB_TOKEN", "")]).expect_code(0);
        assert!(run.stderr.contains("(no token; set `github-token` or GITHUB_TOKEN)"), "{}", run.stderr);
        std::fs::write(&pull.event, r#"{"repository": {"full_name": "octo/demo"}}"#).unwrap();
        let run = pull.run(&github, &[("GITHUB_EVENT_NAME", "schedule")]).expect_code(0);
        assert!(
            run.stderr.contains("the event schedule does not belong to a pull request or issue"),
            "{}",
            run.stderr
        );
        let never = pull.run(&github, &[("INPUT_COMMENT", "never")]).expect_code(0);
        assert!(never.stderr.contains("(not requested)"), "{}", never.stderr);
        assert!(github.requests().is_empty(), "{:?}", github.requests());
        assert!(run.file("comment.md").starts_with(MARKER));
    })
    .await;
}

/// A clone as actions/checkout makes it: the pull request's head alone.
fn shallow_clone(of: &Sandbox) -> Sandbox {
    let clone = Sandbox::without_git(&[]);
    let url = format!("file://{}", of.repo().display());
    crate::support::git(clone.path(), &["clone", "--quiet", "--depth=1", &url, "repo"]);
    clone
}

#[tokio::test(flavor = "multi_thread")]
async fn base_commit_missing_from_clone_is_fetched() {
    let github = GitHub::start().await;
    blocking(move || {
        let origin = Sandbox::new(&[(".github/architect.yml", "github:\n  comment_key: by-base\n")]);
        github.serve(&origin.repo());
        let base = origin.git(&["rev-parse", "HEAD"]);
        origin.write(".github/architect.yml", "github:\n  comment_key: by-head\n");
        let head = origin.commit("the pull request");
        let clone = shallow_clone(&origin);
        let event = json!({
            "pull_request": {"number": 7,
                "head": {"sha": head, "repo": {"full_name": "octo/demo"}},
                "base": {"sha": base, "repo": {"full_name": "octo/demo"}}},
            "repository": {"full_name": "octo/demo"}});
        let file = clone.path().join("event.json");
        std::fs::write(&file, event.to_string()).unwrap();
        let model = clone.script(&[], "done");
        let run = |clone: &Sandbox| {
            let owned = github.variables();
            let mut variables: Vec<_> =
                owned.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            variables.push(("INPUT_COMMENT", "never"));
            let run =
                clone.run(&["--event", file.to_str().unwrap(), "--model", &model], &variables).expect_code(0);
            run.file("comment.md").lines().next().unwrap().to_owned()
        };
        assert_eq!(run(&clone), "<!-- architect-ci comment: by-base -->");
        assert!(github.requests().is_empty());
        // Where fetching fails (checkout keeps no credentials), the API is asked.
        let clone = shallow_clone(&origin);
        clone.git(&["remote", "set-url", "origin", "file:///nowhere"]);
        assert_eq!(run(&clone), "<!-- architect-ci comment: by-base -->");
        assert_eq!(github.count("GET /repos/octo/demo/contents/.github/architect.yml"), 1);
        github.assert_valid();
    })
    .await;
}

#[test]
fn runner_command_files_are_written() {
    let sandbox = Sandbox::new(&[
        ("a.txt", "one\n"),
        (
            ".architect.yml",
            "guardrails:\n  max_gate_rounds: 1\n  quality_gates:\n    - { name: bad, command: 'grep -q one a.txt || { echo ::error::gate; exit 3; }' }\n",
        ),
    ]);
    let edit = ("edit_file", json!({"path": "a.txt", "old_str": "one", "new_str": "two"}));
    let model = sandbox.script(&[vec![edit]], "::set-output name=status::hacked\nEOF\nstatus=hacked");
    let (output, summary) = (sandbox.path().join("output"), sandbox.path().join("summary"));
    let variables = [
        ("GITHUB_ACTIONS", "true"),
        ("GITHUB_OUTPUT", output.to_str().unwrap()),
        ("GITHUB_STEP_SUMMARY", summary.to_str().unwrap()),
        ("GITHUB_TOKEN", "a-very-secret-token"),
    ];
    let run = sandbox.run(&["--model", &model], &variables).expect_code(1);
    let outputs = crate::support::outputs(&std::fs::read_to_string(&output).unwrap());
    let get = |name: &str| outputs.get(name).map(String::as_str);
    assert_eq!(get("status"), Some("partial"));
    assert_eq!(get("exit-code"), Some("1"));
    assert_eq!(get("changed-files"), Some("a.txt"));
    assert_eq!(get("summary"), Some("::set-output name=status::hacked\nEOF\nstatus=hacked"));
    assert_eq!(get("plan-digest"), run.report()["plan"]["digest"].as_str());
    assert_eq!(get("plan-path"), run.out.join("plan.json").to_str());
    assert_eq!(get("sarif-path"), run.out.join("findings.sarif").to_str());
    assert_eq!(outputs.len(), 18);
    let text = std::fs::read_to_string(&summary).unwrap();
    assert!(text.contains("```mermaid\ngantt") && text.contains("section tools"), "{text}");
    // On stdout the message is fenced off from the runner, and none of its lines is a command.
    let lines: Vec<&str> = run.stdout.lines().collect();
    let token = lines[0].strip_prefix("::stop-commands::").expect("commands are stopped");
    assert_eq!(lines.last(), Some(&format!("::{token}::").as_str()));
    assert!(lines[1..lines.len() - 1].iter().all(|line| !line.trim_start().starts_with("::")), "{lines:?}");
    // On stderr there are our own commands and no others.
    let commands: Vec<&str> = run.stderr.lines().filter(|line| line.trim_start().starts_with("::")).collect();
    assert_eq!(commands.len(), 2, "{commands:?}");
    assert_eq!(commands[0], "::add-mask::a-very-secret-token");
    assert_eq!(
        commands[1],
        "::error title=Gate bad failed%2C but not before the run (exit code 3)::::error::gate"
    );
}
