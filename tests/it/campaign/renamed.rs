//! Repositories that are renamed while a campaign goes on.

use serde_json::json;

use super::{Scene, WAVES};

#[tokio::test(flavor = "multi_thread")]
async fn campaign_goes_on_in_a_renamed_repository_as_the_same_target() {
    let mut scene = Scene::new(&format!("{WAVES}stop: {{ closed: 100% }}\n")).await;
    scene.plain(6);
    scene.run(&["run"]).expect_code(0);
    let open: Vec<String> = {
        let state = scene.fleet.state();
        let open = state.places.iter().filter(|(_, place)| !place.pulls.is_empty());
        open.map(|(name, _)| name.clone()).collect()
    };
    // One with an open pull request, and one with a merged one.
    let new = ["octo/new-a", "octo/new-b"];
    scene.fleet.rename(&open[0], new[0]);
    let run = scene.on_another_machine().run(&["run"]).expect_code(0);
    assert!(
        run.stdout.contains(&format!("{} has been renamed, and goes on as octo/new-a", open[0])),
        "{}",
        run.stdout
    );
    assert_eq!(scene.fleet.state().count("OPEN"), 2);
    scene.fleet.state().merge_all();
    scene.fleet.rename(&open[1], new[1]);
    for _ in 0..3 {
        scene.on_another_machine().run(&["run"]).expect_code(0);
        scene.fleet.state().merge_all();
    }
    let status = scene.status();
    assert_eq!(status["counts"], json!({"merged": 6}));
    assert_eq!(status["waves"].as_array().map(Vec::len), Some(2), "2 and 4 repositories");
    // What comes back is mended under the new name, and all of it is taken back, once.
    scene.fleet.state().place(new[0]).git().push("main", &[("c.txt", "old\n")], "the old way");
    scene.on_another_machine().run(&["drift", "--mend"]).expect_code(0);
    scene.fleet.state().merge_all();
    for _ in 0..2 {
        scene.on_another_machine().run(&["rollback"]).expect_code(0);
    }
    let state = scene.fleet.state();
    let reverts = |name: &str| {
        let pulls = state.places[name].pulls.values();
        pulls.filter(|pull| pull.branch.starts_with("revert-")).count()
    };
    assert_eq!((new.map(reverts), state.count("MERGED"), state.count("OPEN")), ([2, 1], 7, 7));
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_does_nothing_twice_where_two_names_lead_to_a_repository() {
    let mut scene = Scene::new("").await;
    scene.plain(2);
    let file = "name: words\nrepositories: { list: [octo/r000, octo/r001, octo/new] }\n\
                tasks: [{ recipe: words.yml }]\nwaves: { canary: 3 }\n";
    scene.sandbox.write("campaign.yml", file.replace(", octo/new", ""));
    scene.run(&["run"]).expect_code(0);
    scene.fleet.state().merge_all();
    // A name that the file does not have does not make another target.
    scene.fleet.rename("octo/r000", "octo/new");
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.status()["counts"], json!({"merged": 2}));
    scene.sandbox.write("campaign.yml", file);
    for _ in 0..2 {
        scene.on_another_machine().run(&["run"]).expect_code(0);
        let standings = scene.standings();
        let named = ["octo/new", "octo/r000", "octo/r001"].map(|name| standings[name].as_str());
        assert_eq!(named, ["merged", "skipped", "merged"]);
    }
    scene.on_another_machine().run(&["rollback"]).expect_code(0);
    let state = scene.fleet.state();
    assert_eq!((state.count("MERGED"), state.count("OPEN")), (2, 2));
    drop(state);
    scene.assert_valid();
}
