//! The pipeline's stages, in their order, through the real binary with a scripted model.

mod changed_meanwhile;
mod checkouts;
mod stages;

use serde_json::{Value, json};

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("write_file", json!({"path": path, "content": content}))
}
