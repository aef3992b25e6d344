//! Check of what a server streams, before the library for providers parses it.

use std::panic::resume_unwind;
use std::sync::Mutex;

use genai::chat::{ChatFrameSink, FrameCtx, RawFrameRef};
use serde::Deserialize;

/// Maximum length of an answer, in bytes: many times what any model may produce.
pub(super) const MAX_ANSWER: usize = 8 << 20;

/// Most calls of tools of one answer.
const MAX_CALLS: usize = 1_024;

/// Most bytes of all frames of one answer: an answer of 128,000 tokens, each in a frame of its own, takes a third of it. What the library
/// keeps of frames, such as arguments of calls that come whole, can be no more.
const MAX_FRAMES: usize = 16 * MAX_ANSWER;

/// What a stream has sent so far.
#[derive(Debug, Default)]
pub(super) struct FrameCheck(Mutex<Received>);

#[derive(Debug, Default)]
struct Received {
    bytes: usize,
    calls: usize,
}

/// Reason why a stream is not read on: the payload of the panic that ends it. The library's hook cannot fail, and whatever
/// it returns from is parsed.
pub(super) struct RefusedFrame(pub(super) String);

/// Frame of the API that numbers calls, which the library stores at these numbers: it makes as many copies of a call as the
/// number says.
#[derive(Deserialize)]
struct Frame {
    #[serde(default)]
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<Delta>,
}

#[derive(Deserialize)]
struct Delta {
    #[serde(default)]
    tool_calls: Option<Vec<Part>>,
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    index: Option<serde_json::Value>,
}

impl FrameCheck {
    /// Returns why a frame must not be parsed, if it must not.
    fn refusal(&self, data: &str) -> Option<String> {
        if data.len() > MAX_ANSWER {
            return Some(format!("it is longer than {} MiB", MAX_ANSWER >> 20));
        }
        let mut received = self.0.lock().ok()?;
        received.bytes += data.len();
        if received.bytes > MAX_FRAMES {
            return Some(format!("with those before it, it is longer than {} MiB", MAX_FRAMES >> 20));
        }
        if !data.contains("tool_calls") {
            return None;
        }
        // What is no such frame is none for the library either.
        let frame: Frame = serde_json::from_str(data).ok()?;
        let count = &mut received.calls;
        let parts = frame.choices.into_iter().filter_map(|choice| choice.delta?.tool_calls).flatten();
        for index in parts.filter_map(|part| part.index?.as_u64()) {
            let number = usize::try_from(index).unwrap_or(usize::MAX).saturating_add(1);
            let copies = number.saturating_sub(*count);
            if number > MAX_CALLS || copies > 1 && copies.saturating_mul(data.len()) > MAX_ANSWER {
                return Some(format!("it calls tool number {number}; at most {MAX_CALLS} are possible"));
            }
            *count = number.max(*count);
        }
        None
    }
}

impl ChatFrameSink for FrameCheck {
    fn on_frame(&self, _: &FrameCtx, frame: RawFrameRef<'_>) {
        if let Some(reason) = self.refusal(frame.data) {
            // No message of a panic goes to the log: the caller takes this for an error.
            resume_unwind(Box::new(RefusedFrame(reason)));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn frame(calls: &serde_json::Value) -> String {
        json!({"choices": [{"index": 0, "delta": {"tool_calls": calls}}]}).to_string()
    }

    #[test]
    fn numbers_of_calls_are_bounded_by_what_they_cost() {
        let call =
            |index: u64, arguments: &str| json!({"index": index, "function": {"arguments": arguments}});
        let long = "x".repeat(MAX_ANSWER / 100);
        for (frames, refused) in [
            (vec![frame(&json!([call(0, "{}"), call(1, "{}")])), frame(&json!([call(1, "")]))], false),
            // Some servers begin at 1, or leave numbers out.
            (vec![frame(&json!([call(1, "{}")])), frame(&json!([call(3, "{}")]))], false),
            (vec![frame(&json!([call(1_023, "{}")]))], false),
            (vec![frame(&json!([call(1_024, "{}")]))], true),
            (vec![frame(&json!([call(4_000_000_000, "{}")]))], true),
            (vec![frame(&json!([call(0, "{}"), call(4_000_000_000, "{}")]))], true),
            // So many copies of so long a call.
            (vec![frame(&json!([call(200, &long)]))], true),
            (vec![frame(&json!([call(0, &long), call(1, &long)]))], false),
            (
                vec![
                    json!({"choices": [{"delta": {}}, {"delta": {"tool_calls": [call(u64::MAX, "")]}}]})
                        .to_string(),
                ],
                true,
            ),
            (vec!["x".repeat(MAX_ANSWER + 1)], true),
            (vec![frame(&json!([{"index": -1}, {"index": "5000"}])), "tool_calls".to_owned()], false),
        ] {
            let check = FrameCheck::default();
            let found = frames.iter().find_map(|frame| check.refusal(frame));
            let shown = &frames[0][..frames[0].len().min(120)];
            assert_eq!(found.is_some(), refused, "{shown}: {found:?}");
        }
    }

    #[test]
    fn frames_are_bounded_together() {
        let check = FrameCheck::default();
        let longest = "x".repeat(MAX_ANSWER);
        for _ in 0..MAX_FRAMES / MAX_ANSWER {
            assert_eq!(check.refusal(&longest), None);
        }
        assert!(check.refusal("x").is_some_and(|reason| reason.contains("128 MiB")));
    }
}
