//! GitHub as an environment that a run starts from and as a place where its report goes.
//! The agent never sees any of it.

mod answer;
mod api;
mod artifact;
mod branch;
mod check_run;
mod comment_marker;
mod commit;
mod contents;
mod deliver;
mod environment;
mod error;
mod output;
mod payload;
mod pull;
mod push;
mod review;
mod sticky_comment;
mod suggestion;
mod trigger;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC};

pub use api::Api;
pub use artifact::{ARTIFACT, Left, plan_of_run};
pub use branch::branch_name;
pub use check_run::{Check, Conclusion};
pub use comment_marker::{PlanMark, hidden_lines, in_marker, marker};
pub use contents::file_at;
pub use deliver::{DeliverError, Delivered, Delivery, PullText, Target, trailer};
pub use environment::{About, CommentFacts, Environment, EnvironmentError, Head, OtherRun, Person, Subject};
pub use error::ApiError;
pub use output::{StepFile, outputs};
pub use pull::{Pull, complete};
pub use push::by_push;
pub use review::{Review, Suggested};
pub use sticky_comment::{Reaction, Sticky, may_write, react, reply};
pub use trigger::{Order, Rules, Trigger, help};

/// What a value of a query cannot be written with.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// What a path cannot be written with; its slashes stay.
const IN_PATH: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'`')
    .add(b'{')
    .add(b'}');
