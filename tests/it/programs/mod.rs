//! Programs of the checkout that a configuration names: those of a stranger's head are not started, in whatever spelling
//! they are named, and no run rewrites those that judge it.
#![cfg(unix)]

mod batch_lines;
mod gates;
mod keys;
mod paths;
mod rewriting;
mod spellings;
mod starts;
