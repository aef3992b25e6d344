//! Settings that a change takes from one tool to another of the same purpose, or from one file of a tool to another. What the old ones
//! demanded has to be demanded by the new ones, in their words; what only moved or got another name is not reported.

mod builds;
mod demands;
mod judge;
mod names;
mod pipelines;
mod tools;

use std::collections::{BTreeMap, BTreeSet};

use super::flatten::{Entry, flatten};
use super::{MAX_ENTRIES, MAX_TEXT, code, script, xml};
use crate::Change;
use crate::files::{Format, Role, file_name, is_list};
use crate::finding::Finding;
use names::canonical;
use tools::{Purpose, Tool, of_file, of_section};

/// What a change took from tools to others.
#[derive(Default)]
pub(crate) struct Migrations {
    findings: Vec<Finding>,
    /// Files and their lines whose old settings were judged.
    sources: BTreeSet<(String, usize)>,
    /// Files and their lines whose new settings were judged.
    targets: BTreeSet<(String, usize)>,
    /// Files that are gone, and whose commands were judged.
    pipelines: BTreeSet<String>,
}

impl Migrations {
    /// Finds the migrations of a change, and judges them.
    pub(crate) fn of(changes: &[Change<'_>]) -> Self {
        let mut migrations = Self::default();
        let is_settings = |change: &&Change<'_>| matches!(Role::of(change.path), Role::Settings(_));
        let changes: Vec<&Change<'_>> = changes.iter().filter(is_settings).collect();
        // What is taken elsewhere leaves one file, or one section, and is in another one.
        if changes.is_empty() {
            return migrations;
        }
        // A file that only went to another folder is compared with what it was.
        let named = |is_it: fn(&Change<'_>) -> bool| -> BTreeSet<&str> {
            changes.iter().filter(|change| is_it(change)).map(|change| file_name(change.path)).collect()
        };
        let (gone, new) = (named(|change| change.after.is_none()), named(|change| change.before.is_none()));
        let is_moved = |name: &str| gone.contains(name) && new.contains(name);
        let others = changes.iter().filter(|change| !is_moved(file_name(change.path)));
        let groups: Vec<ToolSettings<'_>> = others.flat_map(|change| groups(change)).collect();
        for purpose in groups.iter().map(|group| group.tool.0).collect::<BTreeSet<_>>() {
            let own: Vec<&ToolSettings<'_>> = groups.iter().filter(|group| group.tool.0 == purpose).collect();
            migrations.judge(purpose, &own);
        }
        let (pipelines, findings) = pipelines::judge(&changes);
        migrations.pipelines = pipelines;
        migrations.findings.extend(findings);
        migrations
    }

    /// Judges the settings of one purpose, if some are gone and others are new.
    fn judge(&mut self, purpose: Purpose, groups: &[&ToolSettings<'_>]) {
        let sources: Vec<&ToolSettings<'_>> =
            groups.iter().filter(|group| group.is_gone()).copied().collect();
        let targets: Vec<&ToolSettings<'_>> =
            groups.iter().filter(|group| group.has_new()).copied().collect();
        if sources.is_empty() || targets.is_empty() {
            return;
        }
        self.findings.extend(judge::migration(purpose, &sources, &targets, groups));
        for group in sources {
            self.sources.extend(group.old.iter().map(|entry| (group.path.to_owned(), entry.line)));
        }
        for group in targets.iter().filter(|group| group.old.is_empty()) {
            self.targets.extend(group.new.iter().map(|entry| (group.path.to_owned(), entry.line)));
        }
    }

    /// Returns what was lost on the way.
    pub(crate) fn findings(&self) -> impl Iterator<Item = Finding> + '_ {
        self.findings.iter().cloned()
    }

    /// Returns whether a file that is gone was judged as a whole.
    pub(crate) fn has_judged(&self, path: &str) -> bool {
        of_file(path).is_some() && self.sources.iter().any(|(other, _)| other == path)
    }

    /// Returns whether the commands of a file that is gone were judged.
    pub(super) fn has_judged_commands(&self, path: &str) -> bool {
        self.pipelines.contains(path)
    }

    /// Returns whether the settings that were on a line were judged.
    pub(super) fn has_judged_before(&self, path: &str, line: usize) -> bool {
        self.sources.contains(&(path.to_owned(), line))
    }

    /// Returns whether the settings that are on a line were judged.
    pub(super) fn has_judged_after(&self, path: &str, line: usize) -> bool {
        self.targets.contains(&(path.to_owned(), line))
    }
}

/// Returns whether two settings are those of the same rule, or of a rule and its successor.
pub(super) fn is_same_rule(one: &str, other: &str) -> bool {
    let name = |key: &str| canonical(key.rsplit_once("rules.").map_or(key, |(_, name)| name));
    name(one) == name(other)
}

/// Settings of one tool in one file.
struct ToolSettings<'a> {
    path: &'a str,
    tool: Tool,
    old: Vec<Entry>,
    new: Vec<Entry>,
    texts: (&'a str, &'a str),
}

impl ToolSettings<'_> {
    fn is_gone(&self) -> bool {
        !self.old.is_empty() && self.new.is_empty()
    }

    /// Returns whether something is said that was not before.
    fn has_new(&self) -> bool {
        let said =
            |entry: &Entry| self.old.iter().any(|old| old.key == entry.key && old.value == entry.value);
        self.new.iter().any(|entry| !said(entry))
    }
}

/// Returns the settings of a file by tools.
fn groups<'a>(change: &Change<'a>) -> Vec<ToolSettings<'a>> {
    let texts = (change.before.unwrap_or_default(), change.after.unwrap_or_default());
    let mut found: BTreeMap<Tool, ToolSettings<'a>> = BTreeMap::new();
    let of_whole = of_file(change.path);
    for (text, is_old) in [(texts.0, true), (texts.1, false)] {
        if text.len() > MAX_TEXT {
            continue;
        }
        for entry in entries(change.path, text) {
            let Some(tool) = of_whole.or_else(|| of_section(change.path, &entry.key)) else { continue };
            let group = found.entry(tool).or_insert_with(|| ToolSettings {
                path: change.path,
                tool,
                old: Vec::new(),
                new: Vec::new(),
                texts,
            });
            if is_old { group.old.push(entry) } else { group.new.push(entry) }
        }
    }
    found.into_values().collect()
}

/// Returns the settings of a text.
fn entries(path: &str, text: &str) -> Vec<Entry> {
    let Role::Settings(format) = Role::of(path) else { return Vec::new() };
    let of_tools = of_file(path).is_some()
        || matches!(file_name(path), "pyproject.toml" | "setup.cfg" | "tox.ini" | "package.json");
    if !of_tools {
        return Vec::new();
    }
    let mut found = if is_list(path) {
        let lines =
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let item = |(at, line): (usize, &str)| Entry {
            key: "ignores".to_owned(),
            value: line.trim().to_owned(),
            line: at + 1,
            is_item: true,
        };
        lines.map(item).collect()
    } else if let Some(entries) = script::flatten(path, text) {
        entries
    } else if format == Format::Text {
        xml::flatten(text).unwrap_or_else(|| {
            let mut entries = flatten(text, format);
            entries.extend(code::flatten(text));
            entries
        })
    } else {
        flatten(text, format)
    };
    found.truncate(MAX_ENTRIES);
    found
}
