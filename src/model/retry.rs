//! Retries of requests that may succeed the next time.

use std::future::Future;
use std::time::Duration;

use backon::Retryable;

use super::error::{ModelError, Retry};
use crate::base::backoff::doubling;

/// Longest delay that a provider may ask for; beyond it the run ends rather than burn CI minutes.
pub(super) const MAX_WAIT: Duration = Duration::from_mins(2);

/// Number of retries, and the delay between them.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    /// Maximum number of tries after the first.
    pub retries: usize,
    /// Shortest delay before the first retry. It doubles with each further one.
    pub first: Duration,
}

/// Repeats `call` until it succeeds, fails for good, or the retries are used up; returns the last error then.
/// `waiting` is called with the error and the delay before each retry.
pub async fn retry<T, F: Future<Output = Result<T, ModelError>>>(
    backoff: Backoff,
    call: impl FnMut() -> F,
    mut waiting: impl FnMut(&ModelError, Duration),
) -> Result<T, ModelError> {
    call.retry(doubling(backoff.first, MAX_WAIT / 2).with_max_times(backoff.retries))
        .when(|error| error.retry() != Retry::Never)
        .adjust(|error, wait| match (error.retry(), wait) {
            (Retry::After(asked), Some(_)) => Some(asked).filter(|asked| *asked <= MAX_WAIT),
            (_, wait) => wait,
        })
        .notify(|error, wait| waiting(error, wait))
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn tries(error: ModelError, succeed_at: u32) -> (u32, Vec<Duration>, bool) {
        let backoff = Backoff { retries: 2, first: Duration::from_millis(1) };
        let (mut calls, mut waits) = (0, Vec::new());
        let result = retry(
            backoff,
            || {
                calls += 1;
                let result = if calls == succeed_at { Ok(()) } else { Err(error.clone()) };
                async move { result }
            },
            |_, wait| waits.push(wait),
        )
        .await;
        (calls, waits, result.is_ok())
    }

    fn unavailable(retry_after: Option<Duration>) -> ModelError {
        ModelError::Unavailable { message: String::new(), retry_after }
    }

    #[tokio::test]
    async fn what_may_work_is_tried_again_and_no_more_than_that() {
        let wait = Duration::from_millis(3);
        assert_eq!(tries(unavailable(Some(wait)), 2).await, (2, vec![wait], true));
        let (calls, waits, ok) = tries(unavailable(None), 9).await;
        assert_eq!((calls, waits.len(), ok), (3, 2, false));
        assert!(waits[0] >= Duration::from_millis(1) && waits[1] <= Duration::from_millis(4), "{waits:?}");
        let refused = ModelError::Unauthorized { status: 401, message: String::new() };
        assert_eq!(tries(refused, 9).await, (1, vec![], false));
        let forever = unavailable(Some(Duration::from_hours(1)));
        assert_eq!(tries(forever, 2).await, (1, vec![], false));
    }
}
