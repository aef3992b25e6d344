//! Collector: folds events into the parts of a report.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::exit_code::ShownTests;
use super::{CallSummary, StepSummary};
use crate::command::plain;
use crate::event::{
    Block, CallRecord, ChangeSizeLimit, Event, GateRecord, HookRecord, Line, MutationRecord, NetworkRecord,
    Notice, Observer, ReviewRecord, SubagentRecord, Usage,
};

/// The parts of a report that the events so far have filled.
#[derive(Clone, Debug, Default)]
pub struct Collected {
    pub(crate) steps: Vec<StepSummary>,
    pub(crate) usage: Usage,
    pub(crate) calls: Vec<CallSummary>,
    pub(crate) hooks: Vec<HookRecord>,
    pub(crate) gates: Vec<GateRecord>,
    pub(crate) guardrails: Vec<Block>,
    pub(crate) subagents: Vec<SubagentRecord>,
    pub(crate) review: Option<ReviewRecord>,
    pub(crate) network: Vec<NetworkRecord>,
    pub(crate) mutations: Option<MutationRecord>,
    pub(crate) notices: Vec<Notice>,
    /// Number of calls that would write files, and of those that did, or are planned to.
    pub(crate) edits: (usize, usize),
    /// Whether the turn of the last answer goes on with the next one.
    continues: bool,
    /// Room for the changes of further calls.
    size_limit: ChangeSizeLimit,
    /// What calls that have not ended search for, by agent and id.
    searches: BTreeMap<(String, String), String>,
}

/// An observer that collects the parts of a report from the events of a run.
#[derive(Default)]
pub struct Collector(Mutex<Collected>);

impl Collector {
    /// Returns what `read` makes of what was collected so far.
    pub fn look<T>(&self, read: impl FnOnce(&Collected) -> T) -> T {
        read(&self.0.lock())
    }

    /// Takes what was collected so far.
    pub fn take(&self) -> Collected {
        std::mem::take(&mut self.0.lock())
    }
}

impl Observer for Collector {
    fn observe(&self, line: &Line) {
        let mut collected = self.0.lock();
        match &line.event {
            Event::Session(_) | Event::Todo(_) | Event::End(_) | Event::LostReply(_) => {}
            Event::Reply(reply) => {
                for call in &reply.calls {
                    if let Some(pattern) = call.arguments["pattern"].as_str() {
                        let key = (reply.agent.clone(), call.id.clone());
                        collected.searches.insert(key, pattern.to_owned());
                    }
                }
                collected.usage += reply.usage;
                let continued = std::mem::replace(&mut collected.continues, reply.continues);
                if let Some(last) = collected.steps.last_mut().filter(|_| continued)
                    && (&last.agent, last.step) == (&reply.agent, reply.step)
                {
                    last.duration_ms += reply.duration_ms;
                    last.usage += reply.usage;
                    last.cost_usd = last.cost_usd.zip(reply.cost_usd).map(|(one, other)| one + other);
                    return;
                }
                collected.steps.push(StepSummary {
                    at_ms: line.at_ms.saturating_sub(reply.duration_ms),
                    agent: reply.agent.clone(),
                    step: reply.step,
                    duration_ms: reply.duration_ms,
                    usage: reply.usage,
                    cost_usd: reply.cost_usd,
                });
            }
            Event::Call(call) => {
                if call.effects.is_edit() {
                    collected.edits.0 += 1;
                    collected.edits.1 += usize::from(call.success);
                }
                let mut diff = call.diff.clone();
                collected.size_limit.fit(&mut diff);
                let pattern = collected.searches.remove(&(call.agent.clone(), call.id.clone()));
                collected.calls.push(CallSummary {
                    at_ms: line.at_ms.saturating_sub(call.duration_ms),
                    agent: call.agent.clone(),
                    step: call.step,
                    tool: call.tool.clone(),
                    target: call.effects.target().map(str::to_owned),
                    pattern,
                    class: call.effects.command.as_ref().map(|command| command.class),
                    outcome: call.outcome,
                    success: call.success,
                    exit_code: call.exit_code,
                    ran_no_test: call.ran_no_test,
                    shown_tests: shown_tests(call),
                    error: (!call.success).then(|| call.result.clone()),
                    diff,
                    duration_ms: call.duration_ms,
                });
            }
            Event::Guardrail(block) => collected.guardrails.push(block.clone()),
            Event::Hook(hook) => collected.hooks.push(hook.clone()),
            Event::Gate(gate) => {
                // Only the last run of each gate counts.
                collected.gates.retain(|earlier| earlier.name != gate.name);
                collected.gates.push(gate.clone());
            }
            Event::Subagent(record) => collected.subagents.push(record.clone()),
            // Only the last code review counts.
            Event::Review(record) => collected.review = Some(record.clone()),
            Event::Network(record) => collected.network.push(record.clone()),
            // The run says at its end what of it still counts.
            Event::Proof(_) => collected.mutations = None,
            Event::Mutation(record) => collected.mutations = Some(record.clone()),
            Event::Notice(notice) => collected.notices.push(notice.clone()),
        }
    }
}

/// Returns what the output of a call says of tests, if it ran a command.
fn shown_tests(call: &CallRecord) -> ShownTests {
    if call.effects.command.is_none() || call.ran_no_test {
        return ShownTests::Unsaid;
    }
    ShownTests::of(&plain(&call.result))
}
