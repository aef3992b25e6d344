//! Scripts of PowerShell: no text makes their analyser panic, hang or overflow the stack.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use shell::{CustomRules, Policy};

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    Policy::new(CustomRules::default(), Path::new("/work")).expect("the default rules").for_powershell()
});

fuzz_target!(|data: &[u8]| {
    let _ = POLICY.judge(&String::from_utf8_lossy(data), "");
});
