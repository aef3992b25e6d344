//! Builds of Java: what Maven checked and Gradle does not, by plugins, flags, thresholds and tasks.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::ToolSettings;
use super::demands::{Demand, Said, read};
use super::judge::percent;
use super::names::canonical;
use super::tools::Purpose;
use crate::finding::{Finding, Kind};

/// Returns what a build of Maven checked, and that of Gradle does not, or the other way round.
pub(super) fn compare(sources: &[&ToolSettings<'_>], targets: &[&ToolSettings<'_>]) -> Vec<Finding> {
    const PLUGINS: &[&str] = &[
        "checkstyle",
        "pmd",
        "spotbugs",
        "jacoco",
        "errorprone",
        "spotless",
        "pitest",
        "detekt",
        "ktlint",
        "archunit",
        "animal-sniffer",
        "revapi",
        "japicmp",
        "forbiddenapis",
        "dependency-check",
        "enforcer",
        "nullaway",
        "cpd",
        "sonar",
    ];
    let Some(first) = sources.first() else { return Vec::new() };
    let join = |groups: &[&ToolSettings<'_>], text: fn(&ToolSettings<'_>) -> String| {
        groups.iter().map(|group| text(group)).collect::<Vec<_>>().join("\n")
    };
    let before = join(sources, |group| group.texts.0.to_owned());
    let after = join(targets, |group| group.texts.1.to_owned());
    let way =
        format!("(moved from `{}` to `{}`)", first.path, targets.first().map_or("", |target| target.path));
    let line = |word: &str| first.texts.0.lines().position(|line| line.contains(word)).map_or(1, |at| at + 1);
    let mut found = Vec::new();
    let plain = |text: &str| text.to_lowercase().replace(['-', '_'], "");
    let (old, new) = (plain(&before), plain(&after));
    // Gradle has no plugin for these; versions and dependencies are its own.
    for plugin in PLUGINS.iter().filter(|plugin| **plugin != "enforcer" || !after.contains("plugins {")) {
        let word = plain(plugin);
        if old.contains(&word) && !new.contains(&word) {
            let message = format!("`{plugin}` no longer runs {way}");
            found.push(Finding::new(first.path, line(plugin), Kind::WeakerCheck, message));
        }
    }
    if let Some((_, kind, message)) = super::super::flags::lost_flags(&before, &after) {
        found.push(Finding::new(first.path, 1, kind, format!("{message} {way}")));
    }
    let said = |groups: &[&ToolSettings<'_>], is_old: bool| -> Vec<Said> {
        let entries = |group: &&ToolSettings<'_>| if is_old { group.old.clone() } else { group.new.clone() };
        let all: Vec<_> = groups.iter().flat_map(entries).collect();
        read(&all.iter().collect::<Vec<_>>(), Purpose::JavaBuild)
    };
    let (was, is) = (said(sources, true), said(targets, false));
    let floors = |all: &[Said]| -> Vec<f64> {
        let numbers =
            all.iter().filter(|said| said.name.contains("minimum")).filter_map(|said| match said.demand {
                Demand::Floor(number) => Some(percent(number)),
                _ => None,
            });
        numbers.collect()
    };
    let mut left = floors(&is);
    for old in floors(&was) {
        if let Some(at) = left.iter().position(|new| *new >= old) {
            left.remove(at);
            continue;
        }
        let now = left.first().map_or("is gone".to_owned(), |new| format!("is `{new}`"));
        let message = format!("a threshold is lower: a minimum was `{old}` and {now} {way}");
        found.push(Finding::new(first.path, line("minimum"), Kind::LowerThreshold, message));
        break;
    }
    for said in is.iter().filter(|said| said.demand == Demand::Mild || said.demand == Demand::LeftOut) {
        if was.iter().all(|other| other.demand != said.demand || other.name != said.name)
            && let Some(target) = targets.first()
        {
            let message = format!("less is checked, or a failure no longer counts: `{}` {way}", said.shown);
            found.push(Finding::new(target.path, said.line, Kind::WeakerCheck, message));
        }
    }
    found.extend(tasks(first, targets, (&before, &after), &way));
    found
}

/// Returns a check that the tasks of a build waited for, and no longer do.
fn tasks(
    source: &ToolSettings<'_>,
    targets: &[&ToolSettings<'_>],
    texts: (&str, &str),
    way: &str,
) -> Option<Finding> {
    static WAITS: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r"(?:dependsOn|finalizedBy)\b([^\n}]*)").ok());
    if targets.iter().any(|target| target.tool != source.tool) {
        return None;
    }
    let names = |text: &str| -> BTreeSet<String> {
        let lists = WAITS.as_ref().into_iter().flat_map(|waits| waits.captures_iter(text));
        let words = lists.flat_map(|found| {
            let words =
                found.get(1).map_or("", |list| list.as_str()).split(|letter: char| !letter.is_alphanumeric());
            words.filter(|word| !matches!(*word, "" | "tasks" | "named")).map(canonical).collect::<Vec<_>>()
        });
        words.collect()
    };
    let (old, new) = (names(texts.0), names(texts.1));
    let is_check = |name: &&String| {
        ["verif", "test", "check", "lint", "detekt", "jacoco"].iter().any(|part| name.contains(part))
    };
    let gone = old.difference(&new).find(is_check)?;
    let message = format!("no task waits for `{gone}` any more {way}");
    Some(Finding::new(source.path, 1, Kind::WeakerCheck, message))
}
