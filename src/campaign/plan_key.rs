//! Key of the plan of a target: all that it follows from besides the repository. An earlier plan is only good for as long as none of it
//! was changed.

use std::io;
use std::path::{Path, PathBuf};

use super::plans::folder;
use super::request::{CampaignRequest, read_recipe};
use super::target::TargetId;
use crate::base::fs::{open_file, read_at_most, write_atomic};
use crate::base::integrity::digest;
use crate::batch::Entry;

/// The file next to a plan with its key.
const FILE: &str = "plan.key";

/// Largest task or configuration of which a key is made, in bytes; beyond, nothing earlier is used.
const MAX_SOURCE: u64 = 16_000_000;

/// Length of a key, in bytes.
const KEY: u64 = 64;

impl CampaignRequest {
    /// Returns a digest of the task with its gates, of its recipe, and of the configuration; `None` if one of them cannot be read.
    pub(super) fn plan_key(&self, id: &TargetId) -> Option<String> {
        self.campaign.task(id).and_then(|entry| self.sources(entry).ok()).map(|sources| digest(&sources))
    }

    fn sources(&self, entry: &Entry) -> io::Result<Vec<u8>> {
        let read = |path: &Path| open_file(path).and_then(|file| read_at_most(file, MAX_SOURCE));
        let given = &self.inputs;
        let recipe = entry.recipe.as_ref().map(|recipe| read_recipe(&self.checkout, recipe)).transpose()?;
        let task = entry.task_file.as_ref().map(|file| read(&self.checkout.join(file))).transpose()?;
        let split = self.campaign.file.pull_request.split;
        let flags = format!(
            "{split:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            given.model, given.agent, given.until, given.max_rounds, given.max_steps, given.expect
        );
        let parts = [
            serde_json::to_vec(entry)?,
            recipe.unwrap_or_default(),
            task.unwrap_or_default(),
            read(&self.config)?,
            flags.into_bytes(),
        ];
        // With their lengths, so that none of them can pass for a part of its neighbour.
        Ok(parts.into_iter().flat_map(|part| [part.len().to_le_bytes().to_vec(), part].concat()).collect())
    }

    /// Saves what a target's plan follows from, next to it.
    pub(super) fn write_plan_key(&self, id: &TargetId) -> Result<(), (PathBuf, io::Error)> {
        let path = folder(&self.out, id).join(FILE);
        let key = self.plan_key(id).unwrap_or_default();
        write_atomic(&path, key.as_bytes()).map_err(|error| (path, error))
    }

    /// Returns whether the plan in a target's folder follows from what is there now.
    pub(super) fn is_plan_current(&self, id: &TargetId, key: Option<&String>) -> bool {
        let path = folder(&self.out, id).join(FILE);
        let saved = open_file(&path).and_then(|file| read_at_most(file, KEY));
        key.zip(saved.ok()).is_some_and(|(key, saved)| key.as_bytes() == saved)
    }
}
