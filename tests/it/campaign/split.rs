//! Campaigns whose plans are split by the owners of their files.

use std::collections::BTreeMap;
use std::fs;

use super::{RECIPE, Scene, WAVES};
use crate::support::github::READ_TOKEN;
use crate::support::github::fleet::TOKEN;
use serde_json::json;

const OWNERS: &str = "/web/ @octo/web\n/api/ @dev\n/gone/ @nobody\n";

/// A campaign that splits, with these further lines; `octo/mono` has files of two owners and of nobody.
pub(super) async fn splitting(more: &str) -> Scene {
    let scene = Scene::new(more).await;
    change(&scene, "{ title: Call it new }", "{ title: Call it new, split: owners, reviewers: owners }");
    let files = [
        ("CODEOWNERS", OWNERS),
        ("web/a.txt", "old\n"),
        ("web/b.txt", "old\n"),
        ("api/a.txt", "old\n"),
        ("a.txt", "old\n"),
    ];
    scene.fleet.add("octo/mono", &files);
    scene
}

pub(super) fn change(scene: &Scene, from: &str, to: &str) {
    let file = fs::read_to_string(scene.sandbox.repo().join("campaign.yml")).expect("a file");
    assert!(file.contains(from), "{file}");
    scene.sandbox.write("campaign.yml", file.replace(from, to));
}

/// How the parts of `octo/mono` stand, by the beginning of their names.
pub(super) fn parts(scene: &Scene) -> BTreeMap<String, String> {
    let of_part = |(id, standing): (String, String)| {
        let (whole, part) = id.split_once('@').unwrap_or((&id, ""));
        let word = part.split('-').next().unwrap_or_default();
        (whole == "octo/mono").then(|| (word.to_owned(), standing))
    };
    scene.standings().into_iter().filter_map(of_part).collect()
}

/// The files that the pull requests of `octo/mono` change, by title.
pub(super) fn pulls(scene: &Scene) -> BTreeMap<String, String> {
    let mut state = scene.fleet.state();
    let place = state.place("octo/mono");
    let open = place.pulls.iter().filter(|(_, pull)| pull.state == "OPEN");
    open.map(|(number, pull)| (pull.title.clone(), place.files(*number).join(" "))).collect()
}

pub(super) fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_splits_plans_by_owners() {
    let mut scene =
        splitting("waves: { canary: 2, after: merged, share: 100% }\nlimits: { open_per_owner: 1 }\n").await;
    scene.fleet.add("octo/plain", &[("a.txt", "old\n")]);
    scene.fleet.add("octo/same", &[("a.txt", "new\n")]);
    change(&scene, "waves: {", "waves: { first: [octo/mono],");
    scene.run(&["run"]).expect_code(0);
    let titles = map(&[
        ("Call it new (dev)", "api/a.txt"),
        ("Call it new (octo/web)", "web/a.txt web/b.txt"),
        ("Call it new", "a.txt"),
    ]);
    // The account, in the place of an owner of `a.txt`, reviews one at a time.
    assert_eq!((pulls(&scene), parts(&scene).len()), (titles, 3));
    let asked = scene.fleet.state().reviewers.get("octo/mono").cloned();
    let of_part: [(&[&str], &[&str]); 2] = [(&["dev"], &[]), (&[], &["web"])];
    let of_part = of_part.map(|(people, teams)| json!({"reviewers": people, "team_reviewers": teams}));
    assert!(asked.as_ref().is_some_and(|asked| of_part.contains(asked)), "{asked:?}");
    // Another machine finds all of them, and opens none again.
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(scene.fleet.state().place("octo/mono").pulls.len(), 3);
    // People merge one part, close another, and the third one is in conflict: only that is made anew.
    {
        let mut state = scene.fleet.state();
        let place = state.place("octo/mono");
        let number = |place: &crate::support::github::fleet::Place, word: &str| {
            *place.pulls.iter().find(|(_, pull)| pull.branch.contains(word)).expect("a pull request").0
        };
        let (web, dev) = (number(place, ".octo-web-"), number(place, ".dev-"));
        place.merge(web);
        place.pulls.get_mut(&dev).expect("a pull request").state = "CLOSED";
        let own = *place.pulls.keys().find(|at| ![web, dev].contains(at)).expect("a pull request");
        place.pulls.get_mut(&own).expect("a pull request").conflicting = true;
    }
    let head =
        |scene: &Scene| scene.fleet.state().place("octo/mono").git().branch("architect-ci/words/campaign");
    let before = head(&scene);
    change(&scene, "reviewers: owners }", "reviewers: owners }\nstop: { closed: 100%, failed: 0% }");
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(parts(&scene), map(&[("", "open, conflict"), ("octo", "merged"), ("dev", "closed")]));
    assert_ne!(head(&scene), before, "it is planned again");
    assert_eq!(scene.fleet.state().place("octo/mono").pulls.len(), 3);
    // Back again: what is merged is reverted, what is open is closed.
    scene.on_another_machine().run(&["rollback"]).expect_code(0);
    let told = parts(&scene);
    assert_eq!((told[""].as_str(), told["dev"].as_str()), ("closed", "closed"), "{told:?}");
    assert_eq!(pulls(&scene).into_keys().filter(|title| title.starts_with("Revert")).count(), 1);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_holds_parts_back_and_closes_them_with_their_repository() {
    let mut scene = splitting("waves: { canary: 9 }\nlimits: { open_per_owner: 1 }\n").await;
    // Names are the same in any case.
    scene.fleet.add("octo/mono2", &[("CODEOWNERS", "* @Dev\n"), ("a.txt", "old\n")]);
    let run = scene.run(&["run"]).expect_code(0);
    assert!(run.stdout.contains("! 1 waiting for a limit or for a plan"), "{}", run.stdout);
    assert_eq!(scene.fleet.state().count("OPEN"), 3, "`@dev` has one to review");
    // What still may not be opened is not planned again, wherever that is.
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert!(!scene.out().join("clones").exists() && scene.fleet.state().count("OPEN") == 3);
    scene.on_another_machine().run(&["close", "--only", "octo/mono"]).expect_code(0);
    assert_eq!(parts(&scene), map(&[("", "withdrawn"), ("octo", "withdrawn"), ("dev", "withdrawn")]));
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_proves_each_part_by_its_gates() {
    let scene = splitting("waves: { canary: 2 }\nstop: { failed: 100% }\n").await;
    // All of it passes, and so does what changes the web alone; without that, nothing does.
    let gate = "gates: [{ name: web, command: 'grep -q new web/a.txt' }]";
    change(&scene, "{ recipe: words.yml }", &format!("{{ recipe: words.yml, {gate} }}"));
    scene.run(&["run"]).expect_code(0);
    assert_eq!(parts(&scene), map(&[("", "failed"), ("octo", "open"), ("dev", "failed")]));
    let notes = scene.status()["targets"].to_string();
    assert!(notes.contains("web"), "{notes}");
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_parts_are_planned_by_one_job_and_delivered_by_another() {
    let mut scene = splitting(WAVES).await;
    let run_as = |scene: &Scene, words: &[&str], token: &str| {
        let actions = super::two_jobs::actions(&scene.sandbox);
        let actions: Vec<(&str, &str)> =
            actions.iter().map(|(name, value)| (*name, value.as_str())).collect();
        scene.run_as(words, token, &actions)
    };
    let plan = |scene: &Scene| {
        run_as(scene, &["plan", "--shard", "1/1"], READ_TOKEN).expect_code(0);
        let output = fs::read_to_string(scene.sandbox.path().join("output")).expect("outputs");
        crate::support::outputs(&output)["report-digest"].clone()
    };
    let digests = json!({"shard-1": plan(&scene)}).to_string();
    let (plans, folder) = (scene.out(), scene.out().display().to_string());
    // A whole plan that somebody made in the meantime does not take the place of the one that the job told of.
    scene.sandbox.write("words.yml", RECIPE.replace("with: new", "with: evil"));
    scene.sandbox.git(&["commit", "--quiet", "--all", "-m", "evil"]);
    fs::remove_file(scene.sandbox.path().join("output")).expect("removed");
    plan(scene.on_another_machine());
    let own = "targets/octo/mono/_/plan.json";
    fs::copy(scene.out().join(own), plans.join(own)).expect("copied");
    let words = ["run", "--plans", &folder, "--report-digests", &digests];
    let run = run_as(scene.on_another_machine(), &words, TOKEN);
    let titles =
        map(&[("Call it new (dev)", "api/a.txt"), ("Call it new (octo/web)", "web/a.txt web/b.txt")]);
    assert_eq!(pulls(&scene), titles, "{}{}", run.stdout, run.stderr);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_knows_owners_of_files_in_a_folder_and_leaves_the_rest_out_of_the_clone() {
    let mut scene = splitting("waves: { canary: 2 }\n").await;
    let gate = "gates: [{ name: part, command: '! test -e ../api && test -e ../a.txt' }]";
    change(
        &scene,
        "{ recipe: words.yml }",
        &format!("{{ recipe: words.yml, folder: web, sparse: [], {gate} }}"),
    );
    scene.run(&["run"]).expect_code(0);
    assert_eq!(pulls(&scene), map(&[("Call it new (octo/web)", "web/a.txt web/b.txt")]));
    assert_eq!(parts(&scene), map(&[("", "nothing to change"), ("octo", "open")]));
    let clone = scene.out().join("clones/targets/octo/mono/_");
    assert!(clone.join("web/a.txt").is_file() && !clone.join("api").exists());
    scene.on_another_machine().assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_that_splits_is_killed_anywhere_and_goes_on_elsewhere() {
    let mut scene = splitting(WAVES).await;
    let names = ["octo/mono", "octo/second", "octo/third"];
    for name in &names[1..] {
        let files =
            [("CODEOWNERS", OWNERS), ("web/a.txt", "old\n"), ("api/a.txt", "old\n"), ("a.txt", "old\n")];
        scene.fleet.add(name, &files);
    }
    let all = 3 * names.len();
    let mut killed = 0;
    for round in 0.. {
        assert!(round < 40, "no end: {}", scene.status());
        scene.on_another_machine();
        if killed < 4 {
            killed += usize::from(scene.run_killed(6 + round * 11 % 50, round % 2 == 0));
        } else {
            scene.run(&["run"]).expect_code(0);
        }
        if round % 2 == 1 {
            scene.fleet.state().merge_all();
        }
        if scene.fleet.state().count("MERGED") == all {
            break;
        }
    }
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!((scene.status()["status"].as_str(), scene.standings().len()), (Some("finished"), all));
    let state = scene.fleet.state();
    for name in names {
        let place = &state.places[name];
        assert_eq!(place.pulls.len(), 3, "{name}: one pull request for each part");
        assert_eq!(place.git().show("main", "web/a.txt").as_deref(), Some(b"new\n".as_slice()));
    }
    drop(state);
    scene.assert_valid();
}
