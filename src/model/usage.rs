//! Usage as whoever answered reports it. What is missing, or cannot be, is no measure of what an answer costs.

use genai::chat::Usage as ReportedUsage;

use crate::event::Usage;

/// Most tokens of one request and its answer: many times what any model reads or writes.
const MOST_TOKENS: u64 = 100_000_000;

/// Returns the usage that a provider reports, unless that is none.
pub(super) fn of_provider(reported: &ReportedUsage, is_empty: bool) -> Option<Usage> {
    let count = |tokens: Option<i32>| u64::try_from(tokens.unwrap_or(0)).ok();
    let details = reported.prompt_tokens_details.as_ref();
    let usage = Usage {
        // No request is empty.
        input: count(reported.prompt_tokens).filter(|tokens| *tokens > 0)?,
        cached: count(details.and_then(|details| details.cached_tokens))?,
        written: count(details.and_then(|details| details.cache_creation_tokens))?,
        output: count(reported.completion_tokens)?,
    };
    plausible(usage, is_empty)
}

/// Returns a usage if it can be that of an answer, which is empty or not.
pub(super) fn plausible(usage: Usage, is_empty: bool) -> Option<Usage> {
    let Usage { input, cached, written, output } = usage;
    let is_possible = [input, cached, written, output].into_iter().all(|tokens| tokens <= MOST_TOKENS);
    // Nothing is said for nothing.
    let is_said = output > 0 || (is_empty && input > 0);
    (is_possible && is_said).then_some(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_is_a_measure() {
        let reported = |input: Option<i32>, output: Option<i32>| ReportedUsage {
            prompt_tokens: input,
            completion_tokens: output,
            ..ReportedUsage::default()
        };
        for (input, output, is_empty, is_measure) in [
            (Some(1000), Some(50), false, true),
            (Some(1000), None, true, true),
            (Some(1000), None, false, false),
            (None, Some(50), false, false),
            (None, None, true, false),
            (Some(-1_000_000), Some(-5), false, false),
            (Some(1000), Some(-5), false, false),
            (Some(i32::MAX), Some(50), false, false),
        ] {
            let found = of_provider(&reported(input, output), is_empty);
            assert_eq!(found.is_some(), is_measure, "{input:?} {output:?} {is_empty}");
        }
    }
}
