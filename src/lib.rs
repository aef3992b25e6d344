//! architect-ci
pub mod command;
pub mod config;
pub mod event;
pub mod git;
mod nearest;
pub mod report;
pub mod tool;
pub mod workspace;
