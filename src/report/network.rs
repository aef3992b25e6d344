//! Section on the network: the hosts that child processes asked for, by whom, and what became of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use sanitize::untrusted::code;

use super::RunReport;
use super::figures::{bytes, cut, plural};
use super::size_budget::Section;
use crate::config::entry_for;
use crate::event::{NetworkDecision, NetworkRecord};

/// Maximum number of askers that are named for each host.
const MAX_ASKERS: usize = 3;

/// A host with everything that was asked of it.
pub(super) struct Host<'a> {
    pub(super) decision: NetworkDecision,
    /// The host and the port.
    pub(super) name: String,
    /// Why, by the key of each list that had it refused.
    pub(super) reasons: BTreeMap<&'a str, &'a str>,
    pub(super) times: u32,
    pub(super) sent: u64,
    pub(super) received: u64,
    /// Who asked, each once.
    pub(super) by: Vec<&'a str>,
}

/// Returns the hosts, those that were refused first.
pub(super) fn hosts(report: &RunReport) -> Vec<Host<'_>> {
    type Key<'a> = (bool, bool, &'a str, u16, NetworkDecision);
    let key = |record: &NetworkRecord| record.decision != NetworkDecision::Refused;
    let mut hosts: BTreeMap<Key<'_>, Host<'_>> = BTreeMap::new();
    for record in &report.network {
        let at = (key(record), record.port == 0, record.host.as_str(), record.port, record.decision);
        let host = hosts.entry(at).or_insert_with(|| Host {
            decision: record.decision,
            name: record.target(),
            reasons: BTreeMap::new(),
            times: 0,
            sent: 0,
            received: 0,
            by: Vec::new(),
        });
        if !record.reason.is_empty() {
            host.reasons.entry(&record.key).or_insert(&record.reason);
        }
        host.times = host.times.saturating_add(record.times);
        host.sent = host.sent.saturating_add(record.sent);
        host.received = host.received.saturating_add(record.received);
        if !host.by.contains(&record.by.as_str()) {
            host.by.push(&record.by);
        }
    }
    hosts.into_values().collect()
}

/// Returns what each list would have to hold for everything that was learned, by the key of the list; empty if nothing was.
pub(super) fn proposed(records: &[NetworkRecord]) -> BTreeMap<&str, BTreeSet<String>> {
    let mut lists: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    // Hosts that are told together have no names to propose.
    let is_learned =
        |record: &&NetworkRecord| record.decision == NetworkDecision::Learned && record.port != 0;
    for record in records.iter().filter(is_learned) {
        // Records of older runs do not say.
        let key = if record.key.is_empty() { "commands.network" } else { &record.key };
        lists.entry(key).or_default().insert(entry_for(&record.host, record.port));
    }
    lists
}

/// Returns the heading: how many hosts there were, and what became of them.
pub(super) fn title(report: &RunReport) -> String {
    let hosts = hosts(report);
    let refused = hosts.iter().filter(|host| host.decision == NetworkDecision::Refused).count();
    let asked = plural(hosts.len(), "host", "hosts");
    if hosts.iter().any(|host| host.decision == NetworkDecision::Learned) {
        let cut_off =
            if refused == 0 { "nothing was refused".to_owned() } else { format!("{refused} refused") };
        return format!("Network: {asked} requested while learning, {cut_off}");
    }
    format!("Network: {asked} requested, {refused} refused")
}

/// Renders the hosts, and what to allow.
pub(super) fn network(report: &RunReport) -> Section {
    let hosts = hosts(report);
    if hosts.is_empty() {
        return Section::fixed(String::new());
    }
    let mut table =
        "| | Host | Requested by | Times | Sent | Received |\n|---|---|---|--:|--:|--:|\n".to_owned();
    let mut reasons = String::new();
    for host in &hosts {
        let mut by: Vec<String> = host.by.iter().take(MAX_ASKERS).map(|by| code(&cut(by))).collect();
        if host.by.len() > MAX_ASKERS {
            by.push(format!("{} more", host.by.len() - MAX_ASKERS));
        }
        // Writing to a String cannot fail.
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} |",
            icon(host.decision),
            code(&host.name),
            by.join(", "),
            host.times,
            bytes(host.sent),
            bytes(host.received)
        );
        for reason in host.reasons.values() {
            let _ = writeln!(reasons, "- {}: {}", code(&host.name), code(reason));
        }
    }
    if !reasons.is_empty() {
        reasons.push('\n');
    }
    let mut proposal = String::new();
    for (key, entries) in proposed(&report.network) {
        let list: Vec<String> = entries.iter().map(|entry| code(entry)).collect();
        let key = code(&format!("{key}.allow"));
        let _ = writeln!(proposal, "To allow these hosts and no others, set {key} to: {}\n", list.join(", "));
    }
    let title = title(report);
    let full = format!("<details><summary>{title}</summary>\n\n{table}\n{reasons}{proposal}</details>\n\n");
    Section::new(4, full, format!("{title} (listed in `report.md`)\n\n"))
}

pub(super) fn icon(decision: NetworkDecision) -> &'static str {
    match decision {
        NetworkDecision::Allowed => "✅",
        NetworkDecision::Learned => "📝",
        NetworkDecision::Refused => "⛔",
        NetworkDecision::Unreachable => "⚠️",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_list_is_proposed_what_was_learned_by_it() {
        let record = |key: &str, host: &str, port, decision| NetworkRecord {
            by: "x".to_owned(),
            key: key.to_owned(),
            host: host.to_owned(),
            port,
            decision,
            reason: String::new(),
            times: 1,
            sent: 0,
            received: 0,
        };
        let learned = NetworkDecision::Learned;
        let records = [
            record("commands.network", "a.test", 443, learned),
            record("commands.network", "a.test", 80, learned),
            record("commands.network", "b.test", 22, learned),
            record("commands.network", "c.test", 443, NetworkDecision::Refused),
            record("llm.network", "d.test", 443, learned),
            record("llm.network", "github", 443, learned),
            record("llm.network", "gihtub", 80, learned),
            record("llm.network", "(other hosts)", 0, learned),
            record("llm.network", "[::1]", 443, learned),
            record("", "e.test", 443, learned),
        ];
        let told: Vec<String> = proposed(&records)
            .into_iter()
            .map(|(key, hosts)| format!("{key}: {}", hosts.into_iter().collect::<Vec<_>>().join(" ")))
            .collect();
        assert_eq!(
            told,
            ["commands.network: a.test b.test:22 e.test", "llm.network: [::1] d.test gihtub:80 github:443"]
        );
    }
}
