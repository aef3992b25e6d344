//! Records on a branch of ours, and the pace that all requests to GitHub share.
#![cfg(unix)]

use std::collections::BTreeMap;

use architect_ci::github::{Api, ApiError, Environment, RecordBranch, RecordError};

use crate::support::Sandbox;
use crate::support::github::GitHub;

const BRANCH: &str = "architect-ci-records";
const FILE: &str = "costs/2026-11.jsonl";

/// Returns a GitHub with a repository, and what keeps the repository.
async fn github() -> (GitHub, Sandbox) {
    let (github, sandbox) = (GitHub::start().await, Sandbox::new(&[("a.txt", "a\n")]));
    github.serve(&sandbox.repo());
    (github, sandbox)
}

/// Number of writers at the same time; `just record-writers` has more of them.
pub fn writers() -> usize {
    std::env::var("WRITERS").ok().and_then(|count| count.parse().ok()).unwrap_or(5)
}

fn records(github: &GitHub) -> RecordBranch {
    records_of(github, &[])
}

/// Returns the records of a process with further variables. Those of another token know nothing of this one's.
fn records_of(github: &GitHub, more: &[(&str, String)]) -> RecordBranch {
    let mut variables: BTreeMap<String, String> = github.variables().into_iter().collect();
    variables.extend(more.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
    let environment = Environment::read(&variables, None).expect("an environment").expect("GitHub");
    RecordBranch::new(Api::new(&environment).expect("a client"), BRANCH)
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_many_writers_are_all_kept() {
    let (github, _sandbox) = github().await;
    assert_eq!(records(&github).read(FILE).await.expect("no branch is no error"), None);
    let count = writers();
    let writers: Vec<_> = (0..count)
        .map(|n| {
            let branch = records_of(&github, &[("GITHUB_TOKEN", format!("ghs_0123456789.{n}"))]);
            tokio::spawn(async move {
                branch.append(FILE, &format!("{n}\n"), "add costs").await.expect("written");
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer");
    }
    let text = records(&github).read(FILE).await.expect("read").expect("there");
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut expected: Vec<String> = (0..count).map(|n| format!("{n}")).collect();
    expected.sort_unstable();
    assert_eq!(lines, expected);
    let world = github.world();
    let repository = world.repository.as_ref().expect("a repository");
    let tip = repository.branch(BRANCH).expect("the branch");
    assert_eq!(
        repository.between("main", &tip).len(),
        count,
        "one commit for each, and none of the project's"
    );
    drop(world);
    github.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_read_back_whole_and_only_from_our_branch() {
    let (github, _sandbox) = github().await;
    let branch = records(&github);
    // Over 1 MB, GitHub leaves the content of a file out.
    let long = format!("{}\n", "x".repeat(1_200_000));
    branch.append(FILE, &long, "add costs").await.expect("written");
    branch.append(FILE, "last", "add costs").await.expect("written");
    branch.append(FILE, "cut off\n", "add costs").await.expect("written");
    assert_eq!(branch.read(FILE).await.expect("read").expect("there"), format!("{long}last\ncut off\n"));
    assert_eq!(branch.read("costs/none.jsonl").await.expect("read"), None);
    let before = github.count("POST /repos/octo/demo/git/commits");
    let same = |old: Option<&str>| Ok::<_, RecordError>(old.map(str::to_owned));
    branch.update(FILE, "nothing", same).await.expect("nothing to write");
    assert_eq!(github.count("POST /repos/octo/demo/git/commits"), before);
    // Somebody else's branch is neither read nor written.
    github.world().repository.as_ref().expect("a repository").push(
        BRANCH,
        &[(FILE, "forged\n")],
        "a stranger",
    );
    for failed in [branch.read(FILE).await.map(drop), branch.append(FILE, "x\n", "add costs").await] {
        assert!(matches!(failed, Err(RecordError::Foreign(_))), "{failed:?}");
    }
    github.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_tried_again_only_where_the_branch_has_moved() {
    const TREES: &str = "POST /repos/octo/demo/git/trees";
    const MOVES: &str = "PATCH /repos/octo/demo/git/refs/heads/architect-ci-records";
    let (github, _sandbox) = github().await;
    let branch = records(&github);
    branch.append(FILE, "a\n", "add costs").await.expect("written");
    for (request, message) in [
        (TREES, "Sorry, your request timed out. It's likely that your input was too large to process."),
        (MOVES, "Repository rule violations found"),
    ] {
        github.fail_with(request, 422, message, &[]);
        let before = github.count(TREES);
        let failed = branch.append(FILE, "b\n", "add costs").await;
        assert!(matches!(failed, Err(RecordError::Api(ApiError::Refused { .. }))), "{failed:?}");
        assert_eq!(github.count(TREES), before + 1, "{message}");
    }
    github.fail_with(MOVES, 422, "Update is not a fast forward", &[]);
    branch.append(FILE, "c\n", "add costs").await.expect("written");
    assert_eq!(branch.read(FILE).await.expect("read").expect("there"), "a\nc\n");
    github.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn records_are_listed_whatever_their_number_and_long_ones_are_blobs() {
    let (github, _sandbox) = github().await;
    let branch = records(&github);
    branch.append("batches/1/00001.sealed", &"x".repeat(600_000), "add").await.expect("written");
    assert_eq!(github.count("POST /repos/octo/demo/git/blobs"), 1);
    {
        let world = github.world();
        let git = world.repository.as_ref().expect("a repository");
        let message = git.text(&["log", "-1", "--format=%B", BRANCH]).expect("a message");
        let blob = git.write_blob(b"x");
        let entry = |n| (format!("batches/1/{n:05}.sealed"), "100644".to_owned(), Some(blob.clone()));
        let tip = git.branch(BRANCH).expect("the branch");
        let tree = git.write_tree(Some(&tip), &(2..=1_200).map(entry).collect::<Vec<_>>());
        git.set(&format!("refs/heads/{BRANCH}"), &git.write_commit(&tree, &[tip], &message));
    }
    let listed = branch.list("batches/1").await.expect("listed");
    assert_eq!((listed.len(), listed[1_199].as_str()), (1_200, "01200.sealed"));
    for folder in ["batches/2", "batches/1/00001.sealed", "none"] {
        assert_eq!(branch.list(folder).await.expect("listed"), Vec::<String>::new(), "{folder}");
    }
    github.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_wait_together_for_rate_limit() {
    let (github, _sandbox) = github().await;
    let limit = "You have exceeded a secondary rate limit";
    github.fail_with("POST /repos/octo/demo/git/trees", 403, limit, &[("retry-after", "2")]);
    let writers: Vec<_> = (0..8)
        .map(|n| {
            let branch = records(&github);
            tokio::spawn(async move { branch.append(&format!("{n}"), "x\n", "add").await })
        })
        .collect();
    for writer in writers {
        writer.await.expect("a writer").expect("written");
    }
    let sent = github.world().requests.clone();
    let refused = sent.iter().position(|(_, request)| request.contains("git/trees")).expect("a tree");
    // What was under way may still arrive; nothing is sent anew before the time is up.
    let at = sent[refused].0;
    let writes = sent[refused + 1..].iter().filter(|(_, request)| request.starts_with("POST"));
    let earliest = writes.map(|(time, _)| time.duration_since(at).as_millis()).min().expect("a write");
    assert!(earliest >= 1990, "the next write came after {earliest} ms");
    // A limit that lasts longer is known to all, so that nobody else asks.
    let headers = [
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "99999999999"),
        ("x-ratelimit-resource", "core"),
    ];
    github.fail_with("GET /repos/octo/demo/git/ref", 403, "API rate limit exceeded", &headers);
    let before = github.requests().len();
    for _ in 0..3 {
        let failed = records(&github).read(FILE).await;
        assert!(matches!(failed, Err(RecordError::Api(ApiError::RateLimited { .. }))), "{failed:?}");
    }
    assert_eq!(github.requests().len(), before + 1, "one was told, and nobody else asked");
}
