//! The time now, as reports, ledgers and GitHub write it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// Length of a day at the beginning of a time such as `2026-11-22T19:58:54Z`.
pub(crate) const DAY: usize = 10;

/// Length of a month there.
pub(crate) const MONTH: usize = 7;

/// The last second that can be written: that before the year 10000. A clock that is behind it stands still.
const LAST: u64 = 253_402_300_799;

/// Returns the time now, UTC.
pub(crate) fn now_utc() -> OffsetDateTime {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default())
}

/// Returns the time at which a wait ends that begins now, UTC.
pub(crate) fn after(wait: Duration) -> OffsetDateTime {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().saturating_add(wait))
}

fn utc(since_1970: Duration) -> OffsetDateTime {
    OffsetDateTime::UNIX_EPOCH + since_1970.min(Duration::from_secs(LAST))
}

/// Returns the time now: RFC 3339, UTC.
pub(crate) fn now() -> String {
    now_utc().format(&Rfc3339).unwrap_or_else(|_| "1970-01-01T00:00:00Z".to_owned())
}

/// Returns the seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_that_are_wrong_are_no_reason_to_stop() {
        for (seconds, expected) in [
            (0, "1970-01-01T00:00:00Z"),
            (LAST, "9999-12-31T23:59:59Z"),
            (LAST + 1, "9999-12-31T23:59:59Z"),
            (u64::MAX, "9999-12-31T23:59:59Z"),
        ] {
            let text = utc(Duration::from_secs(seconds)).format(&Rfc3339);
            assert_eq!(text.expect("it can be written"), expected, "{seconds}");
        }
        assert_eq!(after(Duration::MAX), utc(Duration::MAX));
    }
}
