//! Commands in the background: servers that tests need.

use std::sync::atomic::Ordering;

use super::{IsolatedCommand, Isolation, IsolationError};
use crate::base::blocking::elsewhere;
use crate::command::sandbox::View;
use crate::command::{Ended, Finished, Shell};

impl Isolation {
    /// Runs a command of the agent's beside others, on an overlay of its own above the state as it is now; what it
    /// changes is thrown away.
    pub async fn run_beside(
        &self,
        shell: &Shell,
        work: IsolatedCommand<'_>,
    ) -> Result<Finished, IsolationError> {
        let (overlay, root, _lease) = {
            let mut state = self.state.lock().await;
            let isolated = match state.take() {
                Some(isolated) => isolated,
                None => self.make().await?,
            };
            let below = self.below.clone();
            let name = format!("beside-{}", self.beside.fetch_add(1, Ordering::Relaxed));
            let (isolated, overlay) = elsewhere(move || {
                let mut isolated = isolated;
                let overlay = isolated.update(&below).and_then(|()| {
                    isolated.beside(&name).map_err(IsolationError::Beside)?.ok_or(IsolationError::NoOverlay)
                });
                (isolated, overlay)
            })
            .await;
            let (root, lease) = (isolated.path().to_owned(), isolated.lease());
            *state = Some(isolated);
            let overlay = overlay?;
            // Before any other command runs, which could hand it open files.
            self.alive_beside.fetch_add(1, Ordering::SeqCst);
            (overlay, root, lease)
        };
        let finished = work.run_on(shell, &root, View::Overlay(&overlay)).await;
        // Processes that could not be ended keep what they were handed.
        if finished.ended != Ended::StillRunning {
            self.alive_beside.fetch_sub(1, Ordering::SeqCst);
        }
        Ok(finished)
    }
}
