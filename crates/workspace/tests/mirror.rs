//! Tests of files that others change after a run has last read them.

use std::fs;
use std::sync::Arc;

use workspace::{
    Checks, DiskWorkspace, Judge, LastLink, Mirror, Proposed, TrackedWorkspace, Workspace, WorkspacePath,
};

/// Refuses text of theirs that is hostile.
fn judge() -> Judge {
    Arc::new(|proposed: Proposed<'_>| {
        let is_hostile = |content: &[u8]| content.windows(4).any(|part| part == b"evil");
        let after = proposed.changes.iter().filter_map(|change| change.after.as_ref());
        if after.into_iter().any(|state| is_hostile(&state.content)) {
            return Err(vec!["evil".to_owned()]);
        }
        Ok(Vec::new())
    })
}

#[test]
fn files_of_the_run_that_others_rewrite_are_judged_or_put_back() {
    for (theirs, checks, expected) in [
        ("kind\n", Checks::Pending, "kind\n"),
        ("evil\n", Checks::Pending, "ours\n"),
        // The run's file was checked, and theirs was not.
        ("kind\n", Checks::Done, "ours\n"),
    ] {
        let checkout = tempfile::tempdir().expect("a folder");
        let temp = tempfile::tempdir().expect("a folder");
        fs::write(checkout.path().join("a.txt"), "before\n").expect("a file");
        let tracked =
            TrackedWorkspace::new(Arc::new(DiskWorkspace::open(checkout.path()).expect("a folder")));
        let tracked = Arc::new(tracked);
        let mirror = Mirror::new(Arc::clone(&tracked), temp.path(), &[]).expect("a mirror");
        for name in ["a.txt", "new.txt"] {
            let path = WorkspacePath::parse(name).expect("a path");
            let path = tracked.resolve(&path, LastLink::Follow).expect("a path");
            tracked.write(&path, b"ours\n").expect("a file");
            fs::write(checkout.path().join(name), theirs).expect("a file");
        }
        let late = mirror.settle_late(&judge(), checks).expect("no damage");
        for name in ["a.txt", "new.txt"] {
            let now = fs::read_to_string(checkout.path().join(name)).expect("a file");
            assert_eq!(now, expected, "{name}, {theirs:?}, {checks:?}: {late:?}");
        }
        assert_eq!(late.kept.is_empty(), expected == "ours\n", "{late:?}");
        assert_eq!(late.restored.is_empty(), expected != "ours\n", "{late:?}");
    }
}
