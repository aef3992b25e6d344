//! Honest work goes through: what people type all day, in real projects of several ecosystems, played by the
//! binary as a CI run would, with the effects it has to have, in both modes.
#![cfg(target_os = "linux")]

mod checkout;
mod lines;
mod play;
mod same_tree;

/// Reads a number from the environment.
fn number<T: std::str::FromStr>(name: &str, default: T) -> T {
    let parse = |value: String| value.parse().unwrap_or_else(|_| panic!("{name} is no number: {value}"));
    std::env::var(name).map_or(default, parse)
}
