//! Messages that people should see.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A message that people should see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Notice {
    /// How severe it is.
    pub level: NoticeLevel,
    /// What happened, and what to do.
    pub message: String,
}

/// The severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Good to know.
    Info,
    /// Worth a look.
    Warning,
    /// Something failed.
    Error,
}
