//! Pull requests with ten pushes each, made of a seed: what a push costs, and what becomes of the findings, over commits on
//! top, amended ones, rebases, moved files, mended, resolved and answered findings, and reviews that ended early.
//!
//! `PULLS=10 PULLS_SEED=7` sets how many, and which.
#![cfg(unix)]

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::{Value, json};

use crate::support::github::ReviewComment;
use crate::support::model::{Answer, ModelServer};
use crate::support::scene::{Scene, scene};

const CONFIG: &[(&str, &str)] = &[(".github/architect.yml", "review: { pull_requests: true }\n")];

/// Files of a pull request, and lines of each: about as much as a review is shown at once.
const FILES: usize = 8;
const LINES: usize = 240;

/// What happens in a push.
#[derive(Clone, Copy, Debug)]
enum Push {
    Append,
    Amend,
    Rebase,
    Move,
    Mend,
    Resolve,
    Answer,
    /// The model refuses, so that the review ends before it has begun.
    Refused,
    /// The answer cannot be read.
    Unreadable,
}

/// The first push is the pull request itself.
const PUSHES: [Push; 9] = [
    Push::Append,
    Push::Amend,
    Push::Rebase,
    Push::Move,
    Push::Mend,
    Push::Resolve,
    Push::Answer,
    Push::Refused,
    Push::Unreadable,
];

/// A pull request as its author has it.
struct Author {
    scene: Scene,
    rng: Rng,
    files: BTreeMap<String, Vec<String>>,
    /// Number of defects so far; each has its own.
    defects: usize,
    mended: BTreeSet<usize>,
    settled: BTreeSet<usize>,
}

/// A reviewer that finds every defect in what it is shown, also those in lines that were there before, and words it as it
/// happens to. What it is shown as known, it names by its number.
fn reviewer(request: &Value) -> String {
    fn texts<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => all.push(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
            Value::Object(fields) => fields.values().for_each(|field| texts(field, all)),
            _ => {}
        }
    }
    let mut all = Vec::new();
    texts(request, &mut all);
    let shown = all.into_iter().find(|text| text.contains("[UNTRUSTED: the changes")).expect("a diff");
    let wordings =
        ["Defect {} breaks.", "The result is wrong: Defect {} does it.", "Look at Defect {} here."];
    let wording = wordings[shown.len() % wordings.len()];
    let known = |defect: usize| {
        let before = shown.lines().take_while(|line| !line.contains("[UNTRUSTED: the changes"));
        let line = before.into_iter().find(|line| line.contains(&format!("Defect {defect} ")))?;
        line.split_once(". ")?.0.parse::<usize>().ok()
    };
    let (mut file, mut number, mut findings) = ("", 0, Vec::new());
    for line in shown.lines() {
        if let Some(path) = line.strip_prefix("+++ b/") {
            file = path;
        } else if let Some(hunk) = line.strip_prefix("@@ ") {
            let start = hunk.split(['+', ',', ' ']).nth(3).and_then(|start| start.parse().ok());
            number = start.unwrap_or_else(|| panic!("{line}"));
        } else if line.starts_with('+') || line.starts_with(' ') {
            if let Some(defect) = defect_of(line) {
                findings.push(json!({"file": file, "line": number, "severity": "error", "confidence": 90,
                    "message": wording.replace("{}", &defect.to_string()), "same_as": known(defect)}));
            }
            number += 1;
        }
    }
    json!({ "findings": findings }).to_string()
}

/// Returns the number of the defect in a line.
fn defect_of(line: &str) -> Option<usize> {
    line.split_once("DEFECT_")?.1.trim_end_matches(';').parse().ok()
}

impl Author {
    fn new(scene: Scene, seed: u64) -> Self {
        let mut author = Self {
            scene,
            rng: Rng::with_seed(seed),
            files: BTreeMap::new(),
            defects: 0,
            mended: BTreeSet::new(),
            settled: BTreeSet::new(),
        };
        for file in 0..FILES {
            let line = |line| format!("    let value_{file:02}_{line:03} = {line};");
            author.files.insert(format!("src/m{file}.rs"), (0..LINES).map(line).collect());
        }
        (0..8).for_each(|_| author.spoil());
        author
    }

    fn pick(&mut self) -> String {
        let names: Vec<String> = self.files.keys().cloned().collect();
        names[self.rng.usize(..names.len())].clone()
    }

    /// Writes a defect into a line that has none.
    fn spoil(&mut self) {
        let file = self.pick();
        let at = self.rng.usize(..LINES);
        let line = &mut self.files.get_mut(&file).expect("the file")[at];
        if line.contains("DEFECT_") {
            return self.spoil();
        }
        self.defects += 1;
        let start = line.split_once(" = ").expect("a value").0;
        *line = format!("{start} = DEFECT_{};", self.defects);
    }

    /// Returns the defects that are in the files.
    fn present(&self) -> BTreeSet<usize> {
        self.files.values().flatten().filter_map(|line| defect_of(line)).collect()
    }

    fn write(&self) {
        for (path, lines) in &self.files {
            self.scene.sandbox.write(path, format!("{}\n", lines.join("\n")));
        }
    }

    /// Takes branch and checkout to GitHub.
    fn push(&mut self) {
        let server = self.scene.github.world().repository.as_ref().expect("a repository").path();
        let refs = ["HEAD:refs/heads/feature", "main:refs/heads/main"];
        let server = server.to_str().expect("a path");
        self.scene.sandbox.git(&["push", "--quiet", "--force", server, refs[0], refs[1]]);
        self.scene.head = self.scene.sandbox.git(&["rev-parse", "HEAD"]);
    }

    /// Makes a push. Returns what the review of it meets, and its exit code.
    fn make(&mut self, push: Push) -> (Answer, i32) {
        match push {
            Push::Rebase => {
                let file = format!("main_{}.txt", self.defects);
                self.scene.sandbox.git(&["checkout", "--quiet", "main"]);
                self.scene.sandbox.write(&file, "news of others\n".repeat(500));
                self.scene.base = self.scene.sandbox.commit("others");
                self.scene.sandbox.git(&["checkout", "--quiet", "feature"]);
                self.scene.sandbox.git(&["rebase", "--quiet", "main"]);
            }
            Push::Move => {
                let from = self.pick();
                let to = format!("src/moved/{}", from.rsplit('/').next().expect("a name"));
                let lines = self.files.remove(&from).expect("the file");
                self.files.insert(to.clone(), lines);
                std::fs::create_dir_all(self.scene.sandbox.repo().join("src/moved")).expect("a folder");
                self.scene.sandbox.git(&["mv", "-k", &from, &to]);
            }
            Push::Mend => {
                let told = self.told();
                let open = |defect: &usize| told.contains_key(defect) && !self.settled.contains(defect);
                let known: Vec<usize> = self.present().into_iter().filter(open).collect();
                let defect = known[self.rng.usize(..known.len())];
                let line = self.files.values_mut().flatten().find(|line| defect_of(line) == Some(defect));
                *line.expect("the defect") = format!("    let mended_{defect} = true;");
                self.mended.insert(defect);
            }
            Push::Resolve | Push::Answer => {
                let mut world = self.scene.github.world();
                let posted = |body: &str| {
                    body.split_once("Defect ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
                };
                let open: Vec<(u64, usize)> = world
                    .review_comments
                    .iter()
                    .filter_map(|(id, comment)| Some((*id, posted(&comment.body)?)))
                    .filter(|(_, defect)| !self.mended.contains(defect))
                    .collect();
                let (id, defect) = open[self.rng.usize(..open.len())];
                if matches!(push, Push::Resolve) {
                    world.settled.push(format!("PRRT_{id}"));
                    self.settled.insert(defect);
                } else {
                    let answer = ReviewComment {
                        login: "dev".into(),
                        body: "On purpose.".into(),
                        ..world.review_comments[&id].clone()
                    };
                    world.review_comments.insert(1_000_000 + id, answer);
                }
            }
            Push::Append | Push::Amend | Push::Refused | Push::Unreadable => {}
        }
        if !matches!(push, Push::Rebase | Push::Mend) {
            (0..self.rng.usize(1..4)).for_each(|_| self.spoil());
        }
        self.write();
        if matches!(push, Push::Amend) {
            self.scene.sandbox.git(&["add", "--all"]);
            self.scene.sandbox.git(&["commit", "--quiet", "--amend", "-m", "told anew"]);
        } else if !matches!(push, Push::Rebase) {
            self.scene.sandbox.commit("more");
        }
        self.push();
        match push {
            Push::Refused => (Answer::Status(401, vec![], "{}"), 4),
            Push::Unreadable => (Answer::Text("Looks good to me."), 1),
            _ => (Answer::Made(reviewer), 0),
        }
    }

    /// Reviews the pull request as it is. Returns how much the model was asked, in bytes, and the log.
    fn review(&self, answer: Answer, code: i32) -> (usize, String) {
        let server = ModelServer::start(vec![answer]);
        let event = self.scene.pull_event(7, "dev");
        let args = ["--model", "openai::gpt-5", "--base-url", server.url.as_str(), "--agent", "review"];
        let run =
            self.scene.run("pull_request", &event, &args, &[("OPENAI_API_KEY", "none")]).expect_code(code);
        (server.bodies().iter().map(|body| body.to_string().len()).sum(), run.stderr)
    }

    /// Returns how often each defect was told of.
    fn told(&self) -> BTreeMap<usize, usize> {
        let world = self.scene.github.world();
        let comments = world.review_comments.values().map(|comment| comment.body.clone());
        let all: String = comments.chain(world.reviews.iter().cloned()).collect();
        let mut told = BTreeMap::new();
        for rest in all.split("Defect ").skip(1) {
            let defect = rest.split(' ').next().and_then(|number| number.parse().ok()).expect("a number");
            *told.entry(defect).or_default() += 1;
        }
        told
    }
}

/// Plays the life of a pull request.
fn live(scene: Scene, seed: u64) {
    let mut author = Author::new(scene, seed);
    author.write();
    author.scene.sandbox.commit("the modules");
    author.push();
    let (first, _) = author.review(Answer::Made(reviewer), 0);
    assert_eq!(author.told().len(), author.defects, "seed {seed}: the first review");
    let mut pushes = PUSHES;
    author.rng.shuffle(&mut pushes);
    let (mut is_behind, mut costs) = (false, Vec::new());
    for (index, push) in pushes.into_iter().enumerate() {
        let (answer, code) = author.make(push);
        let (asked, log) = author.review(answer, code);
        let about = format!("seed {seed}, push {} of {pushes:?}: {push:?}\n{log}", index + 2);
        // An answer of another form goes back once more.
        if code == 0 {
            assert!(asked * 5 <= first, "{asked} of {first}, {about}");
            costs.push(asked * 100 / first);
        }
        is_behind = code != 0;
        let told = author.told();
        assert!(told.values().all(|times| *times == 1), "something is repeated: {told:?}, {about}");
        if !is_behind {
            let lost: Vec<usize> =
                author.present().into_iter().filter(|defect| !told.contains_key(defect)).collect();
            assert_eq!(lost, [0; 0], "lost, {about}");
        }
    }
    if is_behind {
        // What came last was not reviewed; the next review goes on with it.
        let (_, log) = author.review(Answer::Made(reviewer), 0);
        let told = author.told();
        assert!(
            author.present().iter().all(|defect| told.get(defect) == Some(&1)),
            "seed {seed}: {told:?}\n{log}"
        );
    }
    let resolved = author.scene.github.world().resolved.len();
    assert_eq!(resolved, author.mended.len(), "seed {seed}: what is mended is ticked off, and nothing else");
    author.scene.github.assert_valid();
    println!("pull request of seed {seed}: {} findings, later pushes cost {costs:?} percent", author.defects);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_pushes_repeat_nothing_and_lose_nothing() {
    let setting =
        |name, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let seed = setting("PULLS_SEED", 7);
    for seed in seed..seed + setting("PULLS", 1) {
        scene(CONFIG, move |scene| live(scene, seed)).await;
    }
}
