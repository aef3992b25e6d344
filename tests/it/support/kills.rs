//! Kills at random moments: how many, from which seed, and by which signals.

use std::process::{Child, ExitStatus};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How many of each kind are killed: `KILLS`, or a few.
pub fn kills() -> u64 {
    number("KILLS", 2)
}

/// The seed of all moments: `KILLS_SEED`, or always the same.
pub fn seed() -> u64 {
    number("KILLS_SEED", 7)
}

/// The signals of one to three kills.
pub fn signals(random: &mut fastrand::Rng) -> impl Iterator<Item = Signal> + use<> {
    [Signal::KILL, Signal::TERM, Signal::KILL].into_iter().take(random.usize(1..=3))
}

/// Kills a child at a random moment of the time that it takes undisturbed, or a little later. Returns how it ended, perhaps by
/// itself before.
pub fn kill(child: &mut Child, signal: Signal, length: Duration, random: &mut fastrand::Rng) -> ExitStatus {
    std::thread::sleep(length.mul_f64(random.f64() * 1.1));
    let pid = Pid::from_child(child);
    if child.try_wait().unwrap().is_none() {
        let _ = kill_process(pid, signal);
    }
    child.wait().unwrap()
}
