//! Titles of pull requests.

use sanitize::untrusted::plain;

use super::target::TargetId;
use crate::base::text::first_chars;

/// Longest title, and longest text in it for the owners of a part, in characters.
const MAX_TITLE: usize = 72;
const MAX_OWNERS: usize = 30;

/// Returns the title of a target's pull request. `task` may come from whoever wrote a recipe. That of a part says whose files it
/// changes, which comes from whoever wrote that repository's `CODEOWNERS`.
pub(super) fn title(id: &TargetId, task: &str, owners: &[String]) -> String {
    let line = task.trim().lines().next().unwrap_or_default();
    let line = plain(line.trim_start_matches(['#', ' ']));
    if id.part.is_empty() || owners.is_empty() {
        return cut(&line, MAX_TITLE);
    }
    let end = format!(" ({})", named(owners));
    format!("{}{end}", cut(&line, MAX_TITLE - end.chars().count()))
}

/// Returns the names of owners: as many as there is room for, and the number of the others.
fn named(owners: &[String]) -> String {
    let names: Vec<String> = owners.iter().map(|owner| plain(owner.trim_start_matches('@'))).collect();
    let shown = |count: usize| match names.len() - count {
        0 => names.join(", "),
        others => format!("{} +{others}", names[..count].join(", ")),
    };
    let fits = |count: &usize| shown(*count).chars().count() <= MAX_OWNERS;
    match (1..=names.len()).rev().find(fits) {
        Some(count) => shown(count),
        None if names.len() > 1 => {
            let others = format!(" +{}", names.len() - 1);
            format!("{}{others}", cut(&names[0], MAX_OWNERS - others.len()))
        }
        None => cut(&names[0], MAX_OWNERS),
    }
}

/// Returns a text of at most `max` characters as it is, and a longer one up to the end of a word, with an ellipsis.
fn cut(text: &str, max: usize) -> String {
    let start = first_chars(text, max);
    if start.len() == text.len() {
        return text.to_owned();
    }
    let start = first_chars(start, max - 1);
    let is_between_words = text[start.len()..].starts_with(' ');
    // Where a word alone is longer than one half, a part of it says more.
    let words = start.rfind(' ').filter(|end| !is_between_words && start[..*end].chars().count() >= max / 2);
    let start = words.map_or(start, |end| &start[..end]);
    format!("{}…", start.trim_end_matches([' ', ',', ';', ':', '(']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_cut_between_words_and_name_whole_owners() {
        let part = TargetId::try_from("octo/mono@web-1".to_owned()).expect("a target");
        let team = |at: usize| format!("@octo/team-{at}");
        for (task, owners, expected) in [
            ("# Call it new\nand more", vec!["@dev".to_owned()], "Call it new (dev)"),
            ("Call it new", vec![team(1), team(2)], "Call it new (octo/team-1, octo/team-2)"),
            ("Call it new", (1..=4).map(team).collect(), "Call it new (octo/team-1, octo/team-2 +2)"),
            (
                "Call it new",
                vec![format!("@{}", "o".repeat(40))],
                "Call it new (ooooooooooooooooooooooooooooo…)",
            ),
            (
                "Replace the deprecated clock by one that knows about time zones everywhere",
                vec![team(1)],
                "Replace the deprecated clock by one that knows about time… (octo/team-1)",
            ),
        ] {
            let title = title(&part, task, &owners);
            assert_eq!(title, expected);
            assert!(title.chars().count() <= MAX_TITLE);
        }
        let long = title(&part.whole(), &format!("{}é", "x".repeat(MAX_TITLE)), &[team(1)]);
        assert_eq!(long, format!("{}…", "x".repeat(MAX_TITLE - 1)));
    }
}
