//! Command lines that take the parser longest. In a process of their own: a line that is given up goes on in a thread, and where
//! several do, others are refused for it, which no table expects.

#![cfg(test)]

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use architect_ci::command::{Assessment, Containment, Policy};
use architect_ci::config::Commands;
use proptest::prelude::*;

static UNSANDBOXED: LazyLock<Policy> =
    LazyLock::new(|| Policy::new(&Commands::default(), Path::new("/work/repo")).expect("the default rules"));
static IN_SANDBOX: LazyLock<Policy> = LazyLock::new(|| UNSANDBOXED.clone().within(Containment::Sandbox));

fn judged(line: &str) -> Assessment {
    UNSANDBOXED.judge(line, "")
}

fn judged_in_sandbox(line: &str) -> Assessment {
    IN_SANDBOX.judge(line, "")
}

/// Judges a line; what it comes to does not matter here, only that it comes to something soon.
fn judge(line: &str) -> Duration {
    let took = |judged: fn(&str) -> Assessment| {
        let started = Instant::now();
        let _ = judged(line);
        started.elapsed()
    };
    took(judged).max(took(judged_in_sandbox))
}

#[test]
fn command_analysis_is_fast_on_long_and_deep_lines() {
    for (name, line) in [
        ("long", "a ".repeat(50_000)),
        ("long word", "a".repeat(100_000)),
        ("long pipe", "ls | ".repeat(5_000) + "ls"),
        ("open parentheses", "(".repeat(60)),
        ("open arithmetic", "((a ".repeat(30)),
        ("subshells", "(".repeat(90) + "ls" + &")".repeat(90)),
        ("many subshells", "(".repeat(5_000) + "ls" + &")".repeat(5_000)),
        ("substitutions", "$(".repeat(50) + "ls" + &")".repeat(50)),
        ("quoted substitutions", "\"$(".repeat(40) + "ls" + &")\"".repeat(40)),
        ("backticks", "`".repeat(1_001)),
        ("braces", "{ ".repeat(500)),
        ("ifs", "if ".repeat(500)),
        ("cases", "case x in x) ".repeat(100) + "ls" + &";; esac".repeat(100)),
        ("loops", "for i in a; do ".repeat(300) + "ls" + &"; done".repeat(300)),
        ("scripts", "bash -c '".repeat(30)),
        ("wrappers", "env ".repeat(3_000) + "ls"),
        ("parameters", "${a:-".repeat(80) + "x" + &"}".repeat(80)),
        ("here-documents", "cat <<A\n".repeat(200)),
        ("a here-document without a name", "x <<< $(cat <<< &(y << &(z x)".to_owned()),
        (
            "indices in indices",
            "x${x[(]/n y ${x[8l>|z ${x[(hs[<s{}b<\n&b<{8(]/n\nl>|z ${x[(hs[<s{}b<\n&b<{}b<{]}".to_owned(),
        ),
        ("what the parser panics on", "cat\"\\\"\"<x $>(cat <l x)upl ^^^~^^^ x)".to_owned()),
        ("a huge number", "cd ~-888888888888888888888".to_owned()),
        ("a huge descriptor", "ls 28888888888888888888888888888> x".to_owned()),
        ("a here-document with an empty name", "x $(cat <<'' y)".to_owned()),
    ] {
        let took = judge(&line);
        assert!(took < Duration::from_mins(1), "{name}: {took:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn command_analysis_survives_arbitrary_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let took = judge(&String::from_utf8_lossy(&bytes));
        prop_assert!(took < Duration::from_mins(1), "{:?}", took);
    }

    #[test]
    fn command_analysis_survives_generated_shell(line in r#"(ls|cat|rm -rf|env|xargs|bash -c|eval|\$\(|\)|\(|\(\(|\)\)|`|"|'|\||&&|;|<|>|>>|<<A|\n|A|\{|\}|if|then|fi|for x in|do|done|case|esac|in|;;|\$x|\$\{x:-|~|/|\.\.|\*|\\|=|a=|!|\[\[|\]\]| |&){0,40}"#) {
        let took = judge(&line);
        prop_assert!(took < Duration::from_mins(1), "{:?}", took);
    }
}
