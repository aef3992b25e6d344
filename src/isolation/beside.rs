//! Commands that run beside others: servers that tests need.

use std::sync::atomic::Ordering;

use super::{IsolatedCommand, Isolation, IsolationError, blocking};
use crate::command::sandbox::View;
use crate::command::{Finished, Shell};

impl Isolation {
    /// Runs a command of the agent's beside others, on an overlay of its own above the state as it is now; what it
    /// changes is thrown away.
    pub async fn run_beside(
        &self,
        shell: &Shell,
        work: IsolatedCommand<'_>,
    ) -> Result<Finished, IsolationError> {
        let (overlay, root) = {
            let mut state = self.state.lock().await;
            let isolated = match state.take() {
                Some(isolated) => isolated,
                None => self.make().await?,
            };
            let below = self.below.clone();
            let name = format!("beside-{}", self.beside.fetch_add(1, Ordering::Relaxed));
            let (isolated, overlay) = blocking(move || {
                let mut isolated = isolated;
                let overlay = isolated.update(&below).and_then(|()| {
                    isolated.beside(&name).map_err(IsolationError::Beside)?.ok_or(IsolationError::NoOverlay)
                });
                (isolated, overlay)
            })
            .await;
            let root = isolated.path().to_owned();
            *state = Some(isolated);
            (overlay?, root)
        };
        Ok(work.run_on(shell, &root, View::Overlay(&overlay)).await)
    }
}
