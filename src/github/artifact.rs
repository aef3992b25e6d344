//! Finds a plan among the artifacts of a run.

use std::io::{Cursor, Read};

use serde::Deserialize;

use super::api::{Api, PAGE, Purpose};
use super::error::ApiError;
use crate::detail::detail;
use crate::plan::Plan;

/// Artifacts that hold plans are called so, or begin so.
pub const ARTIFACT: &str = "architect-ci";

/// The largest archive that is looked into, and the largest plan in one.
const MAX_ARCHIVE: usize = 200_000_000;
const MAX_PLAN: u64 = 100_000_000;

/// Archives of one run that are looked into.
const MAX_ARTIFACTS: usize = 20;

const READ: Purpose = Purpose { doing: "read the run's artifacts", permission: "actions: read" };

#[derive(Deserialize)]
struct Artifacts {
    artifacts: Vec<Artifact>,
}

#[derive(Deserialize)]
struct Artifact {
    id: u64,
    name: String,
    #[serde(default)]
    size_in_bytes: usize,
    #[serde(default)]
    expired: bool,
}

/// What a run has left of a plan.
#[derive(Debug)]
pub enum Left {
    /// The plan.
    Plan(Box<Plan>),
    /// Artifacts that GitHub has deleted since.
    Expired,
    /// Nothing.
    Nothing,
}

/// The plan of this digest that a run has left.
pub async fn plan_of_run(api: &Api, run: u64, digest: &str) -> Result<Left, ApiError> {
    let list: Artifacts = api.get(&format!("/actions/runs/{run}/artifacts?per_page={PAGE}"), READ).await?;
    let is_named = |artifact: &Artifact| artifact.name.starts_with(ARTIFACT);
    let expired = list.artifacts.iter().any(|artifact| artifact.expired && is_named(artifact));
    let fits = |artifact: &Artifact| {
        !artifact.expired && is_named(artifact) && artifact.size_in_bytes <= MAX_ARCHIVE
    };
    // The newest first: a job that ran again has left two of a name.
    for artifact in list.artifacts.into_iter().rev().filter(fits).take(MAX_ARTIFACTS) {
        let path = format!("/actions/artifacts/{}/zip", artifact.id);
        let archive = api.download(&path, MAX_ARCHIVE, READ).await?;
        let is_it = |plan: &Plan| plan.digest == digest && plan.computed_digest() == digest;
        match plans(archive) {
            Ok(plans) => {
                if let Some(plan) = plans.into_iter().find(is_it) {
                    return Ok(Left::Plan(Box::new(plan)));
                }
            }
            Err(error) => detail!("could not read the artifact {}: {error}", artifact.name),
        }
    }
    Ok(if expired { Left::Expired } else { Left::Nothing })
}

/// Every `plan.json` of an archive that is a plan.
fn plans(archive: Vec<u8>) -> Result<Vec<Plan>, zip::result::ZipError> {
    let mut archive = zip::ZipArchive::new(Cursor::new(archive))?;
    let mut plans = Vec::new();
    for index in 0..archive.len() {
        let file = archive.by_index(index)?;
        let is_plan = file.name()?.rsplit('/').next() == Some("plan.json");
        if !is_plan || file.size() > MAX_PLAN {
            continue;
        }
        let mut text = Vec::new();
        // An archive may say that a file is small and unpack it without end.
        file.take(MAX_PLAN).read_to_end(&mut text)?;
        plans.extend(serde_json::from_slice(&text).ok());
    }
    Ok(plans)
}
