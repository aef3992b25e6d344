//! Campaigns against a world of repositories that exists in memory alone: people act as they like, machines are killed at any step
//! and gone on with elsewhere, and whatever happens, some things must hold.

pub(super) mod server;
mod waves;
mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use architect_ci::campaign::reconcile::{Situation, Step, decide, is_finished};
use architect_ci::campaign::{Campaign, CampaignFile, Intent, Standing, State, TargetId};
use architect_ci::github::{Checks, PullState};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use server::{DELIVERY, QUERY, SAVE, Server};
use waves::{History, check_waves};
use world::{Choice, Kind, OPEN, PER_HOUR, PER_OWNER, Place, World};

fn campaign(stops: bool, approval: &str, merge: &str) -> Campaign {
    let share = if stops { "34%" } else { "100%" };
    let text = format!(
        "name: clock\nrepositories: {{ list: [octo/a] }}\ntasks: [{{ task: x }}]\nmerge: {merge}\n\
         waves: {{ canary: 2, growth: 2, largest: 8, share: 60%, approval: {approval} }}\n\
         stop: {{ failed: {share}, red: {share}, closed: {share}, reverted: {share} }}\n\
         limits: {{ open: {OPEN}, open_per_owner: {PER_OWNER}, per_hour: {PER_HOUR}, attempts: 2 }}\n"
    );
    let file: CampaignFile = architect_ci::config::parse_as(&text, "campaign.yml").expect("a campaign");
    Campaign::new(file, "campaign.yml").expect("a campaign")
}

/// How long it goes on for.
const WILD: usize = 40;
const FRIENDLY: usize = 300;

fn play(seed: u64) {
    let choice = &mut Choice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let approval = if choice.one_in(3) { "comment" } else { "automatic" };
    let merge = if choice.one_in(3) { "green" } else { "never" };
    let campaign = campaign(choice.one_in(2), approval, merge);
    let file = &campaign.file;
    let mut world = World::new(choice);
    let mut saved = State::new("clock");
    let mut history = History::default();
    let mut machines: [BTreeMap<TargetId, String>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let (rolls_back, splits) = (choice.one_in(4), choice.one_in(2));
    for round in 0..WILD + FRIENDLY {
        let is_friendly = round >= WILD;
        let machine = usize::try_from(choice.below(2)).expect("small");
        let plans = &mut machines[machine];
        if choice.one_in(6) {
            plans.clear();
        }
        if is_friendly {
            world.left_out.clear();
        } else if choice.one_in(4) {
            world.select_others(choice);
        }
        saved.update_targets(world.selected().cloned());
        let observed = world.observe(&saved);
        let situation = Situation {
            observed: &observed,
            plans: &plans.clone(),
            can_plan: true,
            begins: is_friendly || !choice.one_in(4),
            merges: choice.one_in(5),
            now: world.now,
        };
        let text = saved.files();
        assert_eq!(State::of_files("clock", &text).expect("a state"), saved, "what is saved can be read");
        let judged = decide(file, saved.clone(), &situation);
        world.check(&observed, &judged);
        check_waves(&saved, &observed, &judged, situation.begins);
        history.check(&observed, &judged);
        let again = decide(file, judged.state.clone(), &situation);
        assert_eq!(
            (&again.state, &again.steps),
            (&decide(file, saved.clone(), &situation).state, &judged.steps)
        );
        if is_friendly && is_finished(&judged.state, &judged, &world.observe(&judged.state)) {
            let is_forward = judged.state.intent == Intent::Forward;
            let is_over = |standing: &Standing| standing.is_final() || !is_forward;
            assert!(judged.standings.values().all(is_over), "{:?}", judged.standings);
            assert!(world.places.values().all(|place| place.created <= 1));
            return;
        }
        let mut state = judged.state.clone();
        // Whoever looks at the dashboard goes on now and then.
        if choice.one_in(4) {
            state.resume(&judged.standings);
        }
        // People close what they do not want any more.
        if !is_friendly && choice.one_in(8) {
            let open: Vec<&TargetId> = world.places.keys().collect();
            let at = usize::try_from(choice.below(open.len() as u64)).expect("small");
            state.withdraw(&[open[at].whole()].into());
        }
        if rolls_back && round == WILD {
            state.intent = Intent::RollingBack;
        }
        let is_killed = !is_friendly && choice.one_in(2);
        let kill = usize::try_from(choice.below(1 + judged.steps.len() as u64)).expect("small");
        for (at, step) in judged.steps.iter().enumerate() {
            if is_killed && at == kill {
                break;
            }
            let done = world.carry_out(step, plans);
            state.record_outcome(step, done);
            let is_known = |part: &Step| state.targets.contains_key(part.target());
            if splits
                && let Some((part, done)) = world.split(step, plans)
                && !is_known(&part)
            {
                state.record_outcome(&part, done);
            }
            if choice.one_in(3) {
                saved = state.clone();
            }
        }
        if !is_killed {
            saved = state;
        }
        world.go_on(choice, is_friendly);
    }
    panic!("seed {seed}: no end: {:?} {:?}", saved.stopped, saved.waves);
}

#[test]
fn campaigns_come_to_an_end_whatever_happens() {
    let cases = std::env::var("CAMPAIGN_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let mut runner = TestRunner::new(Config { cases, failure_persistence: None, ..Config::default() });
    runner
        .run(&any::<u64>(), |seed| {
            play(seed);
            Ok(())
        })
        .unwrap();
}

/// After how many steps what is remembered is written down.
const STEPS: usize = 25;

/// What a campaign took.
struct Taken {
    waves: u32,
    hours: u64,
    /// The longest of its starts, in minutes.
    longest: u64,
    server: Server,
}

/// Lets a large campaign go on to its end: starts an hour apart, or later if one takes longer, and people who merge within a day.
fn simulate(targets: usize, largest: usize, per_hour: usize) -> Taken {
    const BEGIN: u64 = 1_000_000;
    let text = format!(
        "name: clock\nrepositories: {{ list: [octo/a] }}\ntasks: [{{ task: x }}]\n\
         waves: {{ canary: 5, growth: 5, largest: {largest}, share: 90% }}\n\
         limits: {{ open: 100000, open_per_owner: 10000, per_hour: {per_hour} }}\n"
    );
    let file: CampaignFile = architect_ci::config::parse_as(&text, "campaign.yml").expect("a campaign");
    let name = |at: usize| TargetId::try_from(format!("owner{}/r{at}", at % 20)).expect("a name");
    let kind = Kind::Plain;
    let places =
        (0..targets).map(|at| (name(at), Place { kind, pulls: Vec::new(), revert: None, created: 0 }));
    let (places, left_out) = (places.collect(), BTreeSet::new());
    let mut world = World { places, left_out, now: BEGIN, numbers: 0, heads: 0 };
    let mut state = State::new("clock");
    state.update_targets(world.places.keys().cloned());
    let mut plans = BTreeMap::new();
    let (mut server, mut longest) = (Server::new(7), 0);
    loop {
        let begun = server.now;
        let end = start(&file, &mut world, &mut state, &mut plans, &mut server);
        longest = longest.max(server.now.saturating_sub(begun).as_secs().div_ceil(60));
        world.now = BEGIN + server.now.as_secs();
        if let Some(waves) = end {
            return Taken { waves, hours: server.now.as_secs() / 3600, longest, server };
        }
        // The next full hour.
        server.now = Duration::from_secs((server.now.as_secs() / 3600 + 1) * 3600);
        world.now = BEGIN + server.now.as_secs();
        for pull in world.places.values_mut().flat_map(|place| &mut place.pulls) {
            if pull.created_at + 24 * 3600 <= world.now {
                (pull.state, pull.checks) = (PullState::Merged, Checks::Passed);
            }
        }
    }
}

/// One start: goes on until nothing is left to do, or GitHub's limits are reached. Returns the number of waves if that was all.
fn start(
    file: &CampaignFile,
    world: &mut World,
    state: &mut State,
    plans: &mut BTreeMap<TargetId, String>,
    server: &mut Server,
) -> Option<u32> {
    let begin = world.now.saturating_sub(server.now.as_secs());
    let mut observed = world.observe(state);
    server.send(&vec![QUERY; observed.len().div_ceil(50)]).ok()?;
    loop {
        world.now = begin + server.now.as_secs();
        let situation = Situation {
            observed: &observed,
            plans: &plans.clone(),
            can_plan: true,
            begins: true,
            merges: false,
            now: world.now,
        };
        let judged = decide(file, state.clone(), &situation);
        *state = judged.state.clone();
        for steps in judged.steps.chunks(STEPS) {
            for step in steps {
                if matches!(step, Step::Deliver(..)) {
                    server.send(&DELIVERY).ok()?;
                }
                world.now = begin + server.now.as_secs();
                let done = world.carry_out(step, plans);
                state.record_outcome(step, done);
            }
            server.send(&SAVE).ok()?;
        }
        let grown =
            state.targets.iter().any(|(id, record)| record.wave.is_some() && !observed.contains_key(id));
        observed = world.observe(state);
        server.send(&vec![QUERY; judged.steps.len().div_ceil(50)]).ok()?;
        if judged.steps.is_empty() && !grown {
            return is_finished(state, &judged, &observed).then_some(state.waves);
        }
    }
}

/// The simulations of `docs/scale.md`.
#[test]
fn campaigns_take_as_long_as_the_documentation_says() {
    let documentation =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scale.md")).expect("a page");
    let is_large = std::env::var_os("CAMPAIGN_HISTORIES").is_some();
    let rows: &[_] = if is_large { &[(1000, 200, 60), (10_000, 2000, 500)] } else { &[(1000, 200, 60)] };
    for &(targets, largest, per_hour) in rows {
        let Taken { waves, hours, longest, server } = simulate(targets, largest, per_hour);
        let Server { queries, requests, refused, .. } = server;
        let row = format!(
            "| {targets} | {largest} | {per_hour} | {waves} | {hours} | {longest} | {queries} | {requests} | {refused} |"
        );
        assert!(documentation.contains(&row), "docs/scale.md lacks the row\n{row}");
    }
    // What the campaign's file, its state and all that GitHub shows take, beside the tests themselves.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    println!("peak memory: {} kB", peak.unwrap_or("unknown"));
}
