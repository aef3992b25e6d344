//! Asks the linker for a program at a fixed address where that makes it start faster; `docs/decisions.md` says why.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // For musl, the compiler chooses the code that starts the program, so it has to be told (`relocation-model=static`).
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bin=architect-ci=-no-pie");
    }
}
