//! Campaigns against a world of repositories that exists in memory alone: people act as they like, machines are killed at any step
//! and gone on with elsewhere, and whatever happens, some things must hold.

use std::collections::{BTreeMap, BTreeSet};

use architect_ci::campaign::reconcile::{Done, Next, Situation, Step, is_finished, next};
use architect_ci::campaign::{Campaign, CampaignFile, Intent, Standing, State, TargetId};
use architect_ci::github::{Checks, Observed, ObservedRepository, PullFacts, PullState};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

/// A source of choices that a seed decides.
struct Choice(u64);

impl Choice {
    fn below(&mut self, most: u64) -> u64 {
        // Knuth's constants; the high bits are the good ones.
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % most
    }

    fn one_in(&mut self, most: u64) -> bool {
        self.below(most) == 0
    }
}

/// What a repository is like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Plain,
    Archived,
    Empty,
    Missing,
    /// Has nothing to change.
    Same,
    /// Refuses branches.
    Protected,
}

struct Place {
    kind: Kind,
    pulls: Vec<PullFacts>,
    revert: Option<PullFacts>,
    created: usize,
}

struct World {
    places: BTreeMap<TargetId, Place>,
    now: u64,
    numbers: u64,
    heads: u64,
}

/// Limits of the campaign.
const OPEN: usize = 9;
const PER_OWNER: usize = 4;
const PER_HOUR: usize = 5;

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

impl World {
    fn new(choice: &mut Choice) -> Self {
        let mut places = BTreeMap::new();
        for at in 0..2 + choice.below(30) {
            let owner = ["octo", "other", "third"][usize::try_from(choice.below(3)).expect("small")];
            let id = TargetId::try_from(format!("{owner}/r{at}")).expect("a name");
            let kind = match choice.below(12) {
                0 => Kind::Archived,
                1 => Kind::Empty,
                2 => Kind::Missing,
                3 => Kind::Same,
                4 => Kind::Protected,
                _ => Kind::Plain,
            };
            places.insert(id, Place { kind, pulls: Vec::new(), revert: None, created: 0 });
        }
        Self { places, now: 1_000_000, numbers: 0, heads: 0 }
    }

    fn observe(&self, state: &State) -> BTreeMap<TargetId, Observed> {
        let begun = state.targets.iter().filter(|(_, record)| record.wave.is_some());
        begun
            .map(|(id, _)| {
                let place = &self.places[id];
                let repository = match place.kind {
                    Kind::Missing => ObservedRepository::Missing,
                    kind => ObservedRepository::Present {
                        name: id.repository.clone(),
                        is_archived: kind == Kind::Archived,
                        has_file: true,
                        head: (kind != Kind::Empty).then(|| ("main".to_owned(), "c".repeat(40))),
                    },
                };
                let observed =
                    Observed { repository, pulls: place.pulls.clone(), revert: place.revert.clone() };
                (id.clone(), observed)
            })
            .collect()
    }

    fn pull(&mut self) -> PullFacts {
        (self.numbers, self.heads) = (self.numbers + 1, self.heads + 1);
        PullFacts {
            number: self.numbers,
            node: format!("PR_{}", self.numbers),
            state: PullState::Open,
            head: format!("h{}", self.heads),
            checks: Checks::Pending,
            is_conflicting: false,
            created_at: self.now,
            is_reverted: false,
        }
    }

    /// Does what a step says, and returns what came of it.
    fn carry_out(&mut self, step: &Step, plans: &mut BTreeMap<TargetId, String>) -> Done {
        let fresh = self.pull();
        let place = self.places.get_mut(step.target()).expect("a target");
        assert!(
            !matches!(place.kind, Kind::Archived | Kind::Empty | Kind::Missing),
            "nothing can be done there: {step:?}"
        );
        let at = |place: &Place, number: &u64| {
            place.pulls.iter().position(|pull| pull.number == *number).expect("the pull request")
        };
        match step {
            Step::Plan(_, _) if place.kind == Kind::Same => Done::Nothing,
            Step::Plan(id, _) => {
                let digest = format!("d-{}", fresh.head);
                plans.insert(id.clone(), digest.clone());
                Done::Planned { digest, owners: Vec::new() }
            }
            Step::Deliver(_, _) if place.kind == Kind::Protected => Done::Failed("protected".to_owned()),
            Step::Deliver(id, digest) => {
                assert_eq!(plans.get(id), Some(digest), "a plan that is not at hand");
                let digest = digest.clone();
                if let Some(open) = place.pulls.iter_mut().find(|pull| pull.state == PullState::Open) {
                    (open.head, open.checks, open.is_conflicting) = (fresh.head, Checks::Pending, false);
                    return Done::Delivered { digest, pull: Some(open.number) };
                }
                assert!(place.pulls.is_empty(), "a second pull request: {id}");
                place.created += 1;
                let pull = Some(fresh.number);
                place.pulls.push(fresh);
                Done::Delivered { digest, pull }
            }
            Step::Merge(_, number, head) => {
                let at = at(place, number);
                let pull = &mut place.pulls[at];
                assert!(pull.head == *head && pull.checks == Checks::Passed && !pull.is_conflicting);
                pull.state = PullState::Merged;
                Done::Seen
            }
            Step::Close(_, number) => {
                let at = at(place, number);
                place.pulls[at].state = PullState::Closed;
                Done::Seen
            }
            Step::Revert(id, _) => {
                assert!(place.revert.is_none(), "a second revert: {id}");
                place.revert = Some(fresh);
                Done::Seen
            }
        }
    }

    /// What people, checks and time do.
    fn go_on(&mut self, choice: &mut Choice, is_friendly: bool) {
        self.now += choice.below(2400);
        for place in self.places.values_mut() {
            for pull in place.pulls.iter_mut().chain(&mut place.revert) {
                match (pull.state, if is_friendly { 1 } else { choice.below(9) }) {
                    (PullState::Open, 0) => pull.checks = Checks::Failed,
                    (PullState::Open, 1) if !pull.is_conflicting => {
                        (pull.checks, pull.state) = (Checks::Passed, PullState::Merged);
                    }
                    (PullState::Open, 2) => pull.checks = Checks::Passed,
                    (PullState::Open, 3) => pull.is_conflicting = true,
                    (PullState::Open, 4) => pull.state = PullState::Closed,
                    (PullState::Merged, 5) if choice.one_in(4) => pull.is_reverted = true,
                    _ => {}
                }
            }
            if is_friendly && place.kind == Kind::Plain && choice.one_in(30) {
                place.kind = Kind::Archived;
            }
        }
    }

    fn check(&self, file: &CampaignFile, before: &Observations, next: &Next) {
        let known: BTreeSet<&TargetId> = next.state.targets.keys().collect();
        assert!(self.places.keys().all(|id| known.contains(id)), "a target was lost");
        assert_eq!(known, next.standings.keys().collect(), "every target is told, once");
        let open = |id: &TargetId| matches!(next.standings[id], Standing::Open(_));
        let is_new = |step: &&Step| match step {
            Step::Deliver(id, _) => !open(id),
            Step::Revert(..) => true,
            _ => false,
        };
        let new: Vec<&TargetId> = next.steps.iter().filter(is_new).map(Step::target).collect();
        let lately = before
            .values()
            .flat_map(|observed| observed.pulls.iter().chain(&observed.revert))
            .filter(|pull| pull.created_at + 3600 > self.now)
            .count();
        assert!(lately.max(PER_HOUR) >= lately + new.len(), "too many within an hour");
        let opened = known.iter().filter(|id| open(id)).count();
        assert!(new.is_empty() || opened + new.len() <= OPEN, "too many are open");
        for owner in ["octo", "other", "third"] {
            let of = |id: &TargetId| id.repository.owner() == owner;
            let count =
                known.iter().filter(|id| of(id) && open(id)).count() + new.iter().filter(|id| of(id)).count();
            assert!(count <= PER_OWNER || new.iter().all(|id| !of(id)), "too many of {owner}");
        }
        if next.state.stopped.is_some() && next.state.intent == Intent::Forward {
            assert!(next.steps.iter().all(|step| matches!(step, Step::Close(..))), "{:?}", next.steps);
        }
        let begun = next.state.targets.values().filter(|record| record.wave.is_some()).count();
        let most: usize = (0..next.state.waves).map(|wave| (2usize << wave).min(8)).sum();
        assert!(
            begun <= most && file.waves.largest.get() == 8,
            "{begun} have begun in {} waves",
            next.state.waves
        );
        assert!(next.steps.iter().all(|step| next.state.targets[step.target()].wave.is_some()));
    }
}

type Observations = BTreeMap<TargetId, Observed>;

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
    saved.know(world.places.keys().cloned());
    let mut machines: [BTreeMap<TargetId, String>; 2] = [BTreeMap::new(), BTreeMap::new()];
    let rolls_back = choice.one_in(4);
    for round in 0..WILD + FRIENDLY {
        let is_friendly = round >= WILD;
        let machine = usize::try_from(choice.below(2)).expect("small");
        let plans = &mut machines[machine];
        if choice.one_in(6) {
            plans.clear();
        }
        let observed = world.observe(&saved);
        let situation = Situation {
            observed: &observed,
            plans: &plans.clone(),
            can_plan: true,
            merges: choice.one_in(5),
            now: world.now,
        };
        let text = saved.files();
        assert_eq!(State::of_files("clock", &text).expect("a state"), saved, "what is saved can be read");
        let judged = next(file, saved.clone(), &situation);
        world.check(file, &observed, &judged);
        let again = next(file, judged.state.clone(), &situation);
        assert_eq!(
            (&again.state, &again.steps),
            (&next(file, saved.clone(), &situation).state, &judged.steps)
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
            state.go_on(&judged.standings);
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
            state.remember(step, done);
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

/// Requests for each target that is delivered, as `campaign_goes_in_waves_over_repositories_of_all_kinds` counts them.
const FOR_A_DELIVERY: usize = 9;

/// Requests for each writing down of what is remembered, and after how many steps that is.
const FOR_A_SAVE: usize = 4;
const STEPS: usize = 25;

/// What a large campaign takes: starts an hour apart, and people who merge within a day.
fn simulate(targets: usize, largest: usize, per_hour: usize) -> (usize, u32, usize, usize) {
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
    let mut world = World { places: places.collect(), now: 1_000_000, numbers: 0, heads: 0 };
    let mut state = State::new("clock");
    state.know(world.places.keys().cloned());
    let mut plans = BTreeMap::new();
    let (mut queries, mut requests) = (0, 0);
    for hour in 0.. {
        let mut observed = world.observe(&state);
        queries += observed.len().div_ceil(50);
        loop {
            let situation = Situation {
                observed: &observed,
                plans: &plans.clone(),
                can_plan: true,
                merges: false,
                now: world.now,
            };
            let judged = next(&file, state.clone(), &situation);
            state = judged.state.clone();
            let delivered = judged.steps.iter().filter(|step| matches!(step, Step::Deliver(..))).count();
            requests += delivered * FOR_A_DELIVERY + judged.steps.len().div_ceil(STEPS) * FOR_A_SAVE;
            for step in &judged.steps {
                let done = world.carry_out(step, &mut plans);
                state.remember(step, done);
            }
            let grown =
                state.targets.iter().any(|(id, record)| record.wave.is_some() && !observed.contains_key(id));
            observed = world.observe(&state);
            queries += judged.steps.len().div_ceil(50);
            if judged.steps.is_empty() && !grown {
                if is_finished(&state, &judged, &observed) {
                    return (hour, state.waves, queries, requests);
                }
                break;
            }
        }
        world.now += 3600;
        for pull in world.places.values_mut().flat_map(|place| &mut place.pulls) {
            if pull.created_at + 24 * 3600 <= world.now {
                (pull.state, pull.checks) = (PullState::Merged, Checks::Passed);
            }
        }
    }
    unreachable!("the loop ends by returning")
}

/// The simulations of `docs/scale.md`.
#[test]
fn campaigns_take_as_long_as_the_documentation_says() {
    let documentation =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/scale.md")).expect("a page");
    let is_large = std::env::var_os("CAMPAIGN_HISTORIES").is_some();
    let rows: &[_] = if is_large { &[(1000, 200, 60), (10_000, 2000, 500)] } else { &[(1000, 200, 60)] };
    for &(targets, largest, per_hour) in rows {
        let (hours, waves, queries, requests) = simulate(targets, largest, per_hour);
        let row =
            format!("| {targets} | {largest} | {per_hour} | {waves} | {hours} | {queries} | {requests} |");
        assert!(documentation.contains(&row), "docs/scale.md lacks the row\n{row}");
    }
}
