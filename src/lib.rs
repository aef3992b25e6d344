//! LLM agents on a checkout in CI: plans as exact patches, guarded edits, reports.
//!
//! Data flows one way: [`inputs`] → [`run`] → [`engine`] → [`report`] → sinks ([`github`] among them).
//! `ARCHITECTURE.md` is the map.

pub mod agent;
pub mod batch;
pub mod cli;
pub mod command;
pub mod config;
mod detail;
pub mod engine;
pub mod event;
pub mod exit;
pub mod gates;
pub mod git;
pub mod github;
mod grammar;
pub mod guardrails;
pub mod hooks;
pub mod inputs;
pub mod invisible;
pub mod isolation;
pub mod mcp;
pub mod model;
mod nearest;
pub mod patch;
mod placeholder;
pub mod plan;
pub mod recipe;
pub mod report;
pub mod run;
mod seal;
pub mod sessions;
pub mod symbols;
pub mod telemetry;
pub mod tool;
pub mod web;
pub mod workspace;
mod yaml;
