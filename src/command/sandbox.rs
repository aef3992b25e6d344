//! Walls around child processes, built by the kernel (Landlock): they write only where they have to, and
//! neither signal nor look into processes outside.
//!
//! A child is started by way of this very program (`architect-ci __sandbox`), which shuts itself in and
//! then becomes the command: between `fork` and `exec` nothing could be done without `unsafe`. Its
//! supervisor stays outside, where the child can neither signal nor trace it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The sub-command by which a child shuts itself in.
pub const SANDBOX: &str = "__sandbox";

/// Folders below the home folder where build tools keep what they share between projects. What lies
/// beside them (programs, configuration, start-up scripts) would be run later, by others.
const CACHES: [&str; 18] = [
    ".cache",
    ".cargo/registry",
    ".cargo/git",
    ".cargo/.package-cache",
    ".cargo/.package-cache-mutate",
    ".cargo/.global-cache",
    ".npm",
    ".pnpm-store",
    ".local/share/pnpm",
    ".yarn/cache",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/daemon",
    ".gradle/wrapper",
    "go/pkg",
    ".nuget/packages",
    ".bundle/cache",
    "Library/Caches",
];

/// Variables that name such folders elsewhere.
const CACHE_VARIABLES: [&str; 8] = [
    "GOCACHE",
    "GOMODCACHE",
    "PIP_CACHE_DIR",
    "npm_config_cache",
    "XDG_CACHE_HOME",
    "CARGO_TARGET_DIR",
    "SCCACHE_DIR",
    "CCACHE_DIR",
];

/// Devices that programs write to as a matter of course.
const DEVICES: [&str; 6] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/tty", "/dev/ptmx", "/dev/shm"];

/// What one child may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Walls {
    /// Where it may write.
    pub writable: Vec<PathBuf>,
    /// Whether it may use TCP.
    pub network: bool,
}

/// How children are shut in.
#[derive(Clone, Debug)]
pub struct Sandbox {
    writable: Vec<PathBuf>,
    network: bool,
}

impl Sandbox {
    /// A sandbox for children with these variables; `extra` are further places to write to.
    pub fn new(variables: &BTreeMap<String, String>, extra: &[String], network: bool) -> Self {
        let home = variables.get("HOME").map(PathBuf::from);
        let caches = home.iter().flat_map(|home| CACHES.map(|cache| home.join(cache)));
        let named = CACHE_VARIABLES.iter().filter_map(|name| variables.get(*name)).map(PathBuf::from);
        let temp = variables
            .get("TMPDIR")
            .filter(|path| !path.is_empty())
            .map_or_else(|| PathBuf::from("/tmp"), PathBuf::from);
        let devices = DEVICES.map(PathBuf::from);
        let extra = extra.iter().map(|path| match (path.strip_prefix("~/"), &home) {
            (Some(below), Some(home)) => home.join(below),
            _ => PathBuf::from(path),
        });
        let writable = caches.chain(named).chain([temp]).chain(devices).chain(extra).collect();
        Self { writable, network }
    }

    /// The walls of a child that works in `root`, which is writable itself; relative places are meant
    /// from there.
    pub fn walls(&self, root: &Path) -> Walls {
        let writable =
            std::iter::once(root.to_owned()).chain(self.writable.iter().map(|path| root.join(path)));
        Walls { writable: writable.collect(), network: self.network }
    }
}

/// Keeps this process's memory and environment from others of the same user, and from core dumps.
#[cfg(target_os = "linux")]
pub fn hide_process() {
    use rustix::process::{DumpableBehavior, set_dumpable_behavior};
    // Fails for no process that asks for this much.
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Other systems have no such switch.
#[cfg(not(target_os = "linux"))]
pub fn hide_process() {}

/// What this kernel offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// Walls around files.
    pub files: bool,
    /// Walls around TCP.
    pub network: bool,
    /// Walls around signals.
    pub signals: bool,
}

/// Asks the kernel what it offers, without shutting anything in.
#[cfg(target_os = "linux")]
pub fn offered() -> Offered {
    use landlock::{ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    let hard = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    Offered {
        files: hard().handle_access(AccessFs::from_write(ABI::V1)).is_ok_and(|rules| rules.create().is_ok()),
        network: hard().handle_access(AccessNet::from_all(ABI::V4)).is_ok_and(|rules| rules.create().is_ok()),
        signals: hard().scope(Scope::Signal).is_ok_and(|rules| rules.create().is_ok()),
    }
}

/// Other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn offered() -> Offered {
    Offered { files: false, network: false, signals: false }
}

/// Shuts this process in, for good. The error says what could not be had.
#[cfg(target_os = "linux")]
pub fn shut_in(walls: &Walls) -> Result<(), String> {
    use landlock::{
        ABI, Access, AccessFs, AccessNet, CompatLevel, Compatible, Ruleset, RulesetAttr, RulesetCreatedAttr,
        RulesetStatus, Scope, path_beneath_rules,
    };
    // What a newer kernel offers is used, what this one lacks is left out.
    let writes = AccessFs::from_write(ABI::V5);
    let shut = || {
        let mut rules =
            Ruleset::default().set_compatibility(CompatLevel::BestEffort).handle_access(writes)?;
        if !walls.network {
            rules = rules.handle_access(AccessNet::from_all(ABI::V4))?;
        }
        let rules = rules.scope(Scope::Signal | Scope::AbstractUnixSocket)?.create()?;
        // A place that is not there needs no rule.
        rules.add_rules(path_beneath_rules(&walls.writable, writes))?.restrict_self()
    };
    give_up_powers().map_err(|error| format!("capabilities could not be given up: {error}"))?;
    match shut() {
        Ok(status) if status.ruleset == RulesetStatus::NotEnforced => {
            Err("this kernel has no Landlock".to_owned())
        }
        Ok(status) if !status.no_new_privs => Err("the kernel refused no_new_privs".to_owned()),
        Ok(_) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Of root's powers only those over files, ids and low ports are kept, which builds in containers use.
/// Others lead around the walls: `PERFMON` reads any process's environment, `MKNOD` makes a disk.
#[cfg(target_os = "linux")]
fn give_up_powers() -> rustix::io::Result<()> {
    use rustix::thread::{CapabilitySet as Has, CapabilitySets, capabilities, set_capabilities};
    let kept = Has::CHOWN
        | Has::DAC_OVERRIDE
        | Has::FOWNER
        | Has::FSETID
        | Has::SETUID
        | Has::SETGID
        | Has::KILL
        | Has::NET_BIND_SERVICE;
    let now = capabilities(None)?;
    let kept = |set: Has| set.intersection(kept);
    set_capabilities(
        None,
        CapabilitySets {
            effective: kept(now.effective),
            permitted: kept(now.permitted),
            inheritable: kept(now.inheritable),
        },
    )
}

/// Other systems have no Landlock.
#[cfg(not(target_os = "linux"))]
pub fn shut_in(_: &Walls) -> Result<(), String> {
    Err("this system has no Landlock".to_owned())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_runner_is_hidden() {
        use rustix::process::{DumpableBehavior, dumpable_behavior, set_dumpable_behavior};
        hide_process();
        assert_eq!(dumpable_behavior(), Ok(DumpableBehavior::NotDumpable));
        set_dumpable_behavior(DumpableBehavior::Dumpable).expect("and back, for the other tests");
    }

    #[test]
    fn places_are_those_of_the_child() {
        let variables = [("HOME", "/home/me"), ("TMPDIR", "/var/tmp"), ("GOCACHE", "/go")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        let sandbox = Sandbox::new(&variables, &["~/.mine".to_owned(), "data".to_owned()], false);
        let walls = sandbox.walls(Path::new("/work"));
        assert!(!walls.network);
        for place in [
            "/work",
            "/home/me/.cargo/registry",
            "/var/tmp",
            "/go",
            "/home/me/.mine",
            "/work/data",
            "/dev/null",
        ] {
            assert!(walls.writable.contains(&PathBuf::from(place)), "{place}");
        }
        for place in ["/tmp", "/home/me", "/home/me/.cargo", "/home/me/.config"] {
            assert!(!walls.writable.contains(&PathBuf::from(place)), "{place}");
        }
    }
}
