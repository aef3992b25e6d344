//! Shortening: replaces results of tools by less of them where the conversation is full, though it has too few turns to be
//! summarized, or a single turn fills it.

use crate::command::{Space, excerpt};
use crate::model::Message;

/// Space for what is left of a result of an earlier turn.
const LEFT: Space = Space { lines: 6, bytes: 400 };
/// Smallest result that is shortened, in bytes: less would save too little.
const LEAST: usize = 1_000;
/// Bytes for the words behind a result.
const MARGIN: usize = 200;

const DROPPED: &str = "[the rest of this result was dropped, because the conversation is long; make the call again if you need it]";
const CUT: &str =
    "[shortened, because the conversation is long; what is missing can be had by a call that asks for less]";

/// A message by its index, and the content that it gets.
pub(super) type Replacement = (usize, String);

/// Returns what is left of results of earlier turns, the oldest first, until that saves so many bytes.
pub(super) fn of_earlier_turns(messages: &[Message], excess: usize) -> Vec<Replacement> {
    let mut saved = 0;
    let mut replaced = Vec::new();
    for (index, content) in results(messages, 0..last_answer(messages)) {
        if saved >= excess {
            break;
        }
        let left = format!("{}\n{DROPPED}", excerpt(content, LEFT).text);
        saved += content.len().saturating_sub(left.len());
        replaced.push((index, left));
    }
    replaced
}

/// Returns what is left of results of the last turn, the longest ones first, if that is to save so many bytes.
pub(super) fn of_last_turn(messages: &[Message], excess: usize) -> Vec<Replacement> {
    let found: Vec<(usize, &str)> = results(messages, last_answer(messages)..messages.len()).collect();
    let total: usize = found.iter().map(|(_, content)| content.len()).sum();
    let most = fair_share(found.iter().map(|(_, content)| content.len()), total.saturating_sub(excess));
    let is_long = |(_, content): &(usize, &str)| content.len() > most;
    found.into_iter().filter(is_long).map(|(index, content)| (index, cut(content, most))).collect()
}

/// Returns the results in a range that are long enough.
fn results(messages: &[Message], range: std::ops::Range<usize>) -> impl Iterator<Item = (usize, &str)> {
    range.filter_map(|index| match &messages[index] {
        Message::Tool { content, .. } if content.len() >= LEAST => Some((index, content.as_str())),
        _ => None,
    })
}

/// Returns the index of the last answer, behind which its results stand.
fn last_answer(messages: &[Message]) -> usize {
    messages.iter().rposition(|message| matches!(message, Message::Assistant { .. })).unwrap_or(0)
}

/// Returns the most that each of these lengths may be so that their sum is at most `space`: what short ones leave goes to
/// the others.
fn fair_share(lengths: impl Iterator<Item = usize>, space: usize) -> usize {
    let mut lengths: Vec<usize> = lengths.collect();
    lengths.sort_unstable();
    let mut space = space;
    for (at, length) in lengths.iter().enumerate() {
        let share = space / (lengths.len() - at);
        if *length > share {
            return share.max(LEAST);
        }
        space -= length;
    }
    usize::MAX
}

/// Cuts a result to a number of bytes: numbered lines at the end, with where to go on, others as outputs are cut.
fn cut(content: &str, most: usize) -> String {
    let most = most.saturating_sub(MARGIN);
    let end = content[..content.floor_char_boundary(most)].rfind('\n').map_or(0, |end| end + 1);
    let next = content[end..].lines().next().and_then(number);
    if let (Some(next), Some(_)) = (next.filter(|_| end > 0), content.lines().next().and_then(number)) {
        return format!(
            "{}[cut, because the conversation is long; continue with start_line={next}]",
            &content[..end]
        );
    }
    let shown = excerpt(content, Space { lines: most, bytes: most }).text;
    format!("{shown}\n{CUT}")
}

/// Returns the number of a numbered line.
fn number(line: &str) -> Option<usize> {
    line.split_once('\t')?.0.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Message {
        Message::Assistant { text: String::new(), calls: Vec::new(), opaque: None }
    }

    fn result(content: String) -> Message {
        Message::Tool { id: "a".to_owned(), name: "x".to_owned(), content, success: true }
    }

    fn numbered(count: usize) -> String {
        (1..=count).map(|n| format!("{n}\tline of a file\n")).collect()
    }

    #[test]
    fn oldest_results_go_first_and_only_as_many_as_needed() {
        let long = || result(numbered(500));
        let messages = [
            Message::User("task".to_owned()),
            answer(),
            long(),
            result("short".to_owned()),
            answer(),
            long(),
            answer(),
            long(),
        ];
        let replaced = |excess| {
            of_earlier_turns(&messages, excess).into_iter().map(|(index, _)| index).collect::<Vec<_>>()
        };
        assert_eq!(replaced(1), [2]);
        assert_eq!(replaced(9_300), [2, 5]);
        assert_eq!(replaced(usize::MAX), [2, 5], "the last turn stays");
        let (_, left) = of_earlier_turns(&messages, 1).remove(0);
        assert!(left.starts_with("1\tline") && left.ends_with(DROPPED) && left.len() < 1_000, "{left}");
    }

    #[test]
    fn results_of_one_turn_share_what_there_is() {
        let printed: String = (0..900).map(|n| format!("row {n}\n")).collect();
        let printed = format!("{printed}error: the cause\n{printed}[all 1,801 lines: x.txt]");
        let messages = [answer(), result(numbered(2_000)), result("short".to_owned()), result(printed)];
        let total: usize = results(&messages, 0..4).map(|(_, content)| content.len()).sum();
        let replaced = of_last_turn(&messages, total - 10_000);
        let [(1, file), (3, output)] = &replaced[..] else { panic!("{replaced:?}") };
        assert!(file.len() <= 5_000 && output.len() <= 5_400, "{} {}", file.len(), output.len());
        let shown = file.lines().rev().nth(1).and_then(number).expect("a numbered line");
        let note = format!("[cut, because the conversation is long; continue with start_line={}]", shown + 1);
        assert!(file.ends_with(&note), "{file}");
        for part in ["row 0\n", "error: the cause", "[all 1,801 lines: x.txt]", CUT] {
            assert!(output.contains(part), "{part}: {output}");
        }
        assert_eq!(of_last_turn(&messages, 0), []);
    }
}
