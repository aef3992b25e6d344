//! Asks the linker for a program at a fixed address where that makes it start faster, and for a small one; `docs/decisions.md`
//! says why.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    // For musl, the compiler chooses the code that starts the program, so it has to be told (`relocation-model=static`).
    if is("CARGO_CFG_TARGET_OS", "linux") && is("CARGO_CFG_TARGET_ENV", "gnu") {
        println!("cargo::rustc-link-arg-bin=architect-ci=-no-pie");
        // Of functions that compile to the same code, the small program of a release needs one. Rust's own linker can tell them; it
        // is the default for this processor alone.
        if is("CARGO_CFG_TARGET_ARCH", "x86_64") && is("OPT_LEVEL", "z") {
            println!("cargo::rustc-link-arg-bin=architect-ci=-Wl,--icf=all");
        }
    }
}
