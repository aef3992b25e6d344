//! GitHub, as the environment that a run starts from and as a place that its report is published to. The
//! agent never sees any of it.

mod access;
mod api;
mod app_token;
mod artifact;
mod attestation;
mod branch;
mod branch_files;
mod branch_states;
mod branches_below;
mod certificate;
mod check_run;
mod closed_pulls;
mod code_owners;
mod comment_marker;
mod commit;
mod contents;
mod dashboard;
mod deliver;
mod delivered;
mod download;
mod earlier_findings;
mod environment;
mod error;
mod finding_mark;
mod finding_review;
mod graphql;
mod known_findings;
mod login;
mod observe;
mod observed;
mod outcomes;
mod output;
mod own_pull;
mod pace;
mod payload;
mod permission;
mod person;
mod plan_time;
mod pull;
mod pull_actions;
mod pull_files;
mod push;
mod quotas;
mod record_branch;
mod repositories;
mod repository_name;
mod requirements;
mod response;
mod review;
mod review_threads;
mod server_address;
mod sticky_comment;
mod suggestion;
mod swap;
mod trailers;
mod trigger;
mod write_rate;

use percent_encoding::{AsciiSet, CONTROLS, NON_ALPHANUMERIC};

pub use access::{Access, access};
pub use api::Api;
pub use app_token::{AppError, AppTokens, Permissions};
pub use artifact::{ARTIFACT, ArtifactLookup, plan_of_run, sealed_session};
pub use attestation::{AttestationError, Attested, TrustedRoot, verify_attested};
pub use branch::{BranchNameError, branch_name};
pub use branch_files::{BranchFiles, BranchFilesError, Writers};
pub use branch_states::BranchStates;
pub use branches_below::branches_below;
pub use check_run::Check;
pub use closed_pulls::closed_pulls;
pub(crate) use code_owners::CodeOwners;
pub use comment_marker::{PlanMark, ReviewedMark, RunMark, comment_marker, hidden_lines, marker_key};
pub use contents::{content_at, file_at};
pub use dashboard::Dashboard;
pub use deliver::Delivery;
pub use delivered::{DeliverError, Delivered, PART, PullText, Target};
pub use earlier_findings::{EarlierFinding, FindingState};
pub use environment::{About, CommentFacts, Environment, EnvironmentError, Head, OtherRun, Subject};
pub use error::ApiError;
pub use finding_mark::FindingMark;
pub use finding_review::{FindingReview, PostedFindings};
pub use known_findings::{FileContent, KnownFinding, KnownFindings, Line, Place, Version};
pub use observe::{OBSERVED_AT_ONCE, ObserveTarget, observe};
pub use observed::{Checks, Observed, ObservedRepository, PullFacts, PullState};
pub use outcomes::{Fate, PullOutcome, outcomes};
pub use output::{StepFile, outputs};
pub use permission::{LabelPermission, LabelsSince, label_set_by_writer, trailer_signed_by_writer};
pub use plan_time::Planner;
pub use pull::{Pull, complete};
pub use pull_actions::{OwnBranch, ask_for_review, close_pull, merge_pull, newest_pull, revert_pull};
pub use pull_files::pull_files;
pub use push::by_push;
pub use quotas::{Quotas, Resource};
pub use record_branch::{RecordBranch, RecordError, with_lines};
pub use repositories::{MAX_LISTED, RepositoryList, repositories_of, search};
pub(crate) use repository_name::is_owner;
pub use repository_name::{InvalidName, RepositoryName};
pub use requirements::{Application, unmet};
pub use review::{Review, Suggested};
pub use sticky_comment::{Posted, Reaction, ShownPlan, StickyComment, may_write, react};
pub use trailers::{Author, trailer};
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
