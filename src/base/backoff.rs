//! Delays between the tries of whatever may succeed the next time.

use std::time::Duration;

use backon::ExponentialBuilder;

/// Returns delays without end: the first lies between `first` and twice that, each further one doubles, up to twice `longest`.
/// They are random, because jobs that fail together would otherwise come back together.
pub(crate) const fn doubling(first: Duration, longest: Duration) -> ExponentialBuilder {
    ExponentialBuilder::new()
        .with_factor(2.0)
        .with_jitter()
        .with_min_delay(first)
        .with_max_delay(longest)
        .without_max_times()
}
