//! Plans of the parts of a target: each is saved where plans of targets are, and proven by itself if the whole had gates to pass.
//! What a pull request has already is planned for no other one.

use std::collections::BTreeMap;

use tokio::task::block_in_place;
use tracing::instrument::WithSubscriber;

use super::plans::folder;
use super::reconcile::StepOutcome;
use super::request::CampaignRequest;
use super::split::{Part, TakenFiles};
use super::target::TargetId;
use super::target_place::{Target, fresh, log_in, masker};
use super::verdict::check;
use super::work_error::WorkError;
use crate::base::fs::write_atomic;
use crate::github::{Api, Permissions, pull_files};
use crate::plan::{MadeGate, Plan};
use crate::request::{ApplyRequest, InputError};
use crate::run::{Signal, apply};

/// What is known of the parts of a target when all of it is planned, by their names.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownParts(pub(super) BTreeMap<String, KnownPart>);

/// What is known of a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownPart {
    /// Whether its plan is asked for.
    pub(super) is_asked_for: bool,
    /// Its pull request, if that is open or was not merged for good.
    pub(super) pull: Option<u64>,
}

impl KnownParts {
    /// Returns whether a part is to be planned: it is asked for, or nobody knows of it.
    fn is_wanted(&self, part: &str) -> bool {
        self.0.get(part).is_none_or(|known| known.is_asked_for)
    }

    /// Returns whether there is any besides the part that nobody owns.
    pub(super) fn is_split(&self) -> bool {
        self.0.keys().any(|part| !part.is_empty())
    }
}

impl CampaignRequest {
    /// Returns the files that pull requests of a target have already.
    pub(super) async fn taken_files(
        &self,
        target: &Target<'_>,
        parts: &KnownParts,
    ) -> Result<TakenFiles, WorkError> {
        let mut taken = TakenFiles::new();
        let pulls: Vec<_> = parts.0.iter().filter_map(|(part, known)| Some((part, known.pull?))).collect();
        if pulls.is_empty() {
            return Ok(taken);
        }
        let token = self.token(target.name, Permissions::Read).await?;
        let api = Api::new(&self.environment.of_repository(target.name, token))?.for_results();
        for (part, number) in pulls {
            let files = pull_files(&api, number).await?;
            taken.extend(files.into_iter().map(|file| (file, part.clone())));
        }
        Ok(taken)
    }

    /// Saves the plans of those parts that are wanted. Returns what came of each.
    pub(super) async fn plan_parts(
        &self,
        whole: &Target<'_>,
        (parts, has_gates): (Vec<Part>, bool),
        known: &KnownParts,
        signal: &Signal,
    ) -> Result<BTreeMap<TargetId, StepOutcome>, WorkError> {
        // Where there is one part, it is the whole, whose gates have passed.
        let has_to_prove = has_gates && parts.len() > 1;
        let mut outcomes = BTreeMap::new();
        for Part { name, owners, mut plan } in parts {
            let target = Target { id: &whole.id.with_part(&name), ..*whole };
            if !known.is_wanted(&name) {
                continue;
            }
            let out = folder(&self.out, target.id);
            fresh(&out)?;
            let proven = if has_to_prove { self.prove(&target, &mut plan, signal).await } else { Ok(()) };
            let outcome = match proven {
                Ok(()) => {
                    // The types hold nothing that JSON cannot.
                    let text = serde_json::to_vec_pretty(&plan).unwrap_or_default();
                    let path = out.join("plan.json");
                    write_atomic(&path, &text).map_err(|error| WorkError::Write(path, error))?;
                    let saved = self.write_plan_key(target.id);
                    saved.map_err(|(path, error)| WorkError::Write(path, error))?;
                    StepOutcome::Planned { digest: plan.digest, owners }
                }
                Err(error) => self.failed(&error),
            };
            outcomes.insert(target.id.clone(), outcome);
        }
        Ok(outcomes)
    }

    /// Applies the plan of a part to the clone, where nothing else of the whole is, and runs the gates there. The plan then tells
    /// what these said.
    async fn prove(&self, target: &Target<'_>, plan: &mut Plan, signal: &Signal) -> Result<(), WorkError> {
        let repository = self.clone_of(target).await?;
        let out = folder(&self.out, target.id).join("gates");
        fresh(&out)?;
        let inputs = self.inputs_of(target, (repository.root(), &out), None);
        let (mut request, masker) = block_in_place(|| {
            let request = ApplyRequest::resolve(&inputs, plan.clone(), Some(plan.digest.clone()), false)?;
            let masker = masker(&request.job);
            Ok::<_, InputError>((request, masker))
        })?;
        request.job.make_one_of_many();
        request.job.origin.config.guardrails.quality_gates.extend(target.entry.gates.iter().cloned());
        let log = log_in(&out, &masker)?;
        let ended = Box::pin(apply(&request, masker, signal.clone()).with_subscriber(log)).await?;
        check(&ended.report)?;
        plan.gates = ended.report.gates;
        if let Some(made) = &mut plan.made {
            made.gates = plan.gates.iter().map(MadeGate::from).collect();
        }
        plan.seal();
        Ok(())
    }
}
