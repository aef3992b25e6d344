//! Kinds of machine: whatever gives a child its network, or fails to, no line of the table reaches what the list does not name.
//! Machines that lack parts of a sandbox are played by a thread to which the system calls for them are refused.

use std::collections::BTreeMap;

use architect_ci::command::sandbox::kernel_support;
use architect_ci::command::{Ended, Enforcement};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    apply_filter,
};

use super::table::{Targets, attempts};
use super::{Scene, resolver, rules};

/// Calls by which a process gets a file system and a network of its own.
const NAMESPACES: [libc::c_long; 4] =
    [libc::SYS_unshare, libc::SYS_setns, libc::SYS_mount, libc::SYS_pivot_root];

/// Calls by which a process gives up files and ports.
const LANDLOCK: [libc::c_long; 3] =
    [libc::SYS_landlock_create_ruleset, libc::SYS_landlock_add_rule, libc::SYS_landlock_restrict_self];

/// Programs that take seconds to start, and are played by the other test of the table.
const SLOW: [&str; 5] = ["cargo", "go", "java", "npm", "pip"];

/// Plays those lines of the table whose programs `is_played` names. Returns how the list is enforced.
async fn play(is_played: impl Fn(&str) -> bool) -> Enforcement {
    let mut targets = Targets::new();
    let scene = Scene::new(rules(&targets.list()), resolver());
    targets.listen_in(scene.folder.path());
    let enforcement = scene.shell.enforcement(scene.folder.path()).await;
    let mut leaks = Vec::new();
    let mut ran = 0;
    for attempt in attempts().filter(|attempt| is_played(attempt.needs.as_deref().unwrap_or_default())) {
        let line = targets.fill(&attempt.line);
        let finished = scene.run(&line).await;
        leaks.extend(targets.leaks().into_iter().map(|leak| format!("{leak}: {line}")));
        ran += 1;
        let told = matches!(&finished.ended, Ended::NotStarted(error) if error.contains("can enforce a list of hosts"));
        assert_eq!(told, enforcement == Enforcement::Nothing, "{enforcement:?} {line}: {finished:?}");
    }
    eprintln!("{enforcement:?}: {ran} lines, {} leaks", leaks.len());
    assert!(leaks.is_empty(), "{enforcement:?}:\n{}", leaks.join("\n"));
    assert!(ran > 20, "{ran} lines ran");
    enforcement
}

/// Plays the table on a thread to which, and to whose children, the kernel refuses these calls.
fn play_without(calls: &[libc::c_long]) -> Enforcement {
    let mut rules: BTreeMap<_, _> = calls.iter().map(|call| (*call, Vec::new())).collect();
    // A working directory of its own is no namespace.
    let folder = SeccompCmpOp::MaskedEq(libc::CLONE_FS.cast_unsigned().into());
    let other = SeccompCondition::new(0, SeccompCmpArgLen::Dword, folder, 0).expect("a condition");
    rules.insert(libc::SYS_unshare, vec![SeccompRule::new(vec![other]).expect("a rule")]);
    let refusal = SeccompAction::Errno(libc::EPERM.cast_unsigned());
    let arch = std::env::consts::ARCH.try_into().expect("a known architecture");
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, refusal, arch).expect("a filter");
    let filter = BpfProgram::try_from(filter).expect("a program");
    let thread = std::thread::spawn(move || {
        apply_filter(&filter).expect("the filter is loaded");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(play(|program| !SLOW.contains(&program)))
    });
    thread.join().expect("no line leaked")
}

#[test]
fn egress_leaks_nothing_without_namespaces() {
    let expected = if kernel_support().network { Enforcement::Ports } else { Enforcement::Nothing };
    assert_eq!(play_without(&NAMESPACES), expected);
}

#[test]
fn egress_starts_nothing_without_namespaces_and_landlock() {
    assert_eq!(play_without(&[&NAMESPACES[..], &LANDLOCK].concat()), Enforcement::Nothing);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "for other kinds of machine; on this one, the test of the table asks for more"]
async fn egress_leaks_nothing_on_any_kind_of_machine() {
    play(|_| true).await;
}
