//! A `testing.T` that a test of Go's makes to see what an assertion of the program's makes of it.

use regex::Regex;

/// Most lines of a test that are read.
const MAX_LINES: usize = 200;

/// Returns whether a line makes a `testing.T` of which the test asks, by its own, whatever is given it: each call that is given it stands in
/// an assertion or a condition, or the test asks whether it has failed. Without that, what fails is lost with it.
pub(super) fn is_asked(line: &str, below: &mut dyn Iterator<Item = &str>) -> bool {
    let name = line.split([':', '=']).next().unwrap_or_default().trim();
    let is_name = !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if !is_name || name == "t" {
        return false;
    }
    let Ok(named) = Regex::new(&format!(r"\b{name}\b")) else { return false };
    let body: Vec<&str> = below.take(MAX_LINES).take_while(|line| *line != "}").collect();
    let judges = |at: usize| {
        let fails =
            |line: &&str| ["t.Error", "t.Fatal", "t.Fail"].iter().any(|call| line.trim().starts_with(call));
        body[at].contains("(t, ")
            || body[at].trim().starts_with("if ") && body[at + 1..].iter().take(2).any(fails)
    };
    let is_judged = |word: &str, from: usize| {
        (from..body.len()).any(|at| {
            judges(at) && body[at].split(|letter: char| !letter.is_alphanumeric()).any(|own| own == word)
        })
    };
    let mut uses = (0..body.len()).filter(|at| named.is_match(body[*at])).peekable();
    let asks = (0..body.len()).any(|at| body[at].contains(&format!("{name}.Failed()")) && judges(at));
    let is_used = |at: usize| {
        let result = body[at].trim().split_once(" := ").map(|(result, _)| result);
        judges(at) || result.is_some_and(|result| is_judged(result, at + 1))
    };
    asks || uses.peek().is_some() && uses.all(is_used)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_it_is_judged() {
        for (body, expected) in [
            ("\tTrue(t, Near(own, 1, 2))", true),
            ("\tres := Near(own, 1, 2)\n\tif res != true {\n\t\tt.Error(\"far\")\n\t}", true),
            ("\tif !Near(own, 1, 2) {\n\t\tt.Fatal(\"far\")\n\t}", true),
            ("\tcheckNear(own, 1)\n\tif !own.Failed() {\n\t\tt.Error(\"near\")\n\t}", true),
            ("\tassert.Equal(own, 1, total())", false),
            ("\t_ = assert.Equal(own, 1, total())", false),
            ("\tif assert.Equal(own, 1, total()) {\n\t\tt.Log(\"same\")\n\t}", false),
            ("\tTrue(t, Near(own, 1, 2))\n\tassert.Equal(own, 1, total())", false),
            ("\tres := Near(own, 1, 2)\n\tt.Log(res)", false),
            ("", false),
        ] {
            assert_eq!(is_asked("own := new(testing.T)", &mut body.lines()), expected, "{body}");
        }
        assert!(!is_asked("t = &testing.T{}", &mut "\tTrue(t, Near(t, 1, 2))".lines()));
        assert!(!is_asked("assert.Equal(new(testing.T), 1, 2)", &mut "".lines()));
    }
}
