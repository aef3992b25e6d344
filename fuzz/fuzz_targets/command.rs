//! The analyser of command lines: no text makes it panic, hang or overflow the stack.
#![no_main]

use std::path::Path;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use shell::{CustomRules, Policy};

static POLICY: LazyLock<Policy> = LazyLock::new(|| {
    // Panics of the parser are caught by the analyser; one that gets out of it still ends the fuzzer.
    std::panic::set_hook(Box::new(|_| {}));
    Policy::new(CustomRules::default(), Path::new("/work")).expect("the default rules")
});

fuzz_target!(|data: &[u8]| {
    let _ = POLICY.judge(&String::from_utf8_lossy(data), "");
});
