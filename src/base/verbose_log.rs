//! Details, which the log shows only with `verbose`.

/// The target that tells details from other messages.
pub(crate) const TARGET: &str = "detail";

/// Logs a detail. It has a target of its own rather than a level: with that level, everything that
/// libraries log at it would be compiled into the program.
macro_rules! detail {
    ($($told:tt)*) => { tracing::info!(target: $crate::base::verbose_log::TARGET, $($told)*) };
}
pub(crate) use detail;
