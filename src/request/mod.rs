//! Flags, Action inputs, environment and configuration become one complete request.
//!
//! Whatever is wrong is found here, before anything is done: a request that exists is valid.

mod apply_request;
mod base_files;
mod catalog;
mod chosen_plan;
mod context;
pub(crate) mod credentials;
mod deliver;
mod deliver_error;
mod error;
mod files;
mod gate;
mod job;
mod job_request;
mod ledger;
mod ledger_limits;
mod lookup;
mod model;
mod program_comparison;
mod program_imports;
mod program_loading;
mod program_starts;
mod program_tables;
mod program_versions;
mod program_words;
mod programs;
mod python_modules;
mod refusal;
mod resume;
mod run_request;
mod shared_ledger;
mod task;
mod values;

pub(crate) use apply_request::read_plan;
pub use apply_request::{ApplyRequest, Moved};
pub use catalog::{BATCH_INPUTS, INPUTS, Input};
pub(crate) use context::RequestContext;
pub use deliver::Deliver;
pub(crate) use deliver::own_branch;
pub use error::InputError;
pub(crate) use files::out;
pub use files::{GUIDES, Guide};
pub use job::{Job, Skip};
pub use job_request::JobRequest;
pub use ledger::default_ledger;
pub use lookup::{Lookup, variables};
pub use model::{ModelChoice, ReviewerModel};
pub(crate) use programs::Programs;
pub(crate) use resume::{MAY_CHANGE, resumed_request, sealed_session_of_run};
pub use run_request::RunRequest;
pub use shared_ledger::{
    Claim, SharedLedger, ledger_branch, ledger_records, read_shared_ledger, with_ledger,
};
pub use values::Inputs;
