//! Reports
pub mod secrets;
pub mod untrusted;
