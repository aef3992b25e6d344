//! Effects that are kept out where not every part of the sandbox is available.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use super::effect::Effect;

/// The kind of machine that the attacks are played on, a name of `kinds.yml`.
const KIND: &str = "ATTACKS_KIND";

/// A kind of machine.
#[derive(Deserialize)]
pub struct Kind {
    /// What does happen there, as long as nothing else stands in the way.
    #[serde(default)]
    pub open: BTreeSet<Effect>,
    /// Whether the network cannot be denied, so that a configuration which does so is refused.
    #[serde(default)]
    pub network: bool,
}

/// Returns this machine's kind; where none is named, every part of the sandbox is available.
pub fn this() -> Kind {
    let Ok(name) = std::env::var(KIND) else { return Kind { open: BTreeSet::new(), network: false } };
    let table = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/attacks/kinds.yml");
    let table = std::fs::read_to_string(table).expect("the table of kinds");
    let mut kinds: BTreeMap<String, Kind> = serde_yaml::from_str(&table).expect("a table of kinds");
    kinds.remove(&name).unwrap_or_else(|| panic!("{KIND}: {name} is no kind of kinds.yml"))
}
