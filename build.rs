//! Asks the linker for a program at a fixed address where that makes it start faster, and for a small one as a release;
//! `docs/decisions.md` says why.

use std::env;
use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    // For musl, the compiler chooses the code that starts the program, so it has to be told (`relocation-model=static`).
    if is("CARGO_CFG_TARGET_ENV", "gnu") {
        link("-no-pie");
    }
    if is("OPT_LEVEL", "z")
        && let Some(folder) = own_linker()
    {
        link("-fuse-ld=lld");
        link(&format!("-B{}", folder.display()));
        // One of equal functions is enough, and what is alike stands together, where compression sees it.
        link("-Wl,--icf=all");
        link("-Wl,--bp-compression-sort=both");
    }
}

fn link(arg: &str) {
    println!("cargo::rustc-link-arg-bin=architect-ci={arg}");
}

/// Returns the folder with the linker that comes with the compiler, under the name by which a C compiler finds it.
fn own_linker() -> Option<PathBuf> {
    let printed = Command::new(env::var_os("RUSTC")?).args(["--print", "sysroot"]).output().ok()?;
    let sysroot = PathBuf::from(String::from_utf8(printed.stdout).ok()?.trim());
    let folder = sysroot.join("lib/rustlib").join(env::var("HOST").ok()?).join("bin/gcc-ld");
    folder.join("ld.lld").exists().then_some(folder)
}
