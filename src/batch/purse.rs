//! The money of a batch: every task gets a share before it begins, so that all of them together never spend more.

/// What there is to spend. Without a limit everything is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Purse {
    limit: Option<f64>,
    spent: f64,
    /// Handed out to tasks that are being worked on.
    out: f64,
}

/// What a task may spend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Share {
    /// As much as it likes.
    Unlimited,
    /// This much, in USD.
    Usd(f64),
    /// Nothing now; something may come back.
    Later,
    /// Nothing any more.
    Nothing,
}

/// Less than this is no share, in USD.
const LEAST: f64 = 0.000_001;

impl Purse {
    pub(super) fn new(limit: Option<f64>, spent: f64) -> Self {
        Self { limit, spent, out: 0.0 }
    }

    /// Hands out a share for a task that wants at most `wanted`: an even part of what is left for `free` places.
    pub(super) fn take(&mut self, wanted: Option<f64>, free: usize) -> Share {
        let Some(limit) = self.limit else { return wanted.map_or(Share::Unlimited, Share::Usd) };
        let left = limit - self.spent - self.out;
        #[expect(clippy::cast_precision_loss, reason = "a few places")]
        let even = left / free.max(1) as f64;
        if even < LEAST {
            return if self.out > 0.0 { Share::Later } else { Share::Nothing };
        }
        let share = wanted.map_or(even, |wanted| wanted.min(even));
        self.out += share;
        Share::Usd(share)
    }

    /// Takes a share back, of which `cost` was spent.
    pub(super) fn settle(&mut self, share: Share, cost: Option<f64>) {
        if let (Share::Usd(share), Some(_)) = (share, self.limit) {
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
        let mut purse = Purse::new(Some(10.0), 2.0);
        let first = purse.take(None, 4);
        assert_eq!(first, Share::Usd(2.0));
        let second = purse.take(Some(0.5), 3);
        assert_eq!(second, Share::Usd(0.5));
        assert_eq!(purse.take(Some(100.0), 1), Share::Usd(5.5));
        assert_eq!(purse.take(None, 1), Share::Later);
        purse.settle(first, Some(1.0));
        assert_eq!(purse.take(None, 1), Share::Usd(1.0));
        let mut purse = Purse::new(Some(1.0), 1.0);
        assert_eq!(purse.take(None, 1), Share::Nothing);
        assert_eq!(Purse::new(None, 5.0).take(Some(1.0), 1), Share::Usd(1.0));
        assert_eq!(Purse::new(None, 5.0).take(None, 1), Share::Unlimited);
    }
}
