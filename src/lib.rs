//! architect-ci
pub mod command;
pub mod config;
pub mod event;
pub mod git;
pub mod model;
mod nearest;
pub mod report;
pub mod tool;
pub mod workspace;
