//! Scripts of PowerShell: no text makes their analyser panic, hang or overflow the stack.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use architect_ci::command::Policy;
use architect_ci::config::Commands;
use architect_ci::workspace::WorkspacePath;
use libfuzzer_sys::fuzz_target;

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    Policy::new(&Commands::default(), Path::new("/work")).expect("the default rules").for_powershell()
});

fuzz_target!(|data: &[u8]| {
    let _ = POLICY.judge(&String::from_utf8_lossy(data), &WorkspacePath::root());
});
