//! Recorded output that tests compare with.

use std::collections::{BTreeMap, BTreeSet};

use crate::Change;
use crate::files::{Role, stem};
use crate::finding::{Finding, Kind};

/// Fewest changed entries that are a rewrite rather than an update.
const MIN_CHANGED: usize = 3;

/// Returns whether most of a snapshot was rewritten, or whether it is gone.
pub(crate) fn compare(change: &Change<'_>, changes: &[Change<'_>]) -> Vec<Finding> {
    let Some(before) = change.before else { return Vec::new() };
    let old = entries(before);
    let Some(after) = change.after else {
        if is_said_by_test(change.path, changes)
            || is_moved(change.path, &old, changes)
            || is_gone_with_test(change.path, changes)
        {
            return Vec::new();
        }
        let message = format!("the snapshot is gone, with {} entries", old.len().max(1));
        return vec![Finding::new(change.path, 1, Kind::RewrittenSnapshot, message)];
    };
    let new = entries(after);
    let changed = old.iter().filter(|(name, text)| new.get(*name).is_some_and(|now| now != *text)).count();
    let gone = old.keys().filter(|name| !new.contains_key(*name)).count();
    let is_emptied = |(name, text): &(&String, &String)| {
        !is_empty(text) && new.get(*name).is_some_and(|now| is_empty(now))
    };
    let emptied = old.iter().filter(is_emptied).count();
    if emptied > 0 {
        let message = format!("{emptied} of {} entries of the snapshot are empty now", old.len());
        return vec![Finding::new(change.path, 1, Kind::RewrittenSnapshot, message)];
    }
    let touched = changed + gone;
    let is_update = || gone == 0 && follows_program(&old, &new, changes);
    if touched >= MIN_CHANGED && touched * 2 > old.len() && !is_update() {
        let message = format!("{touched} of {} entries of the snapshot are rewritten or gone", old.len());
        return vec![Finding::new(change.path, 1, Kind::RewrittenSnapshot, message)];
    }
    if show_the_same(&old, &new) {
        let message = format!("all {} entries of the snapshot, which differed, show the same now", old.len());
        return vec![Finding::new(change.path, 1, Kind::RewrittenSnapshot, message)];
    }
    Vec::new()
}

/// Returns what an entry shows, without its name.
fn shown(entry: &str) -> &str {
    let content = match entry.split_once("`] =") {
        Some((_, content)) => content,
        None => entry
            .split_once('\n')
            .map_or("", |(first, rest)| if first.starts_with("# name:") { rest } else { entry }),
    };
    content.trim()
}

/// Returns whether all entries were rewritten, and what differed from one to another no longer does: what failed is recorded.
fn show_the_same(old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) -> bool {
    let pairs: Vec<(&str, &str)> =
        old.iter().filter_map(|(name, text)| Some((shown(text), shown(new.get(name)?)))).collect();
    let differ = |mut all: Vec<&str>| {
        all.dedup();
        all.len() > 1
    };
    pairs.len() == old.len()
        && pairs.iter().all(|(was, now)| was != now)
        && differ(pairs.iter().map(|(was, _)| *was).collect())
        && !differ(pairs.iter().map(|(_, now)| *now).collect())
}

/// Returns whether a snapshot went to the file of a test by another name with most of its entries, which may show that name.
fn is_moved(path: &str, old: &BTreeMap<String, String>, changes: &[Change<'_>]) -> bool {
    let heirs = changes.iter().filter(|heir| heir.before.is_none() && Role::of(heir.path) == Role::Snapshot);
    heirs.filter_map(|heir| Some((heir.path, entries(heir.after?)))).any(|(heir, new)| {
        let kept: BTreeSet<&str> = new.values().map(|entry| shown(entry)).collect();
        let renamed = |entry: &str| shown(entry).replace(stem(path), stem(heir));
        let is_kept = |entry: &&String| kept.contains(shown(entry)) || kept.contains(renamed(entry).as_str());
        old.values().filter(is_kept).count() * 2 > old.len()
    })
}

/// Returns whether the file of tests that a snapshot belongs to is gone as well, so that its tests say what is lost:
/// `ui/__snapshots__/page.test.js.snap` and `ui/page.test.js`.
fn is_gone_with_test(path: &str, changes: &[Change<'_>]) -> bool {
    let test = path.replacen("__snapshots__/", "", 1);
    let test = test.strip_suffix(".snap").filter(|test| test.len() + 5 < path.len());
    // Another snapshot may be what the test compares with under another name.
    let is_new = |change: &Change<'_>| change.before.is_none() && Role::of(change.path) == Role::Snapshot;
    test.is_some_and(|test| changes.iter().any(|change| change.path == test && change.after.is_none()))
        && !changes.iter().any(is_new)
}

/// Returns whether an entry holds nothing: `null`, an empty text, or an element without content.
fn is_empty(entry: &str) -> bool {
    let content: String =
        shown(entry).replace("# ---", "").chars().filter(|letter| !letter.is_whitespace()).collect();
    let plain = content.trim_matches([';', '`', '\'', '"']);
    matches!(
        plain,
        "" | "null"
            | "None"
            | "undefined"
            | "{}"
            | "[]"
            | "Object{}"
            | "Array[]"
            | "<div/>"
            | "<div></div>"
            | "<DocumentFragment/>"
    )
}

/// Returns whether a snapshot changed as lines of the program did: each word of which an entry has fewer was on a line that the program
/// lost, each word that is new to an entry is on one that it gained, and at least half of every entry is as it was.
fn follows_program(
    old: &BTreeMap<String, String>,
    new: &BTreeMap<String, String>,
    changes: &[Change<'_>],
) -> bool {
    let (mut lost, mut gained): (BTreeSet<String>, BTreeSet<String>) = (BTreeSet::new(), BTreeSet::new());
    for change in changes.iter().filter(|change| Role::of(change.path) == Role::Source) {
        let (before, after) = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
        lost.extend(words_of(&lines_without(before, after)).map(str::to_owned));
        gained.extend(words_of(&lines_without(after, before)).map(str::to_owned));
    }
    let changed = old.iter().filter_map(|(name, before)| Some((before, new.get(name)?)));
    changed.filter(|(before, after)| before != after).all(|(before, after)| {
        let (was, is) = (counted(before), counted(after));
        let fewer: Vec<&str> = was
            .iter()
            .filter(|(word, count)| is.get(*word).unwrap_or(&0) < *count)
            .map(|(word, _)| *word)
            .collect();
        fewer.len() * 2 <= was.len()
            && fewer.into_iter().all(|word| lost.contains(word))
            && is.keys().filter(|word| !was.contains_key(*word)).all(|word| gained.contains(*word))
    })
}

/// Returns the words of a text with how often each is there.
fn counted(text: &str) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    for word in words_of(text) {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// Returns the lines of a text that another one does not have.
fn lines_without(text: &str, other: &str) -> String {
    let known: BTreeSet<&str> = other.lines().map(str::trim).collect();
    text.lines().filter(|line| !known.contains(line.trim())).collect::<Vec<_>>().join("\n")
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// Returns whether the test that a snapshot was of says itself what it expects, so that the comparison of tests judges it.
fn is_said_by_test(path: &str, changes: &[Change<'_>]) -> bool {
    let Some(test) = path.replace("__snapshots__/", "").strip_suffix(".snap").map(str::to_owned) else {
        return false;
    };
    let asks = |text: Option<&str>| text.is_some_and(|text| text.contains(".toMatchSnapshot("));
    changes.iter().any(|change| {
        change.path == test && change.after.is_some() && asks(change.before) && !asks(change.after)
    })
}

/// Returns the entries of a snapshot by name: Jest's, Vitest's and syrupy's; any other has one.
fn entries(text: &str) -> BTreeMap<String, String> {
    let mut entries: BTreeMap<String, String> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        let mut line = line.to_owned();
        if line.starts_with("exports[") || line.starts_with("# name:") {
            // Vitest has a sign between the names of groups where Jest has none.
            line = line.replace(" > ", " ");
            line.clone_into(&mut name);
        }
        let entry = entries.entry(name.clone()).or_default();
        *entry += &line;
        entry.push('\n');
    }
    if entries.len() > 1 {
        entries.remove("");
    }
    entries
}
