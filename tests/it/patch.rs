//! Patches against Git: 500 generated diffs give what `git apply` gives, whatever the file looks like.

use patch::{ApplyError, Patch, apply};
use workspace::WorkspacePath;

use crate::support::Sandbox;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

/// A text of few different lines, so that context repeats, and an edited one.
fn edited() -> impl Strategy<Value = (String, String)> {
    let line = prop_oneof![
        "[a-d]{1,2}",
        Just(String::new()),
        Just("    indented".to_owned()),
        Just("-- dashes".to_owned()),
        Just("++ pluses".to_owned())
    ];
    let lines = proptest::collection::vec(line.clone(), 1..40);
    let edits = proptest::collection::vec(
        (any::<prop::sample::Index>(), prop::option::of(line), any::<bool>()),
        1..6,
    );
    (lines, edits, any::<bool>(), any::<bool>()).prop_map(|(old, edits, newline, crlf)| {
        let mut new = old.clone();
        for (at, line, replaces) in edits {
            let at = at.index(new.len() + 1);
            if replaces && at < new.len() {
                new.remove(at);
            }
            if let Some(line) = line {
                new.insert(at.min(new.len()), line);
            }
        }
        let end = if crlf { "\r\n" } else { "\n" };
        let text = |lines: &[String]| {
            let joined = lines.join(end);
            if newline && !joined.is_empty() { joined + end } else { joined }
        };
        (text(&old), text(&new))
    })
}

#[test]
fn patch_applies_git_diffs_as_git_does() {
    let sandbox = Sandbox::new(&[]);
    let repo = sandbox.repo();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let path = WorkspacePath::parse("file.txt").expect("a path");
    let (mut compared, mut applied) = (0, 0);
    while compared < 500 {
        let (old, new) = edited().new_tree(&mut runner).expect("a value").current();
        if old == new {
            continue;
        }
        // Git makes the diff; then the file moves on a little, so that offsets are needed.
        let moved = if compared % 3 == 0 { format!("first\nsecond\n{old}") } else { old.clone() };
        std::fs::write(repo.join("old.txt"), &old).unwrap();
        std::fs::write(repo.join("new.txt"), &new).unwrap();
        let diff = std::process::Command::new("git")
            .args(["-c", "core.autocrlf=false", "diff", "--no-index", "--no-color", "old.txt", "new.txt"])
            .current_dir(&repo)
            .output()
            .expect("git");
        let diff = String::from_utf8(diff.stdout)
            .expect("text")
            .replace("old.txt", "file.txt")
            .replace("new.txt", "file.txt");
        std::fs::write(repo.join("file.txt"), &moved).unwrap();
        std::fs::write(repo.join("diff"), &diff).unwrap();
        let git_apply = std::process::Command::new("git")
            .args(["-c", "core.autocrlf=false", "apply", "--whitespace=nowarn", "diff"])
            .current_dir(&repo)
            .output()
            .expect("git");
        let by_git =
            git_apply.status.success().then(|| std::fs::read_to_string(repo.join("file.txt")).unwrap());
        let patch = Patch::parse(&diff, &path).unwrap_or_else(|error| panic!("{error}\n{diff}"));
        let ours = apply(&moved, &patch).map(|applied| applied.content);
        match by_git {
            // Git takes the later of two places that are as near to the line number.
            Some(_) if matches!(ours, Err(ApplyError::Ambiguous { .. })) => {
                assert!(moved != old, "{moved:?}\n{diff}");
            }
            Some(expected) => {
                assert_eq!(ours, Ok(expected), "{moved:?}\n{diff}");
                applied += 1;
            }
            // Git refuses a hunk at the very start or end of a file that has moved on. A model's numbers
            // are not worth that, so we do not; but then the change has to be where the text has gone.
            None => {
                assert!(ours.is_err() || ours == Ok(format!("first\nsecond\n{new}")), "{moved:?}\n{diff}");
            }
        }
        compared += 1;
    }
    assert!(applied > 400, "{applied}");
}

/// Hunks without context land where `git apply --unidiff-zero` puts them, or are refused where the file has moved on.
#[test]
fn patch_without_context_lands_where_git_puts_it() {
    let sandbox = Sandbox::new(&[]);
    let repo = sandbox.repo();
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let path = WorkspacePath::parse("file.txt").expect("a path");
    let git = |args: &[&str]| {
        std::process::Command::new("git")
            .args(["-c", "core.autocrlf=false"])
            .args(args)
            .current_dir(&repo)
            .output()
            .expect("git")
    };
    let (mut compared, mut refused) = (0, 0);
    while compared < 300 {
        let (old, new) = edited().new_tree(&mut runner).expect("a value").current();
        if old == new || old.is_empty() {
            continue;
        }
        let has_moved = compared % 4 == 3;
        let now = if has_moved { format!("first\nsecond\n{old}") } else { old.clone() };
        std::fs::write(repo.join("old.txt"), &old).unwrap();
        std::fs::write(repo.join("new.txt"), &new).unwrap();
        let diff = git(&["diff", "--no-index", "--no-color", "-U0", "old.txt", "new.txt"]).stdout;
        let diff = String::from_utf8(diff)
            .expect("text")
            .replace("old.txt", "file.txt")
            .replace("new.txt", "file.txt");
        std::fs::write(repo.join("file.txt"), &now).unwrap();
        std::fs::write(repo.join("diff"), &diff).unwrap();
        let applied = git(&["apply", "--unidiff-zero", "--whitespace=nowarn", "diff"]);
        let by_git =
            applied.status.success().then(|| std::fs::read_to_string(repo.join("file.txt")).unwrap());
        let ours = apply(&now, &Patch::parse(&diff, &path).expect("a patch")).map(|applied| applied.content);
        if has_moved {
            // The numbers are wrong now, and Git goes by them where it finds the same line. What is not refused here has
            // to be where the text has gone, or where Git puts it.
            refused += usize::from(ours.is_err());
            let moved = format!("first\nsecond\n{new}");
            assert!(
                ours.is_err() || ours == Ok(moved) || ours.clone().ok() == by_git,
                "{now:?}\n{diff}\n{ours:?}\n{by_git:?}"
            );
        } else {
            assert_eq!(by_git.as_ref(), Some(&new), "{old:?}\n{diff}");
            assert_eq!(ours, Ok(new), "{old:?}\n{diff}");
        }
        compared += 1;
    }
    assert!(refused > 20, "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn patch_survives_arbitrary_text(text in "(@@|@@ -1,2 \\+1,2 @@|@@ -99999999999999999999 \\+1 @@|---|\\+\\+\\+| |-|\\+|a|\\\\|/dev/null|\"|```|\n|\r|\u{e9}){0,40}", content in "[ab\r\n]{0,20}") {
        let path = WorkspacePath::parse("a").expect("a path");
        if let Ok(patch) = Patch::parse(&text, &path) {
            let _ = apply(&content, &patch);
        }
    }
}

/// Patches for files that repeat themselves: each window of the file compared with all of the hunk would be 10⁷ lines and more.
#[test]
fn patch_search_ends_where_lines_repeat_themselves() {
    let parsed = |text: &str| -> Patch { patch::sections(text).unwrap().remove(0).patch };
    let (file, hunk) = ("x\n".repeat(10_000), " x\n".repeat(4_000));
    let numbered = format!("--- a/a\n+++ b/a\n@@ -1,4000 +1,4000 @@\n{hunk}-y\n+z\n x\n");
    let loose = numbered.replace(" x\n", " x \n");
    let anchored = format!("*** Begin Patch\n*** Update File: a\n@@\n{hunk}-y\n+z\n*** End Patch\n");
    for text in [&numbered, &loose, &anchored] {
        let error = apply(&file, &parsed(text)).unwrap_err();
        assert!(matches!(error, ApplyError::Hunk { .. }), "{error}");
    }
    // It has a place, and is found there from any line.
    let far = format!("{}y\n{}", "x\n".repeat(9_000), "x\n".repeat(1_000));
    assert_eq!(apply(&far, &parsed(&numbered)).unwrap().content, far.replace('y', "z"));
    // As many anchors as lines, each of which opens a block to the end of the file.
    let blocks: String = (0..40_000).map(|at| format!("a{at}\n b\n")).collect();
    let text = "*** Begin Patch\n*** Update File: a\n@@ a\n@@ a\n-nothing\n+z\n*** End Patch\n";
    let error = apply(&blocks, &parsed(text)).unwrap_err();
    assert!(matches!(error, ApplyError::Hunk { .. }), "{error}");
}
