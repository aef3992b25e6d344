//! Details, which the log shows only with `verbose`.

/// Logs a detail.
macro_rules! detail {
    ($($told:tt)*) => { tracing::debug!($($told)*) };
}
pub(crate) use detail;
