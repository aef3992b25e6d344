//! Requests of one and of many machines, on real clocks and simulated ones.

use super::*;
use crate::base::time_slots::Share;

/// A provider that answers so many requests in each second, and refuses the others.
struct Provider {
    start: tokio::time::Instant,
    per_second: u32,
    seen: Mutex<BTreeMap<u64, u32>>,
}

impl Provider {
    fn answers(&self) -> bool {
        let mut seen = self.seen.lock();
        let count = seen.entry(self.start.elapsed().as_secs()).or_default();
        *count += 1;
        *count <= self.per_second
    }
}

#[tokio::test]
async fn requests_of_many_keep_to_one_limit_without_being_told_it() {
    let provider =
        Arc::new(Provider { start: tokio::time::Instant::now(), per_second: 20, seen: Mutex::default() });
    let pace = Arc::new(Pace::default());
    let refusals = Arc::new(Mutex::new(0));
    let worker = || {
        let (provider, pace, refusals) = (Arc::clone(&provider), Arc::clone(&pace), Arc::clone(&refusals));
        tokio::spawn(async move {
            for _ in 0..10 {
                loop {
                    let turn = pace.turn().await;
                    if provider.answers() {
                        pace.answered();
                        break;
                    }
                    *refusals.lock() += 1;
                    pace.refused(&turn, Some(Duration::from_millis(200)));
                }
            }
        })
    };
    // Ideal: 160 requests in 8 s.
    let workers: Vec<_> = (0..16).map(|_| worker()).collect();
    for worker in workers {
        worker.await.expect("a worker");
    }
    let refused = *refusals.lock();
    assert!(refused < 50, "{refused} of 160 were refused");
}

#[tokio::test]
async fn a_refusal_holds_for_all_and_counts_once() {
    let pace = Pace::default();
    let (one, other) = (pace.turn().await, pace.turn().await);
    assert!(!pace.refused(&one, Some(Duration::from_millis(50))), "nobody was answered");
    let rate = pace.state().rate;
    pace.answered();
    assert!(pace.refused(&other, None), "one was answered meanwhile");
    let after = pace.state().rate;
    assert!(after >= rate, "the same wave: {after:?} {rate:?}");
    let began = Instant::now();
    pace.turn().await;
    assert!(began.elapsed() >= Duration::from_millis(500), "the delay of the second refusal holds");
    let later = pace.turn().await;
    assert!(pace.refused(&later, None), "one was answered a moment ago");
}

#[tokio::test]
async fn what_is_granted_is_never_exceeded() {
    let pace = Pace::of("granted", Some(60 * 50), None);
    assert!(Arc::ptr_eq(&pace, &Pace::of("granted", None, None)));
    let began = Instant::now();
    for _ in 0..11 {
        pace.turn().await;
        pace.answered();
    }
    assert!(began.elapsed() >= Duration::from_millis(200), "{:?}", began.elapsed());
}

/// What became of the requests of many machines.
#[derive(Debug, Default)]
struct Sent {
    answered: usize,
    refused: usize,
    /// How often one request was refused at most.
    most: u32,
    seconds: f64,
}

/// A provider that answers four requests in each second and refuses the others.
#[derive(Debug, Default)]
struct SimulatedProvider {
    /// Requests in each second so far.
    seen: BTreeMap<u64, usize>,
    sent: Sent,
}

impl SimulatedProvider {
    /// Takes a request that arrives so long after the start, and tells the sender's pace what became of it. `refusals` is how often it
    /// has been refused. Returns whether it was answered.
    fn take(
        &mut self,
        arrives: Duration,
        state: &mut State,
        turn: &Turn,
        now: Instant,
        refusals: &mut u32,
    ) -> bool {
        let count = self.seen.entry(arrives.as_secs()).or_default();
        *count += 1;
        if *count <= 4 {
            state.note_answer(now);
            self.sent.answered += 1;
            *refusals = 0;
            return true;
        }
        state.note_refusal(now, turn, Some(Duration::from_secs(1)));
        self.sent.refused += 1;
        *refusals += 1;
        self.sent.most = self.sent.most.max(*refusals);
        false
    }
}

/// Sends 2,000 requests from 16 machines that share 240 in a minute, each with so many at the same time, to a provider that answers
/// four in each second and takes so long for an answer. On the way to it, requests are delayed by up to a tenth of a second.
fn send(workers: usize, answer: Duration) -> Sent {
    const MACHINES: usize = 16;
    const ALL: usize = 2_000;
    let start = Instant::now();
    let since_1970 = Duration::from_secs(1_700_000_000).mul_f64(1.0 + fastrand::f64());
    let state = |own| {
        let share = Share::equal(own, MACHINES).expect("a share");
        let slots = TimeSlots::at(&SharedRate { per_minute: 240, share }, start, since_1970);
        let mut state = State { slots: Some(slots), granted: Some(0.25), ..State::default() };
        state.next = state.first_turn(start);
        state
    };
    let mut states: Vec<State> = (0..MACHINES).map(state).collect();
    // When each worker wants to send its next request, and how often that was refused.
    let mut due = vec![vec![(start, 0); workers]; MACHINES];
    let mut provider = SimulatedProvider::default();
    let mut now = start;
    while provider.sent.answered < ALL {
        for (state, due) in states.iter_mut().zip(&mut due) {
            let Some(worker) = due.iter_mut().filter(|(due, _)| *due <= now).min() else { continue };
            let Ok(turn) = state.send(now) else { continue };
            let arrives = now - start + Duration::from_millis(100).mul_f64(fastrand::f64());
            if provider.take(arrives, state, &turn, now, &mut worker.1) {
                worker.0 = now + answer.mul_f64(0.5 + fastrand::f64());
            }
        }
        now += Duration::from_millis(10);
    }
    Sent { seconds: now.duration_since(start).as_secs_f64(), ..provider.sent }
}

/// Sends 192 requests of 48 tasks from 16 jobs of one process, which knows nothing of the limit, to a provider that answers four in
/// each second, each within a tenth of a second.
fn send_from_jobs() -> Sent {
    const JOBS: usize = 16;
    const ALL: usize = 48 * 4;
    let start = Instant::now();
    let mut state = State::default();
    let mut due = [(start, 0); JOBS];
    let mut provider = SimulatedProvider::default();
    let mut now = start;
    while provider.sent.answered < ALL {
        // Those that wait are in line.
        while let Some(job) = due.iter_mut().filter(|(due, _)| *due <= now).min() {
            let Ok(turn) = state.send(now) else { break };
            if provider.take(now - start, &mut state, &turn, now, &mut job.1) {
                job.0 = now + Duration::from_millis(100).mul_f64(fastrand::f64());
            }
        }
        now += Duration::from_millis(5);
    }
    Sent { seconds: now.duration_since(start).as_secs_f64(), ..provider.sent }
}

#[test]
fn jobs_that_share_an_unknown_limit_take_little_more_time_than_it_demands() {
    for _ in 0..20 {
        let sent = send_from_jobs();
        eprintln!("{sent:?}");
        assert!(sent.seconds < 1.3 * 48.0 && sent.most <= 1, "{sent:?}");
    }
}

#[test]
fn machines_that_share_a_rate_do_not_meet() {
    // Four in a second.
    let ideal = 500.0;
    let busy = send(4, Duration::from_secs(1));
    assert!(busy.refused == 0 && busy.seconds < 1.3 * ideal, "{busy:?}");
    // With a single request at a time, machines are often late for their slots, and there is mostly room for what is late.
    let idle = send(1, Duration::from_secs(5));
    let ideal = 5.0 * 2_000.0 / 16.0;
    assert!(idle.refused < 200 && idle.seconds < 1.3 * ideal, "{idle:?}");
}
