//! Assertions that are nothing but a failure.

use super::Assertion;

/// Returns whether an assertion is the line that is never to be reached.
pub(crate) fn is_mere_failure(assertion: &Assertion) -> bool {
    const CALLS: &[&str] = &[
        "fail (",
        "Assert . fail (",
        "Assertions . fail (",
        "self . fail (",
        "pytest . fail (",
        "assert False ,",
        "throw new AssertionError",
        "raise AssertionError",
    ];
    CALLS.iter().any(|call| assertion.text.starts_with(call))
}
