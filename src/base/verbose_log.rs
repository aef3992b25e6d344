//! Details, which the log shows only with `verbose`.

/// Logs a detail.
macro_rules! detail {
    ($($arguments:tt)*) => { tracing::debug!($($arguments)*) };
}
pub(crate) use detail;
