//! GitHub, as the environment that a run starts from and as a place that its report is published to. The
//! agent never sees any of it.

mod access;
mod api;
mod artifact;
mod branch;
mod branch_states;
mod check_run;
mod code_owners;
mod comment_marker;
mod commit;
mod contents;
mod deliver;
mod delivered;
mod environment;
mod error;
mod finding_review;
mod outcomes;
mod output;
mod pace;
mod payload;
mod permission;
mod pull;
mod push;
mod record_branch;
mod requirements;
mod response;
mod review;
mod sticky_comment;
mod suggestion;
mod trigger;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC};

pub use access::{Access, access};
pub use api::Api;
pub use artifact::{ARTIFACT, ArtifactLookup, plan_of_run};
pub use branch::{BranchNameError, branch_name};
pub use branch_states::BranchStates;
pub use check_run::Check;
pub use comment_marker::{PlanMark, ReviewedMark, RunMark, hidden_lines, in_marker, marker};
pub use contents::{content_at, file_at};
pub use deliver::{Delivery, trailer};
pub use delivered::{DeliverError, Delivered, PullText, Target};
pub use environment::{About, CommentFacts, Environment, EnvironmentError, Head, OtherRun, Person, Subject};
pub use error::ApiError;
pub use finding_review::{FindingReview, PostedFindings};
pub use outcomes::{Fate, PullOutcome, outcomes};
pub use output::{StepFile, outputs};
pub use permission::{label_set_by_writer, trailer_signed_by_writer};
pub use pull::{Pull, complete};
pub use push::by_push;
pub use record_branch::{RecordBranch, RecordError};
pub use requirements::{Application, unmet};
pub use review::{Review, Suggested};
pub use sticky_comment::{Posted, Reaction, ShownPlan, Sticky, may_write, react};
pub use trigger::{CALL, CommentCommand, Rules, Trigger, help};

/// The characters to percent-encode in the value of a query parameter.
const IN_QUERY: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The characters to percent-encode in a path, whose slashes are kept.
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
