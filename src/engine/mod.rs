//! The pipeline: the only way by which a call, whether of the main agent or of a sub-agent, reaches a tool.

mod confirm;
mod enforce;
mod file_view;
mod ledger;
mod perform;
mod record;
mod todo;
mod truncate;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use futures::FutureExt;
use futures::future::join_all;
use parking_lot::Mutex;
use sanitize::Masker;
use sanitize::invisible::marked;
use sanitize::untrusted::visible;
use serde_json::{Map, Value};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use workspace::AttachedFolder;

use crate::command::runs_tests;
use crate::event::{Activity, Block, CallRecord, Class, Effects, Event, Events, Outcome, RunMode, ToolCall};
use crate::guardrails::{self, Guardrails};
use crate::hooks::{HookEvent, Hooks, Subject, ToolSubject};
use crate::plan::{DryRunTracker, summarize_call};
use crate::tool::{
    Access, BackgroundCommands, Call, Context, Registry, ResolvedCall, Tool, ToolResult, invalid_arguments,
};

use confirm::{ConfirmPolicy, Confirmation};
pub(crate) use ledger::Ledger;
use perform::may;
use record::{Diffs, Target, record};
pub(crate) use todo::TodoTool;
pub(crate) use truncate::{CHARS_PER_TOKEN, truncate_middle};

/// Agent that makes a call.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    /// Name of the agent.
    pub agent: &'a str,
    /// Its turn.
    pub step: u32,
    /// Allow-list of tools; `None` for all.
    pub allowed: Option<&'a [String]>,
    /// What it is allowed to do to the checkout.
    pub access: Access,
}

/// Everything a call passes through.
pub struct Engine {
    /// Tools of the run.
    pub registry: Registry,
    /// Rules on effects and changes.
    pub guardrails: Arc<Guardrails>,
    /// Commands of the user around calls.
    pub hooks: Hooks,
    /// Whether calls are planned, executed, or confirmed first.
    pub mode: RunMode,
    /// Context of the tools: the overlay workspace in a dry run, else the checkout.
    pub context: Context,
    /// Folders outside of the checkout that the tools can read.
    pub attached: Arc<[AttachedFolder]>,
    /// What has to survive a compaction.
    pub ledger: Arc<Ledger>,
    /// Commands that run in the background.
    pub background: Arc<BackgroundCommands>,
    /// Number of calls so far that may have changed something.
    pub mutations: AtomicU64,
    /// Cancelled when the first call that may change something begins.
    pub first_mutation: CancellationToken,
    /// Actions that a dry run has planned.
    pub tracker: Mutex<DryRunTracker>,
    /// Masker that hides secrets from the model.
    pub masker: Arc<Masker>,
    /// Maximum size of one result, in tokens.
    pub max_result_tokens: usize,
    /// Event bus that receives the records.
    pub events: Events,
    /// Token that ends the run when a person aborts it.
    pub cancel: CancellationToken,
    /// Whether files were edited and no test has run since.
    pub untested: AtomicBool,
    /// Becomes true once the state of the checkout before the run has been captured; no call starts earlier.
    pub baseline_ready: watch::Receiver<bool>,
}

/// Reason why a call was refused.
enum Refusal {
    /// The arguments are invalid, or name a path outside the workspace.
    Invalid(String),
    /// A guardrail refused it; with what the guardrail was about.
    Guardrail(String, Target),
    /// A hook blocked it.
    Hook(String),
    /// Not confirmed: the person declined, or there is no terminal to ask on.
    Unconfirmed(String),
}

/// Call that has passed the guardrails.
struct Cleared {
    tool: Arc<dyn Tool>,
    call: Box<dyn Call>,
    input: Value,
    effects: Effects,
    /// Warnings of the guardrails for the model.
    warnings: Vec<String>,
}

/// Call that has run, been planned or been refused.
struct CallOutcome {
    outcome: Outcome,
    result: ToolResult,
    effects: Effects,
    /// What it changed, if somebody has looked already.
    diffs: Option<Diffs>,
}

impl Engine {
    /// Takes a call through all stages. Errors, refusals and panics of a tool become part of the result; none
    /// of them ends the run.
    pub async fn call(&self, caller: Caller<'_>, call: &ToolCall) -> ToolResult {
        let (result, record) = self.pass(caller, call).await;
        self.events.emit(Event::Call(Box::new(record)));
        result
    }

    /// Takes several calls through all stages in parallel. Results and records are in the order of the calls,
    /// whichever ends first, so that repeated runs of the same session give the same transcript.
    pub async fn call_in_parallel(&self, caller: Caller<'_>, calls: &[ToolCall]) -> Vec<ToolResult> {
        let passed = join_all(calls.iter().map(|call| self.pass(caller, call))).await;
        let emit = |(result, record)| {
            self.events.emit(Event::Call(Box::new(record)));
            result
        };
        passed.into_iter().map(emit).collect()
    }

    async fn pass(&self, caller: Caller<'_>, call: &ToolCall) -> (ToolResult, CallRecord) {
        // Waiting fails if the sender is gone; then there is nothing to wait for.
        let _ = self.baseline_ready.clone().wait_for(|ready| *ready).await;
        let started = Instant::now();
        let (tool, call, remark) = match self.registry.understand(call, self.context.workspace.root()) {
            Ok(understood) => {
                let remark = understood.remark();
                (Ok(understood.tool), understood.call, remark)
            }
            Err(reason) => (Err(Refusal::Invalid(reason.to_string())), call.clone(), None),
        };
        let call = &call;
        let stages = async { self.stages(caller, tool?, call).await };
        let stages = AssertUnwindSafe(stages).catch_unwind().await;
        let mut done = stages
            .unwrap_or_else(|_| {
                Ok(CallOutcome {
                    outcome: Outcome::Refused,
                    result: ToolResult::failed("internal error: the call stopped unexpectedly"),
                    effects: Effects::default(),
                    diffs: None,
                })
            })
            .unwrap_or_else(|refusal| self.refused(caller, call, refusal));
        append(&mut done.result, remark.as_slice());
        self.sanitize_result(&mut done.result);
        let mut record = record(caller, call, &mut done, started);
        record.cut_off = !record.success && self.cancel.is_cancelled();
        (done.result, record)
    }

    /// Runs the stages in order. What a call is allowed to do is decided before any of it is done.
    async fn stages(
        &self,
        caller: Caller<'_>,
        tool: Arc<dyn Tool>,
        call: &ToolCall,
    ) -> Result<CallOutcome, Refusal> {
        self.check_allowed(caller, tool.as_ref())?;
        let cleared = self.clear(&tool, call.arguments.clone()).await?;
        may(caller, &cleared.effects)?;
        let (mut cleared, mut notes) = self.pre_hooks(caller, cleared).await?;
        // A hook may have changed the arguments.
        may(caller, &cleared.effects)?;
        self.confirm(&cleared)?;
        if cleared.effects.command.is_some() {
            self.guardrails.count_command().map_err(|reason| guardrail_refusal(&reason, &cleared.effects))?;
        }
        if !cleared.effects.is_read_only() {
            self.mutations.fetch_add(1, Ordering::Relaxed);
            self.first_mutation.cancel();
        }
        notes.append(&mut cleared.warnings);
        let target = cleared.effects.target().map(str::to_owned);
        let _ongoing = self.events.begin(Activity::Call { tool: tool.name().to_owned(), target });
        let mut done = if self.mode == RunMode::DryRun && cleared.effects.is_planned() {
            self.plan(caller, cleared).await
        } else {
            self.execute(caller, cleared).await
        };
        self.track_untested_edits(&done.effects, &done.result);
        if !done.result.changes.is_empty() {
            notes.extend(self.background.note_changes());
        }
        append(&mut done.result, &notes);
        Ok(done)
    }

    /// Returns `true` if files were edited and no test has run since.
    pub fn is_untested(&self) -> bool {
        self.untested.load(Ordering::Relaxed)
    }

    fn track_untested_edits(&self, effects: &Effects, result: &ToolResult) {
        match &effects.command {
            Some(ran) if runs_tests(ran, &result.text()) => self.untested.store(false, Ordering::Relaxed),
            // Of what an MCP server did, only the changes to files are known.
            None if (!effects.writes.is_empty() || !result.changes.is_empty()) && result.success => {
                self.untested.store(true, Ordering::Relaxed);
            }
            _ => {}
        }
    }

    /// Returns `true` if a call changes nothing that others of its turn depend on, so that it can run in parallel with them.
    pub fn may_be_parallel(&self, call: &ToolCall) -> bool {
        self.prepared(call).is_some_and(|call| {
            !call.keeps_order() && call.effects(&self.context).is_ok_and(|effects| effects.is_read_only())
        })
    }

    /// Returns the effects of a call, or `None` if its tool or its arguments are invalid.
    pub fn effects(&self, call: &ToolCall) -> Option<Effects> {
        self.prepared(call)?.effects(&self.context).ok()
    }

    fn prepared(&self, call: &ToolCall) -> Option<Box<dyn Call>> {
        let ResolvedCall { tool, call, .. } =
            self.registry.understand(call, self.context.workspace.root()).ok()?;
        tool.prepare(&call.arguments).ok()
    }

    /// Refuses a tool that the agent does not have.
    fn check_allowed(&self, caller: Caller<'_>, tool: &dyn Tool) -> Result<(), Refusal> {
        let Some(allowed) = caller.allowed.filter(|allowed| !Registry::is_allowed(tool, allowed)) else {
            return Ok(());
        };
        let own: Vec<&str> = self.registry.filter(allowed).iter().map(|tool| tool.name()).collect();
        Err(Refusal::Invalid(format!(
            "Tool not found: {} is not available to the agent {}; its tools are {}",
            tool.name(),
            caller.agent,
            own.join(", ")
        )))
    }

    /// Prepares a call and checks it against the guardrails. New arguments from a hook come through here as
    /// well.
    async fn clear(&self, tool: &Arc<dyn Tool>, input: Value) -> Result<Cleared, Refusal> {
        let call = prepare(tool, &input)?;
        let effects = call.effects(&self.context).map_err(|error| Refusal::Invalid(error.to_string()))?;
        self.guardrails.check(&effects).map_err(|reason| guardrail_refusal(&reason, &effects))?;
        let mut warnings = Vec::new();
        if self.guardrails.checks_changes() && !effects.writes.is_empty() && effects.command.is_none() {
            // The call is tried on a preview in memory first, so that a refused change never touches a file.
            let tried = prepare(tool, &input)?.run(self.context.preview()).await;
            warnings =
                self.check_changes(&tried.changes).map_err(|reason| guardrail_refusal(&reason, &effects))?;
        }
        Ok(Cleared { tool: Arc::clone(tool), call, input, effects, warnings })
    }

    async fn pre_hooks(
        &self,
        caller: Caller<'_>,
        cleared: Cleared,
    ) -> Result<(Cleared, Vec<String>), Refusal> {
        let subject = Subject {
            agent: caller.agent,
            step: caller.step,
            tool: Some(ToolSubject {
                name: cleared.tool.name(),
                input: &cleared.input,
                effects: &cleared.effects,
                result: None,
            }),
            details: Map::new(),
        };
        let verdict = self.hooks.run(HookEvent::PreToolUse, subject).await;
        if let Some(reason) = verdict.blocked {
            return Err(Refusal::Hook(reason));
        }
        let cleared = match verdict.updated_input {
            Some(input) => self.clear(&cleared.tool, input).await?,
            None => cleared,
        };
        Ok((cleared, verdict.context))
    }

    fn confirm(&self, cleared: &Cleared) -> Result<(), Refusal> {
        let sensitive = match &cleared.effects.command {
            Some(command) => command.class != Class::Safe,
            None => cleared.tool.sensitive(),
        };
        if !ConfirmPolicy::of(self.mode).should_ask(sensitive) {
            return Ok(());
        }
        let shown = match &cleared.effects.command {
            // A person has to see all of a command before confirming it.
            Some(command) => {
                format!("{}(command={})", cleared.tool.name(), Value::from(command.line.as_str()))
            }
            None => summarize_call(cleared.tool.name(), &cleared.input),
        };
        match tokio::task::block_in_place(|| confirm::ask(&visible(&shown))) {
            Ok(Confirmation::Yes) => Ok(()),
            Ok(Confirmation::No) => Err(Refusal::Unconfirmed("Action cancelled by the user".to_owned())),
            Ok(Confirmation::Abort) => {
                self.cancel.cancel();
                Err(Refusal::Unconfirmed("The user ended the run".to_owned()))
            }
            Err(confirm::NoTerminal) => Err(Refusal::Unconfirmed(
                "No TTY available for confirmation; in CI use --mode yolo or --mode dry-run".to_owned(),
            )),
        }
    }

    fn emit_block(&self, caller: Caller<'_>, tool: &str, target: Target, reason: &str) {
        self.events.emit(Event::Guardrail(Block {
            agent: caller.agent.to_owned(),
            step: caller.step,
            tool: tool.to_owned(),
            command: target.command,
            path: target.path,
            reason: reason.to_owned(),
        }));
    }

    fn refused(&self, caller: Caller<'_>, call: &ToolCall, refusal: Refusal) -> CallOutcome {
        let message = match refusal {
            Refusal::Invalid(message) | Refusal::Unconfirmed(message) => message,
            Refusal::Hook(reason) => format!("Blocked by hook: {reason}"),
            Refusal::Guardrail(reason, target) => {
                self.emit_block(caller, &call.name, target, &reason);
                format!("Guardrail: {reason}")
            }
        };
        CallOutcome {
            outcome: Outcome::Refused,
            result: ToolResult::failed(message),
            effects: Effects::default(),
            diffs: None,
        }
    }

    /// Masks secrets, marks invisible characters, and truncates what the model is shown of a result: a secret
    /// may be in a file or come from a hook.
    fn sanitize_result(&self, result: &mut ToolResult) {
        let bounded = result.bounded;
        for text in [Some(&mut result.output), result.error.as_mut()].into_iter().flatten() {
            let shown = marked(&self.masker.mask_known(text));
            // What the tool has kept within its limit is not cut a second time, unless masks made it grow beyond measure.
            let limit =
                if bounded { self.max_result_tokens.saturating_mul(4) } else { self.max_result_tokens };
            *text = truncate_middle(&shown, limit);
        }
    }
}

fn prepare(tool: &Arc<dyn Tool>, input: &Value) -> Result<Box<dyn Call>, Refusal> {
    let call = Arc::clone(tool).prepare(input);
    call.map_err(|error| Refusal::Invalid(invalid_arguments(tool.as_ref(), &error.to_string())))
}

fn guardrail_refusal(reason: &guardrails::Refusal, effects: &Effects) -> Refusal {
    // One file of many must not cost the others a turn of guessing.
    let is_of_many = effects.writes.len() > 2 && effects.command.is_none();
    let others = if is_of_many {
        "; nothing was changed: leave it out of the call (in replace_text, add `!` and its path to file_pattern)"
    } else {
        ""
    };
    Refusal::Guardrail(format!("{reason}{others}"), Target::of(effects))
}

fn append(result: &mut ToolResult, notes: &[String]) {
    for note in notes.iter().filter(|note| !note.trim().is_empty()) {
        if !result.output.is_empty() && !result.output.ends_with('\n') {
            result.output.push('\n');
        }
        result.output.push_str(note.trim_end());
        result.output.push('\n');
    }
}
