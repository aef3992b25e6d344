//! What may be shown: masks secrets, and takes the effects out of what others wrote.

pub mod invisible;
mod masker;
pub mod secret_names;
mod spellings;
pub mod untrusted;

pub use masker::{MASK, Masker};
