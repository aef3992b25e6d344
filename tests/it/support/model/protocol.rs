//! One answer in each provider's protocol, written by their public references.

use serde_json::{Value, json};

/// A protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// OpenAI's chat completions.
    Chat,
    /// OpenAI's responses.
    Responses,
    /// Anthropic's messages.
    Messages,
}

/// Each protocol with the model that is asked by it.
pub const PROTOCOLS: [(Protocol, &str); 3] = [
    (Protocol::Chat, "openai::gpt-5"),
    (Protocol::Responses, "openai_resp::gpt-5"),
    (Protocol::Messages, "anthropic::claude-sonnet-4-6"),
];

/// What a model says in one answer.
pub struct Said {
    pub text: &'static str,
    /// Why it stopped, in place of the protocol's own word.
    pub finish: Option<&'static str>,
    pub calls: Vec<Called>,
}

/// A call as a model makes it.
pub struct Called {
    pub id: Option<String>,
    pub name: &'static str,
    /// JSON, or what should have been.
    pub arguments: String,
}

impl Called {
    pub fn new(id: String, name: &'static str, arguments: &str) -> Self {
        Self { id: Some(id), name, arguments: arguments.to_owned() }
    }
}

impl Said {
    pub fn calls(calls: Vec<Called>) -> Self {
        Self { text: "", finish: None, calls }
    }
}

/// Tokens of an answer, and those of the request that were cached.
const OUTPUT: usize = 50;
const CACHED: usize = 600;

impl Protocol {
    pub fn of_path(path: &str) -> Self {
        if path.contains("/responses") {
            Self::Responses
        } else if path.contains("/messages") {
            Self::Messages
        } else {
            Self::Chat
        }
    }

    /// What is asked: the messages, and the instructions beside them.
    pub fn prompt(self, body: &Value) -> String {
        let (system, list) = match self {
            Self::Chat => ("", "messages"),
            Self::Responses => ("instructions", "input"),
            Self::Messages => ("system", "messages"),
        };
        format!("{}{}{}", body["tools"], body[system], body[list])
    }

    pub fn body(self, said: &Said, streamed: bool, tokens: usize) -> String {
        match self {
            Self::Chat => chat(said, streamed, tokens),
            Self::Responses => responses(said, streamed, tokens),
            Self::Messages => messages(said, streamed, tokens),
        }
    }
}

fn chat(said: &Said, streamed: bool, tokens: usize) -> String {
    let finish = said.finish.unwrap_or(if said.calls.is_empty() { "stop" } else { "tool_calls" });
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": OUTPUT, "total_tokens": tokens + OUTPUT,
        "prompt_tokens_details": {"cached_tokens": CACHED}});
    let calls: Vec<Value> = said
        .calls
        .iter()
        .enumerate()
        .map(|(index, call)| {
            let mut value =
                json!({"type": "function", "function": {"name": call.name, "arguments": call.arguments}});
            if let Some(id) = &call.id {
                value["id"] = json!(id);
            }
            if streamed {
                value["index"] = json!(index);
            }
            value
        })
        .collect();
    let mut message = json!({"role": "assistant", "content": said.text});
    if !calls.is_empty() {
        message = json!({"role": "assistant", "content": null, "tool_calls": calls});
    }
    if !streamed {
        let choice = json!({"index": 0, "message": message, "finish_reason": finish});
        return json!({"id": "c", "object": "chat.completion", "created": 1, "model": "mock", "choices": [choice], "usage": usage})
            .to_string();
    }
    let chunk = |choices: Value, usage: Option<&Value>| {
        let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": choices});
        if let Some(usage) = usage {
            chunk["usage"] = usage.clone();
        }
        format!("data: {chunk}\n\n")
    };
    chunk(json!([{"index": 0, "delta": message, "finish_reason": null}]), None)
        + &chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), None)
        + &chunk(json!([]), Some(&usage))
        + "data: [DONE]\n\n"
}

fn responses(said: &Said, streamed: bool, tokens: usize) -> String {
    let mut output = Vec::new();
    if said.calls.is_empty() {
        let content = json!([{"type": "output_text", "text": said.text, "annotations": []}]);
        output.push(json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}));
    }
    for (index, call) in said.calls.iter().enumerate() {
        let mut item = json!({"type": "function_call", "id": format!("fc_{index}"), "name": call.name,
            "arguments": call.arguments, "status": "completed"});
        if let Some(id) = &call.id {
            item["call_id"] = json!(id);
        }
        output.push(item);
    }
    let response = json!({"id": "resp_1", "object": "response", "created_at": 1, "status": said.finish.unwrap_or("completed"), "model": "mock",
        "output": output, "usage": {"input_tokens": tokens, "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens": OUTPUT, "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": tokens + OUTPUT}});
    if !streamed {
        return response.to_string();
    }
    let mut text = String::new();
    let mut event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        text += &format!("event: {kind}\ndata: {data}\n\n");
    };
    event("response.created", json!({"response": {"id": "resp_1", "status": "in_progress"}}));
    for (index, item) in output.iter().enumerate() {
        let mut added = item.clone();
        if item["type"] == "function_call" {
            added["arguments"] = json!("");
        }
        event("response.output_item.added", json!({"output_index": index, "item": added}));
        if item["type"] == "function_call" {
            event(
                "response.function_call_arguments.delta",
                json!({"output_index": index, "item_id": item["id"], "delta": item["arguments"]}),
            );
        } else {
            event(
                "response.output_text.delta",
                json!({"output_index": index, "item_id": item["id"], "content_index": 0, "delta": said.text}),
            );
        }
        event("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    event("response.completed", json!({"response": response}));
    text
}

fn messages(said: &Said, streamed: bool, tokens: usize) -> String {
    let stop = said.finish.unwrap_or(if said.calls.is_empty() { "end_turn" } else { "tool_use" });
    let fresh = tokens.saturating_sub(CACHED);
    let usage = json!({"input_tokens": fresh, "cache_creation_input_tokens": 0, "cache_read_input_tokens": CACHED.min(tokens), "output_tokens": OUTPUT});
    let block = |call: &Called, input: Value| {
        let mut block = json!({"type": "tool_use", "name": call.name, "input": input});
        if let Some(id) = &call.id {
            block["id"] = json!(id);
        }
        block
    };
    if !streamed {
        // Not streamed, arguments are JSON or nothing at all.
        let input =
            |call: &Called| serde_json::from_str(&call.arguments).unwrap_or_else(|_| json!(call.arguments));
        let mut content: Vec<Value> = said.calls.iter().map(|call| block(call, input(call))).collect();
        if content.is_empty() {
            content.push(json!({"type": "text", "text": said.text}));
        }
        return json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": usage})
        .to_string();
    }
    let mut text = String::new();
    let mut event = |kind: &str, mut data: Value| {
        data["type"] = json!(kind);
        text += &format!("event: {kind}\ndata: {data}\n\n");
    };
    event(
        "message_start",
        json!({"message": {"id": "msg_1", "type": "message", "role": "assistant", "model": "mock", "content": [], "usage": usage}}),
    );
    if said.calls.is_empty() {
        event("content_block_start", json!({"index": 0, "content_block": {"type": "text", "text": ""}}));
        event("content_block_delta", json!({"index": 0, "delta": {"type": "text_delta", "text": said.text}}));
        event("content_block_stop", json!({"index": 0}));
    }
    for (index, call) in said.calls.iter().enumerate() {
        event("content_block_start", json!({"index": index, "content_block": block(call, json!({}))}));
        event(
            "content_block_delta",
            json!({"index": index, "delta": {"type": "input_json_delta", "partial_json": call.arguments}}),
        );
        event("content_block_stop", json!({"index": index}));
    }
    event(
        "message_delta",
        json!({"delta": {"stop_reason": stop, "stop_sequence": null}, "usage": {"output_tokens": OUTPUT}}),
    );
    event("message_stop", json!({}));
    text
}
