//! Campaigns whose file or recipe changes while they go on, and pull requests that others have made or undone meanwhile.

use super::split::change;
use super::{RECIPE, Scene, WAVES};
use serde_json::{Value, json};

/// What the branch of each pull request says in `a.txt`, by repository.
fn delivered(scene: &Scene) -> Vec<String> {
    let state = scene.fleet.state();
    let all = state.places.values().flat_map(|place| place.pulls.values().map(move |pull| (place, pull)));
    all.map(|(place, pull)| {
        let text = place.git().show(&pull.branch, "a.txt").expect("a file");
        String::from_utf8(text).expect("a text").trim().to_owned()
    })
    .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_opens_nothing_where_its_file_no_longer_selects_a_repository() {
    let scene = Scene::new("waves: { canary: 3, first: [octo/r001] }\nlimits: { per_hour: 1 }\n").await;
    scene.plain(3);
    scene.run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 1);
    let none = ["octo/r000", "octo/r001", "octo/r002"]
        .into_iter()
        .find(|name| scene.fleet.state().places[*name].pulls.is_empty())
        .expect("one that waits");
    change(&scene, "[octo] }", &format!("[octo], exclude: ['{none}'] }}"));
    change(&scene, "per_hour: 1", "per_hour: 100");
    scene.run(&["run"]).expect_code(0);
    assert_eq!(scene.standings()[none].as_str(), "skipped");
    assert_eq!(scene.fleet.state().count("OPEN"), 2);
    // Neither is it there once it is wanted again, nor twice.
    change(&scene, &format!(", exclude: ['{none}']"), "");
    scene.run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 3);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_plans_anew_what_waits_for_a_limit_once_its_recipe_or_a_gate_changes() {
    let scene = Scene::new("waves: { canary: 3 }\nlimits: { per_hour: 1 }\nstop: { failed: 100% }\n").await;
    scene.plain(3);
    scene.run(&["run"]).expect_code(0);
    change(&scene, "per_hour: 1", "per_hour: 2");
    scene.sandbox.write("words.yml", RECIPE.replace("with: new", "with: newer"));
    scene.run(&["run"]).expect_code(0);
    let mut texts = delivered(&scene);
    texts.sort_unstable();
    assert_eq!(texts, ["new", "newer"]);
    let gate = "gates: [{ name: proof, command: 'if grep -q newer a.txt; then echo no good; false; fi' }]";
    change(&scene, "{ recipe: words.yml }", &format!("{{ recipe: words.yml, {gate} }}"));
    change(&scene, "per_hour: 2", "per_hour: 100");
    let run = scene.run(&["run"]).expect_code(0);
    assert_eq!(delivered(&scene).len(), 2);
    assert!(run.stdout.contains("the gate \"proof\" failed (exit code 1): no good"), "{}", run.stdout);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_takes_nothing_that_goes_to_another_branch_for_its_own() {
    let mut scene = Scene::new("waves: { canary: 2 }\nmerge: green\nstop: { failed: 100% }\n").await;
    scene.plain(2);
    scene.run(&["run"]).expect_code(0);
    {
        let mut state = scene.fleet.state();
        let place = state.place("octo/r000");
        let pull = place.pulls.values_mut().next().expect("a pull request");
        (pull.base, pull.checks) = ("dev".to_owned(), Some("SUCCESS"));
        let git = place.git();
        git.push("architect-ci/words/campaign", &[("mine.txt", "mine\n")], "Mine");
        // Nobody remembers whose it is.
        state.place(crate::support::github::fleet::HOME).git().delete("refs/heads/architect-ci-state/words");
    }
    let run = scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.standings()["octo/r000"], "failed", "{}", run.stdout);
    let state = scene.fleet.state();
    assert_eq!((state.count("MERGED"), state.places["octo/r000"].pulls.len()), (0, 1));
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_with_ids_of_tasks_deletes_its_branches_and_is_abandoned_for_good() {
    let mut scene = Scene::new("waves: { canary: 9 }\n").await;
    scene.plain(1);
    change(&scene, "{ recipe: words.yml }", "{ id: one, recipe: words.yml }");
    scene.run(&["run"]).expect_code(0);
    let run = scene.on_another_machine().run(&["abandon"]).expect_code(0);
    assert!(!run.stdout.contains("stays"), "{}", run.stdout);
    let branches = ["for-each-ref", "--format=%(refname)", "refs/heads/architect-ci"];
    assert_eq!(scene.fleet.state().place("octo/r000").git().text(&branches).as_deref(), Some(""));
    let run = scene.run(&["rerun", "--failed", "--closed"]).expect_code(3);
    assert!(run.stderr.contains("was abandoned, for good"), "{}", run.stderr);
    assert_eq!(scene.fleet.state().count("OPEN"), 0);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_is_rolled_back_as_often_as_it_was_merged() {
    let mut scene = Scene::new(WAVES).await;
    scene.fleet.add("octo/r000", &[("a.txt", "old\n"), ("b.txt", "old\n")]);
    scene.fleet.add("octo/r001", &[("a.txt", "old\n")]);
    scene.run(&["run"]).expect_code(0);
    scene.fleet.state().merge_all();
    scene.run(&["run"]).expect_code(0);
    scene.fleet.state().place("octo/r000").git().push("main", &[("a.txt", "old\n")], "The old way");
    scene.on_another_machine().run(&["drift", "--mend"]).expect_code(0);
    scene.fleet.state().merge_all();
    scene.on_another_machine().run(&["rollback"]).expect_code(0);
    let reverts = |scene: &Scene| {
        let state = scene.fleet.state();
        let pulls = state.places["octo/r000"].pulls.values();
        pulls.filter(|pull| pull.branch.starts_with("revert-")).count()
    };
    assert_eq!(reverts(&scene), 2);
    // One that people close, or nobody can write to, keeps the campaign from being said to be rolled back.
    let mut state = scene.fleet.state();
    for pull in state.place("octo/r001").pulls.values_mut().filter(|pull| pull.state == "OPEN") {
        pull.state = "CLOSED";
    }
    state.merge_all();
    drop(state);
    scene.on_another_machine().run(&["run"]).expect_code(0);
    let status = scene.status();
    let told = |at: usize| status["targets"][at].clone();
    assert_eq!((&status["status"], &told(0)["standing"]), (&json!("rolling-back"), &json!("reverted")));
    assert_eq!((&told(1)["standing"], &told(1)["needs_people"]), (&json!("merged"), &Value::Bool(true)));
    assert_eq!((told(0)["reverts"].as_array().map(Vec::len), reverts(&scene)), (Some(2), 2));
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_leaves_drafts_to_people() {
    let scene = Scene::new("waves: { canary: 2 }\nmerge: green\n").await;
    change(&scene, "title: Call it new", "title: Call it new, draft: true");
    scene.plain(1);
    scene.run(&["run"]).expect_code(0);
    for pull in scene.fleet.state().place("octo/r000").pulls.values_mut() {
        pull.checks = Some("SUCCESS");
    }
    let run = scene.run(&["run"]).expect_code(0);
    assert!(run.stdout.contains("a draft, which is merged once"), "{}", run.stdout);
    let is_tried = |request: &String| request.starts_with("PUT ");
    assert!(!scene.fleet.state().requests.iter().any(is_tried));
    scene.assert_valid();
}
