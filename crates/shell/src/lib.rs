//! Analysis of command lines: what one would do, and how dangerous that is, known before it runs.
//!
//! [`analyse`] (and [`analyse_powershell`]) finds every simple command in a line, however it is wrapped: in pipes,
//! substitutions, functions, `bash -c`, `env`, `xargs`, `npx` and the like. Class, block-list and effects are
//! derived from that one [`Analysis`]; nothing looks at the text again. A [`Policy`] classifies the commands by the
//! built-in tables and by what a configuration adds to them: strictly by a list of known programs or, where a
//! sandbox stands around commands, by what needs more than the sandbox lets through.
//!
//! What is not understood is dangerous. No text makes the analysis panic, hang, or overflow the stack.
//!
//! ```
//! use std::path::Path;
//!
//! use shell::{Class, Containment, CustomRules, Policy};
//!
//! let policy = Policy::new(CustomRules::default(), Path::new("/checkout"))?;
//! let class = |policy: &Policy, line: &str| policy.judge(line, "").verdict.class;
//! assert_eq!(class(&policy, "grep -rn TODO src | head"), Class::Safe);
//! assert_eq!(class(&policy, "cd app && cargo test"), Class::Dev);
//! assert_eq!(class(&policy, "echo $(sh -c 'cp a.txt b.txt')"), Class::Dangerous);
//! // A sandbox contains what `cp` writes; nothing contains what is published.
//! let in_sandbox = policy.within(Containment::Sandbox);
//! assert_eq!(class(&in_sandbox, "cp a.txt b.txt"), Class::Dev);
//! assert_eq!(class(&in_sandbox, "timeout 60 npm publish"), Class::Dangerous);
//! # Ok::<(), shell::InvalidRule>(())
//! ```

mod analysis;
mod blocklist;
mod builtins;
mod class;
mod classify;
mod in_sandbox;
mod loopback;
mod options;
mod place;
mod policy;
mod reach;
mod reach_table;
mod refusal;
mod runners;
mod strict;
mod table;
mod test_runs;
mod variables;
mod wrappers;

pub use analysis::{Analysis, Nesting, Redirect, Simple, Word, analyse, analyse_powershell, is_guarded};
pub use class::Class;
pub use classify::{Containment, Verdict};
pub use policy::{Assessment, CustomRules, InvalidRule, Patterns, Policy};
pub use test_runs::{TestRun, chooses_tests, test_run};
pub use variables::{InvalidVariable, with_variables};
