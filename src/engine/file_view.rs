//! Files that the model sees without a call: the same rules, masks and limits hold.

use super::{Engine, truncate_middle};
use crate::invisible::marked;
use crate::tool::Effects;
use crate::workspace::{LastLink, WorkspacePath};

impl Engine {
    /// What the model may see of a file, cut like any result; where it may not or cannot, the reason.
    pub fn file_view(&self, path: &WorkspacePath) -> String {
        let read = || {
            let resolved =
                self.context.workspace.resolve(path, LastLink::Follow).map_err(|error| error.to_string())?;
            self.guardrails.check(&Effects::read(&resolved))?;
            let state = self.context.workspace.read(&resolved).map_err(|error| error.to_string())?;
            Ok(String::from_utf8_lossy(&state.content).into_owned())
        };
        let text = read().unwrap_or_else(|error: String| format!("({error})"));
        truncate_middle(&marked(&self.masker.mask_known(&text)), self.max_result_tokens)
    }
}
