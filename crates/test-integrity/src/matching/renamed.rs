//! Files that a change gives another name.

use std::collections::BTreeSet;

use crate::Change;
use crate::files::extension;

/// Returns whether a new file is one that is gone, with another name: most of its lines are the same.
pub(crate) fn is_renamed(new: &Change<'_>, changes: &[Change<'_>]) -> bool {
    let lines = |text: &'_ str| -> BTreeSet<String> {
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let Some(now) = new.after.filter(|_| new.before.is_none()).map(lines) else { return false };
    let gone =
        changes.iter().filter(|other| other.after.is_none() && extension(other.path) == extension(new.path));
    gone.filter_map(|other| other.before).any(|text| {
        let was = lines(text);
        was.intersection(&now).count() * 2 > was.len().max(now.len())
    })
}
