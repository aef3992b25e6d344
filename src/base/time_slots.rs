//! Time slots: when each of several processes that share a rate may send a request, so that no two of them do so at the same moment.
//!
//! Time is divided into slots, which are the same on all machines because they are counted from 1970, and each cycle of slots among
//! the processes. Nothing has to be agreed on while requests are sent: whoever knows the shares of all knows whose slot it is.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Factor by which slots are longer than the rate demands. Servers count requests when they arrive, and one that was under way for
/// longer than the one behind it would be one too many.
const MARGIN: f64 = 1.15;

/// The share of one process in a rate that several have together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// How much falls to each process, in any unit.
    of_each: Arc<[usize]>,
    /// Which of them this process is.
    own: usize,
}

impl Share {
    /// Returns the share of the process `own`, where so much falls to each; `None` if nobody else has a share.
    pub(crate) fn new(own: usize, of_each: Vec<usize>) -> Option<Self> {
        let has_others = of_each.iter().enumerate().any(|(index, share)| index != own && *share > 0);
        let has_own = of_each.get(own).is_some_and(|share| *share > 0);
        (has_own && has_others).then(|| Self { of_each: of_each.into(), own })
    }

    /// Returns the share of the process `own` of so many with equal shares; `None` if there is only one.
    pub(crate) fn equal(own: usize, processes: usize) -> Option<Self> {
        Self::new(own, vec![1; processes])
    }

    /// Returns the number of processes.
    pub(crate) fn processes(&self) -> usize {
        self.of_each.len()
    }
}

/// A rate that several processes have together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedRate {
    /// Number of requests of all of them in a minute.
    pub(crate) per_minute: u64,
    /// The share of this process.
    pub(crate) share: Share,
}

/// The slots of one process.
#[derive(Clone, Debug)]
pub(crate) struct TimeSlots {
    length: Duration,
    /// Number of slots of a cycle.
    cycle: usize,
    /// Numbers of the own slots in a cycle, ascending.
    own: Vec<usize>,
    /// A moment, and how much of its cycle was over then.
    known: (Instant, u128),
}

impl TimeSlots {
    /// Returns the slots of this process, by the clock of the machine.
    pub(crate) fn of(rate: &SharedRate) -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::at(rate, Instant::now(), since_1970)
    }

    /// Returns the slots of this process, where `now` is so long after the beginning of 1970.
    #[expect(clippy::cast_precision_loss, reason = "rates of requests are small")]
    pub(crate) fn at(rate: &SharedRate, now: Instant, since_1970: Duration) -> Self {
        let SharedRate { per_minute, share } = rate;
        let mut slots: Vec<(f64, usize)> = share
            .of_each
            .iter()
            .enumerate()
            .flat_map(|(process, count)| (0..*count).map(move |number| (place(number, *count), process)))
            .collect();
        slots.sort_unstable_by(|(one, process), (other, another)| {
            one.total_cmp(other).then(process.cmp(another))
        });
        let own = slots.iter().enumerate().filter(|(_, (_, process))| *process == share.own);
        let own = own.map(|(number, _)| number).collect();
        let mut slots = Self {
            length: Duration::from_secs_f64(60.0 * MARGIN / *per_minute as f64),
            cycle: slots.len(),
            own,
            known: (now, 0),
        };
        slots.known.1 = since_1970.as_nanos() % slots.cycle_length();
        slots
    }

    /// Returns the length of a slot.
    pub(crate) fn length(&self) -> Duration {
        self.length
    }

    /// Returns the first beginning of an own slot that is not before `moment`.
    pub(crate) fn next(&self, moment: Instant) -> Instant {
        let (known, over) = self.known;
        let moment = moment.max(known);
        let within = (over + moment.duration_since(known).as_nanos()) % self.cycle_length();
        let begins = |slot: usize| slot as u128 * self.length.as_nanos();
        let later = self.own.partition_point(|slot| begins(*slot) < within);
        let (begin, first) = (self.own.get(later), self.own.first().copied().unwrap_or_default());
        let wait = begin.map_or_else(|| self.cycle_length() + begins(first), |slot| begins(*slot)) - within;
        moment + Duration::from_nanos(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    /// Returns the first beginning of an own slot after `moment`.
    pub(crate) fn after(&self, moment: Instant) -> Instant {
        self.next(moment + Duration::from_nanos(1))
    }

    fn cycle_length(&self) -> u128 {
        self.length.as_nanos().max(1) * self.cycle.max(1) as u128
    }
}

/// Returns where one of the slots of a process lies in a cycle if they are spread evenly, from 0 to 1.
#[expect(clippy::cast_precision_loss, reason = "numbers of tasks are small")]
fn place(number: usize, count: usize) -> f64 {
    (number as f64 + 0.5) / count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Returns the order in which processes with these shares have their turns in a cycle.
    fn turns(of_each: &[usize]) -> Vec<usize> {
        let (now, cycle) = (Instant::now(), of_each.iter().sum::<usize>());
        let mut turns: Vec<(Instant, usize)> = Vec::new();
        for own in 0..of_each.len() {
            let Some(share) = Share::new(own, of_each.to_vec()) else { continue };
            // Each machine has started at another time.
            let asked = now + SECOND.mul_f64(fastrand::f64() * 100.0);
            let rate = SharedRate { per_minute: 60, share };
            let slots = TimeSlots::at(&rate, asked, 1_000_000 * SECOND + (asked - now));
            let begin = now + 1000 * SECOND;
            let end = begin + slots.length() * u32::try_from(cycle).expect("a few");
            let all = std::iter::successors(Some(slots.next(begin)), |slot| Some(slots.after(*slot)));
            turns.extend(all.take_while(|slot| *slot < end).map(|slot| (slot, own)));
        }
        turns.sort_unstable();
        let apart = turns.windows(2).all(|pair| pair[1].0 - pair[0].0 == SECOND.mul_f64(MARGIN));
        assert!(apart && turns.len() == cycle, "{of_each:?}: {turns:?}");
        turns.into_iter().map(|(_, own)| own).collect()
    }

    #[test]
    fn no_two_processes_have_the_same_slot_and_each_has_its_share() {
        let count = |turns: &[usize], own| turns.iter().filter(|turn| **turn == own).count();
        for of_each in [&[1; 16][..], &[3, 3, 3], &[1, 0, 7], &[63, 62, 62, 1]] {
            let turns = turns(of_each);
            for (own, share) in of_each.iter().enumerate() {
                assert_eq!(count(&turns, own), *share);
            }
        }
        let turns = turns(&[2, 4, 2]);
        for half in turns.chunks(4) {
            assert_eq!((0..3).map(|own| count(half, own)).collect::<Vec<_>>(), [1, 2, 1], "{turns:?}");
        }
    }

    #[test]
    fn turns_come_whatever_the_clock_of_the_machine_says() {
        let now = Instant::now();
        let share = Share::equal(2, 4).expect("a share");
        // Before 1970, which counts as its beginning, in a later year, and at the end of time.
        for since_1970 in [Duration::ZERO, 56 * 365 * 86_400 * SECOND, Duration::MAX] {
            let slots = TimeSlots::at(&SharedRate { per_minute: 60, share: share.clone() }, now, since_1970);
            let (first, second) = (slots.next(now), slots.after(slots.next(now)));
            assert!(first - now <= 4 * slots.length(), "{since_1970:?}");
            assert_eq!(
                second - first,
                4 * slots.length(),
                "only the clock that never jumps counts from here on"
            );
        }
    }

    #[test]
    fn nobody_shares_alone() {
        assert_eq!(Share::new(0, vec![7]), None);
        assert_eq!(Share::new(1, vec![0, 7, 0]), None);
        assert_eq!(Share::new(0, vec![0, 7, 1]), None, "there is nothing to do");
        assert_eq!(Share::new(3, vec![1, 1]), None);
        assert!(Share::new(1, vec![1, 7]).is_some());
    }
}
