//! Campaigns by the real binary, on many bare repositories behind a loopback GitHub.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::github::READ_TOKEN;
use crate::support::github::fleet::{Authorship, Fleet, HOME, TOKEN};
use crate::support::{Run, Sandbox};

const RECIPE: &str = "description: Call it new\nsteps:\n- files: ['**/*.txt']\n  containing: old\n  do: [{ replace: { pattern: old, with: new } }]\n";

/// A campaign over all of `octo`, with these further lines.
fn campaign(more: &str) -> String {
    format!(
        "name: words\nrepositories: {{ organizations: [octo] }}\ntasks: [{{ recipe: words.yml }}]\n\
         pull_request: {{ title: Call it new }}\n{more}"
    )
}

/// The checkout of the campaign's repository, and the GitHub with all others.
pub struct Scene {
    pub fleet: Fleet,
    pub sandbox: Sandbox,
    machines: u32,
}

impl Scene {
    pub async fn new(file: &str) -> Self {
        let fleet = Fleet::start().await;
        let sandbox = Sandbox::new(&[("campaign.yml", &campaign(file)), ("words.yml", RECIPE)]);
        Self { fleet, sandbox, machines: 0 }
    }

    /// Repositories with something to change.
    pub fn plain(&self, count: usize) {
        for at in 0..count {
            self.fleet.add(&format!("octo/r{at:03}"), &[("a.txt", "old\n"), ("b.txt", "other\n")]);
        }
    }

    /// Another machine: nothing of what earlier starts have left on disk is there.
    pub fn on_another_machine(&mut self) -> &mut Self {
        self.machines += 1;
        self
    }

    pub fn out(&self) -> PathBuf {
        self.sandbox.path().join(format!("machine-{}", self.machines))
    }

    fn command(&self, words: &[&str], token: &str, variables: &[(&str, &str)]) -> Command {
        let (repo, out) = (self.sandbox.repo(), self.out());
        let mut args = vec!["campaign"];
        args.extend(words);
        args.extend(["--workspace", repo.to_str().unwrap(), "--out", out.to_str().unwrap()]);
        let mut command = self.sandbox.command(&args);
        command.current_dir(&repo).envs(self.fleet.variables(token)).envs(variables.iter().copied());
        command.env("INPUT_CAMPAIGN", "campaign.yml");
        command
    }

    pub fn run(&self, words: &[&str]) -> Run {
        self.run_as(words, TOKEN, &[])
    }

    pub fn run_as(&self, words: &[&str], token: &str, variables: &[(&str, &str)]) -> Run {
        let output = self.command(words, token, variables).output().expect("the binary runs");
        Run::new(&output, self.out())
    }

    /// Runs until the request with this number, counted from now, gets no answer, and kills the program then; or to its end.
    /// Returns whether it was killed.
    fn run_killed(&self, at: usize, is_done: bool) -> bool {
        let from = self.fleet.state().requests.len() + at;
        self.fleet.state().silent_from = Some((from, is_done));
        let mut command = self.command(&["run"], TOKEN, &[]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the binary runs");
        let limit = Instant::now() + Duration::from_mins(5);
        let is_killed = loop {
            if self.fleet.state().requests.len() >= from {
                child.kill().expect("it can be killed");
                child.wait().expect("it has ended");
                break true;
            }
            if child.try_wait().expect("it can be asked").is_some() {
                break false;
            }
            assert!(Instant::now() < limit, "it neither ends nor asks");
            std::thread::sleep(Duration::from_millis(5));
        };
        self.fleet.state().silent_from = None;
        is_killed
    }

    pub fn status(&self) -> Value {
        // A campaign that has stopped ends with another code, and tells as much.
        serde_json::from_str(&self.run(&["status", "--json"]).stdout).expect("JSON")
    }

    pub fn standings(&self) -> BTreeMap<String, String> {
        let status = self.status();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let targets = status["targets"].as_array().expect("targets").iter();
        targets.map(|target| (text(&target["id"]), text(&target["standing"]))).collect()
    }

    #[track_caller]
    pub fn assert_valid(&self) {
        assert_eq!(self.fleet.state().violations, Vec::<String>::new());
    }
}

pub const WAVES: &str = "waves: { canary: 2, growth: 2, largest: 50, share: 60% }\n\
                     limits: { per_hour: 500, open_per_owner: 10000, open: 1000 }\n";

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
    let about = state.requests.iter().filter(|request| request.contains(" /repos/octo/r003/"));
    assert_eq!(about.count(), 9, "requests for a target");
    // One dashboard, which tells it.
    assert_eq!(state.issues.len(), 1);
    let (title, body, _) = state.issues.values().next().unwrap();
    assert_eq!(title, "Campaign words");
    assert!(body.contains("finished") && body.contains("octo/protected"), "{body}");
    drop(state);
    scene.assert_valid();
}

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

#[tokio::test(flavor = "multi_thread")]
async fn campaign_is_planned_without_a_token_that_writes_and_delivered_without_a_model() {
    let mut scene = Scene::new(WAVES).await;
    scene.plain(3);
    let actions = |sandbox: &Sandbox| {
        let sha = sandbox.git(&["rev-parse", "HEAD"]);
        let event = sandbox.path().join("event.json");
        fs::write(&event, json!({"repository": {"full_name": HOME, "default_branch": "main"}}).to_string())
            .expect("an event");
        [
            ("GITHUB_ACTIONS", "true".to_owned()),
            ("GITHUB_SHA", sha),
            ("GITHUB_REF", "refs/heads/main".to_owned()),
            ("GITHUB_EVENT_NAME", "schedule".to_owned()),
            ("GITHUB_EVENT_PATH", event.display().to_string()),
            ("GITHUB_RUN_ID", "4711".to_owned()),
            ("GITHUB_OUTPUT", sandbox.path().join("output").display().to_string()),
        ]
    };
    let actions = actions(&scene.sandbox);
    let actions: Vec<(&str, &str)> = actions.iter().map(|(name, value)| (*name, value.as_str())).collect();
    scene.run_as(&["plan", "--shard", "1/1"], READ_TOKEN, &actions).expect_code(0);
    assert_eq!(scene.fleet.state().refused_writes, Vec::<String>::new(), "it does not even try");
    let output = fs::read_to_string(scene.sandbox.path().join("output")).expect("outputs");
    let digest = crate::support::outputs(&output)["report-digest"].clone();
    let plans = scene.out();
    let folder = plans.to_str().unwrap().to_owned();
    scene.on_another_machine();
    let run = scene.run_as(&["run", "--plans", &folder], TOKEN, &actions).expect_code(3);
    assert!(run.stderr.contains("`report-digests` is missing"), "{}", run.stderr);
    let other = json!({"shard-1": "0".repeat(64)}).to_string();
    let run = scene
        .run_as(&["run", "--plans", &folder, "--report-digests", &other], TOKEN, &actions)
        .expect_code(3);
    assert!(run.stderr.contains("was not produced by a job of this workflow run"), "{}", run.stderr);
    // What another job may have left there does not keep the rest from being delivered.
    fs::create_dir_all(plans.join("stray")).expect("a folder");
    fs::write(plans.join("stray/campaign-plans.json"), "{}").expect("a file");
    // A plan that was changed on the way is refused, and its target told as failed.
    let digests = json!({ "shard-1": digest }).to_string();
    let mut changed = None;
    for place in 0..3 {
        let path = plans.join(format!("targets/octo/r{place:03}/_/plan.json"));
        if changed.is_none() && path.is_file() {
            let text = fs::read_to_string(&path).expect("a plan").replace("+new", "+evil");
            fs::write(&path, text).expect("a plan");
            changed = Some(format!("octo/r{place:03}"));
        }
    }
    let run = scene.run_as(&["run", "--plans", &folder, "--report-digests", &digests], TOKEN, &actions);
    assert!(
        run.stdout.contains("left out: ") && run.stdout.contains("stray/campaign-plans.json"),
        "{}",
        run.stdout
    );
    let state = scene.fleet.state();
    assert_eq!(state.count("OPEN"), 1, "the other one of the canary");
    assert!(state.places[&changed.expect("a plan")].pulls.is_empty());
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
async fn campaign_files_that_make_no_sense_are_refused_before_anything_is_asked() {
    let scene = Scene::new(WAVES).await;
    let places = "repositories: { list: [octo/a] }\n";
    let tasks = "tasks: [{ recipe: words.yml }]\n";
    scene.sandbox.write("broken.yml", "steps: [{ do: [{ replace: { pattern: a, with: b } }] }]\n");
    let test = "tests: [{ name: a, before: { a.txt: old }, after: { a.txt: other } }]\n";
    scene.sandbox.write("wrong.yml", format!("{RECIPE}{test}"));
    let (repo, outside) = (scene.sandbox.repo(), scene.sandbox.path().join("outside"));
    rustix::fs::mkfifoat(rustix::fs::CWD, repo.join("pipe"), 0o600.into()).expect("a pipe");
    fs::create_dir(&outside).expect("a folder");
    fs::write(outside.join("words.yml"), RECIPE).expect("a file");
    std::os::unix::fs::symlink(&outside, repo.join("away")).expect("a link");
    for (text, told) in [
        (format!("name: Words\n{places}{tasks}"), "name: invalid name \"Words\""),
        (format!("name: words\n{places}{tasks}wave: 1\n"), "wave"),
        (format!("name: words\n{places}{tasks}waves: {{ share: 120% }}\n"), "invalid share"),
        (format!("name: words\nrepositories: {{ list: [octo/../a] }}\n{tasks}"), "invalid repository"),
        (format!("name: words\nrepositories: {{ topics: [rust] }}\n{tasks}"), "repositories.topics"),
        (format!("name: words\nrepositories: {{}}\n{tasks}"), "no repositories"),
        (format!("name: words\n{places}tasks: []\n"), "no tasks; list at least one"),
        (
            format!("name: words\n{places}tasks: [{{ task: a }}, {{ task: b }}]\n"),
            "tasks[0]: `id` is missing",
        ),
        (format!("name: words\n{places}tasks: [{{ task: a, recipe: b }}]\n"), "set one of"),
        (
            format!("name: words\n{places}tasks: [{{ task: a, deliver: patch }}]\n"),
            "`deliver` has no effect in a campaign",
        ),
        (format!("name: words\nrepositories: {{ file: gone.txt }}\n{tasks}"), "gone.txt"),
        (format!("name: words\nrepositories: {{ file: ../list }}\n{tasks}"), "repositories.file"),
        (format!("name: words\n{places}tasks: [{{ recipe: gone.yml }}]\n"), "could not read"),
        (format!("name: words\n{places}tasks: [{{ recipe: ../words.yml }}]\n"), "tasks[0]: "),
        (format!("name: words\n{places}tasks: [{{ recipe: pipe }}]\n"), "could not read"),
        (format!("name: words\n{places}tasks: [{{ recipe: away/words.yml }}]\n"), "could not read"),
        (format!("name: words\n{places}tasks: [{{ recipe: broken.yml }}]\n"), "broken.yml: steps[0].do[0]"),
        (format!("name: words\n{places}tasks: [{{ recipe: wrong.yml }}]\n"), "fails its test \"a\""),
        (format!("name: words\n{places}{tasks}app: {{ id: '1', key_env: NO_KEY }}\n"), "`NO_KEY` is not set"),
    ] {
        scene.sandbox.write("campaign.yml", &text);
        let run = scene.run(&["run"]).expect_code(3);
        assert!(run.stderr.contains(told), "{told}: {}", run.stderr);
    }
    assert_eq!(scene.fleet.state().requests, Vec::<String>::new());
}
