//! Files that the model sees without a call, under the same guardrails, masking and limits.

use sanitize::invisible::marked;
use workspace::{LastLink, WorkspacePath};

use super::{Engine, truncate_middle};
use crate::base::encoding::decode;
use crate::event::Effects;

impl Engine {
    /// Returns the content of a file as the model may see it, truncated like any result, or the reason in
    /// parentheses if it must not or cannot be read.
    pub fn file_view(&self, path: &WorkspacePath) -> String {
        let read = || {
            let resolved =
                self.context.workspace.resolve(path, LastLink::Follow).map_err(|error| error.to_string())?;
            self.guardrails.check(&Effects::read(&resolved)).map_err(|reason| reason.to_string())?;
            let state = self.context.workspace.read(&resolved).map_err(|error| error.to_string())?;
            let text = decode(&state.content).map(|decoded| decoded.text);
            Ok(text.unwrap_or_else(|_| String::from_utf8_lossy(&state.content)).into_owned())
        };
        let text = read().unwrap_or_else(|error: String| format!("({error})"));
        truncate_middle(&marked(&self.masker.mask_known(&text)), self.max_result_tokens)
    }
}
