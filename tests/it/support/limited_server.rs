//! A model server that allows so many requests in a second, and refuses the others.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use serde_json::{Value, json};

use crate::faults::{request, respond};

/// A server that answers with calls until a conversation has `turns` answers; of more than `per_second` requests in a
/// second, it refuses the rest.
pub struct LimitedServer {
    pub url: String,
    /// How often each request was refused.
    refused: Arc<Mutex<BTreeMap<String, usize>>>,
}

impl LimitedServer {
    /// Returns how many requests were refused, and how often one of them was at most.
    pub fn refusals(&self) -> (usize, usize) {
        let refused = self.refused.lock().unwrap();
        (refused.values().sum(), refused.values().max().copied().unwrap_or(0))
    }

    /// Starts one whose model, asked so, makes this call in each of so many turns but the last.
    pub fn start(per_second: usize, turns: usize, call: fn(&Value, usize) -> (&'static str, Value)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let refused = Arc::<Mutex<BTreeMap<String, usize>>>::default();
        let began = Instant::now();
        let seen = Arc::<Mutex<BTreeMap<u64, usize>>>::default();
        let count = Arc::clone(&refused);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, count) = (Arc::clone(&seen), Arc::clone(&count));
                std::thread::spawn(move || {
                    while let Some(body) = request(&stream) {
                        let is_over = {
                            let mut seen = seen.lock().unwrap();
                            let count = seen.entry(began.elapsed().as_secs()).or_default();
                            *count += 1;
                            *count > per_second
                        };
                        if is_over {
                            *count.lock().unwrap().entry(body.to_string()).or_default() += 1;
                            respond(
                                &stream,
                                "429 X",
                                "retry-after: 1\r\n",
                                &json!({"error": {"message": "slow down"}}),
                            );
                            continue;
                        }
                        let messages = body["messages"].as_array().unwrap();
                        let answers =
                            messages.iter().filter(|message| message["role"] == "assistant").count();
                        respond(
                            &stream,
                            "200 OK",
                            "",
                            &completion(answers + 1 >= turns, answers, call(&body, answers)),
                        );
                    }
                });
            }
        });
        Self { url, refused }
    }
}

/// Reads a little more every time.
pub fn reads(_request: &Value, turn: usize) -> (&'static str, Value) {
    ("read_file", json!({"path": "a.txt", "end_line": turn + 1}))
}

fn completion(is_last: bool, turn: usize, (tool, arguments): (&str, Value)) -> Value {
    let call = json!({"id": format!("c{turn}"), "type": "function", "function": {"name": tool, "arguments": arguments.to_string()}});
    let message = if is_last {
        json!({"role": "assistant", "content": "done"})
    } else {
        json!({"role": "assistant", "content": "", "tool_calls": [call]})
    };
    let finish = if is_last { "stop" } else { "tool_calls" };
    json!({"id": "x", "object": "chat.completion", "created": 1, "model": "gpt-5",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}})
}
