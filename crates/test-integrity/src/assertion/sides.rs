//! The sides of an assertion that two values are the same: what is tested, and what is expected of it.

use super::{Assertion, EXACT};
use crate::syntax::tokens::split;

impl Assertion {
    /// Returns what is tested and what is expected of it, whichever stands first: `assertEquals(3, total())` and `total() == 3`.
    pub(crate) fn operands(&self) -> Option<(&str, &str)> {
        self.sides.as_ref().map(|sides| self.tested_first(sides))
    }

    /// Returns what the tested and the expected side stand for.
    pub(crate) fn resolved_operands(&self) -> Option<(&str, &str)> {
        self.resolved.as_ref().map(|sides| self.tested_first(sides))
    }

    fn tested_first<'a>(&self, (one, other): &'a (String, String)) -> (&'a str, &'a str) {
        let is_first = self.sides.as_ref().is_some_and(|(first, _)| *first == self.subject);
        if is_first { (one, other) } else { (other, one) }
    }
}

/// Returns both sides of a condition that demands that they are the same, if it is one.
pub(super) fn sides_of(text: &str) -> Option<(String, String)> {
    if split(text, &[" || ", " or ", " && ", " and ", " if ", " ? "]).len() > 1 {
        return None;
    }
    let sign = EXACT.iter().find(|sign| split(text, &[sign]).len() == 2)?;
    match split(text, &[sign]).as_slice() {
        [one, other] => Some(((*one).to_owned(), (*other).to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_tested_comes_first() {
        for (one, other) in [("total ( )", "3"), ("3", "total ( )")] {
            let given = [one.to_owned(), other.to_owned()];
            let words = ["assertEquals", "(", one, ",", other, ")"];
            let mut assertion = Assertion::of_call("assertEquals", &given, 1, &words);
            assert_eq!(assertion.operands(), Some(("total ( )", "3")), "{one}");
            let stands_for = |side: &str| if side == "3" { "3".to_owned() } else { "Ok ( 3 )".to_owned() };
            assertion.resolved = Some((stands_for(one), stands_for(other)));
            assert_eq!(assertion.resolved_operands(), Some(("Ok ( 3 )", "3")), "{one}");
        }
    }
}
