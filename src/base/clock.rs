//! The time now, as reports, ledgers and GitHub write it.

use std::time::{SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Length of a day at the beginning of a time such as `2026-11-22T19:58:54Z`.
pub(crate) const DAY: usize = 10;

/// Length of a month there.
pub(crate) const MONTH: usize = 7;

/// Returns the time now: RFC 3339, UTC.
pub(crate) fn now() -> String {
    // Only a year above 9999 cannot be written.
    OffsetDateTime::now_utc().format(&Rfc3339).unwrap_or_else(|_| "1970-01-01T00:00:00Z".to_owned())
}

/// Returns the seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
