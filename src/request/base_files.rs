//! Files of the base commit for the programs of a request that get a secret.

use std::path::Path;
use std::sync::Arc;

use super::context::RequestContext;
use super::model::ModelChoice;
use super::refusal::ProgramRefusal;
use crate::base::env::temporary;
use crate::command::BaseFiles;
use crate::mcp::Server;

/// Writes the files of the base commit where the model or a server gets a secret and the checkout is not trusted. Servers
/// that would have to start among files that cannot be written are left out, and `tell` takes the reasons; an error is about the
/// model.
pub(super) fn base_files(
    context: &RequestContext<'_>,
    workspace: &Path,
    model: &ModelChoice,
    servers: &mut Vec<Server>,
    mut tell: impl FnMut(String),
) -> Result<Option<Arc<BaseFiles>>, ProgramRefusal> {
    let is_needed = matches!(model, ModelChoice::Exec { variables, .. } if !variables.is_empty());
    if !is_needed && !servers.iter().any(Server::holds_secret) {
        return Ok(None);
    }
    let temp = temporary(&context.inputs.variables);
    match context.with_trusted(|trusted| trusted.base_files(&temp, workspace)) {
        Ok(files) => Ok(files.map(Arc::new)),
        Err(error) if is_needed => Err(ProgramRefusal::NoFiles(error)),
        Err(error) => {
            let refusal = ProgramRefusal::NoFiles(error);
            servers.retain(|server| {
                let is_started = !server.holds_secret();
                if !is_started {
                    tell(format!("the MCP server {} is left out: {refusal}", server.name()));
                }
                is_started
            });
            Ok(None)
        }
    }
}
