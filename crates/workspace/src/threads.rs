//! Threads for libraries that start some without asking whether they can be had.

use std::sync::{Mutex, mpsc};
use std::thread;

/// Threads that other work of the program may start between the question and the use.
const SPARE: usize = 8;

/// Returns whether so many threads can be started at the moment, and a few more. Without them, a parallel walk of `ignore` panics
/// while those of its threads that did start wait for the others. Where the address space is limited, nobody can say: each thread
/// takes a part of it for its allocations as soon as it runs, and the next one finds none for its stack.
pub(crate) fn are_available(count: usize) -> bool {
    !is_address_space_limited() && can_start(count + SPARE)
}

#[cfg(unix)]
fn is_address_space_limited() -> bool {
    rustix::process::getrlimit(rustix::process::Resource::As).current.is_some()
}

#[cfg(not(unix))]
fn is_address_space_limited() -> bool {
    false
}

fn can_start(count: usize) -> bool {
    let (keep, wait) = mpsc::channel::<()>();
    let wait = Mutex::new(wait);
    thread::scope(|scope| {
        let idle = || drop(wait.lock().map(|wait| wait.recv()));
        let start = |_| thread::Builder::new().stack_size(64 * 1024).spawn_scoped(scope, idle).is_ok();
        let all = (0..count).all(start);
        drop(keep);
        all
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_available_where_nothing_limits_them() {
        assert!(can_start(0) && can_start(8));
        assert_ne!(are_available(8), is_address_space_limited());
    }
}
