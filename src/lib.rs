//! architect-ci
pub mod agent;
pub mod command;
pub mod config;
pub mod engine;
pub mod event;
pub mod gates;
pub mod git;
pub mod guardrails;
pub mod hooks;
pub mod model;
mod nearest;
pub mod plan;
pub mod report;
pub mod tool;
pub mod workspace;
