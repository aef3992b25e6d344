//! Branches of ours that somebody pushes to, creates or deletes while a delivery is under way.

use super::OWN;
use crate::support::scene::{BEFORE, scene};

/// Points in time at which a person pushes to a branch of ours: while trees, the commit, or the request that moves it are on their
/// way. The last one is where the branch is moved if there is no compare and swap.
const PUSHES: [&str; 4] = [
    "POST /repos/octo/demo/git/trees",
    "POST /repos/octo/demo/git/commits",
    "POST /graphql RepositoryId",
    "POST /graphql UpdateRefs",
];

#[tokio::test(flavor = "multi_thread")]
async fn delivery_keeps_commit_that_is_pushed_meanwhile() {
    for (is_old, when) in PUSHES
        .map(|when| (false, when))
        .into_iter()
        .chain(PUSHES.into_iter().chain(["PATCH /repos/octo/demo/git/refs"]).map(|when| (true, when)))
    {
        scene(&[], move |scene| {
            let scene = scene.on_main();
            scene.github.world().lacks_update_refs = is_old;
            scene.nightly(&scene.edit("five", "FIVE"), "pull-request", &[]).expect_code(0);
            scene.check_out();
            scene.github.move_on(when, OWN);
            let run = scene.nightly(&scene.edit("six", "SIX"), "pull-request", &[]).expect_code(1);
            let told = "contains commits that this job did not make (\"meanwhile\")";
            assert!(run.stderr.contains(told), "{when} {is_old}: {}", run.stderr);
            assert_eq!(scene.shown(OWN, "meanwhile.txt").as_deref(), Some("x\n"), "{when} {is_old}");
            assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("five", "FIVE"));
            scene.github.assert_valid();
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_creates_no_branch_that_is_there_meanwhile() {
    for when in ["POST /repos/octo/demo/git/trees", "POST /repos/octo/demo/git/refs"] {
        scene(&[], move |scene| {
            let scene = scene.on_main();
            scene.github.move_on(when, OWN);
            let run = scene.nightly(&scene.edit("five", "FIVE"), "pull-request", &[]).expect_code(1);
            assert!(run.stderr.contains("(\"meanwhile\")"), "{when}: {}", run.stderr);
            assert_eq!(scene.shown(OWN, "meanwhile.txt").as_deref(), Some("x\n"), "{when}");
            scene.github.assert_valid();
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_moves_branch_by_compare_and_swap() {
    scene(&[], move |scene| {
        let scene = scene.on_main();
        scene.nightly(&scene.edit("five", "FIVE"), "pull-request", &[]).expect_code(0);
        // The answer is lost, and the mutation sent again: the branch is where it has put it.
        scene.check_out();
        scene.github.lose_answer("POST /graphql UpdateRefs");
        scene.nightly(&scene.edit("six", "SIX"), "pull-request", &[]).expect_code(0);
        let tip = scene.tip(OWN).unwrap();
        assert_eq!(scene.parents(&tip), [scene.tip("main").unwrap()]);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("six", "SIX"));
        // Somebody deletes it: it is made again.
        scene.check_out();
        scene.github.delete_with("POST /graphql UpdateRefs", OWN);
        scene.nightly(&scene.edit("five", "FIVE"), "pull-request", &[]).expect_code(0);
        assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("five", "FIVE"));
        // A server that cannot compare gets a commit that descends from the old tip, and once.
        scene.github.world().lacks_update_refs = true;
        let old = scene.tip(OWN).unwrap();
        for _ in 0..2 {
            scene.check_out();
            scene.nightly(&scene.edit("six", "SIX"), "pull-request", &[]).expect_code(0);
            let tip = scene.tip(OWN).unwrap();
            assert_eq!(scene.parents(&tip), [old.clone(), scene.tip("main").unwrap()]);
            assert_eq!(scene.shown(OWN, "a.txt").unwrap(), BEFORE.replace("six", "SIX"));
        }
        scene.github.assert_valid();
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn delivery_by_push_keeps_commit_that_is_pushed_meanwhile() {
    scene(&[], move |scene| {
        let scene = scene.on_main();
        scene.nightly(&scene.edit("five", "FIVE"), "pull-request", &[]).expect_code(0);
        scene.check_out();
        scene.github.forbid("POST /repos/octo/demo/git/");
        // The branch is judged twice: for the API, and for the push.
        scene.github.move_on("GET /repos/octo/demo/compare/", "unrelated");
        scene.github.move_on("GET /repos/octo/demo/compare/", OWN);
        let run = scene.nightly(&scene.edit("six", "SIX"), "pull-request", &[]).expect_code(1);
        assert!(run.stderr.contains("(\"meanwhile\")"), "{}", run.stderr);
        assert_eq!(scene.shown(OWN, "meanwhile.txt").as_deref(), Some("x\n"));
    })
    .await;
}
