//! The money of a batch: every task gets a share before it begins, so that all of them together never spend more.

/// What there is to spend. Without a limit everything is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Budget {
    limit: Option<f64>,
    spent: f64,
    /// Handed out to tasks that are being worked on.
    out: f64,
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
        Self { limit, spent, out: 0.0 }
    }

    /// Hands out a share for a task that wants at most `wanted`: an even part of what is left for `free` places.
    pub(super) fn reserve(&mut self, wanted: Option<f64>, free: usize) -> Reservation {
        let Some(limit) = self.limit else { return wanted.map_or(Reservation::Unlimited, Reservation::Usd) };
        let left = limit - self.spent - self.out;
        #[expect(clippy::cast_precision_loss, reason = "a few places")]
        let even = left / free.max(1) as f64;
        if even < LEAST {
            return if self.out > 0.0 { Reservation::Wait } else { Reservation::Exhausted };
        }
        let share = wanted.map_or(even, |wanted| wanted.min(even));
        self.out += share;
        Reservation::Usd(share)
    }

    /// Takes a share back, of which `cost` was spent.
    pub(super) fn release(&mut self, share: Reservation, cost: Option<f64>) {
        if let (Reservation::Usd(share), Some(_)) = (share, self.limit) {
            self.out = (self.out - share).max(0.0);
        }
        self.spent += cost.unwrap_or(0.0);
    }
}

#[cfg(test)]
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
        budget.release(first, Some(1.0));
        assert_eq!(budget.reserve(None, 1), Reservation::Usd(1.0));
        let mut budget = Budget::new(Some(1.0), 1.0);
        assert_eq!(budget.reserve(None, 1), Reservation::Exhausted);
        assert_eq!(Budget::new(None, 5.0).reserve(Some(1.0), 1), Reservation::Usd(1.0));
        assert_eq!(Budget::new(None, 5.0).reserve(None, 1), Reservation::Unlimited);
    }
}
