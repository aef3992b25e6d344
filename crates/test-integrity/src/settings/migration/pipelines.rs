//! Commands of pipelines, recipes and hooks that are gone as files: those of their successors have to check as much.

use std::collections::BTreeSet;

use super::super::check::Check;
use super::super::commands::lost;
use super::super::elsewhere::runs;
use super::super::flatten::flatten;
use super::super::{actions, last, purposes, workflow};
use crate::Change;
use crate::files::{Format, Role, file_name};
use crate::finding::{Finding, Kind};

/// Largest file whose commands are compared with those of others, in bytes.
const MAX_TEXT: usize = 1 << 18;

/// Parts of keys that name versions of a language.
const LANGUAGES: &[&str] = &["python", "node", "go", "jdk", "java", "ruby", "rvm", "php", "rust", "version"];

/// File of settings with the commands that it ran and runs.
struct Runs<'a> {
    change: &'a Change<'a>,
    before: Vec<Check>,
    after: Vec<Check>,
}

impl<'a> Runs<'a> {
    fn of(change: &'a Change<'a>) -> Option<Self> {
        let Role::Settings(format) = Role::of(change.path) else { return None };
        let read = |text: Option<&str>| {
            let mut found = runs(change.path, text, format);
            if format == Format::Yaml {
                found.extend(actions::checks(text.unwrap_or_default()));
            }
            found
        };
        Some(Self { change, before: read(change.before), after: read(change.after) })
    }

    /// Returns whether it runs something that it did not before.
    fn has_new(&self) -> bool {
        self.after.iter().any(|check| self.before.iter().all(|other| other.tool != check.tool))
    }
}

/// Returns the files that are gone and have successors, with what these check less.
pub(super) fn judge(changes: &[&Change<'_>]) -> (BTreeSet<String>, Vec<Finding>) {
    if changes.iter().all(|change| change.after.is_some()) {
        return (BTreeSet::new(), Vec::new());
    }
    let is_short = |text: Option<&str>| text.is_none_or(|text| text.len() <= MAX_TEXT);
    let short = changes.iter().filter(|change| is_short(change.before) && is_short(change.after));
    let all: Vec<Runs<'_>> = short.filter_map(|change| Runs::of(change)).collect();
    let successors: Vec<&Runs<'_>> = all.iter().filter(|runs| runs.has_new()).collect();
    let (mut judged, mut findings) = (BTreeSet::new(), Vec::new());
    for gone in all.iter().filter(|runs| runs.change.after.is_none() && !runs.before.is_empty()) {
        let of_same_kind = |other: &&&Runs<'_>| {
            is_pipeline(gone.change.path) == is_pipeline(other.change.path) && is_lent(gone, other)
        };
        let heirs: Vec<&&Runs<'_>> = successors.iter().filter(of_same_kind).collect();
        let Some(heir) = heirs.first() else { continue };
        let of_heirs = heirs.iter().flat_map(|heir| heir.after.iter());
        let of_others = all.iter().flat_map(|runs| {
            runs.after.iter().filter(|check| runs.before.iter().all(|other| other.text != check.text))
        });
        let now: Vec<Check> = of_heirs.chain(of_others).cloned().collect();
        let path = gone.change.path;
        judged.insert(path.to_owned());
        let way = format!("(moved from `{path}` to `{}`)", heir.change.path);
        findings.extend(
            lost(&gone.before, &now)
                .into_iter()
                .map(|lost| Finding::new(path, lost.line, lost.kind, format!("{} {way}", lost.message))),
        );
        findings.extend(idle(&gone.before, &heirs, &way));
        findings.extend(untested_version(gone.change, &heirs, &way));
    }
    (judged, findings)
}

/// Returns whether a file newly runs some of the tools of one that is gone, or others in their place.
fn is_lent(gone: &Runs<'_>, other: &Runs<'_>) -> bool {
    let new = || other.after.iter().filter(|check| other.before.iter().all(|known| known.tool != check.tool));
    gone.before.iter().any(|check| {
        new().any(|other| other.tool == check.tool)
            || purposes::is_replaced(check, &other.after, &other.before)
    })
}

/// Returns the new workflows that nothing starts, and their checks that never run.
fn idle(old: &[Check], heirs: &[&&Runs<'_>], way: &str) -> Vec<Finding> {
    let workflows: Vec<&Change<'_>> = heirs
        .iter()
        .map(|heir| heir.change)
        .filter(|change| change.before.is_none() && change.path.contains(".github/workflows/"))
        .collect();
    let mut found = Vec::new();
    if let Some(first) = workflows.first()
        && !workflows.iter().any(|change| workflow::starts_with_changes(change.after.unwrap_or_default()))
    {
        let message = format!("changes no longer start the checks {way}");
        found.push(Finding::new(first.path, 1, Kind::WeakerCheck, message));
    }
    for change in workflows {
        let unreached = workflow::unreached(change.after.unwrap_or_default()).into_iter();
        let known = unreached.filter(|(tool, _)| old.iter().any(|check| check.tool == *tool));
        found.extend(known.map(|(tool, line)| {
            let message = format!("`{tool}` never runs, or its failure no longer counts {way}");
            Finding::new(change.path, line, Kind::WeakerCheck, message)
        }));
    }
    found
}

/// Returns a version of a language that was tested and no longer is, if there are fewer of them.
fn untested_version(gone: &Change<'_>, heirs: &[&&Runs<'_>], way: &str) -> Option<Finding> {
    let versions = |text: Option<&str>| -> Vec<(String, usize)> {
        let entries = flatten(text.unwrap_or_default(), Format::Yaml).into_iter();
        let of_languages = entries.filter(|entry| {
            last(&entry.key) != "version"
                && LANGUAGES.iter().any(|name| last(&entry.key).contains(name))
                && entry.value.starts_with(|first: char| first.is_ascii_digit())
        });
        of_languages.map(|entry| (entry.value.trim_matches(['"', '\'']).to_owned(), entry.line)).collect()
    };
    let (old, new) = (
        versions(gone.before),
        heirs.iter().flat_map(|heir| versions(heir.change.after)).collect::<Vec<_>>(),
    );
    let is_kept = |version: &str| new.iter().any(|(other, _)| other == version);
    let (version, line) =
        old.iter().find(|(version, _)| !is_kept(version)).filter(|_| new.len() < old.len())?;
    let message = format!("version `{version}` is no longer tested {way}");
    Some(Finding::new(gone.path, *line, Kind::LooserRule, message))
}

/// Returns whether a file is that of a service that runs pipelines.
fn is_pipeline(path: &str) -> bool {
    const NAMES: &[&str] = &[
        ".travis.yml",
        ".gitlab-ci.yml",
        ".gitlab-ci.yaml",
        "azure-pipelines.yml",
        "appveyor.yml",
        ".appveyor.yml",
        "bitbucket-pipelines.yml",
        ".drone.yml",
        ".cirrus.yml",
        "Jenkinsfile",
    ];
    const FOLDERS: &[&str] = &[".github/workflows/", ".circleci/", ".buildkite/", ".gitlab/"];
    NAMES.contains(&file_name(path)) || FOLDERS.iter().any(|folder| path.contains(folder))
}
