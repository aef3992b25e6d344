//! Masked model: keeps known secrets from whoever answers, wherever they come from.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use sanitize::Masker;
use sha2::{Digest, Sha256};

use super::{ChatModel, Completion, Message, ModelError, Request, ToolSchema};

/// A model whose requests hold no secret that could not be a mere word. What others wrote (files, tasks, results) is masked
/// more strictly where it is read; here is the last place before a text leaves.
pub struct MaskedModel {
    model: Arc<dyn ChatModel>,
    masker: Arc<Masker>,
    clean: CleanTexts,
}

/// Texts in which no secret was found, by their digests. Every request repeats the conversation before it, and a search for
/// secrets in all their spellings takes many times as long as a digest.
#[derive(Default)]
struct CleanTexts(Mutex<HashSet<[u8; 32]>>);

impl CleanTexts {
    /// Returns whether a text holds no secret; `search` finds out, unless it has before.
    fn is_clean(&self, text: &str, search: impl FnOnce() -> bool) -> bool {
        let digest: [u8; 32] = Sha256::digest(text).into();
        let known = || self.0.lock();
        if known().contains(&digest) {
            return true;
        }
        let is_clean = search();
        if is_clean {
            known().insert(digest);
        }
        is_clean
    }
}

impl MaskedModel {
    /// Puts a masker before a model.
    pub fn new(model: Arc<dyn ChatModel>, masker: Arc<Masker>) -> Self {
        Self { model, masker, clean: CleanTexts::default() }
    }

    async fn ask(&self, request: Request<'_>) -> Result<Completion, ModelError> {
        let system = self.masker.mask_rendered(request.system);
        let tools = self.tools(request.tools);
        let messages = self.messages(request.messages);
        self.model.complete(Request { system: &system, tools: &tools, messages: &messages, ..request }).await
    }

    /// Masks what servers say of their tools. Parameters stay as they are: their schema is checked against.
    fn tools<'a>(&self, tools: &'a [ToolSchema]) -> Cow<'a, [ToolSchema]> {
        let is_clean = |tool: &ToolSchema| !self.changes(&tool.description);
        if tools.iter().all(is_clean) {
            return Cow::Borrowed(tools);
        }
        let mut masked = tools.to_vec();
        for tool in &mut masked {
            tool.description = self.masker.mask_rendered(&tool.description).into_owned();
        }
        Cow::Owned(masked)
    }

    /// Masks what is sent to the model. Its own words go back as they came: providers compare them.
    fn messages<'a>(&self, messages: &'a [Message]) -> Cow<'a, [Message]> {
        let is_clean = |message: &Message| match message {
            Message::User(text) | Message::Tool { content: text, .. } => !self.changes(text),
            Message::Assistant { .. } => true,
        };
        if messages.iter().all(is_clean) {
            return Cow::Borrowed(messages);
        }
        let mut masked = messages.to_vec();
        for message in &mut masked {
            if let Message::User(text) | Message::Tool { content: text, .. } = message
                && self.changes(text)
            {
                *text = self.masker.mask_rendered(text).into_owned();
            }
        }
        Cow::Owned(masked)
    }

    fn changes(&self, text: &str) -> bool {
        !self.clean.is_clean(text, || matches!(self.masker.mask_rendered(text), Cow::Borrowed(_)))
    }
}

impl ChatModel for MaskedModel {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn has_further_answer(&self, agent: &str) -> bool {
        self.model.has_further_answer(agent)
    }

    fn reads_history(&self) -> bool {
        self.model.reads_history()
    }

    fn complete<'a>(&'a self, request: Request<'a>) -> BoxFuture<'a, Result<Completion, ModelError>> {
        self.ask(request).boxed()
    }

    fn end(&self) -> BoxFuture<'_, ()> {
        self.model.end()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn clean_texts_are_searched_once_and_others_every_time() {
        let (clean, searches) = (CleanTexts::default(), Cell::new(0));
        let is_clean = |text: &str, is_clean| {
            clean.is_clean(text, || {
                searches.set(searches.get() + 1);
                is_clean
            })
        };
        assert!([is_clean("a", true), is_clean("a", true), is_clean("b", true)].into_iter().all(|it| it));
        assert_eq!(searches.get(), 2);
        assert!(!is_clean("a secret", false) && !is_clean("a secret", false));
        assert_eq!(searches.get(), 4);
    }
}
