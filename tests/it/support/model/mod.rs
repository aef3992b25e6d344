//! A loopback model server that speaks three protocols, streamed and not, and misbehaves on demand. Plain
//! threads and sockets: some faults lie below HTTP.

pub mod protocol;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::wait::wait_until;
use protocol::{Called, Protocol, Said};

/// What the server does with one request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Calls of one turn.
    Calls(Vec<(&'static str, Value)>),
    /// Calls of one turn with these ids; `None` is left out.
    Ids(Vec<(Option<&'static str>, &'static str, Value)>),
    /// A closing text.
    Text(&'static str),
    /// A closing text that is made from the request.
    Made(fn(&Value) -> String),
    /// A closing text that ends for a reason of this name.
    Finish(&'static str, &'static str),
    /// A closing text, after a while.
    Slow(Duration, &'static str),
    /// A closing text, as soon as this many requests have come in all: it never comes if each waits
    /// for the one before.
    Together(usize, &'static str),
    /// A failed status with headers and body.
    Status(u16, Vec<(&'static str, String)>, &'static str),
    /// A success that is a web page.
    Page,
    /// Tool arguments as raw text.
    RawArguments(&'static str, &'static str),
    /// The connection is closed before any header.
    Reset,
    /// The connection is closed after the headers.
    ResetAfterHeaders,
    /// Nothing, for this long.
    Silence(Duration),
    /// The headers, then nothing, for this long.
    SilenceAfterHeaders(Duration),
    /// The body ends in the middle.
    Cut,
    /// The body ends in the middle of a tool call's arguments.
    CutInCall,
}

/// A running server.
pub struct ModelServer {
    /// The base address for OpenAI's chat completions and the others' below it.
    pub url: String,
    requests: Arc<Mutex<Vec<(Instant, Value)>>>,
    heads: Arc<Mutex<Vec<String>>>,
}

type Count = fn(&Value) -> usize;

impl ModelServer {
    /// Answers the requests in order; the last answer repeats.
    pub fn start(answers: Vec<Answer>) -> Self {
        Self::with(answers, |_| 1000)
    }

    /// The same, with tokens counted from the request.
    pub fn counting(answers: Vec<Answer>) -> Self {
        Self::with(answers, |body| (body["messages"].to_string().len() + body["input"].to_string().len()) / 4)
    }

    /// The same, where every request for a summary gets this one, besides the answers.
    pub fn summing(answers: Vec<Answer>, summary: &'static str) -> Self {
        Self::listening(answers, Some(summary), |body| body["messages"].to_string().len() / 4)
    }

    fn with(answers: Vec<Answer>, count: Count) -> Self {
        Self::listening(answers, None, count)
    }

    fn listening(answers: Vec<Answer>, summary: Option<&'static str>, count: Count) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1", listener.local_addr().expect("an address"));
        let (requests, heads) = (Arc::default(), Arc::default());
        let (seen, met) = (Arc::clone(&requests), Arc::clone(&heads));
        let answers = Arc::new(Script { answers, summary });
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (seen, met, answers) = (Arc::clone(&seen), Arc::clone(&met), Arc::clone(&answers));
                std::thread::spawn(move || serve(stream, &answers, &seen, &met, count));
            }
        });
        Self { url, requests, heads }
    }

    /// The bodies of all requests so far.
    pub fn bodies(&self) -> Vec<Value> {
        self.requests.lock().unwrap().iter().map(|(_, body)| body.clone()).collect()
    }

    /// First line and headers of all requests so far.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }

    /// When the requests came.
    pub fn times(&self) -> Vec<Instant> {
        self.requests.lock().unwrap().iter().map(|(time, _)| *time).collect()
    }
}

/// What is answered, in order.
struct Script {
    answers: Vec<Answer>,
    summary: Option<&'static str>,
}

impl Script {
    /// The answer to the latest of all requests so far.
    fn answer(&self, requests: &[(Instant, Value)]) -> Answer {
        let wants_summary = |body: &Value| self.summary.is_some() && body["tool_choice"] == "none";
        if let (Some(summary), Some((_, latest))) = (self.summary, requests.last())
            && wants_summary(latest)
        {
            return Answer::Text(summary);
        }
        let index = requests.iter().filter(|(_, body)| !wants_summary(body)).count() - 1;
        self.answers.get(index).or(self.answers.last()).expect("an answer").clone()
    }
}

fn serve(
    mut stream: TcpStream,
    script: &Script,
    seen: &Mutex<Vec<(Instant, Value)>>,
    heads: &Mutex<Vec<String>>,
    count: Count,
) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    stream.set_nodelay(true).expect("a socket");
    while let Some((protocol, body)) = read_request(&mut reader, heads) {
        let (streamed, tokens) = (body["stream"] == true, count(&body));
        let (mut answer, index) = {
            let mut seen = seen.lock().unwrap();
            seen.push((Instant::now(), body));
            (script.answer(&seen), seen.len() - 1)
        };
        if let Answer::Slow(time, text) = answer {
            std::thread::sleep(time);
            answer = Answer::Text(text);
        }
        let made = match answer {
            Answer::Made(make) => Some(make(&seen.lock().unwrap()[index].1)),
            _ => None,
        };
        if let Some(text) = made {
            answer = Answer::Text(Box::leak(text.into_boxed_str()));
        }
        if let Answer::Together(count, text) = answer {
            wait_until("the other requests", || seen.lock().unwrap().len() >= count);
            answer = Answer::Text(text);
        }
        let kind = if streamed { "text/event-stream" } else { "application/json" };
        match answer {
            Answer::Reset => return,
            Answer::Silence(time) => {
                std::thread::sleep(time);
                return;
            }
            Answer::ResetAfterHeaders => {
                let _ =
                    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 5000\r\n\r\n");
                return;
            }
            Answer::SilenceAfterHeaders(time) => {
                let _ =
                    write!(stream, "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 5000\r\n\r\n");
                std::thread::sleep(time);
                return;
            }
            Answer::Status(status, headers, body) => {
                let headers: String =
                    headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
                respond(
                    &mut stream,
                    &format!("{status} X"),
                    &format!("content-type: application/json\r\n{headers}"),
                    body,
                );
            }
            Answer::Page => {
                let page = "<!DOCTYPE html><html><body><h1>Log in to the network</h1></body></html>";
                respond(&mut stream, "200 OK", "content-type: text/html\r\n", page);
            }
            Answer::Cut => {
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: 5000\r\n\r\n{{\"id"
                );
                return;
            }
            Answer::CutInCall => {
                let said = Said::calls(vec![Called::new(
                    "call_1".into(),
                    "write_file",
                    r#"{"path": "cut.txt", "content": "half a sent"#,
                )]);
                let body = protocol.body(&said, streamed, tokens);
                let end = body.find("half a sent").expect("the call") + 11;
                let _ = write!(
                    stream,
                    "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{}",
                    body.len() + 500,
                    &body[..end]
                );
                return;
            }
            answer => {
                let body = protocol.body(&said(answer, index), streamed, tokens);
                respond(&mut stream, "200 OK", &format!("content-type: {kind}\r\n"), &body);
            }
        }
    }
}

fn respond(stream: &mut TcpStream, status: &str, headers: &str, body: &str) {
    let _ = write!(stream, "HTTP/1.1 {status}\r\n{headers}content-length: {}\r\n\r\n{body}", body.len());
}

fn said(answer: Answer, turn: usize) -> Said {
    let id = |index: usize| Some(format!("call_{turn}_{index}"));
    match answer {
        Answer::Text(text) => Said { text, finish: None, calls: Vec::new() },
        Answer::Finish(finish, text) => Said { text, finish: Some(finish), calls: Vec::new() },
        Answer::Calls(calls) => Said::calls(
            calls
                .into_iter()
                .enumerate()
                .map(|(index, (name, arguments))| Called {
                    id: id(index),
                    name,
                    arguments: arguments.to_string(),
                })
                .collect(),
        ),
        Answer::Ids(calls) => Said::calls(
            calls
                .into_iter()
                .map(|(id, name, arguments)| Called {
                    id: id.map(str::to_owned),
                    name,
                    arguments: arguments.to_string(),
                })
                .collect(),
        ),
        Answer::RawArguments(name, arguments) => {
            Said::calls(vec![Called { id: id(0), name, arguments: arguments.to_owned() }])
        }
        other => panic!("{other:?} is no message"),
    }
}

fn read_request(reader: &mut BufReader<TcpStream>, heads: &Mutex<Vec<String>>) -> Option<(Protocol, Value)> {
    let (mut length, mut protocol) = (0, Protocol::Chat);
    let (mut line, mut head) = (String::new(), String::new());
    loop {
        line.clear();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let lower = line.to_lowercase();
        if lower.starts_with("post ") {
            protocol = Protocol::of_path(&lower);
        }
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head += &line;
    }
    heads.lock().unwrap().push(head);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((protocol, serde_json::from_slice(&body).ok()?))
}
