//! Since when there has been a plan, by GitHub's clock. What a plan says of itself could have been written by whoever made it.

use serde::Deserialize;
use time::OffsetDateTime;

use super::api::{Api, PAGE};
use super::environment::moment;
use super::error::ApiError;
use super::operation::Purpose;

const RUN: Purpose = Purpose { doing: "look up when the plan was made", permission: "actions: read" };

/// Maximum number of pages of jobs.
const JOB_PAGES: usize = 10;

/// What has made a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planner {
    /// An earlier job of the workflow run with this id, which is the one that asks.
    EarlierJob(u64),
    /// The workflow run with this id.
    Run(u64),
}

/// Returns the time before which nobody can have seen the plan; `None` if GitHub does not say.
pub(super) async fn planned_since(api: &Api, planner: Planner) -> Result<Option<OffsetDateTime>, ApiError> {
    match planner {
        Planner::EarlierJob(run) => jobs_ended(api, run).await,
        Planner::Run(run) => {
            #[derive(Deserialize)]
            struct Run {
                run_started_at: Option<String>,
            }
            let Run { run_started_at } = api.get(&format!("/actions/runs/{run}"), RUN).await?;
            Ok(run_started_at.as_deref().and_then(moment))
        }
    }
}

/// Returns when the last of a run's jobs ended that have ended; `None` if they are too many. Which of them has planned nobody but the
/// jobs themselves would say.
async fn jobs_ended(api: &Api, run: u64) -> Result<Option<OffsetDateTime>, ApiError> {
    #[derive(Deserialize)]
    struct Jobs {
        total_count: usize,
        jobs: Vec<Job>,
    }
    #[derive(Deserialize)]
    struct Job {
        completed_at: Option<String>,
    }
    let (mut seen, mut all, mut last) = (0, 0, None);
    for page in 1..=JOB_PAGES {
        // Of a job that was started again, the latest attempt is meant.
        let path = format!("/actions/runs/{run}/jobs?filter=latest&per_page={PAGE}&page={page}");
        let Jobs { total_count, jobs } = api.get(&path, RUN).await?;
        (seen, all) = (seen + jobs.len(), total_count);
        last = last.max(jobs.iter().filter_map(|job| moment(job.completed_at.as_deref()?)).max());
        if seen >= all || jobs.is_empty() {
            break;
        }
    }
    Ok(last.filter(|_| seen >= all))
}
