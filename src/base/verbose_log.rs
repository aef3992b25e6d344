//! What the log shows only with `verbose`.

/// The target by which details are told apart.
pub(crate) const TARGET: &str = "detail";

/// Logs a detail. It has a target of its own rather than a level: with that level, all that libraries say at
/// it would be part of the program.
macro_rules! detail {
    ($($told:tt)*) => { tracing::info!(target: $crate::base::verbose_log::TARGET, $($told)*) };
}
pub(crate) use detail;
