//! Blocks that lines of a test stand in, by their indentation: a condition, a handler of failures, code that runs elsewhere.

use std::sync::LazyLock;

use regex::Regex;

use crate::assertion::Assertion;

/// What is around a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Condition,
    /// Failures do not reach the test.
    Swallowed,
    Plain,
}

/// Lines of a file, and the blocks that are open.
pub(super) struct Blocks<'a> {
    lines: Vec<&'a str>,
    open: Vec<(usize, Around)>,
}

static SWALLOWS: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"\b(?:withKnownIssue|XCTExpectFailure|runCatching|GlobalScope|launch|async|DispatchQueue|Thread|spawn|invokeLater|suppress|Task\.Run)\b[^;]*[{(]|\bTask\s*\{|\btry\?").ok()
});
static CONDITION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\}?\s*(?:else|elsif|elseif)\b.*|(?:if|unless|when|guard|case)\b.*)").ok()
});
static HANDLER: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^\s*\}?\s*(?:rescue|catch|except)\b").ok());
static CHECK: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"(?i)assert|expect|should|fail|raise|throw|verify|flunk|REQUIRE|CHECK").ok()
});

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

impl<'a> Blocks<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        Self { lines: text.lines().collect(), open: Vec::new() }
    }

    /// Begins a test.
    pub(super) fn begin(&mut self, line: &str) {
        self.open.clear();
        self.open.push((indent(line), Around::Plain));
    }

    /// Notes the block that a line opens or closes. What a handler catches without a word was asserted in vain.
    pub(super) fn enter(&mut self, at: usize, line: &str, asserted: &mut [Assertion]) {
        if line.trim().is_empty() {
            return;
        }
        let depth = indent(line);
        if HANDLER.as_ref().is_some_and(|handler| handler.is_match(line)) {
            let handled = self
                .lines
                .iter()
                .skip(at + 1)
                .take_while(|line| line.trim().is_empty() || indent(line) > depth);
            let says = |line: &&str| CHECK.as_ref().is_some_and(|check| check.is_match(line));
            let begin = self.lines.iter().take(at).rposition(|line| {
                indent(line) == depth
                    && ["begin", "try", "do"].iter().any(|word| line.trim().starts_with(word))
            });
            if let Some(begin) = begin.filter(|_| !handled.clone().any(says)) {
                let caught = asserted
                    .iter_mut()
                    .filter(|assertion| assertion.line > begin + 1 && assertion.line <= at);
                caught.for_each(|assertion| assertion.is_swallowed = true);
            }
        }
        self.open.retain(|(open, _)| *open < depth);
        let content = line.trim_end();
        let opens = content.ends_with(['{', '(', ':'])
            || content.ends_with("do")
            || content.ends_with('|')
            || content.ends_with("then");
        let around = if opens && SWALLOWS.as_ref().is_some_and(|swallows| swallows.is_match(line)) {
            Around::Swallowed
        } else if CONDITION.as_ref().is_some_and(|condition| condition.is_match(line)) {
            Around::Condition
        } else {
            Around::Plain
        };
        if opens || around == Around::Condition {
            self.open.push((depth, around));
        }
    }

    /// Notes what is around an assertion: the blocks that it is in, and what stands before it in its line.
    pub(super) fn mark(&self, before: &str, text: &str, assertion: &mut Assertion) {
        let swallows = |text: &str| SWALLOWS.as_ref().is_some_and(|swallows| swallows.is_match(text));
        let is_in = |around: Around| self.open.iter().any(|(_, other)| *other == around);
        assertion.is_swallowed = is_in(Around::Swallowed) || swallows(before);
        let of_line = CONDITION.as_ref().is_some_and(|condition| condition.is_match(before))
            || text.contains(" if ") && !text.contains(['{', '"']);
        assertion.is_conditional = is_in(Around::Condition) || of_line;
    }
}
