//! Attacks, played for real: what counts is what they achieve, whatever a line looks like and whoever refused it.
//!
//! A part of them is played each time; `just attacks` plays all. `ATTACKS_EVERY=1` takes every line of the tables
//! instead of a sample, `ATTACKS_GENERATED` and `ATTACKS_SEQUENCES` say how many lines and sequences are generated, and `ATTACKS_ONLY` plays those that
//! hold a text. `ATTACKS_THROUGH`, `ATTACKS_SCENES`, `ATTACKS_OWNER` and `ATTACKS_KIND` serve to play them as another
//! user, or on another kind of machine.
#![cfg(target_os = "linux")]

mod effect;
mod files;
mod grammar;
mod kinds;
mod play;
mod scene;
mod secrets;
mod sequences;
mod state;
mod table;
mod team;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use effect::{Effect, Effects};
use play::{STAGES, Stage, Way};
use table::Attack;

/// One in so many lines of the tables is played in each stage by `cargo test`; the gate plays three times as many.
const EVERY: usize = 108;
/// So many lines are generated.
const GENERATED: usize = 20;

/// How many lines share a run: what they achieve is told apart afterwards, one by one.
const TOGETHER: usize = 12;

#[test]
fn table_attacks_work_in_bare_shell() {
    let attacks = sample(table::attacks(), number("ATTACKS_EVERY", EVERY));
    let plain: Vec<Attack> = attacks.into_iter().filter(|attack| attack.plain).collect();
    let idle = idle(&plain);
    assert!(idle.is_empty(), "{} of {} do nothing:\n{}", idle.len(), plain.len(), idle.join("\n"));
}

#[test]
fn generated_attacks_work_unconfined() {
    let attacks = grammar::generated(number("ATTACKS_GENERATED", GENERATED));
    let idle = idle(&attacks);
    // Some wrappers take the force of others: an error within a condition is none, for one.
    assert!(
        idle.len() * 10 <= attacks.len(),
        "{} of {} do nothing:\n{}",
        idle.len(),
        attacks.len(),
        idle.join("\n")
    );
}

/// Tells which attacks do not achieve what they are after although nothing stops them.
fn idle(attacks: &[Attack]) -> Vec<String> {
    team::all(attacks, |attack| {
        let effects = play::play_bare(attack);
        (!effects.contains_key(&attack.aim)).then(|| {
            format!("{}: {:?} wants {:?}, but got {effects:?}", attack.theme, attack.line, attack.aim)
        })
    })
}

#[test]
fn honest_work_has_no_attack_effect() {
    let lines =
        ["ls -la && cat README.md", "grep -rn def src | head -3", "mkdir -p build && echo x > build/a"];
    let attack = |line: &str| Attack {
        theme: "honest".to_owned(),
        line: line.to_owned(),
        aim: Effect::Change,
        needs: Vec::new(),
        alone: false,
        plain: true,
    };
    for stage in STAGES {
        // Only those that build may leave something behind.
        let lines = if stage.way == Way::Look { &lines[..2] } else { &lines[..] };
        let attacks: Vec<Attack> = lines.iter().map(|line| attack(line)).collect();
        assert_eq!(play::play(&attacks.iter().collect::<Vec<_>>(), stage), Effects::new(), "{stage:?}");
    }
}

#[test]
fn changes_are_attributed_to_author() {
    for (way, mode, class, named, expected) in [
        (Way::Work, "yolo", "dev", true, vec![]),
        (Way::Work, "yolo", "dev", false, vec![Effect::Silent]),
        (Way::Line, "yolo", "safe", true, vec![Effect::Look]),
        (Way::Look, "yolo", "safe", false, vec![Effect::Silent, Effect::Look]),
        (Way::Work, "dry-run", "dev", true, vec![Effect::DryRun]),
    ] {
        assert_eq!(
            play::judged(Stage { way, mode }, class, named),
            expected,
            "{way:?} {mode} {class} {named}"
        );
    }
}

#[test]
fn table_attacks_have_no_effect() {
    let found = played(&table::attacks(), number("ATTACKS_EVERY", EVERY));
    accept(&found);
}

#[test]
fn generated_attacks_have_no_effect() {
    let attacks = grammar::generated(number("ATTACKS_GENERATED", GENERATED));
    accept(&played(&attacks, 4));
}

/// One line in one stage, and what it achieved.
struct Found {
    stage: Stage,
    line: String,
    effects: Effects,
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}: {:?}", self.stage.way, self.stage.mode, self.line)?;
        self.effects.iter().try_for_each(|(effect, seen)| {
            write!(f, "\n    {effect:?}: {}", seen.iter().take(6).cloned().collect::<Vec<_>>().join(", "))
        })
    }
}

/// Fails unless what was achieved is what this kind of machine leaves open, and, if all were played, all of that.
fn accept(found: &[Found]) {
    let open = kinds::this().open;
    let seen: BTreeSet<Effect> = found.iter().flat_map(|found| found.effects.keys().copied()).collect();
    let wrong: Vec<&Found> =
        found.iter().filter(|found| found.effects.keys().any(|effect| !open.contains(effect))).collect();
    let mut count: BTreeMap<(Effect, String), usize> = BTreeMap::new();
    for found in &wrong {
        for effect in found.effects.keys() {
            *count.entry((*effect, format!("{:?} {}", found.stage.way, found.stage.mode))).or_default() += 1;
        }
    }
    let told: Vec<String> = wrong.iter().map(ToString::to_string).collect();
    assert!(wrong.is_empty(), "{} lines have an effect:\n{}\n{count:#?}", wrong.len(), told.join("\n"));
    if number("ATTACKS_EVERY", EVERY) == 1 {
        let shut: Vec<&Effect> = open.difference(&seen).collect();
        assert!(shut.is_empty(), "{shut:?} is kept out here, and kinds.yml says otherwise");
    }
}

/// Plays the attacks in every stage, one in `every` of them in each, and returns those that achieved something.
fn played(attacks: &[Attack], every: usize) -> Vec<Found> {
    let mut batches: Vec<(Stage, Vec<&Attack>)> = Vec::new();
    let only = std::env::var("ATTACKS_ONLY").unwrap_or_default();
    for (number, stage) in STAGES.into_iter().enumerate() {
        // Each stage begins elsewhere, so that together they see most lines.
        let chosen = attacks.iter().enumerate().filter(|(index, _)| (index + number * 5) % every == 0);
        let chosen = chosen
            .map(|(_, attack)| attack)
            .filter(|attack| attack.is_possible() && attack.line.contains(&only));
        let (alone, together): (Vec<_>, Vec<_>) = chosen.partition(|attack| attack.alone);
        // What changes the checkout can only be laid to those that look if nobody else is there.
        let (safe, others): (Vec<_>, Vec<_>) =
            together.into_iter().partition(|attack| stage.way == Way::Line && team::is_safe(&attack.line));
        for group in [safe, others] {
            batches.extend(group.chunks(TOGETHER).map(|chunk| (stage, chunk.to_vec())));
        }
        batches.extend(alone.into_iter().map(|attack| (stage, vec![attack])));
    }
    let found = team::all(&batches, |(stage, batch)| {
        let found = found(*stage, batch)?;
        // Seen with `--nocapture` while the others are still being played.
        for found in &found {
            eprintln!("{found}");
        }
        Some(found)
    });
    found.into_iter().flatten().collect()
}

/// Plays a batch, and those in it one by one if they achieved something together.
fn found(stage: Stage, batch: &[&Attack]) -> Option<Vec<Found>> {
    let together = play::play(batch, stage);
    if together.is_empty() {
        return None;
    }
    let open = kinds::this().open;
    if batch.len() == 1 || together.keys().all(|effect| open.contains(effect)) {
        let lines: Vec<&str> = batch.iter().map(|attack| attack.line.as_str()).collect();
        return Some(vec![Found { stage, line: lines.join(" ⏎ "), effects: together }]);
    }
    let mut found = Vec::new();
    for attack in batch {
        let effects = play::play(&[attack], stage);
        if !effects.is_empty() {
            found.push(Found { stage, line: attack.line.clone(), effects });
        }
    }
    if found.is_empty() {
        let lines: Vec<&str> = batch.iter().map(|attack| attack.line.as_str()).collect();
        found.push(Found {
            stage, line: format!("only together: {}", lines.join(" ⏎ ")), effects: together
        });
    }
    Some(found)
}

/// Returns those that this machine can play, one in `every`.
fn sample(attacks: Vec<Attack>, every: usize) -> Vec<Attack> {
    let only = std::env::var("ATTACKS_ONLY").unwrap_or_default();
    let possible = attacks.into_iter().filter(|attack| attack.is_possible() && attack.line.contains(&only));
    possible.step_by(every).collect()
}

/// Reads a number from the environment.
fn number(name: &str, default: usize) -> usize {
    std::env::var(name)
        .map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}
