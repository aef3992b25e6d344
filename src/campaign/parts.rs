//! Plans of the parts of a target: each is saved where plans of targets are, and proven by itself if the whole had gates to pass.

use std::collections::BTreeMap;

use tokio::task::block_in_place;
use tracing::instrument::WithSubscriber;

use super::plans::folder;
use super::reconcile::StepOutcome;
use super::request::CampaignRequest;
use super::split::Part;
use super::target::TargetId;
use super::work::{Target, WorkError, check, fresh, log_in, masker};
use crate::base::fs::write_atomic;
use crate::plan::{MadeGate, Plan};
use crate::request::{ApplyRequest, InputError};
use crate::run::{Signal, apply};

impl CampaignRequest {
    /// Saves the plans of those parts that `is_wanted` names. Returns what came of each.
    pub(super) async fn plan_parts(
        &self,
        whole: &Target<'_>,
        (parts, has_gates): (Vec<Part>, bool),
        is_wanted: &(dyn Fn(&TargetId) -> bool + Sync),
        signal: &Signal,
    ) -> Result<BTreeMap<TargetId, StepOutcome>, WorkError> {
        // Where there is one part, it is the whole, whose gates have passed.
        let has_to_prove = has_gates && parts.len() > 1;
        let mut outcomes = BTreeMap::new();
        for Part { name, owners, mut plan } in parts {
            let target = Target { id: &whole.id.with_part(&name), ..*whole };
            if !is_wanted(target.id) {
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
