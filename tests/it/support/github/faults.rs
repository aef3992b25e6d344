//! Faults of the loopback GitHub, and missing permissions of its token.

use std::time::Duration;

use serde_json::json;
use wiremock::ResponseTemplate;

use super::{GitHub, World, answer};

/// Something that goes wrong.
pub(super) struct Fault {
    /// Prefix of `METHOD path`.
    pub(super) request: String,
    pub(super) answer: ResponseTemplate,
    /// Whether the request is done all the same, and its answer lost.
    pub(super) done: bool,
    /// Requests before that go well.
    pub(super) after: usize,
}

impl World {
    /// Nothing goes wrong any more.
    pub fn clear_faults(&mut self) {
        self.faults.clear();
    }
}

impl GitHub {
    /// The next request that starts so is answered with this status.
    pub fn fail(&self, request: &str, status: u16, message: &str) {
        self.fail_with(request, status, message, &[]);
    }

    /// … and with these headers.
    pub fn fail_with(&self, request: &str, status: u16, message: &str, headers: &[(&'static str, &str)]) {
        let body = json!({"message": message, "documentation_url": "https://docs.github.com"});
        let mut answer = answer(status, &body);
        for (name, value) in headers {
            answer = answer.insert_header(*name, *value);
        }
        self.world().faults.push(Fault { request: request.to_owned(), answer, done: false, after: 0 });
    }

    /// So many requests that start so go well, and the next one is forbidden.
    pub fn forbid_after(&self, after: usize, request: &str) {
        let answer = answer(403, &json!({"message": "Resource not accessible by integration"}));
        self.world().faults.push(Fault { request: request.to_owned(), answer, done: false, after });
    }

    /// The next request that starts so is done, and its answer lost on the way.
    pub fn lose_answer(&self, request: &str) {
        let answer = ResponseTemplate::new(502).set_body_string("<html>Bad gateway</html>");
        self.world().faults.push(Fault { request: request.to_owned(), answer, done: true, after: 0 });
    }

    /// The next request that starts so is answered far too late.
    pub fn hang(&self, request: &str) {
        let answer = ResponseTemplate::new(200).set_delay(Duration::from_mins(2));
        self.world().faults.push(Fault { request: request.to_owned(), answer, done: false, after: 0 });
    }

    /// With the next request that starts so, somebody deletes a branch.
    pub fn delete_with(&self, request: &str, branch: &str) {
        self.world().deletions.push((request.to_owned(), branch.to_owned()));
    }

    /// With the next request that starts so, somebody pushes to a branch, or creates it.
    pub fn move_on(&self, request: &str, branch: &str) {
        self.world().pushes.push((request.to_owned(), branch.to_owned()));
    }

    /// The token may not do what starts so, at any time.
    pub fn forbid(&self, request: &str) {
        self.world().forbidden.push(request.to_owned());
    }
}
