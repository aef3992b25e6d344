//! Limit on connections: how many of this process's descriptors the proxies of all commands may take, and each of them.
//!
//! A command that holds every connection that it can get must leave some to the runner and to other commands.

use std::sync::{Arc, LazyLock};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Maximum number of clients of one command at a time, and of its connections to hosts.
const MAX_OF_COMMAND: usize = 256;
/// Maximum number of clients of all commands at a time, and of their connections to hosts.
const MAX_OF_ALL: usize = 4096;

/// Places for the connections of one command, in one direction.
#[derive(Clone, Debug)]
pub(super) struct ConnectionLimit {
    own: Arc<Semaphore>,
    all: Arc<Semaphore>,
}

/// A place for one connection, for as long as this lives.
#[derive(Debug)]
pub(super) struct ConnectionPermit(#[expect(dead_code, reason = "held, not read")] [OwnedSemaphorePermit; 2]);

static CLIENTS: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(of_all(descriptors()))));
static CONNECTIONS: LazyLock<Arc<Semaphore>> =
    LazyLock::new(|| Arc::new(Semaphore::new(of_all(descriptors()))));

impl ConnectionLimit {
    /// Returns places for the clients of one command.
    pub(super) fn for_clients() -> Self {
        Self::within(&CLIENTS)
    }

    /// Returns places for the connections of one command to hosts. They are not those of its clients, who wait for them.
    pub(super) fn for_connections() -> Self {
        Self::within(&CONNECTIONS)
    }

    fn within(all: &Arc<Semaphore>) -> Self {
        let own = Semaphore::new(of_command(of_all(descriptors())));
        Self { own: Arc::new(own), all: Arc::clone(all) }
    }

    /// Waits for a place. The semaphores are closed by nobody, so it is never `None`.
    pub(super) async fn place(&self) -> Option<ConnectionPermit> {
        let own = Arc::clone(&self.own).acquire_owned().await.ok()?;
        let all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(ConnectionPermit([own, all]))
    }
}

/// Returns how many connections all commands may have in one direction: with both, half of all descriptors.
fn of_all(descriptors: usize) -> usize {
    (descriptors / 4).clamp(16, MAX_OF_ALL)
}

/// Returns how many one of them may have: several have to hold all they can before another one waits for them.
fn of_command(all: usize) -> usize {
    (all / 4).clamp(8, MAX_OF_COMMAND)
}

/// Returns how many descriptors this process may have.
#[cfg(unix)]
fn descriptors() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX)
}

#[cfg(not(unix))]
fn descriptors() -> usize {
    usize::MAX
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn half_of_the_descriptors_are_left_and_no_command_has_all_places() {
        for (descriptors, all, command) in
            [(64, 16, 8), (256, 64, 16), (1024, 256, 64), (65_536, 4096, 256), (usize::MAX, 4096, 256)]
        {
            assert_eq!((of_all(descriptors), of_command(of_all(descriptors))), (all, command));
            assert!(2 * all <= descriptors / 2);
        }
    }

    #[tokio::test]
    async fn places_of_one_command_are_places_of_all() {
        let all = Arc::new(Semaphore::new(3));
        let limit = || ConnectionLimit { own: Arc::new(Semaphore::new(2)), all: Arc::clone(&all) };
        let is_full = |limit: &ConnectionLimit| limit.place().now_or_never().is_none();
        let (first, second) = (limit(), limit());
        let held = [first.place().await, first.place().await];
        assert!(is_full(&first));
        let last = second.place().await;
        assert!(last.is_some() && is_full(&second));
        drop(held);
        assert!(!is_full(&first) && !is_full(&second));
    }
}
