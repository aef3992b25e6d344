//! Models that need nothing of the run.

use std::sync::Arc;

use crate::base::time_slots::SharedRate;
use crate::config::Llm;
use crate::event::Line;
use crate::model::{ChatModel, ProviderModel, ReplayModel, Settings};
use crate::request::{InputError, ModelChoice};

/// Returns the model of a request, or `None` if it needs the run itself, as recipes and programs do. Nothing is sent yet.
pub(crate) fn model(
    choice: ModelChoice,
    llm: Llm,
    shared_rate: Option<SharedRate>,
    past: &[Line],
) -> Result<Option<Arc<dyn ChatModel>>, InputError> {
    Ok(Some(match choice {
        ModelChoice::Replay { file, strict } => Arc::new(ReplayModel::open(&file, strict, past)?),
        ModelChoice::Provider { provider, key } => {
            let settings = Settings { key, llm, shared_rate };
            Arc::new(ProviderModel::new(&provider, settings).map_err(InputError::Model)?)
        }
        ModelChoice::Recipe(_) | ModelChoice::Exec { .. } => return Ok(None),
    }))
}
