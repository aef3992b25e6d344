//! Percent-encoding of names and values for addresses.

use std::fmt::Display;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters to percent-encode in the value of a query parameter.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The characters to percent-encode in a path, whose slashes are kept.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');

/// Encodes a name for use in a path; its slashes are kept.
pub(super) fn in_path(name: &str) -> impl Display {
    utf8_percent_encode(name, IN_PATH)
}

/// Encodes the value of a query parameter.
pub(super) fn in_query(value: &str) -> impl Display {
    utf8_percent_encode(value, IN_QUERY)
}
