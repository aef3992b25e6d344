//! Sets of hosts that go by a name, as `host_sets.yml` has them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::base::yaml;

/// A set as the file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetText {
    pub(super) manifests: Vec<String>,
    pub(super) hosts: Vec<String>,
}

// A test reads the file as well: what cannot be read names no host, so that nothing is allowed by it.
pub(super) static SET_TEXTS: LazyLock<BTreeMap<String, SetText>> =
    LazyLock::new(|| yaml::from_str(include_str!("host_sets.yml")).unwrap_or_default());

/// Returns the names of all sets.
pub(super) fn set_names() -> impl Iterator<Item = &'static str> {
    SET_TEXTS.keys().map(String::as_str)
}
