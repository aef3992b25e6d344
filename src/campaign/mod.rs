//! Campaigns: one change for many repositories, in waves, with a pull request in each.
//!
//! Nothing has to run in between: a start looks at GitHub ([`crate::github::Observed`]) and at what is remembered ([`State`], on a
//! branch of the campaign's own repository), judges ([`reconcile::next`]), does what is to be done, and ends where it has to wait
//! for people. So any machine can go on after any other.

mod check;
mod drift;
mod driver;
mod error;
mod file;
mod plans;
pub mod reconcile;
mod report;
mod request;
mod session;
mod standing;
mod state;
mod target;
mod waves;
mod work;

pub use check::{Campaign, InvalidCampaign, Problem};
pub use drift::FallenBack;
pub use driver::{Order, PlansOfJobs};
pub use error::CampaignError;
pub use file::{
    After, App, Approval, CampaignFile, Limits, MergeRule, PullRequests, Repositories, Reviewers, StatePlace,
    StopRules, Waves,
};
pub use plans::UnverifiedPlans;
pub use report::{CampaignReport, CampaignStatus, TargetReport, WaveReport};
pub use request::CampaignRequest;
pub use standing::{Skip, Standing, StandingKind};
pub use state::{Intent, InvalidState, Outcome, Record, State};
pub use target::TargetId;
pub use waves::{Tally, tally};
