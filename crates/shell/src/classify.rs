//! Command classes: how dangerous a command line is, which is as dangerous as the worst of its commands.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::analysis::{Analysis, Simple};
use super::policy::OwnCommands;
use super::refusal::{Refusal, WayOut};
use super::{in_sandbox, strict};
use crate::class::Class;

/// A class and what decided it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The class of the line.
    pub class: Class,
    /// The part of the line that decided; empty if there is nothing to say.
    pub reason: String,
    /// What to do instead of a dangerous line, in one sentence; empty for the other classes.
    pub way_out: String,
}

impl Verdict {
    /// Returns a safe verdict without a reason.
    pub(super) fn safe() -> Self {
        Self::new(Class::Safe, "")
    }

    pub(super) fn new(class: Class, reason: impl Into<String>) -> Self {
        Self { class, reason: reason.into(), way_out: String::new() }
    }

    /// Returns the reason, followed by the way out if there is one.
    pub fn explained(&self) -> String {
        if self.way_out.is_empty() {
            self.reason.clone()
        } else {
            format!("{}. {}", self.reason, self.way_out)
        }
    }
}

impl From<Refusal> for Verdict {
    fn from(refusal: Refusal) -> Self {
        let way_out = refusal.way_out.text().to_owned();
        Self { class: Class::Dangerous, reason: refusal.reason, way_out }
    }
}

/// What keeps commands from doing harm, other than their class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Containment {
    /// A sandbox enforces what a command can reach, so only what needs more than that is dangerous.
    Sandbox,
    /// There is no sandbox, so whatever is not known to be harmless is dangerous.
    #[default]
    None,
}

/// Where a line would run, and what the configuration says about commands.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// The path of the checkout; absolute paths below it count as the workspace's.
    pub(super) root: &'a Path,
    /// The depth of the line's working directory below the root.
    pub(super) depth: i32,
    /// The commands that the configuration classifies.
    pub(super) own: &'a OwnCommands,
    /// Whether a sandbox restricts the line.
    pub(super) containment: Containment,
}

/// Classifies a line by the worst of its commands.
pub(super) fn classify(analysis: &Analysis, scope: Scope<'_>) -> Verdict {
    if let Some(reason) = &analysis.unclear {
        return Refusal::new(reason.clone(), WayOut::InParts).into();
    }
    let judge = |simple: &Simple| match scope.containment {
        Containment::None => strict::verdict(analysis, simple, scope),
        Containment::Sandbox => in_sandbox::verdict(analysis, simple, scope),
    };
    let functions = match scope.containment {
        Containment::None => strict::functions(analysis),
        Containment::Sandbox => Verdict::safe(),
    };
    let mut worst = match (&analysis.dynamic, scope.containment) {
        (None, _) => Verdict::safe(),
        (Some(reason), Containment::None) => Refusal::new(reason.clone(), WayOut::WrittenOut).into(),
        (Some(reason), Containment::Sandbox) => Verdict::new(Class::Dev, reason.clone()),
    };
    for verdict in analysis.commands.iter().map(judge).chain([functions]) {
        if verdict.class > worst.class {
            worst = verdict;
        }
    }
    worst
}
