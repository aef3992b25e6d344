//! Cases of tests: how many there are, in lists, loops, or calls of a helper.

use crate::extract::Test;
use crate::matching::state::{State, given_to_helper};
use crate::weaker::reworded::items;

/// Returns how many cases a test had and has, if it has fewer.
pub(super) fn fewer_cases(
    (before_state, before): (&State, &Test),
    (after_state, after): (&State, &Test),
) -> Option<(usize, usize)> {
    // Each case may have become a value of a fixture.
    let by_fixtures = (before_state.values_of_fixtures(before), after_state.values_of_fixtures(after));
    let all = |cases: Option<usize>, values: usize| match cases {
        Some(cases) => Some(cases.saturating_mul(values)),
        None => (values > 1).then_some(values),
    };
    let fewer = match (all(before.cases, by_fixtures.0), all(after.cases, by_fixtures.1)) {
        (Some(old), Some(new)) => Some((old, new)),
        // Cases may have become the rows of a loop, or the items of one list that is compared.
        (Some(old), None) if old > 1 && !after.body.is_repeated => {
            let rows = after.body.rows.iter().sum::<usize>();
            let compared = after.body.assertions.iter().filter_map(|assertion| {
                let (one, other) = assertion.sides.as_ref()?;
                items(one).max(items(other))
            });
            let listed = compared.max().unwrap_or(1);
            let given = given_to_helper(before_state, after_state, after);
            Some((old, rows.max(given).max(listed).max(1)))
        }
        // Those of a loop that yields them may have become a list of cases.
        (None, Some(new)) if after.body.rows.is_empty() => {
            Some((before.body.rows.iter().sum::<usize>(), new)).filter(|(old, _)| *old > 1)
        }
        _ => None,
    };
    let is_fewer = |(old, new): &(usize, usize)| new < old;
    // Loops can be distinguished only if there are as many as before.
    let (old, new) = (&before.body.rows, &after.body.rows);
    let of_loops = (old.len() == new.len()).then(|| (old.iter().sum(), new.iter().sum()));
    fewer.filter(is_fewer).or(of_loops.filter(is_fewer))
}
