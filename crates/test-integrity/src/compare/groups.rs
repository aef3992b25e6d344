//! Expectations of failures of pytest's that are answered by more: groups that are flattened or need not be there, and conditions that are
//! no longer asked for.

use crate::assertion::Assertion;
use crate::extract::Test;
use crate::finding::{Finding, Kind, short};

/// Options of a group by which other failures than those that it names will do.
const LOOSENING: &[&str] = &["flatten_subgroups = True", "allow_unwrapped = True"];
/// Conditions that hold of every failure.
const ALWAYS: &[&str] = &[
    "check = lambda _ : True",
    "check = lambda e : True",
    "check = lambda exc : True",
    "check = None",
    "check = bool",
];

/// Returns what a test expects less of a failure.
pub(super) fn of_pair(before: &Test, after: &Test) -> Option<Finding> {
    let (old, new) = (failures(before), failures(after));
    let is_kept =
        |assertion: &Assertion, all: &[&Assertion]| all.iter().any(|other| other.text == assertion.text);
    let was = old.iter().find(|was| !is_kept(was, &new))?;
    let is = new
        .iter()
        .find(|is| !is_kept(is, &old) && is.text.split(" (").next() == was.text.split(" (").next())?;
    let count =
        |all: &[&Assertion], part: &str| all.iter().map(|one| one.text.matches(part).count()).sum::<usize>();
    let groups = |all: &[&Assertion]| count(all, "RaisesGroup (");
    let is_looser = LOOSENING.iter().any(|option| count(&new, option) > count(&old, option))
        && groups(&new) <= groups(&old);
    let checks = |all: &[&Assertion]| {
        count(all, "check = ").saturating_sub(ALWAYS.iter().map(|always| count(all, always)).sum())
    };
    // What was asked of the failure may be asserted of it now.
    let has_more = after.body.assertions.len() > before.body.assertions.len();
    let is_unchecked = checks(&new) < checks(&old) && new.len() >= old.len() && !has_more;
    let message = format!(
        "in `{}`: `{}` became `{}`, which accepts more",
        after.name,
        short(&was.text),
        short(&is.text)
    );
    (is_looser || is_unchecked).then(|| Finding::new(&after.path, is.line, Kind::WeakerAssertion, message))
}

/// Returns the assertions of a test that Python's code fails.
fn failures(test: &Test) -> Vec<&Assertion> {
    let all = test.body.assertions.iter().filter(|assertion| assertion.is_failure());
    all.filter(|assertion| assertion.text.contains("aises")).collect()
}
