//! A tool of another agent's, and what it is here.

use super::arguments::Arguments;
use super::resolved_call::UnresolvedCall;

/// What another agent's tool is here.
#[derive(Clone, Copy)]
pub(super) enum ForeignTool {
    /// A tool of ours, whose arguments have other names at most.
    Tool(&'static str),
    /// A tool of ours, after a change of the arguments.
    Fitted(&'static str, fn(&mut Arguments)),
    /// A tool of ours, after a change of the arguments that may fail; the function may name another one. The error is a sentence that
    /// contains the right call.
    Changed(&'static str, fn(&mut Arguments) -> Result<Option<&'static str>, UnresolvedCall>),
    /// Nothing of ours; a sentence says what to do instead.
    Advice(&'static str),
}

use ForeignTool::{Changed, Fitted, Tool};

impl ForeignTool {
    /// Returns the name of our tool.
    pub(super) fn tool(self) -> Option<&'static str> {
        match self {
            Tool(name) | Fitted(name, _) | Changed(name, _) => Some(name),
            ForeignTool::Advice(_) => None,
        }
    }
}
