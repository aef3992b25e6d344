//! Answer as a server sent it, where the library for providers refuses all of it because the arguments of one call are not
//! JSON, such as those of a call that was cut off. Its text and its other calls are kept, and the broken call is answered like
//! any other mistake.

use genai::Error;
use genai::chat::StopReason;
use serde_json::Value;

use super::Completion;
use super::usage::plausible;
use crate::event::{ToolCall, Usage};

/// Returns the answer that an error is about, if a call in it is broken and all else is as it should be.
pub(super) fn answer_of(error: &Error) -> Option<Completion> {
    let Error::ChatResponseGeneration { response_body, .. } = error else { return None };
    let completion = of_chat(response_body).or_else(|| of_responses(response_body))?;
    let is_broken = |call: &ToolCall| !call.arguments.is_object();
    completion.calls.iter().any(is_broken).then_some(completion)
}

/// Reads an answer of OpenAI's chat completions.
fn of_chat(body: &Value) -> Option<Completion> {
    let choice = body["choices"].get(0)?;
    let message = &choice["message"];
    let call = |call: &Value| {
        let function = &call["function"];
        Some(tool_call(call["id"].as_str(), function["name"].as_str()?, &function["arguments"]))
    };
    let calls: Option<Vec<ToolCall>> = message["tool_calls"].as_array()?.iter().map(call).collect();
    let text = message["content"].as_str().unwrap_or_default().to_owned();
    let usage = usage(&body["usage"], ["prompt_tokens", "completion_tokens", "prompt_tokens_details"]);
    Some(completion(text, calls?, usage, &choice["finish_reason"]))
}

/// Reads an answer of OpenAI's responses.
fn of_responses(body: &Value) -> Option<Completion> {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for item in body["output"].as_array()? {
        match item["type"].as_str() {
            Some("message") => {
                let parts = item["content"].as_array().into_iter().flatten();
                text.extend(parts.filter_map(|part| part["text"].as_str()));
            }
            Some("function_call") => {
                calls.push(tool_call(item["call_id"].as_str(), item["name"].as_str()?, &item["arguments"]));
            }
            _ => {}
        }
    }
    let usage = usage(&body["usage"], ["input_tokens", "output_tokens", "input_tokens_details"]);
    Some(completion(text, calls, usage, &body["status"]))
}

fn tool_call(id: Option<&str>, name: &str, arguments: &Value) -> ToolCall {
    let parsed = arguments.as_str().and_then(|text| serde_json::from_slice(text.as_bytes()).ok());
    ToolCall {
        id: id.unwrap_or_default().to_owned(),
        name: name.to_owned(),
        arguments: parsed.unwrap_or_else(|| arguments.clone()),
    }
}

fn usage(usage: &Value, [input, output, details]: [&str; 3]) -> Option<Usage> {
    Some(Usage {
        // No request is empty.
        input: usage[input].as_u64().filter(|tokens| *tokens > 0)?,
        cached: usage[details]["cached_tokens"].as_u64().unwrap_or_default(),
        written: 0,
        output: usage[output].as_u64()?,
    })
}

fn completion(text: String, calls: Vec<ToolCall>, usage: Option<Usage>, stop: &Value) -> Completion {
    let cut = stop.as_str().is_some_and(|stop| StopReason::from(stop.to_owned()).is_max_tokens());
    let is_empty = text.is_empty() && calls.is_empty();
    let usage = usage.and_then(|usage| plausible(usage, is_empty));
    Completion { text, calls, usage, cut, refused: false, opaque: None, continues: false }
}

#[cfg(test)]
mod tests {
    use genai::ModelIden;
    use genai::adapter::AdapterKind;
    use serde_json::json;

    use super::*;

    fn answer(body: Value) -> Option<Completion> {
        answer_of(&Error::ChatResponseGeneration {
            model_iden: ModelIden::new(AdapterKind::OpenAI, "m"),
            request_payload: Box::new(Value::Null),
            response_body: Box::new(body),
            cause: "EOF while parsing a string".to_owned(),
        })
    }

    #[test]
    fn text_and_whole_calls_of_a_cut_answer_are_kept() {
        let (whole, cut) = ("{\"path\": \"a\"}", "{\"path\": \"b\", \"content\": \"half a");
        let function = |arguments: &str| json!({"name": "write_file", "arguments": arguments});
        let chat = |arguments: &str| {
            json!({
                "choices": [{"finish_reason": "length", "message": {"content": "Now.", "tool_calls": [
                    {"id": "1", "function": function(whole)}, {"id": "2", "function": function(arguments)}
                ]}}],
                "usage": {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            })
        };
        let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "write_file", "arguments": arguments});
        let responses = json!({
            "status": "incomplete",
            "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "Now."}]}, call("1", whole), call("2", cut),
            ],
            "usage": {"input_tokens": 9, "output_tokens": 2, "input_tokens_details": {"cached_tokens": 4}},
        });
        for body in [chat(cut), responses] {
            let kept = answer(body).expect("an answer");
            let calls: Vec<(&str, &Value)> =
                kept.calls.iter().map(|call| (call.id.as_str(), &call.arguments)).collect();
            assert_eq!(calls, [("1", &json!({"path": "a"})), ("2", &json!(cut))]);
            assert_eq!((kept.text.as_str(), kept.cut), ("Now.", true));
            assert_eq!(kept.usage, Some(Usage { input: 9, cached: 4, written: 0, output: 2 }));
        }
        assert!(answer(chat(whole)).is_none(), "that was not what is wrong with it");
        assert!(answer(json!({"choices": []})).is_none() && answer(json!("not captured")).is_none());
    }
}
