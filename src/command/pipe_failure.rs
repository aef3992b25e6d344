//! Pipes in a command line: `pytest | tail` succeeds whatever becomes of the tests, and is no success.

use shell::{Simple, analyse};

use super::PipeCodes;

/// Programs whose exit code 1 is a result, not a failure.
const SEARCHES: [&str; 9] = ["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "diff", "cmp", "test"];

/// Returns the first pipe of which a part failed that nobody can have meant to fail, with that part's exit code.
pub(crate) fn pipe_failure<'a>(line: &str, pipes: &'a [PipeCodes]) -> Option<(&'a PipeCodes, i32)> {
    // Such an ending says that a failure is intended to be ignored.
    if line.trim_end().ends_with("|| true") || line.trim_end().ends_with("|| :") {
        return None;
    }
    let found = analyse(line).commands;
    let of_line = chains(&found);
    pipes.iter().find_map(|codes| {
        let is_search = |at: usize| {
            let mut fitting = of_line.iter().filter(|chain| chain.len() == codes.0.len()).peekable();
            fitting.peek().is_some() && fitting.all(|chain| searches(chain[at]))
        };
        let (_, code) = codes.early_failures().find(|(at, code)| *code != 1 || !is_search(*at))?;
        Some((codes, code))
    })
}

/// Returns the commands of each pipe of a line.
fn chains(commands: &[Simple]) -> Vec<Vec<&Simple>> {
    let is_read = |at: usize| commands.iter().any(|other| other.piped_from == Some(at));
    let lasts = (0..commands.len()).filter(|at| commands[*at].piped_from.is_some() && !is_read(*at));
    let chain = |last: usize| {
        let mut chain = vec![&commands[last]];
        let mut at = last;
        // A chain is no longer than the line, whatever the analysis says.
        while let Some(before) = commands[at].piped_from.filter(|_| chain.len() < commands.len()) {
            chain.insert(0, &commands[before]);
            at = before;
        }
        chain
    };
    lasts.map(chain).collect()
}

fn searches(simple: &Simple) -> bool {
    let name = simple.name().and_then(|name| name.rsplit('/').next()).unwrap_or_default();
    let is_git =
        name == "git" && simple.arguments().iter().any(|word| matches!(word.text(), Some("diff" | "grep")));
    is_git || SEARCHES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_pipe_that_fail_fail_the_gate() {
        for (line, codes, expected) in [
            ("pytest -q | tail -5", &[1, 0][..], Some(1)),
            ("pytest -q | grep -v warning | tail -5", &[2, 0, 0], Some(2)),
            ("pytest | tail && ruff check", &[1, 0], Some(1)),
            ("cd app && cargo test 2>&1 | tee log", &[101, 0], Some(101)),
            ("grep -rn FIXME src | wc -l", &[1, 0], None),
            ("git grep -n FIXME | wc -l", &[1, 0], None),
            ("grep -rn FIXME nowhere | wc -l", &[2, 0], Some(2)),
            ("git diff --exit-code | cat", &[1, 0], None),
            ("git status | cat", &[1, 0], Some(1)),
            ("pytest | tail; grep x a | wc -l", &[1, 0], Some(1)),
            ("pytest | tail || true", &[1, 0], None),
            ("(pytest; true) | tail", &[1, 0], Some(1)),
        ] {
            let pipes = [PipeCodes(codes.to_vec())];
            assert_eq!(pipe_failure(line, &pipes).map(|(_, code)| code), expected, "{line}");
        }
    }
}
