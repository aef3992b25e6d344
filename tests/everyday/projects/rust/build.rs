use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=greeting.txt");
    let text = fs::read_to_string("greeting.txt").expect("a greeting");
    let out = env::var("OUT_DIR").expect("cargo sets it");
    let code = format!("{:?}", text.trim());
    fs::write(Path::new(&out).join("greeting.rs"), code).expect("a file");
}
