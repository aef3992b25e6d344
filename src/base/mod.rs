//! Utilities that depend on nothing else in the project.

pub(crate) mod backoff;
mod backtracking;
pub(crate) mod blocking;
pub(crate) mod bounded;
pub(crate) mod clock;
pub(crate) mod command_template;
pub(crate) mod credential_text;
pub(crate) mod did_you_mean;
pub(crate) mod encoding;
pub(crate) mod env;
pub(crate) mod error;
pub(crate) mod file_locks;
pub(crate) mod fs;
pub(crate) mod http;
pub(crate) mod integrity;
pub(crate) mod network_clock;
pub(crate) mod pattern;
pub(crate) mod pattern_options;
pub(crate) mod program;
pub(crate) mod public_address;
pub(crate) mod sealed_box;
pub(crate) mod template;
pub(crate) mod text;
pub(crate) mod time_limit;
pub(crate) mod time_slots;
pub(crate) mod verbose_log;
pub(crate) mod yaml;
