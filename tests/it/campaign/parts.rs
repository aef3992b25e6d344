//! Parts of a split plan through whatever happens to the repository, to the campaign's file and to its state.

use super::Scene;
use super::split::{change, map, parts, pulls, splitting};
use crate::support::github::fleet::{HOME, Place};

const WAVES: &str = "waves: { canary: 9 }\nstop: { closed: 100%, failed: 0% }\n";

/// The number of the pull request of a part of `octo/mono`, by a word in the name of its branch.
fn number(place: &Place, word: &str) -> u64 {
    *place.pulls.iter().find(|(_, pull)| pull.branch.contains(word)).expect("a pull request").0
}

/// Has people close the pull request of a part.
fn close(scene: &Scene, word: &str) {
    let mut state = scene.fleet.state();
    let place = state.place("octo/mono");
    let number = number(place, word);
    place.pulls.get_mut(&number).expect("a pull request").state = "CLOSED";
}

/// Plans the part of `octo/mono` with this word in its branch again, because it is in conflict. Returns whether its branch has moved.
fn is_refreshed(scene: &mut Scene, word: &str) -> bool {
    let (branch, before) = {
        let mut state = scene.fleet.state();
        let place = state.place("octo/mono");
        let number = number(place, word);
        let pull = place.pulls.get_mut(&number).expect("a pull request");
        pull.conflicting = true;
        let branch = pull.branch.clone();
        let before = place.git().branch(&branch);
        (branch, before)
    };
    scene.on_another_machine().run(&["run"]).expect_code(0);
    let mut state = scene.fleet.state();
    let place = state.place("octo/mono");
    place.pulls.values_mut().for_each(|pull| pull.conflicting = false);
    place.git().branch(&branch) != before
}

fn forget_state(scene: &Scene) {
    scene.fleet.state().place(HOME).git().delete("refs/heads/architect-ci-state/words");
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_leaves_files_with_the_pull_request_that_has_them() {
    let mut scene = splitting(WAVES).await;
    scene.run(&["run"]).expect_code(0);
    close(&scene, ".dev-");
    // All of it has other owners now, and there is more to change.
    let files = [
        ("CODEOWNERS", "/web/ @octo/site\n/api/ @ops\n* @all\n"),
        ("new/a.txt", "old\n"),
        ("a.txt", "older\n"),
    ];
    scene.fleet.state().place("octo/mono").git().push("main", &files, "Other owners");
    assert!(is_refreshed(&mut scene, "/campaign"), "the part that nobody owned");
    let titles = [
        ("Call it new", "a.txt"),
        ("Call it new (octo/web)", "web/a.txt web/b.txt"),
        // Nobody had that yet.
        ("Call it new (all)", "new/a.txt"),
    ];
    assert_eq!(pulls(&scene), map(&titles));
    assert!(is_refreshed(&mut scene, ".octo-web-"), "its files belong to it still");
    assert_eq!(pulls(&scene), map(&titles), "and what people have closed stays closed");
    assert_eq!(scene.fleet.state().place("octo/mono").pulls.len(), 4);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_that_begins_to_split_leaves_open_what_it_has_opened() {
    let mut scene = splitting(WAVES).await;
    change(&scene, ", split: owners", "");
    scene.run(&["run"]).expect_code(0);
    let whole = map(&[("Call it new", "a.txt api/a.txt web/a.txt web/b.txt")]);
    assert_eq!(pulls(&scene), whole);
    change(&scene, "title: Call it new", "title: Call it new, split: owners");
    scene.fleet.state().place("octo/mono").git().push("main", &[("a.txt", "older\n")], "Older");
    assert!(is_refreshed(&mut scene, "/campaign"));
    assert_eq!(pulls(&scene), whole, "nothing is opened for each owner");
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_that_no_longer_splits_opens_the_rest_as_it_was_begun() {
    let mut scene = splitting(&format!("{WAVES}limits: {{ open: 1 }}\n")).await;
    scene.run(&["run"]).expect_code(0);
    assert_eq!(pulls(&scene).len(), 1, "the others wait");
    change(&scene, ", split: owners", "");
    change(&scene, "open: 1", "open: 9");
    scene.on_another_machine().run(&["run"]).expect_code(0);
    let titles = [
        ("Call it new", "a.txt"),
        ("Call it new (dev)", "api/a.txt"),
        ("Call it new (octo/web)", "web/a.txt web/b.txt"),
    ];
    assert_eq!(pulls(&scene), map(&titles));
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_without_its_state_ends_what_it_has_opened() {
    for (words, standing) in [
        (&["rollback"][..], "closed"),
        (&["abandon"], "closed"),
        (&["close"], "withdrawn"),
        (&["close", "--only", "octo/mono"], "withdrawn"),
    ] {
        let mut scene = splitting(WAVES).await;
        scene.fleet.add("octo/plain", &[("a.txt", "old\n")]);
        scene.run(&["run"]).expect_code(0);
        let mut state = scene.fleet.state();
        assert_eq!(state.count("OPEN"), 4);
        let place = state.place("octo/mono");
        place.merge(number(place, ".octo-web-"));
        drop(state);
        forget_state(&scene);
        let run = scene.on_another_machine().run(words).expect_code(0);
        assert!(!run.stdout.contains("rolled back"), "a revert is still open: {}", run.stdout);
        assert_eq!(run.stdout.contains("there was no saved state"), words[0] == "rollback", "{}", run.stdout);
        let told = parts(&scene);
        assert_eq!((told["dev"].as_str(), told[""].as_str()), (standing, standing), "{words:?}");
        assert_eq!(told["octo"], "merged", "{words:?}");
        // The revert, or the repository that is not meant.
        let open = scene.fleet.state().count("OPEN");
        assert_eq!(open, usize::from(words[0] == "rollback" || words.len() > 1), "{words:?}");
        scene.assert_valid();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_without_its_state_opens_no_part_again() {
    let mut scene = splitting(WAVES).await;
    scene.run(&["run"]).expect_code(0);
    close(&scene, ".dev-");
    scene.fleet.state().place("octo/mono").git().push(
        "main",
        &[("CODEOWNERS", "/api/ @ops\n")],
        "Other owners",
    );
    forget_state(&scene);
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().place("octo/mono").pulls.len(), 3);
    assert_eq!(parts(&scene), map(&[("", "open"), ("octo", "open"), ("dev", "closed")]));
    scene.assert_valid();
}
