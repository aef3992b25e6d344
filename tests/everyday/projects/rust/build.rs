use std::{env, fs, path::Path};

fn main() {
    println!("cargo::rerun-if-changed=greeting.txt");
    let text = fs::read_to_string("greeting.txt").expect("a greeting");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("greeting.rs"), format!("{:?}", text.trim())).expect("a file");
}
