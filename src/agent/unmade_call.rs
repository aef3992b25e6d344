//! Calls and patches that a model has written as the text of its answer, in the syntax of its training or of another agent.
//! Such text is never run. The model is told once how to call tools, because nothing has happened although it thinks so.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Beginnings of lines by which models mark a call in text.
const MARKS: &str = r"(?m)^\s*(?:<(?:tool_call|tool_use|tool_code|function_calls?|antml:function_calls|invoke|function)\b|<function=|<\|?(?:tool_call|tool▁call|python_tag|channel\|>commentary to=)|<｜tool|\[TOOL_CALLS\]|\[TOOL_REQUEST\])";

/// A call by a word for the tool, and one for its input, on lines of their own.
const ACTION: &str = r"(?mi)^\s*action:\s*\S+[^\n]*\n\s*action[ _]input:";

/// Beginnings of patches.
const PATCH: &str =
    r"(?m)^(?:\*\*\* Begin Patch|diff --git |--- \S[^\n]*\n\+\+\+ \S[^\n]*\n@@|<{5,9} SEARCH)";

#[expect(clippy::unwrap_used, reason = "constants")]
static PATTERNS: LazyLock<[Regex; 3]> =
    LazyLock::new(|| [MARKS, ACTION, PATCH].map(|pattern| Regex::new(pattern).unwrap()));

/// Longest text that is searched, in bytes.
const MAX_TEXT: usize = 1_000_000;

/// What a text holds instead of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unmade {
    /// A call of a tool.
    Call,
    /// A patch.
    Patch,
}

impl Unmade {
    /// Finds a call or a patch at the end of a text that should be an answer. `is_tool` tells names of tools.
    pub(super) fn find(text: &str, is_tool: impl Fn(&str) -> bool) -> Option<Self> {
        if text.len() > MAX_TEXT {
            return None;
        }
        let [marks, action, patch] = &*PATTERNS;
        // Who writes about the syntax goes on behind it.
        let ends_in_call = text.trim_end().ends_with(['>', '}', ']', ')', '`', '"']);
        let is_marked = marks.is_match(text) && ends_in_call;
        let names_call = || last_block(text).is_some_and(|block| is_call(block, &is_tool));
        if is_marked || action.is_match(text) || names_call() {
            return Some(Self::Call);
        }
        patch.is_match(text).then_some(Self::Patch)
    }

    /// Returns what the model is told, with the names of its tools.
    pub(super) fn told(self, tools: &str) -> String {
        let (what, how) = match self {
            Self::Call => ("a call of a tool as text", ""),
            Self::Patch => (
                "a patch as text",
                "; the tool apply_patch takes a patch like this one as its argument `patch`",
            ),
        };
        format!(
            "Your last reply has {what}, and text is not run: nothing has happened. Call tools by the interface that you were given \
             for it, with a name and JSON arguments, and not in the text of a reply. Your tools are: {tools}{how}. If that text was \
             your final answer, give it again."
        )
    }
}

/// Returns the text that is a block of code at the end, or else the whole without its introduction.
fn last_block(text: &str) -> Option<&str> {
    let text = text.trim();
    if let Some(rest) = text.strip_suffix("```") {
        let start = rest.rfind("```")?;
        return rest[start..].split_once('\n').map(|(_, block)| block.trim());
    }
    let is_start = |line: &str| line.starts_with(['{', '[']);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_start(line) {
            return Some(&text[at..]);
        }
        at += line.len();
    }
    Some(text)
}

fn is_call(block: &str, is_tool: &impl Fn(&str) -> bool) -> bool {
    match serde_json::from_str::<Value>(block) {
        Ok(value) => is_json_call(&value, is_tool),
        Err(_) => is_function_call(block, is_tool),
    }
}

/// Returns whether a value is a call, or a list of calls, as an interface would have it.
fn is_json_call(value: &Value, is_tool: &impl Fn(&str) -> bool) -> bool {
    let entries = match value {
        Value::Array(all) => return !all.is_empty() && all.iter().all(|entry| is_json_call(entry, is_tool)),
        Value::Object(entries) => entries,
        _ => return false,
    };
    let inner =
        ["tool_calls", "function", "tool_call", "function_call"].iter().find_map(|key| entries.get(*key));
    if let Some(inner) = inner.filter(|inner| inner.is_array() || inner.is_object()) {
        return is_json_call(inner, is_tool);
    }
    let name = ["name", "tool", "tool_name", "function", "action"]
        .iter()
        .find_map(|key| entries.get(*key)?.as_str());
    let has_input = ["arguments", "args", "parameters", "params", "input", "tool_input", "action_input"]
        .iter()
        .any(|key| entries.contains_key(*key));
    has_input && name.is_some_and(is_tool)
}

/// Returns whether a text is nothing but `tool(…)`.
fn is_function_call(block: &str, is_tool: &impl Fn(&str) -> bool) -> bool {
    block
        .strip_suffix(')')
        .and_then(|rest| rest.split_once('('))
        .is_some_and(|(name, _)| is_tool(name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_patches_in_text_are_found() {
        use Unmade::{Call, Patch};
        let is_tool = |name: &str| matches!(name, "read_file" | "bash" | "edit_file");
        for (text, expected) in [
            ("<tool_call>\n{\"name\": \"read_file\", \"arguments\": {}}\n</tool_call>", Some(Call)),
            ("I look first.\n\n<function=read_file>\n<parameter=path>a</parameter>\n</function>", Some(Call)),
            ("<invoke name=\"read_file\">\n<parameter name=\"path\">a</parameter>\n</invoke>", Some(Call)),
            ("[TOOL_CALLS][{\"name\": \"read_file\", \"arguments\": {}}]", Some(Call)),
            ("<｜tool▁calls▁begin｜>read_file\n```json\n{}\n```", Some(Call)),
            ("<|python_tag|>read_file(path=\"a\")", Some(Call)),
            ("Thought: look\nAction: read_file\nAction Input: a.txt", Some(Call)),
            ("```json\n{\"name\": \"read_file\", \"arguments\": {\"path\": \"a\"}}\n```", Some(Call)),
            ("Let me see:\n{\"tool\": \"bash\", \"input\": {\"command\": \"ls\"}}", Some(Call)),
            (
                "[{\"type\": \"function\", \"function\": {\"name\": \"bash\", \"arguments\": \"{}\"}}]",
                Some(Call),
            ),
            ("{\"tool_calls\": [{\"name\": \"bash\", \"arguments\": {}}]}", Some(Call)),
            ("```tool_code\nread_file(path=\"a\")\n```", Some(Call)),
            ("*** Begin Patch\n*** Update File: a\n@@\n-1\n+2\n*** End Patch", Some(Patch)),
            ("Apply this:\n```diff\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n```\nThen it works.", Some(Patch)),
            ("diff --git a/x b/x\n", Some(Patch)),
            ("a.txt\n<<<<<<< SEARCH\n1\n=======\n2\n>>>>>>> REPLACE", Some(Patch)),
            ("Done.", None),
            ("", None),
            ("The parser reads\n<tool_call>\nblocks now, and every test of it passes.", None),
            ("It returns `<tool_call>`", None),
            ("```json\n{\"name\": \"invoice\", \"arguments\": {}}\n```", None),
            ("{\"name\": \"read_file\"}", None),
            ("{\"done\": true, \"input\": 3}", None),
            ("- one\n--- a rule\ntext", None),
            ("[notes](a.md) say so (see above)", None),
            ("```", None),
        ] {
            assert_eq!(Unmade::find(text, is_tool), expected, "{text}");
        }
    }
}
