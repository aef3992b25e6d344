//! What every part may use and nothing of the project is needed for: text, files, the network, the environment.

pub mod bounded;
pub(crate) mod did_you_mean;
pub mod env;
pub(crate) mod error;
pub(crate) mod fs;
pub(crate) mod http;
pub(crate) mod integrity;
pub mod pattern;
pub mod public_address;
pub(crate) mod template;
pub(crate) mod text;
pub(crate) mod verbose_log;
pub(crate) mod yaml;
