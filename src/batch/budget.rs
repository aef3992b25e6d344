//! The money of a batch: every task gets a share before it begins, so that all of them together never spend more.

/// What there is to spend. Without a limit everything is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    limit: Option<f64>,
    spent: f64,
    /// Handed out to tasks that are being worked on.
    out: f64,
    /// The price of the dearest answer so far: a smaller share would not pay for one.
    dearest_answer: f64,
}

/// What a task may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Reservation {
    /// As much as it likes.
    Unlimited,
    /// This much, in USD.
    Usd(f64),
    /// Nothing now; something may come back.
    Wait,
    /// Nothing any more.
    Exhausted,
}

/// Less than this is no share, in USD.
const LEAST: f64 = 0.000_001;

impl Budget {
    pub(super) fn new(limit: Option<f64>, spent: f64) -> Self {
        Self { limit, spent, out: 0.0, dearest_answer: 0.0 }
    }

    /// Hands out a share for a task that wants at most `wanted`: an even part of what is left for `free` places.
    pub(super) fn reserve(&mut self, wanted: Option<f64>, free: usize) -> Reservation {
        let Some(limit) = self.limit else { return wanted.map_or(Reservation::Unlimited, Reservation::Usd) };
        let left = limit - self.spent - self.out;
        #[expect(clippy::cast_precision_loss, reason = "a few places")]
        let even = left / free.max(1) as f64;
        let least = self.dearest_answer.max(LEAST);
        if left < least {
            return if self.out > 0.0 { Reservation::Wait } else { Reservation::Exhausted };
        }
        let even = even.max(least);
        let share = wanted.map_or(even, |wanted| wanted.min(even));
        self.out += share;
        Reservation::Usd(share)
    }

    /// Takes a share back, of which `cost` was spent, at most `dearest_answer` at a time.
    pub(super) fn release(&mut self, share: Reservation, cost: Option<f64>, dearest_answer: f64) {
        self.dearest_answer = self.dearest_answer.max(dearest_answer);
        if let (Reservation::Usd(share), Some(_)) = (share, self.limit) {
            self.out = (self.out - share).max(0.0);
        }
        self.spent += cost.unwrap_or(0.0);
    }
}

/// Returns a shard's part of the budget of a whole batch: that of its tasks.
#[expect(clippy::cast_precision_loss, reason = "numbers of tasks are small")]
pub(super) fn share_of_shard(budget: f64, tasks: usize, all: usize) -> f64 {
    budget * tasks as f64 / all.max(1) as f64
}

/// Returns a shard's part of the requests that a whole batch may send in a minute: that of its tasks, but at least one.
pub(super) fn requests_of_shard(requests: u64, tasks: usize, all: usize) -> u64 {
    (requests.saturating_mul(tasks as u64) / all.max(1) as u64).max(1)
}

#[cfg(test)]
#[expect(clippy::cast_precision_loss, reason = "small numbers")]
mod tests {
    use super::*;

    #[test]
    fn shares_never_sum_up_to_more_than_there_is() {
        let mut budget = Budget::new(Some(10.0), 2.0);
        let first = budget.reserve(None, 4);
        assert_eq!(first, Reservation::Usd(2.0));
        let second = budget.reserve(Some(0.5), 3);
        assert_eq!(second, Reservation::Usd(0.5));
        assert_eq!(budget.reserve(Some(100.0), 1), Reservation::Usd(5.5));
        assert_eq!(budget.reserve(None, 1), Reservation::Wait);
        budget.release(first, Some(1.0), 0.4);
        assert_eq!(budget.reserve(None, 4), Reservation::Usd(0.4), "less does not pay for an answer");
        assert!(matches!(budget.reserve(None, 1), Reservation::Usd(usd) if (usd - 0.6).abs() < 1e-9));
        let mut budget = Budget::new(Some(1.0), 1.0);
        assert_eq!(budget.reserve(None, 1), Reservation::Exhausted);
        assert_eq!(Budget::new(None, 5.0).reserve(Some(1.0), 1), Reservation::Usd(1.0));
        assert_eq!(Budget::new(None, 5.0).reserve(None, 1), Reservation::Unlimited);
    }

    #[test]
    fn shards_share_requests_by_their_tasks() {
        assert_eq!((requests_of_shard(240, 3, 48), requests_of_shard(240, 6, 48)), (15, 30));
        assert_eq!((requests_of_shard(10, 1, 1000), requests_of_shard(60, 0, 0)), (1, 1));
        assert_eq!((1..=16).map(|_| requests_of_shard(240, 3, 48)).sum::<u64>(), 240);
    }

    /// A generator of numbers that is the same everywhere.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self, below: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % below
        }
    }

    /// Works on the tasks of one shard as the scheduler does, with answers of random length; returns what they cost.
    fn simulate(
        numbers: &mut Numbers,
        price: crate::model::Price,
        limit: f64,
        tasks: u64,
        jobs: usize,
    ) -> f64 {
        use crate::event::Usage;
        use crate::model::Budget as RunBudget;
        let mut budget = Budget::new(Some(limit), 0.0);
        let mut queued = tasks;
        let mut running: Vec<(Reservation, RunBudget, u64, f64)> = Vec::new();
        let mut cost = 0.0;
        loop {
            while queued > 0 && running.len() < jobs {
                let wanted =
                    (numbers.next(2) == 0).then(|| limit * numbers.next(100) as f64 / 50.0 + 0.000_1);
                let free = (jobs - running.len()).min(usize::try_from(queued).expect("a few"));
                let share = budget.reserve(wanted, free);
                let Reservation::Usd(usd) = share else {
                    assert_ne!(share, Reservation::Unlimited);
                    queued = if share == Reservation::Exhausted { 0 } else { queued };
                    break;
                };
                queued -= 1;
                running.push((
                    share,
                    RunBudget::new(Some(price), Some(usd), None),
                    1 + numbers.next(12),
                    0.0,
                ));
            }
            if running.is_empty() {
                return cost;
            }
            let at = usize::try_from(numbers.next(running.len() as u64)).expect("an index");
            let (_, run, answers, dearest) = &mut running[at];
            let most_input = 1 + numbers.next(60_000);
            let is_over = match run.try_allow(most_input) {
                Ok(allowance) => {
                    let usage = Usage {
                        input: numbers.next(most_input + 1),
                        output: numbers.next(allowance.max_output.expect("it is limited") + 1),
                        ..Usage::default()
                    };
                    run.add(usage);
                    *dearest = dearest.max(run.price(usage).expect("a price"));
                    *answers -= 1;
                    *answers == 0
                }
                Err(_) => true,
            };
            if is_over {
                let (share, run, _, dearest) = running.swap_remove(at);
                cost += run.cost().expect("a price");
                budget.release(share, run.cost(), dearest);
            }
        }
    }

    #[test]
    fn shards_of_a_thousand_random_batches_never_spend_more_than_the_budget() {
        let mut numbers = Numbers(17);
        let mut spent_any = 0;
        for batch in 0..1_000 {
            let mut rate = |most: u64| numbers.next(most * 100) as f64 / 100.0;
            let price = crate::model::Price {
                input: rate(15),
                cached: Some(rate(2)),
                written: Some(rate(20)),
                output: 0.01 + rate(75),
            };
            let limit = 0.01 + numbers.next(1_000) as f64 / 100.0;
            let of = 1 + numbers.next(12);
            let parts: Vec<usize> =
                (0..of).map(|_| usize::try_from(numbers.next(9)).expect("a few")).collect();
            let all: usize = parts.iter().sum();
            let jobs = 1 + usize::try_from(numbers.next(6)).expect("a few");
            let mut cost = 0.0;
            for part in parts {
                cost += simulate(&mut numbers, price, share_of_shard(limit, part, all), part as u64, jobs);
            }
            assert!(cost <= limit + 1e-9, "batch {batch} cost {cost} of {limit}");
            spent_any += u32::from(cost > limit / 4.0);
        }
        assert!(spent_any > 300, "the batches hardly spend anything: {spent_any}");
    }
}
