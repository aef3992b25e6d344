//! What a program defines, by its names.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::Change;
use crate::files::Role;

/// Returns names that the program defined before the change and defines nowhere in it any more.
///
/// Where as many are new as are gone, they were renamed, and nothing was removed.
pub(crate) fn removed(changes: &[Change<'_>]) -> BTreeSet<String> {
    let names = |text: Option<&str>| -> BTreeSet<String> {
        let Some(pattern) = DEFINITION.as_ref() else { return BTreeSet::new() };
        let text = text.unwrap_or_default();
        pattern
            .captures_iter(text)
            .filter_map(|found| found.iter().skip(1).flatten().next().map(|name| name.as_str().to_owned()))
            .collect()
    };
    let (mut old, mut new) = (BTreeSet::new(), BTreeSet::new());
    for change in changes.iter().filter(|change| Role::of(change.path) == Role::Source) {
        old.extend(names(change.before));
        new.extend(names(change.after));
    }
    let gone: BTreeSet<String> = old.difference(&new).filter(|name| name.len() > 2).cloned().collect();
    let added = new.difference(&old).count();
    if gone.len() > added { gone } else { BTreeSet::new() }
}

static DEFINITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^\s*(?:pub(?:\([^)]*\))?\s+|export\s+|default\s+|async\s+|static\s+|public\s+|private\s+|protected\s+|final\s+|abstract\s+|unsafe\s+|const\s+)*(?:(?:def|class|fn|func(?:\s*\([^)]*\))?|function\*?|struct|enum|trait|interface|type|macro_rules!|module)\s+(\w+)|(?:[\w<>\[\],.]+\s+)(\w+)\s*\([^;{}()]{0,200}\)\s*(?:throws[^{;]{0,100})?\{|(?:module\.)?exports\.(\w+)\s*=|(?:let|var|const)\s+(\w+)\s*=)",
    )
    .ok()
});
