//! The log on standard error, for people or as JSON, and the log files of batch tasks.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use anstyle::Style;
use parking_lot::Mutex;
use sanitize::Masker;
use sanitize::untrusted::{log_lines, visible, visible_line};
use tracing::field::Field;
use tracing::{Dispatch, Level, Metadata, Subscriber, error, info, warn};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::{DefaultFields, Format, Writer, debug_fn};
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use workspace::LineCounts;

use super::figures::{duration, plural};
use super::live::{open_screen, write_above};
use super::masked::masked_fields;
use super::paint::of_level;
use crate::base::text::shortened;
use crate::base::verbose_log::detail;
use crate::event::{
    CallRecord, Event, HookDecision, Line, NetworkDecision, NetworkRecord, NoticeLevel, Observer, Outcome,
    RunMode, TestChanges, TodoStatus,
};

/// The format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Lines of plain text.
    #[default]
    Human,
    /// One JSON object for each line.
    Json,
}

/// The amount that is logged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// The events of the run as well.
    #[default]
    Normal,
    /// Details as well, such as each model call.
    Verbose,
    /// The messages of libraries as well.
    Libraries,
}

/// Sets up the log of the whole process; a second call changes nothing. Messages of libraries are logged only on
/// request: they pass the masker like all others, but they are about requests, and requests hold secrets that
/// no masker knows.
pub fn init_log(format: LogFormat, verbosity: Verbosity, masker: Arc<Masker>) {
    let level = match verbosity {
        Verbosity::Quiet => Level::WARN,
        Verbosity::Normal => Level::INFO,
        Verbosity::Verbose | Verbosity::Libraries => Level::DEBUG,
    };
    let ours = Targets::new().with_target(OURS, level);
    let others = Targets::new().with_default(LevelFilter::DEBUG).with_target(OURS, LevelFilter::OFF);
    let sink = Sink { masker, file: None, json: format == LogFormat::Json, style: Style::new() };
    let is_heard = verbosity == Verbosity::Libraries;
    if format == LogFormat::Human && verbosity != Verbosity::Quiet {
        open_screen();
    }
    let registry = tracing_subscriber::registry();
    // Fails only if a log is set up already.
    let _ = match format {
        LogFormat::Json => {
            let ours = layer(&sink).json().flatten_event(true).with_target(false).with_filter(ours);
            let others = is_heard.then(|| layer(&sink).json().flatten_event(true).with_filter(others));
            registry.with(ours).with(others).try_init()
        }
        LogFormat::Human => {
            let plain = layer(&sink).without_time().with_ansi(false).with_level(false).with_target(false);
            let ours = plain.fmt_fields(debug_fn(message_alone)).with_filter(ours);
            let others = is_heard.then(|| layer(&sink).without_time().with_ansi(false).with_filter(others));
            registry.with(ours).with(others).try_init()
        }
    };
}

fn layer<S>(sink: &Sink) -> fmt::Layer<S, DefaultFields, Format, Sink>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fmt::layer().with_writer(sink.clone())
}

/// Beginning of the targets of our own messages.
const OURS: &str = env!("CARGO_CRATE_NAME");

/// Formats only the message for people; the other fields are for programs.
fn message_alone(writer: &mut Writer<'_>, field: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    if field.name() == "message" { write!(writer, "{value:?}") } else { Ok(()) }
}

/// Opens a log file for a part of the process: everything logged under the returned subscriber goes there.
pub fn file_log(path: &Path, masker: Arc<Masker>) -> io::Result<Dispatch> {
    let file = Arc::new(Mutex::new(File::create(path)?));
    let ours = Targets::new().with_target(OURS, Level::INFO);
    let sink = Sink { masker, file: Some(file), json: false, style: Style::new() };
    let layer = fmt::layer().with_target(false).with_writer(sink);
    let plain = layer.without_time().with_level(false).with_ansi(false).fmt_fields(debug_fn(message_alone));
    Ok(Dispatch::new(tracing_subscriber::registry().with(ours).with(plain)))
}

/// A masking writer to a log file, or else to standard error.
#[derive(Clone)]
struct Sink {
    masker: Arc<Masker>,
    file: Option<Arc<Mutex<File>>>,
    /// Whether each event is a line of JSON, in which only the values of fields may be masked.
    json: bool,
    /// Style of the current event on a terminal.
    style: Style,
}

impl Sink {
    fn masked(&self, text: &str) -> String {
        if self.json
            && let Ok(line) = serde_json::from_slice(text.as_bytes())
        {
            return format!("{}\n", masked_fields(line, &self.masker));
        }
        self.masker.mask(text).into_owned()
    }
}

impl<'a> MakeWriter<'a> for Sink {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }

    fn make_writer_for(&'a self, meta: &Metadata<'_>) -> Self {
        let style = if self.json { Style::new() } else { of_level(*meta.level()) };
        Self { style, ..self.clone() }
    }
}

impl Write for Sink {
    /// Writes one whole event: the subscriber passes it in a single call, so that no secret is split.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let masked = self.masked(&String::from_utf8_lossy(bytes));
        // Our own messages have no invisible characters; those of libraries quote what was received.
        let lines = log_lines(&if self.json { masked } else { visible(&masked) });
        if let Some(file) = &self.file {
            file.lock().write_all(lines.as_bytes())?;
        } else {
            let style = self.style;
            let line = lines.strip_suffix('\n').unwrap_or(&lines);
            write_above(|| writeln!(anstream::stderr().lock(), "{style}{line}{style:#}"))?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

/// An observer that logs the events of a run.
pub struct LogObserver;

/// Maximum length of a text quoted in a log line, in characters.
const MAX_REMARK: usize = 400;

/// Shortens an untrusted text to one line of the log.
fn remark(text: &str) -> String {
    shortened(&visible(text.trim()).replace('\n', " ⏎ "), MAX_REMARK)
}

fn log_call(call: &CallRecord) {
    let mark = match (call.outcome, call.success) {
        (Outcome::Refused, _) => '✗',
        (_, false) => '!',
        (Outcome::Planned, true) => '+',
        (Outcome::Executed, true) => '·',
    };
    let mut target = call.effects.target().map_or(String::new(), |target| format!(" {}", remark(target)));
    if call.effects.is_edit() && call.effects.writes.len() > 1 {
        target += &format!(" and {} more", call.effects.writes.len() - 1);
    }
    let changes_nothing =
        call.effects.is_read_only() || call.effects.command.is_some() && call.lines == LineCounts::default();
    let lines = if changes_nothing { String::new() } else { format!(" ({})", call.lines) };
    let error = if call.success { String::new() } else { format!(" — {}", remark(&call.result)) };
    let tool = remark(&call.tool);
    let took = duration(call.duration_ms);
    let effects = &call.effects;
    let command = effects.command.as_ref();
    info!(
        agent = visible(&call.agent).as_str(),
        step = call.step,
        tool,
        path = effects.writes.first().or(effects.reads.first()).map(|path| visible_line(path.as_str())),
        command = command.map(|command| visible(&command.line)),
        class = command.map(|command| command.class.to_string()),
        reads = effects.reads.len(),
        writes = effects.writes.len(),
        remote = effects.remote.as_ref().map(|remote| visible(&remote.target)),
        outcome = outcome_name(call.outcome),
        success = call.success,
        exit_code = call.exit_code,
        added = call.lines.added,
        removed = call.lines.removed,
        ms = call.duration_ms,
        "{:>3} {mark} {tool}{target}{lines} {took}{error}",
        call.step
    );
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Executed => "executed",
        Outcome::Planned => "planned",
        Outcome::Refused => "refused",
    }
}

/// Returns what a gate that passes says nothing of.
fn lost(tests: &TestChanges) -> String {
    format!("{}: {}", tests.told_losses("the run"), remark(&tests.summary()))
}

fn log_network(asked: &NetworkRecord) {
    let host = format!("{} ({}×)", visible(&asked.target()), asked.times);
    match asked.decision {
        NetworkDecision::Allowed | NetworkDecision::Learned => detail!("     network: {host}"),
        NetworkDecision::Refused => warn!("     network: {host} refused: {}", remark(&asked.reason)),
        NetworkDecision::Unreachable => {
            detail!("     network: {host} not reached: {}", remark(&asked.reason));
        }
    }
}

impl Observer for LogObserver {
    fn observe(&self, line: &Line) {
        match &line.event {
            Event::Session(session) => {
                let (agent, model) = (remark(&session.agent), remark(&session.model));
                let mode = session.mode;
                // A plan is applied without a model.
                let made = if mode == RunMode::Apply { "a plan of " } else { "" };
                info!(session = session.id, "{mode} · {made}agent {agent} · {model}");
            }
            Event::Reply(reply) => {
                if !reply.text.trim().is_empty() && !reply.calls.is_empty() {
                    info!(step = reply.step, "{:>3}  {}", reply.step, remark(&reply.text));
                }
                detail!(
                    step = reply.step,
                    input = reply.usage.input,
                    cached = reply.usage.cached,
                    output = reply.usage.output,
                    ms = reply.duration_ms,
                    "     model: {} tokens in ({} cached), {} out, {}",
                    reply.usage.input,
                    reply.usage.cached,
                    reply.usage.output,
                    duration(reply.duration_ms)
                );
            }
            Event::Call(call) => log_call(call),
            Event::Guardrail(block) => {
                let command =
                    block.command.as_ref().map_or(String::new(), |line| format!("{} — ", remark(line)));
                warn!(step = block.step, "     guardrail: {command}{}", remark(&block.reason));
            }
            Event::Hook(hook) => {
                let took = duration(hook.duration_ms);
                let output = if hook.output.is_empty() {
                    String::new()
                } else {
                    format!(" — {}", remark(&hook.output))
                };
                match hook.decision {
                    HookDecision::Allow => detail!("     hook {} allowed {took}{output}", remark(&hook.name)),
                    HookDecision::Modify => info!("     hook {} changed the call {took}", remark(&hook.name)),
                    HookDecision::Block => warn!("     hook {} blocked {took}{output}", remark(&hook.name)),
                    HookDecision::Failed => warn!(
                        "     hook {} failed (exit {}) {took}{output}",
                        remark(&hook.name),
                        hook.exit_code
                    ),
                }
            }
            Event::Todo(list) => {
                let done = list.items.iter().filter(|item| item.status == TodoStatus::Done).count();
                info!(items = list.items.len(), done, "     list: {done} of {} done", list.items.len());
            }
            Event::Subagent(agent) => {
                let took = duration(agent.duration_ms);
                info!("     sub-agent {} {} {took} — {}", agent.name, agent.status, remark(&agent.message));
            }
            Event::Review(review) => {
                let count = plural(review.findings.len(), "finding", "findings");
                info!("review {} by {}: {count}", review.pass, remark(&review.model));
                for finding in &review.findings {
                    let file = finding.file.as_ref().map_or("", |file| file.as_str());
                    let message = remark(&finding.message);
                    info!("     {} {}:{} {message}", finding.severity, remark(file), finding.line);
                }
            }
            Event::Proof(record) => info!("tests: {}", record.summary()),
            // A notice tells of it.
            Event::LostReply(_) => {}
            Event::Mutation(record) => info!("tests: {}", record.summary()),
            Event::Gate(gate) => {
                let predicted = if gate.predicted { "predicted " } else { "" };
                let (name, took) = (remark(&gate.name), duration(gate.duration_ms));
                if !gate.doubt.is_empty() {
                    let programs = remark(&gate.doubt.join(", "));
                    warn!(
                        "{predicted}gate {name} runs or reads files that commands of this run had changed: {programs}"
                    );
                }
                if gate.passed {
                    info!("{predicted}gate {name} {} {took}", gate.verdict);
                    if let Some(tests) = gate.lost_tests() {
                        warn!("{predicted}gate {name} passes, but {}", lost(tests));
                    }
                } else {
                    let printed = match remark(&gate.output) {
                        output if output.is_empty() => String::new(),
                        output => format!(" — {output}"),
                    };
                    warn!("{predicted}gate {name} {} {took}{}", remark(&gate.told()), printed);
                }
            }
            Event::Network(asked) => log_network(asked),
            Event::Notice(notice) => match notice.level {
                NoticeLevel::Info => info!("{}", visible(&notice.message)),
                NoticeLevel::Warning => warn!("warning: {}", visible(&notice.message)),
                NoticeLevel::Error => error!("error: {}", visible(&notice.message)),
            },
            Event::End(end) => info!("{} · {}", end.status, end.stop_reason),
        }
    }
}
