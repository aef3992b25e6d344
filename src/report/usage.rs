//! Usage and cost of each agent.

use std::fmt::Write;

use sanitize::untrusted::code;

use super::RunReport;
use super::figures::{cost, tokens};
use super::size_budget::Section;
use crate::event::Usage;

/// The usage of one agent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct AgentUsage<'a> {
    pub(super) agent: &'a str,
    pub(super) answers: usize,
    pub(super) usage: Usage,
    /// US dollars; `None` if the price of the model is not known.
    pub(super) cost: Option<f64>,
}

/// Returns the usage of each agent, in the order in which they began.
pub(super) fn by_agent(report: &RunReport) -> Vec<AgentUsage<'_>> {
    let mut agents: Vec<AgentUsage<'_>> = Vec::new();
    for step in &report.steps {
        let at = agents.iter().position(|known| known.agent == step.agent).unwrap_or_else(|| {
            agents.push(AgentUsage { agent: &step.agent, answers: 0, usage: Usage::default(), cost: None });
            agents.len() - 1
        });
        let known = &mut agents[at];
        known.answers += 1;
        known.usage += step.usage;
        if let Some(usd) = step.cost_usd {
            *known.cost.get_or_insert(0.0) += usd;
        }
    }
    agents
}

/// Renders the usage as a folded table.
pub(super) fn table(report: &RunReport) -> Section {
    let agents = by_agent(report);
    if agents.is_empty() {
        return Section::fixed(String::new());
    }
    let mut table =
        "| Agent | Answers | Input | Cached | Output | Cost |\n|---|--:|--:|--:|--:|--:|\n".to_owned();
    let total =
        AgentUsage { agent: "", answers: report.steps.len(), usage: report.usage, cost: report.cost_usd };
    let several = agents.len() > 1;
    for row in agents.iter().chain(several.then_some(&total)) {
        let AgentUsage { agent, answers, usage, cost: usd } = row;
        let name = if agent.is_empty() { "**all**".to_owned() } else { code(agent) };
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {name} | {answers} | {} | {} | {} | {} |",
            tokens(usage.input),
            tokens(usage.cached),
            tokens(usage.output),
            usd.map_or_else(|| "–".to_owned(), cost)
        );
    }
    let told = report.cost_usd.map_or_else(|| "Tokens".to_owned(), |usd| format!("Cost: {}", cost(usd)));
    let full = format!("<details><summary>{told}</summary>\n\n{table}\n</details>\n\n");
    Section::new(1, full, String::new())
}
