//! Settings that name the folders of tests or code, and that follow files which a change moved.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::signs::OTHER_FILES;
use crate::Change;
use crate::files::{Language, Role, file_name};
use crate::finding::{Finding, Kind};

/// Returns whether a finding says that other files are looked at than before.
pub(crate) fn is_of_places(finding: &Finding) -> bool {
    finding.message.starts_with(OTHER_FILES)
        || finding.message.starts_with("`include` no longer names")
        || is_of_exemption(finding)
}

/// Returns whether a finding says that a list newly leaves something out.
fn is_of_exemption(finding: &Finding) -> bool {
    finding.kind == Kind::LooserRule && finding.message.ends_with("` from a check")
}

/// Returns whether a list no longer names something that the change takes out of the code as well: the code named it before, and nothing
/// that the change touches does now.
pub(crate) fn is_of_lost_feature(finding: &Finding, changes: &[Change<'_>]) -> bool {
    const SHORTEST: usize = 5;
    let named = finding.message.split_once("no longer names `").map(|(_, rest)| rest.trim_end_matches('`'));
    let is_word = |name: &&str| {
        name.len() >= SHORTEST && name.chars().all(|sign| sign.is_alphanumeric() || matches!(sign, '-' | '_'))
    };
    let Some(name) = named.filter(is_word).filter(|_| finding.kind == Kind::LooserRule) else { return false };
    let is_code = |change: &&Change<'_>| Role::of(change.path) == Role::Source;
    let has = |text: Option<&str>| text.is_some_and(|text| text.contains(name));
    changes.iter().filter(is_code).any(|change| has(change.before))
        && !changes.iter().any(|change| has(change.after))
}

/// Returns whether a list no longer names a folder of tests, or code of its own folder, of which the change leaves nothing there. `changes` have to hold the files that did not change as
/// well.
pub(crate) fn is_of_empty_folder(finding: &Finding, changes: &[Change<'_>]) -> bool {
    let named =
        finding.message.strip_prefix("`include` no longer names `").map(|rest| rest.trim_end_matches('`'));
    let Some(named) = named.filter(|_| finding.kind == Kind::LooserRule) else { return false };
    let named = named.trim_matches(['"', '\'', '[', ']']).trim_start_matches("./");
    let start = folder(named).trim_end_matches('/');
    let is_of_tests =
        matches!(start.rsplit('/').next(), Some("test" | "tests" | "__tests__" | "spec" | "specs"));
    let above = finding.path.rsplit_once('/').map_or(String::new(), |(above, _)| format!("{above}/"));
    let is_within = |path: &str| {
        let rest = path.strip_prefix(above.as_str()).and_then(|path| path.strip_prefix(start));
        !start.is_empty() && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    // Code of the folder itself that the change moved to where the list looks now: `*.ts` became `src`.
    let settings = changes.iter().find(|change| change.path == finding.path);
    let now = patterns(settings.and_then(|change| change.after));
    let is_looked_at = |rest: &str| {
        now.iter().any(|pattern| {
            let folder = folder(pattern).trim_end_matches('/');
            !matches!(folder, "" | ".") && rest.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'))
        })
    };
    let is_own = |path: &str| {
        let Some(rest) = path.strip_prefix(above.as_str()).filter(|_| Language::of(path).is_some()) else {
            return false;
        };
        match named.strip_prefix('*') {
            Some(end) => !end.contains('*') && !rest.contains('/') && rest.ends_with(end),
            None => named == "." && !is_looked_at(rest),
        }
    };
    let mut within = changes
        .iter()
        .filter(|change| is_of_tests && is_within(change.path) || is_own(change.path))
        .peekable();
    within.peek().is_some() && within.all(|change| change.after.is_none())
}

/// Returns whether a list leaves out of a check what a file was exempt from that has another path now: `src/a/list.py:F401`.
pub(crate) fn is_of_moved_file(finding: &Finding, changes: &[Change<'_>]) -> bool {
    let exempt =
        finding.message.split_once("exempts `").and_then(|(_, rest)| rest.strip_suffix("` from a check"));
    let Some((path, rules)) = exempt.and_then(|exempt| exempt.split_once(':')) else { return false };
    let settings = changes.iter().find(|change| change.path == finding.path).and_then(|change| change.before);
    let plain = |text: &str| text.replace([' ', '"', '\''], "");
    let before = plain(settings.unwrap_or_default());
    let is_new = changes.iter().any(|change| change.path == path && change.before.is_none());
    is_new
        && changes.iter().any(|change| {
            change.after.is_none()
                && file_name(change.path) == file_name(path)
                && before.contains(&plain(&format!("{}:{rules}", change.path)))
        })
}

/// Returns whether settings name other folders than before because the change moved all files of the old ones there. `changes` have to
/// hold the files that did not change as well.
pub(crate) fn follow(finding: &Finding, changes: &[Change<'_>]) -> bool {
    let Some(change) = changes.iter().find(|change| change.path == finding.path) else { return false };
    let (old, new) = (patterns(change.before), patterns(change.after));
    let gone: Vec<&str> = old.difference(&new).map(|pattern| folder(pattern)).collect();
    let added: Vec<&str> = new.difference(&old).map(|pattern| folder(pattern)).collect();
    let within = |folders: &[&str], path: &str| folders.iter().any(|folder| path.starts_with(folder));
    let is_named =
        !gone.is_empty() && !added.is_empty() && gone.iter().chain(&added).all(|folder| !folder.is_empty());
    // What is left out there must be what was left out before, and no more.
    let is_narrow = || {
        let is_within_old = |folder: &&str| gone.iter().any(|old| old.starts_with(*folder));
        !added.iter().any(is_within_old)
            && changes
                .iter()
                .filter(|change| within(&added, change.path))
                .all(|change| change.before.is_none())
    };
    // A file of the same name, or of the same text, has come below one of the new folders.
    let is_moved = |gone: &Change<'_>| {
        changes.iter().any(|other| {
            other.before.is_none()
                && other.after.is_some()
                && within(&added, other.path)
                && (file_name(other.path) == file_name(gone.path) || other.after == gone.before)
        })
    };
    let mut left =
        changes.iter().filter(|change| within(&gone, change.path) && !within(&added, change.path)).peekable();
    is_named
        && (!is_of_exemption(finding) || is_narrow())
        && left.peek().is_some()
        && left.all(|change| change.after.is_none() && is_moved(change))
}

/// Returns the texts of a file of settings that may name files.
fn patterns(text: Option<&str>) -> BTreeSet<String> {
    static TEXT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"["'`]([^"'`\s]+)["'`]"#).ok());
    let found = TEXT.as_ref().into_iter().flat_map(|pattern| pattern.captures_iter(text.unwrap_or_default()));
    found.map(|found| found[1].replace("<rootDir>/", "").trim_start_matches("./").to_owned()).collect()
}

/// Returns the folder that a pattern begins with; a word alone is one.
fn folder(pattern: &str) -> &str {
    let fixed = pattern.split('*').next().unwrap_or(pattern);
    if fixed.len() == pattern.len() { fixed } else { fixed.rsplit_once('/').map_or("", |(folder, _)| folder) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_following(message: &str, roots: (&str, &str), left: Option<&str>) -> bool {
        let changes = [
            Change { path: "jest.config.js", before: Some(roots.0), after: Some(roots.1) },
            Change { path: "test/a.test.js", before: Some("a"), after: None },
            Change { path: "src/a.test.js", before: None, after: Some("a") },
            Change { path: "test/b.test.js", before: Some("b"), after: left },
        ];
        let finding = Finding::new("jest.config.js", 1, Kind::LooserRule, message);
        follow(&finding, &changes[..if left.is_some() { 4 } else { 3 }])
    }

    #[test]
    fn settings_follow_files_only_if_all_are_moved() {
        let roots = ("roots: ['<rootDir>/test']", "roots: ['<rootDir>/src']");
        assert!(is_following(OTHER_FILES, roots, None));
        assert!(!is_following(OTHER_FILES, roots, Some("b")));
    }

    #[test]
    fn exemptions_follow_files_only_if_they_take_in_no_others() {
        let message = "`ignores` exempts `src/**` from a check";
        assert!(is_following(message, ("ignores: ['test/**']", "ignores: ['src/**']"), None));
        assert!(!is_following(message, ("ignores: ['test/**']", "ignores: ['s/../**']"), None));
        assert!(!is_following(
            message,
            ("ignores: ['test/a.test.js']", "ignores: ['test/**', 'src/**']"),
            Some("b")
        ));
    }
}
