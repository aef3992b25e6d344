//! Orders to a campaign by people and by its file, and what the campaign does with them: waves that wait for a comment, merges,
//! ends, second tries, reviewers, tokens of an app.
#![cfg(unix)]

use std::collections::BTreeMap;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::campaign::{Scene, WAVES};
use crate::support::Run;
use crate::support::github::app::App;
use crate::support::github::fleet::{HOME, TOKEN};
use crate::support::model::{Answer, ModelServer};
use crate::support::wait::wait_until;

/// How many pull requests stand as `OPEN`, `MERGED` and `CLOSED`.
fn counts(scene: &Scene) -> [usize; 3] {
    let state = scene.fleet.state();
    ["OPEN", "MERGED", "CLOSED"].map(|word| state.count(word))
}

/// Gives all open pull requests these checks.
fn check(scene: &Scene, result: &'static str) {
    let mut state = scene.fleet.state();
    for pull in state.places.values_mut().flat_map(|place| place.pulls.values_mut()) {
        pull.checks = Some(result);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_hears_an_order_whichever_command_reads_it() {
    let file = "waves: { canary: 1, growth: 1, approval: comment }\n";
    for words in [&["drift"][..], &["drift", "--mend"], &["merge"], &["run"]] {
        let mut scene = Scene::new(file).await;
        scene.plain(2);
        scene.run(&["run"]).expect_code(0);
        scene.fleet.state().merge_all();
        scene.on_another_machine().run(&["run"]).expect_code(0);
        assert_eq!(counts(&scene), [0, 1, 0], "nobody has approved the second wave");
        let mut state = scene.fleet.state();
        let issue = *state.issues.keys().next().expect("a dashboard");
        state.comment(issue, "dev", "/architect continue");
        drop(state);
        // A comment counts once, so whoever has read it has to act on it.
        scene.on_another_machine().run(words).expect_code(0);
        scene.on_another_machine().run(&["run"]).expect_code(0);
        assert_eq!(counts(&scene), [1, 1, 0], "{words:?}");
        scene.assert_valid();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_merges_what_is_green_and_nothing_else() {
    for (file, words) in [("merge: green\n", &["run"][..]), ("", &["merge"])] {
        let mut scene = Scene::new(&format!("{WAVES}{file}stop: {{ red: 100% }}\n")).await;
        scene.plain(2);
        scene.run(&["run"]).expect_code(0);
        // Without a check, nothing says that it is good.
        scene.on_another_machine().run(words).expect_code(0);
        assert_eq!(counts(&scene), [2, 0, 0], "{words:?}");
        check(&scene, "FAILURE");
        scene.on_another_machine().run(words).expect_code(0);
        assert_eq!(counts(&scene), [2, 0, 0], "{words:?}");
        check(&scene, "SUCCESS");
        if file.is_empty() {
            scene.on_another_machine().run(&["run"]).expect_code(0);
            assert_eq!(counts(&scene), [2, 0, 0], "nobody has said so");
        }
        scene.on_another_machine().run(words).expect_code(0);
        assert_eq!(counts(&scene), [0, 2, 0], "{words:?}");
        assert_eq!(scene.status()["status"], "finished");
        scene.assert_valid();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_opens_nothing_for_target_that_was_closed_while_it_waited() {
    let scene = Scene::new("waves: { canary: 1, first: [octo/r000] }\n").await;
    scene.plain(2);
    scene.run(&["close", "--only", "octo/r000"]).expect_code(0);
    assert_eq!(scene.standings()["octo/r000"], "withdrawn");
    scene.run(&["run"]).expect_code(0);
    // Its place is for another one.
    let standings = scene.standings();
    let named = ["octo/r000", "octo/r001"].map(|name| standings[name].as_str());
    assert_eq!((named, counts(&scene)), (["withdrawn", "open"], [1, 0, 0]));
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_closes_one_or_all_and_ends_for_good() {
    let mut scene = Scene::new("waves: { canary: 3 }\n").await;
    scene.plain(4);
    scene.run(&["run"]).expect_code(0);
    assert_eq!(counts(&scene), [3, 0, 0]);
    let standings = scene.standings();
    let open = |standings: &BTreeMap<String, String>| {
        let open = standings.iter().filter(|(_, standing)| *standing == "open");
        open.map(|(name, _)| name.clone()).collect::<Vec<_>>()
    };
    let first = open(&standings).remove(0);
    let run = scene.run(&["close", "--only", "octo/other"]).expect_code(3);
    assert!(run.stderr.contains("octo/other is not a target of this campaign"), "{}", run.stderr);
    scene.run(&["close", "--only", &first]).expect_code(0);
    assert_eq!((counts(&scene), scene.standings()[&first].as_str()), ([2, 0, 1], "withdrawn"));
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(counts(&scene), [2, 0, 1], "it is not opened again");
    // Unless somebody wants that.
    scene.run(&["rerun", "--failed", "--closed"]).expect_code(0);
    assert_eq!(counts(&scene), [3, 0, 1]);
    scene.on_another_machine().run(&["abandon"]).expect_code(0);
    assert_eq!((counts(&scene), scene.status()["status"].clone()), ([0, 0, 4], json!("abandoned")));
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(counts(&scene), [0, 0, 4]);
    let state = scene.fleet.state();
    for (name, place) in &state.places {
        let branches = place.git().text(&["for-each-ref", "--format=%(refname)", "refs/heads/architect-ci"]);
        assert_eq!(branches.as_deref().unwrap_or_default(), "", "{name}: a branch is left");
    }
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_keeps_branch_with_commits_of_others() {
    let mut scene = Scene::new("waves: { canary: 3 }\n").await;
    scene.plain(3);
    scene.run(&["run"]).expect_code(0);
    let branch = "architect-ci/words/campaign";
    let mut state = scene.fleet.state();
    let work = state.places["octo/r000"].git().push(branch, &[("mine.txt", "my work\n")], "My work");
    state.place("octo/r002").pushed_meanwhile = Some(branch.to_owned());
    drop(state);
    let run = scene.on_another_machine().run(&["close"]).expect_code(0);
    assert_eq!(counts(&scene), [0, 0, 3]);
    let state = scene.fleet.state();
    let tips = ["octo/r000", "octo/r001"].map(|name| state.places[name].git().branch(branch));
    assert_eq!(tips, [Some(work), None]);
    let pushed_last = state.places["octo/r002"].git().branch(branch);
    assert!(pushed_last.is_some(), "a commit that came while the branch was judged");
    drop(state);
    let told = format!("{}{}", run.stdout, run.stderr);
    assert!(told.contains(&format!("its branch {branch} stays")), "{told}");
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_ends_with_signal_while_github_is_silent() {
    let scene = Scene::new("").await;
    scene.plain(1);
    scene.fleet.state().silent_from = Some((0, false));
    let mut child = scene.start(&["status"]);
    // GitHub answers on other threads meanwhile.
    wait_until("a request", || !scene.fleet.state().requests.is_empty());
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::TERM).expect("the signal is sent");
    wait_until("its end", || child.try_wait().expect("a child").is_some());
    assert_eq!(child.wait().expect("an end").code(), Some(143));
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_tries_again_what_failed() {
    let mut scene = Scene::new("waves: { canary: 2 }\nstop: { failed: 0% }\n").await;
    scene.plain(1);
    scene.fleet.add("octo/protected", &[("a.txt", "old\n")]);
    scene.fleet.protect("octo/protected");
    scene.run(&["run"]).expect_code(1);
    assert_eq!(scene.standings()["octo/protected"], "failed");
    {
        let mut state = scene.fleet.state();
        let place = state.place("octo/protected");
        place.protected = false;
        place.git().text(&["config", "--unset-all", "receive.hideRefs"]);
    }
    let run = scene.on_another_machine().run(&["run"]).expect_code(1);
    assert!(run.stdout.contains("stopped: wave 1: 1 of 2 failed"), "{}", run.stdout);
    scene.on_another_machine().run(&["rerun", "--failed"]).expect_code(0);
    assert_eq!(counts(&scene), [2, 0, 0]);
    assert_eq!(scene.standings()["octo/protected"], "open");
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_blames_no_target_for_a_limit_of_github() {
    let mut scene = Scene::new("waves: { canary: 2 }\nstop: { failed: 0% }\n").await;
    scene.plain(2);
    scene.fleet.state().limited = Some("octo/r001".to_owned());
    let run = scene.run(&["run"]).expect_code(0);
    assert!(run.stdout.contains("! rate-limited by GitHub until"), "{}", run.stdout);
    assert!(run.stdout.contains("the next start continues"), "{}", run.stdout);
    assert_eq!(scene.standings()["octo/r001"], "planned");
    scene.fleet.state().limited = None;
    scene.on_another_machine().run(&["run"]).expect_code(0);
    assert_eq!(counts(&scene), [2, 0, 0]);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_asks_owners_for_reviews() {
    let scene = Scene::new("waves: { canary: 2 }\n").await;
    let owners = "* @dev @octo/core @other/team mail@example.com\nb.txt @nobody\n";
    scene.fleet.add("octo/owned", &[("a.txt", "old\n"), (".github/CODEOWNERS", owners)]);
    scene.fleet.add("octo/free", &[("a.txt", "old\n")]);
    let file = std::fs::read_to_string(scene.sandbox.repo().join("campaign.yml")).expect("a file");
    let file = file.replace("{ title: Call it new }", "{ title: Call it new, reviewers: owners }");
    scene.sandbox.write("campaign.yml", file);
    scene.run(&["run"]).expect_code(0);
    let state = scene.fleet.state();
    let asked = json!({"reviewers": ["dev"], "team_reviewers": ["core"]});
    assert_eq!(state.reviewers, BTreeMap::from([("octo/owned".to_owned(), asked)]));
    drop(state);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_finds_repositories_by_search_and_says_what_is_left_out() {
    let mut scene = Scene::new(WAVES).await;
    let change = |places: &str| {
        let file = format!("name: words\nrepositories: {{ {places} }}\ntasks: [{{ recipe: words.yml }}]\n");
        scene.sandbox.write("campaign.yml", file);
    };
    change("search: web, exclude: ['octo/*-old']");
    for name in ["octo/web-a", "other/web-b", "octo/web-old", "octo/cli"] {
        scene.fleet.add(name, &[("a.txt", "old\n")]);
    }
    let run = scene.run(&["run"]).expect_code(0);
    assert!(
        run.stdout.contains("the search matches 4 repositories, but GitHub lists only 3"),
        "{}",
        run.stdout
    );
    assert_eq!(scene.standings().into_keys().collect::<Vec<_>>(), ["octo/web-a", "other/web-b"]);
    let change = |places: &str| {
        let file = format!("name: nowhere\nrepositories: {{ {places} }}\ntasks: [{{ recipe: words.yml }}]\n");
        scene.sandbox.write("campaign.yml", file);
    };
    for places in ["search: nothing-like-it", "list: [octo/cli], exclude: ['octo/*']"] {
        change(places);
        let run = scene.run(&["status"]).expect_code(3);
        assert!(run.stderr.contains("the campaign has no targets"), "{}", run.stderr);
    }
    scene.on_another_machine().assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_by_an_app_writes_to_each_repository_with_a_token_of_its_own() {
    let mut scene = Scene::new("").await;
    scene.sandbox.write(
        "campaign.yml",
        "name: words\nrepositories: { organizations: [Octo, other, third] }\ntasks: [{ recipe: words.yml }]\n\
         waves: { canary: 9 }\napp: { id: '1', key_env: APP_KEY }\n",
    );
    for name in ["octo/a", "octo/b", "other/c", "third/d"] {
        scene.fleet.add(name, &[("a.txt", "old\n")]);
    }
    let installations = [("octo", 7), ("other", 8), ("third", 9)];
    scene.fleet.state().app = Some(App::of(&installations));
    let key = include_str!("../../cases/app-key.pem");
    let run = scene.run_as(&["run"], TOKEN, &[("APP_KEY", key)]).expect_code(0);
    assert_eq!(counts(&scene), [4, 0, 0], "{}{}", run.stdout, run.stderr);
    assert_eq!(scene.fleet.state().app.as_ref().map(App::writable), Some(4));
    scene.assert_valid();
    // Where it is not installed, another token lists, and that is said.
    scene.fleet.state().app = Some(App::of(&installations[..2]));
    let run = scene.on_another_machine().run_as(&["run"], TOKEN, &[("APP_KEY", key)]).expect_code(0);
    assert!(run.stdout.contains("the app is not installed for third"), "{}", run.stdout);
    assert!(run.stdout.contains("third/d: skipped"), "{}", run.stdout);
    assert!(run.stdout.contains("octo/a: open"), "{}", run.stdout);
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_by_an_app_misses_only_repositories_that_are_left_out() {
    let scene = Scene::new("").await;
    scene.sandbox.write(
        "campaign.yml",
        "name: words\nrepositories: { list: [octo/a, octo/b, octo/c] }\ntasks: [{ recipe: words.yml }]\n\
         waves: { canary: 9 }\napp: { id: '1', key_env: APP_KEY }\n",
    );
    for name in ["octo/b", "octo/c"] {
        scene.fleet.add(name, &[("a.txt", "old\n")]);
    }
    let mut app = App::of(&[("octo", 7)]);
    app.left_out.push("octo/a".to_owned());
    scene.fleet.state().app = Some(app);
    let key = include_str!("../../cases/app-key.pem");
    let run = scene.run_as(&["run"], TOKEN, &[("APP_KEY", key)]).expect_code(0);
    assert_eq!(counts(&scene), [2, 0, 0], "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("octo/a: skipped"), "{}", run.stdout);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_is_merged_and_given_up_without_recipes() {
    let mut scene = Scene::new("waves: { canary: 2 }\n").await;
    scene.plain(2);
    scene.run(&["run"]).expect_code(0);
    check(&scene, "SUCCESS");
    scene.sandbox.write("words.yml", "steps: [{ do: [{ replace: { pattern: a, with: b } }] }]\n");
    scene.on_another_machine().run(&["run"]).expect_code(3);
    scene.on_another_machine().run(&["merge"]).expect_code(0);
    assert_eq!(counts(&scene), [0, 2, 0]);
    scene.assert_valid();
}

/// A campaign whose tasks ask a model, with so many repositories, and so many USD for a day.
async fn asking(repositories: usize, per_day: f64) -> Scene {
    let scene = Scene::new(&format!("waves: {{ canary: {repositories} }}\n")).await;
    scene.plain(repositories);
    let file = std::fs::read_to_string(scene.sandbox.repo().join("campaign.yml")).expect("a file");
    scene.sandbox.write("campaign.yml", file.replace("recipe: words.yml", "task: Call it new"));
    let config = format!(
        "evaluation: off\ncosts: {{ budget_per_day: {per_day}, prices_file: prices.yml }}\nllm: {{ stream: false }}\n"
    );
    scene.sandbox.write(".github/architect.yml", config);
    scene.sandbox.write("prices.yml", "gpt-5: { input: 1, cached: 0.5, output: 12 }\n");
    scene
}

/// Starts a campaign with a model that changes every target: two answers each, of $0.0013. Returns how often it was asked.
fn start(scene: &Scene, words: &[&str]) -> (Run, usize) {
    let edit = || Answer::Calls(vec![("write_file", json!({"path": "a.txt", "content": "new\n"}))]);
    let server = ModelServer::start((0..10).flat_map(|_| [edit(), Answer::Text("done")]).collect());
    let more = ["--model", "openai::gpt-5", "--base-url", &server.url, "--ledger", "branch", "--jobs", "1"];
    let run = scene.run_as(&[words, &more].concat(), TOKEN, &[("OPENAI_API_KEY", "k")]);
    (run, server.bodies().len())
}

/// The lines of the ledger on its branch.
fn ledger(scene: &Scene) -> Vec<Value> {
    let mut state = scene.fleet.state();
    let git = state.place(HOME).git();
    let names = git.text(&["ls-tree", "-r", "--name-only", "architect-ci-records"]).expect("a branch");
    let text = git.show("architect-ci-records", names.trim()).expect("a ledger");
    let text = String::from_utf8(text).expect("a text");
    text.lines().map(|line| serde_json::from_str(line).expect("an entry")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_writes_down_on_a_branch_what_models_cost() {
    let scene = asking(2, 0.5).await;
    let (run, requests) = start(&scene, &["run"]);
    run.expect_code(0);
    assert_eq!((counts(&scene), requests), ([2, 0, 0], 4));
    let entries = ledger(&scene);
    let spent: f64 = entries.iter().filter(|it| it["answers"] != 0).filter_map(|it| it["usd"].as_f64()).sum();
    assert!((spent - 0.0052).abs() < 1e-9, "{entries:?}");
    let of = |key: &str| entries.iter().find_map(|entry| entry[key].as_str().map(str::to_owned));
    assert!(of("reservation").is_some() && of("reservation") == of("settles"), "{entries:?}");
    // What makes no plan is done when nothing is left to spend.
    let spent = "evaluation: off\ncosts: { budget_per_day: 0.005, prices_file: prices.yml }\n";
    scene.sandbox.write(".github/architect.yml", spent);
    let (run, requests) = start(&scene, &["run"]);
    assert!(run.expect_code(2).stderr.contains("is spent") && requests == 0);
    for word in ["merge", "abandon"] {
        start(&scene, &[word]).0.expect_code(0);
    }
    assert_eq!(counts(&scene), [0, 0, 2]);
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_shard_reserves_and_spends_its_part_of_what_is_left() {
    let mut scene = asking(6, 0.0052).await;
    let mut answers = Vec::new();
    for shard in ["1/2", "2/2"] {
        answers.push(start(scene.on_another_machine(), &["plan", "--shard", shard]).1);
    }
    let entries = ledger(&scene);
    let reserved: Vec<f64> = entries
        .iter()
        .filter(|entry| entry["reservation"].is_string())
        .filter_map(|entry| entry["usd"].as_f64())
        .collect();
    // Half of the day for the first one, which spends it to the last answer, and half of the rest for the second.
    assert_eq!(answers, [2, 1], "{entries:?}");
    assert!((reserved[0] - 0.0026).abs() < 1e-9 && (reserved[1] - 0.0013).abs() < 1e-9, "{entries:?}");
    scene.assert_valid();
}

#[tokio::test(flavor = "multi_thread")]
async fn campaign_tells_its_own_error_and_that_of_its_ledger() {
    let scene = asking(1, 0.5).await;
    // What may be spent is reserved, and then neither state nor costs can be written down.
    scene.fleet.state().place(HOME).allowed_writes = Some(1);
    let (run, requests) = start(&scene, &["run"]);
    assert_eq!(requests, 0, "nothing is spent that nobody could write down");
    let errors = run.stderr.matches("Resource not accessible by integration").count();
    assert!(run.code != 0 && errors >= 2, "{}", run.stderr);
    assert!(run.stderr.contains("could not use the ledger on its branch"), "{}", run.stderr);
}
