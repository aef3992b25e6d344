//! Nothing that others wrote does anything where it is shown, and no secret is shown at all.
#![cfg(unix)]

mod secrets;
mod sinks;
