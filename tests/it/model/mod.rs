//! The binary against a loopback model server: a long session, faults, and limits.

mod faults;
mod limits;
mod protocols;
mod replay;

use crate::support::model::ModelServer;
use crate::support::model::protocol::{PROTOCOLS, Protocol};

const MODEL: [&str; 3] = ["--model", "openai::gpt-5", "--base-url"];

fn with<'a>(server: &'a ModelServer, more: &[&'a str]) -> Vec<&'a str> {
    [&MODEL[..], &[&server.url], more].concat()
}

/// A protocol, streamed or not.
#[derive(Clone, Copy, Debug)]
struct Way {
    protocol: Protocol,
    model: &'static str,
    stream: bool,
}

impl Way {
    fn args<'a>(&self, server: &'a ModelServer, more: &[&'a str]) -> Vec<&'a str> {
        [&["--model", self.model, "--base-url", server.url.as_str()], more].concat()
    }

    fn config(&self, more: &str) -> String {
        format!("llm: {{ stream: {}{more} }}\nevaluation: off\n", self.stream)
    }
}

/// Does something in every protocol, streamed and not, side by side.
fn every_way(work: impl Fn(Way) + Sync) {
    std::thread::scope(|scope| {
        for (protocol, model) in PROTOCOLS {
            for stream in [true, false] {
                let work = &work;
                scope.spawn(move || work(Way { protocol, model, stream }));
            }
        }
    });
}
