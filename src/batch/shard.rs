//! Parts of a batch, for many machines: of about the same size each, and the same wherever they are computed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use serde_json::{Value, json};

use super::manifest::{Manifest, Task};
use crate::base::time_slots::Share;

/// Most jobs that a matrix may have on GitHub.
pub const MAX_SHARDS: u32 = 256;

/// As many jobs run at the same time where nobody pays for more: the shards of a large batch take turns.
const JOBS_AT_ONCE: u32 = 20;

/// What a task takes whatever its size, in bytes: a worktree, a model's greeting.
const BASE: u64 = 20_000;

/// One part of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    pub index: u32,
    /// How many there are.
    pub of: u32,
}

/// Error for a text that names no shard.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid value {0:?} for `shard`; use I/N with I from 1 to N, and N at most {MAX_SHARDS}")]
pub struct InvalidShard(String);

impl Shard {
    /// Parses a text such as `3/8`.
    pub fn parse(text: &str) -> Result<Self, InvalidShard> {
        let wrong = || InvalidShard(text.to_owned());
        let (index, of) = text.trim().split_once('/').ok_or_else(wrong)?;
        let (index, of) = (index.parse().map_err(|_| wrong())?, of.parse().map_err(|_| wrong())?);
        if (1..=MAX_SHARDS).contains(&of) && (1..=of).contains(&index) {
            Ok(Self { index, of })
        } else {
            Err(wrong())
        }
    }

    /// Returns its share of what the token that all shards use may do.
    pub(super) fn share_of_token(self) -> Option<Share> {
        let processes = self.of.min(JOBS_AT_ONCE);
        Share::equal((self.index - 1) as usize % processes as usize, processes as usize)
    }

    /// Returns its share of these tasks, and so of all that is for them; `None` if no other shard has one.
    pub(super) fn share(self, tasks: &[Task]) -> Option<Share> {
        let of_each = shards(tasks, self.of).iter().map(Vec::len).collect();
        Share::new(self.index as usize - 1, of_each)
    }
}

/// Returns the tasks of each shard, by their places in the list. The largest are placed first, each in the shard
/// that has least.
pub fn shards(tasks: &[Task], of: u32) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_unstable_by_key(|index| (Reverse(tasks[*index].size), *index));
    let mut parts = vec![Vec::new(); of as usize];
    let mut least: BinaryHeap<Reverse<(u64, usize)>> =
        (0..parts.len()).map(|part| Reverse((0, part))).collect();
    for index in order {
        let Some(Reverse((load, part))) = least.pop() else { break };
        parts[part].push(index);
        least.push(Reverse((load + BASE + tasks[index].size, part)));
    }
    for part in &mut parts {
        part.sort_unstable();
    }
    parts
}

/// Returns the matrix for GitHub Actions: `{"include": [{"shard": "1/8", "tasks": 13}, …]}`; at most `most` shards, and
/// none without a task.
pub fn matrix(manifest: &Manifest, most: u32) -> Value {
    let tasks = u32::try_from(manifest.tasks.len()).unwrap_or(u32::MAX);
    let of = most.min(MAX_SHARDS).min(tasks);
    let parts = shards(&manifest.tasks, of);
    let entry = |(index, part): (usize, &Vec<usize>)| json!({"shard": format!("{}/{of}", index + 1), "tasks": part.len()});
    let include: Vec<Value> = parts.iter().enumerate().map(entry).collect();
    json!({ "include": include })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::batch::Entry;

    #[test]
    fn shards_are_read_or_refused() {
        assert_eq!(Shard::parse("3/8"), Ok(Shard { index: 3, of: 8 }));
        for wrong in ["", "3", "0/8", "9/8", "1/257", "a/b", "1/0", "-1/3"] {
            assert!(Shard::parse(wrong).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn every_task_is_in_one_shard_and_no_shard_has_much_more_than_its_share(
            sizes in prop::collection::vec(0_u64..1_000_000, 0..300),
            of in 1_u32..=64,
        ) {
            let task = |(index, size): (usize, &u64)| Task { id: index.to_string(), entry: Entry::default(), size: *size };
            let tasks: Vec<Task> = sizes.iter().enumerate().map(task).collect();
            let parts = shards(&tasks, of);
            let mut all: Vec<usize> = parts.concat();
            all.sort_unstable();
            prop_assert_eq!(all, (0..tasks.len()).collect::<Vec<_>>());
            let load = |part: &Vec<usize>| part.iter().map(|index| BASE + tasks[*index].size).sum::<u64>();
            let total: u64 = parts.iter().map(load).sum();
            let largest = tasks.iter().map(|task| BASE + task.size).max().unwrap_or(0);
            prop_assert!(parts.iter().map(load).max().unwrap_or(0) <= total / u64::from(of) + largest);
        }
    }
}
