//! Campaigns: one change for many repositories, in waves, with a pull request in each.
//!
//! Nothing has to run in between: a start observes GitHub ([`crate::github::Observed`]), reads the saved state ([`State`],
//! on a branch of the campaign's own repository), decides ([`reconcile::decide`]), acts, and ends when it has to wait for
//! people. Any machine can therefore continue where another one stopped.

mod check;
mod drift;
mod driver;
mod error;
mod file;
mod file_owners;
mod lost;
mod moves;
mod parts;
mod plan_key;
mod planning;
mod plans;
pub mod reconcile;
mod renamed;
mod report;
mod request;
mod session;
mod split;
mod standing;
mod standing_report;
mod state;
mod target;
mod target_place;
mod title;
mod told;
mod verdict;
mod waves;
mod work;
mod work_error;

pub use check::{Campaign, InvalidCampaign, Problem};
pub use driver::{CampaignCommand, PlansOfJobs};
pub use error::CampaignError;
pub use file::{
    After, App, Approval, CampaignFile, Limits, MergeRule, PullRequests, Repositories, Reviewers, Split,
    StatePlace, StopRules, Waves,
};
pub use plans::UnverifiedPlans;
pub use report::{CampaignReport, CampaignStatus, FallenBack, TargetReport, WaveReport};
pub use request::CampaignRequest;
pub use standing::{Skip, Standing, StandingKind};
pub use state::{AttemptOutcome, Intent, InvalidState, Record, State};
pub use target::TargetId;
pub use waves::{Tally, tally};
