//! The environment of the process, as data.

use std::collections::BTreeMap;

/// Environment variables by name.
pub type Variables = BTreeMap<String, String>;
