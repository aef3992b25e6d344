//! Sums of a ledger that machines share. What a run has reserved counts as spent until it says what it has really spent; one
//! that is killed has spent all of it.

use std::collections::{BTreeMap, BTreeSet};

use super::LedgerEntry;
use crate::base::clock::DAY;

/// USD by day.
#[derive(Debug, Default)]
pub struct Sums {
    days: BTreeMap<String, f64>,
    /// Days with answers whose cost is not known.
    unknown: BTreeSet<String>,
    /// Reservations that are not settled: the day and the USD by id.
    reserved: BTreeMap<String, (String, f64)>,
}

impl Sums {
    /// Returns the sums of entries.
    pub fn new<'a>(entries: impl IntoIterator<Item = &'a LedgerEntry>) -> Self {
        let mut sums = Self::default();
        entries.into_iter().for_each(|entry| sums.add(entry));
        sums
    }

    /// Adds an entry. Its time is checked when it is read.
    pub(super) fn add(&mut self, entry: &LedgerEntry) {
        let (day, usd) = (&entry.at[..DAY], entry.usd.unwrap_or(0.0));
        if entry.usd.is_none() && entry.answers > 0 {
            self.unknown.insert(day.to_owned());
        }
        match &entry.reservation {
            Some(id) => {
                self.reserved.insert(id.clone(), (day.to_owned(), usd));
            }
            None => *self.days.entry(day.to_owned()).or_default() += usd,
        }
        if let Some(id) = &entry.settles {
            self.reserved.remove(id);
        }
    }

    /// Returns whether a day or a month has answers whose cost is not known.
    pub fn has_unknown(&self, period: &str) -> bool {
        self.unknown.iter().any(|day| day.starts_with(period))
    }

    /// Returns the USD of a day or a month, such as `2026-11-22` or `2026-11`.
    pub fn of(&self, period: &str) -> f64 {
        let spent = self.days.iter().filter(|(day, _)| day.starts_with(period)).map(|(_, usd)| usd);
        let reserved = self.reserved.values().filter(|(day, _)| day.starts_with(period)).map(|(_, usd)| usd);
        spent.chain(reserved).fold(0.0, |all, usd| all + usd)
    }
}

/// Leaves out the reservations that entries settle, and what only settles one.
pub fn without_settled(mut entries: Vec<LedgerEntry>) -> Vec<LedgerEntry> {
    let settled: BTreeSet<String> = entries.iter().filter_map(|entry| entry.settles.clone()).collect();
    let is_open = |entry: &LedgerEntry| entry.reservation.as_ref().is_none_or(|id| !settled.contains(id));
    entries.retain(|entry| is_open(entry) && (entry.settles.is_none() || entry.answers > 0));
    entries
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::parse_ledger;
    use super::*;

    #[test]
    fn reservations_count_until_they_are_settled() {
        let line = |at: &str, usd: f64, more: &str| {
            format!(
                "{{\"at\": \"{at}T00:00:00Z\", \"usd\": {usd}, \"input\": 0, \"output\": 0, \"model\": \"m\"{more}}}\n"
            )
        };
        let text = [
            line("2026-11-01", 1.0, ""),
            line("2026-11-02", 5.0, ", \"answers\": 0, \"reservation\": \"a\""),
            line("2026-11-02", 7.0, ", \"answers\": 0, \"reservation\": \"killed\""),
            line("2026-11-03", 2.0, ", \"answers\": 3"),
            line("2026-11-03", 0.0, ", \"answers\": 0, \"settles\": \"a\""),
            line("2026-12-01", 9.0, ""),
        ];
        let entries = parse_ledger(Path::new("x"), &text.concat()).expect("entries");
        let before = Sums::new(&entries[..4]);
        assert_eq!((before.of("2026-11-02"), before.of("2026-11")), (12.0, 15.0));
        let sums = Sums::new(&entries);
        assert_eq!((sums.of("2026-11-02"), sums.of("2026-11"), sums.of("2026-12")), (7.0, 10.0, 9.0));
        let left = without_settled(entries);
        let usd: Vec<f64> = left.iter().filter_map(|entry| entry.usd).collect();
        assert_eq!(usd, [1.0, 7.0, 2.0, 9.0]);
    }
}
