//! Work that several do at once, and the policy that the scenes have.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, Mutex};

use architect_ci::command::Policy;
use architect_ci::config::Commands;
use architect_ci::event::Class;

/// How many scenes there are at once for each processor: most attacks wait for something.
const WORKERS: usize = 2;

/// Does `work` for all items, several at a time, and returns what it gave for those that gave something, in their order.
pub fn all<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> Option<R> + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let workers = WORKERS * std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    let Some(item) = items.get(index) else { return };
                    if let Some(result) = work(item) {
                        done.lock().expect("no worker panicked").push((index, result));
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no worker panicked");
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Says whether the policy takes this line for one that only looks.
pub fn is_safe(line: &str) -> bool {
    static POLICY: LazyLock<Policy> = LazyLock::new(|| {
        Policy::new(&Commands::default(), Path::new("/work/repo")).expect("the default rules")
    });
    POLICY.judge(line, "").verdict.class == Class::Safe
}
