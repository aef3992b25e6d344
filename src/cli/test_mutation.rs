//! `architect-ci tests mutate`: puts small faults into the changed code and runs the tests, without a model.

use std::time::Duration;

use sanitize::Masker;
use sanitize::untrusted::log_lines;

use super::style::{below, print_painted};
use super::test_proof::{Subject, failed, print_json};
use crate::event::{Exit, MutationRecord, MutationVerdict};
use crate::proof::{MutationLimits, mutate};
use crate::report::mutation_text;
use crate::request::variables;

/// Put small faults into the changed code, one at a time, and report those that no test notices
#[derive(Debug, clap::Args)]
#[command(after_help = below(
    &[
        ("architect-ci tests mutate --base origin/main -- pytest -x", "Tries ten faults in the code that the branch changes"),
        ("architect-ci tests mutate --base HEAD~1 --count 30 -- cargo test", "Tries thirty"),
    ],
    "Faults: a negated condition, an off-by-one comparison or number, an omitted call, a default value in place of a result. They are chosen by `--seed`, the same ones each time.\n\n\
     Exit codes: 0 the tests notice every fault, or the change offers no place for one, 1 they miss at least one, 3 the commit, the \
     checkout or the command cannot be used, the tests fail without any fault, or no fault could be tried, 130 and 143 interrupted. The checkout is not changed.",
))]
pub(super) struct Mutate {
    #[command(flatten)]
    subject: Subject,
    /// Maximum number of faults
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    count: u16,
    /// Seconds after which no further fault is tried
    #[arg(long, value_name = "SECONDS", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    time_limit: u64,
    /// Number that decides which faults are chosen
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
}

impl Mutate {
    pub(super) fn execute(&self) -> Exit {
        let bench = match self.subject.bench() {
            Ok(bench) => bench,
            Err(error) => return failed(&error, None),
        };
        let limits = MutationLimits {
            count: self.count.into(),
            time: Duration::from_secs(self.time_limit),
            seed: self.seed,
        };
        match bench.run(async |prover| mutate(&bench.changes, &bench.states, prover, limits).await) {
            Ok((Ok(record), _)) => self.print_result(&record),
            Ok((Err(error), signal)) => failed(&error.into(), Some(&signal)),
            Err(error) => failed(&error, None),
        }
    }

    fn print_result(&self, record: &MutationRecord) -> Exit {
        let masker = Masker::from_environment(&variables(), &[], &[]);
        if self.subject.json {
            print_json(record, &masker);
        } else {
            print_painted(&log_lines(&masker.mask(&mutation_text(record))));
        }
        if record.is_unknown() {
            Exit::Configuration
        } else if record.of(MutationVerdict::Unnoticed).next().is_some() {
            Exit::Failed
        } else {
            Exit::Success
        }
    }
}
