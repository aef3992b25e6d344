//! Kills at random moments: how many, from which seed, and by which signals.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How many dry runs and how many real ones are killed: `KILLS_RUNS`, or a few.
pub fn runs() -> u64 {
    number("KILLS_RUNS", 4)
}

/// How many batches, and how many applies: `KILLS_OTHERS`, or a few.
pub fn others() -> u64 {
    number("KILLS_OTHERS", 2)
}

/// Plays something so often, each time from a seed of its own (the first one is `KILLS_SEED`). Fails at the end, with the seeds
/// that failed.
pub fn play(what: &str, times: u64, kill: impl Fn(&mut fastrand::Rng)) {
    let first = number("KILLS_SEED", 7);
    let fails = |seed: &u64| {
        let failed = catch_unwind(AssertUnwindSafe(|| kill(&mut fastrand::Rng::with_seed(*seed)))).is_err();
        if failed {
            eprintln!("{what}: failed from seed {seed}");
        }
        failed
    };
    let failed: Vec<u64> = (first..first + times).filter(fails).collect();
    eprintln!("{what}: {} of {times} went on as if undisturbed", times - failed.len() as u64);
    assert!(failed.is_empty(), "{what}: failed from the seeds {failed:?}");
}

/// The signals of one to three kills.
pub fn signals(random: &mut fastrand::Rng) -> impl Iterator<Item = Signal> + use<> {
    [Signal::KILL, Signal::TERM, Signal::KILL].into_iter().take(random.usize(1..=3))
}

/// Kills a child, which leads a process group, at a random moment of the time that it takes undisturbed, or a little later: alone,
/// or with all that it has started, as the kernel, a terminal and a cancelled job do. Returns how it ended, perhaps by itself before.
pub fn kill(child: &mut Child, signal: Signal, length: Duration, random: &mut fastrand::Rng) -> ExitStatus {
    std::thread::sleep(length.mul_f64(random.f64() * 1.1));
    let pid = Pid::from_child(child);
    if child.try_wait().unwrap().is_none() {
        let _ = if random.bool() { kill_process_group(pid, signal) } else { kill_process(pid, signal) };
    }
    child.wait().unwrap()
}
