//! A loopback model server that speaks `OpenAI`'s chat completions, streamed and not, and misbehaves on
//! demand. Plain threads and sockets: some faults lie below HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Calls of one turn.
    Calls(Vec<(&'static str, Value)>),
    /// A closing text.
    Text(&'static str),
    /// A closing text, after a while.
    Slow(Duration, &'static str),
    /// A failed status with headers and body.
    Status(u16, Vec<(&'static str, String)>, &'static str),
    /// Tool arguments as raw text.
    RawArguments(&'static str, &'static str),
    /// The connection is closed before any header.
    Reset,
    /// Nothing, for this long.
    Silence(Duration),
    /// The body ends in the middle.
    Cut,
}

/// A running server.
pub struct ModelServer {
    pub url: String,
    requests: Arc<Mutex<Vec<(Instant, Value)>>>,
}

impl ModelServer {
    /// Answers the requests in order; the last answer repeats.
    pub fn start(answers: Vec<Answer>) -> Self {
        Self::with(answers, |_| 1000)
    }

    /// The same, with tokens counted from the request.
    pub fn counting(answers: Vec<Answer>) -> Self {
        Self::with(answers, |body| body["messages"].to_string().len() / 4)
    }

    fn with(answers: Vec<Answer>, count: fn(&Value) -> usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let answers = Arc::new(answers);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, answers) = (Arc::clone(&seen), Arc::clone(&answers));
                std::thread::spawn(move || serve(stream, &answers, &seen, count));
            }
        });
        Self { url, requests }
    }

    /// The bodies of all requests so far.
    pub fn bodies(&self) -> Vec<Value> {
        self.requests.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// When the requests came.
    pub fn times(&self) -> Vec<Instant> {
        self.requests.lock().unwrap().iter().map(|(time, _)| *time).collect()
    }
}

fn serve(
    stream: TcpStream,
    answers: &[Answer],
    seen: &Mutex<Vec<(Instant, Value)>>,
    count: fn(&Value) -> usize,
) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut stream = stream;
    stream.set_nodelay(true).expect("a socket");
    while let Some(body) = read_request(&mut reader) {
        let (streamed, tokens) = (body["stream"] == true, count(&body));
        let index = {
            let mut seen = seen.lock().unwrap();
            seen.push((Instant::now(), body));
            seen.len() - 1
        };
        let mut answer = answers.get(index).or(answers.last()).expect("an answer").clone();
        if let Answer::Slow(time, text) = answer {
            std::thread::sleep(time);
            answer = Answer::Text(text);
        }
        match answer {
            Answer::Reset => return,
            Answer::Silence(time) => std::thread::sleep(time),
            Answer::Status(status, headers, body) => {
                let headers: String =
                    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                let _ = write!(
                    stream,
                    "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\n{headers}content-length: {}\r\n\r\n{body}",
                    body.len()
                );
            }
            Answer::Cut => {
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: 5000\r\n\r\n{{\"id",
                    content_type(streamed)
                );
                return;
            }
            answer => send(&mut stream, &message(answer, index), streamed, tokens),
        }
    }
}

fn content_type(streamed: bool) -> &'static str {
    if streamed { "text/event-stream" } else { "application/json" }
}

fn read_request(reader: &mut BufReader<TcpStream>) -> Option<Value> {
    let mut length = 0;
    let mut line = String::new();
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let lower = line.to_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}

fn message(answer: Answer, turn: usize) -> Value {
    let call = |index: usize, name: &str, arguments: String| json!({"id": format!("call_{turn}_{index}"), "type": "function", "function": {"name": name, "arguments": arguments}});
    match answer {
        Answer::Calls(calls) => {
            let calls: Vec<Value> = calls
                .into_iter()
                .enumerate()
                .map(|(index, (name, arguments))| call(index, name, arguments.to_string()))
                .collect();
            json!({"role": "assistant", "content": null, "tool_calls": calls})
        }
        Answer::RawArguments(name, arguments) => {
            json!({"role": "assistant", "content": null, "tool_calls": [call(0, name, arguments.to_owned())]})
        }
        Answer::Text(text) => json!({"role": "assistant", "content": text}),
        other => panic!("{other:?} is no message"),
    }
}

fn send(stream: &mut TcpStream, message: &Value, streamed: bool, tokens: usize) {
    let finish = if message["tool_calls"].is_array() { "tool_calls" } else { "stop" };
    let usage = json!({"prompt_tokens": tokens, "completion_tokens": 50, "total_tokens": tokens + 50,
        "prompt_tokens_details": {"cached_tokens": 600}});
    let body = if streamed {
        let mut delta = message.clone();
        if let Some(calls) = delta["tool_calls"].as_array_mut() {
            for (index, call) in calls.iter_mut().enumerate() {
                call["index"] = json!(index);
            }
        }
        let chunk = |choices: Value, usage: Option<&Value>| {
            let mut chunk = json!({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "mock", "choices": choices});
            if let Some(usage) = usage {
                chunk["usage"] = usage.clone();
            }
            format!("data: {chunk}\n\n")
        };
        chunk(json!([{"index": 0, "delta": delta, "finish_reason": null}]), None)
            + &chunk(json!([{"index": 0, "delta": {}, "finish_reason": finish}]), None)
            + &chunk(json!([]), Some(&usage))
            + "data: [DONE]\n\n"
    } else {
        json!({"id": "c", "object": "chat.completion", "created": 1, "model": "mock",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}], "usage": usage})
        .to_string()
    };
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n{body}",
        content_type(streamed),
        body.len()
    );
}
