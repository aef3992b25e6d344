//! LLM agents on a checkout in CI: plans as exact patches, guarded edits, reports.
//!
//! Data flows one way: [`request`] → `run` → `engine` → [`report`] → [`publish`]. Modules know those
//! of lower layers only; `tests/it/layering.rs` has the order. What knows none of them is in `crates/`.
//! `ARCHITECTURE.md` is the map.
//!
//! Public is what tests, benchmarks and fuzzers use, and what is in the signatures of that: `mcp`, `model` and `publish`
//! are there because requests, batches and errors of the input name their types.

pub mod agent;
mod base;
pub mod batch;
pub mod campaign;
pub mod cli;
pub mod command;
pub mod config;
pub mod egress;
mod engine;
pub mod event;
mod gates;
pub mod git;
pub mod github;
mod guardrails;
mod hooks;
pub mod isolation;
pub mod mcp;
pub mod model;
pub mod plan;
mod proof;
pub mod publish;
pub mod recipe;
pub mod report;
pub mod request;
mod run;
mod sessions;
mod telemetry;
pub mod tool;
mod trust;
pub mod web;
