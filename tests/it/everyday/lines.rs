//! The tables of `lines/`: each row has the exit code, the output and the effects that it says, in `yolo` and by way of
//! a dry run's plan. Rows that change something are played in one of the two, turn and turn about; `cargo test` plays one in
//! four of them, and the gate one in two (`EVERYDAY_EVERY=2`).
//!
//! `EVERYDAY=rust,node` plays every row of these tables in both, and in bare bash as well, to see that the rows are right; so does
//! `just everyday`, for all tables.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;

use serde::Deserialize;
use serde_json::json;

use super::checkout::{Checkout, Effects};
use super::number;
use super::play::{self, Answer, Mode};

/// As many of all lines may be refused.
const REFUSALS: usize = 2;
/// And so many lines there have to be where nothing is missing but the tools that CI does not install.
const LINES: usize = 120;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    /// Programs without which all of it is skipped.
    needs: Vec<String>,
    /// Whether they have to be there.
    #[serde(default)]
    required: bool,
    /// The folder in `projects/`, if its name is not that of the table.
    project: Option<String>,
    /// Lines that are run before the first commit.
    #[serde(default)]
    prepare: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    run: Lines,
    /// Of the last line; those before it succeed.
    #[serde(default)]
    exit: i64,
    /// Texts that the last line prints.
    #[serde(default)]
    output: Vec<String>,
    #[serde(default)]
    created: BTreeSet<String>,
    #[serde(default)]
    changed: BTreeSet<String>,
    #[serde(default)]
    removed: BTreeSet<String>,
    /// Texts that files hold afterwards.
    #[serde(default)]
    holds: BTreeMap<String, String>,
    /// Ignored files that are there afterwards, for the next build; a plan leaves them behind.
    #[serde(default)]
    ignored: Vec<String>,
    /// Lines that have to succeed on this machine, or the row is skipped.
    #[serde(default)]
    needs: Vec<String>,
}

/// One line, or several that are run one after another.
#[derive(Clone, Deserialize)]
#[serde(untagged)]
enum Lines {
    One(String),
    Several(Vec<String>),
}

impl Row {
    fn lines(&self) -> Vec<String> {
        match &self.run {
            Lines::One(line) => vec![line.clone()],
            Lines::Several(lines) => lines.clone(),
        }
    }

    fn effects(&self) -> Effects {
        Effects {
            created: self.created.clone(),
            changed: self.changed.clone(),
            removed: self.removed.clone(),
        }
    }

    /// Returns whether nothing is left of it that another row could see.
    fn only_looks(&self) -> bool {
        self.effects().is_none() && self.ignored.is_empty()
    }
}

/// Rows that are played in one session, on a copy of a prepared project.
struct Job<'a> {
    table: &'a str,
    template: &'a Checkout,
    rows: Vec<Row>,
    mode: Mode,
}

/// What became of rows.
#[derive(Default)]
struct Tally {
    /// Lines by table.
    played: BTreeMap<String, BTreeSet<String>>,
    skipped: BTreeMap<String, Vec<String>>,
    refused: BTreeSet<String>,
    wrong: Vec<String>,
}

impl Job<'_> {
    fn play(&self, tally: &Mutex<Tally>) {
        let checkout = Checkout::copy_of(self.template);
        let (before, repository) = (checkout.tree(), checkout.repository());
        let lines: Vec<String> = self.rows.iter().flat_map(Row::lines).collect();
        let mut complaints = Vec::new();
        let mut complain =
            |row: &Row, what: String| complaints.push(format!("{}: {what}", row.lines().join(" ⏎ ")));
        let answers = match self.mode {
            Mode::Bare => play::bare(&checkout, &lines),
            mode => {
                let calls: Vec<_> =
                    lines.iter().map(|line| ("run_command", json!({ "command": line }))).collect();
                let session = play::session(&checkout, mode, &calls);
                if session.code != Some(0) {
                    complain(
                        &self.rows[0],
                        format!("the run ended with {:?}\n{}", session.code, session.log),
                    );
                }
                if checkout.repository() != repository {
                    complain(&self.rows[0], "Git's own folder changed".to_owned());
                }
                if mode == Mode::DryRun {
                    let effects = Effects::between(&before, &checkout.tree());
                    if !effects.is_none() {
                        complain(&self.rows[0], format!("the dry run changed the checkout: {effects:?}"));
                    }
                    if let Err(error) = play::apply(&checkout, &session) {
                        complain(&self.rows[0], format!("the plan does not apply: {error}"));
                    }
                }
                session.answers
            }
        };
        let refused: Vec<String> = lines
            .iter()
            .zip(&answers)
            .filter(|(_, answer)| answer.refused)
            .map(|(line, answer)| {
                format!("{}: {line}\n      {}", self.table, answer.text.replace('\n', " ⏎ "))
            })
            .collect();
        let mut answers = answers.into_iter();
        for row in &self.rows {
            let own: Vec<Answer> = answers.by_ref().take(row.lines().len()).collect();
            if own.iter().any(|answer| answer.refused) {
                continue;
            }
            for what in row.answered(&own) {
                complain(row, what);
            }
        }
        if let ([row], true) = (&self.rows[..], refused.is_empty()) {
            for what in row.left(&checkout, self.template, self.mode) {
                complain(row, what);
            }
        } else {
            let effects = Effects::between(&before, &checkout.tree());
            if !effects.is_none() {
                complain(&self.rows[0], format!("(and those after it) changed the checkout: {effects:?}"));
            }
        }
        let mut tally = tally.lock().expect("no worker panicked");
        tally.played.entry(self.table.to_owned()).or_default().extend(lines);
        tally.refused.extend(refused);
        tally
            .wrong
            .extend(complaints.into_iter().map(|what| format!("{} {:?}: {what}", self.table, self.mode)));
    }
}

impl Row {
    /// Returns what is wrong with the answers to its lines.
    fn answered(&self, answers: &[Answer]) -> Vec<String> {
        let mut wrong = Vec::new();
        let Some((last, first)) = answers.split_last().filter(|_| answers.len() == self.lines().len()) else {
            return vec![format!("{} answers", answers.len())];
        };
        for answer in first.iter().filter(|answer| answer.exit != Some(0)) {
            wrong.push(format!("a line before the last ended with {:?}: {}", answer.exit, answer.text));
        }
        if last.exit != Some(self.exit) {
            wrong.push(format!("exit code {:?}, not {}: {}", last.exit, self.exit, last.text));
        }
        for text in self.output.iter().filter(|text| !last.text.contains(*text)) {
            wrong.push(format!("{text:?} is not in its output: {}", last.text));
        }
        wrong
    }

    /// Returns what is wrong with the files that it left.
    fn left(&self, checkout: &Checkout, template: &Checkout, mode: Mode) -> Vec<String> {
        let mut wrong = Vec::new();
        let effects = Effects::between(&template.tree(), &checkout.tree());
        if effects != self.effects() {
            wrong.push(format!("{effects:?}, not {:?}", self.effects()));
        }
        for (name, text) in &self.holds {
            let content = fs::read_to_string(checkout.repo().join(name)).unwrap_or_default();
            if !content.contains(text) {
                wrong.push(format!("{name} does not hold {text:?}: {content}"));
            }
        }
        for name in &self.ignored {
            let there = checkout.repo().join(name).symlink_metadata().is_ok();
            let expected = mode != Mode::DryRun || template.repo().join(name).symlink_metadata().is_ok();
            if there != expected {
                wrong.push(format!("{name} is {}", if there { "there" } else { "not there" }));
            }
        }
        wrong
    }
}

/// Returns whether a line succeeds here.
fn works(line: &str) -> bool {
    let mut command = Command::new("bash");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().expect("bash runs").success()
}

/// Reads the tables and prepares their projects; what is missing on this machine is noted as skipped.
fn prepare(tally: &mut Tally) -> Vec<(String, Checkout, Vec<Row>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/everyday");
    let chosen = std::env::var("EVERYDAY").unwrap_or_default();
    let mut prepared = Vec::new();
    for entry in fs::read_dir(folder.join("lines")).expect("the tables").flatten() {
        let name = entry.path().file_stem().expect("a name").to_string_lossy().into_owned();
        if !chosen.is_empty() && !chosen.split(',').any(|table| table == name) {
            continue;
        }
        let text = fs::read_to_string(entry.path()).expect("a table");
        let table: Table = serde_yaml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        if let Some(missing) = table.needs.iter().find(|program| !works(&format!("command -v {program}"))) {
            assert!(!table.required, "{missing} is needed for these tests");
            let lines = table.rows.iter().flat_map(Row::lines);
            tally.skipped.insert(name, lines.map(|line| format!("{line} (no {missing})")).collect());
            continue;
        }
        let (rows, skipped): (Vec<_>, Vec<_>) =
            table.rows.into_iter().partition(|row| row.needs.iter().all(|line| works(line)));
        if !skipped.is_empty() {
            let lines = skipped
                .iter()
                .map(|row| format!("{} (no {})", row.lines().join(" ⏎ "), row.needs.join(", ")));
            tally.skipped.insert(name.clone(), lines.collect());
        }
        let project = folder.join("projects").join(table.project.as_ref().unwrap_or(&name));
        prepared.push((name, Checkout::of_project(&project, &table.prepare), rows));
    }
    prepared
}

#[test]
fn everyday_lines_pass_with_effects() {
    let mut tally = Tally::default();
    let prepared = prepare(&mut tally);
    let all = std::env::var_os("EVERYDAY").is_some();
    let every = if all { 1 } else { number("EVERYDAY_EVERY", 4) };
    let modes = if all { vec![Mode::Bare, Mode::DryRun, Mode::Yolo] } else { vec![Mode::DryRun, Mode::Yolo] };
    let mut jobs = Vec::new();
    for (table, template, rows) in &prepared {
        let (looks, works): (Vec<Row>, Vec<Row>) = rows.iter().cloned().partition(Row::only_looks);
        for (turn, &mode) in modes.iter().enumerate() {
            let job = |rows| Job { table, template, rows, mode };
            let chosen = works
                .iter()
                .enumerate()
                .filter(|(number, _)| number % every == 0 && (all || number / every % modes.len() == turn));
            jobs.extend(chosen.map(|(_, row)| job(vec![row.clone()])));
            jobs.push(job(looks.clone()));
        }
    }
    jobs.reverse();
    let (jobs, tally) = (Mutex::new(jobs), Mutex::new(tally));
    thread::scope(|scope| {
        // Half of the time is spent waiting for children and the kernel.
        for _ in 0..2 * thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let Some(job) = jobs.lock().expect("no worker panicked").pop() else { break };
                    job.play(&tally);
                }
            });
        }
    });
    let tally = tally.into_inner().expect("no worker panicked");
    let lines: usize = tally.played.values().map(BTreeSet::len).sum();
    for (table, played) in &tally.played {
        println!("{table}: {} lines", played.len());
    }
    for (table, skipped) in &tally.skipped {
        println!("{table}: {} skipped\n    {}", skipped.len(), skipped.join("\n    "));
    }
    let list = |what: &mut dyn Iterator<Item = &String>| {
        what.map(|line| format!("\n    {line}")).collect::<String>()
    };
    assert!(
        tally.wrong.is_empty() && tally.refused.len() <= REFUSALS,
        "of {lines} lines {} are refused:{}\nand {} are wrong:{}",
        tally.refused.len(),
        list(&mut tally.refused.iter()),
        tally.wrong.len(),
        list(&mut tally.wrong.iter()),
    );
    assert!(
        lines * every >= LINES || std::env::var("EVERYDAY").is_ok_and(|tables| !tables.is_empty()),
        "only {lines} lines were played"
    );
}
