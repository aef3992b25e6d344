//! Waves over repositories of all kinds, until a campaign is at its end or stops.

use std::fs;

use super::model::server::{DELIVERY, QUERY};
use super::split::change;
use super::{Scene, WAVES};
use crate::support::github::fleet::HOME;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn campaign_goes_in_waves_over_repositories_of_all_kinds() {
    let mut scene = Scene::new(&format!("{WAVES}stop: {{ failed: 100% }}\n")).await;
    scene.plain(6);
    scene.fleet.add("octo/same", &[("a.txt", "new\n")]);
    scene.fleet.add("octo/empty", &[]);
    scene.fleet.add("octo/archived", &[("a.txt", "old\n")]);
    scene.fleet.add("octo/protected", &[("a.txt", "old\n")]);
    scene.fleet.add("octo/renamed", &[("a.txt", "old\n")]);
    {
        let mut state = scene.fleet.state();
        state.place("octo/archived").archived = true;
        state.place("octo/renamed").renamed = Some("octo/r000".to_owned());
    }
    scene.fleet.protect("octo/protected");
    for _ in 0..8 {
        scene.on_another_machine().run(&["continue"]).expect_code(0);
        scene.fleet.state().merge_all();
    }
    let standings = scene.standings();
    for (name, expected) in [
        ("octo/r000", "merged"),
        ("octo/r005", "merged"),
        ("octo/same", "nothing to change"),
        ("octo/empty", "skipped"),
        ("octo/archived", "skipped"),
        ("octo/protected", "failed"),
        ("octo/renamed", "skipped"),
    ] {
        assert_eq!(standings[name], expected, "{name}: {standings:?}");
    }
    assert_eq!(standings.len(), 11);
    let state = scene.fleet.state();
    assert!(state.places.values().all(|place| place.pulls.len() <= 1));
    let place = &state.places["octo/r003"];
    assert_eq!(place.git().show("main", "a.txt").unwrap(), b"new\n");
    assert_eq!(place.pulls.values().next().unwrap().title, "Call it new");
    // What `docs/scale.md` counts with.
    let about: Vec<String> = state
        .requests
        .iter()
        .filter_map(|request| {
            let (method, path) = request.split_once(" /repos/octo/r003/")?;
            let path = path.split('?').next().unwrap_or(path);
            let kind: Vec<&str> =
                path.split('/').take(if path.starts_with("git/") { 2 } else { 1 }).collect();
            Some(format!("{method} /{}", kind.join("/")))
        })
        .collect();
    assert_eq!(about, DELIVERY, "requests for a target");
    // One dashboard, which tells it.
    assert_eq!(state.issues.len(), 1);
    let (title, body, _) = state.issues.values().next().unwrap();
    assert_eq!(title, "Campaign words");
    assert!(body.contains("finished") && body.contains("octo/protected"), "{body}");
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_stops_by_itself_goes_on_by_order_and_is_rolled_back() {
    let mut scene = Scene::new(WAVES).await;
    scene.plain(6);
    scene.run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 2, "the canary");
    // People do not want it in one of them.
    let mut state = scene.fleet.state();
    let found = state.places.iter_mut().find(|(_, place)| !place.pulls.is_empty());
    let (name, place) = found.expect("a pull request");
    let refused = name.clone();
    place.pulls.values_mut().next().expect("a pull request").state = "CLOSED";
    let issue = *state.issues.keys().next().expect("a dashboard");
    state.merge_all();
    // Neither an edited dashboard nor a stranger's comment has a say.
    state.issues.get_mut(&issue).expect("the dashboard").1.push_str("\nstopped: null");
    state.comment(issue, "reader", "/architect continue");
    drop(state);
    let run = scene.on_another_machine().run(&["run"]).expect_code(1);
    assert!(run.stdout.contains("wave 1: 1 of 2 closed by people, more than 20%"), "{}", run.stdout);
    assert_eq!(scene.fleet.state().count("OPEN"), 0);
    scene.fleet.state().comment(issue, "dev", "/architect continue");
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 4, "the second wave");
    // The same comment counts once.
    scene.run(&["run"]).expect_code(0);
    let mut state = scene.fleet.state();
    let place = state.places.values_mut().find(|place| place.pulls.values().any(|pull| pull.state == "OPEN"));
    let place = place.expect("an open one");
    let number = *place.pulls.keys().next().expect("a number");
    place.merge(number);
    drop(state);
    scene.run(&["rollback"]).expect_code(0);
    let state = scene.fleet.state();
    assert_eq!((state.count("MERGED"), state.count("OPEN"), state.count("CLOSED")), (2, 2, 4));
    let reverts = state.places.values().flat_map(|place| place.pulls.values());
    assert_eq!(reverts.filter(|pull| pull.branch.starts_with("revert-")).count(), 2);
    drop(state);
    // Asked for again, nothing is taken back twice; once it is merged, all is as before.
    scene.on_another_machine().run(&["rollback"]).expect_code(0);
    scene.fleet.state().merge_all();
    scene.run(&["run"]).expect_code(0);
    assert_eq!(scene.status()["status"], "rolled-back");
    let run = scene.run(&["rerun", "--failed", "--closed"]).expect_code(3);
    assert!(run.stderr.contains("is rolled back"), "{}", run.stderr);
    let state = scene.fleet.state();
    for (name, place) in state.places.iter().filter(|(name, _)| *name != HOME) {
        assert_eq!(place.git().show("main", "a.txt").unwrap(), b"old\n", "{name}");
        let branches = place.git().text(&["for-each-ref", "--format=%(refname)", "refs/heads/architect-ci"]);
        let is_merged = place.pulls.values().any(|pull| pull.state == "MERGED");
        // What people have closed is theirs.
        assert!(
            is_merged || *name == refused || branches.is_some_and(|text| text.is_empty()),
            "{name}: a branch is left"
        );
    }
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_finds_and_mends_what_falls_back() {
    let mut scene = Scene::new(WAVES).await;
    scene.plain(2);
    scene.run(&["run"]).expect_code(0);
    scene.fleet.state().merge_all();
    scene.run(&["drift"]).expect_code(0);
    scene.fleet.state().place("octo/r001").git().push("main", &[("c.txt", "x\nold\n")], "the old way");
    let run = scene.on_another_machine().run(&["drift", "--json"]).expect_code(1);
    let report: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(report["fallen_back"], json!([{"id": "octo/r001", "files": ["c.txt"]}]));
    let sarif = fs::read_to_string(scene.out().join("targets/octo/r001/_/drift.sarif")).expect("a file");
    assert!(sarif.contains("\"ruleId\": \"campaign/words\"") && sarif.contains("c.txt"), "{sarif}");
    assert!(scene.fleet.state().issues.values().next().expect("a dashboard").1.contains("Fell back"));
    scene.on_another_machine().run(&["drift", "--mend"]).expect_code(0);
    let state = scene.fleet.state();
    assert_eq!((state.count("MERGED"), state.count("OPEN")), (2, 1));
    assert_eq!(state.places["octo/r001"].pulls.len(), 2);
    drop(state);
    // Nothing is opened twice.
    scene.on_another_machine().run(&["run"]).expect_code(0);
    scene.fleet.state().merge_all();
    scene.run(&["drift"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("MERGED"), 3);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_begins_nothing_by_an_end_and_passes_no_wave_that_was_withdrawn() {
    let mut scene = Scene::new("waves: { canary: 1, growth: 3 }\n").await;
    scene.plain(4);
    scene.run(&["run"]).expect_code(0);
    for (words, open) in [
        (&["close"][..], 0),
        (&["merge"], 0),
        // Closed for a reason that nobody has told: what comes next has to wait.
        (&["run"], 0),
        (&["drift", "--mend"], 0),
        (&["rerun", "--failed"], 0),
        (&["continue"], 3),
    ] {
        scene.on_another_machine().run(words).expect_code(0);
        assert_eq!(scene.fleet.state().count("OPEN"), open, "{words:?}");
    }
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_gives_places_of_a_wave_to_those_who_take_part() {
    let first = "first: [octo/archived, octo/empty, octo/same, octo/other]";
    let mut scene =
        Scene::new(&format!("waves: {{ canary: 2, growth: 2, {first} }}\nlimits: {{ per_hour: 500 }}\n"))
            .await;
    scene.plain(8);
    scene.fleet.add("octo/same", &[("a.txt", "new\n")]);
    scene.fleet.add("octo/other", &[("b.txt", "new\n")]);
    scene.fleet.add("octo/empty", &[]);
    scene.fleet.add("octo/archived", &[("a.txt", "old\n")]);
    scene.fleet.state().place("octo/archived").archived = true;
    // Two have to show that it is good, whoever else is asked before.
    scene.run(&["run"]).expect_code(0);
    let status = scene.status();
    assert_eq!((&status["waves"][0]["members"], status["waves"].as_array().unwrap().len()), (&json!(2), 1));
    assert_eq!(scene.fleet.state().count("OPEN"), 2);
    // Who drops out leaves the place to another one.
    let mut state = scene.fleet.state();
    let place = state.places.values_mut().find(|place| !place.pulls.is_empty()).expect("a pull request");
    place.archived = true;
    drop(state);
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 3);
    scene.fleet.state().merge_all();
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.status()["waves"][1]["members"], json!(4));
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_asks_about_fifty_repositories_at_a_time_where_few_take_part() {
    let scene = Scene::new("waves: { canary: 2, growth: 1 }\n").await;
    scene.plain(3);
    for at in 0..150 {
        let name = format!("octo/old{at:03}");
        scene.fleet.add(&name, &[]);
        scene.fleet.state().place(&name).archived = true;
    }
    scene.run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 2);
    let is_query = |request: &&String| *request == QUERY;
    let queries = scene.fleet.state().requests.iter().filter(is_query).count();
    assert!(queries <= 8, "{queries} queries about 153 repositories");
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_gives_no_places_twice_when_repositories_come_back() {
    let first = "first: [octo/old000, octo/old001, octo/old002, octo/old003]";
    let mut scene =
        Scene::new(&format!("waves: {{ canary: 2, growth: 2, {first} }}\nlimits: {{ per_hour: 500 }}\n"))
            .await;
    scene.plain(2);
    let old: Vec<String> = (0..4).map(|at| format!("octo/old{at:03}")).collect();
    let archive = |scene: &Scene, is_archived| {
        for name in &old {
            scene.fleet.state().place(name).archived = is_archived;
        }
    };
    for name in &old {
        scene.fleet.add(name, &[("a.txt", "old\n")]);
    }
    archive(&scene, true);
    scene.run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 2);
    // Their places are taken, so they wait as all others do.
    archive(&scene, false);
    assert_eq!(scene.standings()["octo/old000"], "waiting");
    for words in [&["run"][..], &["rerun", "--failed"], &["merge"]] {
        scene.on_another_machine().run(words).expect_code(0);
        assert_eq!(scene.fleet.state().count("OPEN"), 2, "{words:?}");
    }
    scene.fleet.state().merge_all();
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().count("OPEN"), 4);
    assert_eq!(scene.status()["waves"][1]["members"], json!(4));
    scene.assert_valid();
}

/// A repository's place goes to another one while it is held by a limit, has failed once, or has an open pull request.
#[tokio::test(flavor = "multi_thread")]
async fn campaign_opens_no_more_in_a_wave_than_it_has_places_when_repositories_come_back() {
    let gate =
        |words: &str| format!("{{ recipe: words.yml, gates: [{{ name: proof, command: '{words}' }}] }}");
    for (is, before, opened) in [
        ("planned", "limits: { open: 1 }", 2),
        ("failed once", "limits: { attempts: 5 }", 2),
        // What is open stays open.
        ("open", "limits: { open: 50 }", 3),
    ] {
        let waves = "waves: { canary: 2, growth: 2, first: [octo/r001, octo/r000] }\nstop: { failed: 100% }";
        let mut scene = Scene::new(&format!("{waves}\n{before}\n")).await;
        scene.plain(6);
        if is == "failed once" {
            change(&scene, "{ recipe: words.yml }", &gate("false"));
        }
        scene.run(&["run"]).expect_code(0);
        let state = scene.fleet.state();
        let is_open = |name: &&str| !state.places[*name].pulls.is_empty();
        let leaves = ["octo/r000", "octo/r001"].into_iter().find(|name| is_open(name) == (is == "open"));
        let leaves = leaves.expect("one of them").to_owned();
        drop(state);
        for is_away in [true, false] {
            scene.fleet.state().place(&leaves).archived = is_away;
            if is == "failed once" && is_away {
                change(&scene, &gate("false"), &gate("true"));
            } else if is == "planned" && !is_away {
                change(&scene, before, "limits: { open: 50 }");
            }
            scene.on_another_machine().run(&["run"]).expect_code(0);
        }
        let count = scene.fleet.state().count("OPEN");
        assert_eq!((count, &scene.status()["waves"][0]["members"]), (opened, &json!(opened)), "{is}");
        // Whoever had to wait comes with the next wave.
        scene.fleet.state().merge_all();
        scene.on_another_machine().run(&["run"]).expect_code(0);
        scene.fleet.state().merge_all();
        assert_eq!(scene.status()["counts"], json!({"merged": 6}), "{is}");
        scene.assert_valid();
    }
}
