//! The state of a campaign: goes on with on any machine, and believed only if it is ours.

use super::{Scene, WAVES};
use crate::support::github::fleet::{Authorship, HOME};

#[tokio::test(flavor = "multi_thread")]
async fn campaign_killed_anywhere_goes_on_elsewhere() {
    let number = |name: &str, default: usize| {
        std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (count, kills) = (number("CAMPAIGN_REPOSITORIES", 8), number("CAMPAIGN_KILLS", 4));
    let mut scene = Scene::new(WAVES).await;
    scene.plain(count);
    let (mut seed, mut killed) = (number("CAMPAIGN_SEED", 7), 0);
    for round in 0.. {
        assert!(round < 40 + kills * 3, "no end: {}", scene.status());
        scene.on_another_machine();
        if killed < kills {
            // Any will do that differ; the same seed is the same sequence.
            seed = (seed * 1_103 + 12_345) % 65_536;
            killed += usize::from(scene.run_killed(4 + seed % 60, seed % 2 == 0));
        } else {
            scene.run(&["run"]).expect_code(0);
        }
        if round % 2 == 1 {
            scene.fleet.state().merge_all();
        }
        if scene.fleet.state().count("MERGED") == count {
            break;
        }
    }
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.status()["status"], "finished");
    assert!(killed >= kills.min(3), "{killed} kills");
    let state = scene.fleet.state();
    let created: Vec<usize> =
        state.places.iter().filter(|(name, _)| *name != HOME).map(|(_, place)| place.pulls.len()).collect();
    assert_eq!(created, vec![1; count], "one pull request each");
    assert_eq!(state.issues.len(), 1, "one dashboard");
    eprintln!("{count} repositories, {killed} kills, {} requests", state.requests.len());
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_leaves_the_rest_to_another_start() {
    let mut scene = Scene::new(WAVES).await;
    scene.plain(2);
    scene.run(&["run"]).expect_code(0);
    scene.fleet.state().merge_all();
    scene.fleet.add("octo/r100", &[("a.txt", "old\n")]);
    let branch = "architect-ci-state/words";
    let own = scene.fleet.state().place(HOME).git().branch(branch).expect("the state");
    scene.fleet.state().place(HOME).pushed_meanwhile = Some(branch.to_owned());
    let run = scene.on_another_machine().run(&["run"]).expect_code(2);
    assert!(run.stderr.contains("another start is at work"), "{}", run.stderr);
    scene.fleet.state().place(HOME).git().set(&format!("refs/heads/{branch}"), &own);
    scene.on_another_machine().run(&["run"]).expect_code(0);
    let state = scene.fleet.state();
    assert!(state.places.values().all(|place| place.pulls.len() <= 1), "nothing is opened twice");
    assert_eq!(state.count("OPEN") + state.count("MERGED"), 3);
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_state_of_others_is_not_believed() {
    let scene = Scene::new(WAVES).await;
    scene.plain(2);
    scene.run(&["run"]).expect_code(0);
    let branch = "architect-ci-state/words";
    let bot = "github-actions[bot]";
    for (author, committer, is_signed, told) in [
        ("mallory", "web-flow", true, "was last written by mallory"),
        (bot, "web-flow", false, "(not signed by GitHub)"),
        // Anybody may sign a commit that bears the bot's name as its author's.
        (bot, "mallory", true, "(signed by mallory, not by GitHub)"),
    ] {
        let mut state = scene.fleet.state();
        let git = state.place(HOME).git();
        let own = git.branch(branch).expect("the state");
        let forged = git.push(branch, &[("campaign.json", "{}")], "forged");
        state.authors.insert(forged, Authorship { author, committer, is_signed });
        drop(state);
        let run = scene.run(&["run"]).expect_code(3);
        assert!(run.stderr.contains(told), "{}", run.stderr);
        scene.fleet.state().place(HOME).git().set(&format!("refs/heads/{branch}"), &own);
    }
    // Nor is one that would take for ever.
    let mut state = scene.fleet.state();
    let git = state.place(HOME).git();
    let own = git.branch(branch).expect("the state");
    let text = String::from_utf8(git.show(branch, "campaign.json").expect("a state")).expect("a text");
    git.push(branch, &[("campaign.json", &text.replace("\"waves\": 1", "\"waves\": 4294967295"))], "many");
    drop(state);
    let run = scene.run(&["run"]).expect_code(3);
    assert_eq!(run.stderr.matches("it has 4294967295 waves").count(), 1, "{}", run.stderr);
    scene.fleet.state().place(HOME).git().set(&format!("refs/heads/{branch}"), &own);
    // Without any state, what is on GitHub is found again.
    scene.fleet.state().place(HOME).git().delete(&format!("refs/heads/{branch}"));
    scene.run(&["run"]).expect_code(0);
    let state = scene.fleet.state();
    assert_eq!((state.count("OPEN"), state.issues.len()), (2, 1));
    drop(state);
    scene.assert_valid();
}
